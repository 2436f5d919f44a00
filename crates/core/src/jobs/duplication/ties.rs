//! Copying what hangs on tasks that were copied: their subtasks, and what they wait for.
use super::copier::Copier;
use super::{Duplication, Kind, Phase, TIES_MAX};
use crate::access::Level;
use crate::gid::Gid;
use crate::graph::Place;
use crate::jobs::STEP;
use crate::registry::rel;
use crate::work::Work;

impl Copier<'_> {
    /// Copies the subtasks of a page of parents, as many as fit a step; none if there are no more
    /// parents.
    pub(super) fn below(
        &self,
        work: &mut Work<'_>,
        next: &mut Duplication,
        before: &Option<Vec<i64>>,
        wide: usize,
    ) -> Option<Phase> {
        let (mut room, mut after) = (STEP, before.clone());
        for parent in &self.view.rows.gids {
            let Some(mark) = self.more.link(*parent, rel::COPIED, self.job) else {
                // Beyond what fits this step.
                return Some(Phase::Subtasks {
                    after,
                    wide: (wide / 2).max(8),
                    inside: None,
                });
            };
            let keyset = Some(vec![mark.rank, parent.as_i64()]);
            let below = self.view.sources(*parent, rel::PARENT);
            if below.len() > STEP {
                if room < STEP {
                    return Some(Phase::Subtasks {
                        after,
                        wide: 8,
                        inside: None,
                    });
                }
                return Some(Phase::Subtasks {
                    after: keyset,
                    wide: 8,
                    inside: Some((*parent, None)),
                });
            }
            if below.len() > room {
                return Some(Phase::Subtasks {
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
        // What was copied now has stood itself at the end of the list.
        let more = self.view.rows.next.is_some() || room < STEP;
        more.then_some(Phase::Subtasks {
            after,
            wide: if room > STEP / 2 {
                (wide * 2).min(8 * STEP)
            } else {
                wide
            },
            inside: None,
        })
    }

    /// Whether one more task may wait for this one.
    fn has_room(&self, on: Gid) -> bool {
        let ties = self.more.links(on, rel::DEPENDS).len();
        let ties = ties + self.more.sources(on, rel::DEPENDS).len();
        self.more.level(on) >= Level::Viewer && ties < TIES_MAX
    }

    /// Lets copies wait for the copies of what their originals wait for. What was not copied too is
    /// waited for itself, if only the task was to be copied and there is room.
    pub(super) fn ties(&self, work: &mut Work<'_>) {
        for row in &self.view.rows.gids {
            let Some(new) = self.copy_of(self.more, *row) else {
                continue;
            };
            for edge in self.view.links(*row, rel::DEPENDS) {
                let outside = || {
                    (self.plot.kind == Kind::Task && self.has_room(edge.dst)).then_some(edge.dst)
                };
                let on = self.copy_of(self.more, edge.dst).or_else(outside);
                if let Some(on) = on {
                    work.link(new, rel::DEPENDS, on, Place::Rank(0), None);
                }
            }
        }
    }
}
