//! The command line.
pub(crate) mod manual;

use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;
use std::path::PathBuf;
use workgraph_laws::command::LawsArgs;
use workgraph_server::admin_commands::AdminCommand;
use workgraph_server::{ClockMode, Flags, MoveArgs, RestoreArgs, StartOptions};
use workgraph_stand_in::commands::{
    ClockCommand, CompareArgs, FaultCommand, GradeArgs, StandInArgs, WorldArgs, WorldCommand,
};

/// A self-hosted work-management API server. Without a command it serves a demo.
#[derive(Debug, Parser)]
#[command(name = "workgraph", version)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) flags: Flags,
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run the server.
    Serve(ServeArgs),
    /// Manage users, workspaces, teams, tokens, service accounts and apps, beside a running server or without one.
    Admin {
        /// Answer with JSON.
        #[arg(long, global = true)]
        json: bool,
        #[command(subcommand)]
        what: AdminCommand,
    },
    /// Copy the database to a new file, the files of attachments to FILE.attachments and the keys to FILE.keys, while the
    /// server runs; `workgraph restore --from FILE` puts them back.
    Backup {
        /// The file to write; it must not exist.
        file: PathBuf,
        /// Leave the keys out. Keep a copy of them elsewhere: a backup without keys is worth little.
        #[arg(long)]
        without_keys: bool,
    },
    /// Check the store: the file or database, and the graph in it; exits with 1 if something is wrong. A server may be
    /// running.
    Check {
        /// Check instead whether the audit log was tampered with.
        #[arg(long)]
        audit: bool,
        /// File with the anchored checkpoints [default: that of the settings].
        #[arg(long, value_name = "FILE", requires = "audit")]
        anchor: Option<PathBuf>,
        /// Answer with JSON.
        #[arg(long)]
        json: bool,
    },
    /// Make a data folder from a backup, or from the continuous archive as of a time.
    Restore(RestoreArgs),
    /// Move everything from a data folder into an empty PostgreSQL database, or back.
    Move(MoveArgs),
    /// Print a SHA-256 digest of each table and of all, and of the files: two copies of the data have equal
    /// digests, in any store. A server may be running.
    Digest {
        /// Answer with JSON.
        #[arg(long)]
        json: bool,
    },
    /// Migrate the tables of the PostgreSQL database to this version. A server does that at its start, too.
    Migrate {
        /// Only print what would be done.
        #[arg(long)]
        plan: bool,
    },
    /// Judge a rate limiter, a paginated list or a webhook receiver of yours by the laws that each must keep.
    Laws(LawsArgs),
    /// Run a program with its own stand-in, which ends with it: `workgraph run -- npm test`.
    Run(RunArgs),
    /// Make, copy and delete worlds of a running stand-in.
    World {
        #[command(flatten)]
        of: StandInArgs,
        #[command(subcommand)]
        what: WorldCommand,
    },
    /// Show and move the clock of a world of a stand-in.
    Clock {
        #[command(flatten)]
        of: WorldArgs,
        #[command(subcommand)]
        what: ClockCommand,
    },
    /// Add and end faults in a world of a stand-in.
    Fault {
        #[command(flatten)]
        of: WorldArgs,
        #[command(subcommand)]
        what: FaultCommand,
    },
    /// Grade the clients of a world of a stand-in by the rules of a good client; exits with 1 if one is broken.
    Grade(GradeArgs),
    /// Send the requests of a recording to a server, and compare its replies with the recorded ones: those of the public service with
    /// a stand-in, or of one version with the next. Exits with 1 if they differ, and with 2 if they can't be compared.
    Compare(CompareArgs),
    /// Print the OpenAPI document of the API, as the server sends it at /api/1.0/openapi.json.
    Openapi,
    /// Ask a server whether it is ready; exits with 1 if it is not, or does not answer.
    Healthcheck {
        /// Address of the server, such as http://127.0.0.1:8080 [default: that of the settings].
        #[arg(long, value_name = "URL")]
        url: Option<String>,
    },
    /// Print the version.
    Version,
    /// Print the completions of a shell: `workgraph completions bash > /etc/bash_completion.d/workgraph`.
    Completions {
        #[arg(value_enum)]
        shell: Shell,
    },
    /// Print the manual: `workgraph man | man -l -`.
    Man,
    /// Show the settings.
    Config {
        #[command(subcommand)]
        what: ConfigCommand,
    },
}

#[derive(Clone, Debug, Default, Args)]
pub(crate) struct ServeArgs {
    #[command(flatten)]
    pub(crate) start: StartOptions,
    /// Write the port into this file once requests are served.
    #[arg(long, value_name = "FILE")]
    pub(crate) port_file: Option<PathBuf>,
}

/// Options of a stand-in for one program.
#[derive(Clone, Debug, Args)]
pub(crate) struct RunArgs {
    /// Seed of its random bytes [default: a random one].
    #[arg(long, value_name = "NUMBER")]
    pub(crate) seed: Option<u64>,
    /// Time at which its clock begins, such as 2026-03-01T09:30:00Z [default: now].
    #[arg(long, value_name = "TIME")]
    pub(crate) now: Option<String>,
    /// Mode of its clock: frozen until a test moves it, or running.
    #[arg(long, value_name = "MODE", default_value = "frozen")]
    pub(crate) clock: ClockMode,
    /// Refuse requests with unknown fields, parameters or names in `opt_fields`.
    #[arg(long)]
    pub(crate) strict: bool,
    /// Host whose https requests by the program the stand-in answers, such as app.asana.com; may be repeated.
    #[arg(long, value_name = "HOST")]
    pub(crate) intercept: Vec<String>,
    /// Program with its arguments. It finds WORKGRAPH_STAND_IN_URL, WORKGRAPH_BASE_URL and WORKGRAPH_TOKEN in its environment.
    #[arg(required = true, trailing_var_arg = true, value_name = "COMMAND")]
    pub(crate) program: Vec<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Print all effective settings, without secrets.
    Print,
}

/// Returns the default command.
pub(crate) fn demo() -> Command {
    let start = StartOptions {
        demo: true,
        ..StartOptions::default()
    };
    Command::Serve(ServeArgs {
        start,
        port_file: None,
    })
}

#[cfg(test)]
mod tests;
