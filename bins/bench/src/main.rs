//! The benchmark of Workgraph: a load generator, the bare ceilings beside it, and the table of ratios.

mod baseline;
mod baseline_schema;
mod cli;
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

use anyhow::Result;
use clap::Parser;
use cli::{BenchCli, BenchCommand};

fn main() -> Result<()> {
    match BenchCli::parse().command {
        BenchCommand::Run(args) => run::run(&args),
        BenchCommand::Bare(args) => baseline::serve(&args),
    }
}
