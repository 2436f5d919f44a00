//! The store: opening, loading, committing, reading the journal.
use crate::archive::{ArchiveOptions, ArchiveStats, Archiver, ArchiverThread};
use crate::cache::{EpochCache, StoreCaches};
use crate::connection_setup::{StoreOptions, StorePaths};
use crate::folder_lock::FolderLock;
use crate::open_error::{StoreOpenError, failed};
use crate::reader_pool::ReaderPool;
use crate::secret_resealing::{KeyCheck, SealingKeys};
use crate::statements::Sql;
use crate::tables::audit_log_table::HandleActor;
use crate::tables::search_index;
use crate::token_alias::TokenAlias;
use crate::transaction::graph_writes::FLOOR;
use crate::transaction::{SqliteTransaction, maybe_gid, maybe_seq, seq};
use crate::wal_checkpoint::{WalCheckpointer, WalMonitor};
use crate::writer::{self, Writer};
use crate::{build_flags, connection_setup, secret_resealing};
use async_trait::async_trait;
use rusqlite::Row;
use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;
use workgraph_auth::SecretDigest;
use workgraph_core::access::Viewer;
use workgraph_core::audit::{AuditQuery, AuditRow};
use workgraph_core::journal::stored_form;
use workgraph_core::model::gid::Gid;
use workgraph_core::model::time::Time;
use workgraph_core::storage::snapshot::Snapshot;
use workgraph_core::storage::{
    Changes, CommitReceipt, EventPage, EventQuery, GraphStore, GraphStoreError, JournalEntry,
    ReadQuery, ReadView, Seq, ViewerKey,
};
use workgraph_core::{MaybeInterrupt, engine};
use workgraph_webhooks::Reseal;

/// Graph, journal and tokens in one SQLite file that only this process writes. A clone is another handle on the same store, which
/// is closed with the last handle.
#[derive(Clone, Debug)]
pub struct SqliteStore {
    inner: Arc<SharedStore>,
    /// Actor of this handle, for the audit log.
    pub(crate) actor: HandleActor,
}

impl Deref for SqliteStore {
    type Target = SharedStore;
    fn deref(&self) -> &SharedStore {
        &self.inner
    }
}

/// State shared by the handles on a store.
#[derive(Debug)]
pub struct SharedStore {
    // Dropped in this order: waiting work is written first, the lock is released last.
    pub(crate) writer: Writer,
    archive: Option<ArchiverThread>,
    _checkpoints: Option<WalCheckpointer>,
    pub(crate) readers: Arc<ReaderPool>,
    pub(crate) files: StorePaths,
    pub(crate) options: StoreOptions,
    /// Other digests of tokens, if the store is a copy.
    token_aliases: Vec<TokenAlias>,
    /// Lock on the folder. A copy takes it in its preparation.
    _lock: Option<FolderLock>,
}

impl SharedStore {
    /// Returns a store that has neither a thread nor a lock of its own.
    pub(crate) fn without_threads(
        writer: Writer,
        readers: Arc<ReaderPool>,
        (files, options): (StorePaths, StoreOptions),
        token_aliases: Vec<TokenAlias>,
        lock: Option<FolderLock>,
    ) -> Self {
        Self {
            writer,
            archive: None,
            _checkpoints: None,
            readers,
            files,
            options,
            token_aliases,
            _lock: lock,
        }
    }
}

/// Figures of a store for its operators.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StoreStats {
    /// Sequence number of the last commit.
    pub seq: Seq,
    /// Bytes of the write-ahead log on disk.
    pub wal_bytes: u64,
    /// Bytes of the database on disk.
    pub database_bytes: u64,
    /// Figures of the continuous archive, if there is one.
    pub archive: Option<ArchiveStats>,
}

impl SqliteStore {
    /// Opens the store in a folder (or a file that ends in `.db` or `.sqlite`), and creates it if it does not exist. No other
    /// process may have it open.
    ///
    /// # Errors
    /// Fails if another process has it open, if the file belongs to another program or a newer version, or if it cannot
    /// be read or written.
    pub fn open(path: impl AsRef<Path>, options: StoreOptions) -> Result<Self, StoreOpenError> {
        Self::open_resealed(path, options, &mut |_, _| Ok(None))
    }

    /// Opens the store, and converts the secrets of webhooks with `reseal`, each by its id. The old secrets are removed
    /// from the file.
    ///
    /// # Errors
    /// Fails as [`open`](Self::open) does, and if `reseal` fails.
    pub fn open_resealed(
        path: impl AsRef<Path>,
        options: StoreOptions,
        reseal: &mut Reseal<'_>,
    ) -> Result<Self, StoreOpenError> {
        Self::open_archived(path, options, None, reseal)
    }

    /// Opens the store as [`open_resealed`](Self::open_resealed) does, with a continuous archive.
    ///
    /// # Errors
    /// Fails as [`open`](Self::open) does, if `reseal` fails, and if the archive cannot be begun.
    pub fn open_archived(
        path: impl AsRef<Path>,
        options: StoreOptions,
        archive: Option<ArchiveOptions>,
        reseal: &mut Reseal<'_>,
    ) -> Result<Self, StoreOpenError> {
        let caches = StoreCaches::new(&options);
        let keys = SealingKeys {
            check: None,
            reseal,
        };
        Self::open_with(path.as_ref(), options, caches, archive, keys)
    }

    /// Opens the store as [`open_archived`](Self::open_archived) does, if `check` accepts the digest of the key that last
    /// sealed its secrets: `check` gets the digest, or `None` if the file has none yet, and returns the digest to store. It
    /// is called before anything is resealed.
    ///
    /// # Errors
    /// Fails as [`open_archived`](Self::open_archived) does, and if `check` fails.
    pub fn open_sealed(
        path: impl AsRef<Path>,
        options: StoreOptions,
        archive: Option<ArchiveOptions>,
        check: &mut KeyCheck<'_>,
        reseal: &mut Reseal<'_>,
    ) -> Result<Self, StoreOpenError> {
        let caches = StoreCaches::new(&options);
        let keys = SealingKeys {
            check: Some(check),
            reseal,
        };
        Self::open_with(path.as_ref(), options, caches, archive, keys)
    }

    /// Archives all commits from before this call; does nothing without an archive.
    ///
    /// # Errors
    /// Fails if the archive cannot be written.
    pub fn archive_now(&self) -> Result<(), GraphStoreError> {
        let archive = self.archive.as_ref();
        let done = archive.map_or(Ok(()), ArchiverThread::archive_now);
        done.map_err(GraphStoreError::Failed)
    }

    /// Opens the store with its caches.
    pub(crate) fn open_with(
        path: &Path,
        options: StoreOptions,
        caches: StoreCaches,
        archive: Option<ArchiveOptions>,
        keys: SealingKeys<'_, '_, '_>,
    ) -> Result<Self, StoreOpenError> {
        connection_setup::check_version()?;
        let files = StorePaths::at(path);
        let lock = files.lock()?;
        // First the connection that creates the tables, if they are new; the writer opens its own.
        let mut first = connection_setup::open_writer(&files, &options)?;
        build_flags::log_missing(&first)?;
        search_index::rebuild(&first).map_err(StoreOpenError::SearchIndex)?;
        secret_resealing::reseal_with(&mut first, keys)?;
        let clock = writer::commit_clock(&first)?;
        let first = options.single_connection.then_some(first);
        // Before anything can be checkpointed.
        let archiver = archive
            .map(|archive| Archiver::open(&files, &options, archive))
            .transpose()?
            .map(Arc::new);
        let checkpoints = (options.checkpoints && !options.single_connection)
            .then(|| WalCheckpointer::start(&files, &options, archiver.clone()))
            .transpose()?;
        let watch = WalMonitor::new(checkpoints.as_ref(), &options);
        let readers = Arc::new(ReaderPool::new(files.clone(), options, caches));
        if let Some(first) = first {
            readers.adopt(first)?;
        }
        let writer = Writer::start(
            &files,
            &options,
            Arc::clone(&readers),
            watch,
            archiver.clone(),
            clock,
        )?;
        let archive = archiver
            .map(|archiver| ArchiverThread::start(&files.database, archiver))
            .transpose()?;
        let inner = Arc::new(SharedStore {
            writer,
            archive,
            _checkpoints: checkpoints,
            readers,
            files,
            options,
            token_aliases: Vec::new(),
            _lock: Some(lock),
        });
        Ok(Self::over(inner))
    }

    /// Returns a handle for nobody in particular.
    pub(crate) fn over(inner: Arc<SharedStore>) -> Self {
        let actor = HandleActor::default();
        Self { inner, actor }
    }

    /// Returns the highest gid in use: new ones must be above it.
    ///
    /// # Errors
    /// Fails if the file cannot be read.
    pub fn max_gid(&self) -> Result<Option<Gid>, GraphStoreError> {
        self.readers.read(|tx| {
            let mut most = tx
                .one(Sql::GetMeta, [FLOOR], |row| maybe_gid(row, 0))
                .map_err(failed)?
                .flatten();
            for sql in [
                Sql::MaxNode,
                Sql::MaxToken,
                Sql::MaxApp,
                Sql::MaxGrant,
                Sql::MaxHook,
            ] {
                let used = tx.one(sql, [], |row| maybe_gid(row, 0));
                most = most.max(used.map_err(failed)?.flatten());
            }
            Ok(most)
        })
    }

    /// Returns the figures of the store.
    ///
    /// # Errors
    /// Fails if the file cannot be read.
    pub fn stats(&self) -> Result<StoreStats, GraphStoreError> {
        let seq = self.readers.read(|tx| tx.seq())?;
        Ok(StoreStats {
            seq,
            wal_bytes: self.files.wal_bytes(),
            database_bytes: self.files.database_bytes(),
            archive: self.archive.as_ref().map(ArchiverThread::stats),
        })
    }

    /// Returns the digest under which a token is stored.
    pub(crate) fn stored_digest(&self, digest: &SecretDigest) -> SecretDigest {
        let mut aliases = self.token_aliases.iter();
        let alias = aliases.find(|alias| alias.given == *digest);
        alias.map_or(*digest, |alias| alias.stored)
    }
}

/// Returns the viewer from the cache, or computes it from the snapshot and caches it.
fn viewer(
    cache: &EpochCache<ViewerKey, Arc<Viewer>>,
    tx: &mut SqliteTransaction<'_>,
    key: ViewerKey,
    epoch: u64,
) -> Result<Arc<Viewer>, GraphStoreError> {
    if let Some(viewer) = cache.get(&key, epoch) {
        return Ok(viewer);
    }
    let viewer = Arc::new(engine::viewer(tx, key)?);
    cache.put(key, Arc::clone(&viewer), epoch);
    Ok(viewer)
}

fn event(row: &Row<'_>) -> rusqlite::Result<Option<JournalEntry>> {
    let facts = stored_form::read(row.get_ref(3)?.as_str()?);
    let nodes = stored_form::read_nodes(row.get_ref(4)?.as_str()?);
    let (seq, actor) = (seq(row, 0)?, maybe_gid(row, 2)?);
    let at = Time::from_millis(row.get(1)?);
    Ok(facts.zip(nodes).map(|(facts, nodes)| JournalEntry {
        seq,
        time: at,
        actor,
        change_records: facts,
        node_contexts: nodes,
    }))
}

/// Returns the commits that a statement selects.
fn commits(
    tx: &mut SqliteTransaction<'_>,
    sql: Sql,
    params: impl rusqlite::Params,
) -> Result<Vec<JournalEntry>, GraphStoreError> {
    let mut events = Vec::new();
    let each = |row: &Row<'_>| event(row).map(|e| events.push(e));
    tx.each(sql, params, each).map_err(failed)?;
    let whole: Option<Vec<JournalEntry>> = events.into_iter().collect();
    whole.ok_or_else(|| {
        GraphStoreError::Failed("the journal has an entry that cannot be read".into())
    })
}

/// Converts a number to SQLite's integer, clamped to `i64::MAX`.
fn bound(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

#[async_trait]
impl GraphStore for SqliteStore {
    async fn load(&self, query: &ReadQuery) -> Result<ReadView, GraphStoreError> {
        // The epoch comes before the snapshot; see [`EpochCache`](crate::cache::EpochCache).
        let readers = self.readers.current();
        let viewers = &readers.caches.viewers;
        let epoch = viewers.epoch();
        readers.read_under(query.interrupt.clone(), |tx| {
            let viewer = viewer(viewers, tx, query.viewer, epoch)?;
            engine::load::load(tx, query, viewer)
        })
    }

    async fn viewer(&self, key: ViewerKey) -> Result<Arc<Viewer>, GraphStoreError> {
        let readers = self.readers.current();
        let viewers = &readers.caches.viewers;
        let epoch = viewers.epoch();
        match viewers.get(&key, epoch) {
            Some(viewer) => Ok(viewer),
            None => readers.read(|tx| viewer(viewers, tx, key, epoch)),
        }
    }

    async fn commit(&self, changes: Changes) -> Result<CommitReceipt, GraphStoreError> {
        self.writer.commit(changes).await
    }

    fn version(&self) -> Option<u64> {
        Some(self.readers.version())
    }

    async fn changed(&self, since: u64) {
        self.readers.changed(since).await;
    }

    async fn journal_entries(
        &self,
        after: Seq,
        limit: usize,
    ) -> Result<Vec<JournalEntry>, GraphStoreError> {
        let params = (bound(after), bound(limit as u64));
        self.readers.read(|tx| commits(tx, Sql::Events, params))
    }

    async fn events_about(
        &self,
        ask: EventQuery,
        interrupt: MaybeInterrupt,
    ) -> Result<EventPage, GraphStoreError> {
        self.readers.read_under(interrupt, |tx| {
            let last = tx.seq()?;
            let first = tx
                .one(Sql::FirstSeq, [], |row| maybe_seq(row, 0))
                .map_err(failed)?
                .flatten();
            let end = ask.after.saturating_add(ask.scan as u64).min(last);
            let params = (
                bound(ask.after),
                bound(end),
                ask.about.to_string(),
                bound(ask.limit as u64),
            );
            let events = commits(tx, Sql::Feed, params)?;
            let full = events.last().filter(|_| events.len() >= ask.limit);
            Ok(EventPage {
                upto: full.map_or(end, |e| e.seq).max(ask.after),
                last,
                pruned: first.map_or(last, |n| n.saturating_sub(1)),
                events,
            })
        })
    }

    async fn audit_rows(
        &self,
        ask: AuditQuery,
        interrupt: MaybeInterrupt,
    ) -> Result<Vec<AuditRow>, GraphStoreError> {
        self.readers.read_under(interrupt, |tx| tx.audited(&ask))
    }

    async fn prune_journal(
        &self,
        before: Time,
        upto: Seq,
        limit: usize,
    ) -> Result<usize, GraphStoreError> {
        let done = self.writer.work(move |tx| {
            let read =
                |e: rusqlite::Error| workgraph_auth::AuthStoreError::Unavailable(e.to_string());
            let last = tx
                .seq()
                .map_err(|e| workgraph_auth::AuthStoreError::Unavailable(e.to_string()))?;
            let upto = upto.min(last.saturating_sub(1));
            // Rows are dropped only from the front, so that the numbers have no gaps.
            let mut gone = None;
            let oldest = (bound(upto), bound(limit as u64));
            let old = |row: &Row<'_>| {
                let (seq, at): (i64, i64) = (row.get(0)?, row.get(1)?);
                let old = at < before.millis();
                gone = if old { Some(seq) } else { gone };
                Ok(old)
            };
            tx.each_while(Sql::OldestCommits, oldest, old)
                .map_err(read)?;
            match gone {
                Some(seq) => tx.run(Sql::Prune, [seq]).map_err(read),
                None => Ok(0),
            }
        });
        done.await
            .map_err(|e| GraphStoreError::Failed(e.to_string()))
    }
}

#[cfg(test)]
mod tests;
