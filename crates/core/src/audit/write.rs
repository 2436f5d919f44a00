//! Writing a row down: who, what, and by which way, as JSON.
use super::{Acting, Row, Told, first_gid};
use crate::gid::Gid;
use crate::graph::{Put, StoreError};
use crate::node::{Node, decode, entries, quoted};
use crate::registry::Type;
use crate::resources::{resource, user};
use crate::snapshot::{Depth, Transaction};
use crate::time::Time;
use std::sync::Arc;

/// How much is kept of what a client calls itself, in bytes.
const AGENT_MAX: usize = 256;

/// A node as it is after the changes, or as it was if they do not touch it.
pub(super) fn find(
    txn: &mut dyn Transaction,
    puts: &[Put],
    gid: Gid,
) -> Result<Option<Arc<Node>>, StoreError> {
    match puts.iter().find(|put| put.node.gid == gid) {
        Some(put) => Ok(Some(Arc::new(put.node.clone()))),
        None => txn.node(gid, Depth::Full),
    }
}

/// What somebody or something is called: by the address, if it has one.
pub(super) fn called(node: &Node) -> String {
    email(node).unwrap_or_else(|| node.title())
}

fn email(node: &Node) -> Option<String> {
    let email = node.get(user::EMAIL).filter(|_| node.ty == Type::User);
    email.filter(|e| !e.is_empty()).map(Into::into)
}

/// An object of JSON, member by member.
struct Object(String);

impl Object {
    fn new() -> Self {
        Self("{".to_owned())
    }
    fn text(&mut self, name: &str, text: &str) {
        self.raw(name, &quoted(text));
    }
    fn maybe(&mut self, name: &str, text: Option<&str>) {
        if let Some(text) = text {
            self.text(name, text);
        }
    }
    fn raw(&mut self, name: &str, json: &str) {
        if self.0.len() > 1 {
            self.0.push(',');
        }
        self.0.push('"');
        self.0.push_str(name);
        self.0.push_str("\":");
        self.0.push_str(json);
    }
    fn close(mut self) -> String {
        self.0.push('}');
        self.0
    }
}

/// The row of something that happened at `at`. Nodes are looked up among `puts` first, which are
/// about to be written.
///
/// # Errors
/// When the store fails.
pub fn row(
    txn: &mut dyn Transaction,
    puts: &[Put],
    acting: &Acting,
    at: Time,
    told: &Told,
) -> Result<Row, StoreError> {
    let who = match acting.actor.gid() {
        Some(gid) => find(txn, puts, gid)?,
        None => None,
    };
    let what = find(txn, puts, told.resource)?;
    let app = match acting.app {
        Some(id) => txn.app_name(id)?,
        None => None,
    };
    let mut details = Object::new();
    details.maybe("old_value", told.old.as_deref());
    details.maybe("new_value", told.new.as_deref());
    let body = format!(
        "\"actor\":{},\"resource\":{},\"details\":{},\"context\":{}",
        actor(acting, who.as_deref()),
        subject(told.resource, what.as_deref()),
        details.close(),
        context(acting, app.as_deref()),
    );
    Ok(Row {
        gid: first_gid(at),
        at,
        home: told.home,
        kind: told.kind,
        actor_type: acting.actor.ty(),
        actor: acting.actor.gid(),
        resource: told.resource,
        body: body.into(),
    })
}

fn actor(acting: &Acting, node: Option<&Node>) -> String {
    let mut out = Object::new();
    out.text("actor_type", acting.actor.ty().word());
    if let Some(gid) = acting.actor.gid() {
        out.text("gid", &gid.to_string());
    }
    if let Some(node) = node {
        out.text("name", &node.title());
        out.maybe("email", email(node).as_deref());
    }
    out.close()
}

fn subject(gid: Gid, node: Option<&Node>) -> String {
    let mut out = Object::new();
    if let Some(node) = node {
        out.text("resource_type", resource(node.ty).name);
        let subtype = entries(&node.head).find(|(key, _)| *key == "resource_subtype");
        out.maybe(
            "resource_subtype",
            subtype.map(|(_, v)| decode(v)).as_deref(),
        );
    }
    out.text("gid", &gid.to_string());
    match node {
        Some(node) if resource(node.ty).title.is_some() => out.text("name", &node.title()),
        _ => out.raw("name", "null"),
    }
    out.maybe("email", node.and_then(email).as_deref());
    out.close()
}

fn context(acting: &Acting, app: Option<&str>) -> String {
    let mut out = Object::new();
    out.text("context_type", acting.channel.word());
    out.maybe(
        "api_authentication_method",
        acting.method.map(super::Method::word),
    );
    out.maybe(
        "client_ip_address",
        acting.address.map(|ip| ip.to_string()).as_deref(),
    );
    let agent = acting.agent.as_deref();
    out.maybe(
        "user_agent",
        agent.and_then(|text| text.get(..text.floor_char_boundary(AGENT_MAX))),
    );
    out.maybe("oauth_app_name", app);
    out.close()
}
