//! Webhooks: conformance, limits and positions of many at once, and the end of access on two nodes.
use crate::auth::{app, at, at_once, consent, tokens};
use crate::support::{TestStore, another_store, empty_store};
use std::collections::BTreeSet;
use workgraph_auth::conformance::block_on;
use workgraph_auth::{Account, OAuthStore, Tier, TokenStore};
use workgraph_core::storage::{Changes, GraphStore};
use workgraph_testkit::conformance::{webhooks, webhooks_of_apps};
use workgraph_webhooks::{
    AttemptRecord, DeliveryLogEntry, DeliveryState, DeliveryStateChange, InsertOutcome, Webhook,
    WebhookLimits, WebhookStore,
};

#[test]
fn postgres_keeps_webhooks_as_the_port_says() {
    let Some(made) = empty_store() else { return };
    let store = &made.store;
    block_on(webhooks(store, store, store)).unwrap_or_else(|reason| panic!("{reason}"));
    let Some(made) = empty_store() else { return };
    let store = &made.store;
    block_on(webhooks_of_apps(store, store)).unwrap_or_else(|reason| panic!("{reason}"));
    assert_eq!(
        block_on(store.database().check()).unwrap(),
        Vec::<String>::new()
    );
}

fn hook(id: u64, user: u64, app: Option<u64>, resource: u64) -> Webhook {
    Webhook {
        id,
        user,
        app,
        service: None,
        workspace: 5,
        resource,
        kind: 6,
        target: format!("https://hooks.test/{id}"),
        secret: format!("plain {id}"),
        filters: Vec::new(),
        created_at: at(id),
        state: DeliveryState::default(),
    }
}

/// Creates a store with user 1 and the app.
fn peopled() -> Option<TestStore> {
    let made = empty_store()?;
    block_on(made.store.put_account(Account::new(1, Tier::new(1)), None)).unwrap();
    block_on(made.store.put_app(app(&[5]), None)).unwrap();
    Some(made)
}

/// Gives the app two more refresh tokens of user 1; returns their numbers.
fn hold(made: &TestStore, round: u64) -> [u64; 2] {
    [0, 1].map(|n| {
        let mut yes = consent(1, &format!("{round} {n}"));
        yes.authorization.id = 60_000 + round;
        let code = yes.code.as_ref().unwrap().digest;
        let grant = block_on(made.store.keep_consent(yes)).unwrap().id;
        let id = 1_000_000 + 10 * round + 2 * n;
        let mut new = tokens(1, id);
        new.access.grant = Some(grant);
        new.refresh.grant = Some(grant);
        block_on(made.store.redeem(&code, Some(new), at(2))).unwrap();
        id + 1
    })
}

/// Checks that limits hold for concurrent inserts, and that a position is that of a moment in between.
#[test]
fn limits_and_positions_are_exact_on_two_nodes() {
    let Some(made) = peopled() else { return };
    let other = another_store(&made);
    let limits = WebhookLimits {
        per_resource: 7,
        per_owner: 10_000,
    };
    let outcomes = at_once(32, |thread| {
        let store = if thread % 2 == 0 { &made.store } else { &other };
        if thread >= 28 {
            for _ in 0..10 {
                block_on(store.commit(Changes::default())).unwrap();
            }
            return None;
        }
        let before = block_on(store.journal_entries(0, 10_000)).unwrap().len() as u64;
        let done = block_on(WebhookStore::insert(
            store,
            hook(100 + thread, 1, None, 100 + thread % 2),
            limits,
        ))
        .unwrap();
        let after = block_on(store.journal_entries(0, 10_000)).unwrap().len() as u64;
        Some((before, done, after))
    });
    let mut count = 0;
    for (before, done, after) in outcomes.into_iter().flatten() {
        match done {
            InsertOutcome::Done(hook) => {
                let seq = hook.state.position.seq;
                assert!(before <= seq && seq <= after, "{before} {seq} {after}");
                count += 1;
            }
            other => assert_eq!(other, InsertOutcome::ResourceFull),
        }
    }
    assert_eq!((count, block_on(other.all()).unwrap().len()), (14, 14));
}

/// Checks that if two nodes revoke the last two refresh tokens at once, while the app inserts webhooks, none is left, and the
/// revision shows it.
#[test]
fn webhooks_end_with_the_last_hold_whoever_ends_it() {
    let Some(made) = peopled() else { return };
    let other = another_store(&made);
    for round in 0..15_u64 {
        let refresh = hold(&made, round);
        let first = hook(10_000 * (round + 1), 1, Some(40), 100);
        let limits = WebhookLimits::default();
        let done = block_on(WebhookStore::insert(&made.store, first.clone(), limits)).unwrap();
        assert!(matches!(done, InsertOutcome::Done(_)), "{done:?}");
        let revision = block_on(other.revision()).unwrap();
        at_once(6, |thread| match thread {
            0 => drop(block_on(made.store.revoke(refresh[0], at(3))).unwrap()),
            1 => drop(block_on(other.revoke(refresh[1], at(3))).unwrap()),
            _ => {
                let late = hook(first.id + thread, 1, Some(40), 100);
                block_on(WebhookStore::insert(&other, late, limits)).unwrap();
            }
        });
        assert_eq!(block_on(made.store.all()).unwrap(), [], "round {round}");
        assert_ne!(block_on(other.revision()).unwrap(), revision);
        let unchanged = block_on(other.revision()).unwrap();
        assert!(!block_on(other.remove(first.id)).unwrap());
        assert_eq!(block_on(made.store.revision()).unwrap(), unchanged);
    }
}

/// Checks that of many results of attempts that began with one state, one is stored, with its line.
#[test]
fn one_result_of_an_attempt_counts_on_two_nodes() {
    let Some(made) = peopled() else { return };
    let other = another_store(&made);
    let limits = WebhookLimits::default();
    block_on(WebhookStore::insert(
        &made.store,
        hook(10, 1, None, 100),
        limits,
    ))
    .unwrap();
    for round in 1..=10 {
        let from = block_on(other.get(10)).unwrap().unwrap().state;
        let odd = format!("round {round}\0");
        let to = from.after_failure(at(round), &odd, None, 0);
        let change = DeliveryStateChange {
            from: from.clone(),
            to,
        };
        let line = DeliveryLogEntry {
            id: 0,
            webhook: 10,
            sent_at: at(1),
            from: from.position,
            to: from.position,
            events: 1,
            attempt: 1,
            status: None,
            error: odd.clone(),
        };
        let outcomes = at_once(16, |thread| {
            let store = if thread % 2 == 0 { &made.store } else { &other };
            block_on(store.record_attempt(10, Some(change.clone()), Some(line.clone()))).unwrap()
        });
        let stored = outcomes
            .iter()
            .filter(|done| **done == AttemptRecord::Stored);
        assert_eq!(stored.count(), 1, "{outcomes:?}");
        let lines = block_on(other.deliveries(10, 100)).unwrap();
        assert_eq!(lines.len() as u64, round);
        assert_eq!(lines.first().map(|line| line.error.clone()), Some(odd));
    }
}

#[test]
fn secrets_are_sealed_once_and_the_old_ones_are_gone() {
    let Some(made) = peopled() else { return };
    for id in 10..20 {
        let limits = WebhookLimits::default();
        block_on(WebhookStore::insert(
            &made.store,
            hook(id, 1, None, id),
            limits,
        ))
        .unwrap();
    }
    let fails = &mut |_: u64, _: &str| Err("no key".into());
    let failed = block_on(made.store.reseal_secrets(fails)).unwrap_err();
    assert_eq!(failed.to_string(), "no key");
    let mut seen = BTreeSet::new();
    let seal = &mut |id: u64, secret: &str| {
        seen.insert(secret.to_owned());
        Ok(secret.starts_with("plain").then(|| format!("sealed {id}")))
    };
    block_on(made.store.reseal_secrets(seal)).unwrap();
    assert_eq!(seen.len(), 10);
    for hook in block_on(made.store.all()).unwrap() {
        assert_eq!(hook.secret, format!("sealed {}", hook.id));
    }
    let again = &mut |_: u64, secret: &str| {
        assert!(secret.starts_with("sealed"));
        Ok(None)
    };
    block_on(made.store.reseal_secrets(again)).unwrap();
}
