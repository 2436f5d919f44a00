//! Copying of the subtasks and dependencies of tasks that were copied.
use super::copier::Copier;
use super::{CopyKind, CopyPhase, Duplication, TIES_MAX};
use crate::access::Level;
use crate::jobs::STEP_OBJECTS;
use crate::model::gid::Gid;
use crate::model::registry::rel;
use crate::storage::ListPosition;
use crate::storage::change_builder::ChangeBuilder;

impl Copier<'_> {
    /// Copies the subtasks of a page of parents, as many as fit a step. Returns the next phase, or
    /// `None` if there are no more parents.
    pub(super) fn below(
        &self,
        work: &mut ChangeBuilder<'_>,
        next: &mut Duplication,
        before: &Option<Vec<i64>>,
        wide: usize,
    ) -> Option<CopyPhase> {
        let (mut room, mut after) = (STEP_OBJECTS, before.clone());
        for parent in &self.view.rows.gids {
            let Some(mark) = self.more.link(*parent, rel::COPIED, self.job) else {
                // The second read did not reach this parent: it is left to the next step.
                return Some(CopyPhase::Subtasks {
                    after,
                    wide: (wide / 2).max(8),
                    inside: None,
                });
            };
            let keyset = Some(vec![mark.rank, parent.as_i64()]);
            let below = self.view.sources(*parent, rel::PARENT);
            if below.len() > STEP_OBJECTS {
                if room < STEP_OBJECTS {
                    return Some(CopyPhase::Subtasks {
                        after,
                        wide: 8,
                        inside: None,
                    });
                }
                return Some(CopyPhase::Subtasks {
                    after: keyset,
                    wide: 8,
                    inside: Some((*parent, None)),
                });
            }
            if below.len() > room {
                return Some(CopyPhase::Subtasks {
                    after,
                    wide: (wide / 2).max(8),
                    inside: None,
                });
            }
            room -= below.len();
            after = keyset;
            let Some(under) = mark.aux else { continue };
            for old in below.iter().filter_map(|e| self.view.node(e.src)) {
                self.task(work, &mut next.copied, old, Some(under));
                next.keep(self.view, old);
            }
        }
        // Tasks that were copied now are themselves at the end of the list.
        let more = self.view.rows.next.is_some() || room < STEP_OBJECTS;
        more.then_some(CopyPhase::Subtasks {
            after,
            wide: if room > STEP_OBJECTS / 2 {
                (wide * 2).min(8 * STEP_OBJECTS)
            } else {
                wide
            },
            inside: None,
        })
    }

    /// Returns true if one more task may depend on this one.
    fn has_room(&self, on: Gid) -> bool {
        let ties = self.more.links(on, rel::DEPENDS).len();
        let ties = ties + self.more.sources(on, rel::DEPENDS).len();
        self.more.level(on) >= Level::Viewer && ties < TIES_MAX
    }

    /// Links each copy to the copies of its original's dependencies. A dependency that was not
    /// copied is linked itself, if only one task is duplicated and the dependency has room for one
    /// more.
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
