//! The cost of a page: the rows that a store hands out, counted over a project with 50,000 tasks that are only
//! computed.
use std::sync::Arc;
use workgraph_core::access::{Role, Viewer, WorkspaceMembership};
use workgraph_core::model::draft::Draft;
use workgraph_core::model::node::Node;
use workgraph_core::model::registry::{Relation, Type, rel};
use workgraph_core::search::{ColumnSet, EntryList, EntryScan, IndexColumn, IndexEntry};
use workgraph_core::storage::custom_field_index::IndexKey;
use workgraph_core::storage::snapshot::{Depth, PrefixList, Snapshot, WordScan};
use workgraph_core::storage::{Edge, GraphStoreError, PageQuery, ReadQuery, Seq, ViewerKey};
use workgraph_core::{Gid, engine, tasks_of_container};

/// The way in which the rows of a list are found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Reading {
    /// From the keyset on.
    Keyset,
    /// From the first row on; rows before the keyset are left out.
    FromTheStart,
}

const SECTIONS: i64 = 5;
const EACH: i64 = 10_000;
const PROJECT: i64 = 2;
const FIRST_TASK: i64 = 1_000_000;

struct Deep {
    reading: Reading,
    stepped: u64,
}

fn gid(number: i64) -> Gid {
    Gid::from_i64(number).unwrap()
}

fn node_of(number: i64) -> Node {
    let ty = match number {
        PROJECT => Type::Project,
        n if n >= FIRST_TASK => Type::Task,
        _ => Type::Section,
    };
    Draft::new(ty, gid(number), Some(gid(1))).finish()
}

impl Snapshot for Deep {
    fn seq(&mut self) -> Result<Seq, GraphStoreError> {
        Ok(1)
    }
    fn alias(&mut self, _: &str) -> Result<Option<Gid>, GraphStoreError> {
        Ok(None)
    }
    fn node(&mut self, gid: Gid, _: Depth) -> Result<Option<Arc<Node>>, GraphStoreError> {
        Ok(Some(Arc::new(node_of(gid.as_i64()))))
    }
    fn edges_out(
        &mut self,
        _: Gid,
        _: Relation,
        _: Relation,
        _: Depth,
        _: &mut dyn FnMut(Edge, Option<Arc<Node>>),
    ) -> Result<(), GraphStoreError> {
        Ok(())
    }
    fn edge_between(
        &mut self,
        _: Gid,
        _: Relation,
        _: Gid,
    ) -> Result<Option<Edge>, GraphStoreError> {
        Ok(None)
    }
    fn scan_out(
        &mut self,
        _: Gid,
        _: Relation,
        _: i64,
        _: usize,
        _: Depth,
        _: &mut dyn FnMut(Edge, Option<Arc<Node>>),
    ) -> Result<(), GraphStoreError> {
        Ok(())
    }
    fn scan_in(
        &mut self,
        dst: Gid,
        rel: Relation,
        after: (i64, i64),
        limit: usize,
        _: Depth,
        each: &mut dyn FnMut(Edge, Option<Arc<Node>>),
    ) -> Result<(), GraphStoreError> {
        // Ranks count from 0, so the keyset gives the first row.
        let (rows, first) = if rel == rel::SECTION_OF {
            (SECTIONS, 10)
        } else {
            (EACH, FIRST_TASK + (dst.as_i64() - 10) * EACH)
        };
        let from = after.0.saturating_add(1).max(0);
        if self.reading == Reading::FromTheStart {
            self.stepped += from.unsigned_abs();
        }
        for rank in (from..rows).take(limit) {
            self.stepped += 1;
            let edge = Edge {
                src: gid(first + rank),
                rel,
                dst,
                rank,
                seq: 1,
                aux: None,
            };
            each(edge, Some(Arc::new(node_of(first + rank))));
        }
        Ok(())
    }
    fn list_in(
        &mut self,
        _: Gid,
        _: Relation,
        _: usize,
        _: &mut dyn FnMut(Gid),
    ) -> Result<(), GraphStoreError> {
        Ok(())
    }
    fn list_index_entries(
        &mut self,
        _: Option<Gid>,
        _: Type,
        _: EntryList,
        _: IndexColumn,
        _: usize,
        _: &mut dyn FnMut(Gid, Option<i64>),
    ) -> Result<(), GraphStoreError> {
        Ok(())
    }
    fn last_edge_before(
        &mut self,
        _: Gid,
        _: Relation,
        _: (i64, i64),
    ) -> Result<Option<Edge>, GraphStoreError> {
        Ok(None)
    }
    fn count_in(&mut self, _: Gid, _: Relation) -> Result<u64, GraphStoreError> {
        Ok(0)
    }
    fn scan_workspace(
        &mut self,
        _: Gid,
        _: Type,
        _: i64,
        _: usize,
        _: Depth,
        _: &mut dyn FnMut(Gid, Seq, Option<Arc<Node>>),
    ) -> Result<(), GraphStoreError> {
        Ok(())
    }
    fn scan_values(
        &mut self,
        _: Gid,
        _: (&IndexKey, &IndexKey),
        _: Option<(&IndexKey, Gid)>,
        _: usize,
        _: &mut dyn FnMut(IndexKey, Gid),
    ) -> Result<(), GraphStoreError> {
        Ok(())
    }
    fn keys_of(&mut self, _: Gid, _: Gid) -> Result<Vec<IndexKey>, GraphStoreError> {
        Ok(Vec::new())
    }
    fn index_entry(
        &mut self,
        _: Option<Gid>,
        _: Type,
        _: Gid,
    ) -> Result<Option<IndexEntry>, GraphStoreError> {
        Ok(None)
    }
    fn column_sets(&mut self, _: Option<Gid>, _: Type) -> Result<Vec<ColumnSet>, GraphStoreError> {
        Ok(Vec::new())
    }
    fn scan_index_entries(
        &mut self,
        _: &EntryScan,
        _: &mut dyn FnMut(IndexEntry),
    ) -> Result<(), GraphStoreError> {
        Ok(())
    }
    fn list_prefix_matches(
        &mut self,
        _: &PrefixList<'_>,
        _: &mut dyn FnMut(Gid, bool),
    ) -> Result<(), GraphStoreError> {
        Ok(())
    }
    fn scan_words(
        &mut self,
        _: &WordScan<'_>,
        _: &mut dyn FnMut(Gid),
    ) -> Result<(), GraphStoreError> {
        Ok(())
    }
}

/// P15: at most four rows are read for each requested row, at any depth of the page.
pub(super) fn check(reading: Reading) -> Result<(), String> {
    let user = gid(3);
    let mut viewer = Viewer::without_memberships(user);
    viewer.memberships.push(WorkspaceMembership {
        workspace: gid(1),
        role: Role::Member,
        view_only: false,
        paid: true,
        membership_gid: gid(4),
        task_list: None,
    });
    let viewer = Arc::new(viewer);
    for limit in [1usize, 2, 10, 100] {
        for depth in [0, 7, 9_999, 10_000, 25_000, 49_899] {
            let (section, rank) = (depth / EACH, depth % EACH);
            let mut want = ReadQuery::of(ViewerKey {
                user,
                service: None,
            });
            let anchor = want.add_ref(gid(PROJECT));
            want.page = Some(PageQuery {
                source: tasks_of_container(anchor, false),
                filters: Vec::new(),
                after: Some(vec![
                    section,
                    10 + section,
                    rank,
                    FIRST_TASK + section * EACH + rank,
                ]),
                limit,
                max_seq: None,
                anchor_grants_access: true,
                rows_seen: 0,
                row_cap: u32::MAX,
            });
            let mut snap = Deep {
                reading,
                stepped: 0,
            };
            let view = engine::load::load(&mut snap, &want, Arc::clone(&viewer))
                .map_err(|e| e.to_string())?;
            assert_eq!(view.rows.gids.len(), limit, "at {depth}");
            let first = view.rows.gids.first().map(|g| g.as_i64());
            assert_eq!(first, Some(FIRST_TASK + depth + 1), "at {depth}");
            let most = 4 * limit as u64;
            if snap.stepped > most {
                return Err(format!(
                    "P15: {} rows stepped for {limit} at {depth}, more than {most}",
                    snap.stepped
                ));
            }
        }
    }
    Ok(())
}
