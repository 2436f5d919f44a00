//! The request context: one matched, authenticated and parsed request, as operations see it.
use crate::caller::Caller;
use crate::operation::{Operation, parameter_type};
use crate::settings::ApiSettings;
use serde_json::{Map, Value};
use std::sync::Arc;
use workgraph_auth::Grant;
use workgraph_core::access::Level;
use workgraph_core::audit::ActorContext;
use workgraph_core::domain_error::DomainError;
use workgraph_core::jobs::JobRequester;
use workgraph_core::model::email_address::normalize_address;
use workgraph_core::model::node::Node;
use workgraph_core::model::registry::{Type, rel};
use workgraph_core::model::resources::resource;
use workgraph_core::model::time::Time;
use workgraph_core::model::validate;
use workgraph_core::model::validate::{CheckedInputs, clip};
use workgraph_core::storage::change_builder::ChangeBuilder;
use workgraph_core::storage::{NodeRef, ReadQuery, ReadView, ViewerKey};
use workgraph_core::{Gid, MaybeInterrupt};
use workgraph_wire::{QueryParams, RequestOptions};

/// Names and values of path parameters, in path order.
pub type PathParameters = [(&'static str, String)];

/// The context of one request: its operation, inputs, caller and settings.
pub struct RequestContext<'a> {
    /// The operation that the request matched.
    pub operation: &'static Operation,
    /// Names and values of the path parameters.
    pub parameters: &'a PathParameters,
    /// The user who makes the request, or the service account with its workspace.
    pub viewer: ViewerKey,
    /// The rights that its token grants.
    pub grant: &'a Grant,
    /// The client: its address, user agent and interrupt.
    pub caller: Caller<'a>,
    /// The workspaces to which the app of the token is restricted; `None` if it is not restricted.
    pub reach: Option<Arc<[u64]>>,
    /// The decoded query parameters.
    pub query: QueryParams,
    /// The `data` of the body.
    pub data: Map<String, Value>,
    /// Output options, from body and query.
    pub options: RequestOptions,
    /// The time at which the request is decided.
    pub now: Time,
    /// Generator of fresh gids.
    pub generate_gid: &'a (dyn Fn() -> Gid + Sync),
    /// Settings of the API.
    pub settings: &'a ApiSettings,
    /// The most unfinished jobs of one user. It replaces the number in the settings, since it can change while the
    /// server runs.
    pub jobs_per_user_max: u32,
}

impl<'a> RequestContext<'a> {
    /// Returns the actor and the channel of the request, for the audit log.
    #[must_use]
    pub fn actor_context(&self) -> ActorContext {
        self.caller.actor_context(self.grant)
    }

    /// Returns an empty change builder with the caller as its actor.
    #[must_use]
    pub fn change_builder(&self) -> ChangeBuilder<'a> {
        ChangeBuilder::new(Some(self.viewer.user), self.now, self.generate_gid)
    }

    /// Returns an empty read query of the caller.
    #[must_use]
    pub fn read_query(&self) -> ReadQuery {
        ReadQuery {
            app: self.grant.app,
            allowed_workspaces: self.reach.clone(),
            interrupt: self.interrupt(),
            ..ReadQuery::of(self.viewer)
        }
    }

    /// Returns the interrupt that stops the work on the request, if it has one.
    #[must_use]
    pub fn interrupt(&self) -> MaybeInterrupt {
        self.caller.interrupt.cloned()
    }

    /// Returns the caller as the requester of a job.
    #[must_use]
    pub fn job_requester(&self) -> JobRequester {
        JobRequester {
            viewer: self.viewer,
            max_running: self.jobs_per_user_max,
        }
    }

    /// Returns the gid of the caller.
    #[must_use]
    pub fn user_gid(&self) -> Gid {
        self.viewer.user
    }

    /// Returns the text of a path parameter.
    #[must_use]
    pub fn parameter(&self, name: &str) -> &str {
        self.parameters
            .iter()
            .find(|(n, _)| *n == name)
            .map_or("", |(_, v)| v)
    }

    /// Returns the reference to the node that a path parameter names.
    ///
    /// # Errors
    /// Fails when the parameter is not an identifier.
    pub fn path_ref(&self, name: &str) -> Result<NodeRef, DomainError> {
        let text = self.parameter(name);
        match parameter_type(name) {
            Some(Type::User) => self.parse_user_ref("user", text),
            Some(ty) => parse_gid(resource(ty).noun, text).map(NodeRef::Gid),
            None => parse_gid(name, text).map(NodeRef::Gid),
        }
    }

    /// Returns the gid in a path parameter.
    ///
    /// # Errors
    /// Fails when the parameter is not a gid.
    pub fn required_path_gid(&self, name: &str) -> Result<Gid, DomainError> {
        match self.path_ref(name)? {
            NodeRef::Gid(parse_gid) => Ok(parse_gid),
            _ => Err(DomainError::not_found(name, clip(self.parameter(name)))),
        }
    }

    /// Parses a user given as gid, e-mail address or `me`.
    ///
    /// # Errors
    /// Fails when it is none of these.
    pub fn parse_user_ref(&self, field: &str, text: &str) -> Result<NodeRef, DomainError> {
        if text == "me" {
            return Ok(NodeRef::Gid(self.viewer.user));
        }
        if let Some(gid) = Gid::parse(text) {
            return Ok(NodeRef::Gid(gid));
        }
        if text.contains('@') && text.len() <= 320 {
            return Ok(NodeRef::Address(normalize_address(text)));
        }
        Err(DomainError::field(
            field,
            format_args!("Not an email, GID, or \"me\": {}", clip(text)),
        ))
    }

    /// Returns the value of a query parameter, or `None` if it is absent.
    ///
    /// # Errors
    /// Fails when it is given twice.
    pub fn query(&self, name: &str) -> Result<Option<&str>, DomainError> {
        self.query
            .get(name)
            .map_err(|e| DomainError::invalid(e.to_string()))
    }

    /// Returns the gid in a query parameter.
    ///
    /// # Errors
    /// Fails when it is given twice, or not a gid.
    pub fn query_gid(&self, name: &str) -> Result<Option<Gid>, DomainError> {
        self.query(name)?
            .map(|text| parse_gid(name, text))
            .transpose()
    }

    /// Returns the user that a query parameter names.
    ///
    /// # Errors
    /// Fails when it is given twice, or does not name a user.
    pub fn query_user(&self, name: &str) -> Result<Option<NodeRef>, DomainError> {
        self.query(name)?
            .map(|text| self.parse_user_ref(name, text))
            .transpose()
    }

    /// Returns the instant in a query parameter. `now` is the first instant at which nothing has happened yet.
    ///
    /// # Errors
    /// Fails when it is given twice, or not an instant.
    pub fn query_time(&self, name: &str) -> Result<Option<Time>, DomainError> {
        match self.query(name)? {
            None => Ok(None),
            Some("now") => Ok(Some(Time::from_millis(self.now.millis() + 1))),
            Some(text) => Time::parse(text)
                .map(Some)
                .map_err(|e| DomainError::field(name, e)),
        }
    }

    /// Returns a body field; null counts as absent.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&Value> {
        self.data.get(name).filter(|v| !v.is_null())
    }

    /// Returns true if the body has the field, null or not.
    #[must_use]
    pub fn has_field(&self, name: &str) -> bool {
        self.data.contains_key(name)
    }

    /// Returns a body field that must be there.
    ///
    /// # Errors
    /// Fails when the field is absent or null.
    pub fn required(&self, name: &str) -> Result<&Value, DomainError> {
        self.field(name).ok_or_else(|| DomainError::missing(name))
    }

    /// Returns the gid in a body field; an empty text counts as absent, as null does.
    ///
    /// # Errors
    /// Fails when it is there but not a gid.
    pub fn body_gid(&self, name: &str) -> Result<Option<Gid>, DomainError> {
        self.field(name)
            .filter(|value| value.as_str() != Some(""))
            .map(|v| parse_gid(name, &validate::reference(name, v)?))
            .transpose()
    }

    /// Returns the gid in a body field that must be there.
    ///
    /// # Errors
    /// Fails when it is missing or not a gid.
    pub fn required_gid(&self, name: &str) -> Result<Gid, DomainError> {
        self.body_gid(name)?
            .ok_or_else(|| DomainError::missing(name))
    }

    /// Returns the user in a body field that must be there.
    ///
    /// # Errors
    /// Fails when it is missing or does not name a user.
    pub fn required_user(&self, name: &str) -> Result<NodeRef, DomainError> {
        self.parse_user_ref(name, &validate::reference(name, self.required(name)?)?)
    }

    /// Returns the users in a body field: an array, or text separated by commas.
    ///
    /// # Errors
    /// Fails when it is neither, or an item does not name a user.
    pub fn users(&self, name: &str) -> Result<Vec<NodeRef>, DomainError> {
        self.text_list(name)?
            .iter()
            .map(|text| self.parse_user_ref(name, text))
            .collect()
    }

    /// Returns the gids in a body field: an array, or text separated by commas.
    ///
    /// # Errors
    /// Fails when it is neither, or an item is not a gid.
    pub fn gids(&self, name: &str) -> Result<Vec<Gid>, DomainError> {
        self.text_list(name)?
            .iter()
            .enumerate()
            .map(|(i, text)| parse_gid(&format!("{name}: [{i}]"), text))
            .collect()
    }

    /// Returns the texts in a body field: an array, or text separated by commas.
    ///
    /// # Errors
    /// Fails when the field is neither of them.
    pub fn text_list(&self, name: &str) -> Result<Vec<String>, DomainError> {
        self.field(name)
            .map_or_else(|| Ok(Vec::new()), |value| validate::references(name, value))
    }

    /// Checks the body and returns it as fields of a type.
    ///
    /// # Errors
    /// Fails when a value is not valid for its field.
    pub fn inputs(&self, ty: Type, creating: bool) -> Result<CheckedInputs, DomainError> {
        validate::check_inputs(resource(ty), &self.data, creating)
    }

    /// Returns the node that a path parameter names, if the caller has the level that the operation needs.
    ///
    /// # Errors
    /// Fails with 404 when there is no such node of that type, and with 403 when the level is not enough.
    pub fn path_node<'v>(
        &self,
        view: &'v ReadView,
        name: &str,
        least: Level,
    ) -> Result<&'v Node, DomainError> {
        let ty = parameter_type(name).unwrap_or(Type::Task);
        let noun = resource(ty).noun;
        // Operations on sections and custom fields accept a task list in place of a project.
        let path = self.operation.path;
        let stands_in = ["/sections", "ustomFieldSetting", "/custom_field_settings"];
        let list = ty == Type::Project && stands_in.iter().any(|part| path.contains(part));
        let any_membership = name == "membership_gid";
        let fits = |n: &&Node| {
            n.ty == ty
                || (list && n.ty == Type::UserTaskList)
                || (any_membership && resource(ty).variants.contains(&n.ty))
        };
        let found = view
            .resolve(&self.path_ref(name)?)
            .and_then(|g| view.node(g))
            .filter(fits)
            .filter(|n| self.is_visible(view, n));
        let node = found.ok_or_else(|| DomainError::not_found(noun, clip(self.parameter(name))))?;
        require_level(view, node, least)?;
        self.require_plan(view, node)?;
        Ok(node)
    }

    /// Returns true if the caller has the paid features of a workspace.
    #[must_use]
    pub fn has_paid_plan(&self, view: &ReadView, home: Gid) -> bool {
        view.viewer.service_workspace == Some(home)
            || view.viewer.membership(home).is_some_and(|s| s.paid)
    }

    /// Checks that the plan of the workspace allows the operation. `node` is the workspace, or a node in it.
    ///
    /// # Errors
    /// Fails with 402 when the plan does not have it.
    pub fn require_plan(&self, view: &ReadView, node: &Node) -> Result<(), DomainError> {
        let home = if node.ty == Type::Workspace {
            Some(node.gid)
        } else {
            node.workspace
        };
        let (Some(message), Some(home)) = (self.operation.paid_only, home) else {
            return Ok(());
        };
        if !self.has_paid_plan(view, home)
            || (self.operation.no_guests && !view.viewer.is_member(home))
        {
            return Err(DomainError::paid_only(message));
        }
        Ok(())
    }

    /// Returns true if a reply may show that a node exists. When forbidden objects are hidden, a node that the caller
    /// has no access to gets the same reply as one that does not exist.
    #[must_use]
    pub fn is_visible(&self, view: &ReadView, node: &Node) -> bool {
        !self.settings.hide_forbidden || view.level(node.gid) > Level::None
    }

    /// Returns a node that the query or the body names, if the caller has the level that the operation needs.
    ///
    /// # Errors
    /// Fails with 400 when there is no such node of these types, and with 403 when the level is not enough.
    pub fn resolve_ref<'v>(
        &self,
        view: &'v ReadView,
        field: &str,
        name: &NodeRef,
        types: &[Type],
        least: Level,
    ) -> Result<&'v Node, DomainError> {
        let found = view.resolve(name).and_then(|g| view.node(g)).filter(|n| {
            types.contains(&n.ty) && self.is_visible(view, n) && is_known_user(view, n)
        });
        let node =
            found.ok_or_else(|| DomainError::reference_not_found(field, format_ref(name)))?;
        require_level(view, node, least)?;
        Ok(node)
    }

    /// Returns a user that the query or the body names and who belongs to a workspace.
    ///
    /// # Errors
    /// Fails with 400 when the caller knows no such user, or the user does not belong to the workspace. `noun` is the
    /// kind of the workspace.
    pub fn resolve_member<'v>(
        &self,
        view: &'v ReadView,
        field: &str,
        name: &NodeRef,
        (home, noun): (Gid, &str),
    ) -> Result<&'v Node, DomainError> {
        let found = view.resolve(name).and_then(|g| view.node(g));
        let found = found.filter(|n| n.ty == Type::User && is_known_user(view, n));
        let user =
            found.ok_or_else(|| DomainError::reference_not_found(field, format_ref(name)))?;
        if view.link(user.gid, rel::WORKSPACES, home).is_none() {
            let shown = format_ref(name);
            return Err(DomainError::field(
                field,
                format_args!("Not a user in {noun}: {shown}"),
            ));
        }
        Ok(user)
    }
}

/// Returns true if query and body may name a node. A user who shares no workspace with the viewer gets the same reply
/// as one that does not exist; otherwise clients could try out addresses and gids.
#[must_use]
pub fn is_known_user(view: &ReadView, node: &Node) -> bool {
    node.ty != Type::User || view.level(node.gid) > Level::None
}

/// Checks that the viewer has the level.
///
/// # Errors
/// Fails when the viewer's level is lower.
pub fn require_level(view: &ReadView, node: &Node, least: Level) -> Result<(), DomainError> {
    let noun = resource(node.ty).noun;
    match view.level(node.gid) {
        Level::None => Err(DomainError::no_access(noun)),
        level if level < least => {
            let what = if least == Level::Admin {
                "administer"
            } else if least == Level::Commenter {
                "comment on"
            } else {
                "change"
            };
            Err(DomainError::forbidden(format!(
                "You do not have permission to {what} this {noun}."
            )))
        }
        _ => Ok(()),
    }
}

/// Parses a gid.
///
/// # Errors
/// Fails when the text is not a gid.
pub fn parse_gid(field: &str, text: &str) -> Result<Gid, DomainError> {
    Gid::parse(text).ok_or_else(|| {
        DomainError::field(field, format_args!("Not a recognized ID: {}", clip(text)))
    })
}

/// Returns a reference as text, as the client gave it.
#[must_use]
pub fn format_ref(name: &NodeRef) -> String {
    match name {
        NodeRef::Gid(parse_gid) => parse_gid.to_string(),
        NodeRef::TaskList { user, .. } => format_ref(user),
        NodeRef::Linked { node, .. } => format_ref(node),
        NodeRef::External { id, .. } => clip(id),
        NodeRef::Address(address) => clip(address),
        NodeRef::Alias(key) => clip(key.split_once(':').map_or(key, |(_, rest)| rest)),
    }
}
