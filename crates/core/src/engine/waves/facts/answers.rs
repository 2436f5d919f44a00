//! Answers to reads from facts.
use super::{Facts, directed, ordered, whole, without_bounds};
use crate::engine::waves::graph_read::{GraphAnswer, GraphRead, InOutRow};
use crate::model::edge::{Edge, Seq};
use crate::model::gid::Gid;
use crate::model::node::Node;
use crate::model::registry::Relation;
use crate::storage::snapshot::Depth;
use std::sync::Arc;

impl Facts {
    /// Returns the answer to a read; `None` if it is not known.
    #[must_use]
    pub fn answer(&self, read: &GraphRead) -> Option<GraphAnswer> {
        use GraphAnswer as A;
        use GraphRead as R;
        Some(match read {
            R::Alias(key) => A::Gid(*self.aliases.get(key)?),
            R::Node { gid, depth } => A::Node(self.node(*gid, *depth)?),
            R::EdgesOut { src, lo, hi, depth } => {
                let edges = self.band(*src, (*lo, *hi), *depth > Depth::Edge)?;
                let far = edges.map(|edge| (edge, edge.dst));
                A::Edges(self.with_nodes(far, *depth)?)
            }
            R::EdgeBetween { src, rel, dst } => A::Edge(self.edge_between(*src, *rel, *dst)?),
            R::ScanOut {
                src,
                rel,
                after,
                limit,
                depth,
            } => {
                let list = self.out_lists.get(&(*src, *rel));
                let rows = list.and_then(|list| list.rows(Some(after), *limit));
                match rows {
                    Some(rows) => {
                        let far = rows.iter().map(|(_, edge)| (edge, edge.dst));
                        A::Edges(self.with_nodes(far, *depth)?)
                    }
                    None => {
                        let edges = self.band(*src, (*rel, *rel), true)?;
                        let rest = edges.filter(|edge| edge.dst.as_i64() > *after);
                        let far = rest.take(*limit).map(|edge| (edge, edge.dst));
                        A::Edges(self.with_nodes(far, *depth)?)
                    }
                }
            }
            R::ScanIn {
                dst,
                rel,
                after,
                limit,
                depth,
            } => {
                let rows = self
                    .in_lists
                    .get(&(*dst, *rel))?
                    .rows(Some(after), *limit)?;
                let far = rows.iter().map(|(_, edge)| (edge, edge.src));
                A::Edges(self.with_nodes(far, *depth)?)
            }
            R::ScanInOut {
                dst,
                rel,
                after,
                limit,
                band,
            } => {
                let rows = self
                    .in_lists
                    .get(&(*dst, *rel))?
                    .rows(Some(after), *limit)?;
                let row = |(_, edge): &(_, Edge)| -> Option<InOutRow> {
                    let node = self.node(edge.src, Depth::Full)??;
                    let out = self.band(edge.src, *band, false)?;
                    Some((*edge, node, out.copied().collect()))
                };
                A::Rows(rows.iter().map(row).collect::<Option<_>>()?)
            }
            R::LastEdgeBefore { dst, rel, before } => {
                let known = self.last_edges.get(&(*dst, *rel))?.iter();
                // The list has no edge between the found edge and the key of the search.
                let mut spans = known.filter(|(key, edge)| {
                    let found = edge.map(|edge| (edge.rank, edge.src.as_i64()));
                    before <= key && found.is_none_or(|found| found < *before)
                });
                A::Edge(spans.next()?.1)
            }
            R::CountIn { dst, rel } => A::Count(*self.counts.get(&(*dst, *rel))?),
            R::ScanWorkspace {
                workspace,
                ty,
                after,
                limit,
                depth,
            } => {
                let list = self.workspace_lists.get(&(*workspace, *ty))?;
                let row = |(gid, seq): &(i64, Seq)| {
                    let gid = Gid::from_i64(*gid)?;
                    let node = match depth {
                        Depth::Edge => None,
                        depth => Some(self.node(gid, *depth)??),
                    };
                    Some((gid, *seq, node))
                };
                let rows = list.rows(Some(after), *limit)?;
                A::Nodes(rows.iter().map(row).collect::<Option<_>>()?)
            }
            read => return self.answer_of_index(read),
        })
    }

    fn answer_of_index(&self, read: &GraphRead) -> Option<GraphAnswer> {
        use GraphAnswer as A;
        use GraphRead as R;
        Some(match read {
            R::ScanValues {
                field,
                from,
                to,
                after,
                limit,
            } => {
                let list = self.value_lists.get(&(*field, from.clone(), to.clone()))?;
                let rows = list.rows(after.as_ref(), *limit)?;
                A::Values(rows.iter().map(|(row, ())| row.clone()).collect())
            }
            R::KeysOf { node, field } => A::Keys(self.keys.get(&(*node, *field))?.clone()),
            R::IndexEntry { workspace, ty, gid } => {
                A::Entry(*self.entries.get(&((*workspace, *ty), *gid))?)
            }
            R::ColumnSets { workspace, ty } => {
                A::ColumnSets(self.column_sets.get(&(*workspace, *ty))?.clone())
            }
            R::ScanIndexEntries(scan) => {
                let after = scan.after.map(|after| ordered(scan, after));
                let list = self.entry_scans.get(&whole(scan))?;
                let rows = list.rows(after.as_ref(), scan.limit)?;
                A::Entries(rows.iter().map(|(_, entry)| *entry).collect())
            }
            R::ScanWords {
                descending,
                after,
                limit,
                ..
            } => {
                let after = after.map(|gid| directed(gid.as_i64(), *descending));
                let list = self.word_scans.get(&without_bounds(read))?;
                let rows = list.rows(after.as_ref(), *limit)?;
                A::Gids(rows.iter().map(|(_, gid)| *gid).collect())
            }
            R::ListIn { limit, .. } => {
                let rows = self.unordered_rows(read, *limit)?;
                A::Gids(rows.map(|(gid, _)| *gid).collect())
            }
            R::ListIndexEntries { limit, .. } | R::ListPrefixMatches { limit, .. } => {
                A::Listed(self.unordered_rows(read, *limit)?.copied().collect())
            }
            R::AppName(app) => A::Name(self.app_names.get(app)?.clone()),
            _ => return None,
        })
    }

    fn unordered_rows(
        &self,
        read: &GraphRead,
        limit: usize,
    ) -> Option<impl Iterator<Item = &(Gid, Option<i64>)>> {
        let rows = self
            .unordered
            .get(&without_bounds(read))?
            .rows(None, limit)?;
        Some(rows.iter().map(|(_, row)| row))
    }

    /// Returns a node, `Some(None)` if it is known that no live node has this gid.
    fn node(&self, gid: Gid, depth: Depth) -> Option<Option<Arc<Node>>> {
        let node = self.nodes.get(&gid)?;
        let enough = node
            .as_ref()
            .is_none_or(|node| depth < Depth::Full || !node.is_head());
        enough.then(|| node.clone())
    }

    fn band(
        &self,
        src: Gid,
        (lo, hi): (Relation, Relation),
        is_live: bool,
    ) -> Option<impl Iterator<Item = &Edge>> {
        let mut bands = self.bands.get(&src)?.iter();
        let band = bands.find(|b| b.is_live == is_live && b.lo <= lo && b.hi >= hi)?;
        Some(band.within(lo, hi))
    }

    /// Returns the edge between two nodes, `Some(None)` if it is known that there is none.
    fn edge_between(&self, src: Gid, rel: Relation, dst: Gid) -> Option<Option<Edge>> {
        if let Some(edge) = self.between.get(&(src, rel, dst)) {
            return Some(*edge);
        }
        let edge = self.band(src, (rel, rel), false)?.find(|e| e.dst == dst);
        match edge {
            // The commit of an edge in a band may be unknown.
            Some(edge) if edge.seq == 0 => None,
            edge => Some(edge.copied()),
        }
    }

    fn with_nodes<'e>(
        &self,
        edges: impl Iterator<Item = (&'e Edge, Gid)>,
        depth: Depth,
    ) -> Option<Vec<(Edge, Option<Arc<Node>>)>> {
        let with_node = |(edge, far): (&Edge, Gid)| match depth {
            Depth::Edge => Some((*edge, None)),
            depth => Some((*edge, Some(self.node(far, depth)??))),
        };
        edges.map(with_node).collect()
    }
}
