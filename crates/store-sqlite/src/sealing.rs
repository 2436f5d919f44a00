//! Secrets of webhooks that are to be kept in another form from now on.
use crate::error::OpenError;
use rusqlite::{Connection, TransactionBehavior};

/// Says in which form the secret of a webhook is kept from now on; none if as it is.
pub type Reseal<'r> = dyn FnMut(u64, &str) -> Result<Option<String>, String> + 'r;

/// Key in `meta` while the file may still hold secrets in a form that is given up.
const WIPE_KEY: &str = "wipe_secrets";

/// Gives every secret its form, in one transaction, and rewrites the file and its log without what was there before.
///
/// Dying after any step leaves a file that the next start finishes with. Copies that were made of the file (backups,
/// snapshots of the disk, blocks that the file system gave back) keep what they have.
pub(crate) fn reseal(conn: &mut Connection, reseal: &mut Reseal<'_>) -> Result<(), OpenError> {
    seal(conn, reseal)?;
    wipe(conn)
}

/// Gives every secret its form, and notes in the same commit that the file is to be rewritten.
fn seal(conn: &mut Connection, reseal: &mut Reseal<'_>) -> Result<(), OpenError> {
    let mut changed = Vec::new();
    {
        let mut all = conn.prepare("SELECT id, secret FROM hook")?;
        let mut rows = all.query([])?;
        while let Some(row) = rows.next()? {
            let (id, secret): (i64, String) = (row.get(0)?, row.get(1)?);
            let sealed = reseal(u64::try_from(id).unwrap_or_default(), &secret);
            changed.extend(sealed.map_err(OpenError::Secrets)?.map(|new| (id, new)));
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

/// Writes the file anew, free pages left out, and cuts its log, if it was noted.
fn wipe(conn: &mut Connection) -> Result<(), OpenError> {
    let noted = "SELECT EXISTS (SELECT 1 FROM meta WHERE key = ?1)";
    if !conn.query_row(noted, [WIPE_KEY], |row| row.get(0))? {
        return Ok(());
    }
    conn.execute_batch("VACUUM")?;
    let busy: bool = conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))?;
    // Somebody reads the file, such as a backup: the note stays for the next start.
    if !busy {
        conn.execute("DELETE FROM meta WHERE key = ?1", [WIPE_KEY])?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connect::{self, Files, Options};
    use workgraph_testkit::Scratch;

    const PLAIN: &str = "0123456789abcdef0123456789abcdef";

    /// Whether any file of a folder has these bytes.
    fn shows(folder: &std::path::Path, text: &str) -> bool {
        let files = std::fs::read_dir(folder).unwrap();
        files
            .map(|file| std::fs::read(file.unwrap().path()).unwrap())
            .any(|bytes| bytes.windows(text.len()).any(|w| w == text.as_bytes()))
    }

    /// A writer on a new file that keeps fifty plain secrets, some of them on pages that are free by now.
    fn with_plain_secrets(folder: &std::path::Path) -> Connection {
        let conn = connect::writer(&Files::at(folder), &Options::default()).unwrap();
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

    fn sealed(id: u64, secret: &str) -> Result<Option<String>, String> {
        Ok(secret.starts_with(PLAIN).then(|| format!("sealed {id}")))
    }

    /// S104.
    #[test]
    fn secrets_of_older_files_are_sealed_and_what_was_there_is_wiped() {
        let folder = Scratch::new("sealing");
        let mut conn = with_plain_secrets(folder.path());
        reseal(&mut conn, &mut sealed).unwrap();
        assert!(!shows(folder.path(), PLAIN), "nowhere in file or log");
        assert!(shows(folder.path(), "sealed 50"));
        let mut none = |_: u64, secret: &str| {
            assert!(secret.starts_with("sealed"));
            Ok(None)
        };
        reseal(&mut conn, &mut none).unwrap();
        let mut fails = |_: u64, _: &str| Err("no key".to_owned());
        assert!(reseal(&mut conn, &mut fails).is_err());
    }

    #[test]
    fn a_start_that_dies_before_the_file_is_wiped_is_finished_by_the_next_one() {
        for steps in 0..3 {
            let folder = Scratch::new("sealing-dies");
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
            let mut conn = connect::writer(&Files::at(folder.path()), &Options::default()).unwrap();
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
        let folder = Scratch::new("sealing-reader");
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
