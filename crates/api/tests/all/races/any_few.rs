//! Any few writes at once, in any interleaving: what is left is what some order of them would leave, one after the other.
use crate::random_requests::{Numbers, RandomRequests};
use crate::world::{IgnoredReads, Kind, World};
use std::collections::{BTreeMap, BTreeSet};
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;
use workgraph_api::ApiRequest;
use workgraph_operations::all;
use workgraph_operations::operation::Operation;

/// Programs of a usual run; `WORKGRAPH_CASES` multiplies it.
const PROGRAMS: u64 = 100;
/// Maximum number of writes in a program.
const WRITES_MAX: usize = 4;

/// A write: token, method, target and data.
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

/// Content of the store after the writes of a program, and the statuses of their replies, in the order of the program.
#[derive(PartialEq, Eq)]
struct Outcome {
    statuses: Vec<u16>,
    pieces: Vec<String>,
}

impl Outcome {
    fn of(world: &World, statuses: Vec<u16>) -> Self {
        let pieces = world.stored_pieces();
        Self { statuses, pieces }
    }

    /// Returns the pieces of which one of two outcomes has more than the other, for a message.
    fn differences(&self, other: &Self) -> String {
        let mut counts: BTreeMap<&str, i32> = BTreeMap::new();
        for (outcome, by) in [(self, 1), (other, -1)] {
            for piece in &outcome.pieces {
                *counts.entry(piece).or_default() += by;
            }
        }
        counts.retain(|_, count| *count != 0);
        let statuses = (&self.statuses, &other.statuses);
        format!("{statuses:?} {counts:#?}")
    }
}

fn request(world: &World, (token, method, target, data): &Write) -> ApiRequest {
    let body = serde_json::json!({ "data": data }).to_string();
    world.request(token, method, target, body)
}

/// Runs writes one after the other, in an order.
fn in_order(world: &World, program: &[Write], order: &[usize]) -> Outcome {
    let mut statuses = vec![0; program.len()];
    for at in order {
        let request = request(world, &program[*at]);
        statuses[*at] = world.run(world.api.handle(&request)).status;
    }
    Outcome::of(world, statuses)
}

/// Stores on which programs run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Place {
    Memory,
    Waves,
    Sqlite,
    /// Three nodes over PostgreSQL.
    Nodes,
}

impl Place {
    /// Returns a world in the state before a program; `None` if there is no PostgreSQL.
    fn world(self, base: &World) -> Option<World> {
        Some(match self {
            Self::Memory => base.copy_of_kind(Kind::Memory),
            Self::Waves => base.copy_of_kind(Kind::Waves),
            Self::Sqlite => World::new(Kind::Sqlite),
            Self::Nodes => return World::of_nodes(),
        })
    }

    /// Returns true if requests really wait there, and are woken by others.
    fn waits(self) -> bool {
        matches!(self, Self::Sqlite | Self::Nodes)
    }
}

/// Runs writes at once. Each stops after its loads and before its commits; `numbers` says which one goes on. Returns the outcome,
/// and the order in which they ended.
fn at_once(
    (place, world): (Place, &World),
    program: &[Write],
    numbers: &mut Numbers,
) -> (Outcome, Vec<usize>) {
    let requests: Vec<_> = program.iter().map(|write| request(world, write)).collect();
    let mut statuses = vec![0; program.len()];
    let mut order = Vec::new();
    world.hesitate(true);
    let nodes = requests.iter().map(|request| (world.next_node(), request));
    let calls = nodes.map(|(api, request)| api.handle(request));
    let mut calls: Vec<(usize, Pin<Box<_>>)> = calls.map(Box::pin).enumerate().collect();
    world.run(poll_fn(|cx| {
        // One that stopped wakes the task at once; one that really waits is woken once, and must not be left out then.
        let turns = if place.waits() { calls.len() } else { 1 };
        let mut turn = numbers.below(calls.len());
        for _ in 0..turns {
            turn = if turn < calls.len() { turn } else { 0 };
            if let Poll::Ready(reply) = calls[turn].1.as_mut().poll(cx) {
                let text = String::from_utf8_lossy(&reply.body);
                assert!(reply.status < 500, "{}: {text}", reply.operation);
                let (at, _) = calls.remove(turn);
                statuses[at] = reply.status;
                order.push(at);
                cx.waker().wake_by_ref();
            } else {
                turn += 1;
            }
        }
        match calls.is_empty() {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    }));
    world.hesitate(false);
    (Outcome::of(world, statuses), order)
}

/// Returns all orders of a number of writes, the most likely one first.
fn orders(likely: Vec<usize>) -> Vec<Vec<usize>> {
    let mut orders = vec![Vec::new()];
    for _ in 0..likely.len() {
        let longer = orders.iter().flat_map(|order: &Vec<usize>| {
            let rest = likely.iter().filter(|at| !order.contains(at));
            rest.map(|at| [order.as_slice(), &[*at]].concat())
        });
        orders = longer.collect();
    }
    orders
}

/// Counts of a run.
#[derive(Default)]
struct Counts {
    /// Writes of a program of which one at least was accepted.
    rows: BTreeSet<&'static str>,
    /// Programs that left what the order of their ends leaves.
    likely: usize,
    /// Programs of which another order leaves something else.
    ordered: usize,
}

/// Runs programs until one leaves what no order leaves; `None` without PostgreSQL.
fn run(programs: u64, places: &[Place], ignored: IgnoredReads) -> Result<Option<Counts>, String> {
    let base = World::new(Kind::Memory);
    let requests = RandomRequests::new(&base);
    let rows = writes();
    let mut counts = Counts::default();
    for seed in 0..programs {
        let mut numbers = Numbers(seed ^ 0x2_0FCE);
        let place = *numbers.pick(places);
        let row = *numbers.pick(&rows);
        let mut program: Vec<Write> = Vec::new();
        let mut ids = Vec::new();
        for _ in 0..2 + numbers.below(WRITES_MAX - 1) {
            // Half of them are of one operation: those meet most.
            let row = match numbers.below(2) {
                0 => row,
                _ => *numbers.pick(&rows),
            };
            let again = ids.iter().position(|id| *id == row.id);
            program.push(match again.filter(|_| numbers.below(3) == 0) {
                Some(at) => program[at].clone(),
                None => write(&requests, row, &mut numbers),
            });
            ids.push(row.id);
        }
        let Some(raced) = place.world(&base) else {
            return Ok(None);
        };
        raced.ignore_reads(ignored);
        let (found, ended) = at_once((place, &raced), &program, &mut numbers);
        if found.statuses.iter().any(|status| *status < 300) {
            counts.rows.extend(&ids);
        }
        let orders = orders(ended);
        let serial = |order: &Vec<usize>| {
            let world = place.world(&base).expect("PostgreSQL was there before");
            in_order(&world, &program, order)
        };
        let first = serial(&orders[0]);
        if !place.waits() {
            let last = orders.last().map(serial);
            counts.ordered += usize::from(last.as_ref().is_some_and(|last| *last != first));
        }
        if first == found {
            counts.likely += 1;
        } else if !orders.iter().skip(1).any(|order| serial(order) == found) {
            let more = found.differences(&first);
            return Err(format!("program {seed} on {place:?}: {program:?}: {more}"));
        }
    }
    Ok(Some(counts))
}

fn times() -> u64 {
    let times = std::env::var("WORKGRAPH_CASES").ok();
    times.map_or(1, |text| text.parse().unwrap())
}

#[test]
fn writes_at_once_leave_what_one_after_the_other_leaves() {
    let places = [Place::Memory, Place::Waves];
    let counts = run(PROGRAMS * times(), &places, IgnoredReads::None);
    let counts = counts.unwrap_or_else(|found| panic!("{found}")).unwrap();
    let rows = counts.rows.len();
    println!(
        "{rows} writes raced; the order mattered {} times, and was that of the ends {} times",
        counts.ordered, counts.likely
    );
    assert!(rows > 60, "{rows}");
    assert!(counts.ordered > 10, "{}", counts.ordered);
}

#[test]
fn writes_at_once_on_disk_leave_what_one_after_the_other_leaves() {
    let counts = run(PROGRAMS / 5 * times(), &[Place::Sqlite], IgnoredReads::None);
    let counts = counts.unwrap_or_else(|found| panic!("{found}")).unwrap();
    assert!(counts.rows.len() > 10, "{}", counts.rows.len());
}

#[test]
fn writes_at_once_on_three_nodes_leave_what_one_after_the_other_leaves() {
    let counts = run(PROGRAMS / 10 * times(), &[Place::Nodes], IgnoredReads::None);
    let counts = counts.unwrap_or_else(|found| panic!("{found}"));
    if let Some(counts) = counts {
        assert!(counts.rows.len() > 5, "{}", counts.rows.len());
    }
}

#[test]
fn a_store_that_does_not_validate_some_reads_is_found() {
    for ignored in [IgnoredReads::All, IgnoredReads::Nodes, IgnoredReads::Lists] {
        let found = run(8 * PROGRAMS, &[Place::Memory, Place::Waves], ignored);
        assert!(found.is_err(), "{ignored:?}");
    }
}
