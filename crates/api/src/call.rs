//! A call: one matched, authenticated and parsed request, as operations see it.
use crate::audit::Caller;
use crate::budget::Budget;
use crate::operation::{Operation, parameter_type};
use crate::settings::Settings;
use serde_json::{Map, Value};
use std::sync::Arc;
use workgraph_auth::Grant;
use workgraph_core::access::Level;
use workgraph_core::address::fold;
use workgraph_core::audit::Acting;
use workgraph_core::check::{self, Inputs, clip};
use workgraph_core::fault::Fault;
use workgraph_core::graph::{Ref, View, ViewerKey, Want};
use workgraph_core::jobs::Starter;
use workgraph_core::node::Node;
use workgraph_core::registry::{Type, rel};
use workgraph_core::resources::resource;
use workgraph_core::time::Time;
use workgraph_core::work::Work;
use workgraph_core::{Gid, MaybeInterrupt};
use workgraph_wire::{Options, Query};

/// One request on its way to an answer.
pub struct Call<'a> {
    /// The row it matched.
    pub operation: &'static Operation,
    /// The path parameters.
    pub parameters: &'a [(&'static str, String)],
    /// Who asks.
    pub viewer: ViewerKey,
    /// What its token grants.
    pub grant: &'a Grant,
    /// Where it came from.
    pub caller: Caller<'a>,
    /// The workspaces that app works in.
    pub reach: Option<Arc<[u64]>>,
    /// The query.
    pub query: Query,
    /// The `data` of the body.
    pub data: Map<String, Value>,
    /// Output options, from body and query.
    pub options: Options,
    /// When the request is decided.
    pub now: Time,
    /// Gives fresh gids.
    pub mint: &'a (dyn Fn() -> Gid + Sync),
    /// The settings.
    pub settings: &'a Settings,
    /// How many bytes it may still answer with.
    pub(crate) budget: &'a Budget,
    /// The most jobs of one user: the one of the settings that changes while the server runs.
    pub jobs: u32,
}

impl<'a> Call<'a> {
    /// Who acts, and by which way, for the audit log.
    #[must_use]
    pub fn acting(&self) -> Acting {
        self.caller.acting(self.grant)
    }

    /// Changes by the caller, nothing yet.
    #[must_use]
    pub fn work(&self) -> Work<'a> {
        Work::new(Some(self.viewer.user), self.now, self.mint)
    }

    /// An empty want of the caller.
    #[must_use]
    pub fn want(&self) -> Want {
        Want {
            app: self.grant.app,
            reach: self.reach.clone(),
            interrupt: self.interrupt(),
            ..Want::of(self.viewer)
        }
    }

    /// What stops the work on it.
    #[must_use]
    pub fn interrupt(&self) -> MaybeInterrupt {
        self.caller.interrupt.cloned()
    }

    /// The caller as one who starts a job.
    #[must_use]
    pub fn starter(&self) -> Starter {
        Starter {
            who: self.viewer,
            most: self.jobs,
        }
    }

    /// The caller.
    #[must_use]
    pub fn me(&self) -> Gid {
        self.viewer.user
    }

    /// The text of a path parameter.
    #[must_use]
    pub fn parameter(&self, name: &str) -> &str {
        self.parameters
            .iter()
            .find(|(n, _)| *n == name)
            .map_or("", |(_, v)| v)
    }

    /// The node a path parameter names.
    ///
    /// # Errors
    /// When it is not an identifier.
    pub fn path(&self, name: &str) -> Result<Ref, Fault> {
        let text = self.parameter(name);
        match parameter_type(name) {
            Some(Type::User) => self.user("user", text),
            Some(ty) => gid(resource(ty).noun, text).map(Ref::Gid),
            None => gid(name, text).map(Ref::Gid),
        }
    }

    /// The gid that a path parameter is.
    ///
    /// # Errors
    /// When it is none.
    pub fn required_path_gid(&self, name: &str) -> Result<Gid, Fault> {
        match self.path(name)? {
            Ref::Gid(gid) => Ok(gid),
            _ => Err(Fault::unknown(name, clip(self.parameter(name)))),
        }
    }

    /// A user given as gid, e-mail address or `me`.
    ///
    /// # Errors
    /// When it is none of these.
    pub fn user(&self, field: &str, text: &str) -> Result<Ref, Fault> {
        if text == "me" {
            return Ok(Ref::Gid(self.viewer.user));
        }
        if let Some(gid) = Gid::parse(text) {
            return Ok(Ref::Gid(gid));
        }
        if text.contains('@') && text.len() <= 320 {
            return Ok(Ref::Address(fold(text)));
        }
        Err(Fault::field(
            field,
            format_args!("Not an email, GID, or \"me\": {}", clip(text)),
        ))
    }

    /// Returns a query parameter.
    ///
    /// # Errors
    /// When it is given twice.
    pub fn query(&self, name: &str) -> Result<Option<&str>, Fault> {
        self.query
            .get(name)
            .map_err(|e| Fault::invalid(e.to_string()))
    }

    /// The node a query parameter names.
    ///
    /// # Errors
    /// When it is given twice, or not a gid.
    pub fn query_gid(&self, name: &str) -> Result<Option<Gid>, Fault> {
        self.query(name)?.map(|text| gid(name, text)).transpose()
    }

    /// The user a query parameter names.
    ///
    /// # Errors
    /// When it is given twice, or does not name a user.
    pub fn query_user(&self, name: &str) -> Result<Option<Ref>, Fault> {
        self.query(name)?
            .map(|text| self.user(name, text))
            .transpose()
    }

    /// An instant in a query parameter; `now` is the first instant at which nothing has happened yet.
    ///
    /// # Errors
    /// When it is given twice, or not an instant.
    pub fn query_time(&self, name: &str) -> Result<Option<Time>, Fault> {
        match self.query(name)? {
            None => Ok(None),
            Some("now") => Ok(Some(Time::from_millis(self.now.millis() + 1))),
            Some(text) => Time::parse(text)
                .map(Some)
                .map_err(|e| Fault::field(name, e)),
        }
    }

    /// A body field; null counts as absent.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&Value> {
        self.data.get(name).filter(|v| !v.is_null())
    }

    /// Whether a body field is there, null or not.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.data.contains_key(name)
    }

    /// A body field that must be there.
    ///
    /// # Errors
    /// When it is not.
    pub fn required(&self, name: &str) -> Result<&Value, Fault> {
        self.field(name).ok_or_else(|| Fault::missing(name))
    }

    /// Returns the gid in a body field; an empty text counts as absent, as null does.
    ///
    /// # Errors
    /// When it is there but not a gid.
    pub fn body_gid(&self, name: &str) -> Result<Option<Gid>, Fault> {
        self.field(name)
            .filter(|value| value.as_str() != Some(""))
            .map(|v| gid(name, &check::reference(name, v)?))
            .transpose()
    }

    /// The gid in a body field that must be there.
    ///
    /// # Errors
    /// When it is missing or not a gid.
    pub fn required_gid(&self, name: &str) -> Result<Gid, Fault> {
        self.body_gid(name)?.ok_or_else(|| Fault::missing(name))
    }

    /// The user in a body field that must be there.
    ///
    /// # Errors
    /// When it is missing or does not name a user.
    pub fn required_user(&self, name: &str) -> Result<Ref, Fault> {
        self.user(name, &check::reference(name, self.required(name)?)?)
    }

    /// The users in a body field: an array, or text separated by commas.
    ///
    /// # Errors
    /// When it is neither, or an item does not name a user.
    pub fn users(&self, name: &str) -> Result<Vec<Ref>, Fault> {
        self.list(name)?
            .iter()
            .map(|text| self.user(name, text))
            .collect()
    }

    /// The gids in a body field: an array, or text separated by commas.
    ///
    /// # Errors
    /// When it is neither, or an item is not a gid.
    pub fn gids(&self, name: &str) -> Result<Vec<Gid>, Fault> {
        self.list(name)?
            .iter()
            .enumerate()
            .map(|(i, text)| gid(&format!("{name}: [{i}]"), text))
            .collect()
    }

    /// The texts in a body field: an array, or text separated by commas.
    ///
    /// # Errors
    /// When it is neither.
    pub fn list(&self, name: &str) -> Result<Vec<String>, Fault> {
        self.field(name)
            .map_or_else(|| Ok(Vec::new()), |value| check::references(name, value))
    }

    /// The checked body, as fields of a type.
    ///
    /// # Errors
    /// When a value is not one its field takes.
    pub fn inputs(&self, ty: Type, creating: bool) -> Result<Inputs, Fault> {
        check::inputs(resource(ty), &self.data, creating)
    }

    /// The node a path parameter names, with the level the operation needs.
    ///
    /// # Errors
    /// 404 when there is no such node of that type, 403 when the level is not enough.
    pub fn target<'v>(&self, view: &'v View, name: &str, least: Level) -> Result<&'v Node, Fault> {
        let ty = parameter_type(name).unwrap_or(Type::Task);
        let noun = resource(ty).noun;
        // A task list stands in for a project where its sections or custom fields are meant.
        let path = self.operation.path;
        let stands_in = ["/sections", "ustomFieldSetting", "/custom_field_settings"];
        let list = ty == Type::Project && stands_in.iter().any(|part| path.contains(part));
        let any_membership = name == "membership_gid";
        let fits = |n: &&Node| {
            n.ty == ty
                || (list && n.ty == Type::UserTaskList)
                || (any_membership && resource(ty).kin.contains(&n.ty))
        };
        let found = view
            .resolve(&self.path(name)?)
            .and_then(|g| view.node(g))
            .filter(fits)
            .filter(|n| self.shows(view, n));
        let node = found.ok_or_else(|| Fault::unknown(noun, clip(self.parameter(name))))?;
        allowed(view, node, least)?;
        self.premium(view, node)?;
        Ok(node)
    }

    /// Whether the caller has a workspace's paid features.
    #[must_use]
    pub fn paid(&self, view: &View, home: Gid) -> bool {
        view.viewer.service == Some(home) || view.viewer.seat(home).is_some_and(|s| s.paid)
    }

    /// Whether the operation may be used on a node of this workspace, or on a workspace.
    ///
    /// # Errors
    /// 402 when the plan does not have it.
    pub fn premium(&self, view: &View, node: &Node) -> Result<(), Fault> {
        let home = if node.ty == Type::Workspace {
            Some(node.gid)
        } else {
            node.home
        };
        let (Some(message), Some(home)) = (self.operation.premium, home) else {
            return Ok(());
        };
        if !self.paid(view, home) || (self.operation.no_guests && !view.viewer.is_member(home)) {
            return Err(Fault::premium(message));
        }
        Ok(())
    }

    /// Whether a node may be spoken of: when forbidden objects are hidden, one that the caller has
    /// no access to is answered for like one that does not exist.
    #[must_use]
    pub fn shows(&self, view: &View, node: &Node) -> bool {
        !self.settings.hide_forbidden || view.level(node.gid) > Level::None
    }

    /// A node that query or body name, with the level the operation needs.
    ///
    /// # Errors
    /// 400 when there is no such node of these types, 403 when the level is not enough.
    pub fn named<'v>(
        &self,
        view: &'v View,
        field: &str,
        name: &Ref,
        types: &[Type],
        least: Level,
    ) -> Result<&'v Node, Fault> {
        let found = view
            .resolve(name)
            .and_then(|g| view.node(g))
            .filter(|n| types.contains(&n.ty) && self.shows(view, n) && is_known(view, n));
        let node = found.ok_or_else(|| Fault::unknown_ref(field, show(name)))?;
        allowed(view, node, least)?;
        Ok(node)
    }

    /// A user that query or body name, and who belongs to a workspace.
    ///
    /// # Errors
    /// 400 when the caller knows no such user, or they do not belong there; `noun` is the kind of the
    /// workspace.
    pub fn member<'v>(
        &self,
        view: &'v View,
        field: &str,
        name: &Ref,
        (home, noun): (Gid, &str),
    ) -> Result<&'v Node, Fault> {
        let found = view.resolve(name).and_then(|g| view.node(g));
        let found = found.filter(|n| n.ty == Type::User && is_known(view, n));
        let user = found.ok_or_else(|| Fault::unknown_ref(field, show(name)))?;
        if view.link(user.gid, rel::WORKSPACES, home).is_none() {
            let shown = show(name);
            return Err(Fault::field(
                field,
                format_args!("Not a user in {noun}: {shown}"),
            ));
        }
        Ok(user)
    }
}

/// Whether query and body may name a node: a user whom the viewer shares no workspace with is answered
/// for like one that does not exist, or addresses and gids could be tried out.
#[must_use]
pub fn is_known(view: &View, node: &Node) -> bool {
    node.ty != Type::User || view.level(node.gid) > Level::None
}

/// Whether the viewer has the level.
///
/// # Errors
/// When not.
pub fn allowed(view: &View, node: &Node, least: Level) -> Result<(), Fault> {
    let noun = resource(node.ty).noun;
    match view.level(node.gid) {
        Level::None => Err(Fault::no_access(noun)),
        level if level < least => {
            let what = if least == Level::Admin {
                "administer"
            } else if least == Level::Commenter {
                "comment on"
            } else {
                "change"
            };
            Err(Fault::forbidden(format!(
                "You do not have permission to {what} this {noun}."
            )))
        }
        _ => Ok(()),
    }
}

/// A gid.
///
/// # Errors
/// When the text is not one.
pub fn gid(field: &str, text: &str) -> Result<Gid, Fault> {
    Gid::parse(text)
        .ok_or_else(|| Fault::field(field, format_args!("Not a recognized ID: {}", clip(text))))
}

/// A reference as the client gave it.
#[must_use]
pub fn show(name: &Ref) -> String {
    match name {
        Ref::Gid(gid) => gid.to_string(),
        Ref::TaskList { user, .. } => show(user),
        Ref::Of { node, .. } => show(node),
        Ref::External { id, .. } => clip(id),
        Ref::Address(address) => clip(address),
        Ref::Alias(key) => clip(key.split_once(':').map_or(key, |(_, rest)| rest)),
    }
}
