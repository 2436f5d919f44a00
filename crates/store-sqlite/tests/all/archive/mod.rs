//! Continuous archives: restoring any commit of random histories, and archives that are cut off or damaged.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test ends where it fails"
)]
mod archived_store;
mod failing_folder;
mod outages;

use flate2::read::GzDecoder;
use std::fs;
use std::io::Read as _;
use std::sync::atomic::Ordering;
use std::time::Duration;
use workgraph_store_sqlite::{ArchiveDirectory, SqliteStore, StoreOptions, restore_archive};
use workgraph_testkit::random_histories::cases;

use archived_store::{Archived, START, digest_of};

/// S936. The long form is `just archive`.
#[test]
fn every_commit_of_a_random_history_can_be_restored() {
    for seed in 0..u64::from(cases(1)) {
        let mut archived = Archived::new(seed);
        archived.copy_interval = Duration::from_secs(20);
        let mut states = vec![];
        for _generation in 0..2 {
            let store = archived.open();
            store.archive_now().unwrap();
            for _ in 0..25 {
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
            // The state lasts until the next commit.
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

/// Returns the content of a file of an archive, unless it is damaged.
fn decompressed(file: &[u8]) -> Option<Vec<u8>> {
    let mut content = vec![];
    let read = GzDecoder::new(file).read_to_end(&mut content);
    read.is_ok().then_some(content)
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
    let content = decompressed(&whole);
    assert!(content.is_some());
    let mut damaged = 0;
    for at in (0..whole.len()).step_by(whole.len() / 40 + 1) {
        let mut changed = whole.clone();
        changed[at] ^= 0x10;
        fs::write(middle, &changed).unwrap();
        let (folder, restored) = archived.restore(last);
        // Some bits of the compressed form have no meaning: the content is the same.
        if decompressed(&changed) == content {
            restored.unwrap();
            assert_eq!(digest_of(folder.path()), expected, "byte {at}");
        } else {
            let error = restored.expect_err("damaged").to_string();
            assert!(error.contains("0000000003.segment.gz"), "{error}");
            damaged += 1;
        }
    }
    assert!(damaged > 30, "{damaged}");
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
        for number in 0..60 {
            let at = archived.commit(&store);
            // Every third state is restored.
            if number % 3 == 0 {
                states.push((at, archived.digest()));
            }
            store.archive_now().unwrap();
        }
    }
    let end = archived.now.load(Ordering::SeqCst) - 100_000;
    let (mut kept, mut gone) = (0, 0);
    for (at, expected) in &states {
        if *at >= end {
            archived.expect(*at, expected);
            kept += 1;
        } else if archived.restore(*at).1.is_err() {
            gone += 1;
        }
    }
    assert!(kept > 13 && gone > 8, "{kept} {gone}");
    let oldest = archived.files(".segment.gz").len();
    assert!(oldest < 130, "{oldest}");
}

/// S936. Without an archive, nothing of it is done.
#[test]
fn a_store_without_an_archive_writes_none() {
    let archived = Archived::new(1);
    let store = SqliteStore::open(archived.data.path(), StoreOptions::default()).unwrap();
    store.archive_now().unwrap();
    assert!(archived.files("").is_empty());
    // A store is never restored into a folder that has one.
    let archive = ArchiveDirectory::new(archived.archive.path());
    drop(store);
    let restored = || restore_archive(&archive, START, archived.data.path());
    let refused = restored().unwrap_err();
    assert!(refused.to_string().contains("exists already"), "{refused}");
    // The log of a removed database would be read as that of the new one.
    fs::rename(
        archived.data.join("workgraph.db"),
        archived.data.join("gone"),
    )
    .unwrap();
    fs::write(archived.data.join("workgraph.db-wal"), "old pages").unwrap();
    let refused = restored().unwrap_err().to_string();
    assert!(refused.contains("workgraph.db-wal"), "{refused}");
}
