//! `workgraph move`: moves all data from a data folder into a PostgreSQL database, or back.
use crate::adapters::data_dir;
use crate::adapters::stores::open_read_only;
use crate::config::Config;
use crate::data_commands::data_files::FOLDERS;
use crate::data_commands::hosted_files::{named_files, require_files};
use crate::data_commands::move_files::{CopiedFiles, copy_files, files_in};
use crate::data_commands::move_progress::MoveProgress;
use crate::data_commands::move_values::{ValueFiles, sealed_values};
use anyhow::{Context, Result, bail};
use clap::Args;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use tokio::runtime::Handle;
use workgraph_core::Gid;
use workgraph_rows::digests::hex;
use workgraph_rows::{CopyOutcome, CopyProgress, RowReader, copy};
use workgraph_store_postgres::{Database, DatabaseOptions, PgRows};
use workgraph_store_sqlite::{SqliteRowWriter, SqliteStore};

/// Arguments of `workgraph move`.
#[derive(Clone, Debug, Args)]
pub struct MoveArgs {
    /// Folder or address to move from: a data folder, or postgres://USER@HOST/NAME [default: the database of the settings:
    /// store.url, WORKGRAPH_STORE_URL, --store; an argument with a password is shown in lists of processes].
    #[arg(long, value_name = "FOLDER|URL")]
    from: Option<String>,
    /// Folder or address to move to: a data folder without a database, or an empty database [default: the database of the
    /// settings].
    #[arg(long, value_name = "FOLDER|URL")]
    to: Option<String>,
    /// Accept a database that can lose commits in a crash (fsync off), for experiments.
    #[arg(long)]
    unsafe_database: bool,
    /// Continue even if attachment files are missing or their folder is not given; the copy then lacks them.
    #[arg(long)]
    accept_missing_files: bool,
    /// Answer with JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// One side of a move.
enum Side {
    Folder(PathBuf),
    Database(String),
}

impl Side {
    /// Returns the side named by an argument; without one, that is the database in the settings.
    fn parse(name: &str, argument: Option<&str>, config: &Config) -> Result<Self> {
        let Some(text) = argument else {
            if config.database.url.is_empty() {
                bail!(
                    "{name} is not given, and the settings name no database either: WORKGRAPH_STORE_URL, store.url or --store"
                );
            }
            return Ok(Self::Database(config.database.url.clone()));
        };
        if text.is_empty() {
            bail!(
                "{name} is empty: name a data folder, or the address of a database (postgres://...)"
            );
        }
        let is_address = ["postgres://", "postgresql://"]
            .iter()
            .any(|scheme| text.starts_with(scheme));
        Ok(if is_address {
            Self::Database(text.to_owned())
        } else {
            Self::Folder(PathBuf::from(text))
        })
    }
}

/// Advice if copied files are missing.
const COPY_FAILED: &str = "They were there before: nothing was moved, begin again";

/// Attachment files referenced by the rows of the source; empty if they are in a bucket, or their loss is accepted.
struct FilesOfRows(BTreeSet<Gid>);

impl FilesOfRows {
    fn read(rows: &mut dyn RowReader, arguments: &MoveArgs, config: &Config) -> Result<Self> {
        let is_elsewhere = !config.bucket.endpoint.0.is_empty();
        if is_elsewhere || arguments.accept_missing_files {
            return Ok(Self(BTreeSet::new()));
        }
        named_files(rows).map(Self)
    }

    /// Refuses a folder that lacks one of these files.
    fn require(&self, folder: &Path, advice: &str) -> Result<()> {
        require_files(&self.0, folder, advice).with_context(
            || "nothing was moved (--accept-missing-files moves without the files that are missing)",
        )
    }

    /// Refuses a move of files without a folder for shared files.
    fn require_folder(&self, shared_files: Option<&Path>) -> Result<()> {
        if shared_files.is_some() || self.0.is_empty() {
            return Ok(());
        }
        bail!(
            "the data names {} files of attachments, and no folder of them is given: name the folder that the nodes share with --shared-files, or set the bucket.* settings if they are in a bucket (--accept-missing-files moves without them)",
            self.0.len()
        )
    }
}

/// Result of a move, as the command reports it.
struct Moved {
    rows: CopyOutcome,
    values: Vec<String>,
    /// Copied files, or `None` if no folder for shared files was given.
    files: Option<CopiedFiles>,
    /// Folders whose files were not copied.
    files_left: Vec<String>,
}

/// Moves everything. The runtime must have its own threads, since this blocks.
///
/// # Errors
/// Says what is wrong with either side; then no rows of the target become visible.
pub(crate) fn run(arguments: &MoveArgs, config: &Config, runtime: &Handle) -> Result<Value> {
    let options = |url: &str| DatabaseOptions {
        node: "move".into(),
        accept_unsafe_server: arguments.unsafe_database || config.database.allow_unsafe,
        ..DatabaseOptions::new(url)
    };
    let shared_files = shared_files(config)?;
    let mut progress = MoveProgress::start();
    let from = Side::parse("--from", arguments.from.as_deref(), config)?;
    let to = Side::parse("--to", arguments.to.as_deref(), config)?;
    let moved = match (from, to) {
        (Side::Folder(from), Side::Database(url)) => {
            // As long as this file exists, no server opens the folder.
            let of_server =
                "name the data folder of the server that is moved, which its setting `data` names";
            if !from.is_dir() {
                bail!(
                    "--from {}: there is no such folder; {of_server}",
                    from.display()
                );
            }
            if !from.join("workgraph.db").is_file() {
                bail!(
                    "--from {}: this folder has no database (workgraph.db); {of_server}, or put its database back first: docs/BACKUPS.md",
                    from.display()
                );
            }
            let _lock = SqliteStore::lock_folder(&from).with_context(|| not_opened(&from))?;
            let source = open_read_only(&from)?;
            let mut rows = source.rows().context("the store can't be read")?;
            let values = sealed_values(&from)?;
            let files_of_rows = FilesOfRows::read(&mut rows, arguments, config)?;
            files_of_rows.require(&from, "Put them back first")?;
            files_of_rows.require_folder(shared_files)?;
            let database = runtime.block_on(Database::open(options(&url), runtime.clone()))?;
            let target = PgRows::write(&database)?;
            target.put_shared_values(&values)?;
            let (files, files_left) = move_files(&from, shared_files, &mut progress)?;
            if let Some(shared) = shared_files {
                // Before the rows become visible.
                files_of_rows.require(shared, COPY_FAILED)?;
            }
            let show = &mut |step| progress.show(step);
            let rows = copy(&mut rows, Box::new(target), show).context("nothing was moved")?;
            let values = values.into_iter().skip(1).map(|value| value.name);
            Moved {
                rows,
                values: values.collect(),
                files,
                files_left,
            }
        }
        (Side::Database(url), Side::Folder(to)) => {
            let database = runtime.block_on(Database::connect(options(&url), runtime.clone()))?;
            // The source is not changed, not even its tables.
            runtime.block_on(database.check_tables())?;
            let mut rows = PgRows::read(&database)?;
            let files_of_rows = FilesOfRows::read(&mut rows, arguments, config)?;
            files_of_rows.require_folder(shared_files)?;
            if let Some(shared) = shared_files {
                files_of_rows.require(
                    shared,
                    "Is --shared-files the folder that the nodes use, and is its file system mounted?",
                )?;
            }
            let values = ValueFiles::open(&rows.shared_values()?, &to, config.folder())?;
            data_dir::create_data_dir(&to)?;
            let target = SqliteRowWriter::create(&to)
                .with_context(|| format!("{}: the data folder can't be filled", to.display()))?;
            values.write()?;
            let (files, files_left) = match shared_files {
                Some(shared) => move_files(shared, Some(&to), &mut progress)?,
                None => (None, vec!["the folder of shared files".into()]),
            };
            if files.is_some() {
                // Before the database gets its final name.
                files_of_rows.require(&to, COPY_FAILED)?;
            }
            let show = &mut |step| progress.show(step);
            let rows = copy(&mut rows, Box::new(target), show).context("nothing was moved")?;
            let names = values.names.iter().map(|name| (*name).to_owned());
            Moved {
                rows,
                values: names.collect(),
                files,
                files_left,
            }
        }
        (Side::Folder(_), Side::Folder(_)) => {
            bail!(
                "neither --from nor --to is a database: its address begins with postgres://; `workgraph backup` copies a data folder"
            )
        }
        (Side::Database(_), Side::Database(_)) => {
            bail!("both --from and --to are databases: PostgreSQL's own tools copy one to another")
        }
    };
    progress.end();
    Ok(describe(&moved))
}

/// Returns the folder for shared files in the settings, if one is set.
fn shared_files(config: &Config) -> Result<Option<&Path>> {
    let folder = Path::new(&config.database.shared_files);
    if folder.as_os_str().is_empty() {
        return Ok(None);
    }
    if !folder.is_dir() {
        bail!(
            "--shared-files {}: there is no such folder; make it, or mount it, if its files are to be moved",
            folder.display()
        );
    }
    data_dir::require_unwritable_by_others(folder, data_dir::SHARED_FILES, "o-w")?;
    Ok(Some(folder))
}

/// Copies the attachment and export files, or, without a target, returns the folders that contain some.
fn move_files(
    from: &Path,
    to: Option<&Path>,
    progress: &mut MoveProgress,
) -> Result<(Option<CopiedFiles>, Vec<String>)> {
    let files = files_in(from)?;
    let Some(to) = to else {
        let has_files = |name: &&str| files.iter().any(|file| file.starts_with(name));
        let left = FOLDERS.iter().filter(|name| has_files(name));
        let left = left.map(|name| from.join(name).display().to_string());
        return Ok((None, left.collect()));
    };
    let total = files.len() as u64;
    let copied = copy_files(&files, from, to, &mut |copied| {
        let step = "files";
        progress.show(CopyProgress {
            step,
            copied,
            total,
        });
    });
    Ok((Some(copied?), Vec::new()))
}

fn not_opened(folder: &Path) -> String {
    format!("{}: stop the server first", folder.display())
}

fn describe(moved: &Moved) -> Value {
    let tables = &moved.rows.digest.tables;
    let rows: u64 = tables.iter().map(|table| table.rows).sum();
    let files = moved.files.map(
        |files| json!({"copied": files.copied, "present": files.present, "bytes": files.bytes}),
    );
    json!({
        "rows": rows,
        "indexed": moved.rows.indexed,
        "digest": hex(&moved.rows.digest.total()),
        "values": moved.values,
        "files": files,
        "files_left": moved.files_left,
    })
}

/// Formats the description for people.
pub(crate) fn text(moved: &Value) -> String {
    let of = |pointer: &str| match moved.pointer(pointer) {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(all)) => {
            let texts: Vec<&str> = all.iter().filter_map(Value::as_str).collect();
            texts.join(", ")
        }
        Some(other) => other.to_string(),
        None => String::new(),
    };
    let mut out = format!(
        "moved {} rows; both sides have the digest {}",
        of("/rows"),
        of("/digest")
    );
    let is_empty = |pointer: &str| of(pointer).is_empty();
    if !is_empty("/values") {
        out.push_str(&format!("\nmoved keys and settings: {}", of("/values")));
    }
    if moved.pointer("/files/copied").is_some() {
        out.push_str(&format!(
            "\ncopied {} files of attachments and exports, {} were there already",
            of("/files/copied"),
            of("/files/present")
        ));
    }
    if !is_empty("/files_left") {
        out.push_str(&format!(
            "\nnot copied, since --shared-files was not given: the files of attachments and exports in {}",
            of("/files_left")
        ));
    }
    out.push_str("\nthe source is as it was. keys.json stays a file that every node and every data folder has; the file of audit anchors and files in a bucket stay where they are: docs/BACKUPS.md");
    out
}
