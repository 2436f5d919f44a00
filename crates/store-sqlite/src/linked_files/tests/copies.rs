//! Copies that read through their source until their first write.
use super::*;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::UNIX_EPOCH;
use workgraph_auth::{SecretDigest, TokenRecord};
use workgraph_core::model::gid::Gid;
use workgraph_core::storage::snapshot::{Depth, Snapshot};

/// Returns checks of keys that accept every file and count their calls.
fn counted(calls: &Arc<AtomicU64>) -> (Box<KeyCheck<'static>>, Box<Reseal<'static>>) {
    let calls = Arc::clone(calls);
    let check = move |_| {
        calls.fetch_add(1, Ordering::Relaxed);
        Ok(7)
    };
    (Box::new(check), Box::new(|_, _| Ok(None)))
}

/// Opens a closed store as a source.
fn source_of(from: &ScratchFolder) -> SqliteStore {
    let opened = SqliteStore::open_source(from.path(), StoreOptions::default());
    let (source, method) = opened.unwrap();
    assert_eq!(method, CopyMethod::Linked);
    source
}

/// Opens a copy of a source in a new folder, with a counter of the checks of its keys.
fn copy_of(source: &SqliteStore) -> (ScratchFolder, SqliteStore, Arc<AtomicU64>) {
    let (folder, calls) = (ScratchFolder::new("copy-of"), Arc::<AtomicU64>::default());
    let path = folder.join("own");
    let opened = SqliteStore::open_copy(source, path, single(), Vec::new(), counted(&calls));
    (folder, opened.unwrap(), calls)
}

#[test]
fn a_copy_reads_through_its_source_until_its_first_write_and_then_in_its_own_database() {
    let (from, mut fixture) = base();
    let before = fs::read(from.join("workgraph.db")).unwrap();
    let source = source_of(&from);
    let (folder, written, calls) = copy_of(&source);
    let (_other, unwritten, _) = copy_of(&source);
    assert_eq!((count(&written), count(&unwritten)), (1, 1));
    assert_eq!(written.max_gid(), source.max_gid());
    assert!(!folder.join("own").exists(), "a copy has no files yet");
    assert_eq!(calls.load(Ordering::Relaxed), 0);
    for at in 2..4 {
        add(&written, &mut fixture, "own");
        assert_eq!((count(&written), count(&unwritten)), (at, 1));
        assert_eq!(count(&source), 1);
        assert_eq!(
            calls.load(Ordering::Relaxed),
            1,
            "only the first write prepares"
        );
    }
    written.close_idle_connections();
    assert_eq!(count(&written), 3);
    assert!(matches!(
        SqliteStore::lock_folder(folder.join("own")),
        Err(StoreOpenError::Locked(_))
    ));
    drop(written);
    let again = SqliteStore::open(folder.join("own"), single()).unwrap();
    assert_eq!(count(&again), 3);
    let refused = block_on(source.commit(fixture.clone().take()));
    assert!(refused.unwrap_err().to_string().contains("closed"));
    assert!(fs::read(from.join("workgraph.db")).unwrap() == before);
}

#[test]
fn a_copy_whose_keys_are_refused_is_not_written_and_still_reads_its_source() {
    let (from, mut fixture) = base();
    let source = source_of(&from);
    let folder = ScratchFolder::new("refused");
    let mut refusals = 1;
    let check: Box<KeyCheck<'static>> = Box::new(move |_| match refusals {
        0 => Ok(7),
        _ => {
            refusals -= 1;
            Err("other keys".into())
        }
    });
    let keys = (
        check,
        Box::new(|_: u64, _: &str| Ok(None)) as Box<Reseal<'static>>,
    );
    let opened = SqliteStore::open_copy(&source, folder.path(), single(), Vec::new(), keys);
    let store = opened.unwrap();
    fixture.workspace("own");
    let changes = fixture.take();
    let refused = block_on(store.commit(changes.clone()))
        .unwrap_err()
        .to_string();
    assert!(refused.contains("other keys"), "{refused}");
    assert_eq!(count(&store), 1);
    block_on(store.commit(changes)).unwrap();
    assert_eq!((count(&store), count(&source)), (2, 1));
}

#[test]
fn a_copy_whose_files_cannot_be_made_is_not_written_and_the_next_write_tries_again() {
    let (from, fixture) = base();
    let source = source_of(&from);
    let (folder, store, calls) = copy_of(&source);
    let refused = |blocked: &str| {
        let mut fixture = fixture.clone();
        fixture.workspace("own");
        let error = block_on(store.commit(fixture.take())).unwrap_err();
        assert!(error.to_string().contains(blocked), "{error}");
        assert_eq!((count(&store), calls.load(Ordering::Relaxed)), (1, 0));
    };
    fs::write(folder.join("own"), "a file").unwrap();
    refused("own");
    fs::remove_file(folder.join("own")).unwrap();
    fs::create_dir(folder.join("own")).unwrap();
    fs::write(folder.join("own/workgraph.db"), "another database").unwrap();
    refused("exists already");
    let kept = fs::read_to_string(folder.join("own/workgraph.db"));
    assert_eq!(kept.unwrap(), "another database");
    fs::remove_file(folder.join("own/workgraph.db")).unwrap();
    add(&store, &mut fixture.clone(), "own");
    assert_eq!((count(&store), count(&source)), (2, 1));
}

#[test]
fn the_first_write_of_a_copy_that_is_removed_makes_no_folder() {
    let (from, fixture) = base();
    let source = source_of(&from);
    let (folder, removed, _) = copy_of(&source);
    let (_other, written, _) = copy_of(&source);
    let own = |store: &SqliteStore| {
        let mut fixture = fixture.clone();
        fixture.workspace("own");
        block_on(store.commit(fixture.take())).map(|_| fixture)
    };
    let mut later = own(&written).unwrap();
    for store in [&removed, &written, &source] {
        store.refuse_first_write();
    }
    let refused = own(&removed).unwrap_err().to_string();
    assert!(refused.contains("removed"), "{refused}");
    assert!(!folder.join("own").exists());
    add(&written, &mut later, "later");
    assert_eq!((count(&removed), count(&written)), (1, 3));
}

#[test]
fn a_copy_of_an_unwritten_copy_has_the_content_of_the_source() {
    let (from, fixture) = base();
    let source = source_of(&from);
    let (_folder, first, _) = copy_of(&source);
    let second = open_copy(&first);
    add(&second, &mut fixture.clone(), "own");
    assert_eq!((count(&source), count(&first), count(&second)), (1, 1, 2));
}

#[test]
fn what_a_copy_changes_in_tokens_and_access_is_not_seen_through_the_caches_of_its_source() {
    let (from, _) = base();
    let digest = |text: &str| SecretDigest::of(text);
    let ordinary = SqliteStore::open(from.path(), StoreOptions::default()).unwrap();
    block_on(ordinary.put_account(Account::new(5, Tier::new(1)), None)).unwrap();
    let token = TokenRecord::personal(900, digest("stored"), 5, UNIX_EPOCH);
    block_on(ordinary.insert_token(token)).unwrap();
    drop(ordinary);
    let source = source_of(&from);
    let stores: Vec<_> = ["first", "second"]
        .map(|name| {
            let folder = ScratchFolder::new(name);
            let (given, stored) = (digest(name), digest("stored"));
            let alias = vec![TokenAlias { given, stored }];
            let keys = counted(&Arc::default());
            let opened = SqliteStore::open_copy(&source, folder.path(), single(), alias, keys);
            (folder, opened.unwrap())
        })
        .into();
    let [(_, first), (_, second)] = &*stores else {
        panic!("two stores")
    };
    let finds = |store: &SqliteStore, text: &str| {
        let found = block_on(store.find_token(&digest(text))).unwrap();
        found.is_some_and(|(token, _)| token.revoked_at.is_none())
    };
    for _ in 0..2 {
        assert!(finds(first, "first") && finds(second, "second"));
        assert!(!finds(first, "second") && !finds(second, "first"));
    }
    assert!(block_on(first.revoke(900, UNIX_EPOCH)).unwrap());
    for _ in 0..2 {
        assert!(!finds(first, "first") && finds(second, "second"));
    }
}

/// Returns the title of a node as reads of the store get it, through its caches.
fn title(store: &SqliteStore, gid: Gid) -> Option<String> {
    let node = store.readers.read(|tx| tx.node(gid, Depth::Full)).unwrap();
    node.map(|node| node.title().to_string())
}

#[test]
fn copies_that_write_the_same_gids_never_show_what_another_wrote() {
    for seed in 0..24_u64 {
        let (from, fixture) = base();
        let source = source_of(&from);
        let mut copies: Vec<_> = (0..4)
            .map(|_| (copy_of(&source), fixture.clone(), BTreeMap::new()))
            .collect();
        let mut written = BTreeSet::new();
        let mut random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        for step in 0..80 {
            // Xorshift.
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            let at = usize::try_from(random % 4).unwrap();
            let ((_, store, _), fixture, model) = &mut copies[at];
            if (random >> 8) % 8 == 0 {
                let name = format!("{at} in step {step}");
                let gid = fixture.workspace(&name);
                block_on(store.commit(fixture.take())).unwrap();
                model.insert(gid, name);
                written.insert(gid);
            }
            for gid in &written {
                assert_eq!(title(store, *gid), model.get(gid).cloned(), "seed {seed}");
            }
        }
        assert!(written.iter().all(|gid| title(&source, *gid).is_none()));
    }
}

#[test]
fn a_read_that_begins_after_the_first_write_of_a_copy_shows_it() {
    let (from, fixture) = base();
    let source = source_of(&from);
    for _ in 0..40 {
        let (_folder, store, _) = copy_of(&source);
        let acknowledged = AtomicU64::new(1);
        std::thread::scope(|threads| {
            for _ in 0..2 {
                threads.spawn(|| {
                    while acknowledged.load(Ordering::Acquire) < 4 {
                        let before = acknowledged.load(Ordering::Acquire);
                        let seen = count(&store);
                        assert!(seen >= before, "{seen} after {before}");
                    }
                });
            }
            let mut fixture = fixture.clone();
            for commit in 2..=4 {
                add(&store, &mut fixture, "own");
                acknowledged.store(commit, Ordering::Release);
            }
        });
        assert_eq!((count(&store), count(&source)), (4, 1));
    }
}
