//! The `workgraph` command: flags, signals and exit codes around the library.
mod cli;
mod laws_command;
mod run;
mod serve;

use anyhow::{Context, Result};
use clap::Parser;
use cli::{Cli, Command, ConfigCommand, say, say_bytes};
use mimalloc::MiMalloc;
use std::process::ExitCode;
use tokio::runtime::{Builder, Runtime};
use workgraph_server::admin_commands::{AdminCommand, UserCommand};
use workgraph_server::commands::{self, CommandOutcome, NamedStores};
use workgraph_server::{Config, Flags};

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

/// Judges a subject by the laws, and prints the findings.
fn laws(arguments: &laws_command::LawsArgs) -> Result<ExitCode> {
    let outcome = laws_command::run(arguments)?;
    match outcome.exit_status {
        laws_command::NOT_JUDGED => complain(&outcome.text),
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
    // These need no settings. The file that the laws are given describes a subject, and holds none.
    match &command {
        Command::Laws(arguments) => return laws(arguments),
        Command::Version => {
            say(concat!("workgraph ", env!("CARGO_PKG_VERSION")));
            return Ok(ExitCode::SUCCESS);
        }
        Command::Completions { shell } => {
            say_bytes(&cli::manual::completions(*shell));
            return Ok(ExitCode::SUCCESS);
        }
        Command::Man => {
            say_bytes(&cli::manual::manual()?);
            return Ok(ExitCode::SUCCESS);
        }
        _ => {}
    }
    let config = load()?;
    let outcome = match command {
        Command::Laws(_) | Command::Version | Command::Completions { .. } | Command::Man => {
            CommandOutcome::default()
        }
        Command::Serve(options) => {
            workgraph_server::start_log(&config)?;
            runtime()?.block_on(serve::serve(config, options, load))?;
            CommandOutcome::default()
        }
        Command::Run(arguments) => {
            return runtime()?.block_on(run::run(config, arguments, places));
        }
        Command::Admin { json, what } => {
            let what = with_password(what)?;
            runtime()?.block_on(commands::admin(&config, what, json))?
        }
        Command::Backup { file, without_keys } => commands::backup(&config, &file, without_keys)?,
        Command::Restore(arguments) => commands::restore(&config, &arguments)?,
        Command::Move(arguments) => commands::move_store(&config, &arguments, runtime()?.handle())?,
        Command::Digest { json } => commands::digest(&config, named, json, runtime()?.handle())?,
        Command::Check {
            audit: true,
            anchor,
            json,
        } => runtime()?.block_on(commands::check_audit(&config, anchor.as_deref(), json))?,
        Command::Check { json, .. } => commands::check(&config, named, json, runtime()?.handle())?,
        Command::Migrate { plan } => runtime()?.block_on(commands::migrate(&config, plan))?,
        Command::Healthcheck { url } => commands::check_health(&config, url.as_deref())?,
        Command::Openapi => commands::openapi(&config),
        Command::Config {
            what: ConfigCommand::Print,
        } => commands::print_config(&config),
    };
    Ok(report(&outcome))
}

/// Returns the settings that file, environment and flags lead to.
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
