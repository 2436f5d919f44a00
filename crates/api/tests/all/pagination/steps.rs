//! What a page costs: rows that a store hands out, counted over a project with 50,000 tasks that
//! exists only as arithmetic.
use std::sync::Arc;
use workgraph_core::access::{Role, Seat, Viewer};
use workgraph_core::draft::Draft;
use workgraph_core::graph::{Edge, Page, Seq, StoreError, ViewerKey, Want};
use workgraph_core::index::Key;
use workgraph_core::node::Node;
use workgraph_core::registry::{Rel, Type, rel};
use workgraph_core::search::{Card, CardList, CardScan, Column, Shape};
use workgraph_core::snapshot::{Depth, Snapshot, StartList, WordScan};
use workgraph_core::{Gid, load, tasks_of_container};

/// How the rows of a list are found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Reading {
    /// At the keyset.
    Keyset,
    /// From the first row on, passing over those before the keyset.
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
    fn seq(&mut self) -> Result<Seq, StoreError> {
        Ok(1)
    }
    fn alias(&mut self, _: &str) -> Result<Option<Gid>, StoreError> {
        Ok(None)
    }
    fn node(&mut self, gid: Gid, _: Depth) -> Result<Option<Arc<Node>>, StoreError> {
        Ok(Some(Arc::new(node_of(gid.as_i64()))))
    }
    fn out(
        &mut self,
        _: Gid,
        _: Rel,
        _: Rel,
        _: Depth,
        _: &mut dyn FnMut(Edge, Option<Arc<Node>>),
    ) -> Result<(), StoreError> {
        Ok(())
    }
    fn linked(&mut self, _: Gid, _: Rel, _: Gid) -> Result<Option<Edge>, StoreError> {
        Ok(None)
    }
    fn scan_out(
        &mut self,
        _: Gid,
        _: Rel,
        _: i64,
        _: usize,
        _: Depth,
        _: &mut dyn FnMut(Edge, Option<Arc<Node>>),
    ) -> Result<(), StoreError> {
        Ok(())
    }
    fn scan_in(
        &mut self,
        dst: Gid,
        rel: Rel,
        after: (i64, i64),
        limit: usize,
        _: Depth,
        each: &mut dyn FnMut(Edge, Option<Arc<Node>>),
    ) -> Result<(), StoreError> {
        // Ranks count from 0, so the keyset says where to go on.
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
        _: Rel,
        _: usize,
        _: &mut dyn FnMut(Gid),
    ) -> Result<(), StoreError> {
        Ok(())
    }
    fn list_cards(
        &mut self,
        _: Option<Gid>,
        _: Type,
        _: CardList,
        _: Column,
        _: usize,
        _: &mut dyn FnMut(Gid, Option<i64>),
    ) -> Result<(), StoreError> {
        Ok(())
    }
    fn before_in(&mut self, _: Gid, _: Rel, _: (i64, i64)) -> Result<Option<Edge>, StoreError> {
        Ok(None)
    }
    fn count_in(&mut self, _: Gid, _: Rel) -> Result<u64, StoreError> {
        Ok(0)
    }
    fn scan_home(
        &mut self,
        _: Gid,
        _: Type,
        _: i64,
        _: usize,
        _: Depth,
        _: &mut dyn FnMut(Gid, Seq, Option<Arc<Node>>),
    ) -> Result<(), StoreError> {
        Ok(())
    }
    fn scan_values(
        &mut self,
        _: Gid,
        _: (&Key, &Key),
        _: Option<(&Key, Gid)>,
        _: usize,
        _: &mut dyn FnMut(Key, Gid),
    ) -> Result<(), StoreError> {
        Ok(())
    }
    fn keys_of(&mut self, _: Gid, _: Gid) -> Result<Vec<Key>, StoreError> {
        Ok(Vec::new())
    }
    fn card(&mut self, _: Option<Gid>, _: Type, _: Gid) -> Result<Option<Card>, StoreError> {
        Ok(None)
    }
    fn shapes(&mut self, _: Option<Gid>, _: Type) -> Result<Vec<Shape>, StoreError> {
        Ok(Vec::new())
    }
    fn scan_cards(&mut self, _: &CardScan, _: &mut dyn FnMut(Card)) -> Result<(), StoreError> {
        Ok(())
    }
    fn list_starts(&mut self, _: &StartList<'_>, _: &mut dyn FnMut(Gid)) -> Result<(), StoreError> {
        Ok(())
    }
    fn scan_words(&mut self, _: &WordScan<'_>, _: &mut dyn FnMut(Gid)) -> Result<(), StoreError> {
        Ok(())
    }
}

/// P15: at most four rows are stepped for each one asked for, however deep the page is.
pub(super) fn check(reading: Reading) -> Result<(), String> {
    let user = gid(3);
    let mut viewer = Viewer::alone(user);
    viewer.seats.push(Seat {
        workspace: gid(1),
        role: Role::Member,
        view_only: false,
        paid: true,
        membership: gid(4),
        task_list: None,
    });
    let viewer = Arc::new(viewer);
    for limit in [1usize, 2, 10, 100] {
        for depth in [0, 7, 9_999, 10_000, 25_000, 49_899] {
            let (section, rank) = (depth / EACH, depth % EACH);
            let mut want = Want::of(ViewerKey {
                user,
                service: None,
            });
            let anchor = want.add(gid(PROJECT));
            want.page = Some(Page {
                from: tasks_of_container(anchor, false),
                filters: Vec::new(),
                after: Some(vec![
                    section,
                    10 + section,
                    rank,
                    FIRST_TASK + section * EACH + rank,
                ]),
                limit,
                upto: None,
                open: true,
                seen: 0,
                cap: u32::MAX,
            });
            let mut snap = Deep {
                reading,
                stepped: 0,
            };
            let view =
                load::load(&mut snap, &want, Arc::clone(&viewer)).map_err(|e| e.to_string())?;
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
