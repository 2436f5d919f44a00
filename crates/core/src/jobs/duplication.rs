//! Copying tasks: section by section, then what is below them, then what they wait for.
//!
//! Each copied object leaves an edge from the original to the job, whose third party is the copy
//! and whose rank counts the copies. Read by original it says what became of it; read in order it
//! is the list of tasks whose subtasks are still to be copied, which grows at its end until there
//! are none: breadth first, without anything kept in memory.
mod copier;
mod parts;
mod reading;
mod ties;

pub use copier::copy_root;
pub use parts::Parts;
pub use reading::root;

use super::dates::{Anchor, Shift, Span};
use super::freezing::Frozen;
use super::{Held, Next, Plot, STEP};
use crate::access::Level;
use crate::draft::Draft;
use crate::fault::Fault;
use crate::gid::Gid;
use crate::graph::{Place, View};
use crate::node::Node;
use crate::registry::{Rel, Type, rel};
use crate::resources::{project, task};
use crate::rules::membership;
use crate::time::Date;
use crate::work::Work;
use copier::Copier;
use serde::{Deserialize, Serialize};

/// The most tasks that one waits for or that wait for it, together.
pub const TIES_MAX: usize = 30;

/// What becomes of what.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kind {
    /// A task becomes a task, with what is below it.
    Task,
    /// A project becomes a project.
    Project,
    /// A project becomes a template.
    Freeze,
    /// A template becomes a project.
    Thaw,
}

impl Kind {
    /// The type of the originals.
    const fn from(self) -> Type {
        match self {
            Self::Thaw => Type::Recipe,
            _ => Type::Task,
        }
    }
    /// The type of the copies.
    const fn to(self) -> Type {
        match self {
            Self::Freeze => Type::Recipe,
            _ => Type::Task,
        }
    }
    /// The edges from things of a type to their tags.
    const fn tags(ty: Type) -> Rel {
        match ty {
            Type::Recipe => rel::RECIPE_TAGS,
            _ => rel::TAGS,
        }
    }
}

/// A copying, and how far it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Duplication {
    /// The project or task that is copied.
    pub from: Gid,
    /// Its copy.
    pub to: Gid,
    /// What becomes of what.
    pub kind: Kind,
    /// Assignees whose tasks go to another.
    pub roles: Vec<(Gid, Gid)>,
    /// What a template keeps besides.
    pub frozen: Frozen,
    /// What copies have.
    pub parts: Parts,
    /// How their dates differ.
    pub shift: Shift,
    /// Where the dates are to begin or end; the shift follows from it.
    pub anchor: Option<Anchor>,
    /// How many objects were copied.
    pub copied: i64,
    /// What is done now.
    pub phase: Phase,
}

/// The parts of a copying, in their order; `after` is the keyset of the last row done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Phase {
    /// Looking for the first and the last day.
    Survey {
        /// Where the page starts.
        after: Option<Vec<i64>>,
        /// What was found so far.
        span: Span,
    },
    /// The sections of the project.
    Sections {
        /// Where the page starts.
        after: Option<Vec<i64>>,
    },
    /// The tasks of the project.
    Tasks {
        /// Where the page starts.
        after: Option<Vec<i64>>,
    },
    /// The subtasks of what was copied.
    Subtasks {
        /// Where the page of parents starts.
        after: Option<Vec<i64>>,
        /// How many parents a page has: more where few have subtasks.
        wide: usize,
        /// A parent with too many for one step, and where the page of its subtasks starts.
        inside: Option<(Gid, Option<Vec<i64>>)>,
    },
    /// What the copies wait for.
    Dependencies {
        /// Where the page starts.
        after: Option<Vec<i64>>,
    },
}

impl Duplication {
    /// The first phase of copying a project.
    #[must_use]
    pub fn of_project(anchor: Option<Anchor>) -> Phase {
        if anchor.is_some() {
            Phase::Survey {
                after: None,
                span: Span::default(),
            }
        } else {
            Phase::Sections { after: None }
        }
    }

    /// The first phase after the task itself was copied.
    #[must_use]
    pub fn of_task(parts: Parts) -> Phase {
        if parts.has("subtasks") {
            Phase::Subtasks {
                after: None,
                wide: STEP,
                inside: None,
            }
        } else {
            Phase::Dependencies { after: None }
        }
    }

    /// The next step.
    pub(super) fn step(
        &self,
        held: &Held,
        view: &View,
        more: Option<&View>,
        work: &mut Work<'_>,
    ) -> Result<Next, Fault> {
        for (gid, what) in [(self.from, "original"), (self.to, "copy")] {
            if view.node(gid).is_none() {
                return Err(Fault::invalid(format!("The {what} was deleted.")));
            }
        }
        if view.level(self.from) < Level::Viewer {
            return Err(Fault::invalid("The original is no longer shared."));
        }
        work.needs_live(self.to);
        let mut next = self.clone();
        let copier = Copier {
            plot: self,
            job: held.gid(),
            view,
            more: more.unwrap_or(view),
        };
        next.phase = match &self.phase {
            Phase::Survey { span, .. } => {
                let mut span = *span;
                span.add_rows(view);
                if view.rows.next.is_none() {
                    next.shift.days = self.anchor.map_or(0, |anchor| span.shift_to(anchor));
                    next.frozen.span = span;
                    if self.kind == Kind::Project {
                        next.move_project(work, view);
                    }
                    Phase::Sections { after: None }
                } else {
                    let after = view.rows.next.clone();
                    Phase::Survey { after, span }
                }
            }
            Phase::Sections { .. } => {
                let home = view.node(self.to).and_then(|n| n.home).unwrap_or(self.to);
                for old in &view.rows.gids {
                    let name = view.node(*old).map(Node::title).unwrap_or_default();
                    let new = membership::add_section(work, self.to, home, &name, Place::Last);
                    copier.note(work, &mut next.copied, *old, new);
                }
                match view.rows.next.clone() {
                    None => Phase::Tasks { after: None },
                    after => Phase::Sections { after },
                }
            }
            Phase::Tasks { .. } => {
                for old in view.rows.gids.iter().filter_map(|g| view.node(*g)) {
                    copier.task(work, &mut next.copied, old, None);
                    next.keep(view, old);
                }
                match view.rows.next.clone() {
                    None => self.after_tasks(),
                    after => Phase::Tasks { after },
                }
            }
            Phase::Subtasks {
                after,
                wide,
                inside: Some((parent, _)),
            } => {
                if let Some(under) = copier.copy_of(view, *parent) {
                    for old in view.rows.gids.iter().filter_map(|g| view.node(*g)) {
                        copier.task(work, &mut next.copied, old, Some(under));
                        next.keep(view, old);
                    }
                }
                let rest = view.rows.next.clone().map(|after| (*parent, Some(after)));
                Phase::Subtasks {
                    after: after.clone(),
                    wide: *wide,
                    inside: rest,
                }
            }
            Phase::Subtasks { after, wide, .. } => {
                match copier.below(work, &mut next, after, *wide) {
                    Some(phase) => phase,
                    None => Phase::Dependencies { after: None },
                }
            }
            Phase::Dependencies { .. } => {
                if self.parts.has("dependencies") {
                    copier.ties(work);
                    if view.rows.next.is_some() {
                        next.phase = Phase::Dependencies {
                            after: view.rows.next.clone(),
                        };
                        return Ok(Next::On(Plot::Duplicate(next)));
                    }
                }
                next.seal(work, view)?;
                return Ok(Next::Done);
            }
        };
        Ok(Next::On(Plot::Duplicate(next)))
    }

    /// Moves the dates of the project itself as far as those of its tasks.
    fn move_project(&self, work: &mut Work<'_>, view: &View) {
        let (Some(old), Some(new)) = (view.node(self.from), view.node(self.to)) else {
            return;
        };
        let mut draft = Draft::edit(new);
        let day = |day: Option<Date>| day.map(|d| self.shift.day(d));
        draft.set(project::START_ON, day(old.get(project::START_ON)));
        draft.set(project::DUE_ON, day(old.get(project::DUE_ON)));
        work.save(&draft);
    }

    /// Keeps who is assigned to what goes into a template.
    fn keep(&mut self, view: &View, old: &Node) {
        if self.kind == Kind::Freeze
            && let Some(who) = old.get(task::ASSIGNEE).and_then(|who| view.node(who))
        {
            self.frozen.add(who);
        }
    }

    /// Says in the template what it asks for.
    fn seal(&self, work: &mut Work<'_>, view: &View) -> Result<(), Fault> {
        if let (Kind::Freeze, Some(node)) = (self.kind, view.node(self.to)) {
            let mut draft = Draft::edit(node);
            self.frozen.write(&mut draft)?;
            work.save(&draft);
        }
        Ok(())
    }

    fn after_tasks(&self) -> Phase {
        Self::of_task(self.parts)
    }
}
