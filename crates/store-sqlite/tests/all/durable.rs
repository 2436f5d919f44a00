//! Durability: acknowledged commits are on disk; backups, checks and locks.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::SystemTime;
use workgraph_auth::conformance::block_on;
use workgraph_auth::{Account, OAuthStore, ScopeSet, Tier, TokenStore};
use workgraph_core::access::Role;
use workgraph_core::model::gid::Gid;
use workgraph_core::model::registry::{CustomFieldType, rel};
use workgraph_core::storage::{Changes, EdgeWrite, GraphStore, ListPosition};
use workgraph_store_sqlite::{SqliteStore, StoreOpenError, StoreOptions};
use workgraph_testkit::{AppConnection, Fixture, ScratchFolder, connect_app};
use workgraph_webhooks::{DeliveryState, InsertOutcome, Webhook, WebhookLimits, WebhookStore};

fn open(path: &Path) -> SqliteStore {
    SqliteStore::open(path, StoreOptions::default()).unwrap()
}

/// Fills a store with a workspace and a project with some tasks, one commit each.
fn fill(store: &SqliteStore, tasks: usize) -> Fixture {
    let mut fixture = Fixture::default();
    let acme = fixture.workspace("Acme");
    let ann = fixture.member(acme, "Ann", Role::Admin);
    let project = fixture.project(acme, "Launch", ann);
    block_on(store.commit(fixture.take())).unwrap();
    let section = fixture.section_in(project);
    for n in 1..tasks {
        fixture.task_in(section, &format!("task {n}"), ann);
        block_on(store.commit(fixture.take())).unwrap();
    }
    fixture
}

/// Adds a custom field and a task with a value for it.
fn value(store: &SqliteStore, fixture: &mut Fixture) -> (Gid, Gid) {
    let (acme, ann) = (Gid::new(1001).unwrap(), Gid::new(1002).unwrap());
    let (number, _) = fixture.custom_field(acme, "Size", CustomFieldType::Number, &[]);
    let valued = fixture.task(acme, "valued", ann);
    fixture.value(valued, number, CustomFieldType::Number, "7");
    block_on(store.commit(fixture.take())).unwrap();
    (number, valued)
}

/// Copies the files of a store as a crash would leave them: without the shared memory.
fn crash_image(from: &Path, to: &Path) {
    for name in ["workgraph.db", "workgraph.db-wal"] {
        std::fs::copy(from.join(name), to.join(name)).unwrap();
    }
}

#[test]
fn what_was_acknowledged_is_there_after_a_crash() {
    let (folder, image) = (ScratchFolder::new("live"), ScratchFolder::new("image"));
    let store = open(folder.path());
    fill(&store, 40);
    block_on(store.put_account(Account::new(7, Tier::new(1)), None)).unwrap();
    crash_image(folder.path(), image.path());
    let again = open(image.path());
    assert_eq!(again.stats().unwrap().seq, 40);
    assert_eq!(again.max_gid().unwrap(), store.max_gid().unwrap());
    assert_eq!(
        block_on(again.journal_entries(0, 100)),
        block_on(store.journal_entries(0, 100))
    );
    assert_eq!(
        block_on(again.account(7)),
        Ok(Some(Account::new(7, Tier::new(1))))
    );
    assert_eq!(again.check().unwrap(), Vec::<String>::new());
}

#[test]
fn a_store_that_was_closed_opens_with_everything_and_an_empty_log() {
    let folder = ScratchFolder::new("closed");
    let store = open(folder.path());
    fill(&store, 10);
    let events = block_on(store.journal_entries(0, 100)).unwrap();
    assert!(store.stats().unwrap().wal_bytes > 0);
    drop(store);
    assert!(!folder.join("workgraph.db-wal").exists());
    let again = open(folder.path());
    assert_eq!(block_on(again.journal_entries(0, 100)).unwrap(), events);
}

#[test]
fn a_second_process_is_kept_out_but_may_look() {
    let folder = ScratchFolder::new("lock");
    let store = open(folder.path());
    fill(&store, 3);
    let second = SqliteStore::open(folder.path(), StoreOptions::default()).unwrap_err();
    assert!(matches!(second, StoreOpenError::Locked(_)));
    assert!(
        second.to_string().contains("another Workgraph process"),
        "{second}"
    );
    let onlooker = SqliteStore::open_read_only(folder.path()).unwrap();
    assert_eq!(onlooker.check().unwrap(), Vec::<String>::new());
    drop(store);
    open(folder.path());
}

#[test]
fn a_folder_without_a_store_is_not_opened_for_reading() {
    let folder = ScratchFolder::new("empty");
    assert!(matches!(
        SqliteStore::open_read_only(folder.path()),
        Err(StoreOpenError::Io(..))
    ));
}

#[test]
fn backups_under_load_are_whole_and_a_prefix_of_the_journal() {
    let (folder, target) = (ScratchFolder::new("busy"), ScratchFolder::new("backup"));
    let store = open(folder.path());
    fill(&store, 5);
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            for n in 0..300 {
                let changes = Changes {
                    actor: Gid::new(n + 1),
                    ..Changes::default()
                };
                block_on(store.commit(changes)).unwrap();
            }
        });
        for n in 0.. {
            let path = target.join(&format!("{n}.db"));
            store.backup(&path).unwrap();
            assert!(
                store.backup(&path).is_err(),
                "an existing file is not overwritten"
            );
            if n >= 4 && writer.is_finished() {
                break;
            }
        }
    });
    let last = target.join("last.db");
    // Others can read the partial file of an earlier backup, so it is not written into.
    std::fs::write(target.join("last.db.partial"), "left over").unwrap();
    store.backup(&last).unwrap();
    let mode = std::fs::metadata(&last).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    std::fs::create_dir(target.join("next.db.partial")).unwrap();
    let refused = store.backup(target.join("next.db")).unwrap_err();
    assert!(refused.to_string().contains("next.db"), "{refused}");
    let all = block_on(store.journal_entries(0, 1000)).unwrap();
    let mut last = 0;
    for entry in std::fs::read_dir(target.path()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|e| e != "db") {
            continue;
        }
        let copy = ScratchFolder::new("restored");
        std::fs::copy(&path, copy.join("workgraph.db")).unwrap();
        let restored = open(copy.path());
        assert_eq!(restored.check().unwrap(), Vec::<String>::new());
        let events = block_on(restored.journal_entries(0, 1000)).unwrap();
        assert_eq!(events, all[..events.len()]);
        last = last.max(events.len());
    }
    assert_eq!(last, all.len());
}

#[test]
fn the_check_names_contradictions() {
    let folder = ScratchFolder::new("broken");
    let store = open(folder.path());
    let mut fixture = fill(&store, 2);
    value(&store, &mut fixture);
    assert_eq!(store.check().unwrap(), Vec::<String>::new());
    let other = rusqlite::Connection::open(folder.join("workgraph.db")).unwrap();
    let problems = |sql: &str| {
        other.execute_batch(sql).unwrap();
        store.check().unwrap().join("\n")
    };
    let ends = format!("(source, relation, target): 5 {} 5", rel::FOLLOWERS.0);
    let ghost = problems(&format!(
        "INSERT INTO edge (dst, rel, rank, src, seq) VALUES (5, {}, 0, 5, 1)",
        rel::FOLLOWERS.0
    ));
    assert!(ghost.contains(&format!("an edge has no node at an end {ends}")));
    assert!(ghost.contains(&format!("only the list of its target has the edge {ends}")));
    for (sql, part) in [
        (
            "UPDATE value SET key = 8",
            "the index of values does not agree with task",
        ),
        (
            "UPDATE value SET key = 7, node = field",
            "a value is in the index that its task does not have",
        ),
        (
            "UPDATE value SET field = 5",
            "a value has no task or no custom field",
        ),
        (
            "DELETE FROM edge WHERE src = 5; UPDATE node SET edges = NULL \
             WHERE gid IN (SELECT src FROM edge WHERE rel = 10)",
            "has no edge to its project",
        ),
        (
            "UPDATE node SET edges = NULL WHERE gid IN (SELECT src FROM edge WHERE rel = 13)",
            "workspace membership",
        ),
        (
            "UPDATE edge SET seq = seq + 1",
            "source and target disagree about the edge",
        ),
        (
            "UPDATE node SET head = replace(head, 'task 1', 'task 2')",
            "does not agree with its body",
        ),
        (
            "DELETE FROM journal WHERE seq = 2",
            "the journal has a gap after: 1",
        ),
        (
            "UPDATE alias SET gid = 3 WHERE key LIKE 'email:%'",
            "a name points to no node: email:ann@example.com",
        ),
        (
            "UPDATE node SET kind = 77 WHERE kind = 9",
            "a type that is unknown",
        ),
        (
            "UPDATE edge SET seq = 99",
            "that the journal does not reach",
        ),
        ("UPDATE node SET edges = x'07'", "cannot be read"),
    ] {
        let found = problems(sql);
        assert!(found.contains(part), "{sql}: {found}");
    }
}

#[test]
fn a_field_without_a_node_is_a_contradiction_and_not_the_end_of_the_check() {
    let folder = ScratchFolder::new("fieldless");
    let store = open(folder.path());
    let (number, valued) = value(&store, &mut fill(&store, 2));
    let other = rusqlite::Connection::open(folder.join("workgraph.db")).unwrap();
    let gone =
        format!("DELETE FROM node WHERE gid = {number}; DELETE FROM card WHERE gid = {number}");
    other.execute_batch(&gone).unwrap();
    let found = store.check().unwrap().join("\n");
    for part in [
        format!("a value has no task or no custom field (field, task): {number} {valued}"),
        format!("the index of values does not agree with task {valued}"),
    ] {
        assert!(found.contains(&part), "{found}");
    }
}

#[test]
fn cards_of_another_form_are_no_contradiction() {
    let folder = ScratchFolder::new("form");
    let store = open(folder.path());
    fill(&store, 2);
    let other = rusqlite::Connection::open(folder.join("workgraph.db")).unwrap();
    other
        .execute_batch("UPDATE card SET sum = sum + 1")
        .unwrap();
    assert!(
        store
            .check()
            .unwrap()
            .join("")
            .contains("the index entry of node")
    );
    let older = "UPDATE meta SET value = value - 1 WHERE key = 'cards'";
    assert_eq!(other.execute(older, []).unwrap(), 1);
    assert_eq!(store.check().unwrap(), Vec::<String>::new());
}

/// Checks the list of an assignee's tasks, whose times searches sort by: if they differ from those of the index entries, the file
/// is damaged.
#[test]
fn times_in_the_list_of_what_someone_has_are_checked() {
    let folder = ScratchFolder::new("listed");
    let store = open(folder.path());
    fill(&store, 2);
    let other = || rusqlite::Connection::open(folder.join("workgraph.db")).unwrap();
    let card = "(SELECT min(gid) FROM card WHERE kind = 9)";
    let sql = format!("UPDATE card SET who = gid, modified = 5 WHERE gid = {card}");
    assert_eq!(other().execute(&sql, []).unwrap(), 1);
    assert!(!store.check().unwrap().join("").contains("card_who"));
    // A program that does not know of the list changes the time.
    let schema = "SELECT rootpage, sql FROM sqlite_schema WHERE name = 'card_who'";
    let read = |row: &rusqlite::Row<'_>| Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?));
    let (root, made) = other().query_row(schema, [], read).unwrap();
    let change = |sql: &str, version: u32| {
        let script =
            format!("PRAGMA writable_schema = ON; {sql}; PRAGMA schema_version = {version}");
        other().execute_batch(&script).unwrap();
    };
    change("DELETE FROM sqlite_schema WHERE name = 'card_who'", 1_000);
    let sql = format!("UPDATE card SET modified = 6 WHERE gid = {card}");
    assert_eq!(other().execute(&sql, []).unwrap(), 1);
    let sql =
        format!("INSERT INTO sqlite_schema VALUES ('index', 'card_who', 'card', {root}, '{made}')");
    change(&sql, 1_001);
    let found = store.check().unwrap().join("\n");
    assert!(found.contains("card_who"), "{found}");
}

#[test]
fn gids_of_third_parties_count_for_the_next_gid() {
    let folder = ScratchFolder::new("floor");
    let store = open(folder.path());
    let mut fixture = fill(&store, 2);
    let task = fixture.task(Gid::new(1001).unwrap(), "liked", Gid::new(1002).unwrap());
    block_on(store.commit(fixture.take())).unwrap();
    assert_eq!(store.max_gid().unwrap(), Some(task));
    let like = Gid::new(1 << 40).unwrap();
    let link = |aux| EdgeWrite {
        src: task,
        rel: rel::LIKES,
        dst: task,
        position: ListPosition::Rank(0),
        aux: Some(aux),
    };
    let changes = |aux| Changes {
        edge_writes: vec![link(aux)],
        ..Changes::default()
    };
    block_on(store.commit(changes(like))).unwrap();
    block_on(store.commit(changes(task))).unwrap();
    assert_eq!(store.max_gid().unwrap(), Some(like));
    drop(store);
    assert_eq!(open(folder.path()).max_gid().unwrap(), Some(like));
}

#[test]
fn the_log_is_kept_short_by_its_own_thread() {
    let folder = ScratchFolder::new("log");
    let options = StoreOptions {
        checkpoint_bytes: 64 << 10,
        wal_limit_bytes: 1 << 20,
        ..StoreOptions::default()
    };
    let store = SqliteStore::open(folder.path(), options).unwrap();
    let mut fixture = Fixture::default();
    let acme = fixture.workspace("Acme");
    block_on(store.commit(fixture.take())).unwrap();
    for n in 0..400 {
        for _ in 0..20 {
            fixture.task(acme, &format!("{n} {}", "x".repeat(500)), acme);
        }
        block_on(store.commit(fixture.take())).unwrap();
    }
    let wal = store.stats().unwrap().wal_bytes;
    let database = std::fs::metadata(folder.join("workgraph.db"))
        .unwrap()
        .len();
    assert!(wal <= 2 << 20, "{wal} bytes of log");
    assert!(database > 4 << 20, "{database} bytes were copied");
}

/// Returns the lengths of a write-ahead log after each of its frames.
fn frames(log: &[u8]) -> impl Iterator<Item = usize> + '_ {
    let page = log.get(8..12).and_then(|size| size.try_into().ok());
    let frame = 24 + u32::from_be_bytes(page.unwrap()) as usize;
    (32..=log.len()).step_by(frame)
}

/// Checks that whenever a crash comes while an authorization ends, its webhooks either exist with it or are gone with it.
#[test]
fn an_authorization_and_its_webhooks_end_together_whenever_a_crash_comes() {
    for revoked in [true, false] {
        let (folder, image) = (ScratchFolder::new("live"), ScratchFolder::new("image"));
        let options = StoreOptions {
            checkpoints: false,
            ..StoreOptions::default()
        };
        let store = SqliteStore::open(folder.path(), options).unwrap();
        block_on(store.put_account(Account::new(7, Tier::new(1)), None)).unwrap();
        let ask = AppConnection {
            user: 7,
            app: 9,
            workspaces: vec![1],
            scopes: ScopeSet::full(),
            number: 1_000,
            at: SystemTime::UNIX_EPOCH,
        };
        let connected = block_on(connect_app(&store, &ask)).unwrap();
        for id in 1..=200 {
            let kept = block_on(WebhookStore::insert(
                &store,
                hook(id),
                WebhookLimits::default(),
            ))
            .unwrap();
            assert!(matches!(kept, InsertOutcome::Done(_)));
        }
        let log =
            |folder: &ScratchFolder| std::fs::read(folder.path().join("workgraph.db-wal")).unwrap();
        let before = log(&folder).len();
        let done = if revoked {
            block_on(store.revoke(connected.refresh, SystemTime::UNIX_EPOCH))
        } else {
            block_on(store.deauthorize(connected.grant, 7, SystemTime::UNIX_EPOCH))
        };
        assert_eq!(done, Ok(true));
        let after = log(&folder);
        let mut left = Vec::new();
        for end in frames(&after).filter(|end| *end >= before) {
            crash_image(folder.path(), image.path());
            let cut = after.get(..end).unwrap();
            std::fs::write(image.path().join("workgraph.db-wal"), cut).unwrap();
            let again = open(image.path());
            assert_eq!(again.check().unwrap(), Vec::<String>::new());
            let holds = block_on(TokenStore::list(&again, 7)).unwrap();
            let alive = holds.iter().filter(|t| t.revoked_at.is_none()).count();
            left.push((alive, block_on(again.all()).unwrap().len()));
        }
        left.dedup();
        assert_eq!(left, [(2, 200), (0, 0)], "revoked: {revoked}");
    }
}

fn hook(id: u64) -> Webhook {
    Webhook {
        id,
        user: 7,
        app: Some(9),
        service: None,
        workspace: 1,
        resource: 4,
        kind: 6,
        target: "https://a.test".to_owned(),
        secret: "x".repeat(64),
        filters: Vec::new(),
        created_at: SystemTime::UNIX_EPOCH,
        state: DeliveryState::default(),
    }
}
