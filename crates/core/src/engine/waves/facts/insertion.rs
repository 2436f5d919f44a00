//! Adding answers to facts.
use super::{Facts, KnownBand, directed, ordered, whole, without_bounds};
use crate::engine::waves::answer_weight::{ENTRY_BYTES, weight};
use crate::engine::waves::graph_read::{GraphAnswer, GraphRead};
use crate::engine::waves::known_ranges::KnownRanges;
use crate::graph_store_error::GraphStoreError;
use crate::model::edge::Edge;
use crate::model::gid::Gid;
use crate::model::node::Node;
use crate::model::registry::Relation;
use crate::storage::snapshot::Depth;
use std::sync::Arc;

impl Facts {
    /// Adds the answer to a read.
    ///
    /// # Errors
    /// [`GraphStoreError::Failed`] if it is the answer to another kind of read.
    pub fn insert(&mut self, read: &GraphRead, answer: GraphAnswer) -> Result<(), GraphStoreError> {
        use GraphAnswer as A;
        use GraphRead as R;
        self.bytes += ENTRY_BYTES + weight(&answer);
        match (read, answer) {
            (R::Alias(key), A::Gid(gid)) => {
                self.aliases.insert(key.clone(), gid);
            }
            (R::Node { gid, .. }, A::Node(node)) => match node {
                Some(node) => self.insert_node(node),
                None => {
                    self.nodes.insert(*gid, None);
                }
            },
            (R::EdgesOut { src, lo, hi, depth }, A::Edges(edges)) => {
                let edges = self.insert_nodes(edges);
                self.insert_band(*src, (*lo, *hi), *depth > Depth::Edge, edges);
            }
            (R::EdgeBetween { src, rel, dst }, A::Edge(edge)) => {
                self.between.insert((*src, *rel, *dst), edge);
            }
            (
                R::ScanOut {
                    src,
                    rel,
                    after,
                    limit,
                    ..
                },
                A::Edges(edges),
            ) => {
                let edges = self.insert_nodes(edges);
                let is_end = edges.len() < *limit;
                let rows = edges.into_iter().map(|e| (e.dst.as_i64(), e)).collect();
                let list = self.out_lists.entry((*src, *rel)).or_default();
                list.insert(Some(*after), rows, is_end);
            }
            (
                R::ScanIn {
                    dst,
                    rel,
                    after,
                    limit,
                    ..
                },
                A::Edges(edges),
            ) => {
                let edges = self.insert_nodes(edges);
                self.insert_list((*dst, *rel), *after, *limit, edges);
            }
            (
                R::ScanInOut {
                    dst,
                    rel,
                    after,
                    limit,
                    band,
                },
                A::Rows(rows),
            ) => {
                let mut edges = Vec::with_capacity(rows.len());
                for (edge, node, out) in rows {
                    self.insert_node(node);
                    self.insert_band(edge.src, *band, false, out);
                    edges.push(edge);
                }
                self.insert_list((*dst, *rel), *after, *limit, edges);
            }
            (R::LastEdgeBefore { dst, rel, before }, A::Edge(edge)) => {
                let known = self.last_edges.entry((*dst, *rel)).or_default();
                known.push((*before, edge));
            }
            (R::CountIn { dst, rel }, A::Count(count)) => {
                self.counts.insert((*dst, *rel), count);
            }
            (
                R::ScanWorkspace {
                    workspace,
                    ty,
                    after,
                    limit,
                    ..
                },
                A::Nodes(nodes),
            ) => {
                let is_end = nodes.len() < *limit;
                let mut rows = Vec::with_capacity(nodes.len());
                for (gid, seq, node) in nodes {
                    rows.push((gid.as_i64(), seq));
                    node.into_iter().for_each(|node| self.insert_node(node));
                }
                let list = self.workspace_lists.entry((*workspace, *ty)).or_default();
                list.insert(Some(*after), rows, is_end);
            }
            (read, answer) => return self.insert_of_index(read, answer),
        }
        Ok(())
    }

    fn insert_of_index(
        &mut self,
        read: &GraphRead,
        answer: GraphAnswer,
    ) -> Result<(), GraphStoreError> {
        use GraphAnswer as A;
        use GraphRead as R;
        match (read, answer) {
            (
                R::ScanValues {
                    field,
                    from,
                    to,
                    after,
                    limit,
                },
                A::Values(values),
            ) => {
                let is_end = values.len() < *limit;
                let rows = values.into_iter().map(|row| (row, ())).collect();
                let list = (*field, from.clone(), to.clone());
                let list = self.value_lists.entry(list).or_default();
                list.insert(after.clone(), rows, is_end);
            }
            (R::KeysOf { node, field }, A::Keys(keys)) => {
                self.keys.insert((*node, *field), keys);
            }
            (R::IndexEntry { workspace, ty, gid }, A::Entry(entry)) => {
                self.entries.insert(((*workspace, *ty), *gid), entry);
            }
            (R::ColumnSets { workspace, ty }, A::ColumnSets(sets)) => {
                self.column_sets.insert((*workspace, *ty), sets);
            }
            (R::ScanIndexEntries(scan), A::Entries(entries)) => {
                let is_end = entries.len() < scan.limit;
                let mut rows = Vec::with_capacity(entries.len());
                for entry in entries {
                    let key = ((entry.workspace, entry.ty), entry.gid);
                    self.entries.insert(key, Some(entry));
                    let value = entry.value(scan.column).unwrap_or(0);
                    rows.push((ordered(scan, (value, entry.gid)), entry));
                }
                let after = scan.after.map(|after| ordered(scan, after));
                let list = self.entry_scans.entry(whole(scan)).or_default();
                list.insert(after, rows, is_end);
            }
            (
                R::ScanWords {
                    descending,
                    after,
                    limit,
                    ..
                },
                A::Gids(gids),
            ) => {
                let is_end = gids.len() < *limit;
                let key = |gid: Gid| directed(gid.as_i64(), *descending);
                let rows = gids.into_iter().map(|gid| (key(gid), gid)).collect();
                let list = self.word_scans.entry(without_bounds(read)).or_default();
                list.insert(after.map(key), rows, is_end);
            }
            (R::ListIn { limit, .. }, A::Gids(gids)) => {
                let rows = gids.into_iter().map(|gid| (gid, None)).collect();
                self.insert_unordered(read, *limit, rows);
            }
            (
                R::ListIndexEntries { limit, .. } | R::ListPrefixMatches { limit, .. },
                A::Listed(rows),
            ) => {
                self.insert_unordered(read, *limit, rows);
            }
            (R::AppName(app), A::Name(name)) => {
                self.app_names.insert(*app, name);
            }
            (read, answer) => {
                let message = format!("{answer:?} is no answer to {read:?}");
                return Err(GraphStoreError::Failed(message));
            }
        }
        Ok(())
    }

    /// Keeps a node, unless it is known in full.
    fn insert_node(&mut self, node: Arc<Node>) {
        let known = self.nodes.entry(node.gid).or_default();
        if known.as_ref().is_none_or(|known| known.is_head()) {
            *known = Some(node);
        }
    }

    fn insert_nodes(&mut self, edges: Vec<(Edge, Option<Arc<Node>>)>) -> Vec<Edge> {
        let edges = edges.into_iter();
        let kept = edges.map(|(edge, node)| {
            node.into_iter().for_each(|node| self.insert_node(node));
            edge
        });
        kept.collect()
    }

    fn insert_band(
        &mut self,
        src: Gid,
        (lo, hi): (Relation, Relation),
        is_live: bool,
        edges: Vec<Edge>,
    ) {
        let bands = self.bands.entry(src).or_default();
        bands.retain(|band| band.is_live != is_live || band.lo < lo || band.hi > hi);
        bands.push(KnownBand {
            lo,
            hi,
            is_live,
            edges,
        });
    }

    fn insert_list(
        &mut self,
        list: (Gid, Relation),
        after: (i64, i64),
        limit: usize,
        edges: Vec<Edge>,
    ) {
        let is_end = edges.len() < limit;
        let rows = edges.into_iter();
        let rows = rows.map(|edge| ((edge.rank, edge.src.as_i64()), edge));
        let list = self.in_lists.entry(list).or_default();
        list.insert(Some(after), rows.collect(), is_end);
    }

    fn insert_unordered(&mut self, read: &GraphRead, limit: usize, rows: Vec<(Gid, Option<i64>)>) {
        let is_end = rows.len() < limit;
        // The rows of two reads may differ if the list has more: the rows of the longer read are kept.
        let list = self.unordered.entry(without_bounds(read)).or_default();
        if list.rows(None, rows.len()).is_none() || is_end {
            *list = KnownRanges::default();
            list.insert(None, rows.into_iter().enumerate().collect(), is_end);
        }
    }
}
