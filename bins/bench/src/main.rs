//! The benchmark of Workgraph: a load generator, the bare ceilings beside it, and the table of ratios.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

mod baseline;
mod clock;
mod cpu_pinning;
mod graph_builder;
mod group_commit;
mod http_client;
mod loadgen;
mod long_reads;
mod measure;
mod measurements;
mod oauth_fixture;
mod page_writer;
mod procfs;
mod project_copy;
mod recorded_create;
mod report;
mod rows;
mod run;
mod scaling;
mod search_baseline;
mod server_process;
mod session;
mod sqlite_baseline;
mod webhook_receiver;

/// Errors of this program. They are shown to the person at the terminal, so text is enough.
pub(crate) type Error = Box<dyn std::error::Error + Send + Sync>;
/// Result with the error type of this program.
pub(crate) type Result<T> = std::result::Result<T, Error>;

/// Benchmarks of Workgraph beside the ceilings of the same run.
#[derive(Parser)]
#[command(name = "workgraph-bench", version, about)]
struct BenchCli {
    #[command(subcommand)]
    command: BenchCommand,
}

#[derive(Subcommand)]
enum BenchCommand {
    /// Build the graph, measure every row beside its ceiling, print the table and write the report.
    Run(RunArgs),
    /// The bare hyper server that rows are compared with (started by `run` as a child process).
    Bare(BaselineArgs),
}

/// Arguments of `run`.
#[derive(Args, Clone)]
pub(crate) struct RunArgs {
    /// The `workgraph` binary; without it the one beside this program. If there is none, only the ceilings are
    /// measured.
    #[arg(long, value_name = "PATH")]
    pub(crate) server: Option<PathBuf>,
    /// Further environment of the server; may be given several times.
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) server_env: Vec<String>,
    /// Number of tasks in the graph.
    #[arg(long, default_value_t = 100_000)]
    pub(crate) tasks: u64,
    /// A data folder with the graph, which is built there if it is new; the run works on a copy. Without it the
    /// graph is built in the scratch folder.
    #[arg(long, value_name = "DIR")]
    pub(crate) graph: Option<PathBuf>,
    /// Number of rounds; the table shows medians.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=99))]
    pub(crate) rounds: u32,
    /// Duration of one measurement in seconds.
    #[arg(long, default_value_t = 1.0)]
    pub(crate) seconds: f64,
    /// Path of the Markdown report.
    #[arg(long, value_name = "FILE", default_value = "docs/BENCHMARKS.md")]
    pub(crate) out: PathBuf,
    /// Number of tasks in a second graph, on which some rows are measured in the same rounds: the table then shows the
    /// share of their ratios that they keep as the graph grows.
    #[arg(long, value_name = "TASKS")]
    pub(crate) beside: Option<u64>,
    /// Measure only the rows whose name contains this text, and write no report.
    #[arg(long, value_name = "ROW")]
    pub(crate) only: Option<String>,
    /// Folder in which the scratch folder is made. It must be on a disk, or durable writes cost nothing.
    #[arg(long, value_name = "DIR", default_value = "target/bench-data")]
    pub(crate) data: PathBuf,
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
}

fn main() -> Result<()> {
    match BenchCli::parse().command {
        BenchCommand::Run(args) => run::run(&args),
        BenchCommand::Bare(args) => baseline::serve(&args),
    }
}
