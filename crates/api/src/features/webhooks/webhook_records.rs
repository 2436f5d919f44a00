//! Records of webhooks in responses.
use super::service_state::server_error;
use crate::budget;
use crate::error::ApiError;
use crate::execute::load_view::load;
use crate::execute::record_response::CostedResponse;
use crate::execute::response_plan::ResponsePlan;
use crate::execute::{allowance_retry, record_response as answer};
use crate::state::Api;
use serde_json::Value;
use std::iter;
use std::sync::Arc;
use std::time::SystemTime;
use workgraph_core::access::Level;
use workgraph_core::model::node::json_string;
use workgraph_core::model::registry::Type;
use workgraph_core::model::time::Time;
use workgraph_core::projection::projector::{ProjectionCounts, Projector, head};
use workgraph_core::storage::{NodeContext, ReadQuery, ReadView};
use workgraph_core::{Gid, Node};
use workgraph_operations::Method;
use workgraph_operations::request_context::RequestContext;
use workgraph_webhooks::{EventFilter, Webhook};

/// Returns a webhook as a node that is not stored.
fn node(webhook: &Webhook) -> Option<Node> {
    let time = |at: Option<SystemTime>| {
        at.map_or_else(
            || "null".to_owned(),
            |at| format!("\"{}\"", Time::from_system(at)),
        )
    };
    let filters: Value = webhook.filters.iter().map(EventFilter::json).collect();
    let state = &webhook.state;
    let next = state.next_attempt_at.filter(|_| state.retries > 0);
    let body = format!(
        "{{\"active\":true,\"resource\":\"{}\",\"target\":{},\"created_at\":{},\"last_failure_at\":{},\
         \"last_failure_content\":{},\"last_success_at\":{},\"delivery_retry_count\":{},\
         \"next_attempt_after\":{},\"failure_deletion_timestamp\":{},\"filters\":{filters}}}",
        webhook.resource,
        json_string(&webhook.target),
        time(Some(webhook.created_at)),
        time(state.last_failure_at),
        json_string(&state.last_failure_content),
        // The handshake was the first success.
        time(state.last_success_at.or(Some(webhook.created_at))),
        state.retries,
        time(next),
        time(state.deletion_at()),
    );
    let gid = Gid::new(webhook.id)?;
    Some(Node {
        gid,
        ty: Type::Webhook,
        workspace: Gid::new(webhook.workspace),
        version: 1,
        head: head(Type::Webhook, gid, None, None, iter::empty()).into(),
        body: body.into(),
    })
}

/// Reads the data for webhook records. For deleted resources, gid and type remain.
pub(crate) async fn scene(
    api: &Api,
    mut want: ReadQuery,
    some: &[Webhook],
    asked: &ResponsePlan<'_>,
) -> Result<ReadView, ApiError> {
    for webhook in some {
        let node = node(webhook).ok_or_else(|| server_error("a webhook has no gid"))?;
        want.external_nodes
            .push((Arc::new(node), Arc::clone(&asked.plan)));
    }
    let mut view = load(api, &want).await?;
    for webhook in some {
        let (gid, ty) = (Gid::new(webhook.resource), Type::from_code(webhook.kind));
        if let Some((gid, ty)) = gid.zip(ty).filter(|(gid, _)| view.node(*gid).is_none()) {
            let about = NodeContext {
                gid,
                ty,
                subtype: None,
                containers: Vec::new(),
            };
            view = view.with_node(about.tombstone(), Level::Viewer);
        }
    }
    Ok(view)
}

pub(crate) async fn answer(
    api: &Api,
    call: &RequestContext<'_>,
    webhook: &Webhook,
    asked: &ResponsePlan<'_>,
    status: u16,
) -> Result<CostedResponse, ApiError> {
    let shown = show(api, (webhook, call.read_query()), asked, None).await;
    let (mut body, tally) = match shown {
        Err(failure) if failure.is_render_failure() && call.operation.method != Method::Get => {
            let (stub, want) = (asked.stub()?, answer::uninterrupted_query(call));
            show(api, (webhook, want), &stub, Some(budget::MIN_STUB_BYTES)).await?
        }
        shown => shown?,
    };
    if status == 201 {
        // The secret is only shown here and in the handshake.
        body.extend_from_slice(b",\"X-Hook-Secret\":");
        body.extend_from_slice(json_string(&webhook.secret).as_bytes());
    }
    body.push(b'}');
    Ok(CostedResponse::new(
        status,
        body,
        answer::response_cost(tally, asked.named_fields),
    ))
}

/// Writes the start of a response with a webhook, in at most `room` bytes, or the rest of the budget.
async fn show(
    api: &Api,
    (webhook, want): (&Webhook, ReadQuery),
    asked: &ResponsePlan<'_>,
    room: Option<usize>,
) -> Result<(Vec<u8>, ProjectionCounts), ApiError> {
    let view = scene(api, want, std::slice::from_ref(webhook), asked).await?;
    let gid = Gid::new(webhook.id).ok_or_else(|| server_error("a webhook has no gid"))?;
    let project = || {
        let room = room.unwrap_or_else(|| asked.budget.remaining());
        let start = answer::open_envelope(1024);
        let mut projector = Projector::appending(start, &view, asked.base_url, room);
        projector.record(gid, &asked.plan);
        projector.finish()
    };
    let shown = allowance_retry::compute(&view.interrupt, project).await;
    Ok(shown.map_err(|fault| asked.budget.describe(fault))?)
}
