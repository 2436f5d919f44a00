//! Any few writes at once, in any interleaving: what is left is what some order of them would leave, one after the other.
use crate::random_requests::{Numbers, RandomRequests};
use crate::world::{IgnoredChecks, Kind, World};
use std::collections::BTreeSet;
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
        let pieces = world.graph_pieces();
        Self { statuses, pieces }
    }

    /// Returns the pieces that only one of two outcomes has, for a message.
    fn differences(&self, other: &Self) -> String {
        let (left, right): (BTreeSet<_>, BTreeSet<_>) =
            (self.pieces.iter().collect(), other.pieces.iter().collect());
        let more: Vec<_> = left.difference(&right).take(12).collect();
        let less: Vec<_> = right.difference(&left).take(12).collect();
        let statuses = (&self.statuses, &other.statuses);
        format!("{statuses:?} more {more:#?} less {less:#?}")
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

/// Runs writes at once. Each stops after its loads and before its commits; `numbers` says which one goes on. Returns the outcome,
/// and the order in which they ended.
fn at_once(world: &World, program: &[Write], numbers: &mut Numbers) -> (Outcome, Vec<usize>) {
    let requests: Vec<_> = program.iter().map(|write| request(world, write)).collect();
    let mut statuses = vec![0; program.len()];
    let mut order = Vec::new();
    world.hesitate(true);
    let calls = requests.iter().map(|request| world.api.handle(request));
    let mut calls: Vec<(usize, Pin<Box<_>>)> = calls.map(Box::pin).enumerate().collect();
    world.run(poll_fn(|cx| {
        // Each wakes the task when it may go on, so none waits for longer than another.
        if !calls.is_empty() {
            let next = numbers.below(calls.len());
            if let Poll::Ready(reply) = calls[next].1.as_mut().poll(cx) {
                let text = String::from_utf8_lossy(&reply.body);
                assert!(reply.status < 500, "{}: {text}", reply.operation);
                let (at, _) = calls.remove(next);
                statuses[at] = reply.status;
                order.push(at);
                cx.waker().wake_by_ref();
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

/// Runs programs until one leaves what no order leaves.
fn run(programs: u64, ignored: IgnoredChecks) -> Result<Counts, String> {
    let base = World::new(Kind::Memory);
    let requests = RandomRequests::new(&base);
    let rows = writes();
    let mut counts = Counts::default();
    for seed in 0..programs {
        let mut numbers = Numbers(seed ^ 0x2_0FCE);
        let kind = *numbers.pick(&[Kind::Memory, Kind::Waves]);
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
        let raced = base.copy_of_kind(kind);
        raced.ignore_checks(ignored);
        let (found, ended) = at_once(&raced, &program, &mut numbers);
        if found.statuses.iter().any(|status| *status < 300) {
            counts.rows.extend(&ids);
        }
        let orders = orders(ended);
        let serial = |order: &Vec<usize>| in_order(&base.copy_of_kind(kind), &program, order);
        let first = serial(&orders[0]);
        let last = orders.last().map(serial);
        counts.ordered += usize::from(last.as_ref().is_some_and(|last| *last != first));
        if first == found {
            counts.likely += 1;
        } else if !orders.iter().skip(1).any(|order| serial(order) == found) {
            let more = found.differences(&first);
            return Err(format!("program {seed}: {program:?}: {more}"));
        }
    }
    Ok(counts)
}

#[test]
fn writes_at_once_leave_what_one_after_the_other_leaves() {
    let times = std::env::var("WORKGRAPH_CASES").ok();
    let times = times.map_or(1, |text| text.parse::<u64>().unwrap());
    let counts = run(PROGRAMS * times, IgnoredChecks::None);
    let counts = counts.unwrap_or_else(|found| panic!("{found}"));
    let rows = counts.rows.len();
    println!(
        "{rows} writes raced; the order mattered {} times, and was that of the ends {} times",
        counts.ordered, counts.likely
    );
    assert!(rows > 60, "{rows}");
    assert!(counts.ordered > 10, "{}", counts.ordered);
}

#[test]
fn a_store_that_commits_without_its_checks_is_found() {
    for ignored in [IgnoredChecks::Reads, IgnoredChecks::Guards] {
        assert!(run(6 * PROGRAMS, ignored).is_err(), "{ignored:?}");
    }
}
