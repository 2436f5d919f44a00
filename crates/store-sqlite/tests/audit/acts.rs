//! Acts outside the graph, and what a crash leaves of them.
use crate::open;
use rusqlite::Connection;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use workgraph_auth::authorization::Authorization;
use workgraph_auth::conformance::block_on;
use workgraph_auth::{
    Account, Allow, App, Digest, Login, OAuthStore, PasswordChange, Registered, ScopeSet, Secret,
    Session, Tier, TokenKind, TokenRecord, TokenStore,
};
use workgraph_core::access::Role;
use workgraph_core::audit::{Acting, Actor, Ask, Channel, Row};
use workgraph_core::gid::Gid;
use workgraph_core::graph::GraphStore;
use workgraph_core::time::Time;
use workgraph_store_sqlite::SqliteStore;
use workgraph_testkit::{Fixture, Scratch};

fn at(seconds: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(1_800_000_000 + seconds)
}

/// A store with a workspace, and what its people do one after another: each act with the rows it has.
struct Day {
    store: SqliteStore,
    acme: Gid,
    ann: u64,
    /// A commit's name and its kinds of rows.
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

    fn rows(&self) -> Vec<Row> {
        block_on(self.store.audited(Ask::all(self.acme, 10_000), None)).unwrap()
    }

    /// What Ann does.
    fn act(&mut self, name: &'static str, kinds: &[&'static str], run: impl FnOnce(&SqliteStore)) {
        let acting = Acting {
            actor: Actor::User(Gid::new(self.ann).unwrap()),
            channel: Channel::Web,
            method: None,
            address: Some([192, 0, 2, 1].into()),
            agent: Some("browser".into()),
            app: None,
        };
        run(&self.store.by(acting, at(60)));
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

fn session(user: u64, seed: u8) -> Session {
    Session {
        digest: Digest([seed; 32]),
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
        secret: Some(Digest([9; 32])),
        redirects: Vec::new(),
        scopes: Registered::Full,
        distribution: places.to_vec(),
        disabled_in: Vec::new(),
        owner: 1,
        created_at: at(0),
        disabled_at: None,
    }
}

fn token(kind: TokenKind, day: &Day, id: u64) -> TokenRecord {
    let digest = Digest([u8::try_from(id).unwrap(); 32]);
    let mut record = if kind == TokenKind::Service {
        TokenRecord::service(id, digest, 70, day.acme.get(), at(0))
    } else {
        TokenRecord::personal(id, digest, day.ann, at(0))
    };
    record.description = "for the robot".to_owned();
    record
}

/// Everything outside the graph that is in the log.
fn live(path: &Path) -> Day {
    let mut day = Day::new(path);
    let ann = day.ann;
    let place = day.acme.get();
    let login = |hash: &str| Some(Login::new("ann@example.com", Secret::new(hash.to_owned())));
    let account = Account::new(ann, Tier::Paid);
    day.act("account", &[], |store| {
        block_on(store.put_account(account, login("one"))).unwrap();
    });
    day.act("sign in", &["user_login_succeeded"], |store| {
        block_on(store.start_session(session(ann, 1), None)).unwrap();
    });
    day.act("wrong password", &["user_login_failed"], |store| {
        block_on(store.sign_in_failed(ann)).unwrap();
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
            keep: None,
            revoke: None,
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
            block_on(store.insert(record)).unwrap();
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
            block_on(store.insert(record)).unwrap();
        },
    );
    const APPROVAL: &str = "workspace_app_admin_approval_setting_changed";
    let (none, here) = (app(&[]), app(&[place]));
    let mut off = here.clone();
    off.disabled_in.push(place);
    day.act("app", &[], |store| {
        block_on(store.put_app(none.clone(), None)).unwrap();
    });
    day.act("distribute", &[APPROVAL], |store| {
        block_on(store.put_app(here.clone(), Some(&none))).unwrap();
    });
    let yes = |ticket: u8, scopes: &str| Allow {
        ticket: Digest([ticket; 32]),
        at: at(1),
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
        block_on(store.allow(yes(1, "tasks:read"))).unwrap();
    });
    day.act("authorize again", &[], |store| {
        block_on(store.allow(yes(2, "tasks:read"))).unwrap();
    });
    day.act("authorize more", &["user_app_authorized"], |store| {
        block_on(store.allow(yes(3, "tasks:read tasks:write"))).unwrap();
    });
    day.act("disconnect", &["user_app_revoked"], |store| {
        assert!(block_on(store.deauthorize(9_000, ann, at(2))).unwrap());
        assert!(!block_on(store.deauthorize(9_000, ann, at(2))).unwrap());
    });
    day.act("disable app", &[APPROVAL], |store| {
        block_on(store.put_app(off.clone(), Some(&here))).unwrap();
    });
    day.act("sign out", &["user_logged_out"], |store| {
        block_on(store.end_session(&Digest([2; 32]))).unwrap();
        block_on(store.end_session(&Digest([2; 32]))).unwrap();
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
    let folder = Scratch::new("acts");
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
    // A failed write of either leaves neither.
    let before = day.rows().len();
    let taken = token(TokenKind::Personal, &day, 51);
    assert!(block_on(day.store.insert(taken)).is_err());
    assert_eq!(day.rows().len(), before);
}

#[test]
fn an_act_that_nobody_is_named_for_has_the_time_of_the_last_commit() {
    let folder = Scratch::new("unnamed");
    let day = Day::new(folder.path());
    let account = Account::new(day.ann, Tier::Paid);
    block_on(day.store.put_account(account, None)).unwrap();
    block_on(day.store.sign_in_failed(day.ann)).unwrap();
    let rows = day.rows();
    let last = rows.last().unwrap();
    assert_eq!(last.kind.name, "user_login_failed");
    let commits = block_on(day.store.events(0, 10)).unwrap();
    assert_eq!(last.at, commits.last().unwrap().at);
    assert!(last.at.millis() > 0);
}

#[test]
fn rows_with_numbers_that_no_log_has_do_not_stop_its_pruning() {
    let folder = Scratch::new("numbers");
    let day = Day::new(folder.path());
    let other = Connection::open(folder.join("workgraph.db")).unwrap();
    for number in [0, i64::MAX] {
        other
            .execute("UPDATE audit SET seq = ?1", [number])
            .unwrap();
        assert!(day.store.audit_old(Time::MAX).is_ok(), "{number}");
    }
}

/// What a file knows of acts that have a row each, and how many rows of that kind it has.
fn acts_and_rows(conn: &Connection) -> BTreeMap<&'static str, (i64, i64)> {
    let count = |sql: &str| conn.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
    let rows = |code: u8| count(&format!("SELECT count(*) FROM audit WHERE kind = {code}"));
    use workgraph_core::audit::kind;
    let tokens = "SELECT count(*) FROM token WHERE kind IN ('personal', 'service')";
    BTreeMap::from([
        (
            "seats",
            (
                count("SELECT count(*) FROM node WHERE kind = 4"),
                rows(kind::INVITED.code),
            ),
        ),
        ("tokens", (count(tokens), rows(kind::TOKEN_AUTHORIZED.code))),
        (
            "revoked tokens",
            (
                count(&format!("{tokens} AND revoked_at IS NOT NULL")),
                rows(kind::TOKEN_REVOKED.code),
            ),
        ),
        (
            "revoked authorizations",
            (
                count("SELECT count(*) FROM authorization WHERE revoked_at IS NOT NULL"),
                rows(kind::APP_REVOKED.code),
            ),
        ),
        (
            "sessions",
            (
                count("SELECT count(*) FROM session") + rows(kind::LOGGED_OUT.code),
                rows(kind::LOGIN_SUCCEEDED.code),
            ),
        ),
        (
            "disabled accounts",
            (
                count("SELECT count(*) FROM account WHERE disabled"),
                rows(kind::DEPROVISIONED.code) - rows(kind::REPROVISIONED.code),
            ),
        ),
    ])
}

/// B67: whatever a crash leaves of the write-ahead log, there is no act without its row.
#[test]
fn a_crash_leaves_no_act_without_its_row() {
    let folder = Scratch::new("crashes");
    let day = live(folder.path());
    let log = std::fs::read(folder.join("workgraph.db-wal")).unwrap();
    let page = usize::try_from(u32::from_be_bytes(log[8..12].try_into().unwrap())).unwrap();
    let frame = 24 + page;
    let frames = (log.len() - 32) / frame;
    let image = Scratch::in_memory("crash");
    let mut states = BTreeMap::new();
    // Every frame, and in the middle of one.
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
    // The images differ, so it was the acts that were cut.
    assert!(states.len() >= 8, "{states:?} of {:?}", day.acts);
}
