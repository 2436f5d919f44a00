//! Naive search: every node is read. The values of index entries are not used.
use super::memory_graph::MemoryGraph;
use std::sync::Arc;
use workgraph_core::access::Level;
use workgraph_core::engine;
use workgraph_core::model::gid::Gid;
use workgraph_core::model::node::Node;
use workgraph_core::model::registry::{Relation, Type, rel};
use workgraph_core::rules::auto_id_rules;
use workgraph_core::search::{CONTACTS, EvalContext, IndexEntry, NodeWords, Search, SearchQuery};
use workgraph_core::storage::custom_field_index::IndexKey;
use workgraph_core::storage::snapshot::{Depth, Snapshot};
use workgraph_core::storage::{Edge, GraphStoreError, ReadQuery, ViewerKey};

/// Returns all matches of a search, in order. `refs` are the nodes that its queries name.
pub(super) fn search(
    state: &mut MemoryGraph,
    viewer: ViewerKey,
    refs: &[Gid],
    search: &Search,
) -> Result<Vec<Gid>, GraphStoreError> {
    let workspace = refs.get(search.workspace).copied();
    let mut found = Vec::new();
    let all: Vec<Node> = state.live_nodes().cloned().collect();
    for query in &search.queries {
        let Some(query) = query.renamed(&|at| refs.get(*at).copied()) else {
            continue;
        };
        let mut matches = Vec::new();
        for node in all
            .iter()
            .filter(|n| n.ty == query.ty && (n.workspace == workspace || n.ty == Type::User))
        {
            let entry = fresh(state, node)?;
            let mut around = NaiveEvaluator {
                state,
                viewer,
                workspace,
            };
            if query.matches(&entry, &mut around)? {
                matches.push((query.rank(&entry, &mut around)?, node.gid));
            }
        }
        matches.sort_by(|a, b| SearchQuery::compare(&query, *a, *b));
        for (_, gid) in matches {
            if !found.contains(&gid) && level(state, viewer, gid)? > Level::None {
                found.push(gid);
            }
        }
    }
    found.truncate(search.limit);
    Ok(found)
}

fn level(state: &mut MemoryGraph, viewer: ViewerKey, gid: Gid) -> Result<Level, GraphStoreError> {
    let loaded_viewer = engine::viewer(state, viewer)?;
    let view = engine::load::load(
        state,
        &ReadQuery::of(viewer).node(gid),
        Arc::new(loaded_viewer),
    )?;
    Ok(view.level(gid))
}

/// Returns the correct index entry.
fn fresh(state: &mut MemoryGraph, node: &Node) -> Result<IndexEntry, GraphStoreError> {
    let mut entry = IndexEntry::of(node, &NodeWords::of(node));
    let mut edges = Vec::new();
    state.edges_out(
        node.gid,
        Relation(0),
        Relation(u8::MAX),
        Depth::Edge,
        &mut |e, _| edges.push(e),
    )?;
    let count = |of: Relation| edges.iter().filter(|e| e.rel == of).count();
    entry.is_subtask = count(rel::PARENT) > 0;
    entry.is_blocked = count(rel::DEPENDS) > 0;
    entry.likes = count(rel::LIKES) as u32;
    entry.is_blocking = state.count_in(node.gid, rel::DEPENDS)? > 0;
    Ok(entry)
}

struct NaiveEvaluator<'s> {
    state: &'s mut MemoryGraph,
    viewer: ViewerKey,
    workspace: Option<Gid>,
}

impl EvalContext for NaiveEvaluator<'_> {
    fn node(&mut self, gid: Gid) -> Result<Option<Arc<Node>>, GraphStoreError> {
        self.state.node(gid, Depth::Full)
    }
    fn edges(&mut self, gid: Gid, rel: Relation) -> Result<Vec<Edge>, GraphStoreError> {
        let mut edges = Vec::new();
        self.state
            .edges_out(gid, rel, rel, Depth::Edge, &mut |e, _| edges.push(e))?;
        Ok(edges)
    }
    fn linked(&mut self, src: Gid, rel: Relation, dst: Gid) -> Result<bool, GraphStoreError> {
        Ok(self.state.edge_between(src, rel, dst)?.is_some())
    }
    fn sources(&mut self, gid: Gid, rel: Relation) -> Result<Vec<Gid>, GraphStoreError> {
        let (mut found, all) = (Vec::new(), (i64::MIN, i64::MIN));
        let depth = Depth::Edge;
        self.state
            .scan_in(gid, rel, all, usize::MAX, depth, &mut |edge, _| {
                found.push(edge.src);
            })?;
        Ok(found)
    }
    fn is_visible(&mut self, gid: Gid) -> Result<bool, GraphStoreError> {
        Ok(level(self.state, self.viewer, gid)? > Level::None)
    }
    fn stories(&mut self, task: Gid) -> Result<Vec<Arc<Node>>, GraphStoreError> {
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
    fn contacts(&mut self, user: Gid) -> Result<i64, GraphStoreError> {
        let me = self.viewer.user;
        let workspace = self.workspace;
        let entries = self
            .state
            .live_nodes()
            .filter(|n| n.ty == Type::Task && n.workspace == workspace);
        let entries = entries.map(|n| IndexEntry::of(n, &NodeWords::default()));
        let mut assigned: Vec<IndexEntry> = entries.filter(|c| c.assigner == Some(me)).collect();
        assigned.sort_by_key(|c| std::cmp::Reverse(c.gid));
        assigned.truncate(CONTACTS);
        Ok(assigned
            .iter()
            .filter(|c| c.responsible == Some(user))
            .count() as i64)
    }
    fn keys(&mut self, node: Gid, field: Gid) -> Result<Vec<IndexKey>, GraphStoreError> {
        let owner = self.state.node(field, Depth::Full)?;
        let Some(prefix) = owner.and_then(|field| auto_id_rules::prefix(&field)) else {
            return self.state.keys_of(node, field);
        };
        let edge = self.state.edge_between(node, rel::NUMBERED, field)?;
        Ok(edge
            .map(|e| auto_id_rules::key(&prefix, e.rank))
            .into_iter()
            .collect())
    }
}
