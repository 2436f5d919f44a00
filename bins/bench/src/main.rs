//! The benchmark of Workgraph: a load generator, the bare ceilings beside it, and the table of ratios.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

mod bare;
mod bench;
mod beside;
mod child;
mod clock;
mod commits;
mod copies;
mod copying;
mod finding;
mod graph;
mod hooks;
mod http;
mod jobs;
mod loadgen;
mod measure;
mod oauth;
mod page;
mod pinning;
mod procfs;
mod report;
mod rows;
mod run;
mod sqlite;
mod stalls;

/// What goes wrong here is told to the person at the terminal, so text is enough.
pub(crate) type Error = Box<dyn std::error::Error + Send + Sync>;
/// The result of everything in this program.
pub(crate) type Result<T> = std::result::Result<T, Error>;

/// Benchmarks of Workgraph beside the ceilings of the same run.
#[derive(Parser)]
#[command(name = "workgraph-bench", version, about)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Build the graph, measure every row beside its ceiling, print the table and write the report.
    Run(RunArgs),
    /// The bare hyper server that rows are compared with (started by `run` as a child process).
    Bare(BareArgs),
}

/// The arguments of `run`.
#[derive(Args, Clone)]
pub(crate) struct RunArgs {
    /// The `workgraph` binary; without it the one beside this program. If there is none, only the ceilings are measured.
    #[arg(long, value_name = "PATH")]
    pub(crate) server: Option<PathBuf>,
    /// Further environment of the server; may be given several times.
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) server_env: Vec<String>,
    /// How many tasks the graph has.
    #[arg(long, default_value_t = 100_000)]
    pub(crate) tasks: u64,
    /// A data folder with the graph, which is built there if it is new; the run works on a copy. Without it the
    /// graph is built in the scratch folder.
    #[arg(long, value_name = "DIR")]
    pub(crate) graph: Option<PathBuf>,
    /// How many rounds; the table shows medians.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=99))]
    pub(crate) rounds: u32,
    /// How long one measurement lasts.
    #[arg(long, default_value_t = 1.0)]
    pub(crate) seconds: f64,
    /// Where the Markdown report goes.
    #[arg(long, value_name = "FILE", default_value = "docs/BENCHMARKS.md")]
    pub(crate) out: PathBuf,
    /// How many tasks a second graph has, on which some rows are measured in the same rounds: the table then says what they
    /// keep of their ratios as the graph grows.
    #[arg(long, value_name = "TASKS")]
    pub(crate) beside: Option<u64>,
    /// Measure only the rows whose name contains this text, and write no report.
    #[arg(long, value_name = "ROW")]
    pub(crate) only: Option<String>,
    /// Where the scratch folder is made. It must be on a disk, or durable writes cost nothing.
    #[arg(long, value_name = "DIR", default_value = "target/bench-data")]
    pub(crate) data: PathBuf,
}

/// The arguments of `bare`.
#[derive(Args)]
pub(crate) struct BareArgs {
    /// The file that gets the address once the server listens.
    #[arg(long, value_name = "FILE")]
    pub(crate) port_file: PathBuf,
    /// The size of every answer's body in bytes.
    #[arg(long, value_name = "N")]
    pub(crate) body_size: usize,
}

fn main() -> Result<()> {
    match Cli::parse().command {
        Command::Run(args) => run::run(&args),
        Command::Bare(args) => bare::serve(&args),
    }
}
