//! Files without an owner: those of uploads that failed or were cut off, and of attachments that were deleted.
use crate::background_error::BackgroundError;
use crate::execute::load_view::system_query;
use crate::ports::blob_store::{BlobStore, BlobStoreError, SHARDS};
use crate::state::Api;
use std::collections::HashSet;
use std::sync::Arc;
use workgraph_core::Gid;
use workgraph_core::model::registry::{Type, rel};
use workgraph_core::model::resources::attachment;
use workgraph_core::storage::{GraphStoreError, LinkSelector, NodeRef};

/// Files whose owners are looked up at once.
const LOOKUP_MAX: usize = 200;

/// Counts of a sweep.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SweepCounts {
    /// Files that have an owner.
    pub kept: usize,
    /// Files that were removed.
    pub removed: usize,
    /// Files that could not be removed.
    pub failed: usize,
}

impl Api {
    /// Sets the store of the files of attachments; without one, uploads fail.
    pub fn set_blob_store(&self, store: Arc<dyn BlobStore>) {
        // The first caller has set it.
        let _second = self.blob_store.set(store);
    }

    /// Returns the store of the files of attachments.
    ///
    /// # Errors
    /// Fails if there is none.
    pub fn blob_store(&self) -> Result<&Arc<dyn BlobStore>, BlobStoreError> {
        let store = self.blob_store.get();
        store.ok_or_else(|| BlobStoreError("there is no store of files".to_owned()))
    }

    /// Removes files that no attachment owns, unless their upload is under way. An attachment owns its file while it
    /// and its parent exist.
    ///
    /// # Errors
    /// Fails when files or owners cannot be read; a file that cannot be removed is only counted.
    pub async fn sweep_attachment_files(&self) -> Result<SweepCounts, BackgroundError> {
        let store = self.blob_store()?;
        let mut counts = SweepCounts::default();
        for shard in 0..SHARDS {
            let shard = u8::try_from(shard).unwrap_or(u8::MAX);
            let mut found = store.list(shard).await?;
            // An upload that ended since has an owner, or has failed.
            found.retain(|file| !self.pending_uploads.contains(*file));
            for some in found.chunks(LOOKUP_MAX) {
                let owned = self.owned_files(some).await?;
                counts.kept += owned.len();
                for file in some.iter().filter(|file| !owned.contains(file)) {
                    match store.remove(*file).await {
                        Ok(()) => counts.removed += 1,
                        Err(error) => {
                            let why = error.to_string();
                            tracing::warn!(file = file.get(), why, "a file stays");
                            counts.failed += 1;
                        }
                    }
                }
            }
        }
        Ok(counts)
    }

    /// Removes a file if no attachment owns it; if that fails, a sweep removes it later.
    pub(super) async fn discard_file(&self, file: Gid) {
        let outcome = match self.owned_files(&[file]).await {
            Ok(owned) if owned.contains(&file) => return,
            Ok(_) => match self.blob_store() {
                Ok(store) => store.remove(file).await.map_err(|e| e.to_string()),
                Err(error) => Err(error.to_string()),
            },
            Err(error) => Err(error.to_string()),
        };
        if let Err(why) = outcome {
            tracing::warn!(file = file.get(), why, "the file of a failed upload stays");
        }
    }

    /// Returns those of the files that an attachment owns.
    async fn owned_files(&self, files: &[Gid]) -> Result<HashSet<Gid>, GraphStoreError> {
        let parent = |file: Gid| {
            let parent = LinkSelector::FirstEdge(rel::ATTACHED_TO);
            NodeRef::Gid(file).of(parent)
        };
        let mut query = system_query();
        for file in files {
            query = query.node(*file).node(parent(*file));
        }
        let view = self.graph.load(&query).await?;
        let is_owned = |file: Gid| {
            let node = view.node(file).filter(|node| node.ty == Type::Attachment);
            let parent = view.resolve(&parent(file)).and_then(|gid| view.node(gid));
            node.is_some_and(|node| node.get(attachment::FILE) == Some(file)) && parent.is_some()
        };
        Ok(files
            .iter()
            .copied()
            .filter(|file| is_owned(*file))
            .collect())
    }
}
