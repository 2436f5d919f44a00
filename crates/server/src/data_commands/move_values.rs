//! Private values in a move: keys and settings that are files in a data folder, and sealed rows in a database.
use crate::adapters::data_dir::{read_keys, write_private};
use crate::adapters::postgres_node::{PROOF, is_proof, proof_of};
use crate::adapters::private_values::{NAMES, file_name, open_value, seal_value};
use crate::adapters::system_clock::SystemEntropy;
use anyhow::{Context, Result, bail};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use workgraph_store_postgres::SealedValue;

/// File with the keys that seal the values in a database. Every node has a copy.
const KEYS: &str = "keys.json";

/// Returns the values of a data folder, sealed with its keys, and the proof of these keys, by which nodes with other keys
/// are recognized and refused.
///
/// # Errors
/// Fails if the keys are missing, or a file can't be read.
pub(crate) fn sealed_values(folder: &Path) -> Result<Vec<SealedValue>> {
    let path = folder.join(KEYS);
    if !path.exists() {
        bail!(
            "{}: there are no keys, without which the secrets of webhooks and the tokens of pages are lost; put the keys.json of this data there",
            path.display()
        );
    }
    let (keys, entropy) = (read_keys(&path)?, SystemEntropy::new());
    let mut values = vec![SealedValue {
        name: PROOF.into(),
        content: proof_of(&keys, &entropy)?,
    }];
    for name in NAMES {
        let path = folder.join(file_name(name));
        let named = || path.display().to_string();
        match std::fs::read_to_string(&path) {
            Ok(text) => values.push(SealedValue {
                name: name.into(),
                content: seal_value(&keys, &entropy, name, text.trim_end()).with_context(named)?,
            }),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error).with_context(named),
        }
    }
    Ok(values)
}

/// Files in a data folder for the values of a database.
#[derive(Debug)]
pub(crate) struct ValueFiles {
    files: Vec<(PathBuf, Vec<u8>)>,
    pub(crate) names: Vec<&'static str>,
}

impl ValueFiles {
    /// Opens the values of a database with the keys in the target folder, or else with the keys in a node's data folder,
    /// which are then copied.
    ///
    /// # Errors
    /// Fails if there are no keys, or they don't match the database, or the target folder already has other values.
    pub(crate) fn open(sealed: &[SealedValue], target: &Path, node: &Path) -> Result<Self> {
        let (mut files, mut names) = (Vec::new(), Vec::new());
        let find = |name: &str| sealed.iter().find(|value| value.name == name);
        let Some(proof) = find(PROOF) else {
            // No node has ever used the database.
            return Ok(Self { files, names });
        };
        let own = target.join(KEYS);
        let copied = node.join(KEYS);
        let path = if own.exists() { &own } else { &copied };
        if !path.exists() {
            bail!(
                "neither {} nor {} is there, and the database has values that are sealed with these keys; name the data folder of a node with --data, or copy its keys.json into the target folder",
                own.display(),
                copied.display()
            );
        }
        let keys = read_keys(path)?;
        if !is_proof(&keys, &proof.content) {
            bail!(
                "{}: these are not the keys of the database's nodes",
                path.display()
            );
        }
        if path == &copied {
            let bytes = std::fs::read(path).with_context(|| path.display().to_string())?;
            files.push((own.clone(), bytes));
        }
        for name in NAMES {
            let Some(value) = find(name) else { continue };
            let path = target.join(file_name(name));
            let text = open_value(&keys, name, &value.content)
                .with_context(|| format!("the value {name} in the database"))?;
            names.push(name);
            match std::fs::read_to_string(&path) {
                Ok(found) if found.trim_end() == text => {}
                Ok(_) => bail!(
                    "{}: it differs from the value in the database; take it away first",
                    path.display()
                ),
                Err(error) if error.kind() == ErrorKind::NotFound => {
                    files.push((path, text.into_bytes()));
                }
                Err(error) => return Err(error).with_context(|| path.display().to_string()),
            }
        }
        Ok(Self { files, names })
    }

    /// Writes the files.
    ///
    /// # Errors
    /// Fails if one can't be written.
    pub(crate) fn write(&self) -> Result<()> {
        self.files
            .iter()
            .try_for_each(|(path, bytes)| write_private(path, bytes))
    }
}
