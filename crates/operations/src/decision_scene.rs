//! Scene of the tests of decisions: a small graph in memory, and operations that are decided on it.
//!
//! A test says what is given, when an operation is decided, and then what its decision is. Access by scopes, plans and limits is
//! checked before, so it plays no part here.
use crate::caller::Caller;
use crate::operation::inputs::{InputPlace, InputReader, RawInputs};
use crate::operation::steps::Prepare;
use crate::operation::{Decision, Handler};
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
use workgraph_core::model::draft::Draft;
use workgraph_core::model::node::Node;
use workgraph_core::model::registry::Relation;
use workgraph_core::storage::{GraphStore, ListPosition, PageQuery, ReadQuery, ViewerKey};
use workgraph_testkit::{Fixture, MemoryStore};
use workgraph_wire::{QueryParams, RequestOptions};

/// Most unfinished jobs of a user.
pub(crate) const JOBS_MAX: u32 = 5;
/// Most rows of a list.
const ROWS: usize = 100;
/// First gid that decisions give to new nodes.
const NEW: u64 = 1 << 40;

/// A workspace with an admin, a member and a project of the admin.
pub(crate) struct DecisionScene {
    store: MemoryStore,
    fixture: Fixture,
    last_gid: AtomicU64,
    /// Workspace of the service account that the caller is.
    pub(crate) service: Option<Gid>,
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
            service: None,
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

    /// Stores a member of another workspace, whom the admin knows from there.
    pub(crate) fn neighbor(&mut self) -> Gid {
        let ann = self.ann;
        self.given(|fixture| {
            let other = fixture.workspace("Other");
            fixture.add_workspace_member(ann, other, Role::Member);
            fixture.member(other, "Eve", Role::Member)
        })
    }

    /// Stores the next version of a node.
    pub(crate) fn edit(&mut self, gid: Gid, change: impl FnOnce(&mut Draft)) {
        let reader = ViewerKey {
            user: self.ann,
            service: None,
        };
        let view = block_on(self.store.load(&ReadQuery::of(reader).node(gid))).unwrap();
        let mut draft = Draft::edit(view.node(gid).unwrap());
        change(&mut draft);
        self.given(|fixture| fixture.with(|work| work.save(&draft)));
    }

    /// Stores an edge.
    pub(crate) fn link(&mut self, src: Gid, rel: Relation, dst: Gid) {
        self.given(|fixture| fixture.link(src, rel, dst, ListPosition::Last, None));
    }

    /// Decides an operation on the node in its path, by a user. Members of the body that the operation declares for the query, or
    /// as a further parameter of the path, go there.
    pub(crate) fn decide(
        &self,
        by: Gid,
        operation: &str,
        on: Gid,
        body: Value,
    ) -> Result<Decision, DomainError> {
        self.call(by, operation, on, body, |call| {
            let Handler::Write(steps) = call.operation.handler else {
                panic!("{} decides nothing", call.operation.id);
            };
            self.prepared(steps, call)
        })
    }

    /// Chooses the node with which an operation responds.
    pub(crate) fn look_up(
        &self,
        by: Gid,
        operation: &str,
        on: Gid,
        inputs: Value,
    ) -> Result<Gid, DomainError> {
        self.call(by, operation, on, inputs, |call| {
            let Handler::Lookup(steps) = call.operation.handler else {
                panic!("{} looks up nothing", call.operation.id);
            };
            self.prepared(steps, call)
        })
    }

    /// Lists the nodes with which an operation responds, without a check of the node that has the list.
    pub(crate) fn listed(
        &self,
        by: Gid,
        operation: &str,
        on: Gid,
        inputs: Value,
    ) -> Result<Vec<Gid>, DomainError> {
        self.call(by, operation, on, inputs, |call| {
            let Handler::ComputedPage(list) = call.operation.handler else {
                panic!("{} lists nothing", call.operation.id);
            };
            let listed = list.describe(call)?;
            let mut query = listed.query;
            query.page = Some(PageQuery {
                limit: ROWS,
                ..listed.page
            });
            Ok(block_on(self.store.load(&query)).unwrap().rows.gids)
        })
    }

    fn prepared<D>(
        &self,
        steps: &'static dyn Prepare<D>,
        call: &RequestContext<'_>,
    ) -> Result<D, DomainError> {
        let prepared = steps.prepare(&InputReader::new(&call.raw))?;
        let view = block_on(self.store.load(&prepared.needs(call)?)).unwrap();
        prepared.decide(call, &view)
    }

    fn call<T>(
        &self,
        by: Gid,
        operation: &str,
        on: Gid,
        body: Value,
        run: impl FnOnce(&RequestContext<'_>) -> T,
    ) -> T {
        let operation = all().find(|row| row.id == operation).unwrap();
        let (now, grant) = (self.fixture.now(), self.grant(by));
        let Value::Object(mut data) = body else {
            panic!("a body is an object: {body}");
        };
        let (mut parameters, mut query) = (Vec::new(), String::new());
        for input in operation.declared_inputs() {
            let text = |value: Value| value.to_string().trim_matches('"').to_owned();
            match input.place {
                InputPlace::Path => {
                    let given = data.remove(input.name).map(text);
                    parameters.push((input.name, given.unwrap_or_else(|| on.to_string())));
                }
                InputPlace::Query => {
                    let given = data.remove(input.name).map(text);
                    query.extend(given.map(|text| format!("{}={text}&", input.name)));
                }
                InputPlace::Body => {}
            }
        }
        let call = RequestContext {
            operation,
            raw: RawInputs {
                parameters: &parameters,
                query: QueryParams::of_request(&query).unwrap(),
                data,
                file: None,
                me: by,
                now,
            },
            viewer: ViewerKey {
                user: by,
                service: self.service,
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
        run(&call)
    }

    /// Decides an operation and stores its changes.
    pub(crate) fn done(&self, by: Gid, operation: &str, on: Gid, body: Value) -> Decision {
        let decision = self.decide(by, operation, on, body).unwrap();
        block_on(self.store.commit(decision.changes.clone())).unwrap();
        decision
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

/// Returns the node that a decision writes, or `None` if it does not write this node.
pub(crate) fn saved(decision: &Decision, gid: Gid) -> Option<&Node> {
    let mut nodes = decision.changes.node_writes.iter();
    nodes
        .find(|write| write.node.gid == gid)
        .map(|write| &write.node)
}

/// Returns the node that a decision responds with and writes.
pub(crate) fn subject(decision: &Decision) -> &Node {
    let written = decision.subject.and_then(|gid| saved(decision, gid));
    written.unwrap()
}

/// Returns the edges of a relation that a decision writes, each as source and target.
pub(crate) fn written(decision: &Decision, rel: Relation) -> Vec<(Gid, Gid)> {
    let edges = decision.changes.edge_writes.iter();
    let edges = edges.filter(|edge| edge.rel == rel);
    edges.map(|edge| (edge.src, edge.dst)).collect()
}
