//! Traces of use in a data folder, so that a folder that was in use is never mistaken for a new one.
use crate::adapters::system_clock::WallClock;
use anyhow::{Context, Result, bail};
use std::fs::{DirBuilder, Metadata};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;
use workgraph_api::Clock;

/// File name of the database.
const DATABASE: &str = "workgraph.db";
/// File with the keys that seal page tokens and the secrets of webhooks.
pub(crate) const KEYS: &str = "keys.json";
/// Files and folders that only a serving process creates. An empty folder is no trace.
const TRACES: [&str; 10] = [
    "bootstrap.json",
    "audit-key.json",
    "signing-keys.json",
    "limits.json",
    "audit-anchors",
    "attachments",
    "exports",
    "workgraph.db-wal",
    "workgraph.db-shm",
    JOURNAL,
];
/// Rollback journal of the first transaction, the only one before the write-ahead log exists.
const JOURNAL: &str = "workgraph.db-journal";

/// Losses that an operator accepts at a start.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct AcceptedLosses {
    /// The database: the remains are moved aside, and an empty database is created.
    pub(crate) database: bool,
    /// The keys: new ones are created, or existing ones taken. Data sealed with the former keys stays unreadable.
    pub(crate) keys: bool,
}

/// Returns the traces of use in a folder, apart from the database.
///
/// # Errors
/// Fails if the folder can't be read.
fn traces(folder: &Path) -> Result<Vec<&'static str>> {
    let mut found = Vec::new();
    for name in TRACES {
        let path = folder.join(name);
        let is_trace = match std::fs::metadata(&path) {
            Ok(entry) if entry.is_dir() => std::fs::read_dir(&path)
                .with_context(|| path.display().to_string())?
                .next()
                .is_some(),
            Ok(_) => true,
            Err(_) => false,
        };
        if is_trace {
            found.push(name);
        }
    }
    Ok(found)
}

/// Returns the traces of use in a folder other than its database, which is open.
///
/// # Errors
/// Fails if the folder can't be read.
pub(crate) fn traces_beside_database(folder: &Path) -> Result<Vec<&'static str>> {
    let mut found = traces(folder)?;
    found.retain(|name| !name.starts_with(DATABASE));
    Ok(found)
}

/// Returns the problem of a folder whose database is missing.
pub(crate) fn lost_database(folder: &Path, traces: &[&str]) -> String {
    format!(
        "{}: this data folder was in use ({} {} there), but {DATABASE} has nothing in it. Put the database back: `workgraph restore` makes it from a backup or the archive (docs/BACKUPS.md). If the data is in PostgreSQL, set WORKGRAPH_STORE_URL. To begin with an empty database, start with --new: what is there is moved aside, not removed",
        folder.display(),
        traces.join(", "),
        if traces.len() == 1 { "is" } else { "are" },
    )
}

/// Refuses a data folder that has lost its database or its keys, unless the loss is accepted. If the loss of the database is
/// accepted, moves the remains into a separate folder.
///
/// # Errors
/// Says what is lost and what to do.
pub(crate) fn check(folder: &Path, accepted: AcceptedLosses) -> Result<()> {
    let database = folder.join(DATABASE);
    let has_database = std::fs::metadata(&database).is_ok_and(|file: Metadata| file.len() > 0);
    if !has_database {
        let left = traces(folder)?;
        // This is all that a first start leaves if it is killed early.
        if left == [JOURNAL] && database.exists() {
            return Ok(());
        }
        return match (left.is_empty(), accepted.database) {
            (true, _) => Ok(()),
            (false, true) => move_aside(folder, &left),
            (false, false) => bail!(lost_database(folder, &left)),
        };
    }
    if !folder.join(KEYS).exists() && !accepted.keys {
        bail!(
            "{}: the keys of this data are missing: the secrets of its webhooks are sealed with them. Put {KEYS} back from its copy (docs/BACKUPS.md). If it is lost, start once with --new-keys: deliveries of the webhooks that there are then fail, until they are made again",
            folder.join(KEYS).display()
        );
    }
    Ok(())
}

/// Moves the remains of a lost database into a separate folder, so that files of one database are not mistaken for files of
/// another.
///
/// # Errors
/// Fails if a file can't be moved.
pub(crate) fn move_aside(folder: &Path, left: &[&str]) -> Result<()> {
    let now = WallClock::start().now();
    let seconds = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let aside: PathBuf = folder.join(format!("replaced-{seconds}"));
    let mut made = DirBuilder::new();
    made.mode(0o700)
        .create(&aside)
        .with_context(|| aside.display().to_string())?;
    for name in left {
        std::fs::rename(folder.join(name), aside.join(name))
            .with_context(|| format!("{}: it can't be moved aside", folder.join(name).display()))?;
    }
    tracing::warn!(
        folder = aside.display().to_string(),
        "leftovers of the former database were moved aside"
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        let path =
            std::env::temp_dir().join(format!("workgraph-use-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        path
    }

    fn checked(folder: &Path, database: bool, keys: bool) -> String {
        let accepted = AcceptedLosses { database, keys };
        check(folder, accepted).map_or_else(|error| format!("{error:#}"), |()| String::new())
    }

    #[test]
    fn a_folder_whose_first_transaction_was_broken_off_is_a_new_one() {
        let folder = folder("first");
        for name in [DATABASE, JOURNAL] {
            std::fs::write(folder.join(name), "").unwrap();
        }
        assert_eq!(checked(&folder, false, false), "");
        std::fs::write(folder.join("bootstrap.json"), "{}").unwrap();
        assert!(checked(&folder, false, false).contains("was in use"));
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_folder_with_any_trace_of_use_and_no_database_is_refused_until_it_is_insisted() {
        for trace in TRACES {
            let folder = folder("traces");
            assert_eq!(checked(&folder, false, false), "");
            std::fs::write(folder.join(KEYS), "{}").unwrap();
            std::fs::create_dir(folder.join("exports")).unwrap();
            assert_eq!(
                checked(&folder, false, false),
                "",
                "a given key, and an empty folder"
            );
            std::fs::remove_dir(folder.join("exports")).unwrap();
            if trace == "attachments" || trace == "exports" {
                std::fs::create_dir(folder.join(trace)).unwrap();
                std::fs::write(folder.join(trace).join("1"), "x").unwrap();
            } else {
                std::fs::write(folder.join(trace), "x").unwrap();
            }
            for empty in [false, true] {
                // A journal alone next to an empty database is from a first start.
                if empty && trace == JOURNAL {
                    continue;
                }
                if empty {
                    std::fs::write(folder.join(DATABASE), "").unwrap();
                }
                let says = checked(&folder, false, true);
                assert!(says.contains(trace) && says.contains("--new"), "{says}");
                assert!(
                    says.contains("restore") && says.contains("BACKUPS.md"),
                    "{says}"
                );
            }
            assert_eq!(checked(&folder, true, false), "");
            assert_eq!(checked(&folder, false, false), "", "it is new again");
            let aside = std::fs::read_dir(&folder)
                .unwrap()
                .flatten()
                .find(|entry| entry.file_name().to_string_lossy().starts_with("replaced-"));
            assert!(aside.unwrap().path().join(trace).exists());
            std::fs::remove_dir_all(&folder).unwrap();
        }
    }

    #[test]
    fn a_database_without_its_keys_is_refused_until_the_loss_is_accepted() {
        let folder = folder("keys");
        std::fs::write(folder.join(DATABASE), "x").unwrap();
        let says = checked(&folder, true, false);
        assert!(
            says.contains("keys.json") && says.contains("--new-keys"),
            "{says}"
        );
        assert_eq!(checked(&folder, false, true), "");
        std::fs::write(folder.join(KEYS), "{}").unwrap();
        assert_eq!(checked(&folder, false, false), "");
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
