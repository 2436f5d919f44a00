//! Continuous archives: restoring any commit of random histories, and archives that are cut off or damaged.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test ends where it fails"
)]
use std::fs;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
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
use workgraph_testkit::random_histories::cases;
use workgraph_testkit::{Fixture, ScratchFolder, SeededBytes};

const START: u64 = 1_768_469_400_000;

/// Archive that fails when it is told to, in the middle of a file, or hangs.
#[derive(Debug)]
struct FailingFolder {
    inner: ArchiveDirectory,
    /// Files that are still written; then one is cut off, and none follows.
    left: AtomicU64,
    /// True while it cannot be reached.
    is_away: AtomicBool,
    gate: Gate,
}

/// Gate at which files wait while it is closed.
#[derive(Debug, Default)]
struct Gate {
    is_closed: Mutex<bool>,
    opened: Condvar,
    waiting: AtomicU64,
}

impl Gate {
    fn close(&self) {
        *self.is_closed.lock().unwrap() = true;
    }
    fn open(&self) {
        *self.is_closed.lock().unwrap() = false;
        self.opened.notify_all();
    }
    fn pass(&self) {
        self.waiting.fetch_add(1, Ordering::SeqCst);
        let is_closed = self.is_closed.lock().unwrap();
        drop(self.opened.wait_while(is_closed, |closed| *closed).unwrap());
        self.waiting.fetch_sub(1, Ordering::SeqCst);
    }
}

const NEVER: u64 = u64::MAX / 2;

impl ArchiveFolder for FailingFolder {
    fn put(&self, name: &str, content: &mut dyn Read) -> io::Result<()> {
        self.gate.pass();
        if self.left.load(Ordering::SeqCst) == 0 {
            let path = self.inner.path().join(name);
            fs::create_dir_all(path.parent().unwrap())?;
            let mut cut = content.take(20);
            io::copy(
                &mut cut,
                &mut fs::File::create(path.with_extension("partial"))?,
            )?;
            return Err(io::Error::other("no space left"));
        }
        self.left.fetch_sub(1, Ordering::SeqCst);
        self.inner.put(name, content)
    }
    fn open(&self, name: &str) -> io::Result<Box<dyn Read>> {
        self.inner.open(name)
    }
    fn list(&self) -> io::Result<Vec<String>> {
        if self.is_away.load(Ordering::SeqCst) {
            return Err(io::Error::new(ErrorKind::NotConnected, "away"));
        }
        self.inner.list()
    }
    fn remove(&self, name: &str) -> io::Result<()> {
        self.inner.remove(name)
    }
}

/// Store with an archive, and a clock that goes when told.
struct Archived {
    data: ScratchFolder,
    archive: ScratchFolder,
    folder: Arc<FailingFolder>,
    now: Arc<AtomicU64>,
    random: SeededBytes,
    fixture: Fixture,
    workspace: Option<(Gid, Gid, Gid)>,
    copy_interval: Duration,
    retention: Duration,
    queue_bytes: u64,
}

const LONG: Duration = Duration::from_secs(1 << 40);

impl Archived {
    fn new(seed: u64) -> Self {
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

    fn open(&self) -> SqliteStore {
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

    fn below(&self, bound: u64) -> u64 {
        u64::from_le_bytes(self.random.bytes()) % bound
    }

    /// Commits something, after a random pause; returns the time.
    fn commit(&mut self, store: &SqliteStore) -> u64 {
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
            // Not every commit is one of the graph. An account that is stored again, as it is, would change nothing.
            let account = Account::new(at - START, Tier::Free);
            block_on(store.put_account(account, None)).unwrap();
        } else {
            block_on(store.commit(self.fixture.take())).unwrap();
        }
        at
    }

    fn digest(&self) -> StoreDigest {
        digest_of(self.data.path())
    }

    fn restore(&self, at: u64) -> (ScratchFolder, Result<Restored, ArchiveError>) {
        let folder = ScratchFolder::new("restored");
        let archive = ArchiveDirectory::new(self.archive.path());
        let restored = restore_archive(&archive, at, folder.path());
        (folder, restored)
    }

    /// Checks that the state at a time is the one that was there.
    fn expect(&self, at: u64, expected: &StoreDigest) -> Restored {
        let (folder, restored) = self.restore(at);
        let restored = restored.unwrap_or_else(|error| panic!("{at}: {error}"));
        assert_eq!(digest_of(folder.path()), *expected, "{at}: {restored:?}");
        restored
    }

    /// Returns the paths of the files of the archive that end so, in their order.
    fn files(&self, end: &str) -> Vec<PathBuf> {
        let names = ArchiveDirectory::new(self.archive.path()).list().unwrap();
        let mut names: Vec<String> = names
            .into_iter()
            .filter(|name| name.ends_with(end))
            .collect();
        names.sort();
        names.iter().map(|name| self.archive.join(name)).collect()
    }
}

fn digest_of(folder: &Path) -> StoreDigest {
    let store = SqliteStore::open_read_only(folder).unwrap();
    digest(&mut store.rows().unwrap()).unwrap()
}

/// S936. The long form is `just archive`.
#[test]
fn every_commit_of_a_random_history_can_be_restored() {
    for seed in 0..u64::from(cases(1)) {
        let mut archived = Archived::new(seed);
        archived.copy_interval = Duration::from_secs(40);
        let mut states = vec![];
        for _generation in 0..2 {
            let store = archived.open();
            store.archive_now().unwrap();
            for _ in 0..50 {
                let at = archived.commit(&store);
                states.push((at, archived.digest()));
                if archived.below(4) == 0 {
                    store.archive_now().unwrap();
                }
            }
        }
        assert!(
            archived.files(".snapshot.json").len() > 3,
            "copies are made on the way, too"
        );
        for (number, (at, expected)) in states.iter().enumerate() {
            let restored = archived.expect(*at, expected);
            assert_eq!(restored.at, *at, "{number}");
            assert_eq!(restored.skipped, None);
            // Until the next commit, the state stays.
            let next = states
                .get(number + 1)
                .map_or(*at + 1_000_000, |(at, _)| *at);
            if number % 10 == 0 {
                archived.expect(next - 1, expected);
            }
        }
        let (_folder, before) = archived.restore(START - 1);
        let error = before.unwrap_err().to_string();
        assert!(error.contains("does not reach so far back"), "{error}");
    }
}

/// S937.
#[test]
fn an_archiver_that_is_cut_off_at_any_file_leaves_an_archive_that_restores_what_it_had() {
    for cut in 0..8 {
        let mut archived = Archived::new(cut);
        let store = archived.open();
        store.archive_now().unwrap();
        let mut states = vec![];
        archived.folder.left.store(cut, Ordering::SeqCst);
        let mut failed = None;
        for number in 0..20 {
            states.push((archived.commit(&store), archived.digest()));
            if store.archive_now().is_err() && failed.is_none() {
                failed = Some(number);
            }
        }
        // The server goes on, and is killed: what was not archived is in no file.
        drop(store);
        let failed = failed.unwrap();
        for (at, expected) in states.iter().take(failed) {
            archived.expect(*at, expected);
        }
        // The next start goes on with another generation, which has the state as it is.
        archived.folder.left.store(NEVER, Ordering::SeqCst);
        archived.now.fetch_add(1_000, Ordering::SeqCst);
        let store = archived.open();
        store.archive_now().unwrap();
        states.push((archived.commit(&store), archived.digest()));
        drop(store);
        let (at, expected) = states.last().unwrap();
        archived.expect(*at, expected);
        for (at, expected) in states.iter().take(failed) {
            archived.expect(*at, expected);
        }
    }
}

/// S937.
#[test]
fn an_archive_that_comes_back_goes_on_where_it_was() {
    let mut archived = Archived::new(99);
    let store = archived.open();
    store.archive_now().unwrap();
    archived.folder.left.store(0, Ordering::SeqCst);
    let mut states: Vec<_> = (0..10)
        .map(|_| (archived.commit(&store), archived.digest()))
        .collect();
    assert!(
        store
            .archive_now()
            .unwrap_err()
            .to_string()
            .contains("no space left")
    );
    archived.folder.left.store(NEVER, Ordering::SeqCst);
    store.archive_now().unwrap();
    states.push((archived.commit(&store), archived.digest()));
    drop(store);
    let mut generations = vec![];
    for (at, expected) in &states {
        generations.push(archived.expect(*at, expected).generation);
    }
    generations.dedup();
    assert_eq!(generations.len(), 1, "no commit was lost");
}

/// Bytes of the log at which it starts over, as [`Archived::open`] sets them.
const WAL_LIMIT: u64 = 512 << 10;

/// S953. The log is at most four times as long as where it starts over, and a batch longer; with room in the queue it is
/// not even that.
#[test]
fn commits_do_not_wait_for_an_archive_that_hangs_and_the_log_stays_short() {
    for (queue_bytes, most) in [(64 << 20, 3 * WAL_LIMIT), (1, 6 * WAL_LIMIT)] {
        let mut archived = Archived::new(queue_bytes);
        archived.queue_bytes = queue_bytes;
        let store = archived.open();
        store.archive_now().unwrap();
        let mut states = vec![(archived.commit(&store), archived.digest())];
        let gate = Arc::clone(&archived.folder);
        gate.gate.close();
        let length = thread::scope(|scope| {
            let archiving = scope.spawn(|| store.archive_now());
            while gate.gate.waiting.load(Ordering::SeqCst) == 0 {
                thread::yield_now();
            }
            for number in 0..120 {
                let at = archived.commit(&store);
                if number % 40 == 0 {
                    states.push((at, archived.digest()));
                }
            }
            let log = archived.data.join("workgraph.db-wal");
            let length = fs::metadata(log).unwrap().len();
            gate.gate.open();
            archiving.join().unwrap().unwrap();
            length
        });
        assert!(length <= most, "{length} bytes of log, {most} at most");
        store.archive_now().unwrap();
        states.push((archived.commit(&store), archived.digest()));
        drop(store);
        let database = fs::metadata(archived.data.join("workgraph.db")).unwrap();
        assert!(database.len() > most, "{} is little", database.len());
        let (first, expected) = &states[0];
        let first = archived.expect(*first, expected).generation;
        let (last, expected) = &states[states.len() - 1];
        let last = archived.expect(*last, expected).generation;
        // Only where the queue was full the archive has a gap.
        assert_eq!(first == last, queue_bytes > 1);
        if first == last {
            for (at, expected) in &states {
                archived.expect(*at, expected);
            }
        }
    }
}

/// S954.
#[test]
fn an_archive_that_is_away_at_the_start_begins_when_it_is_there() {
    let mut archived = Archived::new(5);
    archived.folder.is_away.store(true, Ordering::SeqCst);
    let store = archived.open();
    archived.commit(&store);
    let refused = store.archive_now().unwrap_err().to_string();
    assert!(refused.contains("away"), "{refused}");
    archived.folder.is_away.store(false, Ordering::SeqCst);
    archived.now.fetch_add(10, Ordering::SeqCst);
    store.archive_now().unwrap();
    let (at, expected) = (archived.commit(&store), archived.digest());
    drop(store);
    archived.expect(at, &expected);
}

/// S938.
#[test]
fn damage_to_an_archive_is_found_and_named() {
    let mut archived = Archived::new(7);
    let store = archived.open();
    store.archive_now().unwrap();
    let mut last = 0;
    for _ in 0..6 {
        last = archived.commit(&store);
        store.archive_now().unwrap();
    }
    drop(store);
    let expected = archived.digest();
    let segments = archived.files(".segment.gz");
    assert_eq!(segments.len(), 6);
    let middle = &segments[2];
    let whole = fs::read(middle).unwrap();
    let refused = |what: &str| {
        let (folder, restored) = archived.restore(last);
        let error = restored.expect_err(what).to_string();
        assert!(!folder.join("workgraph.db").exists(), "{what}");
        error
    };
    for length in [0, 1, 19, whole.len() / 2, whole.len() - 1] {
        fs::write(middle, &whole[..length]).unwrap();
        let error = refused("cut");
        assert!(
            error.contains("0000000003.segment.gz") && error.contains("damaged"),
            "{length}: {error}"
        );
    }
    let mut unnoticed = 0;
    for at in (0..whole.len()).step_by(whole.len() / 40 + 1) {
        let mut changed = whole.clone();
        changed[at] ^= 0x10;
        fs::write(middle, &changed).unwrap();
        let (folder, restored) = archived.restore(last);
        match restored {
            Err(error) => {
                let error = error.to_string();
                assert!(error.contains("0000000003.segment.gz"), "{error}");
            }
            // Some bits of the compressed form mean nothing.
            Ok(_) => {
                assert_eq!(digest_of(folder.path()), expected, "byte {at}");
                unnoticed += 1;
            }
        }
    }
    assert!(unnoticed < 5, "{unnoticed}");
    fs::write(middle, fs::read(&segments[3]).unwrap()).unwrap();
    assert!(refused("another").contains("it is segment 4 of generation"));
    fs::remove_file(middle).unwrap();
    assert!(refused("missing").contains("0000000003.segment.gz of the archive is missing"));
    fs::write(middle, &whole).unwrap();

    let database = &archived.files(".db.gz")[0];
    let whole = fs::read(database).unwrap();
    fs::write(database, &whole[..whole.len() - 7]).unwrap();
    assert!(refused("cut copy").contains(".db.gz of the archive is damaged"));
    fs::write(database, &whole).unwrap();
    let description = &archived.files(".snapshot.json")[0];
    fs::write(description, "{}").unwrap();
    assert!(refused("description").contains("it has no generation"));
    fs::remove_file(description).unwrap();
    assert!(refused("no copy").contains("no copy of a database"));
}

/// S939.
#[test]
fn what_is_older_than_the_retention_is_removed_and_the_rest_can_be_restored() {
    let mut archived = Archived::new(3);
    archived.copy_interval = Duration::from_secs(20);
    archived.retention = Duration::from_secs(100);
    let mut states = vec![];
    for _ in 0..3 {
        let store = archived.open();
        for _ in 0..60 {
            states.push((archived.commit(&store), archived.digest()));
            store.archive_now().unwrap();
        }
    }
    let end = archived.now.load(Ordering::SeqCst) - 100_000;
    let (mut kept, mut gone) = (0, 0);
    for (number, (at, expected)) in states.iter().enumerate() {
        if *at >= end {
            archived.expect(*at, expected);
            kept += 1;
        } else if number % 4 == 0 && archived.restore(*at).1.is_err() {
            gone += 1;
        }
    }
    assert!(kept > 40 && gone > 8, "{kept} {gone}");
    let oldest = archived.files(".segment.gz").len();
    assert!(oldest < 130, "{oldest}");
}

/// S936. Without an archive nothing of it is done.
#[test]
fn a_store_without_an_archive_writes_none() {
    let archived = Archived::new(1);
    let store = SqliteStore::open(archived.data.path(), StoreOptions::default()).unwrap();
    store.archive_now().unwrap();
    assert!(archived.files("").is_empty());
    // A folder with a store is never restored into.
    let archive = ArchiveDirectory::new(archived.archive.path());
    drop(store);
    let refused = restore_archive(&archive, START, archived.data.path()).unwrap_err();
    assert!(refused.to_string().contains("exists already"), "{refused}");
}
