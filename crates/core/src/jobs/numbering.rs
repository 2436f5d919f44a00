//! Numbering the tasks that a project had before it got a field with automatic ids, oldest first.
//!
//! A project has no order of creation, so all its tasks are first linked with the job, ranked by their
//! gids, and then numbered from the front of that list. Tasks that come meanwhile get the next numbers.
use super::{Next, Plot, STEP};
use crate::fault::Fault;
use crate::gid::Gid;
use crate::graph::{Give, Listing, Page, Place, View, Want};
use crate::registry::{Dir, rel};
use crate::tasks_of_container;
use crate::work::Work;
use serde::{Deserialize, Serialize};

/// A numbering, and how far it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Numbering {
    /// The project.
    pub project: Gid,
    /// The field.
    pub field: Gid,
    /// Whether all tasks are linked with the job.
    pub gathered: bool,
    /// Where the page of tasks starts.
    pub after: Option<Vec<i64>>,
}

impl Numbering {
    /// A numbering that begins.
    #[must_use]
    pub fn new(project: Gid, field: Gid) -> Self {
        Self {
            project,
            field,
            gathered: false,
            after: None,
        }
    }

    /// What a step must read.
    pub(super) fn needs(&self, job: Gid, want: Want) -> Want {
        let mut want = want.node(self.field);
        let (job, project) = (want.add(job), want.add(self.project));
        let from = if self.gathered {
            Listing::Edges {
                anchor: job,
                rel: rel::TO_NUMBER,
                dir: Dir::In,
                give: Give::Far,
            }
        } else {
            tasks_of_container(project, false)
        };
        want.page = Some(Page {
            after: self.after.clone(),
            ..Page::of(from, true, STEP)
        });
        want
    }

    /// The next step.
    pub(super) fn step(&self, job: Gid, view: &View, work: &mut Work<'_>) -> Result<Next, Fault> {
        if view.node(self.field).is_none() || view.node(self.project).is_none() {
            return Err(Fault::invalid("The field or the project was deleted."));
        }
        let mut next = self.clone();
        for task in view.rows.gids.iter().copied() {
            if self.gathered {
                work.link(task, rel::NUMBERED, self.field, Place::Next, None);
                work.unlink(task, rel::TO_NUMBER, job);
            } else {
                let rank = Place::Rank(task.as_i64());
                work.link(task, rel::TO_NUMBER, job, rank, None);
            }
        }
        let more = view.rows.next.is_some();
        if !self.gathered {
            next.after.clone_from(&view.rows.next);
            next.gathered = !more;
        } else if !more {
            return Ok(Next::Done);
        }
        Ok(Next::On(Plot::Number(next)))
    }
}
