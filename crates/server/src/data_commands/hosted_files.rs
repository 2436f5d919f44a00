//! Attachment files referenced by the rows of a store, compared with those that exist.
use crate::adapters::stores::open_read_only;
use crate::config::Config;
use crate::data_commands::data_files::ATTACHMENTS;
use anyhow::{Context, Result, bail};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::Path;
use workgraph_api::ports::blob_store::shard_of;
use workgraph_core::model::registry::{Type, rel};
use workgraph_core::model::resources::attachment;
use workgraph_core::{Gid, Node};
use workgraph_rows::{Row, RowReader, TABLES, Table, Value};
use workgraph_store_postgres::{Database, PgRows};

/// Rows read at once.
const PAGE: usize = 1_000;
/// Maximum number of files named in a message.
const NAMED: usize = 5;

/// Returns the files of the attachments in a store, except attachments that were deleted, alone or with their task or
/// project.
///
/// # Errors
/// Fails if the rows can't be read.
pub(crate) fn named_files(rows: &mut dyn RowReader) -> Result<BTreeSet<Gid>> {
    let (mut files, mut gone) = (BTreeMap::new(), HashSet::new());
    each_row(rows, "node", &mut |row| {
        if let [
            gid,
            Value::Integer(kind),
            home,
            _,
            _,
            is_gone,
            Value::Text(head),
            Value::Text(body),
        ] = row.as_slice()
        {
            let Some(gid) = gid_of(gid) else { return };
            if !matches!(is_gone, Value::Null) {
                gone.insert(gid);
            } else if u8::try_from(*kind).ok().and_then(Type::from_code) == Some(Type::Attachment) {
                let node = Node {
                    gid,
                    ty: Type::Attachment,
                    workspace: None,
                    version: 0,
                    head: head.as_str().into(),
                    body: body.as_str().into(),
                };
                // A node that represents a file in the totals is in no workspace.
                if attachment::is_hosted(&node) && !matches!(home, Value::Null) {
                    files.insert(gid, node.get(attachment::FILE).unwrap_or(gid));
                }
            }
        }
    })?;
    if !files.is_empty() {
        each_row(rows, "edge", &mut |row| {
            if let [target, Value::Integer(relation), _, source, ..] = row.as_slice()
                && *relation == i64::from(rel::ATTACHED_TO.0)
                && gid_of(target).is_some_and(|parent| gone.contains(&parent))
                && let Some(source) = gid_of(source)
            {
                files.remove(&source);
            }
        })?;
    }
    Ok(files.into_values().collect())
}

fn gid_of(value: &Value) -> Option<Gid> {
    match value {
        Value::Integer(number) => u64::try_from(*number).ok().and_then(Gid::new),
        _ => None,
    }
}

fn each_row(rows: &mut dyn RowReader, name: &str, each: &mut dyn FnMut(&Row)) -> Result<()> {
    let table: Option<&'static Table> = TABLES.iter().find(|table| table.name == name);
    let table = table.with_context(|| format!("there is no table {name}"))?;
    let mut last = None;
    loop {
        let mut page = rows
            .rows(table, last.as_ref(), PAGE)
            .with_context(|| format!("the table {name} can't be read"))?;
        if page.is_empty() {
            return Ok(());
        }
        page.iter().for_each(&mut *each);
        last = page.pop();
    }
}

pub(crate) fn missing_files(named: &BTreeSet<Gid>, folder: &Path) -> Vec<Gid> {
    let exists = |file: &Gid| {
        let shard = format!("{:02x}", shard_of(*file));
        let path = folder.join(ATTACHMENTS).join(shard).join(file.to_string());
        path.is_file()
    };
    named.iter().filter(|file| !exists(file)).copied().collect()
}

/// Returns a problem for each missing file of an attachment in the store of the settings; `database` is that store,
/// unless it is a file. Servers may be running. Blocks.
///
/// # Errors
/// Fails if the rows can't be read.
pub(crate) fn problems(config: &Config, database: Option<&Database>) -> Result<Vec<String>> {
    const PROBLEMS: usize = 100;
    let missing = missing_files(&of_settings(config, database)?, config.files_folder());
    if missing.is_empty() {
        return Ok(Vec::new());
    }
    // A file is removed after its attachment, so the files of attachments that were deleted in between are not missing.
    let still_named = of_settings(config, database)?;
    let missing: Vec<Gid> = missing
        .into_iter()
        .filter(|file| still_named.contains(file))
        .collect();
    let folder = config.files_folder().join(ATTACHMENTS);
    let mut problems: Vec<String> = missing
        .iter()
        .take(PROBLEMS)
        .map(|file| {
            format!(
                "the file of attachment {file} is missing in {}",
                folder.display()
            )
        })
        .collect();
    if missing.len() > PROBLEMS {
        let more = missing.len() - PROBLEMS;
        problems.push(format!("and {more} more files of attachments are missing"));
    }
    Ok(problems)
}

fn of_settings(config: &Config, database: Option<&Database>) -> Result<BTreeSet<Gid>> {
    const UNREADABLE: &str = "the store can't be read";
    match database {
        Some(database) => named_files(&mut PgRows::snapshot(database).context(UNREADABLE)?),
        None => {
            let store = open_read_only(config.folder())?;
            named_files(&mut store.rows().context(UNREADABLE)?)
        }
    }
}

/// Refuses a folder that lacks files referenced by the rows.
///
/// # Errors
/// Says how many are missing, and names some of them.
pub(crate) fn require_files(named: &BTreeSet<Gid>, folder: &Path, advice: &str) -> Result<()> {
    let missing = missing_files(named, folder);
    if missing.is_empty() {
        return Ok(());
    }
    let shown: Vec<String> = missing.iter().take(NAMED).map(Gid::to_string).collect();
    bail!(
        "{} of the {} files of attachments that the data names are missing in {}, such as {}. {advice}",
        missing.len(),
        named.len(),
        folder.join(ATTACHMENTS).display(),
        shown.join(", "),
    )
}
