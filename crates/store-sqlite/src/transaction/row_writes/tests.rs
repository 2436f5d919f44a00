//! Edges of a node, however many and however they changed, are those that were written.
use super::*;
use crate::edge_list::IN_TABLE;
use crate::migrations::migrate;
use proptest::prelude::*;
use rusqlite::Connection;
use std::collections::BTreeMap;
use std::sync::Arc;
use workgraph_core::model::draft::Draft;
use workgraph_core::model::node::Node;
use workgraph_core::model::registry::Type;
use workgraph_core::storage::Seq;
use workgraph_core::storage::snapshot::{Depth, Snapshot, Transaction};

/// Number of targets; with two relations, a node has up to twice as many edges.
const TARGETS: u64 = 60;

#[derive(Clone, Debug)]
enum Step {
    Put {
        rel: u8,
        dst: u64,
        rank: i64,
        aux: bool,
    },
    Drop {
        rel: u8,
        dst: u64,
    },
    /// The change ends, so its rows are written.
    End,
}

/// Steps that mostly put edges, or mostly drop them.
fn steps(puts: u32) -> impl Strategy<Value = Vec<Step>> {
    let (rel, dst) = (1..3_u8, 1..=TARGETS);
    let put = (rel.clone(), dst.clone(), -2..3_i64, any::<bool>());
    let step = prop_oneof![
        puts => put.prop_map(|(rel, dst, rank, aux)| Step::Put { rel, dst, rank, aux }),
        10 - puts => (rel, dst).prop_map(|(rel, dst)| Step::Drop { rel, dst }),
        1 => Just(Step::End),
    ];
    proptest::collection::vec(step, 0..250)
}

fn gid(number: u64) -> Gid {
    Gid::new(number).unwrap()
}

fn node(number: u64) -> Node {
    Draft::new(Type::Task, gid(number), None).finish()
}

/// Checks all reads of the edges of `src` against the edges that were written.
fn check(
    tx: &mut SqliteTransaction<'_>,
    src: Gid,
    expected: &BTreeMap<(Relation, Gid), Edge>,
) -> Result<(), TestCaseError> {
    let mut found = Vec::new();
    let all = (Relation(0), Relation(u8::MAX));
    let each = &mut |edge, _| found.push(edge);
    tx.edges_out(src, all.0, all.1, Depth::Edge, each).unwrap();
    prop_assert_eq!(&found, &expected.values().copied().collect::<Vec<_>>());
    for rel in [1, 2].map(Relation) {
        let mut scanned = Vec::new();
        let each = &mut |edge, node: Option<Arc<Node>>| {
            scanned.push((edge, node.map(|node| node.gid)));
        };
        tx.scan_out(src, rel, 20, 7, Depth::Full, each).unwrap();
        let after = expected.range((rel, gid(21))..=(rel, gid(TARGETS)));
        let after = after.map(|((_, dst), edge)| (*edge, Some(*dst)));
        prop_assert_eq!(scanned, after.take(7).collect::<Vec<_>>());
        for dst in (1..=TARGETS).map(gid) {
            let edge = expected.get(&(rel, dst)).copied();
            prop_assert_eq!(tx.edge_between(src, rel, dst).unwrap(), edge);
            let mut listed = None;
            let each = &mut |edge, _| listed = Some(edge);
            tx.scan_in(dst, rel, (i64::MIN, 0), 9, Depth::Edge, each)
                .unwrap();
            prop_assert_eq!(listed, edge);
            let count = tx.count_in(dst, rel).unwrap();
            prop_assert_eq!(count, u64::from(edge.is_some()));
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: workgraph_testkit::random_histories::cases(40), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn edges_of_a_node_are_those_that_were_written(grow in steps(9), shrink in steps(1), again in steps(9)) {
        let conn = Connection::open_in_memory().unwrap();
        migrate(&conn).unwrap();
        let mut tx = SqliteTransaction::new(&conn);
        let (src, mut expected) = (gid(1_000), BTreeMap::new());
        for number in (1..=TARGETS).chain([src.get()]) {
            tx.put_node(&node(number), 1).unwrap();
        }
        for (at, step) in grow.into_iter().chain(shrink).chain(again).enumerate() {
            match step {
                Step::Put { rel, dst, rank, aux } => {
                    let (rel, dst) = (Relation(rel), gid(dst));
                    let aux = aux.then(|| gid(2_000 + at as u64));
                    let edge = Edge { src, rel, dst, rank, seq: at as Seq, aux };
                    tx.put_edge(&edge).unwrap();
                    expected.insert((rel, dst), edge);
                }
                Step::Drop { rel, dst } => {
                    let (rel, dst) = (Relation(rel), gid(dst));
                    let existed = expected.remove(&(rel, dst)).is_some();
                    prop_assert_eq!(tx.drop_edge(src, rel, dst).unwrap(), existed);
                }
                Step::End => tx.write_rows().unwrap(),
            }
            if at % 40 == 0 {
                check(&mut tx, src, &expected)?;
            }
        }
        check(&mut tx, src, &expected)?;
        tx.write_rows().unwrap();
        prop_assert_eq!(crate::integrity::edge_problems(&conn).unwrap(), Vec::<String>::new());
        let stored: Option<Vec<u8>> = conn
            .query_row("SELECT edges FROM node WHERE gid = ?1", [src.as_i64()], |row| row.get(0))
            .unwrap();
        let in_table = stored.as_deref() == Some(IN_TABLE);
        prop_assert!(in_table || expected.len() <= EDGES_MAX, "{} edges in the row", expected.len());
        prop_assert!(!in_table || expected.len() > EDGES_MAX / 2, "{} edges in the table", expected.len());
    }
}

#[test]
fn an_edge_that_begins_at_no_node_is_refused() {
    let conn = Connection::open_in_memory().unwrap();
    migrate(&conn).unwrap();
    let mut tx = SqliteTransaction::new(&conn);
    tx.put_node(&node(1), 1).unwrap();
    let edge = Edge {
        src: gid(7),
        rel: Relation(1),
        dst: gid(1),
        rank: 0,
        seq: 1,
        aux: None,
    };
    let refused = tx.put_edge(&edge).unwrap_err().to_string();
    assert!(refused.contains("begins at 7"), "{refused}");
    assert!(!tx.drop_edge(edge.src, edge.rel, edge.dst).unwrap());
}

#[test]
fn two_versions_of_one_change_leave_one_row_with_its_edges() {
    let conn = Connection::open_in_memory().unwrap();
    migrate(&conn).unwrap();
    let mut tx = SqliteTransaction::new(&conn);
    let edge = Edge {
        src: gid(1),
        rel: Relation(1),
        dst: gid(2),
        rank: 5,
        seq: 1,
        aux: None,
    };
    tx.put_node(&node(2), 1).unwrap();
    tx.put_node(&node(1), 1).unwrap();
    tx.put_edge(&edge).unwrap();
    let mut second = node(1);
    second.version = 2;
    tx.put_node(&second, 1).unwrap();
    assert_eq!(tx.node(gid(1), Depth::Full).unwrap().unwrap().version, 2);
    let moved = Edge { rank: 9, ..edge };
    tx.put_edge(&moved).unwrap();
    tx.write_rows().unwrap();
    let found = tx.edge_between(gid(1), Relation(1), gid(2)).unwrap();
    assert_eq!(found, Some(moved));
    assert_eq!(
        crate::integrity::edge_problems(&conn).unwrap(),
        Vec::<String>::new()
    );
    let created = tx.rows.take_created();
    let created: Vec<Gid> = created.iter().map(|(node, _)| node.gid).collect();
    assert_eq!(created, [gid(2)], "node 1 was changed after its creation");
}
