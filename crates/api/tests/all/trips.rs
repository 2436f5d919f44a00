//! The number of times that each operation waits for PostgreSQL: `fixtures/trips.txt`.
use crate::golden;
use crate::probes::{ORCHID, sample, sender};
use crate::world::{Answer, World};
use serde_json::json;
use std::cell::RefCell;
use std::fmt::{Display, Formatter, Write};
use std::sync::Arc;
use workgraph_api::request::Method;
use workgraph_operations::all;
use workgraph_operations::operation::Operation;
use workgraph_store_postgres::PostgresStore;

const HEAD: &str = "\
# Waits of each operation for PostgreSQL, one after the other, by its sample request on one node: what is asked together is
# one wait, and so are all statements of a commit. The look-up of the token is counted: it is the first wait of each
# request, and brings along what other nodes committed. In the sums, the first number is of it and of everything else that
# is asked and decided about tokens, accounts and webhooks, the second of loads, the third of commits.
#
# Cold: nothing of the graph is remembered. Warm: the same request was made before; for the last rows, which can't
# be repeated, all requests that read were. One that ends what another row has ended is not counted.
# Preparing a statement, once for each connection, is not counted either. BLESS=1 rewrites this file.
# operation	cold	warm
";

/// Tasks of the page.
const PAGE: usize = 100;
/// Fields of the page: records in records.
const NESTED: &str = "name,completed,due_on,assignee.name,custom_fields,memberships.section.name,projects.name,tags.name";

/// Numbers of waits.
#[derive(Clone, Copy)]
struct Trips {
    tokens: u64,
    loads: u64,
    commits: u64,
}

impl Trips {
    const fn sum(self) -> u64 {
        self.tokens + self.loads + self.commits
    }
}

impl Display for Trips {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let (all, [tokens, loads, commits]) = (self.sum(), [self.tokens, self.loads, self.commits]);
        write!(f, "{all} = {tokens} + {loads} + {commits}")
    }
}

/// A world over PostgreSQL, and its store, which counts.
struct CountedWorld {
    world: World,
    store: Arc<PostgresStore>,
    /// Requests that were refused.
    refused: RefCell<Vec<String>>,
}

impl CountedWorld {
    fn new() -> Option<Self> {
        let (world, store) = World::of_postgres()?;
        let refused = RefCell::default();
        Some(Self {
            world,
            store,
            refused,
        })
    }

    /// Returns the waits of a request, and notes one that is refused.
    fn count(&self, name: &str, send: &dyn Fn(&World) -> Answer) -> Trips {
        let before = self.store.stats();
        let answer = send(&self.world);
        let after = self.store.stats();
        if answer.status >= 300 {
            let text = format!("{name}: {} {}", answer.status, answer.text);
            self.refused.borrow_mut().push(text);
        }
        Trips {
            tokens: after.statement_trips - before.statement_trips,
            loads: after.read_trips - before.read_trips,
            commits: after.write_trips - before.write_trips,
        }
    }

    /// Returns the waits of a request where nothing is remembered.
    fn cold(&self, name: &str, send: &dyn Fn(&World) -> Answer) -> Trips {
        self.store.clear_cache();
        self.count(name, send)
    }

    /// Returns the waits of a row's sample, cold or not.
    fn row(&self, row: &Operation, is_cold: bool) -> Trips {
        // Jobs of the requests before are done.
        self.world.work();
        let name = format!("Probe {is_cold} of {}", row.id);
        let request = sample(&self.world, &ORCHID, row).named(&name);
        let send = |world: &World| request.send(world, sender(row, "ada"), row);
        match is_cold {
            true => self.cold(row.id, &send),
            false => self.count(row.id, &send),
        }
    }
}

/// Operations whose samples make something of which there can be one.
const ONCE: [&str; 6] = [
    "createTimesheetApprovalStatus",
    "updateTimesheetApprovalStatus",
    "createRate",
    "createBudget",
    "createProjectBrief",
    "approveAccessRequest",
];

/// Returns true for operations that end something, so that they cannot be repeated.
fn ends_something(row: &Operation) -> bool {
    ["delete", "remove", "reject"]
        .iter()
        .any(|verb| row.id.starts_with(verb))
}

/// A request beside the samples, as it is named in the file, with the most waits that it may take cold and warm.
struct Promised {
    name: &'static str,
    send: Box<dyn Fn(&World) -> Answer>,
    most: [u64; 2],
}

/// Returns the requests for which bounds are promised.
fn promised(world: &World) -> Vec<Promised> {
    let gid = |name: &str| world.gid(name).to_string();
    let data = json!({"name": "Page", "workspace": gid("orchid"), "team": gid("gardeners")});
    let project = world.post("ada", "/projects", data).gid();
    let task = json!({"name": "Task", "projects": [project], "assignee": "me"});
    for _ in 0..PAGE {
        assert_eq!(world.post("ada", "/tasks", task.clone()).status, 201);
    }
    let page = format!("/projects/{project}/tasks?limit={PAGE}");
    let nested = format!("{page}&opt_fields={NESTED}");
    let get = |target: String| Box::new(move |world: &World| world.get("ada", &target)) as Box<_>;
    let of = |name, send, most| Promised { name, send, most };
    vec![
        of("GET /users/me", get("/users/me".to_owned()), [3, 1]),
        of(
            "GET one task",
            get(format!("/tasks/{}", gid("water"))),
            [3, 1],
        ),
        of("GET 100 tasks, compact", get(page), [4, 1]),
        of("GET 100 tasks, nested", get(nested), [4, 1]),
        of(
            "POST a task",
            Box::new(move |world| world.post("ada", "/tasks", task.clone())),
            [10, 2],
        ),
    ]
}

#[test]
fn operations_take_few_trips() {
    let (Some(first), Some(second)) = (CountedWorld::new(), CountedWorld::new()) else {
        return;
    };
    let mut lines = String::from(HEAD);
    let mut slow = Vec::new();
    for request in promised(&first.world) {
        let cold = first.cold(request.name, &request.send);
        first.count(request.name, &request.send);
        let warm = first.count(request.name, &request.send);
        writeln!(lines, "{}\t{cold}\t{warm}", request.name).unwrap();
        if cold.sum() > request.most[0] || warm.sum() > request.most[1] {
            slow.push(format!("{}: {cold}, {warm}", request.name));
        }
    }
    let (ending, lasting): (Vec<_>, Vec<_>) = all().partition(|row| ends_something(row));
    let (reading, writing): (Vec<_>, Vec<_>) = lasting
        .into_iter()
        .partition(|row| row.method == Method::Get);
    let (once, writing): (Vec<_>, Vec<_>) =
        writing.into_iter().partition(|row| ONCE.contains(&row.id));
    for row in reading.iter().chain(&writing) {
        let (cold, warm) = (first.row(row, true), first.row(row, false));
        writeln!(lines, "{}\t{cold}\t{warm}", row.id).unwrap();
    }
    for row in &reading {
        second.row(row, false);
    }
    for row in &once {
        let (cold, warm) = (first.row(row, true), second.row(row, false));
        writeln!(lines, "{}\t{cold}\t{warm}", row.id).unwrap();
    }
    let refused = [&first, &second].map(|counted| counted.refused.take());
    assert_eq!(
        refused.concat(),
        Vec::<String>::new(),
        "samples must succeed"
    );
    // What is in something stands behind it in the table, and ends before it.
    for row in ending.iter().rev() {
        let (cold, warm) = (first.row(row, true), second.row(row, false));
        // Two of them may end the same.
        match first.refused.take().is_empty() && second.refused.take().is_empty() {
            true => writeln!(lines, "{}\t{cold}\t{warm}", row.id).unwrap(),
            false => writeln!(lines, "{}\t-\t-", row.id).unwrap(),
        }
    }
    golden::check(&golden::root("fixtures/trips.txt"), &lines);
    assert_eq!(slow, Vec::<String>::new());
}
