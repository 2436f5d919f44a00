//! The benchmark of Workgraph: a load generator, the bare ceilings, and the table of ratios.

mod baseline;
mod baseline_schema;
mod bench_cli;
mod bench_clock;
mod bench_rows;
mod bench_run;
mod build_comparison;
mod callgrind;
mod count_report;
mod count_rows;
mod cpu_pinning;
mod expected_counts;
mod graph_builder;
mod group_commit;
mod http_client;
mod instruction_count;
mod loadgen;
mod long_reads;
mod measure;
mod measurements;
mod oauth_fixture;
mod page_writer;
mod procfs;
mod project_copy;
mod record_paths;
mod recorded_create;
mod report;
mod request_file;
mod run;
mod scaling;
mod search_baseline;
mod server_process;
mod sqlite_baseline;
mod uploads;
mod webhook_receiver;

use anyhow::Result;
use bench_cli::BenchCli;
use bench_cli::BenchCommand;
use clap::Parser;
use mimalloc::MiMalloc;

/// The server's allocator, so that it does not influence the comparison with the ceilings.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> Result<()> {
    match BenchCli::parse().command {
        BenchCommand::Run(args) => run::run(&args),
        BenchCommand::Compare(args) => build_comparison::run(&args),
        BenchCommand::Count(args) => instruction_count::run(&args),
        BenchCommand::Uploads(args) => uploads::run(&args),
        BenchCommand::Load(args) => request_file::run(&args),
        BenchCommand::Bare(args) => baseline::serve(&args),
    }
}
