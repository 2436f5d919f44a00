//! The API of a world: how it is started, and started again over the same stores.
use super::*;
use workgraph_testkit::memory_store::WaveOptions;

/// One store, by what is kept in it.
pub(super) struct Stores {
    pub(super) graph: Arc<dyn GraphStore>,
    pub(super) oauth: Arc<dyn OAuthStore>,
    pub(super) hooks: Arc<dyn WebhookStore>,
}

impl Stores {
    pub(super) fn of(store: Arc<impl GraphStore + OAuthStore + WebhookStore + 'static>) -> Self {
        Self {
            graph: store.clone(),
            oauth: store.clone(),
            hooks: store,
        }
    }

    /// Returns a store in memory as one of this kind, and the part of it that counts waves.
    pub(super) fn in_memory(kind: Kind, store: Arc<MemoryStore>) -> (Self, Option<Arc<WaveStore>>) {
        let stores = Self::of(store.clone());
        if kind != Kind::Waves {
            return (stores, None);
        }
        let options = WaveOptions {
            cache_bytes: 1 << 20,
            ..WaveOptions::default()
        };
        let waves = Arc::new(WaveStore::over(store, options));
        let graph: Arc<dyn GraphStore> = waves.clone();
        (Self { graph, ..stores }, Some(waves))
    }
}

impl World {
    /// Starts an API over stores, for a world without names or tokens.
    pub(super) fn over(
        stores: Stores,
        clock: Arc<Hand>,
        settings: ApiSettings,
        node: u8,
        floor: Option<Gid>,
    ) -> Self {
        let hesitant = Arc::new(Hesitant {
            store: stores.graph,
            on: AtomicBool::new(false),
            effort: Mutex::default(),
            is_lost_after_commit: AtomicBool::new(false),
            ignores: Mutex::default(),
            is_lost: AtomicBool::new(false),
            conflicts: AtomicU64::default(),
            read: AtomicU64::default(),
        });
        let graph: Arc<dyn GraphStore> = hesitant.clone();
        let tokens: Arc<dyn TokenStore> = stores.oauth.clone();
        let keys = KeyRing::new(1, [7; 32]);
        Self {
            api: api(&graph, &tokens, &clock, settings, keys, (node, floor)),
            clock,
            graph,
            hesitant,
            tokens,
            oauth: stores.oauth,
            hooks: stores.hooks,
            receiver: Arc::default(),
            files: Arc::default(),
            blobs: Arc::default(),
            runtime: tokio::runtime::Builder::new_current_thread()
                .build()
                .unwrap(),
            names: BTreeMap::new(),
            texts: Mutex::default(),
            memory: None,
            waves: None,
            sqlite: None,
            nodes: None,
            _scratch: None,
            reached_at: None,
        }
    }

    /// Returns a copy of a world in memory: its nodes, tokens, webhooks and files, at its time. Its
    /// new gids are higher than those in it. `node` distinguishes its random bytes from those of the world.
    pub(crate) fn copy(&self, settings: ApiSettings, node: u8) -> Self {
        self.copy_to(Kind::Memory, settings, node)
    }

    /// Returns a copy with a store of this kind in memory and the same settings.
    pub(crate) fn copy_of_kind(&self, kind: Kind) -> Self {
        self.copy_to(kind, self.api.settings().clone(), 0)
    }

    /// Returns a copy with a store of this kind in memory.
    pub(super) fn copy_to(&self, kind: Kind, mut settings: ApiSettings, node: u8) -> Self {
        of_tests(&mut settings);
        let memory = self.memory.as_ref().expect("only memory is copied");
        let store = Arc::new(MemoryStore::clone(memory));
        let clock = Arc::new(Hand(ManualClock::new(self.now())));
        let (stores, waves) = Stores::in_memory(kind, Arc::clone(&store));
        let copy = Self {
            waves,
            receiver: Arc::new(self.receiver.copy()),
            files: Arc::new(self.files.copy()),
            blobs: Arc::new(self.blobs.copy()),
            names: self.names.clone(),
            texts: Mutex::new(self.texts.lock().unwrap().clone()),
            memory: Some(store),
            ..Self::over(stores, clock, settings, node, memory.max_gid())
        };
        copy.rig();
        copy
    }

    /// Starts the API again with the limits of the contract. Without this, the tests have no limits.
    pub(crate) fn limit(&mut self) {
        let limits = workgraph_api::TokenLimits::default();
        let settings = self.api.settings().clone();
        let keys = KeyRing::new(1, [7; 32]);
        self.api = limited(
            limits,
            &self.graph,
            &self.tokens,
            &self.clock,
            settings,
            keys,
            (0, None),
        );
        self.rig();
    }

    /// Starts the API again over the same stores, with other keys for page tokens. `node` distinguishes its gids and
    /// random bytes from those of the API before it.
    pub(crate) fn restart(&mut self, keys: KeyRing, node: u8) {
        let settings = self.api.settings().clone();
        self.api = api(
            &self.graph,
            &self.tokens,
            &self.clock,
            settings,
            keys,
            (node, None),
        );
        self.rig();
    }

    /// Starts the API again over the same stores, with another webhook client.
    pub(crate) fn carried_by(&mut self, deliver: Arc<dyn WebhookClient>) {
        let settings = self.api.settings().clone();
        let keys = KeyRing::new(1, [7; 32]);
        self.api = api(
            &self.graph,
            &self.tokens,
            &self.clock,
            settings,
            keys,
            (1, None),
        );
        self.run(
            self.api
                .set_webhooks(self.hooks.clone(), deliver, WebhookSettings::default()),
        )
        .unwrap();
    }

    /// Sets up webhooks from the store.
    pub(super) fn rig(&self) {
        self.rig_api(&self.api, &self.hooks);
    }

    /// Sets up webhooks of an API from its store.
    pub(super) fn rig_api(&self, api: &Api, hooks: &Arc<dyn WebhookStore>) {
        let settings = WebhookSettings {
            event_ids: true,
            ..WebhookSettings::default()
        };
        let deliver: Arc<dyn WebhookClient> = self.receiver.clone();
        self.run(api.set_webhooks(hooks.clone(), deliver, settings))
            .unwrap();
        api.set_export_files(self.files.clone());
        api.set_blob_store(self.blobs.clone());
    }
}

pub(super) fn api(
    graph: &Arc<dyn GraphStore>,
    tokens: &Arc<dyn TokenStore>,
    clock: &Arc<Hand>,
    settings: ApiSettings,
    keys: KeyRing,
    (node, floor): (u8, Option<Gid>),
) -> Api {
    let limits = no_limits();
    limited(limits, graph, tokens, clock, settings, keys, (node, floor))
}

/// Returns the API of one of several nodes, which share the generator of gids and the random bytes.
pub(super) fn api_of(
    graph: &Arc<dyn GraphStore>,
    tokens: &Arc<dyn TokenStore>,
    clock: &Arc<Hand>,
    settings: ApiSettings,
    (gid_generator, entropy): (Arc<GidGenerator>, Arc<dyn Entropy>),
) -> Api {
    Api::new(ApiDependencies {
        graph: graph.clone(),
        tokens: tokens.clone(),
        clock: clock.clone(),
        entropy,
        settings,
        limits: no_limits(),
        keys: KeyRing::new(1, [7; 32]),
        gid_generator,
    })
}

pub(crate) fn no_limits() -> workgraph_api::TokenLimits {
    let mut limits = workgraph_api::TokenLimits::default();
    limits.standard.free = 1_000_000;
    limits.standard.paid = 1_000_000;
    limits.search_per_minute = 1_000_000;
    limits.cost_per_minute = None;
    limits
}

fn limited(
    limits: workgraph_api::TokenLimits,
    graph: &Arc<dyn GraphStore>,
    tokens: &Arc<dyn TokenStore>,
    clock: &Arc<Hand>,
    settings: ApiSettings,
    keys: KeyRing,
    (node, floor): (u8, Option<Gid>),
) -> Api {
    Api::new(ApiDependencies {
        graph: graph.clone(),
        tokens: tokens.clone(),
        clock: clock.clone(),
        entropy: Arc::new(Seeded(SeededBytes::new(7 + u64::from(node)))),
        settings,
        limits,
        keys,
        gid_generator: Arc::new(GidGenerator::new(node, floor)),
    })
}
