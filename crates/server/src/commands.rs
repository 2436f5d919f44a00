//! Commands on a store that need no running server. Each returns its output instead of printing it.
use crate::adapters::system_clock::WallClock;
use crate::adapters::{backup as backups, postgres_node, stores};
use crate::admin::admin_commands::AdminCommand;
use crate::admin::{command_text, commands as admin_commands, socket};
use crate::config::{self, Config};
use crate::data_commands::archive_restore::{self, RestoreArgs};
use crate::data_commands::data_digest::DataDigest;
use crate::data_commands::hosted_files;
use crate::data_commands::store_move::{self, MoveArgs};
use crate::health_check;
use crate::http::openapi;
use crate::runtime_limits::RuntimeLimits;
use crate::server_resources::{Opening, ServerResources};
use crate::workers::audit_signer;
use crate::workers::webhook_worker::{self, WrapClient};
use crate::world_sources::WorldSources;
use anyhow::{Result, bail};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;
use tokio::runtime::Handle;

/// Output of a command, and whether it found a problem.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommandOutcome {
    /// Lines for standard output.
    pub output: Vec<String>,
    /// Lines for standard error.
    pub notices: Vec<String>,
    /// True if the command found a problem, so that the exit status is not 0.
    pub has_problems: bool,
}

impl CommandOutcome {
    fn of(output: String) -> Self {
        Self {
            output: vec![output],
            ..Self::default()
        }
    }

    fn answer(answer: &Value, is_json: bool, text: impl FnOnce(&Value) -> String) -> Self {
        Self::of(match is_json {
            true => answer.to_string(),
            false => text(answer),
        })
    }
}

/// Runs a `workgraph admin` command: in the running server if there is one, else here.
///
/// # Errors
/// Says what is wrong with the command, or that the store can't be opened.
pub async fn admin(config: &Config, what: AdminCommand, is_json: bool) -> Result<CommandOutcome> {
    let answer = match socket::send(config.folder(), &what) {
        Some(outcome) => outcome?,
        None => admin_without_server(config, what).await?,
    };
    Ok(CommandOutcome::answer(&answer, is_json, command_text::text))
}

async fn admin_without_server(config: &Config, what: AdminCommand) -> Result<Value> {
    if !config.folder().is_dir() {
        bail!(
            "{}: there is no such data folder; start the server once, or name another with --data",
            config.server.data
        );
    }
    let sources = WorldSources::of_the_machine(&Arc::new(WallClock::start()));
    let resources = ServerResources::open(config, Opening::default(), sources).await?;
    let limits = Arc::new(RuntimeLimits::open(config, resources.values.clone()).await?);
    let api = resources.api(config, config.limits);
    let client: WrapClient<'_> = &|client| client;
    webhook_worker::set_up(
        &api,
        &resources.storage,
        &config.webhooks,
        (Vec::new(), client),
    )
    .await?;
    api.set_export_files(Arc::new(resources.export_folder(config)));
    let service = resources.service(config, api, &limits);
    let answer = admin_commands::run(&service, what).await;
    resources.leave().await?;
    answer
}

/// Copies the database to a new file, with the attachment files and the keys next to it.
///
/// # Errors
/// Fails if the store is not a file, or the copy can't be made.
pub fn backup(config: &Config, file: &Path, without_keys: bool) -> Result<CommandOutcome> {
    if !config.database.url.is_empty() {
        bail!(
            "backup is for the file in a data folder, and the store is a PostgreSQL database: use pg_dump, or a base backup with an archive of the log"
        );
    }
    backups::backup(config.folder(), file, !without_keys)?;
    let mut outcome = CommandOutcome::of(file.display().to_string());
    let keys = backups::keys_of(file);
    outcome.notices.push(if keys.is_dir() {
        format!(
            "keep {} apart from the rest: it opens the secrets in the database",
            keys.display()
        )
    } else {
        "the keys were not copied; keep a copy of keys.json, audit-key.json and signing-keys.json elsewhere".to_owned()
    });
    if !config.bucket.endpoint.0.is_empty() {
        let in_bucket = "the files of attachments are in the bucket and were not copied";
        outcome.output.push(in_bucket.to_owned());
    }
    Ok(outcome)
}

/// Creates a data folder from a backup, or from the continuous archive as of a given time.
///
/// # Errors
/// Says what is missing or damaged, or why the folder can't be created.
pub fn restore(config: &Config, arguments: &RestoreArgs) -> Result<CommandOutcome> {
    let restored = archive_restore::restore(arguments, config)?;
    let text = archive_restore::text;
    Ok(CommandOutcome::answer(&restored, arguments.json, text))
}

/// Moves all data from a data folder into an empty PostgreSQL database, or back. Call it outside of the runtime's own
/// threads.
///
/// # Errors
/// Says why nothing was moved, or what differs afterwards.
pub fn move_store(
    config: &Config,
    arguments: &MoveArgs,
    runtime: &Handle,
) -> Result<CommandOutcome> {
    let moved = store_move::run(arguments, config, runtime)?;
    Ok(CommandOutcome::answer(
        &moved,
        arguments.json,
        store_move::text,
    ))
}

/// Returns the digests of all tables and files.
///
/// # Errors
/// Fails if the store can't be read, or if `named` names two stores at once.
pub fn digest(
    config: &Config,
    named: NamedStores,
    is_json: bool,
    runtime: &Handle,
) -> Result<CommandOutcome> {
    refuse_ambiguity(config, named)?;
    let database = runtime.block_on(postgres_node::connect(config))?;
    let found = DataDigest::of(config, database.as_ref())?;
    Ok(CommandOutcome::of(match is_json {
        true => found.json().to_string(),
        false => found.text(),
    }))
}

/// Checks whether the audit log was tampered with, also by comparing it with the anchored checkpoints in a file.
///
/// # Errors
/// Fails if the log or the checkpoints can't be read.
pub async fn check_audit(
    config: &Config,
    anchor: Option<&Path>,
    is_json: bool,
) -> Result<CommandOutcome> {
    let found = audit_signer::inspect(config, anchor).await?;
    let outcome = CommandOutcome::of(match is_json {
        true => found.json().to_string(),
        false => found.text(),
    });
    Ok(CommandOutcome {
        has_problems: !found.is_sound(),
        ..outcome
    })
}

/// Checks the store: the file or database, the graph in it, and the files that it references.
///
/// # Errors
/// Fails if the store can't be read, or if `named` names two stores at once.
pub fn check(
    config: &Config,
    named: NamedStores,
    is_json: bool,
    runtime: &Handle,
) -> Result<CommandOutcome> {
    refuse_ambiguity(config, named)?;
    let database = runtime.block_on(postgres_node::connect(config))?;
    let mut problems = match &database {
        Some(database) => runtime.block_on(database.check())?,
        None => stores::check(config.folder())?,
    };
    let mut outcome = CommandOutcome::default();
    if !config.bucket.endpoint.0.is_empty() {
        let in_bucket = "the files of attachments are in a bucket, and were not looked for";
        outcome.notices.push(in_bucket.to_owned());
    } else if problems.is_empty() {
        // Rows of a damaged store can't be trusted.
        problems = hosted_files::problems(config, database.as_ref())?;
    }
    outcome.has_problems = !problems.is_empty();
    if is_json {
        let found = json!({"sound": problems.is_empty(), "problems": problems});
        outcome.output.push(found.to_string());
    } else if problems.is_empty() {
        outcome.output.push("no problems".to_owned());
    } else {
        let plural = if problems.len() == 1 { "" } else { "s" };
        let count = format!("{} problem{plural}", problems.len());
        outcome.notices.push(count);
        outcome.output = problems;
    }
    Ok(outcome)
}

/// Migrates the tables of the PostgreSQL database to the schema of this version, or only reports the pending steps.
///
/// # Errors
/// Fails if the database can't be reached, or a change fails.
pub async fn migrate(config: &Config, is_plan: bool) -> Result<CommandOutcome> {
    let report = postgres_node::migrate(config, is_plan).await?;
    let verdict = match (report.names.is_empty(), is_plan) {
        (true, _) if report.waiting.is_empty() => Some("the tables are in their newest form"),
        (true, _) => None,
        (false, true) => Some("are to be applied"),
        (false, false) => Some("were applied"),
    };
    let has_problems = !report.waiting.is_empty();
    let mut output: Vec<String> = report.names.iter().map(|name| (*name).to_owned()).collect();
    output.extend(verdict.map(str::to_owned));
    Ok(CommandOutcome {
        output,
        notices: report.waiting,
        has_problems,
    })
}

/// Checks whether a server is ready: the one in the settings, or the one at an address such as `http://127.0.0.1:8080`.
///
/// # Errors
/// Fails if the server does not answer, or is not ready.
pub fn check_health(config: &Config, url: Option<&str>) -> Result<CommandOutcome> {
    Ok(CommandOutcome::of(health_check::run(config, url)?))
}

/// Returns the OpenAPI document of the API, as the server sends it.
#[must_use]
pub fn openapi(config: &Config) -> CommandOutcome {
    CommandOutcome::of(openapi::text(&config.server.public_url.0))
}

/// Returns the effective settings as a TOML file, without secrets.
#[must_use]
pub fn print_config(config: &Config) -> CommandOutcome {
    CommandOutcome::of(config::print(config))
}

/// Stores named on the command line.
#[derive(Clone, Copy, Debug, Default)]
pub struct NamedStores {
    /// True if a data folder is named.
    pub folder: bool,
    /// True if a database is named.
    pub database: bool,
}

/// Refuses a command line that names a folder with a database while other settings name a PostgreSQL database.
fn refuse_ambiguity(config: &Config, named: NamedStores) -> Result<()> {
    let has_database = || {
        let file = std::fs::metadata(config.folder().join("workgraph.db"));
        file.is_ok_and(|file| file.len() > 0)
    };
    let is_elsewhere = !config.database.url.is_empty() && !named.database;
    if named.folder && is_elsewhere && has_database() {
        bail!(
            "--data names the folder {}, which has a database, and WORKGRAPH_STORE_URL or store.url names another store: which one is meant? Add `--store \"\"` for the folder, or leave --data out for the other",
            config.server.data
        );
    }
    Ok(())
}
