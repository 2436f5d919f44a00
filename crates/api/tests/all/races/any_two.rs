//! Any two writes at once: both decide from the same state, and what is left is what one after the other would leave.
use super::race;
use crate::random_requests::{Numbers, RandomRequests};
use crate::world::{Kind, World};
use std::collections::BTreeSet;
use workgraph_operations::all;
use workgraph_operations::operation::Operation;

/// Pairs of a usual run; `WORKGRAPH_CASES` multiplies it.
const PAIRS: u64 = 150;

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

/// What is in the store after two writes, and how they were answered.
#[derive(PartialEq, Eq)]
struct Outcome {
    statuses: [u16; 2],
    lines: Vec<String>,
}

fn one_after_the_other(world: &World, first: &Write, then: &Write) -> [u16; 2] {
    [first, then].map(|(token, method, target, data)| {
        let body = serde_json::json!({ "data": data }).to_string();
        let request = world.request(token, method, target, body);
        world.run(world.api.handle(&request)).status
    })
}

/// Runs a pair in both orders and at once; returns what the three leave, or nothing if no order changes anything.
fn outcomes(base: &World, kind: Kind, a: &Write, b: &Write) -> [Outcome; 3] {
    let copy = || base.copy_of_kind(kind);
    let outcome = |world: &World, statuses| Outcome {
        statuses,
        lines: world.graph_lines(),
    };
    let (first, second, raced) = (copy(), copy(), copy());
    let ab = one_after_the_other(&first, a, b);
    let [of_b, of_a] = one_after_the_other(&second, b, a);
    let both = race(&raced, a.clone(), b.clone());
    [
        outcome(&first, ab),
        outcome(&second, [of_a, of_b]),
        outcome(&raced, both),
    ]
}

/// Returns the lines that one outcome has and another has not, for a message.
fn differences(one: &Outcome, other: &Outcome) -> String {
    let (left, right): (BTreeSet<_>, BTreeSet<_>) =
        (one.lines.iter().collect(), other.lines.iter().collect());
    let more: Vec<_> = left.difference(&right).take(12).collect();
    let less: Vec<_> = right.difference(&left).take(12).collect();
    format!(
        "{:?}/{:?} more {more:#?} less {less:#?}",
        one.statuses, other.statuses
    )
}

#[test]
fn two_writes_at_once_leave_what_one_after_the_other_leaves() {
    let times = std::env::var("WORKGRAPH_CASES").ok();
    let times = times.map_or(1, |text| text.parse::<u64>().unwrap());
    let base = World::new(Kind::Memory);
    let requests = RandomRequests::new(&base);
    let rows = writes();
    let (mut raced, mut decided) = (BTreeSet::new(), 0);
    for seed in 0..PAIRS * times {
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
        let [ab, ba, both] = outcomes(&base, kind, &a, &b);
        if both.statuses.iter().any(|status| *status < 300) {
            raced.extend([row.id, other.id]);
        }
        decided += u32::from(ab != ba);
        assert!(
            both == ab || both == ba,
            "pair {seed}: {a:?} and {b:?}: {}\nor {}",
            differences(&both, &ab),
            differences(&both, &ba)
        );
    }
    println!(
        "{} writes raced; the order mattered {decided} times",
        raced.len()
    );
    assert!(raced.len() > 60, "{}", raced.len());
    assert!(decided > 10, "{decided}");
}
