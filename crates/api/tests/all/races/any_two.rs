//! Any two writes at once: both decide from the same state, and what is left is what one after the other would leave.
use super::race;
use crate::random_requests::{Numbers, RandomRequests};
use crate::world::{Kind, World};
use std::collections::BTreeSet;
use workgraph_core::storage::Guard;
use workgraph_operations::all;
use workgraph_operations::operation::Operation;

/// Pairs of a usual run; `WORKGRAPH_CASES` multiplies it.
const PAIRS: u64 = 100;

/// A write, as a racer: token, method, target and data.
type Write = (&'static str, &'static str, String, serde_json::Value);

fn writes() -> Vec<&'static Operation> {
    // A job goes on by itself; what it does is decided when it is carried out.
    all()
        .filter(|row| row.writes() && row.id != "createBatchRequest")
        .collect()
}

fn write(requests: &RandomRequests, row: &Operation, numbers: &mut Numbers) -> Write {
    let request = requests.request(row, numbers);
    let by = *numbers.pick(&["ada", "mel", "robot"]);
    let data = serde_json::Value::Object(request.body.clone());
    (by, row.method.name(), request.target(row), data)
}

/// Content of the store after two writes, and the statuses of their replies.
#[derive(PartialEq, Eq)]
struct Outcome {
    statuses: [u16; 2],
    pieces: Vec<String>,
}

fn one_after_the_other(world: &World, first: &Write, then: &Write) -> [u16; 2] {
    [first, then].map(|(token, method, target, data)| {
        let body = serde_json::json!({ "data": data }).to_string();
        let request = world.request(token, method, target, body);
        world.run(world.api.handle(&request)).status
    })
}

/// Guards that the store of a race ignores: none, or those of a broken twin.
type Ignored = fn(&Guard) -> bool;

/// Runs a pair in both orders and at once; returns what the three leave.
fn outcomes(base: &World, kind: Kind, a: &Write, b: &Write, ignored: Ignored) -> [Outcome; 3] {
    let copy = || base.copy_of_kind(kind);
    let outcome = |world: &World, statuses| Outcome {
        statuses,
        pieces: world.graph_pieces(),
    };
    let (first, second, raced) = (copy(), copy(), copy());
    let ab = one_after_the_other(&first, a, b);
    let [of_b, of_a] = one_after_the_other(&second, b, a);
    raced.ignore_guards(ignored);
    let both = race(&raced, a.clone(), b.clone());
    [
        outcome(&first, ab),
        outcome(&second, [of_a, of_b]),
        outcome(&raced, both),
    ]
}

/// Returns the pieces that only one of two outcomes has, for a message.
fn differences(one: &Outcome, other: &Outcome) -> String {
    let (left, right): (BTreeSet<_>, BTreeSet<_>) =
        (one.pieces.iter().collect(), other.pieces.iter().collect());
    let more: Vec<_> = left.difference(&right).take(12).collect();
    let less: Vec<_> = right.difference(&left).take(12).collect();
    format!(
        "{:?}/{:?} more {more:#?} less {less:#?}",
        one.statuses, other.statuses
    )
}

/// Counts of a run.
#[derive(Default)]
struct Counts {
    /// Writes of which one at least was accepted.
    rows: BTreeSet<&'static str>,
    /// Pairs of which one order leaves something else than the other.
    ordered: usize,
}

/// Races pairs until one leaves what no order leaves.
fn run(pairs: u64, ignored: Ignored) -> Result<Counts, String> {
    let base = World::new(Kind::Memory);
    let requests = RandomRequests::new(&base);
    let rows = writes();
    let mut counts = Counts::default();
    for seed in 0..pairs {
        let mut numbers = Numbers(seed ^ 0x2_0FCE);
        let kind = *numbers.pick(&[Kind::Memory, Kind::Waves]);
        let row = *numbers.pick(&rows);
        // Half of the pairs are of one operation: those meet most.
        let other = match numbers.below(2) {
            0 => row,
            _ => *numbers.pick(&rows),
        };
        let a = write(&requests, row, &mut numbers);
        let b = match numbers.below(3) {
            0 if other.id == row.id => a.clone(),
            _ => write(&requests, other, &mut numbers),
        };
        let [ab, ba, both] = outcomes(&base, kind, &a, &b, ignored);
        if both.statuses.iter().any(|status| *status < 300) {
            counts.rows.extend([row.id, other.id]);
        }
        counts.ordered += usize::from(ab != ba);
        if both != ab && both != ba {
            let (one, two) = (differences(&both, &ab), differences(&both, &ba));
            return Err(format!("pair {seed}: {a:?} and {b:?}: {one}\nor {two}"));
        }
    }
    Ok(counts)
}

#[test]
fn two_writes_at_once_leave_what_one_after_the_other_leaves() {
    let times = std::env::var("WORKGRAPH_CASES").ok();
    let times = times.map_or(1, |text| text.parse::<u64>().unwrap());
    let counts = run(PAIRS * times, |_| false).unwrap_or_else(|found| panic!("{found}"));
    let (rows, ordered) = (counts.rows.len(), counts.ordered);
    println!("{rows} writes raced; the order mattered {ordered} times");
    assert!(rows > 60, "{rows}");
    assert!(ordered > 10, "{ordered}");
}

#[test]
fn a_store_that_ignores_guards_is_found() {
    let edges: Ignored = |guard| matches!(guard, Guard::Linked(..) | Guard::Unlinked(..));
    for (name, ignored) in [("edges", edges), ("all", |_| true)] {
        assert!(run(4 * PAIRS, ignored).is_err(), "{name}");
    }
}
