//! Audit rows of acts outside the graph, alone and among commits of the graph.
use crate::auth::{app, at, at_once, consent, tokens};
use crate::support::{TestStore, another_store, empty_store};
use workgraph_audit::CheckpointKey;
use workgraph_auth::authorization::user_authorization::Authorization;
use workgraph_auth::conformance::block_on;
use workgraph_auth::{
    Account, BrowserSession, ConsentRecord, Login, OAuthStore, PasswordChange, ScopeSet, Secret,
    SecretDigest, Tier, TokenKind, TokenRecord, TokenStore,
};
use workgraph_core::access::Role;
use workgraph_core::audit::{ActorContext, AuditActor, AuditChannel, AuditQuery, AuditRow};
use workgraph_core::model::gid::Gid;
use workgraph_core::storage::GraphStore;
use workgraph_store_postgres::PostgresStore;
use workgraph_testkit::Fixture;
use workgraph_testkit::conformance::audit_log;

/// Store with a workspace, and the acts of its people one after another, each with its rows.
struct Day {
    made: TestStore,
    acme: Gid,
    ann: u64,
    /// Name of each act, with the kinds of its rows.
    acts: Vec<(&'static str, Vec<&'static str>)>,
    seen: usize,
}

impl Day {
    fn new() -> Option<Self> {
        let made = empty_store()?;
        let mut fixture = Fixture::default();
        let acme = fixture.workspace("Acme");
        let ann = fixture.member(acme, "Ann", Role::Admin);
        block_on(made.store.commit(fixture.take())).unwrap();
        let acts = vec![("join", vec!["user_invited"])];
        Some(Self {
            made,
            acme,
            ann: ann.get(),
            acts,
            seen: 1,
        })
    }

    fn rows(&self) -> Vec<AuditRow> {
        block_on(
            self.made
                .store
                .audit_rows(AuditQuery::all(self.acme, 10_000), None),
        )
        .unwrap()
    }

    /// Runs an act of the user Ann.
    fn act(
        &mut self,
        name: &'static str,
        kinds: &[&'static str],
        run: impl FnOnce(&PostgresStore),
    ) {
        let acting = ActorContext {
            actor: AuditActor::User(Gid::new(self.ann).unwrap()),
            channel: AuditChannel::Web,
            method: None,
            address: Some([192, 0, 2, 1].into()),
            user_agent: Some("browser".into()),
            app: None,
        };
        run(&self.made.store.as_actor(acting, at(60)));
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
fn live() -> Option<Day> {
    let mut day = Day::new()?;
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
    Some(day)
}

#[test]
fn each_act_outside_the_graph_is_in_the_log_of_its_workspace() {
    let Some(day) = live() else { return };
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
    assert!(block_on(day.made.store.insert_token(taken)).is_err());
    assert_eq!(day.rows().len(), before);
}

#[test]
fn an_act_that_nobody_is_named_for_has_the_time_of_the_last_commit() {
    let Some(day) = Day::new() else { return };
    let account = Account::new(day.ann, Tier::Paid);
    block_on(day.made.store.put_account(account, None)).unwrap();
    block_on(day.made.store.record_failed_sign_in(day.ann)).unwrap();
    let rows = day.rows();
    let last = rows.last().unwrap();
    assert_eq!(last.kind.name, "user_login_failed");
    let commits = block_on(day.made.store.journal_entries(0, 10)).unwrap();
    assert_eq!(last.time, commits.last().unwrap().time);
    assert!(last.time.millis() > 0);
}

#[test]
fn postgres_keeps_the_audit_log_as_the_port_says() {
    let Some(made) = empty_store() else { return };
    let store = &made.store;
    block_on(audit_log(store, store)).unwrap_or_else(|reason| panic!("{reason}"));
}

/// Commits of the graph and acts outside it, on two nodes at once, never wait for each other in a circle, and their rows
/// are one chain.
#[test]
fn commits_and_acts_of_two_nodes_share_one_log() {
    const ROUNDS: u64 = 25;
    let Some(made) = empty_store() else { return };
    let other = another_store(&made);
    let mut fixture = Fixture::default();
    let acme = fixture.workspace("Acme");
    let people: Vec<u64> = (0..4)
        .map(|n| fixture.member(acme, &format!("P{n}"), Role::Admin).get())
        .collect();
    block_on(made.store.commit(fixture.take())).unwrap();
    for user in &people {
        block_on(
            made.store
                .put_account(Account::new(*user, Tier::Paid), None),
        )
        .unwrap();
    }
    block_on(made.store.put_app(app(&[acme.get()]), None)).unwrap();
    let first = Gid::new(people[0]).unwrap();
    let teams: Vec<Vec<_>> = (0..4)
        .map(|n| {
            (0..ROUNDS)
                .map(|round| {
                    fixture.team(acme, &format!("team {n} {round}"), first);
                    fixture.take()
                })
                .collect()
        })
        .collect();
    let on = |thread: u64| {
        if thread.is_multiple_of(2) {
            &made.store
        } else {
            &other
        }
    };
    at_once(8, |thread| {
        let store = on(thread);
        let Some(commits) = teams.get(usize::try_from(thread).unwrap()) else {
            let user = people[usize::try_from(thread).unwrap() - 4];
            for round in 0..ROUNDS {
                let seed = round.to_string();
                let mut yes = consent(user, &seed);
                yes.authorization.id = 50_000 + 100 * thread + round;
                let code = yes.code.as_ref().unwrap().digest;
                let grant = block_on(store.keep_consent(yes)).unwrap();
                let mut new = tokens(user, 70_000 + 1_000 * thread + 2 * round);
                new.access.grant = Some(grant.id);
                new.refresh.grant = Some(grant.id);
                block_on(store.redeem(&code, Some(new), at(2))).unwrap();
                assert!(block_on(store.deauthorize(grant.id, user, at(3))).unwrap());
            }
            return;
        };
        for changes in commits {
            block_on(store.commit(changes.clone())).unwrap();
        }
    });
    let rows = block_on(other.audit_rows(AuditQuery::all(acme, 10_000), None)).unwrap();
    assert!(
        rows.windows(2)
            .all(|two| two[0].gid < two[1].gid && two[0].time <= two[1].time)
    );
    let count = |name: &str| rows.iter().filter(|row| row.kind.name == name).count() as u64;
    assert_eq!(count("user_app_authorized"), 4 * ROUNDS);
    assert_eq!(count("user_app_revoked"), 4 * ROUNDS);
    assert_eq!(count("team_created"), 4 * ROUNDS);
    let key = CheckpointKey::from_seed(&[5; 32]).unwrap().public();
    let report = block_on(other.database().inspect_audit(&key, &[])).unwrap();
    assert_eq!((report.findings, report.rows), (vec![], report.last));
    assert!(report.rows >= 12 * ROUNDS);
    assert_eq!(
        block_on(made.store.database().check()).unwrap(),
        Vec::<String>::new()
    );
}
