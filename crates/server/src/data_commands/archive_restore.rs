//! The continuous archive: its options for a server, and `workgraph restore`.
use crate::adapters::blob_bucket::{ArchiveBucket, owner_id};
use crate::adapters::data_dir;
use crate::adapters::key_files;
use crate::adapters::stores::ArchiveOptions;
use crate::adapters::system_clock::WallClock;
use crate::config::{BucketConfig, Config};
use crate::data_commands::{archive_claim, backup_restore};
use anyhow::{Context, Result, bail};
use clap::Args;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};
use workgraph_api::{Clock, Entropy};
use workgraph_core::model::time::Time;
use workgraph_store_sqlite::{ArchiveDirectory, ArchiveFolder, Restored, restore_archive};

/// Arguments of `workgraph restore`.
#[derive(Clone, Debug, Args)]
pub struct RestoreArgs {
    /// The file of a backup, or the folder of an archive [default: the archive of the settings, a folder or a bucket:
    /// archive.folder, archive.bucket].
    #[arg(long, value_name = "FILE|FOLDER")]
    pub(crate) from: Option<PathBuf>,
    /// Time such as 2026-01-31T12:00:00Z: restores the state after the last commit at or before it [default: the last commit
    /// of the archive].
    #[arg(long, value_name = "TIME")]
    pub(crate) at: Option<String>,
    /// The data folder to create or complete; it must have no database.
    #[arg(long, value_name = "FOLDER")]
    pub(crate) to: PathBuf,
    /// Folder with keys.json and the other keys of this data, which are copied [default: FILE.keys of a backup].
    #[arg(long, value_name = "FOLDER")]
    pub(crate) keys: Option<PathBuf>,
    /// Answer with JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Maximum bytes of commits that wait in memory for the archive.
const QUEUE_BYTES: u64 = 64 << 20;

/// Returns the archive in the settings, if there is one. An archive in a bucket can only be written by its owner.
///
/// # Errors
/// Says which of the settings is wrong.
fn archive_folder(
    config: &Config,
    owner: impl FnOnce() -> Result<Option<String>>,
    clock: Arc<dyn Clock>,
) -> Result<Option<Arc<dyn ArchiveFolder>>> {
    let archive = &config.archive;
    match (archive.folder.is_empty(), archive.bucket.is_empty()) {
        (true, true) => Ok(None),
        (false, true) => {
            if let Some(owner) = owner()? {
                archive_claim::check_apart(config.folder(), Path::new(&archive.folder))?;
                archive_claim::claim(Path::new(&archive.folder), &owner)?;
            }
            Ok(Some(Arc::new(ArchiveDirectory::new(&archive.folder))))
        }
        (false, false) => {
            bail!("archive.folder and archive.bucket: the archive is in one of them, not in both")
        }
        (true, false) => {
            if config.bucket.endpoint.0.is_empty() {
                bail!(
                    "bucket.endpoint: must be set, since archive.bucket is: the archive uses the server and the keys of the bucket of attachments"
                );
            }
            let bucket = BucketConfig {
                name: archive.bucket.clone(),
                prefix: archive.prefix.clone(),
                ..config.bucket.clone()
            };
            Ok(Some(Arc::new(ArchiveBucket::new(
                &bucket,
                owner()?,
                clock,
            )?)))
        }
    }
}

/// Returns the options of the archive; `None` if there is none.
///
/// # Errors
/// Says which of the settings is wrong.
pub(crate) fn archive_options(
    config: &Config,
    entropy: &dyn Entropy,
    clock: &Arc<dyn Clock>,
) -> Result<Option<ArchiveOptions>> {
    let owner = || owner_id(config.folder(), entropy).map(Some);
    let Some(folder) = archive_folder(config, owner, clock.clone())? else {
        return Ok(None);
    };
    let config = &config.archive;
    let clock = Arc::clone(clock);
    let now = move || {
        let since = clock
            .now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or(Duration::ZERO);
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    };
    Ok(Some(ArchiveOptions {
        folder,
        interval: config.interval,
        copy_interval: config.copy_interval,
        retention: config.retention,
        queue_bytes: QUEUE_BYTES,
        now: Arc::new(now),
    }))
}

/// Creates a data folder from a backup or an archive. Returns a description of its state.
///
/// # Errors
/// Says what is wrong with the time, the backup, the archive or the folder; then no database is created.
pub(crate) fn restore(arguments: &RestoreArgs, config: &Config) -> Result<Value> {
    if let Some(keys) = &arguments.keys
        && !keys.is_dir()
    {
        bail!("--keys {}: there is no such folder", keys.display());
    }
    if let Some(from) = arguments.from.as_deref().filter(|from| from.is_file()) {
        if arguments.at.is_some() {
            bail!("--at: a backup has one state; times are those of an archive");
        }
        let files = backup_restore::restore(from, &arguments.to, arguments.keys.as_deref())?;
        return Ok(json!({
            "backup": from.display().to_string(),
            "files": files.files,
            "keys": files.keys,
            "missing_keys": key_files::missing(&arguments.to),
        }));
    }
    let archive: Arc<dyn ArchiveFolder> = match &arguments.from {
        Some(from) => {
            if !from.is_dir() {
                bail!(
                    "{}: there is no such folder of an archive, and no such file of a backup",
                    from.display()
                );
            }
            Arc::new(ArchiveDirectory::new(from))
        }
        None => {
            let clock: Arc<dyn Clock> = Arc::new(WallClock::start());
            let found = archive_folder(config, || Ok(None), clock)?;
            found.context(
                "--from is not given, and the settings name no archive either: archive.folder or archive.bucket",
            )?
        }
    };
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
    backup_restore::remove_empty_database(&arguments.to)?;
    let keys = match &arguments.keys {
        Some(keys) => key_files::copy(keys, &arguments.to)?,
        None => Vec::new(),
    };
    let restored = restore_archive(&*archive, until, &arguments.to)?;
    let mut shown = describe(&restored);
    if let Some(map) = shown.as_object_mut() {
        map.insert("keys".to_owned(), json!(keys));
        let missing = key_files::missing(&arguments.to);
        map.insert("missing_keys".to_owned(), json!(missing));
    }
    Ok(shown)
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

/// Formats the description for people.
pub(crate) fn text(restored: &Value) -> String {
    let of = |key: &str| match restored.get(key) {
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
        None => String::new(),
    };
    let list = |key: &str| {
        let all = restored.get(key).and_then(Value::as_array);
        let texts = all.into_iter().flatten().filter_map(Value::as_str);
        texts.collect::<Vec<_>>().join(", ")
    };
    let mut out = match restored.get("backup").and_then(Value::as_str) {
        Some(backup) => format!(
            "restored the backup {backup} with {} files of attachments",
            of("files")
        ),
        None => format!(
            "restored the state of {}: commit {} of generation {} of the archive, with the change number {} of the graph",
            of("at"),
            of("commit"),
            of("generation"),
            of("sequence")
        ),
    };
    if restored
        .get("skipped_generation")
        .is_some_and(|id| !id.is_null())
    {
        out.push_str(&format!(
            "\ngeneration {} began before the time asked for, but has no copy of the database that is old enough; what was committed in it is missing",
            of("skipped_generation")
        ));
    }
    if !list("keys").is_empty() {
        out.push_str(&format!("\ncopied keys: {}", list("keys")));
    }
    if !list("missing_keys").is_empty() {
        out.push_str(&format!(
            "\nstill missing in the folder: {}. Copy them from where they are kept before it is served; `workgraph restore --keys FOLDER` does it at once",
            list("missing_keys")
        ));
    }
    if restored.get("backup").is_none() {
        out.push_str("\nfiles of attachments and exports are not in an archive: copy attachments/ into the folder, then `workgraph check` names those that are missing");
    }
    out
}
