//! The owner of a bucket: the only database whose files are in it, below its prefix.
//!
//! A server removes files that its own database does not know. So an object in the bucket contains the id of the owner, and
//! nothing is stored or swept until that is the id of this server. A server with its own database has the id of its data
//! folder; servers that share a database must share an id.
use super::client::BucketClient;
use crate::adapters::data_dir::write_private;
use crate::adapters::system_clock::{hex, random};
use anyhow::{Context, Result, bail};
use std::fmt;
use std::path::Path;
use tokio::sync::OnceCell;
use workgraph_api::Entropy;

/// Name of the object that identifies the owner, below the prefix.
const OBJECT: &str = "workgraph-owner";
/// Name of the file in the data folder that contains its id.
const FILE: &str = "bucket-owner";

/// The owner that a bucket must have for this server.
pub(super) struct BucketOwner {
    id: String,
    claimed: OnceCell<()>,
}

/// Error of a bucket with another owner.
#[derive(Debug)]
pub(crate) struct OwnedByAnother {
    object: String,
    found: String,
    own: String,
}

impl fmt::Display for OwnedByAnother {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { object, found, own } = self;
        write!(
            f,
            "bucket.prefix: the files of another server are there, which would lose them to this one: the object {object} names the owner {found}, and this one is {own} (the file {FILE} of the data folder). Set another prefix or bucket; if this server replaces that one, delete the object"
        )
    }
}

impl std::error::Error for OwnedByAnother {}

/// Returns the id of a data folder as the owner of a bucket; it is created when it is first requested.
///
/// # Errors
/// Fails if the folder can't be read or written.
pub(crate) fn owner_id(folder: &Path, entropy: &dyn Entropy) -> Result<String> {
    let path = folder.join(FILE);
    if !path.exists() {
        let id = hex(&random::<16>(entropy)?);
        write_private(&path, id.as_bytes())?;
    }
    let id = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    let id = id.trim().to_owned();
    if id.is_empty() {
        bail!("{}: the file is empty", path.display());
    }
    Ok(id)
}

impl BucketOwner {
    /// Makes an owner from the id of a data folder or a database.
    pub(super) fn new(id: String) -> Self {
        let claimed = OnceCell::new();
        Self { id, claimed }
    }

    /// Claims the bucket once: the first server to do so owns it.
    ///
    /// # Errors
    /// Fails with [`OwnedByAnother`] if another server did, or if the bucket does not answer.
    pub(super) async fn claim(&self, client: &BucketClient) -> Result<()> {
        let claim = self.claimed.get_or_try_init(|| async {
            if client.text(&client.own_key(OBJECT)).await?.is_none() {
                client.put_new(&client.own_key(OBJECT), &self.id).await?;
            }
            self.check(client).await
        });
        claim.await.copied()
    }

    /// Checks that this server still owns the bucket: of two servers that claim it at the same time, one may see the other's
    /// claim only later.
    ///
    /// # Errors
    /// Fails with [`OwnedByAnother`] if it does not, or if the bucket does not answer.
    pub(super) async fn check(&self, client: &BucketClient) -> Result<()> {
        let object = client.own_key(OBJECT);
        let found = client.text(&object).await?;
        let found = found.with_context(|| format!("the object {object} is gone"))?;
        if found.trim() == self.id {
            return Ok(());
        }
        Err(OwnedByAnother {
            object,
            // Foreign content may have any length.
            found: found.trim().chars().take(64).collect(),
            own: self.id.clone(),
        }
        .into())
    }
}
