//! The measuring of a running server, row by row beside the ceilings.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use crate::child::Server;
use crate::commits::{self, Grain};
use crate::finding::{self, Bare, Find};
use crate::graph::{self, Graph, NESTED};
use crate::http::{self, Client};
use crate::loadgen::{Make, Rng};
use crate::measure::{self, Figure, median};
use crate::oauth::Granted;
use crate::report::Line;
use crate::rows::{Bound, Measured, ROWS, Row};
use crate::sqlite::{Scratch, Shape};
use crate::{Result, RunArgs, clock, procfs};

/// Limits far above any load, so the limiter works on every request and refuses none.
const SERVER_ENV: [(&str, &str); 6] = [
    ("WORKGRAPH_LIMITS_SEARCH", "1000000000"),
    ("WORKGRAPH_LIMITS_COST", "off"),
    ("WORKGRAPH_LIMITS_STANDARD_PAID", "1000000000"),
    ("WORKGRAPH_LIMITS_CONCURRENT_READS", "10000"),
    ("WORKGRAPH_LIMITS_CONCURRENT_WRITES", "10000"),
    ("WORKGRAPH_OAUTH_TOKEN_INFO_PER_MINUTE", "off"),
];
/// The depth of the deep page.
const DEPTH: usize = 50_000;
/// How often the server is started to time it.
const STARTS: usize = 5;

/// Makes GETs of random ones of these paths.
pub(crate) fn gets(token: &str, paths: Arc<Vec<String>>) -> Arc<Make> {
    let token = token.to_owned();
    Arc::new(move |rng: &mut Rng, _, out: &mut Vec<u8>| {
        let path = paths
            .get(rng.below(paths.len()))
            .map_or("/", String::as_str);
        http::write_get(out, path, &token);
    })
}

/// How a row is measured.
enum Job {
    Hyper(usize, Arc<Make>, Server),
    SqlitePage(Arc<Make>),
    Depth(Arc<Make>, Arc<Make>),
    Create(Arc<Make>, Grain),
    Find(Arc<Make>, Find, Bare),
}

/// A started server with the graph in it.
pub(crate) struct Bench<'a> {
    args: &'a RunArgs,
    folder: &'a Path,
    binary: PathBuf,
    env: Vec<(String, String)>,
    data: PathBuf,
    server: Server,
    client: Client,
    graph: Graph,
    scratch: Scratch,
    shape: Shape,
    notes: Vec<String>,
}

impl<'a> Bench<'a> {
    /// Starts the server and builds the graph.
    pub(crate) fn start(args: &'a RunArgs, folder: &'a Path, binary: PathBuf) -> Result<Self> {
        let mut env: Vec<(String, String)> = SERVER_ENV.map(|(n, v)| (n.into(), v.into())).into();
        for pair in &args.server_env {
            let (name, value) = pair.split_once('=').ok_or("--server-env is NAME=VALUE")?;
            env.push((name.to_owned(), value.to_owned()));
        }
        let data = folder.join("graph");
        let server = Server::workgraph(&binary, &data, &env, true)?;
        let client = graph::client(&server, &data)?;
        println!("building {} tasks through the API", args.tasks);
        let graph = graph::build(&client, &data, args.tasks)?;
        let seeding = format!(
            "The graph was built through the API at {:.0} durable creates a second over {} connections (p50 {:.0} us, p99 {:.0} us).",
            graph.seeding.rate(),
            graph::WRITERS,
            graph.seeding.p50,
            graph.seeding.p99
        );
        println!("{seeding}");

        let nested = client.get_bytes(&graph.page(Some(NESTED), None))?;
        let followers = followers(&nested)?;
        let one = client.get_bytes(&format!(
            "/api/1.0/tasks/{}",
            graph.tasks.first().ok_or("no tasks")?
        ))?;
        let shape = Shape {
            tasks: args.tasks,
            users: graph.users as u64,
            followers,
            sections: 10,
            body: graph.create_size()?,
        };
        let scratch = Scratch::build(folder, shape)?;
        let notes = vec![
            seeding,
            format!(
                "The nested page is {} bytes, that of the bare loop {}; both show {followers} followers for each task. One task is {} bytes.",
                nested.len(),
                scratch.nested_page()?.len(),
                one.len()
            ),
            "Bare hyper answers with the body size of the row. The bare SQLite loops use the store's tables and settings \
             (WAL, synchronous=FULL, no automatic checkpoint); group commit inserts, 64 to a commit, the rows a create writes (its floor is against this), \
             or one row of a create's size."
                .to_owned(),
        ];
        Ok(Self {
            args,
            folder,
            binary,
            env,
            data,
            server,
            client,
            graph,
            scratch,
            shape,
            notes,
        })
    }

    /// Measures everything that was asked for.
    pub(crate) fn measure(mut self) -> Result<(Vec<Line>, Vec<String>)> {
        // Creates come last, in rounds of their own: reads then all see a graph of one size.
        let (writes, reads): (Vec<&'static Row>, Vec<_>) = ROWS
            .iter()
            .filter(|row| self.wanted(row.name))
            .partition(|row| {
                ["create", "refresh"]
                    .iter()
                    .any(|w| row.name.starts_with(w))
            });
        let mut measured = Vec::new();
        for group in [reads, writes] {
            let mut jobs = Vec::new();
            for row in group {
                jobs.push((row, self.job(row)?, Vec::new()));
            }
            for round in 1..=self.args.rounds {
                for (row, job, rounds) in &mut jobs {
                    println!("round {round}: {}", row.name);
                    rounds.push(self.step(job)?);
                }
            }
            measured.extend(
                jobs.into_iter()
                    .map(|(row, _, rounds)| Measured { row, rounds }),
            );
        }
        let mut lines: Vec<Line> = measured.iter().map(Line::of).collect();
        if self.wanted("point-read") {
            let figure = self.scratch.point_reads(self.time())?;
            lines.push(Line::ceiling("bare SQLite point read, one thread", &figure));
        }
        self.absolutes(lines)
    }

    fn wanted(&self, name: &str) -> bool {
        self.args
            .only
            .as_deref()
            .is_none_or(|only| name.contains(only))
    }

    fn time(&self) -> Duration {
        Duration::from_secs_f64(self.args.seconds)
    }

    fn job(&mut self, row: &Row) -> Result<Job> {
        let tasks = |limit: usize| -> Vec<String> {
            let gids = self.graph.tasks.iter().take(limit);
            gids.map(|gid| format!("/api/1.0/tasks/{gid}")).collect()
        };
        let page = |fields, offset| vec![self.graph.page(fields, offset)];
        let token = self.client.token.clone();
        let get = |paths: Vec<String>| gets(&token, Arc::new(paths));
        let (connections, paths) = match row.name {
            "task-random" => (16, tasks(usize::MAX)),
            "task-one-connection" => (1, tasks(usize::MAX)),
            "task-hot" => (16, tasks(1)),
            "users-me" => (16, vec!["/api/1.0/users/me".to_owned()]),
            "page-compact" => (16, page(None, None)),
            "page-nested" => return Ok(Job::SqlitePage(get(page(Some(NESTED), None)))),
            "introspection" => return self.posts(row, 16, Granted::introspections),
            "refresh" => return self.posts(row, graph::WRITERS, Granted::refreshes),
            "refresh-one-row" => {
                let granted = Granted::get(&self.client, &self.data)?;
                return Ok(Job::Create(granted.refreshes(), Grain::Row));
            }
            "search-text" => return self.find(Find::Text),
            "search-assigned" => return self.find(Find::Assigned),
            "search-field" => return self.find(Find::Field),
            "typeahead" => return self.find(Find::Typeahead),
            "create-one-row" => return Ok(Job::Create(Arc::clone(&self.graph.create), Grain::Row)),
            "create" => {
                return Ok(Job::Create(Arc::clone(&self.graph.create), Grain::Task));
            }
            "page-depth" => {
                let (offset, depth) = self.graph.walk(&self.client, DEPTH)?;
                let first = get(page(Some("name"), None));
                let deep = get(page(Some("name"), Some(&offset)));
                self.notes
                    .push(format!("The deep page begins behind {depth} tasks."));
                return Ok(Job::Depth(first, deep));
            }
            other => return Err(format!("no measurement is named {other}").into()),
        };
        let size = self
            .client
            .get_bytes(paths.first().ok_or("no paths")?)?
            .len();
        let bare = Server::bare(self.folder, row.name, size)?;
        Ok(Job::Hyper(connections, get(paths), bare))
    }

    /// Posts of an app's server, beside bare hyper with replies of their size.
    fn posts(
        &self,
        row: &Row,
        connections: usize,
        make: impl Fn(&Granted) -> Arc<Make>,
    ) -> Result<Job> {
        let granted = Granted::get(&self.client, &self.data)?;
        let make = make(&granted);
        let mut request = Vec::new();
        make(&mut Rng::new(1), 0, &mut request);
        let (_, body) = http::whole(self.client.addr, &request)?;
        let bare = Server::bare(self.folder, row.name, body.len())?;
        Ok(Job::Hyper(connections, make, bare))
    }

    fn find(&self, find: Find) -> Result<Job> {
        let paths = finding::paths(&self.client, &self.graph, find)?;
        let bare = Bare::build(self.folder, self.shape)?;
        Ok(Job::Find(gets(&self.client.token, paths), find, bare))
    }

    /// One round of a row: ours and the ceiling's, the ceiling first.
    fn step(&self, job: &Job) -> Result<(Figure, Figure)> {
        let time = self.time();
        let (ceiling, (connections, make)) = match job {
            Job::Hyper(connections, make, bare) => (
                measure::load(bare, *connections, time, make)?,
                (*connections, make),
            ),
            Job::SqlitePage(make) => (self.scratch.nested_pages(time)?, (16, make)),
            Job::Depth(first, deep) => (measure::load(&self.server, 1, time, first)?, (1, deep)),
            Job::Find(make, find, bare) => (bare.run(*find, time)?, (16, make)),
            Job::Create(make, grain) => (
                commits::run(self.folder, time, self.shape, *grain)?,
                (graph::WRITERS, make),
            ),
        };
        Ok((
            measure::load(&self.server, connections, time, make)?,
            ceiling,
        ))
    }

    /// Start-up and idle memory: the server alone, on the graph and on a fresh demo.
    fn absolutes(self, mut lines: Vec<Line>) -> Result<(Vec<Line>, Vec<String>)> {
        let (start, memory) = (self.wanted("start-up"), self.wanted("idle-memory"));
        self.server.stop()?;
        if !start && !memory {
            return Ok((lines, self.notes));
        }
        let small = self.folder.join("small");
        Server::workgraph(&self.binary, &small, &self.env, true)?.stop()?;
        let begin = |data: &Path| Server::workgraph(&self.binary, data, &self.env, false);
        if start {
            let mut starts = (Vec::new(), Vec::new());
            for _ in 0..STARTS {
                let bare = Server::bare(self.folder, "start", 0)?;
                starts.1.push(bare.ready_after * 1000.0);
                drop(bare);
                let server = begin(&self.data)?;
                starts.0.push(server.ready_after * 1000.0);
                server.stop()?;
            }
            lines.push(Line::absolute(
                "start to ready, on the graph",
                median(&starts.0).ok_or("no starts")?,
                median(&starts.1),
                "ms",
                Bound::AtMost(50.0, 8.0),
            ));
        }
        if memory {
            let bare = idle(Server::bare(self.folder, "idle", 0)?)?;
            for (what, data) in [
                ("idle memory, on the graph", &self.data),
                ("idle memory, small demo", &small),
            ] {
                let ours = idle(begin(data)?)?;
                let bound = Bound::AtMost(16.0, 4.0);
                lines.push(Line::absolute(what, ours, Some(bare), "MiB", bound));
            }
        }
        Ok((lines, self.notes))
    }
}

/// The memory of a server that only waits.
fn idle(server: Server) -> Result<f64> {
    clock::pause(Duration::from_secs(1));
    procfs::resident_mib(server.pid())
}

/// Followers of a task on a nested page, on average.
fn followers(page: &[u8]) -> Result<u64> {
    let page: Value = serde_json::from_slice(page)?;
    let tasks = graph::list(&page, "data")?;
    let mut all = 0;
    for task in tasks {
        all += graph::list(task, "followers")?.len();
    }
    let tasks = tasks.len().max(1);
    Ok(((all + tasks / 2) / tasks) as u64)
}
