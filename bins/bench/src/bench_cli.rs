//! Commands and options of the benchmark program.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

/// Benchmarks of Workgraph next to the ceilings of the same run.
#[derive(Parser)]
#[command(name = "workgraph-bench", version, about)]
pub(crate) struct BenchCli {
    #[command(subcommand)]
    pub(crate) command: BenchCommand,
}

#[derive(Subcommand)]
pub(crate) enum BenchCommand {
    /// Build the graph, measure every row next to its ceiling, print the table and write the report.
    Run(RunArgs),
    /// Measure two builds of the server next to each other, row by row in short turns.
    Compare(CompareArgs),
    /// Count the instructions of fixed requests under callgrind, a part of valgrind, and compare them with the expected counts.
    Count(CountArgs),
    /// Measure uploads of files: their rate next to a bare hyper server that writes them to disk, and the memory they take.
    Uploads(UploadArgs),
    /// Send the requests of a file to a server for some time, and print the rate and the latencies as JSON.
    Load(LoadArgs),
    /// The bare hyper server that rows are compared with (started by `run` as a child process).
    Bare(BaselineArgs),
}

/// Folders of a graph.
#[derive(Args, Clone)]
pub(crate) struct GraphFolders {
    /// A data folder with the graph, which is built there if it is new; servers work on copies. Without it the graph is
    /// built in the scratch folder.
    #[arg(long, value_name = "DIR")]
    pub(crate) graph: Option<PathBuf>,
    /// Folder for the scratch folder. It must be on a disk, or durable writes cost nothing.
    #[arg(long, value_name = "DIR", default_value = "target/bench-data")]
    pub(crate) data: PathBuf,
}

/// Arguments of `run`.
#[derive(Args, Clone)]
pub(crate) struct RunArgs {
    /// The `workgraph` binary; by default, the one next to this program. If there is none, only the ceilings are measured.
    #[arg(long, value_name = "PATH")]
    pub(crate) server: Option<PathBuf>,
    /// Further environment of the server; may be given several times.
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) server_env: Vec<String>,
    /// Number of tasks in the graph.
    #[arg(long, default_value_t = 100_000)]
    pub(crate) tasks: u64,
    /// Number of rounds; the table shows medians.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=99))]
    pub(crate) rounds: u32,
    /// Duration of one measurement in seconds.
    #[arg(long, default_value_t = 1.0)]
    pub(crate) seconds: f64,
    /// Path of the Markdown report.
    #[arg(
        long,
        value_name = "FILE",
        default_value = "docs/generated/BENCHMARKS.md"
    )]
    pub(crate) out: PathBuf,
    /// The list of counts of instructions, which the report begins with.
    #[arg(long, value_name = "FILE", default_value = "fixtures/instructions.tsv")]
    pub(crate) counts: PathBuf,
    /// Number of tasks in a second graph, on which some rows are measured in the same rounds: the table then shows the
    /// share of their ratios that they keep as the graph grows.
    #[arg(long, value_name = "TASKS")]
    pub(crate) beside: Option<u64>,
    /// Measure only the rows whose name contains this text, and write no report.
    #[arg(long, value_name = "ROW")]
    pub(crate) only: Option<String>,
    #[command(flatten)]
    pub(crate) folders: GraphFolders,
}

impl RunArgs {
    /// Returns the arguments of a run that only builds a graph and starts a server on a copy of it.
    pub(crate) fn unmeasured(tasks: u64, folders: GraphFolders) -> Self {
        Self {
            server: None,
            server_env: Vec::new(),
            tasks,
            rounds: 1,
            seconds: 0.0,
            out: PathBuf::new(),
            counts: PathBuf::new(),
            beside: None,
            // Start-up and memory are rows, too.
            only: Some("none".to_owned()),
            folders,
        }
    }
}

/// Arguments of `compare`.
#[derive(Args)]
pub(crate) struct CompareArgs {
    /// The older `workgraph` binary.
    #[arg(long, value_name = "PATH")]
    pub(crate) before: PathBuf,
    /// The newer one; by default, the one next to this program.
    #[arg(long, value_name = "PATH")]
    pub(crate) server: Option<PathBuf>,
    /// Number of tasks in the graph.
    #[arg(long, default_value_t = 100_000)]
    pub(crate) tasks: u64,
    /// Number of starts of both servers, each on new copies of the graph.
    #[arg(long, default_value_t = 6, value_parser = clap::value_parser!(u32).range(1..=99))]
    pub(crate) starts: u32,
    /// Number of pairs of turns after each start.
    #[arg(long, default_value_t = 6, value_parser = clap::value_parser!(u32).range(1..=999))]
    pub(crate) rounds: u32,
    /// Duration of a turn in seconds.
    #[arg(long, default_value_t = 0.25)]
    pub(crate) seconds: f64,
    /// Compare only the rows whose name contains this text.
    #[arg(long, value_name = "ROW")]
    pub(crate) only: Option<String>,
    #[command(flatten)]
    pub(crate) folders: GraphFolders,
}

/// Arguments of `count`.
#[derive(Args)]
pub(crate) struct CountArgs {
    /// The `workgraph` binary; by default, the one next to this program.
    #[arg(long, value_name = "PATH")]
    pub(crate) server: Option<PathBuf>,
    /// An older binary: its instructions are counted too, and compared with, instead of the expected ones.
    #[arg(long, value_name = "PATH")]
    pub(crate) before: Option<PathBuf>,
    /// Name of the build in the list of expected counts; without it the name of the folder with the binary.
    #[arg(long, value_name = "NAME")]
    pub(crate) build: Option<String>,
    /// Number of tasks in the graph.
    #[arg(long, default_value_t = 1_000)]
    pub(crate) tasks: u64,
    /// Count also the rows that need a graph of many tasks.
    #[arg(long)]
    pub(crate) all: bool,
    /// Count some rows with a quarter of the requests, for a build that is not optimised.
    #[arg(long)]
    pub(crate) quick: bool,
    /// Count only the rows whose name contains this text.
    #[arg(long, value_name = "ROW")]
    pub(crate) only: Option<String>,
    /// The list of expected counts.
    #[arg(long, value_name = "FILE", default_value = "fixtures/instructions.tsv")]
    pub(crate) expected: PathBuf,
    /// Number of functions that are shown for a row that differs.
    #[arg(long, value_name = "N", default_value_t = 12)]
    pub(crate) functions: usize,
    /// Difference in thousandths at which a row counts as different from that of `--before`.
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub(crate) tolerance: u64,
    /// Write the counts of this run into the list.
    #[arg(long)]
    pub(crate) bless: bool,
    #[command(flatten)]
    pub(crate) folders: GraphFolders,
}

/// Arguments of `uploads`.
#[derive(Args)]
pub(crate) struct UploadArgs {
    /// The `workgraph` binary; by default, the one next to this program.
    #[arg(long, value_name = "PATH")]
    pub(crate) server: Option<PathBuf>,
    /// Number of uploads, in all rounds together.
    #[arg(long, default_value_t = 1_000)]
    pub(crate) uploads: usize,
    /// Bytes of each file.
    #[arg(long, default_value_t = 10_000_000)]
    pub(crate) size: usize,
    /// Number of connections.
    #[arg(long, default_value_t = 16)]
    pub(crate) connections: usize,
    /// Number of rounds, in which the two servers take turns.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=99))]
    pub(crate) rounds: u32,
    /// Folder for the scratch folder. It must be on a disk.
    #[arg(long, value_name = "DIR", default_value = "target/bench-data")]
    pub(crate) data: PathBuf,
}

/// Arguments of `load`.
#[derive(Args)]
pub(crate) struct LoadArgs {
    /// Address of the server.
    #[arg(long)]
    pub(crate) addr: SocketAddr,
    /// Bearer token of the requests.
    #[arg(long)]
    pub(crate) token: String,
    /// File with a request on each line, `METHOD PATH` or `METHOD PATH BODY`, all equally likely to be sent next.
    #[arg(long, value_name = "FILE")]
    pub(crate) requests: PathBuf,
    /// Number of connections.
    #[arg(long, default_value_t = 16)]
    pub(crate) connections: usize,
    /// Duration in seconds.
    #[arg(long, default_value_t = 5.0)]
    pub(crate) seconds: f64,
    /// Send each request once, in the order of the file, instead of for some time.
    #[arg(long)]
    pub(crate) once: bool,
}

/// Arguments of `bare`.
#[derive(Args)]
pub(crate) struct BaselineArgs {
    /// File that gets the address once the server listens.
    #[arg(long, value_name = "FILE")]
    pub(crate) port_file: PathBuf,
    /// Size of every response body in bytes.
    #[arg(long, value_name = "N")]
    pub(crate) body_size: usize,
    /// Folder where the body of each POST is written to a file and made durable, as an upload is.
    #[arg(long, value_name = "DIR")]
    pub(crate) uploads: Option<PathBuf>,
}
