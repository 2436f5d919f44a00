//! The continuous archive: its options for a server, and `workgraph restore`.
use crate::adapters::data_dir;
use crate::adapters::stores::ArchiveOptions;
use crate::adapters::system_clock::WallClock;
use crate::config::ArchiveConfig;
use anyhow::{Context, Result, bail};
use clap::Args;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};
use workgraph_api::Clock;
use workgraph_core::model::time::Time;
use workgraph_store_sqlite::{ArchiveDirectory, Restored, restore_archive};

#[derive(Clone, Debug, Args)]
pub(crate) struct RestoreArgs {
    /// The folder of the archive, as `archive.folder` names it.
    #[arg(long, value_name = "FOLDER")]
    pub(crate) from: PathBuf,
    /// Time such as 2026-01-31T12:00:00Z: the state is that after the last commit at or before it [default: the last
    /// commit of the archive].
    #[arg(long, value_name = "TIME")]
    pub(crate) at: Option<String>,
    /// The data folder to make; it must have no database.
    #[arg(long, value_name = "FOLDER")]
    pub(crate) to: PathBuf,
    /// Answer with JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Returns the options of the archive; `None` if there is to be none.
pub(crate) fn archive_options(
    config: &ArchiveConfig,
    clock: &Arc<WallClock>,
) -> Option<ArchiveOptions> {
    if config.folder.is_empty() {
        return None;
    }
    let clock = Arc::clone(clock);
    let now = move || {
        let since = clock
            .now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or(Duration::ZERO);
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    };
    Some(ArchiveOptions {
        folder: Arc::new(ArchiveDirectory::new(&config.folder)),
        interval: config.interval,
        copy_interval: config.copy_interval,
        retention: config.retention,
        now: Arc::new(now),
    })
}

/// Makes a data folder from an archive. Returns a description of its state.
///
/// # Errors
/// Says what is wrong with the time, the archive or the folder; then no database is made.
pub(crate) fn restore(arguments: &RestoreArgs) -> Result<Value> {
    if !arguments.from.is_dir() {
        bail!("{}: there is no such folder", arguments.from.display());
    }
    let until = match &arguments.at {
        None => u64::MAX,
        Some(text) => {
            let time = Time::parse(text).with_context(|| {
                format!("--at {text}: not a time; write it as 2026-01-31T12:00:00Z")
            })?;
            let millis = u64::try_from(time.millis());
            millis.with_context(|| format!("--at {text}: before 1970"))?
        }
    };
    data_dir::create_data_dir(&arguments.to)?;
    let archive = ArchiveDirectory::new(&arguments.from);
    let restored = restore_archive(&archive, until, &arguments.to)?;
    Ok(describe(&restored))
}

fn time(millis: u64) -> String {
    Time::from_millis(i64::try_from(millis).unwrap_or(i64::MAX)).to_string()
}

fn describe(restored: &Restored) -> Value {
    json!({
        "at": time(restored.at),
        "generation": restored.generation,
        "commit": restored.commit,
        "sequence": restored.seq,
        "skipped_generation": restored.skipped,
    })
}

/// Returns the description as text.
pub(crate) fn text(restored: &Value) -> String {
    let of = |key: &str| match restored.get(key) {
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
        None => String::new(),
    };
    let mut out = format!(
        "restored the state of {}: commit {} of generation {} of the archive, with the change number {} of the graph",
        of("at"),
        of("commit"),
        of("generation"),
        of("sequence")
    );
    if restored
        .get("skipped_generation")
        .is_some_and(|id| !id.is_null())
    {
        out.push_str(&format!(
            "\ngeneration {} began before the time asked for, but has no copy of the database that is old enough; what was committed in it is missing",
            of("skipped_generation")
        ));
    }
    out.push_str("\nkeys.json and the other keys, and the files of attachments and exports, are not in the archive: put them into the folder before it is served");
    out
}
