//! Copying of the subtasks, attachments and dependencies of tasks that were copied.
use super::attachments::CopiedAttachments;
use super::copier::Copier;
use super::{CopyKind, CopyPhase, Duplication, TIES_MAX};
use crate::access::Level;
use crate::domain_error::DomainError;
use crate::jobs::STEP_OBJECTS;
use crate::model::gid::Gid;
use crate::model::node::Node;
use crate::model::registry::{Relation, rel};
use crate::storage::ListPosition;
use crate::storage::change_builder::ChangeBuilder;

/// Parent whose objects are copied in pages, and the keyset after which the next page starts.
type ParentProgress = Option<(Gid, Option<Vec<i64>>)>;

/// Kind of objects that a phase copies from each task.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Branch {
    Subtasks,
    Attachments,
}

impl Branch {
    /// Returns the relation from the objects to their task.
    pub(super) const fn relation(self) -> Relation {
        match self {
            Self::Subtasks => rel::PARENT,
            Self::Attachments => rel::ATTACHED_TO,
        }
    }

    /// Returns the phase that continues after a page of parents, or inside one of them.
    const fn phase(
        self,
        after: Option<Vec<i64>>,
        wide: usize,
        inside: ParentProgress,
    ) -> CopyPhase {
        match self {
            Self::Subtasks => CopyPhase::Subtasks {
                after,
                wide,
                inside,
            },
            Self::Attachments => CopyPhase::Attachments {
                after,
                wide,
                inside,
            },
        }
    }
}

impl Copier<'_> {
    /// Copies the rows of a phase: the objects of one parent, or of a page of parents. Returns the next phase.
    ///
    /// # Errors
    /// Fails if a description with an attachment cannot be read.
    pub(super) fn branch(
        &self,
        work: &mut ChangeBuilder<'_>,
        next: &mut Duplication,
        branch: Branch,
        (after, wide, inside): (&Option<Vec<i64>>, usize, &ParentProgress),
    ) -> Result<CopyPhase, DomainError> {
        let mut copied = CopiedAttachments::new();
        let phase = if let Some((parent, _)) = inside {
            if let Some(under) = self.copy_of(self.view, *parent) {
                let rows = self.view.rows.gids.iter();
                for old in rows.filter_map(|gid| self.view.node(*gid)) {
                    self.object(work, next, branch, (old, *parent, under), &mut copied);
                }
            }
            let rest = self.view.rows.next.clone();
            let rest = rest.map(|after| (*parent, Some(after)));
            branch.phase(after.clone(), wide, rest)
        } else {
            let phase = self.below(work, next, branch, (after, wide), &mut copied);
            phase.unwrap_or_else(|| match branch {
                Branch::Subtasks => Duplication::after_subtasks(self.plot.parts),
                Branch::Attachments => CopyPhase::Dependencies { after: None },
            })
        };
        self.show_copies(work, &copied)?;
        Ok(phase)
    }

    /// Copies an object of a parent to the parent's copy.
    fn object(
        &self,
        work: &mut ChangeBuilder<'_>,
        next: &mut Duplication,
        branch: Branch,
        (old, parent, under): (&Node, Gid, Gid),
        copied: &mut CopiedAttachments,
    ) {
        match branch {
            Branch::Subtasks => {
                self.task(work, &mut next.copied, old, Some(under));
                next.keep(self.view, old);
            }
            Branch::Attachments => {
                let new = self.attachment(work, old, parent, under);
                copied.entry(under).or_default().push((old.gid, new));
            }
        }
    }

    /// Copies the subtasks or attachments of a page of parents, as many as fit a step. Returns the next
    /// phase, or `None` if there are no more parents.
    fn below(
        &self,
        work: &mut ChangeBuilder<'_>,
        next: &mut Duplication,
        branch: Branch,
        (before, wide): (&Option<Vec<i64>>, usize),
        copied: &mut CopiedAttachments,
    ) -> Option<CopyPhase> {
        let (mut room, mut after) = (STEP_OBJECTS, before.clone());
        for parent in &self.view.rows.gids {
            let Some(mark) = self.more.link(*parent, rel::COPIED, self.job) else {
                // The second read did not reach this parent; the next step reads it.
                return Some(branch.phase(after, (wide / 2).max(8), None));
            };
            let keyset = Some(vec![mark.rank, parent.as_i64()]);
            let below = self.view.sources(*parent, branch.relation());
            if below.len() > STEP_OBJECTS {
                if room < STEP_OBJECTS {
                    return Some(branch.phase(after, 8, None));
                }
                return Some(branch.phase(keyset, 8, Some((*parent, None))));
            }
            if below.len() > room {
                return Some(branch.phase(after, (wide / 2).max(8), None));
            }
            room -= below.len();
            after = keyset;
            let Some(under) = mark.aux else { continue };
            for old in below.iter().filter_map(|e| self.view.node(e.src)) {
                self.object(work, next, branch, (old, *parent, under), copied);
            }
        }
        // Tasks that this step copied are now at the end of the list of parents.
        let more = self.view.rows.next.is_some() || room < STEP_OBJECTS;
        let wide = if room > STEP_OBJECTS / 2 {
            (wide * 2).min(8 * STEP_OBJECTS)
        } else {
            wide
        };
        more.then(|| branch.phase(after, wide, None))
    }

    /// Returns true if one more task may depend on this one.
    fn has_room(&self, on: Gid) -> bool {
        let ties = self.more.links(on, rel::DEPENDS).len();
        let ties = ties + self.more.sources(on, rel::DEPENDS).len();
        self.more.level(on) >= Level::Viewer && ties < TIES_MAX
    }

    /// Links each copy to the copies of its original's dependencies. A dependency that was not copied is itself linked, if only
    /// one task is duplicated and the dependency has room for one more.
    pub(super) fn ties(&self, work: &mut ChangeBuilder<'_>) {
        for row in &self.view.rows.gids {
            let Some(new) = self.copy_of(self.more, *row) else {
                continue;
            };
            for edge in self.view.links(*row, rel::DEPENDS) {
                let outside = || {
                    (self.plot.kind == CopyKind::Task && self.has_room(edge.dst))
                        .then_some(edge.dst)
                };
                let on = self.copy_of(self.more, edge.dst).or_else(outside);
                if let Some(on) = on {
                    work.link(new, rel::DEPENDS, on, ListPosition::Rank(0), None);
                }
            }
        }
    }
}
