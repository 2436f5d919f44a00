//! Acts outside the graph, and their rows after a crash.
use crate::open;
use rusqlite::Connection;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use workgraph_audit::AuditLogStore;
use workgraph_auth::authorization::user_authorization::Authorization;
use workgraph_auth::conformance::block_on;
use workgraph_auth::{
    Account, App, BrowserSession, ConsentRecord, Login, OAuthStore, PasswordChange,
    RegisteredScopes, ScopeSet, Secret, SecretDigest, Tier, TokenKind, TokenRecord, TokenStore,
};
use workgraph_core::access::Role;
use workgraph_core::audit::{ActorContext, AuditActor, AuditChannel, AuditQuery, AuditRow};
use workgraph_core::model::gid::Gid;
use workgraph_core::model::time::Time;
use workgraph_core::storage::GraphStore;
use workgraph_store_sqlite::SqliteStore;
use workgraph_testkit::{Fixture, ScratchFolder};

fn at(seconds: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(1_800_000_000 + seconds)
}

/// Store with a workspace, and the acts of its people one after another, each with its rows.
struct Day {
    store: SqliteStore,
    acme: Gid,
    ann: u64,
    /// Name of each act, with the kinds of its rows.
    acts: Vec<(&'static str, Vec<&'static str>)>,
    seen: usize,
}

impl Day {
    fn new(path: &Path) -> Self {
        let store = open(path);
        let mut fixture = Fixture::default();
        let acme = fixture.workspace("Acme");
        let ann = fixture.member(acme, "Ann", Role::Admin);
        block_on(store.commit(fixture.take())).unwrap();
        let acts = vec![("join", vec!["user_invited"])];
        Self {
            store,
            acme,
            ann: ann.get(),
            acts,
            seen: 1,
        }
    }

    fn rows(&self) -> Vec<AuditRow> {
        block_on(
            self.store
                .audit_rows(AuditQuery::all(self.acme, 10_000), None),
        )
        .unwrap()
    }

    /// Runs an act of the user Ann.
    fn act(&mut self, name: &'static str, kinds: &[&'static str], run: impl FnOnce(&SqliteStore)) {
        let acting = ActorContext {
            actor: AuditActor::User(Gid::new(self.ann).unwrap()),
            channel: AuditChannel::Web,
            method: None,
            address: Some([192, 0, 2, 1].into()),
            user_agent: Some("browser".into()),
            app: None,
        };
        run(&self.store.as_actor(acting, at(60)));
        let rows = self.rows();
        let new: Vec<&str> = rows[self.seen..].iter().map(|row| row.kind.name).collect();
        assert_eq!(new, kinds, "{name}");
        for row in &rows[self.seen..] {
            assert!(
                row.body.contains("\"client_ip_address\":\"192.0.2.1\""),
                "{}",
                row.body
            );
            assert_eq!(row.actor.map(Gid::get), Some(self.ann));
        }
        self.seen = rows.len();
        self.acts.push((name, new));
    }
}

fn session(user: u64, seed: u8) -> BrowserSession {
    BrowserSession {
        digest: SecretDigest([seed; 32]),
        user,
        created_at: at(0),
        expires_at: at(9_000),
        last_used_at: at(0),
        address: None,
    }
}

fn app(places: &[u64]) -> App {
    App {
        id: 40,
        name: "Planner".to_owned(),
        secret: Some(SecretDigest([9; 32])),
        redirects: Vec::new(),
        scopes: RegisteredScopes::Full,
        distribution: places.to_vec(),
        disabled_in: Vec::new(),
        owner: 1,
        created_at: at(0),
        disabled_at: None,
    }
}

fn token(kind: TokenKind, day: &Day, id: u64) -> TokenRecord {
    let digest = SecretDigest([u8::try_from(id).unwrap(); 32]);
    let mut record = if kind == TokenKind::Service {
        TokenRecord::service(id, digest, 70, day.acme.get(), at(0))
    } else {
        TokenRecord::personal(id, digest, day.ann, at(0))
    };
    record.description = "for the robot".to_owned();
    record
}

/// Runs everything outside the graph that has a row in the log.
fn live(path: &Path) -> Day {
    let mut day = Day::new(path);
    let ann = day.ann;
    let workspace = day.acme.get();
    let login = |hash: &str| Some(Login::new("ann@example.com", Secret::new(hash.to_owned())));
    let account = Account::new(ann, Tier::Paid);
    day.act("account", &[], |store| {
        block_on(store.put_account(account, login("one"))).unwrap();
    });
    day.act("sign in", &["user_login_succeeded"], |store| {
        block_on(store.start_session(session(ann, 1), None)).unwrap();
    });
    day.act("wrong password", &["user_login_failed"], |store| {
        block_on(store.record_failed_sign_in(ann)).unwrap();
    });
    let both = &["user_password_changed", "user_logged_out"];
    day.act("password", both, |store| {
        block_on(store.put_account(account, login("two"))).unwrap();
    });
    day.act("same password", &[], |store| {
        block_on(store.put_account(account, login("two"))).unwrap();
    });
    day.act("own password", &["user_password_changed"], |store| {
        let change = |before: &str| PasswordChange {
            user: ann,
            before: Secret::new(before.to_owned()),
            after: Secret::new("three".to_owned()),
            keep_session: None,
            revoke_tokens_at: None,
        };
        assert!(!block_on(store.change_password(change("one"))).unwrap());
        assert!(block_on(store.change_password(change("two"))).unwrap());
    });
    for seed in [2, 3] {
        day.act("sign in again", &["user_login_succeeded"], |store| {
            block_on(store.start_session(session(ann, seed), None)).unwrap();
        });
    }
    let record = token(TokenKind::Personal, &day, 50);
    day.act(
        "token",
        &["user_personal_access_token_authorized"],
        |store| {
            block_on(store.insert_token(record)).unwrap();
        },
    );
    day.act("revoke", &["user_personal_access_token_revoked"], |store| {
        assert!(block_on(store.revoke(50, at(9))).unwrap());
        assert!(!block_on(store.revoke(50, at(9))).unwrap(), "once");
    });
    day.act("service", &[], |store| {
        block_on(store.put_account(Account::new(70, Tier::Paid), None)).unwrap();
    });
    let record = token(TokenKind::Service, &day, 51);
    day.act(
        "service token",
        &["user_personal_access_token_authorized"],
        |store| {
            block_on(store.insert_token(record)).unwrap();
        },
    );
    const APPROVAL: &str = "workspace_app_admin_approval_setting_changed";
    let (none, here) = (app(&[]), app(&[workspace]));
    let mut off = here.clone();
    off.disabled_in.push(workspace);
    day.act("app", &[], |store| {
        block_on(store.put_app(none.clone(), None)).unwrap();
    });
    day.act("distribute", &[APPROVAL], |store| {
        block_on(store.put_app(here.clone(), Some(&none))).unwrap();
    });
    let yes = |ticket: u8, scopes: &str| ConsentRecord {
        ticket: SecretDigest([ticket; 32]),
        time: at(1),
        authorization: Authorization {
            id: 9_000,
            user: ann,
            app: 40,
            scopes: ScopeSet::parse(scopes).unwrap(),
            created_at: at(1),
            revoked_at: None,
        },
        code: None,
    };
    day.act("authorize", &["user_app_authorized"], |store| {
        block_on(store.keep_consent(yes(1, "tasks:read"))).unwrap();
    });
    day.act("authorize again", &[], |store| {
        block_on(store.keep_consent(yes(2, "tasks:read"))).unwrap();
    });
    day.act("authorize more", &["user_app_authorized"], |store| {
        block_on(store.keep_consent(yes(3, "tasks:read tasks:write"))).unwrap();
    });
    day.act("disconnect", &["user_app_revoked"], |store| {
        assert!(block_on(store.deauthorize(9_000, ann, at(2))).unwrap());
        assert!(!block_on(store.deauthorize(9_000, ann, at(2))).unwrap());
    });
    day.act("disable app", &[APPROVAL], |store| {
        block_on(store.put_app(off.clone(), Some(&here))).unwrap();
    });
    day.act("sign out", &["user_logged_out"], |store| {
        block_on(store.end_session(&SecretDigest([2; 32]))).unwrap();
        block_on(store.end_session(&SecretDigest([2; 32]))).unwrap();
    });
    day.act("sign out of all", &["user_logged_out"], |store| {
        assert_eq!(block_on(store.end_sessions(ann, None)), Ok(1));
        assert_eq!(block_on(store.end_sessions(ann, None)), Ok(0));
    });
    day.act("disable", &["user_deprovisioned"], |store| {
        block_on(store.set_disabled(ann, true, at(9))).unwrap();
    });
    day.act("enable", &["user_reprovisioned"], |store| {
        block_on(store.set_disabled(ann, false, at(9))).unwrap();
    });
    day
}

#[test]
fn each_act_outside_the_graph_is_in_the_log_of_its_workspace() {
    let folder = ScratchFolder::new("acts");
    let day = live(folder.path());
    let last = day.rows();
    let authorized = last
        .iter()
        .find(|row| row.kind.name == "user_app_authorized");
    assert!(
        authorized
            .unwrap()
            .body
            .contains("\"new_value\":\"Planner\"")
    );
    // A failed write leaves neither the act nor its row.
    let before = day.rows().len();
    let taken = token(TokenKind::Personal, &day, 51);
    assert!(block_on(day.store.insert_token(taken)).is_err());
    assert_eq!(day.rows().len(), before);
}

#[test]
fn an_act_that_nobody_is_named_for_has_the_time_of_the_last_commit() {
    let folder = ScratchFolder::new("unnamed");
    let day = Day::new(folder.path());
    let account = Account::new(day.ann, Tier::Paid);
    block_on(day.store.put_account(account, None)).unwrap();
    block_on(day.store.record_failed_sign_in(day.ann)).unwrap();
    let rows = day.rows();
    let last = rows.last().unwrap();
    assert_eq!(last.kind.name, "user_login_failed");
    let commits = block_on(day.store.journal_entries(0, 10)).unwrap();
    assert_eq!(last.time, commits.last().unwrap().time);
    assert!(last.time.millis() > 0);
}

#[test]
fn rows_with_numbers_that_no_log_has_do_not_stop_its_pruning() {
    let folder = ScratchFolder::new("numbers");
    let day = Day::new(folder.path());
    let other = Connection::open(folder.join("workgraph.db")).unwrap();
    for number in [0, i64::MAX] {
        other
            .execute("UPDATE audit SET seq = ?1", [number])
            .unwrap();
        let found = block_on(day.store.prunable_rows(Time::MAX.to_system()));
        assert!(found.is_ok(), "{number}");
    }
}

/// Returns the number of acts of each kind that a file holds, with the number of rows of that kind.
fn acts_and_rows(conn: &Connection) -> BTreeMap<&'static str, (i64, i64)> {
    let count = |sql: &str| conn.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
    let rows = |code: u8| count(&format!("SELECT count(*) FROM audit WHERE kind = {code}"));
    use workgraph_core::audit::event_kinds;
    let tokens = "SELECT count(*) FROM token WHERE kind IN ('personal', 'service')";
    BTreeMap::from([
        (
            "seats",
            (
                count("SELECT count(*) FROM node WHERE kind = 4"),
                rows(event_kinds::INVITED.code),
            ),
        ),
        (
            "tokens",
            (count(tokens), rows(event_kinds::TOKEN_AUTHORIZED.code)),
        ),
        (
            "revoked tokens",
            (
                count(&format!("{tokens} AND revoked_at IS NOT NULL")),
                rows(event_kinds::TOKEN_REVOKED.code),
            ),
        ),
        (
            "revoked authorizations",
            (
                count("SELECT count(*) FROM authorization WHERE revoked_at IS NOT NULL"),
                rows(event_kinds::APP_REVOKED.code),
            ),
        ),
        (
            "sessions",
            (
                count("SELECT count(*) FROM session") + rows(event_kinds::LOGGED_OUT.code),
                rows(event_kinds::LOGIN_SUCCEEDED.code),
            ),
        ),
        (
            "disabled accounts",
            (
                count("SELECT count(*) FROM account WHERE disabled"),
                rows(event_kinds::DEPROVISIONED.code) - rows(event_kinds::REPROVISIONED.code),
            ),
        ),
    ])
}

/// B67. After a crash at any point of the write-ahead log, there is no act without its row.
#[test]
fn a_crash_leaves_no_act_without_its_row() {
    let folder = ScratchFolder::new("crashes");
    let day = live(folder.path());
    let log = std::fs::read(folder.join("workgraph.db-wal")).unwrap();
    let page = usize::try_from(u32::from_be_bytes(log[8..12].try_into().unwrap())).unwrap();
    let frame = 24 + page;
    let frames = (log.len() - 32) / frame;
    let image = ScratchFolder::in_memory("crash");
    let mut states = BTreeMap::new();
    // At every frame, and in the middle of each.
    for cut in (0..=2 * frames).map(|half| 32 + half * frame / 2) {
        std::fs::copy(folder.join("workgraph.db"), image.join("c.db")).unwrap();
        std::fs::write(image.join("c.db-wal"), &log[..cut.min(log.len())]).unwrap();
        let _ = std::fs::remove_file(image.join("c.db-shm"));
        let conn = Connection::open(image.join("c.db")).unwrap();
        if conn.prepare("SELECT 1 FROM audit").is_err() {
            continue;
        }
        let found = acts_and_rows(&conn);
        for (what, (acts, rows)) in &found {
            assert_eq!(acts, rows, "{what}, cut at {cut}");
        }
        states.insert(format!("{found:?}"), cut);
        drop(conn);
    }
    // The images differ, so acts were really cut off.
    assert!(states.len() >= 8, "{states:?} of {:?}", day.acts);
}
