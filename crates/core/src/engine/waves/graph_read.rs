//! Reads of a snapshot as data, and their answers.
use crate::graph_store_error::GraphStoreError;
use crate::model::edge::{Edge, Seq};
use crate::model::gid::Gid;
use crate::model::index_key::IndexKey;
use crate::model::node::Node;
use crate::model::registry::{Relation, Type};
use crate::search::{ColumnSet, EntryList, EntryScan, IndexColumn, IndexEntry, WordQuery};
use crate::storage::snapshot::{Depth, InOutItem, PrefixList, Snapshot, Transaction, WordScan};
use std::sync::Arc;

/// One read of a [`Snapshot`] or [`Transaction`], as data. Each variant is a call of the method that has its name.
#[expect(missing_docs, reason = "fields have the names of the parameters")]
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum GraphRead {
    /// Read of [`Snapshot::alias`].
    Alias(Box<str>),
    /// Read of [`Snapshot::node`].
    Node { gid: Gid, depth: Depth },
    /// Read of [`Snapshot::edges_out`].
    EdgesOut {
        src: Gid,
        lo: Relation,
        hi: Relation,
        depth: Depth,
    },
    /// Read of [`Snapshot::edge_between`].
    EdgeBetween { src: Gid, rel: Relation, dst: Gid },
    /// Read of [`Snapshot::scan_out`].
    ScanOut {
        src: Gid,
        rel: Relation,
        after: i64,
        limit: usize,
        depth: Depth,
    },
    /// Read of [`Snapshot::scan_in`].
    ScanIn {
        dst: Gid,
        rel: Relation,
        after: (i64, i64),
        limit: usize,
        depth: Depth,
    },
    /// Read of [`Snapshot::scan_in_out`].
    ScanInOut {
        dst: Gid,
        rel: Relation,
        after: (i64, i64),
        limit: usize,
        band: (Relation, Relation),
    },
    /// Read of [`Snapshot::list_in`].
    ListIn {
        dst: Gid,
        rel: Relation,
        limit: usize,
    },
    /// Read of [`Snapshot::last_edge_before`].
    LastEdgeBefore {
        dst: Gid,
        rel: Relation,
        before: (i64, i64),
    },
    /// Read of [`Snapshot::count_in`].
    CountIn { dst: Gid, rel: Relation },
    /// Read of [`Snapshot::scan_workspace`].
    ScanWorkspace {
        workspace: Gid,
        ty: Type,
        after: i64,
        limit: usize,
        depth: Depth,
    },
    /// Read of [`Snapshot::scan_values`].
    ScanValues {
        field: Gid,
        from: IndexKey,
        to: IndexKey,
        after: Option<(IndexKey, Gid)>,
        limit: usize,
    },
    /// Read of [`Snapshot::keys_of`].
    KeysOf { node: Gid, field: Gid },
    /// Read of [`Snapshot::index_entry`].
    IndexEntry {
        workspace: Option<Gid>,
        ty: Type,
        gid: Gid,
    },
    /// Read of [`Snapshot::list_index_entries`].
    ListIndexEntries {
        workspace: Option<Gid>,
        ty: Type,
        list: EntryList,
        column: IndexColumn,
        limit: usize,
    },
    /// Read of [`Snapshot::column_sets`].
    ColumnSets { workspace: Option<Gid>, ty: Type },
    /// Read of [`Snapshot::scan_index_entries`].
    ScanIndexEntries(EntryScan),
    /// Read of [`Snapshot::list_prefix_matches`].
    ListPrefixMatches {
        workspace: Option<Gid>,
        ty: Type,
        prefix: Box<str>,
        names: bool,
        limit: usize,
    },
    /// Read of [`Snapshot::scan_words`].
    ScanWords {
        workspace: Option<Gid>,
        ty: Type,
        words: WordQuery,
        names: bool,
        descending: bool,
        after: Option<Gid>,
        limit: usize,
    },
    /// Read of [`Transaction::app_name`].
    AppName(u64),
}

/// Row of [`GraphRead::ScanInOut`]: an edge, its source in full, and the outgoing edges of the source.
pub type InOutRow = (Edge, Arc<Node>, Vec<Edge>);

/// Answer to a [`GraphRead`]: everything that the method returns or visits, in its order.
#[derive(Clone, PartialEq, Debug)]
pub enum GraphAnswer {
    /// Answer to [`GraphRead::Alias`].
    Gid(Option<Gid>),
    /// Answer to [`GraphRead::Node`].
    Node(Option<Arc<Node>>),
    /// Answer to [`GraphRead::EdgesOut`], [`GraphRead::ScanOut`] and [`GraphRead::ScanIn`]. The nodes are present at
    /// [`Depth::Head`] and deeper.
    Edges(Vec<(Edge, Option<Arc<Node>>)>),
    /// Answer to [`GraphRead::ScanInOut`].
    Rows(Vec<InOutRow>),
    /// Answer to [`GraphRead::EdgeBetween`] and [`GraphRead::LastEdgeBefore`].
    Edge(Option<Edge>),
    /// Answer to [`GraphRead::ListIn`] and [`GraphRead::ScanWords`].
    Gids(Vec<Gid>),
    /// Answer to [`GraphRead::CountIn`].
    Count(u64),
    /// Answer to [`GraphRead::ScanWorkspace`].
    Nodes(Vec<(Gid, Seq, Option<Arc<Node>>)>),
    /// Answer to [`GraphRead::ScanValues`].
    Values(Vec<(IndexKey, Gid)>),
    /// Answer to [`GraphRead::KeysOf`].
    Keys(Vec<IndexKey>),
    /// Answer to [`GraphRead::IndexEntry`].
    Entry(Option<IndexEntry>),
    /// Answer to [`GraphRead::ListIndexEntries`] and [`GraphRead::ListPrefixMatches`]. A row of the latter has a value if
    /// its word is in a part of the node that is searched.
    Listed(Vec<(Gid, Option<i64>)>),
    /// Answer to [`GraphRead::ColumnSets`].
    ColumnSets(Vec<ColumnSet>),
    /// Answer to [`GraphRead::ScanIndexEntries`].
    Entries(Vec<IndexEntry>),
    /// Answer to [`GraphRead::AppName`].
    Name(Option<String>),
}

impl GraphRead {
    /// Returns the read of all live edges of a relation into a node.
    #[must_use]
    pub const fn all_in(dst: Gid, rel: Relation, depth: Depth) -> Self {
        Self::ScanIn {
            dst,
            rel,
            after: (i64::MIN, i64::MIN),
            limit: usize::MAX >> 1,
            depth,
        }
    }

    /// Returns the node that the read is about, if there is one.
    pub(super) const fn subject(&self) -> Option<Gid> {
        match self {
            Self::Node { gid, .. } | Self::IndexEntry { gid, .. } => Some(*gid),
            Self::EdgesOut { src, .. }
            | Self::EdgeBetween { src, .. }
            | Self::ScanOut { src, .. } => Some(*src),
            Self::ScanIn { dst, .. }
            | Self::ScanInOut { dst, .. }
            | Self::ListIn { dst, .. }
            | Self::LastEdgeBefore { dst, .. }
            | Self::CountIn { dst, .. } => Some(*dst),
            Self::KeysOf { node, .. } => Some(*node),
            Self::Alias(_)
            | Self::ScanWorkspace { .. }
            | Self::ScanValues { .. }
            | Self::ListIndexEntries { .. }
            | Self::ColumnSets { .. }
            | Self::ScanIndexEntries(_)
            | Self::ListPrefixMatches { .. }
            | Self::ScanWords { .. }
            | Self::AppName(_) => None,
        }
    }

    /// Makes the read in a snapshot. Only [`run_in`](Self::run_in) reads the names of apps.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    pub fn run(&self, snap: &mut dyn Snapshot) -> Result<GraphAnswer, GraphStoreError> {
        let mut edges = Vec::new();
        let mut gids = Vec::new();
        Ok(match self {
            Self::Alias(key) => GraphAnswer::Gid(snap.alias(key)?),
            Self::Node { gid, depth } => GraphAnswer::Node(snap.node(*gid, *depth)?),
            Self::EdgesOut { src, lo, hi, depth } => {
                let each = &mut |edge, node| edges.push((edge, node));
                snap.edges_out(*src, *lo, *hi, *depth, each)?;
                GraphAnswer::Edges(edges)
            }
            Self::EdgeBetween { src, rel, dst } => {
                GraphAnswer::Edge(snap.edge_between(*src, *rel, *dst)?)
            }
            Self::ScanOut {
                src,
                rel,
                after,
                limit,
                depth,
            } => {
                let each = &mut |edge, node| edges.push((edge, node));
                snap.scan_out(*src, *rel, *after, *limit, *depth, each)?;
                GraphAnswer::Edges(edges)
            }
            Self::ScanIn {
                dst,
                rel,
                after,
                limit,
                depth,
            } => {
                let each = &mut |edge, node| edges.push((edge, node));
                snap.scan_in(*dst, *rel, *after, *limit, *depth, each)?;
                GraphAnswer::Edges(edges)
            }
            Self::ScanInOut {
                dst,
                rel,
                after,
                limit,
                band,
            } => {
                let mut rows: Vec<InOutRow> = Vec::new();
                let each = &mut |item| match item {
                    InOutItem::Row(edge, node) => rows.push((edge, node, Vec::new())),
                    InOutItem::Out(edge) => {
                        if let Some((.., out)) = rows.last_mut() {
                            out.push(edge);
                        }
                    }
                };
                snap.scan_in_out(*dst, *rel, *after, *limit, *band, each)?;
                GraphAnswer::Rows(rows)
            }
            Self::ListIn { dst, rel, limit } => {
                snap.list_in(*dst, *rel, *limit, &mut |gid| gids.push(gid))?;
                GraphAnswer::Gids(gids)
            }
            Self::LastEdgeBefore { dst, rel, before } => {
                GraphAnswer::Edge(snap.last_edge_before(*dst, *rel, *before)?)
            }
            Self::CountIn { dst, rel } => GraphAnswer::Count(snap.count_in(*dst, *rel)?),
            Self::ScanWorkspace {
                workspace,
                ty,
                after,
                limit,
                depth,
            } => {
                let mut nodes = Vec::new();
                let each = &mut |gid, seq, node| nodes.push((gid, seq, node));
                snap.scan_workspace(*workspace, *ty, *after, *limit, *depth, each)?;
                GraphAnswer::Nodes(nodes)
            }
            _ => return self.run_of_index(snap),
        })
    }

    /// Makes the read in the indexes of a snapshot.
    fn run_of_index(&self, snap: &mut dyn Snapshot) -> Result<GraphAnswer, GraphStoreError> {
        let mut gids = Vec::new();
        Ok(match self {
            Self::ScanValues {
                field,
                from,
                to,
                after,
                limit,
            } => {
                let mut values = Vec::new();
                let after = after.as_ref().map(|(key, gid)| (key, *gid));
                let each = &mut |key, gid| values.push((key, gid));
                snap.scan_values(*field, (from, to), after, *limit, each)?;
                GraphAnswer::Values(values)
            }
            Self::KeysOf { node, field } => GraphAnswer::Keys(snap.keys_of(*node, *field)?),
            Self::IndexEntry { workspace, ty, gid } => {
                GraphAnswer::Entry(snap.index_entry(*workspace, *ty, *gid)?)
            }
            Self::ListIndexEntries {
                workspace,
                ty,
                list,
                column,
                limit,
            } => {
                let mut listed = Vec::new();
                let each = &mut |gid, value| listed.push((gid, value));
                snap.list_index_entries(*workspace, *ty, *list, *column, *limit, each)?;
                GraphAnswer::Listed(listed)
            }
            Self::ColumnSets { workspace, ty } => {
                GraphAnswer::ColumnSets(snap.column_sets(*workspace, *ty)?)
            }
            Self::ScanIndexEntries(scan) => {
                let mut entries = Vec::new();
                snap.scan_index_entries(scan, &mut |entry| entries.push(entry))?;
                GraphAnswer::Entries(entries)
            }
            Self::ListPrefixMatches {
                workspace,
                ty,
                prefix,
                names,
                limit,
            } => {
                let list = PrefixList {
                    workspace: *workspace,
                    ty: *ty,
                    prefix,
                    names: *names,
                    limit: *limit,
                };
                let mut rows = Vec::new();
                let each = &mut |gid, fits: bool| rows.push((gid, fits.then_some(1)));
                snap.list_prefix_matches(&list, each)?;
                GraphAnswer::Listed(rows)
            }
            Self::ScanWords {
                workspace,
                ty,
                words,
                names,
                descending,
                after,
                limit,
            } => {
                let scan = WordScan {
                    workspace: *workspace,
                    ty: *ty,
                    words,
                    names: *names,
                    descending: *descending,
                    after: *after,
                    limit: *limit,
                };
                snap.scan_words(&scan, &mut |gid| gids.push(gid))?;
                GraphAnswer::Gids(gids)
            }
            read => {
                let message = format!("a snapshot does not answer {read:?}");
                return Err(GraphStoreError::Failed(message));
            }
        })
    }

    /// Makes the read in a transaction.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    pub fn run_in(&self, txn: &mut dyn Transaction) -> Result<GraphAnswer, GraphStoreError> {
        match self {
            Self::AppName(app) => Ok(GraphAnswer::Name(txn.app_name(*app)?)),
            read => read.run(txn),
        }
    }
}
