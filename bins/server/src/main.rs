//! The `workgraph` command.
mod adapters;
mod admin;
mod app;
mod cli;
mod config;
mod data_commands;
#[cfg(test)]
mod flow_assignment_tests;
mod http;
mod log;
mod metrics;
mod runtime_limits;
mod server_resources;
mod workers;

use anyhow::{Context, Result};
use clap::Parser;
use cli::{AdminCommand, Cli, Command, ConfigCommand, ServeArgs, UserCommand, say};
use config::Config;
use mimalloc::MiMalloc;
use std::process::ExitCode;

/// Allocator of all Rust code; SQLite has its own.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    let cli = Cli::parse();
    match dispatch(cli) {
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

fn dispatch(cli: Cli) -> Result<ExitCode> {
    let flags = cli.flags;
    let command = cli.command.unwrap_or_else(|| {
        Command::Serve(ServeArgs {
            demo: true,
            ..ServeArgs::default()
        })
    });
    let is_demo = matches!(&command, Command::Serve(options) if options.demo);
    let load = move || {
        // Names and values that are not UTF-8 can't be settings.
        let environment = std::env::vars_os()
            .filter_map(|(k, v)| Some((k.into_string().ok()?, v.into_string().ok()?)));
        let defaults = match is_demo {
            true => Config::of_a_demo(),
            false => Config::default(),
        };
        config::load(defaults, &flags, environment)
    };
    let config = load()?;
    match command {
        Command::Serve(options) => {
            log::start(&config.log)?;
            runtime(true)?.block_on(app::serve(config, &options, load))?;
        }
        Command::Admin { json, what } => {
            // The store of a database works on threads of its own.
            let shared = !config.database.url.is_empty();
            let answer = runtime(shared)?.block_on(app::admin(&config, with_password(what)?))?;
            say(&if json {
                answer.to_string()
            } else {
                admin::command_text::text(&answer)
            });
        }
        Command::Backup { file } => {
            needs_folder(&config)?;
            adapters::backup::backup(config.folder(), &file)?;
            say(&file.display().to_string());
            if !config.bucket.endpoint.0.is_empty() {
                say("the files of attachments are in the bucket and were not copied");
            }
        }
        Command::Restore(arguments) => {
            let restored = data_commands::archive_restore::restore(&arguments, &config)?;
            say(&if arguments.json {
                restored.to_string()
            } else {
                data_commands::archive_restore::text(&restored)
            });
        }
        Command::Move(arguments) => {
            let runtime = runtime(true)?;
            let moved = data_commands::store_move::run(&arguments, &config, runtime.handle())?;
            say(&if arguments.json {
                moved.to_string()
            } else {
                data_commands::store_move::text(&moved)
            });
        }
        Command::Digest { json } => {
            let runtime = runtime(true)?;
            let database = runtime.block_on(adapters::postgres_node::connect(&config))?;
            let found = data_commands::data_digest::DataDigest::of(&config, database.as_ref())?;
            say(&if json {
                found.json().to_string()
            } else {
                found.text()
            });
        }
        Command::Check {
            audit: true,
            anchor,
            json,
        } => {
            let inspecting = workers::audit_signer::inspect(&config, anchor.as_deref());
            let found = runtime(true)?.block_on(inspecting)?;
            say(&if json {
                found.json().to_string()
            } else {
                found.text()
            });
            if !found.is_sound() {
                return Ok(ExitCode::FAILURE);
            }
        }
        Command::Check { json, .. } => {
            let checking = async {
                match adapters::postgres_node::connect(&config).await? {
                    Some(database) => Ok(database.check().await?),
                    None => adapters::stores::check(config.folder()),
                }
            };
            let problems = runtime(true)?.block_on(checking)?;
            if json {
                let sound = problems.is_empty();
                say(&serde_json::json!({"sound": sound, "problems": problems}).to_string());
                return Ok(if sound {
                    ExitCode::SUCCESS
                } else {
                    ExitCode::FAILURE
                });
            }
            for problem in &problems {
                say(problem);
            }
            if !problems.is_empty() {
                complain(&format!("{} problems", problems.len()));
                return Ok(ExitCode::FAILURE);
            }
            say("no problems");
        }
        Command::Migrate { plan } => {
            let migrating = adapters::postgres_node::migrate(&config, plan);
            let report = runtime(true)?.block_on(migrating)?;
            for name in &report.names {
                say(name);
            }
            match (report.names.is_empty(), plan) {
                (true, _) if report.waiting.is_empty() => {
                    say("the tables are in their newest form");
                }
                (true, _) => {}
                (false, true) => say("are to be applied"),
                (false, false) => say("were applied"),
            }
            for waiting in &report.waiting {
                complain(waiting);
            }
            if !report.waiting.is_empty() {
                return Ok(ExitCode::FAILURE);
            }
        }
        Command::Openapi => say(&http::openapi::text(&config.server.public_url.0)),
        Command::Config {
            what: ConfigCommand::Print,
        } => say(&config::print(&config)),
    }
    Ok(ExitCode::SUCCESS)
}

/// Refuses a backup of a database, which has better tools for that.
fn needs_folder(config: &config::Config) -> Result<()> {
    if config.database.url.is_empty() {
        return Ok(());
    }
    anyhow::bail!(
        "backup is for the file in a data folder, and the store is a PostgreSQL database: use pg_dump, or a base backup with an archive of the log"
    )
}

fn runtime(many: bool) -> Result<tokio::runtime::Runtime> {
    let mut builder = if many {
        tokio::runtime::Builder::new_multi_thread()
    } else {
        tokio::runtime::Builder::new_current_thread()
    };
    builder
        .enable_all()
        .build()
        .context("the runtime can't start")
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
