//! Scene of the tests of decisions: a small graph in memory, and operations that are decided on it.
//!
//! A test says what is given, when an operation is decided, and then what its decision is. Access by scopes, plans and limits is
//! checked before, so it plays no part here.
use crate::caller::Caller;
use crate::operation::inputs::{InputPlace, InputReader, RawInputs};
use crate::operation::{Decision, Handler, Operation};
use crate::request_context::RequestContext;
use crate::settings::ApiSettings;
use crate::table::all;
use serde_json::Value;
use std::sync::atomic::{AtomicU64, Ordering};
use workgraph_auth::conformance::block_on;
use workgraph_auth::{Account, Grant, SecretDigest, Tier, TokenRecord, check_token};
use workgraph_core::Gid;
use workgraph_core::access::Role;
use workgraph_core::domain_error::DomainError;
use workgraph_core::model::node::Node;
use workgraph_core::model::registry::{Relation, Type};
use workgraph_core::rules::membership_roles::MembershipRole;
use workgraph_core::rules::membership_rules::rejoin_workspace;
use workgraph_core::storage::{GraphStore, ListPosition, ViewerKey};
use workgraph_testkit::{Fixture, MemoryStore};
use workgraph_wire::{QueryParams, RequestOptions};

/// First gid that decisions give to new nodes.
const NEW: u64 = 1 << 40;
/// Most unfinished jobs of a user.
pub(crate) const JOBS_MAX: u32 = 5;

/// A workspace with an admin, a member and a project of the admin.
pub(crate) struct DecisionScene {
    store: MemoryStore,
    fixture: Fixture,
    last_gid: AtomicU64,
    pub(crate) acme: Gid,
    /// Admin of the workspace.
    pub(crate) ann: Gid,
    /// Member of the workspace.
    pub(crate) bob: Gid,
    /// Project that the workspace sees, with one section.
    pub(crate) garden: Gid,
}

impl DecisionScene {
    pub(crate) fn new() -> Self {
        let mut fixture = Fixture::default();
        let acme = fixture.workspace("Acme");
        let ann = fixture.member(acme, "Ann", Role::Admin);
        let bob = fixture.member(acme, "Bob", Role::Member);
        let garden = fixture.project(acme, "Garden", ann);
        let mut scene = Self {
            store: MemoryStore::new(),
            fixture,
            last_gid: AtomicU64::new(NEW),
            acme,
            ann,
            bob,
            garden,
        };
        scene.given(|_| ());
        scene
    }

    /// Stores what a fixture builds.
    pub(crate) fn given<T>(&mut self, build: impl FnOnce(&mut Fixture) -> T) -> T {
        let built = build(&mut self.fixture);
        block_on(self.store.commit(self.fixture.take())).unwrap();
        built
    }

    /// Stores tasks of the admin in the project.
    pub(crate) fn tasks<const N: usize>(&mut self) -> [Gid; N] {
        let (garden, ann) = (self.garden, self.ann);
        self.given(|fixture| {
            let section = fixture.section_in(garden);
            std::array::from_fn(|at| fixture.task_in(section, &format!("Task {at}"), ann))
        })
    }

    /// Stores a member of the workspace who may only look.
    pub(crate) fn view_only_member(&mut self) -> Gid {
        let acme = self.acme;
        self.given(|fixture| {
            let vic = fixture.user("Vic", "vic@example.com");
            let list = fixture.node(Type::UserTaskList, Some(acme), |_, _| ());
            let role = MembershipRole {
                role: Role::Member,
                view_only: true,
            };
            fixture.with(|work| rejoin_workspace(work, vic, acme, list, role));
            vic
        })
    }

    /// Stores an edge.
    pub(crate) fn link(&mut self, src: Gid, rel: Relation, dst: Gid) {
        self.given(|fixture| fixture.link(src, rel, dst, ListPosition::Last, None));
    }

    /// Decides an operation on the node in its path, by a user.
    pub(crate) fn decide(
        &self,
        by: Gid,
        operation: &str,
        on: Gid,
        body: Value,
    ) -> Result<Decision, DomainError> {
        let operation = all().find(|row| row.id == operation).unwrap();
        let in_path = |operation: &Operation| {
            let mut inputs = operation.inputs.iter();
            inputs.find(|input| matches!(input.place, InputPlace::Path))
        };
        let parameter = in_path(operation).map(|input| (input.name, on.to_string()));
        let parameters: Vec<_> = parameter.into_iter().collect();
        let (now, grant) = (self.fixture.now(), self.grant(by));
        let Value::Object(data) = body else {
            panic!("a body is an object: {body}");
        };
        let call = RequestContext {
            operation,
            raw: RawInputs {
                parameters: &parameters,
                query: QueryParams::default(),
                data,
                file: None,
                me: by,
                now,
            },
            viewer: ViewerKey {
                user: by,
                service: None,
            },
            grant: &grant,
            caller: Caller::default(),
            min_seq: None,
            allowed_workspaces: None,
            options: RequestOptions::default(),
            now,
            generate_gid: &|| Gid::new(self.last_gid.fetch_add(1, Ordering::Relaxed)).unwrap(),
            settings: &ApiSettings::default(),
            jobs_per_user_max: JOBS_MAX,
        };
        let Handler::Write(steps) = operation.handler else {
            panic!("{} decides nothing", operation.id);
        };
        let prepared = steps.prepare(&InputReader::new(&call.raw))?;
        let view = block_on(self.store.load(&prepared.needs(&call)?)).unwrap();
        prepared.decide(&call, &view)
    }

    /// Decides an operation and stores its changes.
    pub(crate) fn done(&self, by: Gid, operation: &str, on: Gid, body: Value) -> Decision {
        let decision = self.decide(by, operation, on, body).unwrap();
        block_on(self.store.commit(decision.changes.clone())).unwrap();
        decision
    }

    /// Decides an operation, stores its changes, and returns the node that it made.
    pub(crate) fn made(&self, by: Gid, operation: &str, on: Gid, body: Value) -> Gid {
        self.done(by, operation, on, body).subject.unwrap()
    }

    /// Returns the reason why an operation is refused.
    pub(crate) fn refused(&self, by: Gid, operation: &str, on: Gid, body: Value) -> String {
        let decided = self.decide(by, operation, on, body);
        decided.map(|_| ()).unwrap_err().message
    }

    fn grant(&self, user: Gid) -> Grant {
        let (user, now) = (user.get(), self.fixture.now().to_system());
        let record = TokenRecord::personal(1, SecretDigest::of("a token"), user, now);
        check_token(&record, &Account::new(user, Tier::new(1)), now).unwrap()
    }
}

/// Returns the edges of a relation that a decision writes, each as source and target.
pub(crate) fn written(decision: &Decision, rel: Relation) -> Vec<(Gid, Gid)> {
    let edges = decision.changes.edge_writes.iter();
    let edges = edges.filter(|edge| edge.rel == rel);
    edges.map(|edge| (edge.src, edge.dst)).collect()
}

/// Returns the node that a decision writes under this gid.
pub(crate) fn saved(decision: &Decision, gid: Gid) -> &Node {
    let mut writes = decision.changes.node_writes.iter();
    &writes.find(|write| write.node.gid == gid).unwrap().node
}
