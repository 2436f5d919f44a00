//! Numbering of the tasks that a project had before it got a field with automatic ids, oldest first.
//!
//! A project has no order of creation. So all its tasks are first linked to the job, with their gids as ranks, and then
//! numbered from the start of that list. Tasks that are added in between get the next numbers.
use super::{JobKind, NextStep, STEP_OBJECTS};
use crate::domain_error::DomainError;
use crate::model::gid::Gid;
use crate::model::registry::{Direction, rel};
use crate::storage::change_builder::ChangeBuilder;
use crate::storage::{EdgeEnd, ListPosition, ListSource, PageQuery, ReadQuery, ReadView};
use crate::tasks_of_container;
use serde::{Deserialize, Serialize};

/// Numbering of a project's tasks, and its progress.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Numbering {
    /// Project whose tasks get numbers.
    pub project: Gid,
    /// Custom field with automatic ids.
    pub field: Gid,
    /// True if all tasks are linked to the job.
    pub gathered: bool,
    /// Keyset after which the page of tasks starts.
    pub after: Option<Vec<i64>>,
}

impl Numbering {
    /// Creates a numbering that has not begun.
    #[must_use]
    pub fn new(project: Gid, field: Gid) -> Self {
        Self {
            project,
            field,
            gathered: false,
            after: None,
        }
    }

    /// Adds the reads of a step.
    pub(super) fn needs(&self, job: Gid, want: ReadQuery) -> ReadQuery {
        let mut want = want.node(self.field);
        let (job, project) = (want.add_ref(job), want.add_ref(self.project));
        let from = if self.gathered {
            ListSource::Edges {
                anchor: job,
                rel: rel::TO_NUMBER,
                dir: Direction::In,
                give: EdgeEnd::OtherEnd,
            }
        } else {
            tasks_of_container(project, false)
        };
        want.page = Some(PageQuery {
            after: self.after.clone(),
            ..PageQuery::of(from, true, STEP_OBJECTS)
        });
        want
    }

    /// Takes the next step: links or numbers a page of tasks.
    pub(super) fn step(
        &self,
        job: Gid,
        view: &ReadView,
        work: &mut ChangeBuilder<'_>,
    ) -> Result<NextStep, DomainError> {
        if view.node(self.field).is_none() || view.node(self.project).is_none() {
            return Err(DomainError::invalid(
                "The field or the project was deleted.",
            ));
        }
        let mut next = self.clone();
        for task in view.rows.gids.iter().copied() {
            if self.gathered {
                work.link(
                    task,
                    rel::NUMBERED,
                    self.field,
                    ListPosition::NextRank,
                    None,
                );
                work.unlink(task, rel::TO_NUMBER, job);
            } else {
                let rank = ListPosition::Rank(task.as_i64());
                work.link(task, rel::TO_NUMBER, job, rank, None);
            }
        }
        let more = view.rows.next.is_some();
        if !self.gathered {
            next.after.clone_from(&view.rows.next);
            next.gathered = !more;
        } else if !more {
            return Ok(NextStep::Done);
        }
        Ok(NextStep::Continue(JobKind::AssignNumbers(next)))
    }
}
