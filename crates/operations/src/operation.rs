//! The operation table: types that describe an operation, and its handler as data.
pub mod inputs;
pub mod requests;
pub mod rows;
pub mod steps;

pub use rows::{delete, get, list};

use crate::method::Method;
use crate::operation::inputs::{Input, InputDef, InputPlace, Named};
use crate::operation::requests::{ListAuditLog, ListEvents, WebhookRequest};
use crate::operation::steps::{Described, Prepare};
use workgraph_core::model::registry::{Direction, Relation, Type};
use workgraph_core::storage::{Changes, EdgeEnd, NodeRef, PageQuery, ReadQuery, RowFilter};
use workgraph_core::{Gid, Level};

/// Operation of the API: a row of the operation table.
#[derive(Debug)]
pub struct Operation {
    /// The name of the operation in the public catalogue, such as `getTask`.
    pub id: &'static str,
    /// The HTTP method of the operation.
    pub method: Method,
    /// The path with `{parameters}`, below the base.
    pub path: &'static str,
    /// Other paths of the same operation, for old clients.
    pub alias_paths: &'static [&'static str],
    /// The scope that the operation needs; `None` requires a token with full permissions.
    pub scope: Option<&'static str>,
    /// Declarations of its typed inputs.
    pub inputs: &'static [&'static InputDef],
    /// Filters that requests can put on the list.
    pub row_filters: &'static [&'static Input<RowFilter>],
    /// The shape of a successful response.
    pub response: ResponseKind,
    /// Message for workspaces without a paid plan; `None` if free workspaces may use the operation.
    pub paid_only: Option<&'static str>,
    /// True if the operation is not allowed as an action of a batch.
    pub not_in_batch: bool,
    /// True if the record also depends on the time, so that no reply stays valid for long.
    pub time_dependent: bool,
    /// True if the operation counts against the search quota instead of the standard one.
    pub search: bool,
    /// True if a request about `me` without a header may have its token in the query.
    pub query_token: bool,
    /// True if a `multipart/form-data` body may contain a file.
    pub takes_file: bool,
    /// True if the list also has records of the variants of its type, which need scopes of their own.
    pub lists_variants: bool,
    /// True if only full members of the workspace may use the operation; guests get the message of `paid_only`.
    pub no_guests: bool,
    /// The work of the operation, as data.
    pub handler: Handler,
}

/// An operation of the table, with its number, starting at 1.
pub type NumberedOperation = (&'static Operation, u16);

/// The shape of an operation's successful response.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ResponseKind {
    /// Status 200, with the record.
    Record(Type),
    /// 201, Location and the record.
    Created(Type),
    /// 200 and an array of compact records.
    List(Type),
    /// 200 and an array of full records.
    Records(Type),
    /// 200 and an array of names: records of the type that the request names.
    Names,
    /// Status 200, with `{}` as data.
    Empty,
    /// 200 and counts of tasks.
    Counts,
    /// 200 and the outcomes of actions.
    Outcomes,
    /// 200 and events, with a token for the next call.
    Events,
    /// 200 and rows of the audit log.
    AuditLog,
}

/// The work of an operation; the executor matches on it.
#[derive(Clone, Copy)]
pub enum Handler {
    /// Responds with the node of a path parameter.
    Get(&'static InputDef),
    /// Lists nodes at the node of a path parameter.
    Page(&'static InputDef, ListDefinition),
    /// Lists the nodes of a description.
    ComputedPage(&'static dyn Described<ListRequest>),
    /// Lists the matches of a described search.
    Search(&'static dyn Described<SearchRequest>),
    /// Responds with a node that is chosen from the read view.
    Lookup(&'static dyn Prepare<Gid>),
    /// Decides the changes from the read view.
    Write(&'static dyn Prepare<Decision>),
    /// Trashes the node of a path parameter, if the viewer has this level.
    Delete(&'static InputDef, Level),
    /// Performs the actions in its body, each as a separate request.
    Batch,
    /// Lists the events since the last call.
    Events(&'static dyn Described<ListEvents>),
    /// Lists the audit log of a workspace.
    Audit(&'static dyn Described<ListAuditLog>),
    /// Performs an action on webhooks, which have their own store.
    Webhooks(&'static dyn Described<WebhookRequest>),
}

impl std::fmt::Debug for Handler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Get(_) => "get",
            Self::Page(..) | Self::ComputedPage(_) => "page",
            Self::Search(_) => "search",
            Self::Lookup(_) => "read",
            Self::Delete(..) => "delete",
            Self::Write(_) => "act",
            Self::Batch => "batch",
            Self::Events(_) => "events",
            Self::Audit(_) => "audit log",
            Self::Webhooks(_) => "webhooks",
        })
    }
}

/// List that belongs to a node, described as data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ListDefinition {
    /// Edges of a relation.
    Edges {
        /// The relation of the edges.
        rel: Relation,
        /// The direction of the edges: from the node or to it.
        dir: Direction,
        /// The end of each edge that the list contains.
        give: EdgeEnd,
        /// True if a viewer who sees the node may see the whole list.
        open: bool,
    },
    /// Edges of a relation by title.
    Alphabetical(Relation, Direction),
    /// All nodes of a type in the workspace.
    InWorkspace(Type),
    /// The tasks of the project, section or task list.
    Tasks,
}

/// A list described by a function.
#[derive(Clone, Debug)]
pub struct ListRequest {
    /// The read query; its page has no limit yet.
    pub query: ReadQuery,
    /// The list; the anchor is an index into the references of `query`.
    pub page: PageQuery,
    /// True if the list is computed: a walk over it ends at the walk cap.
    pub computed: bool,
    /// The parameter that names the anchor, for errors.
    pub anchor: &'static str,
    /// Types of nodes that may have the list.
    pub anchor_types: &'static [Type],
    /// Other nodes that the request names.
    pub referenced: Vec<ReferencedNode>,
}

impl ListRequest {
    /// Adds a node that an input names: the caller must see it.
    #[must_use]
    pub fn with_reference<R: Clone + Into<NodeRef>>(mut self, named: &Named<R>) -> Self {
        let node: NodeRef = named.node.clone().into();
        self.query.add_ref(node.clone());
        self.referenced.push(ReferencedNode {
            parameter: named.input.name.to_owned(),
            node,
            types: named.input.types(),
            linked_to: None,
        });
        self
    }
}

/// A node that a search names. It must exist, and the caller must see it.
#[derive(Clone, Debug)]
pub struct ReferencedNode {
    /// Name of the parameter that names the node.
    pub parameter: String,
    /// Reference to the node, as the request gives it.
    pub node: NodeRef,
    /// The types that it may have.
    pub types: &'static [Type],
    /// The node that it must link to, with the stored key of the link; `None` for any.
    pub linked_to: Option<(&'static str, Gid)>,
}

/// A search described by a function.
#[derive(Clone, Debug)]
pub struct SearchRequest {
    /// The read query, including the search.
    pub query: ReadQuery,
    /// The nodes that the request names.
    pub referenced: Vec<ReferencedNode>,
    /// Type of the matching nodes.
    pub ty: Type,
}

/// The changes that an operation decided on, and the record to respond with.
#[derive(Clone, Debug, Default)]
pub struct Decision {
    /// Changes to commit.
    pub changes: Changes,
    /// The node to respond with; `None` for an empty response.
    pub subject: Option<Gid>,
    /// Users whose memberships change: the tiers of their accounts are recomputed.
    pub accounts: Vec<Gid>,
}

impl Decision {
    /// Returns a decision without a record to respond with.
    #[must_use]
    pub fn of(changes: Changes) -> Self {
        Self {
            changes,
            ..Self::default()
        }
    }
    /// Returns a decision with the record to respond with.
    #[must_use]
    pub fn about(changes: Changes, subject: Gid) -> Self {
        Self {
            changes,
            subject: Some(subject),
            accounts: Vec::new(),
        }
    }
}

impl Operation {
    /// Sets the scope that the operation needs.
    #[must_use]
    pub const fn scope(mut self, scope: &'static str) -> Self {
        self.scope = Some(scope);
        self
    }
    /// Sets the filters of the list.
    #[must_use]
    pub const fn filtered_by(mut self, filters: &'static [&'static Input<RowFilter>]) -> Self {
        self.row_filters = filters;
        self
    }
    /// Replaces the declaration of the path parameter of a list that accepts more types than usual.
    #[must_use]
    pub const fn at(mut self, input: &'static InputDef) -> Self {
        if let Handler::Page(_, lists) = self.handler {
            self.handler = Handler::Page(input, lists);
        }
        self
    }
    /// Returns the declarations of all inputs of the operation, path parameters first.
    pub fn declared_inputs(&self) -> impl Iterator<Item = &'static InputDef> {
        let of_path = match self.handler {
            Handler::Get(input) | Handler::Page(input, _) | Handler::Delete(input, _) => {
                Some(input)
            }
            _ => None,
        };
        let path = self.path;
        let own = self.inputs.iter().map(move |input| {
            let path_input = input.path_alternative;
            path_input
                .filter(|p| path.contains(p.name))
                .unwrap_or(input)
        });
        let filters = self.row_filters.iter().map(|filter| &filter.def);
        of_path.into_iter().chain(own).chain(filters)
    }
    /// Returns the declaration of the first path parameter.
    #[must_use]
    pub fn path_input(&self) -> Option<&'static InputDef> {
        let mut declared = self.declared_inputs();
        declared.find(|input| input.place == InputPlace::Path)
    }
    /// Returns the names of the query parameters that are required.
    pub fn required_query(&self) -> impl Iterator<Item = &'static str> {
        let declared = self.declared_inputs();
        let declared = declared.filter(|i| i.place == InputPlace::Query && i.required);
        declared.map(|i| i.name)
    }
    /// Returns the names of the query parameters that are optional, without families of parameters.
    pub fn optional_query(&self) -> impl Iterator<Item = &'static str> {
        let declared = self.declared_inputs();
        let declared = declared.filter(|i| i.place == InputPlace::Query && !i.required);
        let declared = declared.filter(|i| !i.is_family());
        declared.map(|i| i.name)
    }
    /// Returns the names of the required body fields, each with true if null is accepted.
    pub fn required_body(&self) -> impl Iterator<Item = (&'static str, bool)> {
        self.inputs.iter().flat_map(|input| {
            let names = input.required_fields().iter();
            names.map(|name| (*name, input.nullable))
        })
    }
    /// Adds other paths of the operation.
    #[must_use]
    pub const fn alias_paths(mut self, paths: &'static [&'static str]) -> Self {
        self.alias_paths = paths;
        self
    }
    /// Makes the operation respond with a record instead of `{}`.
    #[must_use]
    pub const fn responds_with(mut self, ty: Type) -> Self {
        self.response = ResponseKind::Record(ty);
        self
    }
    /// Makes the operation respond with counts.
    #[must_use]
    pub const fn counts(mut self) -> Self {
        self.response = ResponseKind::Counts;
        self
    }
    /// Replaces the method of the operation.
    #[must_use]
    pub const fn with_method(mut self, method: Method) -> Self {
        self.method = method;
        self
    }
    /// Makes the operation list full records.
    #[must_use]
    pub const fn full(mut self) -> Self {
        if let ResponseKind::List(ty) = self.response {
            self.response = ResponseKind::Records(ty);
        }
        self
    }
    /// Restricts the operation to paid workspaces.
    #[must_use]
    pub const fn paid_only(mut self, message: &'static str) -> Self {
        self.paid_only = Some(message);
        self
    }
    /// Forbids the operation as an action of a batch.
    #[must_use]
    pub const fn not_in_batch(mut self) -> Self {
        self.not_in_batch = true;
        self
    }
    /// Declares that the record also depends on the time.
    #[must_use]
    pub const fn time_dependent(mut self) -> Self {
        self.time_dependent = true;
        self
    }
    /// Counts the operation against the search quota instead of the standard one.
    #[must_use]
    pub const fn search(mut self) -> Self {
        self.search = true;
        self
    }
    /// Takes the token from the query if there is no header and the request is about `me`.
    #[must_use]
    pub const fn query_token(mut self) -> Self {
        self.query_token = true;
        self
    }
    /// Accepts a `multipart/form-data` body with a file.
    #[must_use]
    pub const fn takes_file(mut self) -> Self {
        self.takes_file = true;
        self
    }
    /// Declares that the list also has records of the variants of its type, which need scopes of their own.
    #[must_use]
    pub const fn lists_variants(mut self) -> Self {
        self.lists_variants = true;
        self
    }
    /// Refuses guests, with the same message that free workspaces get.
    #[must_use]
    pub const fn no_guests(mut self) -> Self {
        self.no_guests = true;
        self
    }
    /// Returns true if the operation changes data.
    #[must_use]
    pub const fn writes(&self) -> bool {
        match self.handler {
            Handler::Delete(..) | Handler::Write(_) => true,
            Handler::Webhooks(_) => !matches!(self.method, Method::Get),
            _ => false,
        }
    }
    /// Returns the type of the record that the operation responds with.
    #[must_use]
    pub const fn record(&self) -> Option<Type> {
        match self.response {
            ResponseKind::Record(ty)
            | ResponseKind::Created(ty)
            | ResponseKind::List(ty)
            | ResponseKind::Records(ty) => Some(ty),
            ResponseKind::Events => Some(Type::Event),
            ResponseKind::Names
            | ResponseKind::Empty
            | ResponseKind::Counts
            | ResponseKind::Outcomes
            | ResponseKind::AuditLog => None,
        }
    }
}

impl Operation {
    /// Returns the type whose fields `opt_fields` names. A response without a record shows none of them, but fields that the
    /// token may not read are refused as for a task.
    #[must_use]
    pub const fn named_fields_type(&self) -> Type {
        match self.record() {
            Some(ty) => ty,
            None => Type::Task,
        }
    }
}
