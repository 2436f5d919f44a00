//! The `workgraph` command.
mod adapters;
mod admin;
mod app;
mod cli;
mod config;
mod data_commands;
#[cfg(test)]
mod flow_assignment_tests;
mod health_check;
mod http;
mod laws_command;
mod log;
mod metrics;
mod runtime_limits;
mod server_resources;
mod service_manager;
mod workers;

use anyhow::{Context, Result};
use clap::Parser;
use cli::{AdminCommand, Cli, Command, ConfigCommand, ServeArgs, UserCommand, say, say_bytes};
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

/// Judges a subject by the laws, and prints what was found.
fn laws(arguments: &laws_command::LawsArgs) -> Result<ExitCode> {
    let outcome = laws_command::run(arguments)?;
    match outcome.exit_status {
        laws_command::NOT_JUDGED => complain(&outcome.text),
        _ => say(outcome.text.trim_end()),
    }
    Ok(ExitCode::from(outcome.exit_status))
}

fn dispatch(cli: Cli) -> Result<ExitCode> {
    let flags = cli.flags;
    let command = cli.command.unwrap_or_else(|| {
        Command::Serve(ServeArgs {
            demo: true,
            ..ServeArgs::default()
        })
    });
    let named = NamedStores {
        folder: flags.data.is_some(),
        database: flags.store.is_some(),
    };
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
    // The file that it is given describes a subject, and is none of settings.
    match &command {
        Command::Laws(arguments) => return laws(arguments),
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
        // They need no settings, and were carried out above.
        Command::Laws(_) | Command::Completions { .. } | Command::Man => {}
        Command::Backup { file, without_keys } => {
            needs_folder(&config)?;
            adapters::backup::backup(config.folder(), &file, !without_keys)?;
            say(&file.display().to_string());
            let keys = adapters::backup::keys_of(&file);
            if keys.is_dir() {
                complain(&format!(
                    "keep {} apart from the rest: it opens the secrets in the database",
                    keys.display()
                ));
            } else {
                complain(
                    "the keys were not copied; keep a copy of keys.json, audit-key.json and signing-keys.json elsewhere",
                );
            }
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
            refuse_ambiguity(&config, named)?;
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
            refuse_ambiguity(&config, named)?;
            let runtime = runtime(true)?;
            let database = runtime.block_on(adapters::postgres_node::connect(&config))?;
            let mut problems = match &database {
                Some(database) => runtime.block_on(database.check())?,
                None => adapters::stores::check(config.folder())?,
            };
            if config.bucket.endpoint.0.is_empty() {
                // Rows of a damaged store can't be relied on.
                if problems.is_empty() {
                    let files = data_commands::hosted_files::problems;
                    problems = files(&config, database.as_ref())?;
                }
            } else {
                complain("the files of attachments are in a bucket, and were not looked for");
            }
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
                let plural = if problems.len() == 1 { "" } else { "s" };
                complain(&format!("{} problem{plural}", problems.len()));
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
        Command::Healthcheck { url } => say(&health_check::run(&config, url.as_deref())?),
        Command::Version => say(concat!("workgraph ", env!("CARGO_PKG_VERSION"))),
        Command::Openapi => say(&http::openapi::text(&config.server.public_url.0)),
        Command::Config {
            what: ConfigCommand::Print,
        } => say(&config::print(&config)),
    }
    Ok(ExitCode::SUCCESS)
}

/// Stores that the command line itself names.
#[derive(Clone, Copy)]
struct NamedStores {
    folder: bool,
    database: bool,
}

/// Refuses a command line that names a folder with a database while other settings name a PostgreSQL database.
fn refuse_ambiguity(config: &Config, named: NamedStores) -> Result<()> {
    let has_database = || {
        let file = std::fs::metadata(config.folder().join("workgraph.db"));
        file.is_ok_and(|file| file.len() > 0)
    };
    let is_elsewhere = !config.database.url.is_empty() && !named.database;
    if named.folder && is_elsewhere && has_database() {
        anyhow::bail!(
            "--data names the folder {}, which has a database, and WORKGRAPH_STORE_URL or store.url names another store: which one is meant? Add `--store \"\"` for the folder, or leave --data out for the other",
            config.server.data
        );
    }
    Ok(())
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
