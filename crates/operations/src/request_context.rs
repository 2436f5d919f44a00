//! The request context: one matched, authenticated and parsed request, as operations see it.
use crate::caller::Caller;
use crate::operation::Operation;
use crate::operation::inputs;
use crate::operation::inputs::{InputDef, InputPlace, InputReader, Named, RawInputs};
pub use crate::operation::inputs::{PathParameters, parse_gid};
use crate::settings::ApiSettings;
use std::sync::Arc;
use workgraph_auth::Grant;
use workgraph_core::access::Level;
use workgraph_core::audit::ActorContext;
use workgraph_core::domain_error::DomainError;
use workgraph_core::jobs::JobRequester;
use workgraph_core::model::node::Node;
use workgraph_core::model::registry::{Type, rel};
use workgraph_core::model::resources::{is_one_of, resource};
use workgraph_core::model::time::Time;
use workgraph_core::model::validate::clip;
use workgraph_core::storage::change_builder::ChangeBuilder;
use workgraph_core::storage::{NodeRef, ReadQuery, ReadView, Seq, ViewerKey};
use workgraph_core::{Gid, MaybeInterrupt};
use workgraph_wire::RequestOptions;

/// The context of one request: its operation, inputs, caller and settings.
pub struct RequestContext<'a> {
    /// The operation that the request matched.
    pub operation: &'static Operation,
    /// Inputs as they were sent.
    pub raw: RawInputs<'a>,
    /// The user who makes the request, or the service account with its workspace.
    pub viewer: ViewerKey,
    /// The rights that the token grants.
    pub grant: &'a Grant,
    /// The client: its address, user agent and interrupt.
    pub caller: Caller<'a>,
    /// Commit that the request must see, if any state from that commit on is acceptable: see [`ReadQuery::min_seq`].
    pub min_seq: Option<Seq>,
    /// The workspaces that the app of the token is restricted to; `None` if it is not restricted.
    pub allowed_workspaces: Option<Arc<[u64]>>,
    /// Output options, from body and query.
    pub options: RequestOptions,
    /// The time at which the request is decided.
    pub now: Time,
    /// Generator of fresh gids.
    pub generate_gid: &'a (dyn Fn() -> Gid + Sync),
    /// Settings of the API.
    pub settings: &'a ApiSettings,
    /// Maximum number of unfinished jobs of one user. It replaces the number in the settings, since it can change while the
    /// server runs.
    pub jobs_per_user_max: u32,
}

impl<'a> RequestContext<'a> {
    /// Returns the actor and the channel of the request, for the audit log.
    #[must_use]
    pub fn actor_context(&self) -> ActorContext {
        self.caller.actor_context(self.grant)
    }

    /// Returns the address of the API that links in the reply begin with.
    #[must_use]
    pub fn base_url(&self) -> &str {
        self.settings.base_url_for(self.caller.base_url)
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
            allowed_workspaces: self.allowed_workspaces.clone(),
            interrupt: self.interrupt(),
            min_seq: self.min_seq,
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

    /// Returns the gid of the calling user or service account.
    #[must_use]
    pub fn user_gid(&self) -> Gid {
        self.viewer.user
    }

    /// Parses a user in the fields of a record: a gid, an e-mail address or `me`. `field` is the name for errors.
    ///
    /// # Errors
    /// Fails if it is none of these.
    pub fn parse_user_ref(&self, field: &str, text: &str) -> Result<NodeRef, DomainError> {
        inputs::parse_user_ref(field, text, self.user_gid())
    }

    /// Returns the node that an input names, if the caller has the required level.
    ///
    /// # Errors
    /// Fails if no node of the input's types has this name: with 404 if the path names it, else with 400. Fails with 403 if the
    /// level is too low.
    pub fn named_node<'v, R: Clone + Into<NodeRef>>(
        &self,
        view: &'v ReadView,
        named: &Named<R>,
        least: Level,
    ) -> Result<&'v Node, DomainError> {
        let (input, name) = (named.input, named.node.clone().into());
        match input.place {
            InputPlace::Path => self.node_of_path(view, input, &name, least),
            InputPlace::Query | InputPlace::Body => {
                self.resolve_ref(view, input.name, &name, input.types(), least)
            }
        }
    }

    /// Returns the node that a path parameter names, if the caller has the required level.
    fn node_of_path<'v>(
        &self,
        view: &'v ReadView,
        input: &InputDef,
        name: &NodeRef,
        least: Level,
    ) -> Result<&'v Node, DomainError> {
        let types = input.types();
        let found = view.resolve(name).and_then(|g| view.node(g));
        let found = found.filter(|n| is_one_of(n, types) && self.is_visible(view, n));
        let node = found.ok_or_else(|| {
            let noun = types.first().map_or(input.name, |ty| resource(*ty).noun);
            let text = InputReader::new(&self.raw).path_text(input);
            DomainError::not_found(noun, clip(text.unwrap_or_default()))
        })?;
        require_level(view, node, least)?;
        self.require_plan(view, node)?;
        Ok(node)
    }

    /// Returns true if the caller has the paid features of a workspace.
    #[must_use]
    pub fn has_paid_plan(&self, view: &ReadView, workspace: Gid) -> bool {
        view.viewer.service_workspace == Some(workspace)
            || view.viewer.membership(workspace).is_some_and(|s| s.paid)
    }

    /// Checks that the plan of the workspace allows the operation. `node` is the workspace, or a node in it.
    ///
    /// # Errors
    /// Fails with 402 if the plan does not include it.
    pub fn require_plan(&self, view: &ReadView, node: &Node) -> Result<(), DomainError> {
        let workspace = if node.ty == Type::Workspace {
            Some(node.gid)
        } else {
            node.workspace
        };
        let (Some(message), Some(workspace)) = (self.operation.paid_only, workspace) else {
            return Ok(());
        };
        if !self.has_paid_plan(view, workspace)
            || (self.operation.no_guests && !view.viewer.is_member(workspace))
        {
            return Err(DomainError::paid_only(message));
        }
        Ok(())
    }

    /// Returns true if a reply may reveal that a node exists. If forbidden objects are hidden, a node that the caller has no
    /// access to gets the same reply as one that does not exist.
    #[must_use]
    pub fn is_visible(&self, view: &ReadView, node: &Node) -> bool {
        !self.settings.hide_forbidden || view.level(node.gid) > Level::None
    }

    /// Returns a node that the query or the body names, if the caller has the required level.
    ///
    /// # Errors
    /// Fails with 400 if no node of these types has this name, and with 403 if the level is too low.
    pub fn resolve_ref<'v>(
        &self,
        view: &'v ReadView,
        field: &str,
        name: &NodeRef,
        types: &[Type],
        least: Level,
    ) -> Result<&'v Node, DomainError> {
        let node = self.known_ref(view, field, name, types)?;
        require_level(view, node, least)?;
        Ok(node)
    }

    /// Returns a node that the query or the body names, if it is in one of the caller's workspaces; the caller need not see it.
    ///
    /// # Errors
    /// Fails with 400 if no node of these types has this name, and with 403 if the workspace is not the caller's.
    pub fn resolve_unseen<'v>(
        &self,
        view: &'v ReadView,
        field: &str,
        name: &NodeRef,
        types: &[Type],
    ) -> Result<&'v Node, DomainError> {
        let node = self.known_ref(view, field, name, types)?;
        let workspaces = view.viewer.workspaces();
        if node
            .workspace
            .is_none_or(|workspace| !workspaces.contains(&workspace))
        {
            return Err(DomainError::no_access(resource(node.ty).noun));
        }
        Ok(node)
    }

    /// Returns a node that the query or the body names, if the caller may know that it exists.
    fn known_ref<'v>(
        &self,
        view: &'v ReadView,
        field: &str,
        name: &NodeRef,
        types: &[Type],
    ) -> Result<&'v Node, DomainError> {
        let found = view
            .resolve(name)
            .and_then(|g| view.node(g))
            .filter(|n| is_one_of(n, types) && self.is_visible(view, n) && is_known_user(view, n));
        found.ok_or_else(|| DomainError::reference_not_found(field, format_ref(name)))
    }

    /// Returns a user that the query or the body names, if the user belongs to a workspace.
    ///
    /// # Errors
    /// Fails with 400 if the caller knows no such user, or the user does not belong to the workspace. `noun` returns the kind of
    /// the workspace.
    pub fn resolve_member<'v>(
        &self,
        view: &'v ReadView,
        field: &str,
        name: &NodeRef,
        (workspace, noun): (Gid, impl FnOnce() -> &'static str),
    ) -> Result<&'v Node, DomainError> {
        let found = view.resolve(name).and_then(|g| view.node(g));
        let found = found.filter(|n| n.ty == Type::User && is_known_user(view, n));
        let user =
            found.ok_or_else(|| DomainError::reference_not_found(field, format_ref(name)))?;
        if view.link(user.gid, rel::WORKSPACES, workspace).is_none() {
            let (noun, shown) = (noun(), format_ref(name));
            return Err(DomainError::field(
                field,
                format_args!("Not a user in {noun}: {shown}"),
            ));
        }
        Ok(user)
    }
}

/// Returns true if query and body may name a node. A user who shares no workspace with the viewer gets the same reply as one who
/// does not exist; otherwise clients could try out addresses and gids.
#[must_use]
pub fn is_known_user(view: &ReadView, node: &Node) -> bool {
    node.ty != Type::User || view.level(node.gid) > Level::None
}

/// Checks that the viewer has the level.
///
/// # Errors
/// Fails if the viewer's level is lower.
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
