//! The `workgraph` command: flags, signals and exit codes around the library.
mod cli;
mod run;
mod serve;
mod standard_output;

use anyhow::{Context, Result};
use clap::Parser;
use cli::{Cli, Command, ConfigCommand};
use mimalloc::MiMalloc;
use standard_output::{say, say_bytes};
use std::process::ExitCode;
use tokio::runtime::{Builder, Runtime};
use workgraph_laws::command;
use workgraph_server::admin_commands::{AdminCommand, UserCommand};
use workgraph_server::commands::{self, CommandOutcome, NamedStores};
use workgraph_server::{Config, Flags};
use workgraph_stand_in::commands::{self as stand_in, CommandOutput};

/// Allocator of all Rust code; SQLite has its own.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    match dispatch(Cli::parse()) {
        Ok(code) => code,
        Err(error) => {
            complain(&format!("{error:#}"));
            ExitCode::FAILURE
        }
    }
}

/// Writes an error to standard error, if that can be written.
fn complain(error: &str) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "workgraph: {error}");
}

/// Prints the outcome of a command, and returns its exit code.
fn report(outcome: &CommandOutcome) -> ExitCode {
    for line in &outcome.output {
        say(line);
    }
    for line in &outcome.notices {
        complain(line);
    }
    if outcome.has_problems {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    }
}

/// Prints the output of a command on a stand-in, and returns its exit code.
fn show(output: CommandOutput) -> ExitCode {
    output.text.iter().for_each(|text| say(text));
    ExitCode::from(output.exit_status)
}

/// Judges a subject by the laws, and prints the findings.
fn laws(arguments: &command::LawsArgs) -> Result<ExitCode> {
    let outcome = command::run(arguments)?;
    match outcome.exit_status {
        command::NOT_JUDGED => complain(&outcome.text),
        _ => say(outcome.text.trim_end()),
    }
    Ok(ExitCode::from(outcome.exit_status))
}

fn dispatch(cli: Cli) -> Result<ExitCode> {
    let command = cli.command.unwrap_or_else(cli::demo);
    let named = NamedStores {
        folder: cli.flags.data.is_some(),
        database: cli.flags.store.is_some(),
    };
    let defaults = match &command {
        Command::Run(_) => Config::of_a_stand_in(),
        Command::Serve(options) if options.start.stand_in => Config::of_a_stand_in(),
        Command::Serve(options) if options.start.demo => Config::of_a_demo(),
        _ => Config::default(),
    };
    let places = run::Places {
        data: cli.flags.data.clone(),
        listen: cli.flags.listen.clone(),
    };
    let load = move || load_config(defaults.clone(), &cli.flags);
    let outcome = match command {
        // The file that the laws are given describes a subject, and holds no settings.
        Command::Laws(arguments) => return laws(&arguments),
        Command::Version => {
            say(concat!("workgraph ", env!("CARGO_PKG_VERSION")));
            CommandOutcome::default()
        }
        Command::Completions { shell } => {
            say_bytes(&cli::manual::completions(shell));
            CommandOutcome::default()
        }
        Command::Man => {
            say_bytes(&cli::manual::manual()?);
            CommandOutcome::default()
        }
        Command::World { of, what } => {
            return Ok(show(runtime()?.block_on(stand_in::world(&of, what))?));
        }
        Command::Clock { of, what } => {
            return Ok(show(runtime()?.block_on(stand_in::clock(&of, what))?));
        }
        Command::Fault { of, what } => {
            return Ok(show(runtime()?.block_on(stand_in::fault(&of, what))?));
        }
        Command::Grade(arguments) => {
            return Ok(show(runtime()?.block_on(stand_in::grade(&arguments))?));
        }
        Command::Compare(arguments) => {
            let compared = stand_in::compare(arguments).map(show);
            return Ok(compared.unwrap_or_else(|error| {
                complain(&format!("{error:#}"));
                ExitCode::from(stand_in::NOT_COMPARED)
            }));
        }
        Command::Serve(options) => {
            let config = load()?;
            workgraph_server::start_log(&config)?;
            runtime()?.block_on(serve::serve(config, options, load))?;
            CommandOutcome::default()
        }
        Command::Run(arguments) => {
            return runtime()?.block_on(run::run(load()?, arguments, places));
        }
        Command::Admin { json, what } => {
            let what = with_password(what)?;
            runtime()?.block_on(commands::admin(&load()?, what, json))?
        }
        Command::Backup { file, without_keys } => commands::backup(&load()?, &file, without_keys)?,
        Command::Restore(arguments) => commands::restore(&load()?, &arguments)?,
        Command::Move(arguments) => {
            commands::move_store(&load()?, &arguments, runtime()?.handle())?
        }
        Command::Digest { json } => commands::digest(&load()?, named, json, runtime()?.handle())?,
        Command::Check {
            audit: true,
            anchor,
            json,
        } => runtime()?.block_on(commands::check_audit(&load()?, anchor.as_deref(), json))?,
        Command::Check { json, .. } => commands::check(&load()?, named, json, runtime()?.handle())?,
        Command::Migrate { plan } => runtime()?.block_on(commands::migrate(&load()?, plan))?,
        Command::Healthcheck { url } => commands::check_health(&load()?, url.as_deref())?,
        Command::Openapi => commands::openapi(&load()?),
        Command::Config {
            what: ConfigCommand::Print,
        } => commands::print_config(&load()?),
    };
    Ok(report(&outcome))
}

/// Returns the settings from file, environment and flags.
fn load_config(defaults: Config, flags: &Flags) -> Result<Config> {
    // Names and values that are not UTF-8 can't be settings.
    let environment = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    workgraph_server::load_config(defaults, flags, environment)
}

fn runtime() -> Result<Runtime> {
    let runtime = Builder::new_multi_thread().enable_all().build();
    runtime.context("the runtime can't start")
}

/// Reads the password of a command that takes one from standard input.
fn with_password(mut what: AdminCommand) -> Result<AdminCommand> {
    if let AdminCommand::User(
        UserCommand::Create {
            password_stdin: true,
            password,
            ..
        }
        | UserCommand::Password {
            password_stdin: true,
            password,
            ..
        },
    ) = &mut what
    {
        let mut line = String::new();
        std::io::stdin()
            .read_line(&mut line)
            .context("the password can't be read from standard input")?;
        *password = Some(line.trim_end_matches(['\r', '\n']).to_owned());
    }
    Ok(what)
}
