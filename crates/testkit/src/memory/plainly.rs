//! Searching plainly: every node is looked at. What cards say is not used.
use super::state::State;
use std::sync::Arc;
use workgraph_core::access::Level;
use workgraph_core::gid::Gid;
use workgraph_core::graph::{Edge, StoreError, ViewerKey, Want};
use workgraph_core::index::Key;
use workgraph_core::load;
use workgraph_core::node::Node;
use workgraph_core::registry::{Rel, Type, rel};
use workgraph_core::rules::ids;
use workgraph_core::search::{Around, CONTACTS, Card, Query, Search, Text};
use workgraph_core::snapshot::{Depth, Snapshot};

/// All matches of a search, in order. `refs` are what its queries name.
pub(super) fn search(
    state: &mut State,
    viewer: ViewerKey,
    refs: &[Gid],
    search: &Search,
) -> Result<Vec<Gid>, StoreError> {
    let place = refs.get(search.place).copied();
    let mut found = Vec::new();
    let all: Vec<Node> = state.live_nodes().cloned().collect();
    for query in &search.queries {
        let Some(query) = query.renamed(&|at| refs.get(*at).copied()) else {
            continue;
        };
        let mut matches = Vec::new();
        for node in all
            .iter()
            .filter(|n| n.ty == query.ty && (n.home == place || n.ty == Type::User))
        {
            let card = fresh(state, node)?;
            let mut around = Plain {
                state,
                viewer,
                place,
            };
            if query.matches(&card, &mut around)? {
                matches.push((query.rank(&card, &mut around)?, node.gid));
            }
        }
        matches.sort_by(|a, b| Query::compare(&query, *a, *b));
        for (_, gid) in matches {
            if !found.contains(&gid) && level(state, viewer, gid)? > Level::None {
                found.push(gid);
            }
        }
    }
    found.truncate(search.limit);
    Ok(found)
}

fn level(state: &mut State, viewer: ViewerKey, gid: Gid) -> Result<Level, StoreError> {
    let who = load::viewer(state, viewer)?;
    let view = load::load(state, &Want::of(viewer).node(gid), Arc::new(who))?;
    Ok(view.level(gid))
}

/// The card as it should be.
fn fresh(state: &mut State, node: &Node) -> Result<Card, StoreError> {
    let mut card = Card::of(node, &Text::of(node));
    let mut edges = Vec::new();
    state.out(node.gid, Rel(0), Rel(u8::MAX), Depth::Edge, &mut |e, _| {
        edges.push(e)
    })?;
    let count = |of: Rel| edges.iter().filter(|e| e.rel == of).count();
    card.sub = count(rel::PARENT) > 0;
    card.waits = count(rel::DEPENDS) > 0;
    card.likes = count(rel::LIKES) as u32;
    card.blocks = state.count_in(node.gid, rel::DEPENDS)? > 0;
    Ok(card)
}

struct Plain<'s> {
    state: &'s mut State,
    viewer: ViewerKey,
    place: Option<Gid>,
}

impl Around for Plain<'_> {
    fn node(&mut self, gid: Gid) -> Result<Option<Arc<Node>>, StoreError> {
        self.state.node(gid, Depth::Full)
    }
    fn edges(&mut self, gid: Gid, rel: Rel) -> Result<Vec<Edge>, StoreError> {
        let mut edges = Vec::new();
        self.state
            .out(gid, rel, rel, Depth::Edge, &mut |e, _| edges.push(e))?;
        Ok(edges)
    }
    fn linked(&mut self, src: Gid, rel: Rel, dst: Gid) -> Result<bool, StoreError> {
        Ok(self.state.linked(src, rel, dst)?.is_some())
    }
    fn entering(&mut self, gid: Gid, rel: Rel) -> Result<u64, StoreError> {
        self.state.count_in(gid, rel)
    }
    fn stories(&mut self, task: Gid) -> Result<Vec<Arc<Node>>, StoreError> {
        let mut found = Vec::new();
        let all = (i64::MIN, i64::MIN);
        self.state.scan_in(
            task,
            rel::STORY_OF,
            all,
            usize::MAX,
            Depth::Full,
            &mut |_, node| {
                found.extend(node);
            },
        )?;
        Ok(found)
    }
    fn contacts(&mut self, user: Gid) -> Result<i64, StoreError> {
        let me = self.viewer.user;
        let place = self.place;
        let cards = self
            .state
            .live_nodes()
            .filter(|n| n.ty == Type::Task && n.home == place);
        let cards = cards.map(|n| Card::of(n, &Text::default()));
        let mut assigned: Vec<Card> = cards.filter(|c| c.assigner == Some(me)).collect();
        assigned.sort_by_key(|c| std::cmp::Reverse(c.gid));
        assigned.truncate(CONTACTS);
        Ok(assigned.iter().filter(|c| c.who == Some(user)).count() as i64)
    }
    fn keys(&mut self, node: Gid, field: Gid) -> Result<Vec<Key>, StoreError> {
        let owner = self.state.node(field, Depth::Full)?;
        let Some(prefix) = owner.and_then(|field| ids::prefix(&field)) else {
            return self.state.keys_of(node, field);
        };
        let edge = self.state.linked(node, rel::NUMBERED, field)?;
        Ok(edge
            .map(|e| ids::key(&prefix, e.rank))
            .into_iter()
            .collect())
    }
}
