//! Orphaned files, which no attachment owns: files of failed or interrupted uploads, and of deleted attachments.
use crate::background_error::BackgroundError;
use crate::execute::load_view::system_query;
use crate::ports::blob_store::{BlobStore, BlobStoreError};
use crate::state::Api;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};
use workgraph_core::Gid;
use workgraph_core::model::registry::{Type, rel};
use workgraph_core::model::resources::attachment;
use workgraph_core::model::time::Time;
use workgraph_core::rules::stored_files::{self, StoredFile};
use workgraph_core::storage::change_builder::ChangeBuilder;
use workgraph_core::storage::{GraphStoreError, LinkSelector, NodeRef, alias};

/// Number of files whose owners are looked up at once.
const LOOKUP_MAX: usize = 200;

/// Maximum number of copies of an attachment that are checked; a file with more copies is kept.
const COPIES_MAX: usize = 10_000;

/// Number of files of a user or workspace, starting with the largest, that are checked when a quota is used up.
const RECLAIM_MAX: usize = 2_000;

/// Numbers of files that a sweep has removed or could not remove.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SweepCounts {
    /// Files with an owner.
    pub kept: usize,
    /// Files without an owner that were removed.
    pub removed: usize,
    /// Files that could not be removed.
    pub failed: usize,
}

impl Api {
    /// Sets the store of the files of attachments; without one, uploads fail.
    pub fn set_blob_store(&self, store: Arc<dyn BlobStore>) {
        // The first call has already set it.
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

    /// Removes files that no attachment owns, unless their upload is in progress. An attachment owns its file as long as it
    /// and its parent exist. Files whose upload began less than `min_age` ago stay, since this node does not know the
    /// uploads of other nodes.
    ///
    /// # Errors
    /// Fails when files or owners cannot be read; a file that cannot be removed is only counted.
    pub async fn sweep_attachment_files(
        &self,
        min_age: Duration,
    ) -> Result<SweepCounts, BackgroundError> {
        let store = self.blob_store()?;
        let mut counts = SweepCounts::default();
        for shard in store.used_shards().await? {
            let mut found = store.list(shard).await?;
            // An upload that has ended since then has an owner, or has failed.
            found.retain(|file| !self.pending_uploads.contains(*file));
            let age = |file: &Gid| {
                let began = UNIX_EPOCH + Duration::from_millis(file.created_ms());
                self.clock.now().duration_since(began).unwrap_or_default()
            };
            found.retain(|file| age(file) >= min_age);
            for some in found.chunks(LOOKUP_MAX) {
                let owned = self.owned_files(some).await?;
                counts.kept += owned.len();
                self.count_files(&owned).await?;
                for file in some.iter().filter(|file| !owned.contains_key(file)) {
                    match self.remove_file(*file).await {
                        Ok(()) => counts.removed += 1,
                        Err(error) => {
                            let reason = error.to_string();
                            tracing::warn!(
                                file = file.get(),
                                reason,
                                "a file could not be removed"
                            );
                            counts.failed += 1;
                        }
                    }
                }
            }
        }
        Ok(counts)
    }

    /// Removes a file if no attachment owns it; if that fails, a later sweep removes it.
    pub(super) async fn discard_file(&self, file: Gid) {
        let outcome = match self.owned_files(&[file]).await {
            Ok(owned) if owned.contains_key(&file) => return,
            Ok(_) => match self.blob_store() {
                Ok(store) => store.remove(file).await.map_err(|e| e.to_string()),
                Err(error) => Err(error.to_string()),
            },
            Err(error) => Err(error.to_string()),
        };
        if let Err(reason) = outcome {
            tracing::warn!(
                file = file.get(),
                reason,
                "the file of a failed upload could not be removed"
            );
        }
    }

    /// Removes files of a user or workspace that no attachment owns any more, checking the largest ones. Returns true if
    /// it removed any.
    ///
    /// # Errors
    /// Fails if the store fails, or a file stays.
    pub(super) async fn reclaim_files_of(&self, owner: Gid) -> Result<bool, BackgroundError> {
        let query = system_query().incoming_edges(owner, rel::STORED_FOR, RECLAIM_MAX);
        let view = self.graph.load(&query).await?;
        let stored = view.sources(owner, rel::STORED_FOR).iter();
        let mut files: Vec<Gid> = stored.filter_map(|edge| edge.aux).collect();
        files.retain(|file| !self.pending_uploads.contains(*file));
        let mut found = false;
        for some in files.chunks(LOOKUP_MAX) {
            let owned = self.owned_files(some).await?;
            for file in some.iter().filter(|file| !owned.contains_key(file)) {
                self.remove_file(*file).await?;
                found = true;
            }
        }
        Ok(found)
    }

    /// Removes a file that no attachment owns. It stops counting just before it is removed.
    async fn remove_file(&self, file: Gid) -> Result<(), BackgroundError> {
        let record = NodeRef::Alias(alias::shared_file(file));
        let query = system_query().edges(record.clone(), rel::STORED_FOR);
        let view = self.graph.load(&query).await?;
        if let Some(record) = view.resolve(&record) {
            let owners = view.links(record, rel::STORED_FOR);
            self.commit_of_files(|work| stored_files::forget(work, file, record, owners))
                .await?;
        }
        self.blob_store()?.remove(file).await?;
        Ok(())
    }

    /// Counts the given files that are not counted yet: those stored by older versions. Each file is given with the
    /// attachment that owns it.
    async fn count_files(&self, owned: &HashMap<Gid, Gid>) -> Result<(), BackgroundError> {
        let mut query = system_query();
        for (file, attachment) in owned {
            let record = NodeRef::Alias(alias::shared_file(*file));
            query = query.node(*attachment).edges(record, rel::STORED_FOR);
        }
        let view = self.graph.load(&query).await?;
        let uncounted = owned.iter().filter_map(|(file, attachment)| {
            let record = view.resolve(&NodeRef::Alias(alias::shared_file(*file)));
            let counted = record.filter(|gid| !view.links(*gid, rel::STORED_FOR).is_empty());
            let stored = StoredFile::of(view.node(*attachment)?)?;
            counted.is_none().then_some((stored, record))
        });
        let uncounted: Vec<_> = uncounted.collect();
        if uncounted.is_empty() {
            return Ok(());
        }
        self.commit_of_files(|work| {
            for (stored, record) in &uncounted {
                stored_files::count(work, stored, *record);
            }
        })
        .await
    }

    /// Commits the service's own changes to file records. If one of them was changed concurrently, the next sweep checks it
    /// again.
    async fn commit_of_files(
        &self,
        rules: impl FnOnce(&mut ChangeBuilder<'_>),
    ) -> Result<(), BackgroundError> {
        let changes = {
            let generate_gid = || self.next_gid();
            let now = Time::from_system(self.clock.now());
            let mut work = ChangeBuilder::new(None, now, &generate_gid);
            rules(&mut work);
            work.changes
        };
        match self.graph.commit(changes).await {
            Ok(_) | Err(GraphStoreError::Conflict | GraphStoreError::AliasTaken(_)) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns the files that an attachment owns, each with that attachment: the one that the file was uploaded for, or a
    /// copy of it.
    async fn owned_files(&self, files: &[Gid]) -> Result<HashMap<Gid, Gid>, GraphStoreError> {
        let attachments: Vec<_> = files.iter().map(|file| (*file, *file)).collect();
        let mut owned = self.owned_by(&attachments).await?;
        for file in files {
            if !owned.contains_key(file)
                && let Some(copy) = self.owning_copy(*file).await?
            {
                owned.insert(*file, copy);
            }
        }
        Ok(owned)
    }

    /// Returns a copy of an attachment that owns the file.
    async fn owning_copy(&self, file: Gid) -> Result<Option<Gid>, GraphStoreError> {
        let shared = NodeRef::Alias(alias::shared_file(file));
        let query = system_query().incoming_edges(shared.clone(), rel::FILE_COPIES, COPIES_MAX);
        let view = self.graph.load(&query).await?;
        let Some(shared) = view.resolve(&shared) else {
            return Ok(None);
        };
        let copies = view.sources(shared, rel::FILE_COPIES);
        if copies.len() == COPIES_MAX {
            // There are more copies than are checked.
            return Ok(copies.first().map(|edge| edge.src));
        }
        for some in copies.chunks(LOOKUP_MAX) {
            let some: Vec<_> = some.iter().map(|edge| (edge.src, file)).collect();
            if let Some(copy) = self.owned_by(&some).await?.remove(&file) {
                return Ok(Some(copy));
            }
        }
        Ok(None)
    }

    /// Returns the files owned by the attachment in their pair, each with that attachment.
    async fn owned_by(&self, pairs: &[(Gid, Gid)]) -> Result<HashMap<Gid, Gid>, GraphStoreError> {
        let parent = |attachment: Gid| {
            let parent = LinkSelector::FirstEdge(rel::ATTACHED_TO);
            NodeRef::Gid(attachment).of(parent)
        };
        let mut query = system_query();
        for (attachment, _) in pairs {
            query = query.node(*attachment).node(parent(*attachment));
        }
        let view = self.graph.load(&query).await?;
        let is_owned = |(gid, file): &(Gid, Gid)| {
            let node = view.node(*gid).filter(|node| node.ty == Type::Attachment);
            let parent = view.resolve(&parent(*gid)).and_then(|gid| view.node(gid));
            node.is_some_and(|node| node.get(attachment::FILE) == Some(*file)) && parent.is_some()
        };
        let owned = pairs.iter().filter(|pair| is_owned(pair));
        Ok(owned
            .map(|(attachment, file)| (*file, *attachment))
            .collect())
    }
}
