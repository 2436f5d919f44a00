//! The store: opening, loading, committing, reading the journal.
use crate::audit::By;
use crate::change::FLOOR;
use crate::checkpoint::{Checkpoints, Watch};
use crate::connect::{self, Files, Options};
use crate::error::{OpenError, failed};
use crate::facts;
use crate::readers::Readers;
use crate::sealing::{self, Reseal};
use crate::search;
use crate::session::{Session, maybe_gid, maybe_seq, seq};
use crate::sql::Sql;
use crate::writer::{Caches, Writer};
use async_trait::async_trait;
use rusqlite::Row;
use std::fs::File;
use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;
use workgraph_core::MaybeInterrupt;
use workgraph_core::access::Viewer;
use workgraph_core::audit::{Ask, Row as AuditRow};
use workgraph_core::gid::Gid;
use workgraph_core::graph::{
    Changes, Committed, Event, Fed, Feed, GraphStore, Seq, StoreError, View, ViewerKey, Want,
};
use workgraph_core::load;
use workgraph_core::snapshot::Snapshot;
use workgraph_core::time::Time;

/// The most viewers, and the most tokens, that are remembered.
const REMEMBERED: usize = 10_000;

/// A graph, its journal and its tokens in one SQLite file that this process alone writes. A clone is
/// another handle on the same store, which is closed with the last one.
#[derive(Clone, Debug)]
pub struct SqliteStore {
    inner: Arc<Inner>,
    /// Who acts through this handle, for the audit log.
    pub(crate) by: By,
}

impl Deref for SqliteStore {
    type Target = Inner;
    fn deref(&self) -> &Inner {
        &self.inner
    }
}

/// What the handles on a store share.
#[derive(Debug)]
pub struct Inner {
    // Dropped in this order: what waits is written first, the lock goes last.
    pub(crate) writer: Writer,
    _checkpoints: Option<Checkpoints>,
    pub(crate) readers: Arc<Readers>,
    pub(crate) caches: Arc<Caches>,
    pub(crate) files: Files,
    pub(crate) options: Options,
    _lock: File,
}

/// How a store is doing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stats {
    /// The last commit.
    pub seq: Seq,
    /// Bytes of the write-ahead log on disk.
    pub wal_bytes: u64,
}

impl SqliteStore {
    /// Opens the store in a folder (or a file that ends in `.db` or `.sqlite`), and makes it if
    /// there is none. No other process may have it open.
    ///
    /// # Errors
    /// When another process has it open, the file is not ours or of a newer version, or it cannot
    /// be read or written.
    pub fn open(path: impl AsRef<Path>, options: Options) -> Result<Self, OpenError> {
        Self::open_resealed(path, options, &mut |_, _| Ok(None))
    }

    /// Opens the store, and gives the secrets of webhooks the form that `reseal` says, by the id of each. Nothing of what
    /// was there before is left in the file.
    ///
    /// # Errors
    /// As for [`open`](Self::open); also when `reseal` fails.
    pub fn open_resealed(
        path: impl AsRef<Path>,
        options: Options,
        reseal: &mut Reseal<'_>,
    ) -> Result<Self, OpenError> {
        connect::check_version()?;
        let files = Files::at(path.as_ref());
        let lock = files.lock()?;
        // First the connection that makes the tables, if they are new; the writer opens its own.
        let mut first = connect::writer(&files, &options)?;
        search::make(&first).map_err(OpenError::Cards)?;
        sealing::reseal(&mut first, reseal)?;
        drop(first);
        let caches = Arc::new(Caches::new(REMEMBERED));
        let checkpoints = options
            .checkpoints
            .then(|| Checkpoints::start(&files, &options))
            .transpose()?;
        let watch = Watch::new(checkpoints.as_ref(), &options);
        let readers = Arc::new(Readers::new(files.clone(), options));
        let writer = Writer::start(
            &files,
            &options,
            Arc::clone(&caches),
            Arc::clone(&readers),
            watch,
        )?;
        let inner = Arc::new(Inner {
            writer,
            _checkpoints: checkpoints,
            readers,
            caches,
            files,
            options,
            _lock: lock,
        });
        let by = By::default();
        Ok(Self { inner, by })
    }

    /// The highest gid that is in use anywhere: new ones must be above it.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn max_gid(&self) -> Result<Option<Gid>, StoreError> {
        self.readers.read(|session| {
            let mut most = session
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
                let used = session.one(sql, [], |row| maybe_gid(row, 0));
                most = most.max(used.map_err(failed)?.flatten());
            }
            Ok(most)
        })
    }

    /// How the store is doing.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn stats(&self) -> Result<Stats, StoreError> {
        let seq = self.readers.read(|session| session.seq())?;
        Ok(Stats {
            seq,
            wal_bytes: self.files.wal_bytes(),
        })
    }

    /// The viewer from memory, or worked out from the snapshot and remembered.
    fn viewer(
        &self,
        session: &mut Session<'_>,
        key: ViewerKey,
        epoch: u64,
    ) -> Result<Arc<Viewer>, StoreError> {
        if let Some(viewer) = self.caches.viewers.get(&key, epoch) {
            return Ok(viewer);
        }
        let viewer = Arc::new(load::viewer(session, key)?);
        self.caches.viewers.put(key, Arc::clone(&viewer), epoch);
        Ok(viewer)
    }
}

fn event(row: &Row<'_>) -> rusqlite::Result<Option<Event>> {
    let facts = facts::read(row.get_ref(3)?.as_str()?);
    let nodes = facts::read_nodes(row.get_ref(4)?.as_str()?);
    let (seq, actor) = (seq(row, 0)?, maybe_gid(row, 2)?);
    let at = Time::from_millis(row.get(1)?);
    Ok(facts.zip(nodes).map(|(facts, nodes)| Event {
        seq,
        at,
        actor,
        facts,
        nodes,
    }))
}

/// The commits that a statement gives.
fn commits(
    session: &mut Session<'_>,
    sql: Sql,
    params: impl rusqlite::Params,
) -> Result<Vec<Event>, StoreError> {
    let mut events = Vec::new();
    let each = |row: &Row<'_>| event(row).map(|e| events.push(e));
    session.each(sql, params, each).map_err(failed)?;
    let whole: Option<Vec<Event>> = events.into_iter().collect();
    whole.ok_or_else(|| StoreError::Failed("the journal has an entry that cannot be read".into()))
}

/// A number as SQLite takes it; more than it can take is as good as the most.
fn bound(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

#[async_trait]
impl GraphStore for SqliteStore {
    async fn load(&self, want: &Want) -> Result<View, StoreError> {
        // The epoch comes before the snapshot; see Cache.
        let epoch = self.caches.viewers.epoch();
        self.readers.read_under(want.interrupt.clone(), |session| {
            let viewer = self.viewer(session, want.viewer, epoch)?;
            load::load(session, want, viewer)
        })
    }

    async fn commit(&self, changes: Changes) -> Result<Committed, StoreError> {
        self.writer.commit(changes).await
    }

    fn version(&self) -> Option<u64> {
        Some(self.readers.version())
    }

    async fn changed(&self, since: u64) {
        self.readers.changed(since).await;
    }

    async fn events(&self, after: Seq, limit: usize) -> Result<Vec<Event>, StoreError> {
        let params = (bound(after), bound(limit as u64));
        self.readers
            .read(|session| commits(session, Sql::Events, params))
    }

    async fn feed(&self, ask: Feed, interrupt: MaybeInterrupt) -> Result<Fed, StoreError> {
        self.readers.read_under(interrupt, |session| {
            let last = session.seq()?;
            let first = session
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
            let events = commits(session, Sql::Feed, params)?;
            let full = events.last().filter(|_| events.len() >= ask.limit);
            Ok(Fed {
                upto: full.map_or(end, |e| e.seq).max(ask.after),
                last,
                pruned: first.map_or(last, |n| n.saturating_sub(1)),
                events,
            })
        })
    }

    async fn audited(
        &self,
        ask: Ask,
        interrupt: MaybeInterrupt,
    ) -> Result<Vec<AuditRow>, StoreError> {
        self.readers
            .read_under(interrupt, |session| session.audited(&ask))
    }

    async fn prune(&self, before: Time, upto: Seq, limit: usize) -> Result<usize, StoreError> {
        let done = self.writer.work(move |session| {
            let read = |e: rusqlite::Error| workgraph_auth::StoreError::Unavailable(e.to_string());
            let last = session
                .seq()
                .map_err(|e| workgraph_auth::StoreError::Unavailable(e.to_string()))?;
            let upto = upto.min(last.saturating_sub(1));
            // Only from the front: numbers keep without gaps.
            let mut gone = None;
            let oldest = (bound(upto), bound(limit as u64));
            let old = |row: &Row<'_>| {
                let (seq, at): (i64, i64) = (row.get(0)?, row.get(1)?);
                let old = at < before.millis();
                gone = if old { Some(seq) } else { gone };
                Ok(old)
            };
            session
                .each_while(Sql::OldestCommits, oldest, old)
                .map_err(read)?;
            match gone {
                Some(seq) => session.run(Sql::Prune, [seq]).map_err(read),
                None => Ok(0),
            }
        });
        done.await.map_err(|e| StoreError::Failed(e.to_string()))
    }
}
