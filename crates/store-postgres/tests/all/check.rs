//! The check of the whole database names every contradiction.
use crate::auth::{app, consent, tokens};
use crate::support::{TestStore, empty_store};
use workgraph_auth::conformance::block_on;
use workgraph_auth::{Account, Login, OAuthStore, Secret, Tier, TokenStore};
use workgraph_core::access::Role;
use workgraph_core::model::gid::Gid;
use workgraph_core::model::registry::{CustomFieldType, rel};
use workgraph_core::storage::{GraphStore, ListPosition};
use workgraph_testkit::Fixture;
use workgraph_webhooks::{DeliveryState, Webhook, WebhookLimits, WebhookStore};

/// Creates a store with a workspace, its people, a task with a value, and an app that a user let in. Returns the numbers of the
/// field and the task.
fn filled() -> Option<(TestStore, Fixture, (Gid, Gid))> {
    let made = empty_store()?;
    let store = &made.store;
    let mut fixture = Fixture::default();
    let acme = fixture.workspace("Acme");
    let ann = fixture.member(acme, "Ann", Role::Admin);
    let project = fixture.project(acme, "Launch", ann);
    block_on(store.commit(fixture.take())).unwrap();
    let section = fixture.section_in(project);
    fixture.task_in(section, "task 1", ann);
    block_on(store.commit(fixture.take())).unwrap();
    let (number, _) = fixture.custom_field(acme, "Size", CustomFieldType::Number, &[]);
    let valued = fixture.task(acme, "valued", ann);
    fixture.value(valued, number, CustomFieldType::Number, "7");
    block_on(store.commit(fixture.take())).unwrap();
    let login = Login::new("ann@example.com", Secret::new("hash".to_owned()));
    block_on(store.put_account(Account::new(1, Tier::new(1)), Some(login))).unwrap();
    block_on(store.put_app(app(&[acme.get()]), None)).unwrap();
    let yes = consent(1, "yes");
    let code = yes.code.as_ref().unwrap().digest;
    block_on(store.keep_consent(yes)).unwrap();
    block_on(store.redeem(&code, Some(tokens(1, 100)), crate::auth::at(2))).unwrap();
    let hook = Webhook {
        id: 10,
        user: 1,
        app: Some(40),
        service: None,
        workspace: acme.get(),
        resource: valued.get(),
        kind: 6,
        target: "https://hooks.test".into(),
        secret: "secret".into(),
        filters: Vec::new(),
        created_at: crate::auth::at(3),
        state: DeliveryState::default(),
    };
    block_on(WebhookStore::insert(store, hook, WebhookLimits::default())).unwrap();
    Some((made, fixture, (number, valued)))
}

#[test]
fn the_check_names_contradictions() {
    let Some((made, mut fixture, (number, valued))) = filled() else {
        return;
    };
    assert_eq!(
        block_on(made.store.database().check()).unwrap(),
        Vec::<String>::new()
    );
    let ghost = Gid::new(5).unwrap();
    fixture.link(ghost, rel::FOLLOWERS, ghost, ListPosition::Rank(0), None);
    block_on(made.store.commit(fixture.take())).unwrap();
    let problems = |sql: &str| {
        if !sql.is_empty() {
            made.database.sql(sql);
        }
        block_on(made.store.database().check()).unwrap().join("\n")
    };
    let edge = format!("(source, relation, target): 5 {} 5", rel::FOLLOWERS.0);
    assert!(problems("").contains(&format!("an edge has no node at an end {edge}")));
    let valued_again = format!("UPDATE value SET node = {valued}, field = {number}");
    for (sql, part) in [
        (
            "UPDATE value SET key = substr(key, 1, 8) || '\\x01'",
            "the index of values does not agree with task",
        ),
        (
            "UPDATE value SET node = field",
            "is in the index of values and is no task",
        ),
        (
            "UPDATE value SET field = 5",
            "a value has no task or no custom field",
        ),
        (valued_again.as_str(), ""),
        (
            "UPDATE word SET term = 'other' WHERE term = 'valued'",
            "the index entry of node",
        ),
        (
            "UPDATE card SET gid = 6 WHERE kind = (SELECT min(kind) FROM card)",
            "an index entry has no live node (node): 6",
        ),
        (
            "UPDATE word SET gid = 7 WHERE term = 'other'",
            "words have no index entry (node): 7",
        ),
        (
            "DELETE FROM edge WHERE src = 5; DELETE FROM edge WHERE rel = 10",
            "has no edge to its project",
        ),
        ("DELETE FROM edge WHERE rel = 13", "workspace membership"),
        (
            "UPDATE node SET head = replace(head, 'task 1', 'task 2')",
            "does not agree with its body",
        ),
        (
            "DELETE FROM journal WHERE seq = 2",
            "the journal has a gap after: 1",
        ),
        (
            "DELETE FROM journal WHERE seq = 4",
            "the journal does not begin and end where the state of the store says",
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
            "UPDATE node SET seq = 99 WHERE kind = 77",
            "a node was created by a commit that the journal does not reach",
        ),
        (
            "UPDATE edge SET seq = 99",
            "an edge was made by a commit that the journal does not reach",
        ),
        (
            "DELETE FROM audit WHERE seq = (SELECT max(seq) FROM audit)",
            "the end of the audit log is not what the state of the store says",
        ),
        (
            "UPDATE account SET disabled = true",
            "an account that is switched off has something that works (user): 1",
        ),
        (
            "DELETE FROM account",
            "an authorization has no account or no app: 9001",
        ),
        ("", "a token has no account: 100"),
        ("", "a login has no account: 1"),
        (
            "UPDATE token SET revoked_at = 1",
            "a webhook has an app that holds no refresh token: 10",
        ),
        (
            "UPDATE token SET refresh = 3 WHERE id = 100",
            "an issued token has no authorization or no refresh token: 100",
        ),
        (
            "UPDATE code SET \"authorization\" = 3",
            "a code has no authorization (app, user): 40 1",
        ),
        (
            "DELETE FROM store_state",
            "there is not one row with the state of the store: 0",
        ),
    ] {
        let found = problems(sql);
        assert!(found.contains(part), "{sql}: {found}");
    }
}

#[test]
fn a_field_without_a_node_is_a_contradiction_and_not_the_end_of_the_check() {
    let Some((made, _, (number, valued))) = filled() else {
        return;
    };
    let gone =
        format!("DELETE FROM node WHERE gid = {number}; DELETE FROM card WHERE gid = {number}");
    made.database.sql(&gone);
    let found = block_on(made.store.database().check()).unwrap().join("\n");
    for part in [
        format!("a value has no task or no custom field (field, task): {number} {valued}"),
        format!("the index of values does not agree with task {valued}"),
    ] {
        assert!(found.contains(&part), "{found}");
    }
}
