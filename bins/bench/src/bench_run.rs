//! Measurements of a running server, row by row next to the ceilings.

use anyhow::{Context, Result};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use crate::bench_cli::RunArgs;
use crate::bench_clock;
use crate::bench_rows::BenchResult;
use crate::bench_rows::BenchRow;
use crate::bench_rows::Bound;
use crate::bench_rows::ROWS;
use crate::graph_builder;
use crate::graph_builder::{Graph, NESTED};
use crate::http_client::BenchClient;
use crate::measure::median;
use crate::procfs;
use crate::report::ReportLine;
use crate::server_process::ServerProcess;
use crate::sqlite_baseline::{BaselineGraph, GraphShape};

/// Limits far above any load, so that the limiter checks every request but refuses none; and permission for a
/// webhook receiver on this machine. The address is fixed, as behind a proxy.
const SERVER_ENV: [(&str, &str); 8] = [
    ("WORKGRAPH_PUBLIC_URL", "http://127.0.0.1"),
    ("WORKGRAPH_WEBHOOKS_ALLOW_LOOPBACK", "true"),
    ("WORKGRAPH_LIMITS_SEARCH", "1000000000"),
    ("WORKGRAPH_LIMITS_COST", "off"),
    ("WORKGRAPH_LIMITS_STANDARD_PAID", "1000000000"),
    ("WORKGRAPH_LIMITS_CONCURRENT_READS", "10000"),
    ("WORKGRAPH_LIMITS_CONCURRENT_WRITES", "10000"),
    ("WORKGRAPH_OAUTH_TOKEN_INFO_PER_MINUTE", "off"),
];
/// Prefixes of the names of rows that write.
const WRITES: [&str; 4] = ["create", "refresh", "copy", "delivery"];
/// Time for which an idle server is observed.
const IDLE: Duration = Duration::from_secs(5);
/// Number of starts of the server that are timed.
const STARTS: usize = 5;

/// Running server with the graph in it.
pub(crate) struct Bench<'a> {
    pub(crate) args: &'a RunArgs,
    pub(crate) folder: &'a Path,
    absolutes: Vec<ReportLine>,
    pub(crate) data: PathBuf,
    pub(crate) server: ServerProcess,
    pub(crate) client: BenchClient,
    pub(crate) graph: Graph,
    pub(crate) scratch: BaselineGraph,
    pub(crate) shape: GraphShape,
    pub(crate) notes: Vec<String>,
}

impl<'a> Bench<'a> {
    /// Starts the server and builds the graph.
    pub(crate) fn start(args: &'a RunArgs, folder: &'a Path, binary: &Path) -> Result<Self> {
        Self::start_under(args, folder, binary, &[])
    }

    /// Builds the graph, and starts the server by a command that its path and arguments are appended to.
    pub(crate) fn start_under(
        args: &'a RunArgs,
        folder: &'a Path,
        binary: &Path,
        command: &[OsString],
    ) -> Result<Self> {
        let mut env: Vec<(String, String)> = SERVER_ENV.map(|(n, v)| (n.into(), v.into())).into();
        for pair in &args.server_env {
            let (name, value) = pair.split_once('=').context("--server-env is NAME=VALUE")?;
            env.push((name.to_owned(), value.to_owned()));
        }
        let data = folder.join("graph");
        let kept = args.folders.graph.as_deref().unwrap_or(&data);
        let seeding = if graph_builder::is_built(kept) {
            "The graph was kept from another run.".to_owned()
        } else {
            seed(args, binary, kept, &env)?
        };
        println!("{seeding}");
        if kept != data {
            copy(kept, &data)?;
        }
        graph_builder::keep_credentials(&data)?;
        let begin = |data: &Path, demo| ServerProcess::workgraph(binary, data, &env, demo);
        let absolutes = absolutes(args, folder, &data, begin)?;
        let server = ServerProcess::workgraph_under(command, binary, &data, &env, false)?;
        let client = graph_builder::client(&server, &data)?;
        let graph = Graph::open(&client, &data)?;

        let nested = client.get_bytes(&graph.page(Some(NESTED), None))?;
        let followers = followers(&nested)?;
        let one = client.get_bytes(&format!(
            "/api/1.0/tasks/{}",
            graph.tasks.first().context("no tasks")?
        ))?;
        let shape = GraphShape {
            tasks: graph.tasks.len() as u64,
            users: graph.users as u64,
            followers,
            sections: 10,
            body: graph.create_size()?,
        };
        let scratch = BaselineGraph::build(folder, shape)?;
        let notes = vec![
            seeding,
            format!(
                "The nested page is {} bytes, that of the bare loop {}; both show {followers} followers for each task. One task is {} bytes.",
                nested.len(),
                scratch.nested_page()?.len(),
                one.len()
            ),
            "Bare hyper answers with the body size of the row, and has the allocator of the server. The bare SQLite loops use the store's tables and settings \
             (WAL, synchronous=FULL, no automatic checkpoint); group commit inserts, 64 to a commit, copies of all rows that a create wrote, with the tables and indexes of the server's file \
             (the floor of creates is against this), or one row of a create's size."
                .to_owned(),
            "Every connection of every round draws from a seed of its own. Sides take turns in going first. With one \
             connection, client and server have a processor each (`taskset`), ours and the ceiling alike. The load is one \
             thread on the machine that it measures, and bare hyper keeps it busy: ratios of rates come out nearer to 1 than \
             those of processor time, which stand first."
                .to_owned(),
            "What flatters us: all requests are of one user, whose workspace has few people, one project and ten sections, \
             so what tasks are linked to is always at hand; the nested page is one page, again and again, beside a loop that \
             keeps nothing of it. Functions lie in the program in the order of a load of such requests (`link-order.txt`), \
             and the profile of a shipped binary (`deploy/profile.sh`) is one of this benchmark."
                .to_owned(),
            "The rounds of a row follow one another, the row and its ceiling in turn: medians are of a server that has been at it for \
             a while. A row is prepared just before its rounds: then all files are synced and the database is read once, so that it begins with what the system then keeps of it."
                .to_owned(),
        ];
        Ok(Self {
            args,
            folder,
            absolutes,
            data,
            server,
            client,
            graph,
            scratch,
            shape,
            notes,
        })
    }

    /// Measures the selected rows.
    pub(crate) fn measure(mut self) -> Result<(Vec<ReportLine>, Vec<String>)> {
        // Creates come last, so that all reads see a graph of the same size.
        let (writes, reads): (Vec<&'static BenchRow>, Vec<_>) = ROWS
            .iter()
            .filter(|row| self.wanted(row.name))
            .partition(|row| WRITES.iter().any(|w| row.name.starts_with(w)));
        let mut measured = Vec::new();
        for group in [reads, writes] {
            for row in group {
                // Created just before it is used, and dropped afterwards, so that the objects of one row do not affect another.
                let job = self.job(row)?;
                self.fetch()?;
                let mut rounds = Vec::new();
                for round in 1..=self.args.rounds {
                    println!("{}: round {round}", row.name);
                    rounds.push(self.step(&job, round)?);
                }
                measured.push(BenchResult { row, rounds });
            }
        }
        let mut lines: Vec<ReportLine> = measured.iter().map(ReportLine::of).collect();
        if self.wanted("point-read") {
            let figure = self.scratch.point_reads(self.time())?;
            lines.push(ReportLine::ceiling(
                "bare SQLite point read, one thread",
                &figure,
            ));
        }
        lines.append(&mut self.absolutes);
        let notes = std::mem::take(&mut self.notes);
        self.stop()?;
        Ok((lines, notes))
    }

    /// Stops the server gracefully.
    pub(crate) fn stop(self) -> Result<()> {
        self.server.stop()
    }

    /// Makes the server write all pending data, and reads the database file, so that the server is measured instead of a
    /// disk that it may have to wait for.
    pub(crate) fn fetch(&self) -> Result<()> {
        Command::new("sync").status()?;
        let mut file = fs::File::open(self.data.join("workgraph.db"))?;
        std::io::copy(&mut file, &mut std::io::sink())?;
        Ok(())
    }

    /// Returns true if a row with this name was selected.
    pub(crate) fn wanted(&self, name: &str) -> bool {
        wanted(self.args, name)
    }

    pub(crate) fn time(&self) -> Duration {
        Duration::from_secs_f64(self.args.seconds)
    }
}

fn wanted(args: &RunArgs, name: &str) -> bool {
    args.only.as_deref().is_none_or(|only| name.contains(only))
}

/// Measures start-up and idle memory: the server alone, on the initial graph and on a fresh demo.
fn absolutes(
    args: &RunArgs,
    folder: &Path,
    data: &Path,
    begin: impl Fn(&Path, bool) -> Result<ServerProcess>,
) -> Result<Vec<ReportLine>> {
    let mut lines = Vec::new();
    if wanted(args, "start-up") {
        let mut starts = (Vec::new(), Vec::new());
        for _ in 0..STARTS {
            let bare = ServerProcess::bare(folder, "start", 0)?;
            starts.1.push(bare.ready_after * 1000.0);
            drop(bare);
            let server = begin(data, false)?;
            starts.0.push(server.ready_after * 1000.0);
            server.stop()?;
        }
        lines.push(ReportLine::absolute(
            "start to ready, on the graph",
            median(&starts.0).context("no starts")?,
            median(&starts.1),
            "ms",
            Bound::AtMost(7.0, 5.0),
        ));
    }
    if wanted(args, "idle-memory") {
        let small = folder.join("small");
        begin(&small, true)?.stop()?;
        let bare = idle(ServerProcess::bare(folder, "idle", 0)?)?;
        for (what, data) in [
            ("idle memory, on the graph", data),
            ("idle memory, small demo", &small),
        ] {
            let ours = idle(begin(data, false)?)?;
            let bound = Bound::AtMost(11.5, 9.5);
            lines.push(ReportLine::absolute(what, ours, Some(bare), "MiB", bound));
        }
    }
    if wanted(args, "idle-wake-ups") {
        let bare = wake_ups(&ServerProcess::bare(folder, "wake-ups", 0)?)?;
        let server = begin(data, false)?;
        let ours = wake_ups(&server)?;
        server.stop()?;
        lines.push(ReportLine::absolute(
            "wake-ups while idle",
            ours,
            Some(bare),
            "/s",
            Bound::AtMost(5.0, 2.0),
        ));
    }
    Ok(lines)
}

/// Builds the graph in a new data folder. Returns a summary of the load as text.
fn seed(args: &RunArgs, binary: &Path, data: &Path, env: &[(String, String)]) -> Result<String> {
    println!("building {} tasks through the API", args.tasks);
    let server = ServerProcess::workgraph(binary, data, env, true)?;
    let seeding = graph_builder::build(&graph_builder::client(&server, data)?, data, args.tasks)?;
    server.stop()?;
    Ok(format!(
        "The graph was built through the API at {:.0} durable creates a second over {} connections (p50 {:.0} us, p99 {:.0} us).",
        seeding.rate(),
        graph_builder::WRITERS,
        seeding.p50,
        seeding.p99
    ))
}

/// Copies the files of a folder.
fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            fs::copy(entry.path(), to.join(entry.file_name()))?;
        }
    }
    Ok(())
}

/// Returns the memory of an idle server in MiB.
fn idle(server: ServerProcess) -> Result<f64> {
    bench_clock::pause(Duration::from_secs(1));
    procfs::resident_mib(server.pid())
}

/// Returns how often per second the threads of an idle server wake up.
fn wake_ups(server: &ServerProcess) -> Result<f64> {
    bench_clock::pause(Duration::from_secs(2));
    let before = procfs::wake_ups(server.pid())?;
    bench_clock::pause(IDLE);
    let after = procfs::wake_ups(server.pid())?;
    Ok(after.saturating_sub(before) as f64 / IDLE.as_secs_f64())
}

/// Returns the average number of followers of a task on a nested page.
fn followers(page: &[u8]) -> Result<u64> {
    let page: Value = serde_json::from_slice(page)?;
    let tasks = graph_builder::list(&page, "data")?;
    let mut all = 0;
    for task in tasks {
        all += graph_builder::list(task, "followers")?.len();
    }
    let tasks = tasks.len().max(1);
    Ok(((all + tasks / 2) / tasks) as u64)
}
