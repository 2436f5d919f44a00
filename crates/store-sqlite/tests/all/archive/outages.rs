//! Archives that are interrupted, cannot be reached, or hang.
use super::archived_store::Archived;
use super::failing_folder::NEVER;
use std::fs;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

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
        // The server continues, and is killed: commits that were not archived are in no file.
        drop(store);
        let failed = failed.unwrap();
        for (at, expected) in states.iter().take(failed) {
            archived.expect(*at, expected);
        }
        // The next start begins another generation, which has the current state.
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

#[test]
fn the_lag_of_an_archive_is_the_time_since_it_had_every_commit() {
    let mut archived = Archived::new(7);
    let store = archived.open();
    store.archive_now().unwrap();
    let stats = || store.stats().unwrap().archive.unwrap();
    let clock = Arc::clone(&archived.now);
    let pass = |seconds: u64| clock.fetch_add(seconds * 1_000, Ordering::SeqCst);
    assert_eq!(
        (stats().lag, stats().failures, stats().waiting_bytes),
        (Duration::ZERO, 0, 0)
    );
    pass(5);
    assert_eq!(stats().lag, Duration::from_secs(5));
    store.archive_now().unwrap();
    assert_eq!(stats().lag, Duration::ZERO);
    archived.folder.left.store(0, Ordering::SeqCst);
    archived.commit(&store);
    let before = stats().lag;
    assert!(store.archive_now().is_err() && store.archive_now().is_err());
    assert_eq!((stats().lag, stats().failures), (before, 2));
    assert!(stats().waiting_bytes > 0);
    archived.folder.left.store(NEVER, Ordering::SeqCst);
    store.archive_now().unwrap();
    assert_eq!((stats().lag, stats().waiting_bytes), (Duration::ZERO, 0));
}

/// Bytes of the log at which it starts over, as [`Archived::open`] sets them.
const WAL_LIMIT: u64 = 512 << 10;

/// S953. The log is at most four times as long as the length at which it starts over, plus one batch; with room in the queue it
/// stays shorter.
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
        // The archive has a gap only if the queue was full.
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
