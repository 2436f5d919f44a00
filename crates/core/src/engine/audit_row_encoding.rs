//! Encoding of audit rows: actor, resource, details and context as JSON.
use crate::audit::{ActorContext, AuditEntry, AuditRow, AuthMethod, first_gid};
use crate::graph_store_error::GraphStoreError;
use crate::model::gid::Gid;
use crate::model::node::{Node, decode_json_string, json_string, members};
use crate::model::registry::Type;
use crate::model::resources::{resource, user};
use crate::model::time::Time;
use crate::storage::NodeWrite;
use crate::storage::snapshot::{Depth, Transaction};
use std::sync::Arc;

/// Greatest number of bytes that are kept of a client's `User-Agent`.
const AGENT_MAX: usize = 256;

/// Returns a node as it is after the changes, or as the store has it if they do not write it.
pub(super) fn find(
    txn: &mut dyn Transaction,
    puts: &[NodeWrite],
    gid: Gid,
) -> Result<Option<Arc<Node>>, GraphStoreError> {
    match puts.iter().find(|put| put.node.gid == gid) {
        Some(put) => Ok(Some(Arc::new(put.node.clone()))),
        None => txn.node(gid, Depth::Full),
    }
}

/// Returns the name of a node: the e-mail address of a user who has one, else the title.
pub(super) fn display_name(node: &Node) -> String {
    email(node).unwrap_or_else(|| node.title())
}

fn email(node: &Node) -> Option<String> {
    let email = node.get(user::EMAIL).filter(|_| node.ty == Type::User);
    email.filter(|e| !e.is_empty()).map(Into::into)
}

/// JSON object that is written member by member.
struct AuditJson(String);

impl AuditJson {
    fn new() -> Self {
        Self("{".to_owned())
    }
    fn text(&mut self, name: &str, text: &str) {
        self.raw(name, &json_string(text));
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

/// Builds the row of an act that happened at `at`. Nodes are looked up first among `puts`, the
/// nodes that the commit is about to write.
///
/// # Errors
/// Fails if the store fails.
pub fn build_row(
    txn: &mut dyn Transaction,
    puts: &[NodeWrite],
    acting: &ActorContext,
    at: Time,
    told: &AuditEntry,
) -> Result<AuditRow, GraphStoreError> {
    let who = match acting.actor.gid() {
        Some(gid) => find(txn, puts, gid)?,
        None => None,
    };
    let what = find(txn, puts, told.resource)?;
    let app = match acting.app {
        Some(id) => txn.app_name(id)?,
        None => None,
    };
    let mut details = AuditJson::new();
    details.maybe("old_value", told.old.as_deref());
    details.maybe("new_value", told.new.as_deref());
    let body = format!(
        "\"actor\":{},\"resource\":{},\"details\":{},\"context\":{}",
        actor(acting, who.as_deref()),
        subject(told.resource, what.as_deref()),
        details.close(),
        context(acting, app.as_deref()),
    );
    Ok(AuditRow {
        gid: first_gid(at),
        time: at,
        workspace: told.workspace,
        kind: told.kind,
        actor_type: acting.actor.ty(),
        actor: acting.actor.gid(),
        resource: told.resource,
        body: body.into(),
    })
}

fn actor(acting: &ActorContext, node: Option<&Node>) -> String {
    let mut out = AuditJson::new();
    out.text("actor_type", acting.actor.ty().name());
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
    let mut out = AuditJson::new();
    if let Some(node) = node {
        out.text("resource_type", resource(node.ty).name);
        let subtype = members(&node.head).find(|(key, _)| *key == "resource_subtype");
        out.maybe(
            "resource_subtype",
            subtype.map(|(_, v)| decode_json_string(v)).as_deref(),
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

fn context(acting: &ActorContext, app: Option<&str>) -> String {
    let mut out = AuditJson::new();
    out.text("context_type", acting.channel.name());
    out.maybe(
        "api_authentication_method",
        acting.method.map(AuthMethod::name),
    );
    out.maybe(
        "client_ip_address",
        acting.address.map(|ip| ip.to_string()).as_deref(),
    );
    let agent = acting.user_agent.as_deref();
    out.maybe(
        "user_agent",
        agent.and_then(|text| text.get(..text.floor_char_boundary(AGENT_MAX))),
    );
    out.maybe("oauth_app_name", app);
    out.close()
}
