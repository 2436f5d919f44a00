//! A store with an archive.
use super::failing_folder::{FailingFolder, Gate, NEVER};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use workgraph_auth::conformance::block_on;
use workgraph_auth::{Account, Tier, TokenStore};
use workgraph_core::access::Role;
use workgraph_core::model::gid::Gid;
use workgraph_core::storage::GraphStore;
use workgraph_rows::{StoreDigest, digest};
use workgraph_store_sqlite::{
    ArchiveDirectory, ArchiveError, ArchiveFolder, ArchiveOptions, Restored, SqliteStore,
    StoreOptions, restore_archive,
};
use workgraph_testkit::{Fixture, ScratchFolder, SeededBytes};

/// Time at which the clock of a store starts, in milliseconds.
pub(crate) const START: u64 = 1_768_469_400_000;

/// Store with an archive, and a clock that the test advances.
pub(crate) struct Archived {
    pub(crate) data: ScratchFolder,
    pub(crate) archive: ScratchFolder,
    pub(crate) folder: Arc<FailingFolder>,
    pub(crate) now: Arc<AtomicU64>,
    pub(crate) random: SeededBytes,
    pub(crate) fixture: Fixture,
    pub(crate) workspace: Option<(Gid, Gid, Gid)>,
    pub(crate) copy_interval: Duration,
    pub(crate) retention: Duration,
    pub(crate) queue_bytes: u64,
}

pub(crate) const LONG: Duration = Duration::from_secs(1 << 40);

impl Archived {
    pub(crate) fn new(seed: u64) -> Self {
        let (data, archive) = (
            ScratchFolder::new("archived"),
            ScratchFolder::new("archive"),
        );
        let inner = ArchiveDirectory::new(archive.path());
        Self {
            folder: Arc::new(FailingFolder {
                inner,
                left: AtomicU64::new(NEVER),
                is_away: AtomicBool::new(false),
                gate: Gate::default(),
            }),
            queue_bytes: 64 << 20,
            data,
            archive,
            now: Arc::new(AtomicU64::new(START)),
            random: SeededBytes::new(seed),
            fixture: Fixture::default(),
            workspace: None,
            copy_interval: LONG,
            retention: LONG,
        }
    }

    pub(crate) fn open(&self) -> SqliteStore {
        let now = Arc::clone(&self.now);
        let archive = ArchiveOptions {
            folder: self.folder.clone(),
            interval: Duration::from_secs(3600),
            copy_interval: self.copy_interval,
            retention: self.retention,
            queue_bytes: self.queue_bytes,
            now: Arc::new(move || now.load(Ordering::SeqCst)),
        };
        // The log is checkpointed and starts over every few commits.
        let options = StoreOptions {
            checkpoint_bytes: 64 << 10,
            wal_limit_bytes: 512 << 10,
            ..StoreOptions::default()
        };
        SqliteStore::open_archived(self.data.path(), options, Some(archive), &mut |_, _| {
            Ok(None)
        })
        .unwrap()
    }

    pub(crate) fn below(&self, bound: u64) -> u64 {
        u64::from_le_bytes(self.random.bytes()) % bound
    }

    /// Makes a commit, after a random pause; returns the time.
    pub(crate) fn commit(&mut self, store: &SqliteStore) -> u64 {
        let pause = self.below(3_000);
        let at = self.now.fetch_add(pause + 1, Ordering::SeqCst) + pause + 1;
        match self.workspace {
            None => {
                let workspace = self.fixture.workspace("Company");
                let user = self.fixture.member(workspace, "Ada", Role::Member);
                let project = self.fixture.project(workspace, "Plan", user);
                self.workspace = Some((workspace, user, self.fixture.section_in(project)));
            }
            Some((workspace, user, section)) => {
                for number in 0..=self.below(8) {
                    let name = format!(
                        "Task {number} {}",
                        "long ".repeat(self.below(2_000) as usize)
                    );
                    if self.below(2) == 0 {
                        self.fixture.task_in(section, &name, user);
                    } else {
                        self.fixture.task(workspace, &name, user);
                    }
                }
            }
        }
        if self.below(5) == 0 {
            // Not every commit is one of the graph. Storing an account again unchanged would change nothing.
            let account = Account::new(at - START, Tier::DEFAULT);
            block_on(store.put_account(account, None)).unwrap();
        } else {
            block_on(store.commit(self.fixture.take())).unwrap();
        }
        at
    }

    pub(crate) fn digest(&self) -> StoreDigest {
        digest_of(self.data.path())
    }

    pub(crate) fn restore(&self, at: u64) -> (ScratchFolder, Result<Restored, ArchiveError>) {
        let folder = ScratchFolder::new("restored");
        let archive = ArchiveDirectory::new(self.archive.path());
        let restored = restore_archive(&archive, at, folder.path());
        (folder, restored)
    }

    /// Checks that the restored state at a time equals the original one.
    pub(crate) fn expect(&self, at: u64, expected: &StoreDigest) -> Restored {
        let (folder, restored) = self.restore(at);
        let restored = restored.unwrap_or_else(|error| panic!("{at}: {error}"));
        assert_eq!(digest_of(folder.path()), *expected, "{at}: {restored:?}");
        restored
    }

    /// Returns the paths of the archive files with this suffix, in their order.
    pub(crate) fn files(&self, end: &str) -> Vec<PathBuf> {
        let names = ArchiveDirectory::new(self.archive.path()).list().unwrap();
        let mut names: Vec<String> = names
            .into_iter()
            .filter(|name| name.ends_with(end))
            .collect();
        names.sort();
        names.iter().map(|name| self.archive.join(name)).collect()
    }
}

pub(crate) fn digest_of(folder: &Path) -> StoreDigest {
    let store = SqliteStore::open_read_only(folder).unwrap();
    digest(&mut store.rows().unwrap()).unwrap()
}
