//! Guards of edges: what a decision read about the edges that it writes or removes must still be true at the commit.
use crate::model::gid::Gid;
use crate::model::registry::Relation;
use crate::storage::{Changes, Guard, ListPosition, ReadQuery, ReadView};
use rustc_hash::FxHashSet;

/// An edge by source, relation and target.
type EdgeKey = (Gid, Relation, Gid);

impl Changes {
    /// Guards each written or removed edge that the decision knew: an absent edge must still be absent, an existing one must
    /// still exist. So of two equal requests at the same moment, the second one decides again, and finds nothing to do or report.
    /// Edges that the query did not read have no guard: nothing was decided from them.
    ///
    /// The nodes of a removed edge must still exist: nothing is removed from a node that was deleted at the same moment.
    pub fn guard_edges(&mut self, want: &ReadQuery, view: &ReadView) {
        let new: FxHashSet<Gid> = self
            .node_writes
            .iter()
            .filter(|write| write.node.version == 1)
            .map(|write| write.node.gid)
            .collect();
        // An existing edge with the next rank stays as it is, and a total is added to its value at that time.
        let is_decided =
            |position| !matches!(position, ListPosition::NextRank | ListPosition::Plus(_));
        let made = self.edge_writes.iter();
        let made = made.filter(|link| is_decided(link.position));
        let made = made.map(|link| (link.src, link.rel, link.dst));
        let guarded = self.guards.iter().filter_map(|guard| match *guard {
            Guard::Unlinked(src, rel, dst) | Guard::Linked(src, rel, dst) => Some((src, rel, dst)),
            _ => None,
        });
        let mut seen: FxHashSet<EdgeKey> = guarded.collect();
        let guards: Vec<Guard> = self
            .edge_removals
            .iter()
            .copied()
            .chain(made)
            .filter(|(src, _, dst)| !new.contains(src) && !new.contains(dst))
            .filter(|edge| seen.insert(*edge))
            .filter_map(|edge| {
                let (src, rel, dst) = edge;
                Some(match view.knows_edge(want, edge)? {
                    true => Guard::Linked(src, rel, dst),
                    false => Guard::Unlinked(src, rel, dst),
                })
            })
            .collect();
        self.guards.extend(guards);
        self.guard_ends_of_removals(&new, view);
    }

    fn guard_ends_of_removals(&mut self, new: &FxHashSet<Gid>, view: &ReadView) {
        let guarded = self.guards.iter().filter_map(|guard| match *guard {
            Guard::Live(gid) | Guard::Version(gid, _) => Some(gid),
            _ => None,
        });
        let mut guarded: FxHashSet<Gid> = guarded.collect();
        let ends = self.edge_removals.iter();
        let ends = ends.flat_map(|(src, _, dst)| [*src, *dst]);
        let ends = ends.filter(|gid| !new.contains(gid) && view.nodes.contains_key(gid));
        let guards: Vec<Guard> = ends
            .filter(|gid| guarded.insert(*gid))
            .map(Guard::Live)
            .collect();
        self.guards.extend(guards);
    }
}

impl ReadView {
    /// Returns true if an edge exists, false if it does not, `None` if it was not read.
    fn knows_edge(&self, want: &ReadQuery, (src, rel, dst): EdgeKey) -> Option<bool> {
        if self.link(src, rel, dst).is_some() || self.sources(dst, rel).iter().any(|e| e.src == src)
        {
            return Some(true);
        }
        // Edges to a removed node are not read, but may exist.
        if !self.nodes.contains_key(&src) || !self.nodes.contains_key(&dst) {
            return None;
        }
        let in_band = self
            .out
            .get(&src)
            .is_some_and(|band| band.lo <= rel && rel <= band.hi);
        let at = |index: usize| {
            want.node_refs
                .get(index)
                .and_then(|name| self.resolve(name))
        };
        let is_asked = || {
            let mut asked = want.linked.iter();
            asked.any(|(a, of, b)| *of == rel && at(*a) == Some(src) && at(*b) == Some(dst))
        };
        (in_band || is_asked()).then_some(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::{Level, Viewer};
    use crate::model::draft::Draft;
    use crate::model::edge::Edge;
    use crate::model::registry::{Type, rel};
    use crate::model::time::Time;
    use crate::storage::ViewerKey;
    use crate::storage::change_builder::ChangeBuilder;
    use std::sync::Arc;

    fn gid(number: u64) -> Gid {
        Gid::new(number).unwrap()
    }

    #[test]
    fn edges_that_were_read_are_guarded_as_they_were_read() {
        let (task, user, other, tag) = (gid(1), gid(2), gid(3), gid(4));
        let node = |gid, ty| Draft::new(ty, gid, None).finish();
        let edge = Edge {
            src: task,
            rel: rel::FOLLOWERS,
            dst: user,
            rank: 0,
            seq: 1,
            aux: None,
        };
        let view = ReadView::new(Arc::new(Viewer::without_memberships(user)), 1)
            .with_node(node(task, Type::Task), Level::Editor)
            .with_node(node(user, Type::User), Level::Viewer)
            .with_node(node(other, Type::User), Level::Viewer);
        let mut view = view;
        view.singles.push(edge);
        let viewer = ViewerKey {
            user,
            service: None,
        };
        let want = ReadQuery::of(viewer).edge(task, rel::FOLLOWERS, user).edge(
            task,
            rel::FOLLOWERS,
            other,
        );
        let mint = || gid(9);
        let mut work = ChangeBuilder::new(Some(user), Time::from_millis(0), &mint);
        work.unlink(task, rel::FOLLOWERS, user);
        work.link(task, rel::FOLLOWERS, other, ListPosition::Rank(0), None);
        // This edge was not read.
        work.link(task, rel::TAGS, tag, ListPosition::Rank(0), None);
        work.changes.guard_edges(&want, &view);
        assert_eq!(
            work.changes.guards,
            [
                Guard::Linked(task, rel::FOLLOWERS, user),
                Guard::Unlinked(task, rel::FOLLOWERS, other),
                Guard::Live(task),
                Guard::Live(user)
            ]
        );
    }
}
