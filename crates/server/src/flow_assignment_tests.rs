//! Flows of requests, jobs and deliveries: each uses the flow of its token, its job or its webhook.
use crate::adapters::system_clock::SystemEntropy;
use crate::adapters::system_clock::WallClock;
use crate::http::connection_context::flow_of;
use crate::metrics::Metrics;
use crate::workers::job_workers;
use crate::workers::offload::{Offload, OffloadFlow};
use crate::workers::webhook_worker::DeliveryWorker;
use crate::workers::work_lease_renewal::WorkLeaseRenewal;
use async_trait::async_trait;
use std::sync::Arc;
use std::time::Duration;
use workgraph_api::features::webhooks::service::WebhookSettings;
use workgraph_api::request::Method;
use workgraph_api::{Api, ApiDependencies, ApiRequest, Clock};
use workgraph_auth::{Account, Tier, TokenKind, TokenRecord, TokenStore, mint_token};
use workgraph_core::access::Role;
use workgraph_core::model::registry::Type;
use workgraph_core::storage::GraphStore;
use workgraph_core::storage::{PermanentLeases, SharedWork, WorkLeases};
use workgraph_core::{Gid, GidGenerator};
use workgraph_testkit::{Fixture, MemoryStore};
use workgraph_webhooks::{
    DeliveryError, DeliveryRequest, DeliveryState, InsertOutcome, TargetReply, Webhook,
    WebhookClient, WebhookLimits, WebhookStore,
};

/// Target that accepts all deliveries.
struct AcceptingClient;

#[async_trait]
impl WebhookClient for AcceptingClient {
    async fn post(&self, _: DeliveryRequest) -> Result<TargetReply, DeliveryError> {
        Ok(TargetReply {
            status: 200,
            ..TargetReply::default()
        })
    }
}

/// An API with a user who has a project, and the threads for long work.
struct World {
    api: Arc<Api>,
    store: Arc<MemoryStore>,
    clock: Arc<dyn Clock>,
    offload: Arc<Offload>,
    workspace: Gid,
    user: Gid,
    project: Gid,
    token: String,
}

impl World {
    async fn new() -> Self {
        let clock: Arc<dyn Clock> = Arc::new(WallClock::start());
        let mut fixture = Fixture::default();
        let workspace = fixture.workspace("Orchard");
        let user = fixture.member(workspace, "Ada", Role::Member);
        let project = fixture.project(workspace, "Apples", user);
        let store = Arc::new(MemoryStore::new());
        store.commit(fixture.take()).await.unwrap();
        let account = Account::new(user.get(), Tier::new(1));
        store.put_account(account, None).await.unwrap();
        let (secret, digest) = mint_token(TokenKind::Personal, &[7; 32]);
        let record = TokenRecord::personal(1, digest, user.get(), clock.now());
        TokenStore::insert_token(&*store, record).await.unwrap();
        let api = Arc::new(Api::new(ApiDependencies {
            graph: store.clone(),
            tokens: store.clone(),
            clock: clock.clone(),
            entropy: Arc::new(SystemEntropy::new()),
            settings: workgraph_api::ApiSettings::default(),
            limits: workgraph_api::TokenLimits::default(),
            keys: workgraph_wire::KeyRing::new(1, [7; 32]),
            gid_generator: Arc::new(GidGenerator::new(0, None)),
        }));
        Self {
            api,
            store,
            clock,
            offload: Offload::start(1, Duration::from_secs(5)).unwrap(),
            workspace,
            user,
            project,
            token: secret.expose().to_owned(),
        }
    }

    /// Waits until the first work takes a flow, and returns that flow.
    async fn first_flow(&self) -> OffloadFlow {
        let taken = async {
            loop {
                if let Some(flow) = self.offload.flows().first() {
                    return *flow;
                }
                tokio::task::yield_now().await;
            }
        };
        let taken = tokio::time::timeout(Duration::from_secs(20), taken).await;
        taken.expect("nothing takes a flow")
    }
}

fn request(authorization: &[&str], path: &str) -> ApiRequest {
    ApiRequest {
        method: Method::parse("POST"),
        path: path.to_owned(),
        query: String::new(),
        authorization: authorization.iter().map(|a| (*a).to_owned()).collect(),
        content_type: Some("application/json".to_owned()),
        explain: false,
        body: br#"{"data":{"name":"Pears"}}"#.as_slice().into(),
    }
}

#[test]
fn requests_take_turns_by_their_tokens() {
    let flow = |authorization: &[&str], path: &str| flow_of(&request(authorization, path));
    let own = flow(&["Bearer one"], "/tasks");
    assert!(matches!(own, OffloadFlow::Token(_)));
    assert_eq!(flow(&["bearer one"], "/projects"), own, "whatever is asked");
    assert_ne!(flow(&["Bearer two"], "/tasks"), own);
    assert_ne!(flow(&[], "/tasks"), own);
}

#[tokio::test]
async fn the_steps_of_a_job_take_the_flow_of_the_job() {
    let world = World::new().await;
    let authorization = format!("Bearer {}", world.token);
    let path = format!("/projects/{}/duplicate", world.project);
    let reply = world.api.handle(&request(&[&authorization], &path)).await;
    let body: serde_json::Value = serde_json::from_slice(&reply.body).unwrap();
    let job = body["data"]["gid"].as_str();
    let job = job.unwrap_or_else(|| panic!("no job: {body}"));
    assert_eq!(world.offload.flows(), [], "nothing was long");
    let metrics = Arc::new(Metrics::new());
    let workers = job_workers::start(&world.api, &world.clock, &metrics, &world.offload, false);
    let workers = workers.await.unwrap();
    assert_eq!(
        world.first_flow().await,
        OffloadFlow::Job(job.parse().unwrap())
    );
    workers.stop().await;
    let jobs = world.offload.flows();
    let is_of_a_job = |flow: &OffloadFlow| matches!(flow, OffloadFlow::Job(_));
    assert!(jobs.iter().all(is_of_a_job), "{jobs:?}");
}

#[tokio::test]
async fn the_deliveries_of_a_webhook_take_the_flow_of_the_webhook() {
    let world = World::new().await;
    let now = world.clock.now();
    let hook = Webhook {
        id: 4_711,
        user: world.user.get(),
        app: None,
        service: None,
        workspace: world.workspace.get(),
        resource: world.project.get(),
        kind: Type::Project as u8,
        target: "https://hooks.example/".to_owned(),
        secret: "0".repeat(64),
        filters: Vec::new(),
        created_at: now,
        state: DeliveryState::default(),
    };
    let inserted = WebhookStore::insert(&*world.store, hook, WebhookLimits::default());
    assert!(matches!(inserted.await.unwrap(), InsertOutcome::Done(_)));
    let set = world.api.set_webhooks(
        world.store.clone(),
        Arc::new(AcceptingClient),
        WebhookSettings::default(),
    );
    set.await.unwrap();
    let leases: Arc<dyn WorkLeases> = Arc::new(PermanentLeases);
    let delivery_worker = DeliveryWorker {
        api: Arc::clone(&world.api),
        clock: Arc::clone(&world.clock),
        offload: Arc::clone(&world.offload),
        lease: WorkLeaseRenewal::new(&leases, SharedWork::Webhooks),
    };
    let delivering = tokio::spawn(delivery_worker.deliver(2));
    assert_eq!(world.first_flow().await, OffloadFlow::Webhook(4_711));
    delivering.abort();
}
