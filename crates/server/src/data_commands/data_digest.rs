//! `workgraph digest`: digests for comparing two copies of the data.
use crate::adapters::stores::open_read_only;
use crate::config::Config;
use crate::data_commands::data_files::{FOLDERS, is_unfinished};
use anyhow::{Context, Result};
use ring::digest::{Context as Digest, SHA256};
use serde_json::{Value, json};
use std::fmt::Write;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;
use workgraph_rows::digests::hex;
use workgraph_rows::{StoreDigest, digest};
use workgraph_store_postgres::{Database, PgRows};

/// Bytes read at once.
const PIECE: usize = 64 << 10;

/// Digests of a store and of the files that belong to it.
pub(crate) struct DataDigest {
    /// Store for which the digests were computed, without its password.
    subject: String,
    pub(crate) store: StoreDigest,
    /// Each folder with its files: their relative paths and their digests.
    folders: Vec<(&'static str, Vec<(String, String)>)>,
}

impl DataDigest {
    /// Computes the digests of the store in the settings, which is `database` if that is given; servers may be running.
    /// Blocks.
    ///
    /// # Errors
    /// Fails if there is no store of this version, or a file can't be read.
    pub(crate) fn of(config: &Config, database: Option<&Database>) -> Result<Self> {
        const UNREADABLE: &str = "the store can't be read";
        let store = match database {
            Some(database) => {
                let mut rows = PgRows::snapshot(database).context(UNREADABLE)?;
                digest(&mut rows).context(UNREADABLE)?
            }
            None => {
                let store = open_read_only(config.folder())?;
                let mut rows = store.rows().context(UNREADABLE)?;
                digest(&mut rows).context(UNREADABLE)?
            }
        };
        let subject = match database {
            Some(_) => format!("database {}", without_password(&config.database.url)),
            None => format!("data folder {}", config.folder().display()),
        };
        let mut folders = Vec::new();
        for name in FOLDERS {
            let mut files = Vec::new();
            visit(&config.files_folder().join(name), "", &mut files)?;
            files.sort();
            folders.push((name, files));
        }
        Ok(Self {
            subject,
            store,
            folders,
        })
    }

    /// Returns the digests as JSON, with each file separately.
    pub(crate) fn json(&self) -> Value {
        let tables =
            self.store.tables.iter().map(
                |table| json!({"table": table.table, "rows": table.rows, "digest": table.hex()}),
            );
        let folders = self.folders.iter().map(|(name, files)| {
            let files = files.iter().map(|(path, sum)| json!({"name": path, "digest": sum}));
            json!({"folder": name, "digest": files_digest(self, name), "files": files.collect::<Vec<_>>()})
        });
        json!({
            "store": self.subject,
            "digest": hex(&self.store.total()),
            "tables": tables.collect::<Vec<_>>(),
            "folders": folders.collect::<Vec<_>>(),
        })
    }

    /// Returns the digests as text: one line for each table and folder, and one for all tables together.
    pub(crate) fn text(&self) -> String {
        let mut out = format!("{}\n", self.subject);
        let mut line = |name: &str, rows: u64, digest: &str| {
            // Writing to a String cannot fail.
            let _ = writeln!(out, "{name:<14} {rows:>12} {digest}");
        };
        for table in &self.store.tables {
            line(table.table, table.rows, &table.hex());
        }
        let rows = self.store.tables.iter().map(|table| table.rows).sum();
        line("all tables", rows, &hex(&self.store.total()));
        for (name, files) in &self.folders {
            line(name, files.len() as u64, &files_digest(self, name));
        }
        out
    }
}

/// Returns the address of a database without its password.
fn without_password(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else {
        return "of the settings".to_owned();
    };
    let (authority, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    let path = path.split('?').next().unwrap_or_default();
    match authority.rsplit_once('@') {
        Some((user, host)) => {
            let user = user.split(':').next().unwrap_or_default();
            format!("{scheme}://{user}@{host}{path}")
        }
        None => format!("{scheme}://{authority}{path}"),
    }
}

/// Returns one digest of the names and digests of a folder's files.
fn files_digest(all: &DataDigest, folder: &str) -> String {
    let mut sum = Digest::new(&SHA256);
    let files = all.folders.iter().filter(|(name, _)| *name == folder);
    for (path, digest) in files.flat_map(|(_, files)| files) {
        sum.update(path.as_bytes());
        sum.update(&[0]);
        sum.update(digest.as_bytes());
    }
    hex(sum.finish().as_ref())
}

/// Adds the files in a folder and its subfolders. Files that are being written, or were removed since, are left out.
fn visit(folder: &Path, within: &str, files: &mut Vec<(String, String)>) -> Result<()> {
    let named = || folder.display().to_string();
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error).with_context(named),
    };
    for entry in entries {
        let entry = entry.with_context(named)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = format!("{within}{name}");
        if entry.file_type().with_context(named)?.is_dir() {
            visit(&entry.path(), &format!("{path}/"), files)?;
        } else if !is_unfinished(Path::new(&name)) {
            match file_digest(&entry.path()) {
                Ok(digest) => files.push((path, digest)),
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => return Err(error).with_context(|| format!("{}/{name}", named())),
            }
        }
    }
    Ok(())
}

/// Returns the SHA-256 digest of a file in hexadecimal digits.
pub(crate) fn file_digest(path: &Path) -> std::io::Result<String> {
    let mut file = File::open(path)?;
    let (mut sum, mut piece) = (Digest::new(&SHA256), vec![0; PIECE]);
    loop {
        match file.read(&mut piece)? {
            0 => return Ok(hex(sum.finish().as_ref())),
            read => sum.update(piece.get(..read).unwrap_or_default()),
        }
    }
}
