//! Conformance of a webhook store, together with its graph.
mod app_webhooks;
mod attempts;

pub use app_webhooks::webhooks_of_apps;

use super::{GraphStoreFailure, ensure, same};
use crate::connected_app::{AppConnection, ConnectedApp, connect_app};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use workgraph_auth::{Account, OAuthStore, ScopeSet, Tier};
use workgraph_core::storage::{Changes, GraphStore};
use workgraph_webhooks::{
    AttemptRecord, DeliveryLogEntry, DeliveryState, DeliveryStateChange, EventFilter,
    InsertOutcome, JournalPosition, Webhook, WebhookLimits, WebhookListQuery, WebhookStore,
    WebhookStoreError,
};

impl From<workgraph_auth::AuthStoreError> for GraphStoreFailure {
    fn from(error: workgraph_auth::AuthStoreError) -> Self {
        Self(format!("an unexpected error: {error}"))
    }
}

impl From<WebhookStoreError> for GraphStoreFailure {
    fn from(error: WebhookStoreError) -> Self {
        Self(format!("an unexpected error: {error}"))
    }
}

fn at(seconds: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(1_768_469_400 + seconds)
}

fn hook(id: u64, user: u64, app: Option<u64>, resource: u64) -> Webhook {
    Webhook {
        id,
        user,
        app,
        service: None,
        workspace: 1,
        resource,
        kind: 6,
        target: format!("https://hooks.test/{id}"),
        secret: format!("secret {id}"),
        filters: Vec::new(),
        created_at: at(id),
        state: DeliveryState {
            last_success_at: Some(at(id)),
            ..DeliveryState::default()
        },
    }
}

fn ids(hooks: &[Webhook]) -> Vec<u64> {
    hooks.iter().map(|h| h.id).collect()
}

/// Lets user 7 authorize app 9, which works in workspace 1.
async fn let_in(oauth: &dyn OAuthStore, number: u64) -> Result<ConnectedApp, GraphStoreFailure> {
    let ask = AppConnection {
        user: 7,
        app: 9,
        workspaces: vec![1],
        scopes: ScopeSet::full(),
        number,
        at: at(0),
    };
    Ok(connect_app(oauth, &ask).await?)
}

/// Checks an empty webhook store, with its graph and apps.
///
/// # Errors
/// Fails with the first difference from the promises.
pub async fn webhooks(
    graph: &dyn GraphStore,
    oauth: &dyn OAuthStore,
    store: &dyn WebhookStore,
) -> Result<(), GraphStoreFailure> {
    oauth
        .put_account(Account::new(7, Tier::DEFAULT), None)
        .await?;
    let_in(oauth, 1_000).await?;
    let limits = WebhookLimits {
        per_resource: 3,
        per_owner: 4,
    };
    for _ in 0..5 {
        graph.commit(Changes::default()).await?;
    }
    let put = async |hook: Webhook| -> Result<InsertOutcome, GraphStoreFailure> {
        Ok(store.insert(hook, limits).await?)
    };
    let InsertOutcome::Done(first) = put(hook(10, 7, None, 100)).await? else {
        return Err(GraphStoreFailure("there was room for the first one".into()));
    };
    same(
        &first.state.position,
        &JournalPosition { seq: 5, facts: 0 },
        "a new webhook begins at the last commit",
    )?;
    same(
        &store.get(10).await?,
        &Some(*first),
        "it is kept as it was given",
    )?;
    for (id, app, resource) in [
        (11, None, 100),
        (12, Some(9), 100),
        (13, None, 101),
        (14, None, 102),
    ] {
        put(hook(id, 7, app, resource)).await?;
    }
    same(
        &put(hook(15, 8, None, 100)).await?,
        &InsertOutcome::ResourceFull,
        "the limit of an object",
    )?;
    same(
        &put(hook(16, 7, None, 103)).await?,
        &InsertOutcome::OwnerFull,
        "the limit of user and app",
    )?;
    ensure(
        matches!(
            put(hook(17, 7, Some(9), 103)).await?,
            InsertOutcome::Done(_)
        ),
        "another app has its own limit",
    )?;
    same(
        &ids(&store.all().await?),
        &vec![10, 11, 12, 13, 14, 17],
        "all of them, by id",
    )?;
    let list = async |app, resource, after, limit| -> Result<Vec<u64>, GraphStoreFailure> {
        let page = WebhookListQuery {
            owner: (7, app),
            workspace: 1,
            resource,
            after,
            limit,
        };
        Ok(ids(&store.list(page).await?))
    };
    same(
        &list(None, None, 0, 10).await?,
        &vec![10, 11, 13, 14],
        "those of user and app",
    )?;
    same(
        &list(None, None, 10, 2).await?,
        &vec![11, 13],
        "a page of them",
    )?;
    same(
        &list(None, Some(100), 0, 10).await?,
        &vec![10, 11],
        "those on an object",
    )?;
    same(
        &list(Some(9), None, 0, 10).await?,
        &vec![12, 17],
        "those of an app",
    )?;
    let elsewhere = WebhookListQuery {
        owner: (7, None),
        workspace: 2,
        resource: None,
        after: 0,
        limit: 10,
    };
    ensure(
        store.list(elsewhere).await?.is_empty(),
        "none of another workspace",
    )?;

    let filter = EventFilter::read(&serde_json::json!(
        {"resource_type": "task", "action": "changed", "fields": ["due_on"]}
    ))
    .map_err(|error| GraphStoreFailure(error.to_string()))?;
    ensure(
        store.set_filters(10, vec![filter.clone()]).await?,
        "filters can be replaced",
    )?;
    let state = DeliveryState {
        position: JournalPosition { seq: 9, facts: 3 },
        last_success_at: None,
        last_failure_at: Some(at(50)),
        last_failure_content: "refused \"it\"".into(),
        retries: 4,
        next_attempt_at: Some(at(60)),
        failing_since: Some(at(40)),
    };
    let line = |n: u64| DeliveryLogEntry {
        id: n,
        webhook: 10,
        sent_at: at(n),
        from: JournalPosition { seq: 5, facts: 0 },
        to: JournalPosition { seq: 9, facts: 3 },
        events: 7,
        attempt: 2,
        status: (n == 2).then_some(503),
        error: "503".into(),
    };
    let first = DeliveryStateChange {
        from: DeliveryState::default(),
        to: Some(state.clone()),
    };
    for (n, change) in [(1, Some(first)), (2, None), (3, None)] {
        same(
            &store.record_attempt(10, change, Some(line(n))).await?,
            &AttemptRecord::Stored,
            "an attempt is noted, with a new state or without",
        )?;
    }
    let again = DeliveryStateChange {
        from: state.clone(),
        to: Some(state.clone()),
    };
    same(
        &store.record_attempt(10, Some(again.clone()), None).await?,
        &AttemptRecord::Stored,
        "so is one that is not logged",
    )?;
    let found = store.get(10).await?.map(|h| (h.filters, h.state));
    same(
        &found,
        &Some((vec![filter], state.clone())),
        "filters and state come back",
    )?;
    same(
        &store.deliveries(10, 2).await?,
        &vec![line(3), line(2)],
        "the newest deliveries",
    )?;
    ensure(
        store.deliveries(11, 2).await?.is_empty(),
        "each has its own log",
    )?;
    same(
        &store.prune_delivery_log(at(3)).await?,
        &2,
        "old lines can be dropped",
    )?;
    same(
        &store.deliveries(10, 9).await?,
        &vec![line(3)],
        "the others stay",
    )?;

    store.advance_positions(vec![10, 11, 99], 8).await?;
    let position = async |id| -> Result<Option<JournalPosition>, GraphStoreFailure> {
        Ok(store.get(id).await?.map(|h| h.state.position))
    };
    same(
        &position(11).await?,
        &Some(JournalPosition { seq: 8, facts: 0 }),
        "idle webhooks move on",
    )?;
    same(
        &position(10).await?,
        &Some(JournalPosition { seq: 9, facts: 3 }),
        "none moves back",
    )?;
    ensure(store.remove(10).await?, "a webhook can be deleted")?;
    ensure(!store.remove(10).await?, "once")?;
    for change in [Some(again), None] {
        same(
            &store.record_attempt(10, change, Some(line(4))).await?,
            &AttemptRecord::Deleted,
            "nothing is noted of one that is gone",
        )?;
    }
    ensure(
        store.deliveries(10, 9).await?.is_empty(),
        "its log goes with it",
    )?;
    ensure(
        !store.set_filters(10, Vec::new()).await?,
        "it has no filters",
    )?;
    same(&store.get(10).await?, &None, "it is gone")?;
    attempts::late_results(store).await
}
