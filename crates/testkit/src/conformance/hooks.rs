//! What every store of webhooks must do, beside the graph that it goes with.
mod apps;

pub use apps::webhooks_of_apps;

use super::{Failure, ensure, same};
use crate::connect::{Connect, Connected, connect};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use workgraph_auth::{Account, OAuthStore, ScopeSet, Tier};
use workgraph_core::graph::{Changes, GraphStore};
use workgraph_webhooks::{
    Delivery, Filter, Hook, HookStore, Inserted, Limits, Page, Position, State, StoreError,
};

impl From<workgraph_auth::StoreError> for Failure {
    fn from(error: workgraph_auth::StoreError) -> Self {
        Self(format!("an unexpected error: {error}"))
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self(format!("an unexpected error: {error}"))
    }
}

fn at(seconds: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(1_768_469_400 + seconds)
}

fn hook(id: u64, user: u64, app: Option<u64>, resource: u64) -> Hook {
    Hook {
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
        state: State {
            last_success_at: Some(at(id)),
            ..State::default()
        },
    }
}

fn ids(hooks: &[Hook]) -> Vec<u64> {
    hooks.iter().map(|h| h.id).collect()
}

/// Has user 7 let app 9 in, which works in workspace 1.
async fn let_in(oauth: &dyn OAuthStore, number: u64) -> Result<Connected, Failure> {
    let ask = Connect {
        user: 7,
        app: 9,
        workspaces: vec![1],
        scopes: ScopeSet::full(),
        number,
        at: at(0),
    };
    Ok(connect(oauth, &ask).await?)
}

/// Checks an empty store of webhooks, and the graph and the apps beside it.
///
/// # Errors
/// Says what the store does otherwise.
pub async fn webhooks(
    graph: &dyn GraphStore,
    oauth: &dyn OAuthStore,
    store: &dyn HookStore,
) -> Result<(), Failure> {
    oauth.put_account(Account::new(7, Tier::Free), None).await?;
    let_in(oauth, 1_000).await?;
    let limits = Limits {
        per_resource: 3,
        per_owner: 4,
    };
    for _ in 0..5 {
        graph.commit(Changes::default()).await?;
    }
    let put =
        async |hook: Hook| -> Result<Inserted, Failure> { Ok(store.insert(hook, limits).await?) };
    let Inserted::Done(first) = put(hook(10, 7, None, 100)).await? else {
        return Err(Failure("there was room for the first one".into()));
    };
    same(
        &first.state.position,
        &Position { seq: 5, facts: 0 },
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
        &Inserted::ResourceFull,
        "the limit of an object",
    )?;
    same(
        &put(hook(16, 7, None, 103)).await?,
        &Inserted::OwnerFull,
        "the limit of user and app",
    )?;
    ensure(
        matches!(put(hook(17, 7, Some(9), 103)).await?, Inserted::Done(_)),
        "another app has its own limit",
    )?;
    same(
        &ids(&store.all().await?),
        &vec![10, 11, 12, 13, 14, 17],
        "all of them, by id",
    )?;
    let list = async |app, resource, after, limit| -> Result<Vec<u64>, Failure> {
        let page = Page {
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
    let elsewhere = Page {
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

    let filter = Filter::read(&serde_json::json!(
        {"resource_type": "task", "action": "changed", "fields": ["due_on"]}
    ))
    .map_err(Failure)?;
    ensure(
        store.set_filters(10, vec![filter.clone()]).await?,
        "filters can be replaced",
    )?;
    let state = State {
        position: Position { seq: 9, facts: 3 },
        last_success_at: None,
        last_failure_at: Some(at(50)),
        last_failure_content: "refused \"it\"".into(),
        retries: 4,
        next_attempt_at: Some(at(60)),
        failing_since: Some(at(40)),
    };
    let line = |n: u64| Delivery {
        id: n,
        hook: 10,
        at: at(n),
        from: Position { seq: 5, facts: 0 },
        to: Position { seq: 9, facts: 3 },
        events: 7,
        attempt: 2,
        status: (n == 2).then_some(503),
        error: "503".into(),
    };
    for n in 1..=3 {
        ensure(
            store.settle(10, state.clone(), Some(line(n))).await?,
            "an attempt is noted",
        )?;
    }
    ensure(
        store.settle(10, state.clone(), None).await?,
        "so is one that is not logged",
    )?;
    let held = store.get(10).await?.map(|h| (h.filters, h.state));
    same(
        &held,
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
    same(&store.sweep(at(3)).await?, &2, "old lines can be dropped")?;
    same(
        &store.deliveries(10, 9).await?,
        &vec![line(3)],
        "the others stay",
    )?;

    store.advance(vec![10, 11, 99], 8).await?;
    let place = async |id| -> Result<Option<Position>, Failure> {
        Ok(store.get(id).await?.map(|h| h.state.position))
    };
    same(
        &place(11).await?,
        &Some(Position { seq: 8, facts: 0 }),
        "idle webhooks move on",
    )?;
    same(
        &place(10).await?,
        &Some(Position { seq: 9, facts: 3 }),
        "none moves back",
    )?;
    ensure(store.remove(10).await?, "a webhook can be deleted")?;
    ensure(!store.remove(10).await?, "once")?;
    ensure(
        !store.settle(10, state, Some(line(4))).await?,
        "nothing is noted of one that is gone",
    )?;
    ensure(
        store.deliveries(10, 9).await?.is_empty(),
        "its log goes with it",
    )?;
    ensure(
        !store.set_filters(10, Vec::new()).await?,
        "it has no filters",
    )?;
    same(&store.get(10).await?, &None, "it is gone")
}
