//! Private values of a store: keys and settings that all its nodes share.
//!
//! If the process has the store to itself, they are files in the data folder. Nodes that share a database keep them in it,
//! sealed with the keys of `keys.json`, which each node has in its own data folder.
use crate::adapters::data_dir::write_private;
use crate::adapters::system_clock::random;
use anyhow::{Context, Result};
use std::path::PathBuf;
use std::sync::Arc;
use workgraph_api::Entropy;
use workgraph_store_postgres::Database;
use workgraph_store_postgres::server_nodes::shared_values;
use workgraph_wire::{KeyRing, sealed_secret};

/// Value with its version.
pub(crate) struct PrivateValue {
    /// Version for [`PrivateValues::replace`]; `None` for files, which no other process writes.
    pub(crate) version: Option<u64>,
    pub(crate) text: String,
}

/// Private values of a store.
#[derive(Clone)]
pub(crate) enum PrivateValues {
    /// Files in a data folder.
    Folder(PathBuf),
    /// Rows of a database.
    Shared(SharedValues),
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
                    Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
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
