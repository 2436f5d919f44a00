//! Duplication of tasks: section by section, then their subtasks, then their attachments, then their dependencies.
//!
//! Each copied object leaves an edge from the original to the job. The auxiliary node of the edge is the copy, and its rank
//! counts the copies. The edge of an original leads to its copy. In the order of their ranks, the edges are the list of
//! tasks whose subtasks are still to be copied. The list grows at its end until no subtasks are left: a breadth-first walk
//! that keeps nothing in memory.
mod allocations;
mod attachments;
mod copied_values;
mod copier;
mod copy_options;
mod reads;
mod relations;

pub use copier::copy_root;
pub use copy_options::CopyOptions;
pub use reads::root;

use super::date_shift::{DateAnchor, DateShift, DateSpan};
use super::template_snapshot::TemplateData;
use super::{JobKind, LeasedJob, NextStep, STEP_OBJECTS};
use crate::access::Level;
use crate::domain_error::DomainError;
use crate::model::draft::Draft;
use crate::model::gid::Gid;
use crate::model::node::Node;
use crate::model::registry::{Relation, Type, rel};
use crate::model::resources::{project, task};
use crate::model::time::Date;
use crate::rules::membership_rules;
use crate::storage::change_builder::ChangeBuilder;
use crate::storage::{ListPosition, ReadView};
use copier::Copier;
use copy_options::ALLOCATIONS;
use relations::Branch;
use serde::{Deserialize, Serialize};

/// Maximum number of dependencies and dependents of a task, together.
pub const TIES_MAX: usize = 30;

/// Kind of a copy, by the types of original and copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CopyKind {
    /// Copy of a task, with its subtasks.
    Task,
    /// Copy of a project.
    Project,
    /// Template made from a project.
    #[serde(rename = "Freeze")]
    ProjectToTemplate,
    /// Project made from a template.
    #[serde(rename = "Thaw")]
    TemplateToProject,
}

impl CopyKind {
    /// Returns the type of the originals.
    const fn from(self) -> Type {
        match self {
            Self::TemplateToProject => Type::TemplateTask,
            _ => Type::Task,
        }
    }
    /// Returns the type of the copies.
    const fn to(self) -> Type {
        match self {
            Self::ProjectToTemplate => Type::TemplateTask,
            _ => Type::Task,
        }
    }
    /// Returns the relation from objects of a type to their tags.
    const fn tags(ty: Type) -> Relation {
        match ty {
            Type::TemplateTask => rel::RECIPE_TAGS,
            _ => rel::TAGS,
        }
    }
}

/// Copying of a task or project, and its progress.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Duplication {
    /// The project or task that is copied.
    #[serde(rename = "from")]
    pub source: Gid,
    /// Root of the copy.
    #[serde(rename = "to")]
    pub copy: Gid,
    /// Types of the original and of the copy.
    pub kind: CopyKind,
    /// Pairs of an assignee and the user who gets the copies of the assignee's tasks.
    pub roles: Vec<(Gid, Gid)>,
    /// Data that a template keeps beside its record.
    #[serde(rename = "frozen")]
    pub template: TemplateData,
    /// Fields and relations that copies take over.
    pub parts: CopyOptions,
    /// Difference between the dates of copies and originals.
    pub shift: DateShift,
    /// Day on which the dates should begin or end; the shift follows from it.
    pub anchor: Option<DateAnchor>,
    /// Number of objects copied so far.
    pub copied: i64,
    /// Phase that the next step continues.
    pub phase: CopyPhase,
}

/// Phases of a duplication, in their order; `after` is the keyset of the last row that was done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CopyPhase {
    /// Search for the first and the last day.
    Survey {
        /// Keyset after which the page starts.
        after: Option<Vec<i64>>,
        /// Days found so far.
        span: DateSpan,
    },
    /// Copying of the sections of the project.
    Sections {
        /// Keyset after which the page starts.
        after: Option<Vec<i64>>,
    },
    /// Copying of the tasks of the project.
    Tasks {
        /// Keyset after which the page starts.
        after: Option<Vec<i64>>,
    },
    /// The subtasks of tasks that were copied.
    Subtasks {
        /// Keyset after which the page of parents starts.
        after: Option<Vec<i64>>,
        /// Number of parents in a page: higher if few of them have subtasks.
        wide: usize,
        /// Parent that has too many subtasks for one step, and the keyset after which the page of
        /// its subtasks starts.
        inside: Option<(Gid, Option<Vec<i64>>)>,
    },
    /// The attachments of tasks that were copied.
    Attachments {
        /// Keyset after which the page of parents starts.
        after: Option<Vec<i64>>,
        /// Number of parents in a page: higher if few of them have attachments.
        wide: usize,
        /// Parent that has too many attachments for one step, and the keyset after which the page of
        /// its attachments starts.
        inside: Option<(Gid, Option<Vec<i64>>)>,
    },
    /// Copying of the dependencies of the copies.
    Dependencies {
        /// Keyset after which the page starts.
        after: Option<Vec<i64>>,
    },
    /// Copying of the allocations of the project.
    Allocations {
        /// Keyset after which the page starts.
        after: Option<Vec<i64>>,
    },
}

impl Duplication {
    /// Returns the first phase of copying a project.
    #[must_use]
    pub fn of_project(anchor: Option<DateAnchor>) -> CopyPhase {
        if anchor.is_some() {
            CopyPhase::Survey {
                after: None,
                span: DateSpan::default(),
            }
        } else {
            CopyPhase::Sections { after: None }
        }
    }

    /// Returns the first phase after the task itself was copied.
    #[must_use]
    pub fn of_task(parts: CopyOptions) -> CopyPhase {
        if parts.has("subtasks") {
            CopyPhase::Subtasks {
                after: None,
                wide: STEP_OBJECTS,
                inside: None,
            }
        } else {
            Self::after_subtasks(parts)
        }
    }

    /// Returns the phase that follows the subtasks.
    fn after_subtasks(parts: CopyOptions) -> CopyPhase {
        if parts.has("attachments") {
            CopyPhase::Attachments {
                after: None,
                wide: STEP_OBJECTS,
                inside: None,
            }
        } else {
            CopyPhase::Dependencies { after: None }
        }
    }

    /// Takes the next step: copies a page of the current phase.
    pub(super) fn step(
        &self,
        leased_job: &LeasedJob,
        view: &ReadView,
        more: Option<&ReadView>,
        work: &mut ChangeBuilder<'_>,
    ) -> Result<NextStep, DomainError> {
        for (gid, what) in [(self.source, "original"), (self.copy, "copy")] {
            if view.node(gid).is_none() {
                return Err(DomainError::invalid(format!("The {what} was deleted.")));
            }
        }
        if view.level(self.source) < Level::Viewer {
            return Err(DomainError::invalid("The original is no longer shared."));
        }
        work.require_live(self.copy);
        let mut next = self.clone();
        let copier = Copier {
            plot: self,
            job: leased_job.gid(),
            view,
            more: more.unwrap_or(view),
        };
        next.phase = match &self.phase {
            CopyPhase::Survey { span, .. } => {
                let mut span = *span;
                span.add_rows(view);
                if view.rows.next.is_none() {
                    next.shift.days = self.anchor.map_or(0, |anchor| span.shift_to(anchor));
                    next.template.span = span;
                    if self.kind == CopyKind::Project {
                        next.move_project(work, view);
                    }
                    CopyPhase::Sections { after: None }
                } else {
                    let after = view.rows.next.clone();
                    CopyPhase::Survey { after, span }
                }
            }
            CopyPhase::Sections { .. } => {
                let workspace = view
                    .node(self.copy)
                    .and_then(|n| n.workspace)
                    .unwrap_or(self.copy);
                for old in &view.rows.gids {
                    let name = view.node(*old).map(Node::title).unwrap_or_default();
                    let new = membership_rules::add_section(
                        work,
                        self.copy,
                        workspace,
                        &name,
                        ListPosition::Last,
                    );
                    copier.note(work, &mut next.copied, *old, new);
                }
                match view.rows.next.clone() {
                    None => CopyPhase::Tasks { after: None },
                    after => CopyPhase::Sections { after },
                }
            }
            CopyPhase::Tasks { .. } => {
                for old in view.rows.gids.iter().filter_map(|g| view.node(*g)) {
                    copier.task(work, &mut next.copied, old, None);
                    next.keep(view, old);
                }
                match view.rows.next.clone() {
                    None => self.after_tasks(),
                    after => CopyPhase::Tasks { after },
                }
            }
            CopyPhase::Subtasks {
                after,
                wide,
                inside,
            } => copier.branch(work, &mut next, Branch::Subtasks, (after, *wide, inside))?,
            CopyPhase::Attachments {
                after,
                wide,
                inside,
            } => copier.branch(work, &mut next, Branch::Attachments, (after, *wide, inside))?,
            CopyPhase::Dependencies { .. } => {
                if self.parts.has("dependencies") {
                    copier.ties(work);
                    if view.rows.next.is_some() {
                        next.phase = CopyPhase::Dependencies {
                            after: view.rows.next.clone(),
                        };
                        return Ok(NextStep::Continue(JobKind::Duplicate(next)));
                    }
                }
                if self.kind != CopyKind::Project || !self.parts.has(ALLOCATIONS) {
                    next.seal(work, view)?;
                    return Ok(NextStep::Done);
                }
                CopyPhase::Allocations { after: None }
            }
            CopyPhase::Allocations { .. } => {
                copier.allocations(work);
                let after = view.rows.next.clone();
                if after.is_none() {
                    return Ok(NextStep::Done);
                }
                CopyPhase::Allocations { after }
            }
        };
        Ok(NextStep::Continue(JobKind::Duplicate(next)))
    }

    /// Moves the project's own dates by as many days as the dates of its tasks.
    fn move_project(&self, work: &mut ChangeBuilder<'_>, view: &ReadView) {
        let (Some(old), Some(new)) = (view.node(self.source), view.node(self.copy)) else {
            return;
        };
        let mut draft = Draft::edit(new);
        let day = |day: Option<Date>| day.map(|d| self.shift.day(d));
        draft.set(project::START_ON, day(old.get(project::START_ON)));
        draft.set(project::DUE_ON, day(old.get(project::DUE_ON)));
        work.save(&draft);
    }

    /// Keeps the assignee of a task that goes into a template, as one of the template's roles.
    fn keep(&mut self, view: &ReadView, old: &Node) {
        if self.kind == CopyKind::ProjectToTemplate
            && let Some(assignee) = old.get(task::ASSIGNEE).and_then(|gid| view.node(gid))
        {
            self.template.add(assignee);
        }
    }

    /// Writes the roles and dates that the template asks for into its record.
    fn seal(&self, work: &mut ChangeBuilder<'_>, view: &ReadView) -> Result<(), DomainError> {
        if let (CopyKind::ProjectToTemplate, Some(node)) = (self.kind, view.node(self.copy)) {
            let mut draft = Draft::edit(node);
            self.template.write(&mut draft)?;
            work.save(&draft);
        }
        Ok(())
    }

    fn after_tasks(&self) -> CopyPhase {
        Self::of_task(self.parts)
    }
}
