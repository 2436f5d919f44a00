//! Scene of the tests of decisions: a small graph in memory, and operations that are decided on it.
//!
//! A test says what is given, when an operation is decided, and then what its decision is. Access by scopes, plans and limits is
//! checked before, so it plays no part here.
use crate::caller::Caller;
use crate::operation::inputs::{InputDef, InputPlace, InputReader, RawInputs, UploadedFile};
use crate::operation::steps::Prepare;
use crate::operation::{Decision, Handler, ListRequest, Operation};
use crate::request_context::{PathParameters, RequestContext};
use crate::settings::ApiSettings;
use crate::table::all;
use serde_json::{Map, Value};
use std::sync::atomic::{AtomicU64, Ordering};
use workgraph_auth::conformance::block_on;
use workgraph_auth::{Account, Grant, SecretDigest, Tier, TokenRecord, check_token};
use workgraph_core::Gid;
use workgraph_core::access::{Level, Role};
use workgraph_core::domain_error::DomainError;
use workgraph_core::model::draft::Draft;
use workgraph_core::model::node::Node;
use workgraph_core::model::registry::{Relation, Type};
use workgraph_core::model::resources::story;
use workgraph_core::rules::membership_roles::MembershipRole;
use workgraph_core::rules::membership_rules::{create_workspace, rejoin_workspace};
use workgraph_core::storage::{GraphStore, ListPosition, PageQuery, ReadQuery, ViewerKey};
use workgraph_testkit::{Fixture, MemoryStore};
use workgraph_wire::{QueryParams, RequestOptions};

/// First gid that decisions give to new nodes.
const NEW: u64 = 1 << 40;
/// Most unfinished jobs of a user.
pub(crate) const JOBS_MAX: u32 = 5;

/// Most rows of a list.
const ROWS: usize = 100;

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
    /// App whose tokens the requests have.
    pub(crate) app: Option<u64>,
    /// File in the bodies of the requests.
    pub(crate) file: Option<UploadedFile>,
    pub(crate) settings: ApiSettings,
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
            app: None,
            file: None,
            settings: ApiSettings::default(),
        };
        scene.given(|_| ());
        scene
    }

    /// Stores the objects that a fixture builds.
    pub(crate) fn given<T>(&mut self, build: impl FnOnce(&mut Fixture) -> T) -> T {
        let built = build(&mut self.fixture);
        let stored = block_on(self.store.commit(self.fixture.take()));
        stored.unwrap_or_else(|error| {
            panic!(
                "the fixture can't be stored ({error}): if a decision has changed what it builds on, build it before the decision"
            )
        });
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

    /// Stores a further member of the workspace; returns the user, their task list and its section.
    pub(crate) fn member(&mut self, name: &str) -> (Gid, Gid, Gid) {
        let acme = self.acme;
        self.given(|fixture| {
            let user = fixture.member(acme, name, Role::Member);
            let list = fixture.task_list(user, acme);
            (user, list, fixture.section_in(list))
        })
    }

    /// Stores a second workspace, of which the admin is a member.
    pub(crate) fn second_workspace(&mut self) -> Gid {
        let ann = self.ann;
        self.given(|fixture| {
            let club = fixture.workspace("Club");
            fixture.add_workspace_member(ann, club, Role::Member);
            club
        })
    }

    /// Stores a workspace without a paid plan, of which the admin is a member.
    pub(crate) fn free_workspace(&mut self) -> Gid {
        let ann = self.ann;
        self.given(|fixture| {
            let free = fixture.with(|work| create_workspace(work, "Free", false, false));
            fixture.add_workspace_member(ann, free, Role::Member);
            free
        })
    }

    /// Stores a guest of the workspace.
    pub(crate) fn guest(&mut self) -> Gid {
        let acme = self.acme;
        self.given(|fixture| fixture.member(acme, "Gil", Role::Guest))
    }

    /// Stores a private project of the admin, shared with a user; returns it and the membership.
    pub(crate) fn shared_project(&mut self, user: Gid, level: Level) -> (Gid, Gid) {
        let (acme, ann) = (self.acme, self.ann);
        self.given(|fixture| {
            let secret = fixture.private_project(acme, "Secret", ann);
            (secret, fixture.share(secret, acme, user, level))
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
            fixture.with(|work| rejoin_workspace(work, vic, acme, list, role, &[]));
            vic
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
        self.with_inputs(by, row(operation), on, body, |call| {
            let Handler::Write(steps) = call.operation.handler else {
                panic!("{} decides nothing", call.operation.id);
            };
            self.run(steps, call)
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
        self.with_inputs(by, row(operation), on, inputs, |call| {
            let Handler::Lookup(steps) = call.operation.handler else {
                panic!("{} looks up nothing", call.operation.id);
            };
            self.run(steps, call)
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
        self.with_inputs(by, row(operation), on, inputs, |call| {
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

    /// Chooses the node of a read, from the parameters in its path.
    pub(crate) fn found(
        &self,
        by: Gid,
        operation: &str,
        parameters: &PathParameters,
    ) -> Result<Gid, DomainError> {
        let operation = row(operation);
        let Handler::Lookup(steps) = operation.handler else {
            panic!("{} chooses nothing", operation.id);
        };
        let body = Value::Object(Map::new());
        self.with_call(by, operation, (parameters, ""), body, |call| {
            self.run(steps, call)
        })
    }

    pub(crate) fn described(
        &self,
        by: Gid,
        operation: &str,
        query: &str,
    ) -> Result<ListRequest, DomainError> {
        let operation = row(operation);
        let Handler::ComputedPage(list) = operation.handler else {
            panic!("{} describes no list", operation.id);
        };
        let body = Value::Object(Map::new());
        self.with_call(by, operation, (&[], query), body, |call| {
            list.describe(call)
        })
    }

    fn run<D: std::fmt::Debug>(
        &self,
        steps: &'static dyn Prepare<D>,
        call: &RequestContext<'_>,
    ) -> Result<D, DomainError> {
        let prepared = steps.prepare(&InputReader::new(&call.raw))?;
        let first_gid = self.last_gid.load(Ordering::Relaxed);
        let decide = |mut query: ReadQuery| loop {
            self.last_gid.store(first_gid, Ordering::Relaxed);
            let mut view = block_on(self.store.load(&query)).unwrap();
            match view.decide(|view| prepared.decide(call, view)) {
                Ok(decided) => return decided,
                Err(reads) => query.extend(reads),
            }
        };
        // A decision that has to ask for everything is the same.
        let asking = decide(call.read_query());
        let decided = decide(prepared.needs(call)?);
        assert_eq!(format!("{asking:?}"), format!("{decided:?}"));
        decided
    }

    /// Returns the name of the path parameter for a node. One for nodes of its type comes before others.
    fn path_parameter(&self, operation: &Operation, on: Gid) -> Option<&'static str> {
        let viewer = ViewerKey {
            user: self.ann,
            service: None,
        };
        let view = block_on(self.store.load(&ReadQuery::of(viewer).node(on))).unwrap();
        let ty = view.node(on).map(|node| node.ty);
        let in_path = |input: &&InputDef| matches!(input.place, InputPlace::Path);
        let inputs: Vec<_> = operation.declared_inputs().filter(in_path).collect();
        let mut inputs = inputs.into_iter();
        let first = inputs.clone().next();
        let of_type = inputs.find(|input| ty.is_some_and(|ty| input.types().contains(&ty)));
        of_type.or(first).map(|input| input.name)
    }

    /// Makes a request about a node, and runs a step of its operation.
    fn with_inputs<T>(
        &self,
        by: Gid,
        operation: &'static Operation,
        on: Gid,
        body: Value,
        step: impl FnOnce(&RequestContext<'_>) -> T,
    ) -> T {
        let Value::Object(mut data) = body else {
            panic!("a body is an object: {body}");
        };
        let named = self.path_parameter(operation, on);
        let (mut parameters, mut query) = (Vec::new(), String::new());
        for input in operation.declared_inputs() {
            let text = |value: Value| value.to_string().trim_matches('"').to_owned();
            match input.place {
                InputPlace::Path => {
                    let of_node = (named == Some(input.name)).then(|| on.to_string());
                    let given = data.remove(input.name).map(text).or(of_node);
                    parameters.extend(given.map(|text| (input.name, text)));
                }
                InputPlace::Query => {
                    let given = data.remove(input.name).map(text);
                    query.extend(given.map(|text| format!("{}={text}&", input.name)));
                }
                InputPlace::Body => {}
            }
        }
        let body = Value::Object(data);
        self.with_call(by, operation, (&parameters, &query), body, step)
    }

    /// Makes a request, and runs a step of its operation.
    fn with_call<T>(
        &self,
        by: Gid,
        operation: &'static Operation,
        (parameters, query): (&PathParameters, &str),
        body: Value,
        step: impl FnOnce(&RequestContext<'_>) -> T,
    ) -> T {
        let (now, grant) = (self.fixture.now(), self.grant(by));
        let Value::Object(data) = body else {
            panic!("a body is an object: {body}");
        };
        step(&RequestContext {
            operation,
            raw: RawInputs {
                parameters,
                query: QueryParams::of_request(query).unwrap(),
                data,
                file: self.file.clone(),
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
            settings: &self.settings,
            jobs_per_user_max: JOBS_MAX,
        })
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
        let mut grant = check_token(&record, &Account::new(user, Tier::new(1)), now).unwrap();
        grant.app = self.app;
        grant
    }
}

fn row(operation: &str) -> &'static Operation {
    all().find(|row| row.id == operation).unwrap()
}

/// Returns the edges of a relation that a decision writes, each as source and target.
pub(crate) fn written(decision: &Decision, rel: Relation) -> Vec<(Gid, Gid)> {
    let edges = decision.changes.edge_writes.iter();
    let edges = edges.filter(|edge| edge.rel == rel);
    edges.map(|edge| (edge.src, edge.dst)).collect()
}

/// Returns a body with further members.
pub(crate) fn with(mut body: Value, more: Value) -> Value {
    let (Value::Object(members), Value::Object(more)) = (&mut body, more) else {
        panic!("a body is an object: {body}");
    };
    members.extend(more);
    body
}

pub(crate) fn node(decision: &Decision, gid: Gid) -> &Node {
    saved(decision, gid).expect("the decision writes the node")
}

/// Returns the node that a decision writes, or `None` if it does not write this node.
pub(crate) fn saved(decision: &Decision, gid: Gid) -> Option<&Node> {
    let mut writes = decision.changes.node_writes.iter().rev();
    let write = writes.find(|write| write.node.gid == gid);
    write.map(|write| &write.node)
}

/// Returns the node that a decision responds with and writes.
pub(crate) fn subject(decision: &Decision) -> &Node {
    let written = decision.subject.and_then(|gid| saved(decision, gid));
    written.unwrap()
}

/// Returns the kinds of stories that a decision writes.
pub(crate) fn stories(decision: &Decision) -> Vec<String> {
    let writes = decision.changes.node_writes.iter();
    let stories = writes.filter(|write| write.node.ty == Type::Story);
    let kinds = stories.filter_map(|write| write.node.get(story::SUBTYPE));
    kinds.map(|kind| kind.into_owned()).collect()
}
