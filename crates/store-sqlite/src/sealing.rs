//! Secrets of webhooks that are to be kept in another form from now on.
use crate::error::OpenError;
use rusqlite::{Connection, TransactionBehavior};

/// Says in which form the secret of a webhook is kept from now on; none if as it is.
pub type Reseal<'r> = dyn FnMut(u64, &str) -> Result<Option<String>, String> + 'r;

/// Gives every secret its form, in one transaction, and wipes the ones before from the file and its log.
pub(crate) fn reseal(conn: &mut Connection, reseal: &mut Reseal<'_>) -> Result<(), OpenError> {
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
    // What a row was before is overwritten with zeros; this answers with a row.
    conn.pragma_update_and_check(None, "secure_delete", true, |_| Ok(()))?;
    let change = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
    for (id, secret) in changed {
        change.execute("UPDATE hook SET secret = ?2 WHERE id = ?1", (id, secret))?;
    }
    change.commit()?;
    // The log may still have pages from before. Whoever is reading the file now keeps it from being cut, until the
    // next time it starts over.
    conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
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

    /// S104.
    #[test]
    fn secrets_of_older_files_are_sealed_and_what_was_there_is_wiped() {
        let folder = Scratch::new("sealing");
        let (files, options) = (Files::at(folder.path()), Options::default());
        let mut conn = connect::writer(&files, &options).unwrap();
        for id in 1..=50 {
            let secret = format!("{PLAIN}{id:04}");
            let row = "INSERT INTO hook (id, user, workspace, resource, kind, target, secret, filters, created_at, seq, facts)
                       VALUES (?1, 1, 1, 1, 1, 'https://a.example/', ?2, '[]', 0, 0, 0)";
            conn.execute(row, (id, secret)).unwrap();
        }
        let copied = "PRAGMA wal_checkpoint(PASSIVE)";
        conn.query_row(copied, [], |_| Ok(())).unwrap();
        assert!(shows(folder.path(), PLAIN));
        let mut seal =
            |id: u64, secret: &str| Ok(secret.starts_with(PLAIN).then(|| format!("sealed {id}")));
        reseal(&mut conn, &mut seal).unwrap();
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
}
