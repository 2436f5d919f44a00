//! The data folder and its small files.
use crate::adapters::system_clock::hex;
use crate::adapters::system_clock::random;
use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;
use workgraph_api::Entropy;
use workgraph_wire::KeyRing;

/// Creates the folder, accessible only to its owner, if it does not exist. The store in it holds the lock.
///
/// # Errors
/// Fails if it can't be created, or if it exists and other users can write to it.
pub(crate) fn create_data_dir(path: &Path) -> Result<()> {
    if path.is_dir() {
        return require_unwritable_by_others(path, "the data folder", "700");
    }
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
        .with_context(|| format!("{}: the data folder can't be made", path.display()))
}

/// Name of the folder of `--shared-files` in messages.
pub(crate) const SHARED_FILES: &str = "the folder of the files that nodes share (--shared-files)";

/// Checks that other users of this machine can't write to a folder, which messages call `named`.
///
/// # Errors
/// Names the mode to set with `chmod` if they can; fails if the mode can't be read.
pub(crate) fn require_unwritable_by_others(
    path: &Path,
    named: &str,
    right_mode: &str,
) -> Result<()> {
    if mode(path)? & OTHERS_WRITE != 0 {
        bail!(
            "{}: other users of this machine can write to {named}, and so change what the server trusts; run `chmod {right_mode}` on it",
            path.display()
        );
    }
    Ok(())
}

/// Bits of a file mode: write for others; write for the group; all rights of group and others.
const OTHERS_WRITE: u32 = 0o002;
const GROUP_WRITES: u32 = 0o020;
const OTHERS: u32 = 0o077;

fn mode(path: &Path) -> Result<u32> {
    let found = std::fs::metadata(path).with_context(|| path.display().to_string())?;
    Ok(found.permissions().mode())
}

/// Returns a warning if users other than its owner can access the folder. Volumes are often created for a group that only
/// the server is in, so a group with write access is no error.
///
/// # Errors
/// Fails if its mode can't be read.
pub(crate) fn warning(path: &Path) -> Result<Option<&'static str>> {
    let mode = mode(path)?;
    Ok(if mode & GROUP_WRITES != 0 {
        Some(
            "the group of the data folder can write to it, and so change what the server trusts: have nobody else in that group, or run `chmod 700` on it",
        )
    } else if mode & OTHERS != 0 {
        Some(
            "other users of this machine can enter the data folder, which holds keys: run `chmod 700` on it",
        )
    } else {
        None
    })
}

/// Writes a file that only its owner may read, completely or not at all.
///
/// # Errors
/// Fails if it can't be written.
pub(crate) fn write_private(path: &Path, bytes: &[u8]) -> Result<()> {
    replace_file(path, bytes)
        .with_context(|| format!("{}: the file can't be written", path.display()))
}

fn replace_file(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let draft = path.with_extension("new");
    // A leftover file would keep its mode.
    if draft.exists() {
        std::fs::remove_file(&draft)?;
    }
    let mut file = OpenOptions::new()
        .create_new(true)
        .write(true)
        .mode(0o600)
        .open(&draft)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    std::fs::rename(&draft, path)?;
    let folder = path
        .parent()
        .filter(|p| !p.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    File::open(folder)?.sync_all()
}

/// Keys that seal page tokens, in the format of `keys.json`.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PageTokenKeyFile {
    current: u16,
    /// 64 hexadecimal digits each.
    keys: BTreeMap<u16, String>,
    #[serde(default)]
    retired: Vec<u16>,
}

/// Returns the keys in the folder; they are created at the first start.
///
/// # Errors
/// Fails if the file can't be read or written, or is damaged.
pub(crate) fn keys(folder: &Path, entropy: &dyn Entropy) -> Result<KeyRing> {
    let path = folder.join("keys.json");
    if !path.exists() {
        let keys = PageTokenKeyFile {
            current: 1,
            keys: BTreeMap::from([(1, hex(&random::<32>(entropy)?))]),
            retired: Vec::new(),
        };
        write_private(&path, &serde_json::to_vec_pretty(&keys)?)?;
    }
    read_keys(&path)
}

/// Returns the keys of a file.
///
/// # Errors
/// Fails if the file can't be read, or is damaged.
pub(crate) fn read_keys(path: &Path) -> Result<KeyRing> {
    parse_keys(path).with_context(|| path.display().to_string())
}

fn parse_keys(path: &Path) -> Result<KeyRing> {
    let file: PageTokenKeyFile = serde_json::from_slice(&std::fs::read(path)?)?;
    let key = |kid: u16| {
        file.keys
            .get(&kid)
            .and_then(|t| unhex(t))
            .context("a key is missing or garbled")
    };
    let mut seen = BTreeSet::new();
    for kid in file.keys.keys() {
        let bytes = key(*kid)?;
        if bytes.iter().collect::<BTreeSet<_>>().len() < 8 {
            bail!("a key is not random");
        }
        if !seen.insert(bytes) {
            bail!("two keys are the same");
        }
    }
    let mut ring = KeyRing::new(file.current, key(file.current)?);
    for kid in file.keys.keys().filter(|k| **k != file.current) {
        ring.add(*kid, key(*kid)?)?;
    }
    for kid in &file.retired {
        ring.retire(*kid)?;
    }
    Ok(ring)
}

fn unhex(text: &str) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    if text.len() != 64 || !text.is_ascii() {
        return None;
    }
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(at * 2..at * 2 + 2)?, 16).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapters::system_clock::SystemEntropy;

    #[test]
    fn keys_are_made_once_and_are_the_owners_alone() {
        let path = std::env::temp_dir().join(format!("workgraph-folder-{}", std::process::id()));
        create_data_dir(&path).unwrap();
        create_data_dir(&path).unwrap();
        let entropy = SystemEntropy::new();
        assert_eq!(keys(&path, &entropy).unwrap().current(), 1);
        let before = std::fs::read(path.join("keys.json")).unwrap();
        keys(&path, &entropy).unwrap();
        assert_eq!(std::fs::read(path.join("keys.json")).unwrap(), before);
        let mode = std::fs::metadata(path.join("keys.json"))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
        std::fs::write(path.join("keys.json"), "{\"current\":2,\"keys\":{}}").unwrap();
        assert!(keys(&path, &entropy).is_err());
        std::fs::remove_dir_all(&path).unwrap();
    }

    /// S125.
    #[test]
    fn a_folder_that_others_can_write_to_is_refused_and_one_they_can_enter_is_told() {
        let path = std::env::temp_dir().join(format!("workgraph-mode-{}", std::process::id()));
        create_data_dir(&path).unwrap();
        assert_eq!(
            (mode(&path).unwrap() & 0o777, warning(&path).unwrap()),
            (0o700, None)
        );
        for (mode, made, warned) in [
            (0o700, true, None),
            (0o750, true, Some("can enter")),
            (0o755, true, Some("can enter")),
            (0o770, true, Some("group")),
            (0o2775, true, Some("group")),
            (0o707, false, Some("can enter")),
            (0o777, false, Some("group")),
        ] {
            let mode = std::fs::Permissions::from_mode(mode);
            std::fs::set_permissions(&path, mode.clone()).unwrap();
            let outcome = create_data_dir(&path);
            assert_eq!(outcome.is_ok(), made, "{mode:?} {outcome:?}");
            let found = warning(&path).unwrap();
            assert_eq!(found.is_some(), warned.is_some(), "{mode:?} {found:?}");
            let words = warned.unwrap_or_default();
            assert!(
                found.unwrap_or_default().contains(words),
                "{mode:?} {found:?}"
            );
            if let Err(error) = outcome {
                assert!(error.to_string().contains("chmod 700"), "{error}");
            }
        }
        std::fs::remove_dir_all(&path).unwrap();
    }

    /// B55. Keys are created at the first start; keys from elsewhere are only accepted if they can
    /// be valid.
    #[test]
    fn keys_that_can_be_no_good_are_refused() {
        let path = std::env::temp_dir().join(format!("workgraph-keys-{}", std::process::id()));
        create_data_dir(&path).unwrap();
        let entropy = SystemEntropy::new();
        let good = hex(&random::<32>(&entropy).unwrap());
        let other = hex(&random::<32>(&entropy).unwrap());
        let read = |text: &str| {
            std::fs::write(path.join("keys.json"), text).unwrap();
            keys(&path, &entropy).map(|ring| ring.current())
        };
        let zero = "0".repeat(64);
        let file = |keys: &str| format!("{{\"current\":1,\"keys\":{{{keys}}}}}");
        assert_eq!(
            read(&file(&format!("\"1\":\"{good}\",\"2\":\"{other}\""))).unwrap(),
            1
        );
        for (keys, reason) in [
            (String::new(), "missing"),
            (format!("\"2\":\"{good}\""), "missing"),
            ("\"1\":\"\"".to_owned(), "garbled"),
            (format!("\"1\":\"{}\"", &good[..62]), "garbled"),
            (format!("\"1\":\"{good}00\""), "garbled"),
            (
                format!(
                    "\"1\":\"{}\"",
                    good.replace(|c: char| c.is_ascii_digit(), "z")
                ),
                "garbled",
            ),
            (format!("\"1\":\"{zero}\""), "not random"),
            (format!("\"1\":\"{}\"", "abcd".repeat(16)), "not random"),
            (format!("\"1\":\"{good}\",\"2\":\"{good}\""), "the same"),
        ] {
            let answer = format!("{:#}", read(&file(&keys)).unwrap_err());
            assert!(answer.contains("keys.json: "), "{keys}: {answer}");
            assert!(answer.contains(reason), "{keys}: {answer}");
            assert!(!answer.contains(&good), "{answer}");
        }
        std::fs::remove_dir_all(&path).unwrap();
    }
}
