//! Encoding of audit rows: actor, resource, details and context as JSON.
use crate::audit::{ActorContext, AuditEntry, AuditRow, AuthMethod, first_gid};
use crate::graph_store_error::GraphStoreError;
use crate::model::gid::Gid;
use crate::model::json_members::member;
use crate::model::node::{Node, decode_json_string};
use crate::model::registry::Type;
use crate::model::resources::{resource, user};
use crate::model::time::Time;
use crate::storage::NodeWrite;
use crate::storage::snapshot::{Depth, Transaction};
use serde::Serialize;
use std::borrow::Cow;
use std::sync::Arc;

/// Maximum number of bytes of a client's `User-Agent` that are kept.
const AGENT_MAX: usize = 256;

/// Returns a node as the changes write it, or from the store if they do not write it.
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

/// Members of the body of a row, in their order.
#[derive(Serialize)]
struct RowBody<'a> {
    actor: RowActor<'a>,
    resource: RowResource<'a>,
    details: RowDetails<'a>,
    context: RowContext<'a>,
}

#[derive(Serialize)]
struct RowActor<'a> {
    actor_type: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    gid: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    email: Option<String>,
}

#[derive(Serialize)]
struct RowResource<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    resource_type: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    resource_subtype: Option<Cow<'a, str>>,
    gid: String,
    /// Null for a resource without a name.
    name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    email: Option<String>,
}

#[derive(Serialize)]
struct RowDetails<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    old_value: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    new_value: Option<&'a str>,
}

#[derive(Serialize)]
struct RowContext<'a> {
    context_type: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    api_authentication_method: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    client_ip_address: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    user_agent: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    oauth_app_name: Option<&'a str>,
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
    entry: &AuditEntry,
) -> Result<AuditRow, GraphStoreError> {
    let actor_node = match acting.actor.gid() {
        Some(gid) => find(txn, puts, gid)?,
        None => None,
    };
    let what = find(txn, puts, entry.resource)?;
    let app = match acting.app {
        Some(id) => txn.app_name(id)?,
        None => None,
    };
    let names = RowNames {
        actor: actor_node.as_deref(),
        resource: what.as_deref(),
        app: app.as_deref(),
    };
    encode_row(names, acting, at, entry)
}

/// Nodes and names that a row shows, as of the time of writing; `None` if they do not exist.
#[derive(Clone, Copy, Debug, Default)]
pub struct RowNames<'a> {
    /// Node of the actor.
    pub actor: Option<&'a Node>,
    /// Node that the act is about.
    pub resource: Option<&'a Node>,
    /// Name of the app whose token was used.
    pub app: Option<&'a str>,
}

/// Builds the row of an act that happened at `at`, from nodes and names that were looked up before.
///
/// # Errors
/// Fails if the row cannot be written as JSON.
pub fn encode_row(
    names: RowNames<'_>,
    acting: &ActorContext,
    at: Time,
    entry: &AuditEntry,
) -> Result<AuditRow, GraphStoreError> {
    let body = RowBody {
        actor: actor(acting, names.actor),
        resource: subject(entry.resource, names.resource),
        details: RowDetails {
            old_value: entry.old.as_deref(),
            new_value: entry.new.as_deref(),
        },
        context: context(acting, names.app),
    };
    let json = serde_json::to_string(&body).map_err(|e| GraphStoreError::Failed(e.to_string()))?;
    // Rows are stored without braces: readers add members before and after them.
    let body = json
        .strip_prefix('{')
        .and_then(|json| json.strip_suffix('}'));
    Ok(AuditRow {
        gid: first_gid(at),
        time: at,
        workspace: entry.workspace,
        kind: entry.kind,
        actor_type: acting.actor.ty(),
        actor: acting.actor.gid(),
        resource: entry.resource,
        body: body.unwrap_or_default().into(),
    })
}

fn actor<'a>(acting: &'a ActorContext, node: Option<&Node>) -> RowActor<'a> {
    RowActor {
        actor_type: acting.actor.ty().name(),
        gid: acting.actor.gid().map(|gid| gid.to_string()),
        name: node.map(Node::title),
        email: node.and_then(email),
    }
}

fn subject(gid: Gid, node: Option<&Node>) -> RowResource<'_> {
    let subtype = node.and_then(|node| member(&node.head, "resource_subtype"));
    RowResource {
        resource_type: node.map(|node| resource(node.ty).name),
        resource_subtype: subtype.map(decode_json_string),
        gid: gid.to_string(),
        name: node
            .filter(|node| resource(node.ty).title.is_some())
            .map(Node::title),
        email: node.and_then(email),
    }
}

fn context<'a>(acting: &'a ActorContext, app: Option<&'a str>) -> RowContext<'a> {
    let agent = acting.user_agent.as_deref();
    RowContext {
        context_type: acting.channel.name(),
        api_authentication_method: acting.method.map(AuthMethod::name),
        client_ip_address: acting.address.map(|ip| ip.to_string()),
        user_agent: agent.and_then(|text| text.get(..text.floor_char_boundary(AGENT_MAX))),
        oauth_app_name: app,
    }
}
