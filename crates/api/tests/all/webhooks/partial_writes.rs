//! Events between the two writes of a change to webhooks: to the store and to the scheduler.
use super::*;
use crate::races::race;
use workgraph_core::storage::GraphStore;
use workgraph_webhooks::{
    AttemptRecord, DeliveryLogEntry, DeliveryPermission, DeliveryStateChange, EventFilter,
    InsertOutcome, Webhook, WebhookLimits, WebhookListQuery, WebhookStore, WebhookStoreError,
};

type Answer<T> = Result<T, WebhookStoreError>;

/// A store that does something else around its writes.
pub(super) struct Between {
    pub(super) store: Arc<dyn WebhookStore>,
    graph: Arc<dyn GraphStore>,
    /// Changes that are committed right after an insertion.
    then: Mutex<Option<Changes>>,
    /// True if the next change of filters is slow to return.
    slow: AtomicBool,
    /// True if nothing can be removed.
    pub(super) full: AtomicBool,
    /// Number of changes, for stores that others write, too.
    pub(super) revision: Option<AtomicU64>,
}

impl Between {
    fn count(&self) {
        if let Some(revision) = &self.revision {
            revision.fetch_add(1, Ordering::Relaxed);
        }
    }
}

#[async_trait]
impl WebhookStore for Between {
    async fn insert(&self, hook: Webhook, limits: WebhookLimits) -> Answer<InsertOutcome> {
        let inserted = self.store.insert(hook, limits).await;
        self.count();
        let then = self.then.lock().unwrap().take();
        if let Some(changes) = then {
            self.graph.commit(changes).await.unwrap();
        }
        inserted
    }
    async fn set_filters(&self, id: u64, filters: Vec<EventFilter>) -> Answer<bool> {
        let done = self.store.set_filters(id, filters).await;
        self.count();
        if self.slow.swap(false, Ordering::Relaxed) {
            for _ in 0..100 {
                tokio::task::yield_now().await;
            }
        }
        done
    }
    async fn remove(&self, id: u64) -> Answer<bool> {
        if self.full.load(Ordering::Relaxed) {
            return Err(WebhookStoreError("the disk is full".to_owned()));
        }
        self.count();
        self.store.remove(id).await
    }
    async fn all(&self) -> Answer<Vec<Webhook>> {
        self.store.all().await
    }
    async fn delivery_permission(&self, id: u64, scope: &str) -> Answer<DeliveryPermission> {
        self.store.delivery_permission(id, scope).await
    }
    async fn get(&self, id: u64) -> Answer<Option<Webhook>> {
        self.store.get(id).await
    }
    async fn list(&self, page: WebhookListQuery) -> Answer<Vec<Webhook>> {
        self.store.list(page).await
    }
    async fn record_attempt(
        &self,
        id: u64,
        change: Option<DeliveryStateChange>,
        line: Option<DeliveryLogEntry>,
    ) -> Answer<AttemptRecord> {
        self.store.record_attempt(id, change, line).await
    }
    async fn advance_positions(&self, ids: Vec<u64>, seq: u64) -> Answer<()> {
        self.store.advance_positions(ids, seq).await
    }
    async fn deliveries(&self, id: u64, limit: usize) -> Answer<Vec<DeliveryLogEntry>> {
        self.store.deliveries(id, limit).await
    }
    async fn prune_delivery_log(&self, before: SystemTime) -> Answer<u64> {
        self.store.prune_delivery_log(before).await
    }
    async fn revision(&self) -> Answer<Option<u64>> {
        let revision = self.revision.as_ref();
        Ok(revision.map(|revision| revision.load(Ordering::Relaxed)))
    }
}

/// Returns a change of the name of a task.
pub(super) fn renamed(world: &World, task: &str) -> Changes {
    Changes {
        time: Time::from_system(world.clock.0.now()),
        change_records: vec![ChangeRecord {
            gid: world.gid(task),
            ty: Type::Task,
            action: ChangeAction::Changed {
                field: "name",
                added: None,
                removed: None,
            },
        }],
        ..Changes::default()
    }
}

/// Builds a world with such a store.
fn world(kind: Kind) -> (World, Arc<Between>) {
    world_over(kind, None)
}

/// Builds a world with such a store, which counts its changes if a number is given.
pub(super) fn world_over(kind: Kind, revision: Option<AtomicU64>) -> (World, Arc<Between>) {
    let mut world = World::new(kind);
    let between = Arc::new(Between {
        store: Arc::clone(&world.hooks),
        graph: Arc::clone(&world.graph),
        then: Mutex::default(),
        slow: AtomicBool::default(),
        full: AtomicBool::default(),
        revision,
    });
    world.hooks = between.clone();
    world.restart(KeyRing::new(1, [7; 32]), 1);
    (world, between)
}

impl World {
    /// Returns the number of events that the target received.
    fn deliveries(&self, path: &str) -> usize {
        let got = self.receiver.got(path);
        got.iter().map(|got| got.events.len()).sum()
    }
}

#[test]
fn what_follows_the_first_webhook_before_it_is_on_the_board_is_told() {
    for kind in KINDS {
        let (world, between) = world(kind);
        *between.then.lock().unwrap() = Some(renamed(&world, "water"));
        world.hook("ada", "water", "/echo/a", Value::Null);
        // The scan of commits has seen that one, and nothing follows it.
        while let Some(taken) = world.api.take_delivery() {
            world.run(world.api.deliver(&taken)).unwrap();
        }
        assert_eq!(world.deliveries("/echo/a"), 1);
    }
}

#[test]
fn of_two_changes_of_filters_the_one_that_is_kept_counts() {
    let (world, between) = world(Kind::Memory);
    let hook = world.hook("ada", "water", "/echo/a", Value::Null);
    let path = format!("/webhooks/{hook}");
    let put = |action: &str| {
        let filters = json!([{"resource_type": "task", "action": action}]);
        ("ada", "PUT", path.clone(), json!({"filters": filters}))
    };
    between.slow.store(true, Ordering::Relaxed);
    assert_eq!(race(&world, put("deleted"), put("changed")), [200, 200]);
    let kept = world.show(&hook)["filters"][0]["action"].clone();
    world
        .run(world.graph.commit(renamed(&world, "water")))
        .unwrap();
    world.deliver();
    assert_eq!(world.deliveries("/echo/a") > 0, kept == "changed", "{kept}");
}

#[test]
fn a_webhook_that_could_not_be_deleted_goes_on() {
    let (world, between) = world(Kind::Memory);
    let hook = world.hook("ada", "water", "/echo/a", Value::Null);
    between.full.store(true, Ordering::Relaxed);
    let path = format!("/webhooks/{hook}");
    let deletion = world.request("ada", "DELETE", &path, String::new());
    assert_eq!(world.run(world.api.handle(&deletion)).status, 500);
    world
        .run(world.graph.commit(renamed(&world, "water")))
        .unwrap();
    world.deliver();
    assert_eq!(world.deliveries("/echo/a"), 1);
}
