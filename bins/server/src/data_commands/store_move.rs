//! `workgraph move`: everything from a data folder into a PostgreSQL database, or back.
use crate::adapters::data_dir;
use crate::adapters::stores::open_read_only;
use crate::data_commands::move_progress::MoveProgress;
use anyhow::{Context, Result, bail};
use clap::Args;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use tokio::runtime::Handle;
use workgraph_rows::digests::hex;
use workgraph_rows::{CopyOutcome, copy};
use workgraph_store_postgres::{Database, DatabaseOptions, PgRows};
use workgraph_store_sqlite::{SqliteRowWriter, SqliteStore};

#[derive(Clone, Debug, Args)]
pub(crate) struct MoveArgs {
    /// What to move: a data folder, or the address of a database, postgres://USER:PASSWORD@HOST/NAME.
    #[arg(long, value_name = "FOLDER|URL")]
    from: String,
    /// Where to: the address of an empty database, or a data folder without one.
    #[arg(long, value_name = "FOLDER|URL")]
    to: String,
    /// Accept a database that a crash can make lose commits (fsync off), for trying things.
    #[arg(long)]
    unsafe_database: bool,
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
    fn parse(text: &str) -> Self {
        if ["postgres://", "postgresql://"]
            .iter()
            .any(|scheme| text.starts_with(scheme))
        {
            Self::Database(text.to_owned())
        } else {
            Self::Folder(PathBuf::from(text))
        }
    }
}

/// Moves everything. The runtime must have threads of its own; this blocks.
///
/// # Errors
/// Says what is wrong with either side; then nothing of the target is seen.
pub(crate) fn run(arguments: &MoveArgs, runtime: &Handle) -> Result<Value> {
    let connect = |url: &str| {
        let options = DatabaseOptions {
            node: "move".into(),
            accept_unsafe_server: arguments.unsafe_database,
            ..DatabaseOptions::new(url)
        };
        runtime.block_on(Database::open(options, runtime.clone()))
    };
    let mut progress = MoveProgress::start();
    let outcome = match (Side::parse(&arguments.from), Side::parse(&arguments.to)) {
        (Side::Folder(from), Side::Database(url)) => {
            // As long as this is there, no server opens the folder.
            let _lock = SqliteStore::lock_folder(&from).with_context(|| not_opened(&from))?;
            let source = open_read_only(&from)?;
            let mut rows = source.rows().context("the store can't be read")?;
            let database = connect(&url)?;
            let target = PgRows::write(&database)?;
            copy(&mut rows, Box::new(target), &mut |step| progress.show(step))
        }
        (Side::Database(url), Side::Folder(to)) => {
            let database = connect(&url)?;
            let mut rows = PgRows::read(&database)?;
            data_dir::create_data_dir(&to)?;
            let target = SqliteRowWriter::create(&to)
                .with_context(|| format!("{}: the data folder can't be filled", to.display()))?;
            copy(&mut rows, Box::new(target), &mut |step| progress.show(step))
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
    Ok(describe(&outcome.context("nothing was moved")?))
}

fn not_opened(folder: &Path) -> String {
    format!("{}: stop the server first", folder.display())
}

fn describe(outcome: &CopyOutcome) -> Value {
    let rows: u64 = outcome.digest.tables.iter().map(|table| table.rows).sum();
    json!({
        "rows": rows,
        "indexed": outcome.indexed,
        "digest": hex(&outcome.digest.total()),
    })
}

/// Returns the description as text.
pub(crate) fn text(moved: &Value) -> String {
    let of = |key: &str| {
        moved
            .get(key)
            .map_or_else(String::new, |value| value.to_string())
    };
    let digest = moved
        .get("digest")
        .and_then(Value::as_str)
        .unwrap_or_default();
    format!(
        "moved {} rows; both sides have the digest {digest}\nthe source is as it was; keys and the files of attachments are in the data folder, and stay there: docs/BACKUPS.md",
        of("rows")
    )
}
