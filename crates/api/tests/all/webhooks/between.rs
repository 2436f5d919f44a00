//! What happens between the two writes of a change to webhooks, to the store and to the board.
use super::*;
use crate::races::race;
use workgraph_core::graph::GraphStore;
use workgraph_webhooks::{
    Delivery, Filter, Hook, HookStore, Inserted, Limits, Page, Standing, State, StoreError,
};

type Answer<T> = Result<T, StoreError>;

/// A store around whose writes something else happens.
struct Between {
    store: Arc<dyn HookStore>,
    graph: Arc<dyn GraphStore>,
    /// Is committed right after an insertion.
    then: Mutex<Option<Changes>>,
    /// The next change of filters is slow to answer.
    slow: AtomicBool,
    /// Nothing can be removed.
    full: AtomicBool,
}

#[async_trait]
impl HookStore for Between {
    async fn insert(&self, hook: Hook, limits: Limits) -> Answer<Inserted> {
        let inserted = self.store.insert(hook, limits).await;
        let then = self.then.lock().unwrap().take();
        if let Some(changes) = then {
            self.graph.commit(changes).await.unwrap();
        }
        inserted
    }
    async fn set_filters(&self, id: u64, filters: Vec<Filter>) -> Answer<bool> {
        let done = self.store.set_filters(id, filters).await;
        if self.slow.swap(false, Ordering::Relaxed) {
            for _ in 0..100 {
                tokio::task::yield_now().await;
            }
        }
        done
    }
    async fn remove(&self, id: u64) -> Answer<bool> {
        if self.full.load(Ordering::Relaxed) {
            return Err(StoreError("the disk is full".to_owned()));
        }
        self.store.remove(id).await
    }
    async fn all(&self) -> Answer<Vec<Hook>> {
        self.store.all().await
    }
    async fn standing(&self, id: u64) -> Answer<Standing> {
        self.store.standing(id).await
    }
    async fn get(&self, id: u64) -> Answer<Option<Hook>> {
        self.store.get(id).await
    }
    async fn list(&self, page: Page) -> Answer<Vec<Hook>> {
        self.store.list(page).await
    }
    async fn settle(&self, id: u64, state: State, line: Option<Delivery>) -> Answer<bool> {
        self.store.settle(id, state, line).await
    }
    async fn advance(&self, ids: Vec<u64>, seq: u64) -> Answer<()> {
        self.store.advance(ids, seq).await
    }
    async fn deliveries(&self, id: u64, limit: usize) -> Answer<Vec<Delivery>> {
        self.store.deliveries(id, limit).await
    }
    async fn sweep(&self, before: SystemTime) -> Answer<u64> {
        self.store.sweep(before).await
    }
}

/// A change of the name of a task.
fn renamed(world: &World, task: &str) -> Changes {
    Changes {
        at: Time::from_system(world.clock.0.now()),
        facts: vec![Fact {
            gid: world.gid(task),
            ty: Type::Task,
            action: Action::Changed {
                field: "name",
                added: None,
                removed: None,
            },
        }],
        ..Changes::default()
    }
}

/// A world with such a store.
fn world(kind: Kind) -> (World, Arc<Between>) {
    let mut world = World::new(kind);
    let between = Arc::new(Between {
        store: Arc::clone(&world.hooks),
        graph: Arc::clone(&world.graph),
        then: Mutex::default(),
        slow: AtomicBool::default(),
        full: AtomicBool::default(),
    });
    world.hooks = between.clone();
    world.restart(KeyRing::new(1, [7; 32]), 1);
    (world, between)
}

impl World {
    /// How many events the target was told.
    fn told(&self, path: &str) -> usize {
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
        // Whoever looks at commits has seen that one, and nothing follows it.
        while let Some(taken) = world.api.take_delivery() {
            world.run(world.api.deliver(&taken)).unwrap();
        }
        assert_eq!(world.told("/echo/a"), 1);
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
    assert_eq!(world.told("/echo/a") > 0, kept == "changed", "{kept}");
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
    assert_eq!(world.told("/echo/a"), 1);
}
