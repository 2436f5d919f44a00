//! Conversion of webhook secrets to the new stored form.
use crate::open_error::StoreOpenError;
use rusqlite::{Connection, OptionalExtension, TransactionBehavior};
use workgraph_webhooks::{Reseal, ResealError};

/// Key in `meta` of the digest of the key that last sealed the secrets.
const KEY_DIGEST: &str = "key_digest";

/// Function that accepts or refuses the key digest in a file, and returns the digest to store.
pub type KeyCheck<'k> = dyn FnMut(Option<u64>) -> Result<u64, ResealError> + Send + 'k;

/// Keys of the secrets in a file: the check that the keys are right, and the conversion of secrets to the newest key.
pub(crate) struct SealingKeys<'a, 'k, 'r> {
    /// `None` if the file is used without keys.
    pub(crate) check: Option<&'a mut KeyCheck<'k>>,
    pub(crate) reseal: &'a mut Reseal<'r>,
}

/// Converts every secret, if `keys` accept the digest in the file; then stores the digest of the current key.
pub(crate) fn reseal_with(
    conn: &mut Connection,
    keys: SealingKeys<'_, '_, '_>,
) -> Result<(), StoreOpenError> {
    let Some(check) = keys.check else {
        return reseal(conn, keys.reseal);
    };
    let noted = "SELECT value FROM meta WHERE key = ?1";
    let noted: Option<i64> = conn
        .query_row(noted, [KEY_DIGEST], |row| row.get(0))
        .optional()?;
    let noted = noted.map(i64::cast_unsigned);
    let present = check(noted).map_err(StoreOpenError::Secrets)?;
    reseal(conn, keys.reseal)?;
    if noted != Some(present) {
        conn.execute(
            "INSERT OR REPLACE INTO meta (key, value) VALUES (?1, ?2)",
            (KEY_DIGEST, present.cast_signed()),
        )?;
    }
    Ok(())
}

/// Key that is in `meta` while the file may still contain secrets in the old form.
const WIPE_KEY: &str = "wipe_secrets";

/// Converts every secret, in one transaction, and rewrites the file and its log, so that the old secrets are gone.
///
/// After a crash at any step, the next start finishes the work. Copies of the file (backups, snapshots of the disk, blocks that
/// the file system freed) keep the old secrets.
pub(crate) fn reseal(conn: &mut Connection, reseal: &mut Reseal<'_>) -> Result<(), StoreOpenError> {
    seal(conn, reseal)?;
    wipe(conn)
}

/// Converts every secret, and records in the same commit that the file must be rewritten.
fn seal(conn: &mut Connection, reseal: &mut Reseal<'_>) -> Result<(), StoreOpenError> {
    let mut changed = Vec::new();
    {
        let mut all = conn.prepare("SELECT id, secret FROM hook")?;
        let mut rows = all.query([])?;
        while let Some(row) = rows.next()? {
            let (id, secret): (i64, String) = (row.get(0)?, row.get(1)?);
            let sealed = reseal(u64::try_from(id).unwrap_or_default(), &secret);
            changed.extend(
                sealed
                    .map_err(StoreOpenError::Secrets)?
                    .map(|new| (id, new)),
            );
        }
    }
    if changed.is_empty() {
        return Ok(());
    }
    let change = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
    for (id, secret) in changed {
        change.execute("UPDATE hook SET secret = ?2 WHERE id = ?1", (id, secret))?;
    }
    change.execute(
        "INSERT OR REPLACE INTO meta (key, value) VALUES (?1, 1)",
        [WIPE_KEY],
    )?;
    change.commit()?;
    Ok(())
}

/// Rewrites the file without its free pages, and truncates its log, if that is recorded as pending.
fn wipe(conn: &mut Connection) -> Result<(), StoreOpenError> {
    let noted = "SELECT EXISTS (SELECT 1 FROM meta WHERE key = ?1)";
    if !conn.query_row(noted, [WIPE_KEY], |row| row.get(0))? {
        return Ok(());
    }
    conn.execute_batch("VACUUM")?;
    let busy: bool = conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))?;
    // Another process is reading the file, for example for a backup: the record stays for the next start.
    if !busy {
        conn.execute("DELETE FROM meta WHERE key = ?1", [WIPE_KEY])?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connection_setup;
    use crate::connection_setup::{StoreOptions, StorePaths};
    use workgraph_testkit::ScratchFolder;

    const PLAIN: &str = "0123456789abcdef0123456789abcdef";

    /// Returns true if any file of a folder contains these bytes.
    fn shows(folder: &std::path::Path, text: &str) -> bool {
        let files = std::fs::read_dir(folder).unwrap();
        files
            .map(|file| std::fs::read(file.unwrap().path()).unwrap())
            .any(|bytes| bytes.windows(text.len()).any(|w| w == text.as_bytes()))
    }

    /// Returns a writer on a new file with fifty secrets in plain text, some of them on free pages.
    fn with_plain_secrets(folder: &std::path::Path) -> Connection {
        let conn = connection_setup::open_writer(&StorePaths::at(folder), &StoreOptions::default())
            .unwrap();
        for id in 1..=100 {
            let secret = format!("{PLAIN}{id:04}");
            let row = "INSERT INTO hook (id, user, workspace, resource, kind, target, secret, filters, created_at, seq, facts)
                       VALUES (?1, 1, 1, 1, 1, 'https://a.example/', ?2, '[]', 0, 0, 0)";
            conn.execute(row, (id, secret)).unwrap();
        }
        conn.execute("DELETE FROM hook WHERE id > 50", []).unwrap();
        let copied = "PRAGMA wal_checkpoint(PASSIVE)";
        conn.query_row(copied, [], |_| Ok(())).unwrap();
        assert!(shows(folder, PLAIN));
        conn
    }

    fn sealed(id: u64, secret: &str) -> Result<Option<String>, workgraph_webhooks::ResealError> {
        Ok(secret.starts_with(PLAIN).then(|| format!("sealed {id}")))
    }

    /// S104.
    #[test]
    fn secrets_of_older_files_are_sealed_and_what_was_there_is_wiped() {
        let folder = ScratchFolder::new("sealing");
        let mut conn = with_plain_secrets(folder.path());
        reseal(&mut conn, &mut sealed).unwrap();
        assert!(!shows(folder.path(), PLAIN), "nowhere in file or log");
        assert!(shows(folder.path(), "sealed 50"));
        let mut none = |_: u64, secret: &str| {
            assert!(secret.starts_with("sealed"));
            Ok(None)
        };
        reseal(&mut conn, &mut none).unwrap();
        let mut fails = |_: u64, _: &str| Err("no key".into());
        let failed = reseal(&mut conn, &mut fails).unwrap_err();
        assert_eq!(failed.to_string(), "no key");
    }

    #[test]
    fn the_digest_of_the_key_is_noted_once_the_secrets_are_sealed_with_it() {
        let folder = ScratchFolder::new("sealing-digest");
        let mut conn = with_plain_secrets(folder.path());
        let mut open = |fails: bool, present: Result<u64, &str>| {
            let mut seen = None;
            let mut check = |noted| {
                seen = Some(noted);
                present.map_err(Into::into)
            };
            let mut reseal = |id, secret: &str| match fails {
                true => Err("no key".into()),
                false => sealed(id, secret),
            };
            let keys = SealingKeys {
                check: Some(&mut check),
                reseal: &mut reseal,
            };
            let outcome = reseal_with(&mut conn, keys).map_err(|error| error.to_string());
            (seen.unwrap(), outcome)
        };
        let no_key = Err("no key".to_owned());
        assert_eq!(open(true, Ok(u64::MAX)), (None, no_key));
        assert_eq!(open(false, Ok(u64::MAX)), (None, Ok(())));
        let other = Err("another key".to_owned());
        assert_eq!(open(false, Err("another key")), (Some(u64::MAX), other));
        assert_eq!(open(false, Ok(7)), (Some(u64::MAX), Ok(())));
        assert_eq!(open(false, Ok(7)), (Some(7), Ok(())));
    }

    #[test]
    fn a_start_that_dies_before_the_file_is_wiped_is_finished_by_the_next_one() {
        for steps in 0..3 {
            let folder = ScratchFolder::new("sealing-dies");
            let mut conn = with_plain_secrets(folder.path());
            seal(&mut conn, &mut sealed).unwrap();
            if steps > 0 {
                conn.execute_batch("VACUUM").unwrap();
            }
            if steps > 1 {
                conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
                    .unwrap();
            }
            drop(conn);
            let mut conn = connection_setup::open_writer(
                &StorePaths::at(folder.path()),
                &StoreOptions::default(),
            )
            .unwrap();
            reseal(&mut conn, &mut sealed).unwrap();
            assert!(!shows(folder.path(), PLAIN), "after {steps} steps");
            let left: i64 = conn
                .query_row(
                    "SELECT count(*) FROM meta WHERE key = ?1",
                    [WIPE_KEY],
                    |row| row.get(0),
                )
                .unwrap();
            assert_eq!(left, 0, "the note is gone");
        }
    }

    #[test]
    fn a_reader_in_the_way_puts_the_wiping_off_until_the_next_start() {
        let folder = ScratchFolder::new("sealing-reader");
        let mut conn = with_plain_secrets(folder.path());
        let reader = Connection::open(folder.path().join("workgraph.db")).unwrap();
        reader
            .execute_batch("BEGIN; SELECT count(*) FROM hook")
            .unwrap();
        let mut rows = reader.prepare("SELECT secret FROM hook").unwrap();
        let mut rows = rows.query([]).unwrap();
        rows.next().unwrap();
        reseal(&mut conn, &mut sealed).unwrap();
        assert!(shows(folder.path(), PLAIN), "the reader still sees it");
        drop(rows);
        reader.execute_batch("ROLLBACK").unwrap();
        reseal(&mut conn, &mut sealed).unwrap();
        assert!(!shows(folder.path(), PLAIN));
    }
}
