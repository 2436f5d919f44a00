//! Private values of a store: keys and settings that all its nodes share.
//!
//! If the process has the store to itself, they are files in the data folder. Nodes that share a database keep them in it,
//! sealed with the keys of `keys.json`, which each node has in its own data folder. The worlds of a stand-in, which end with
//! the process, keep them in memory.
use crate::adapters::data_dir::write_private;
use crate::adapters::system_clock::random;
use anyhow::{Context, Result, bail};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::Arc;
use workgraph_api::Entropy;
use workgraph_store_postgres::Database;
use workgraph_store_postgres::server_nodes::shared_values;
use workgraph_wire::{KeyRing, sealed_secret};

/// Private value, with the version that it was read at.
pub(crate) struct PrivateValue {
    /// Version for [`PrivateValues::replace`]; `None` for files, which no other process writes.
    pub(crate) version: Option<u64>,
    pub(crate) text: String,
}

/// Store of private values: files, a database, or memory.
#[derive(Clone)]
pub(crate) enum PrivateValues {
    /// Files in a data folder.
    Folder(PathBuf),
    /// Rows of a database.
    Shared(SharedValues),
    /// Values in the memory of the process.
    Memory(Arc<MemoryValues>),
}

/// Texts of all values of a store, by their names.
pub(crate) type ValueTexts = Arc<BTreeMap<&'static str, String>>;

/// Names of the values: the key that signs checkpoints of the audit log, the id that claims a bucket, limits that were changed
/// while a server ran, and the keys that sign id_tokens.
pub(crate) const NAMES: [&str; 4] = ["audit-key", "bucket-owner", "limits", "signing-keys"];

/// Store of values in memory.
#[derive(Debug)]
pub(crate) struct MemoryValues(Mutex<MemoryState>);

#[derive(Debug)]
struct MemoryState {
    texts: ValueTexts,
    /// Number of changes since the beginning.
    changes: u64,
}

impl MemoryValues {
    /// Returns values that begin with these.
    pub(crate) fn new(texts: ValueTexts) -> Self {
        Self(Mutex::new(MemoryState { texts, changes: 0 }))
    }

    fn read(&self, name: &str) -> Option<String> {
        self.0.lock().texts.get(name).cloned()
    }

    fn replace(&self, name: &str, text: &str) -> Result<()> {
        let name = NAMES.into_iter().find(|known| *known == name);
        let name = name.context("there is no such value")?;
        let mut state = self.0.lock();
        Arc::make_mut(&mut state.texts).insert(name, text.to_owned());
        state.changes += 1;
        Ok(())
    }
}

/// Values in a database that nodes share.
#[derive(Clone)]
pub(crate) struct SharedValues {
    pub(crate) database: Database,
    pub(crate) keys: KeyRing,
    pub(crate) entropy: Arc<dyn Entropy>,
}

impl PrivateValues {
    /// Returns true if other nodes share the values.
    pub(crate) fn are_shared(&self) -> bool {
        matches!(self, Self::Shared(_))
    }

    /// Returns the name of a value for messages.
    pub(crate) fn describe(&self, name: &str) -> String {
        match self {
            Self::Folder(folder) => folder.join(file_name(name)).display().to_string(),
            Self::Shared(_) => format!("the value {name} in the database"),
            Self::Memory(_) => format!("the value {name} of the world"),
        }
    }

    /// Returns a value, if it exists.
    ///
    /// # Errors
    /// Fails if the value can't be read, or was sealed with other keys.
    pub(crate) async fn read(&self, name: &str) -> Result<Option<PrivateValue>> {
        let read = async {
            match self {
                Self::Folder(folder) => match std::fs::read_to_string(folder.join(file_name(name)))
                {
                    Ok(text) => Ok(Some(PrivateValue {
                        version: None,
                        text,
                    })),
                    Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
                    Err(e) => Err(e.into()),
                },
                Self::Shared(shared) => {
                    let Some(found) = shared_values::read(&shared.database, name).await? else {
                        return Ok(None);
                    };
                    Ok(Some(PrivateValue {
                        version: Some(found.version),
                        text: open_value(&shared.keys, name, &found.content)?,
                    }))
                }
                Self::Memory(values) => Ok(values.read(name).map(|text| PrivateValue {
                    version: None,
                    text,
                })),
            }
        };
        let read: Result<_> = read.await;
        read.with_context(|| self.describe(name))
    }

    /// Replaces the version of a value that was read, or creates it if that is `None`. Returns false if another node has
    /// written it since.
    ///
    /// # Errors
    /// Fails if the value can't be written.
    pub(crate) async fn replace(
        &self,
        name: &str,
        version: Option<u64>,
        text: &str,
    ) -> Result<bool> {
        match self {
            Self::Folder(folder) => {
                write_private(&folder.join(file_name(name)), text.as_bytes())?;
                Ok(true)
            }
            Self::Shared(shared) => {
                let sealed = seal_value(&shared.keys, &*shared.entropy, name, text)?;
                let replaced = shared_values::replace(&shared.database, name, version, sealed);
                replaced.await.with_context(|| self.describe(name))
            }
            Self::Memory(values) => {
                let replaced = values.replace(name, text);
                replaced.with_context(|| self.describe(name))?;
                Ok(true)
            }
        }
    }

    /// Returns the texts of all values.
    ///
    /// # Errors
    /// Fails if a value can't be read.
    pub(crate) async fn texts(&self) -> Result<ValueTexts> {
        if let Self::Memory(values) = self {
            return Ok(Arc::clone(&values.0.lock().texts));
        }
        let mut texts = BTreeMap::new();
        for name in NAMES {
            let value = self.read(name).await?;
            texts.extend(value.map(|value| (name, value.text)));
        }
        Ok(Arc::new(texts))
    }

    /// Returns a text that differs between any two states of the values.
    ///
    /// # Errors
    /// Fails if the folder can't be read, or other nodes share the values.
    pub(crate) fn state_version(&self) -> Result<String> {
        match self {
            // Each value is replaced by a new file, which changes the folder.
            Self::Folder(folder) => {
                let named = || folder.display().to_string();
                let changed = std::fs::metadata(folder).with_context(named)?.modified()?;
                Ok(format!("{changed:?}"))
            }
            Self::Memory(values) => Ok(values.0.lock().changes.to_string()),
            Self::Shared(_) => bail!("other nodes change the values"),
        }
    }
}

/// Returns the file name of a value in a data folder.
pub(crate) fn file_name(name: &str) -> String {
    match name {
        "bucket-owner" => name.to_owned(),
        _ => format!("{name}.json"),
    }
}

/// Returns a value in the form stored in a database.
///
/// # Errors
/// Fails without random bytes, and if the value is too long.
pub(crate) fn seal_value(
    keys: &KeyRing,
    entropy: &dyn Entropy,
    name: &str,
    text: &str,
) -> Result<String> {
    let sealed = sealed_secret::seal(keys, random(entropy)?, &owner(name), text);
    sealed.context("the value is too long to be sealed")
}

/// Opens a value from a database.
///
/// # Errors
/// Fails if the value was sealed with other keys.
pub(crate) fn open_value(keys: &KeyRing, name: &str, sealed: &str) -> Result<String> {
    Ok(sealed_secret::open(keys, &owner(name), sealed)?)
}

/// Returns the owner that a sealed value is bound to.
fn owner(name: &str) -> String {
    format!("shared value {name}")
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn text(values: &PrivateValues, name: &str) -> Option<String> {
        let value = values.read(name).await.unwrap();
        value.map(|value| value.text)
    }

    #[tokio::test]
    async fn values_in_memory_are_copied_from_a_folder_and_each_copy_changes_alone() {
        let folder = workgraph_testkit::ScratchFolder::new("private-values");
        let files = PrivateValues::Folder(folder.path().to_owned());
        assert!(files.replace("limits", None, "{}").await.unwrap());
        let copy = |texts| PrivateValues::Memory(Arc::new(MemoryValues::new(texts)));
        let first = copy(files.texts().await.unwrap());
        let second = copy(first.texts().await.unwrap());
        let before = first.state_version().unwrap();
        assert_eq!(before, second.state_version().unwrap());
        assert!(first.replace("limits", None, "own").await.unwrap());
        assert_ne!(before, first.state_version().unwrap());
        assert_eq!(text(&first, "limits").await.as_deref(), Some("own"));
        for other in [&files, &second] {
            assert_eq!(text(other, "limits").await.as_deref(), Some("{}"));
            assert_eq!(text(other, "audit-key").await, None);
        }
        assert!(first.replace("unknown", None, "").await.is_err());
    }
}
