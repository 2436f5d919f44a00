//! Audit rows of acts outside the graph, alone and among commits of the graph.
use crate::auth::{app, at, at_once, consent, tokens};
use crate::support::{TestStore, another_store, empty_store};
use workgraph_audit::CheckpointKey;
use workgraph_auth::conformance::block_on;
use workgraph_auth::{Account, OAuthStore, Tier, TokenStore};
use workgraph_core::access::Role;
use workgraph_core::audit::AuditQuery;
use workgraph_core::model::gid::Gid;
use workgraph_core::storage::GraphStore;
use workgraph_store_postgres::PostgresStore;
use workgraph_testkit::Fixture;
use workgraph_testkit::conformance::{AuditedStore, act_without_actor, audit_log, audited_acts};

fn audited(made: &TestStore) -> AuditedStore<PostgresStore> {
    AuditedStore {
        store: made.store.clone(),
        as_actor: PostgresStore::as_actor,
        record_failed_sign_in: |store, user| block_on(store.record_failed_sign_in(user)),
    }
}

#[test]
fn each_act_outside_the_graph_is_in_the_log_of_its_workspace() {
    let Some(made) = empty_store() else { return };
    audited_acts(audited(&made)).unwrap_or_else(|reason| panic!("{reason}"));
}

#[test]
fn an_act_that_nobody_is_named_for_has_the_time_of_the_last_commit() {
    let Some(made) = empty_store() else { return };
    act_without_actor(audited(&made)).unwrap_or_else(|reason| panic!("{reason}"));
}

#[test]
fn postgres_keeps_the_audit_log_as_the_port_says() {
    let Some(made) = empty_store() else { return };
    let store = &made.store;
    block_on(audit_log(store, store)).unwrap_or_else(|reason| panic!("{reason}"));
}

/// Checks that commits of the graph and acts outside it, on two nodes at once, never deadlock, and that their rows form one
/// chain.
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
                .put_account(Account::new(*user, Tier::new(1)), None),
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
