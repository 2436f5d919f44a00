//! Webhooks as records.
use super::broken;
use crate::allowance;
use crate::answer::{self, Answered};
use crate::budget;
use crate::call::Call;
use crate::driver::{self, Asked};
use crate::fault::Failure;
use crate::pipeline::Api;
use crate::request::Method;
use serde_json::Value;
use std::iter;
use std::sync::Arc;
use std::time::SystemTime;
use workgraph_core::access::Level;
use workgraph_core::graph::{About, View, Want};
use workgraph_core::node::quoted;
use workgraph_core::project::{Projector, Tally, head};
use workgraph_core::registry::Type;
use workgraph_core::time::Time;
use workgraph_core::{Gid, Node};
use workgraph_webhooks::{Filter, Hook};

/// A webhook as a node that no store has.
fn node(hook: &Hook) -> Option<Node> {
    let time = |at: Option<SystemTime>| {
        at.map_or_else(
            || "null".to_owned(),
            |at| format!("\"{}\"", Time::from_system(at)),
        )
    };
    let filters: Value = hook.filters.iter().map(Filter::json).collect();
    let state = &hook.state;
    let next = state.next_attempt_at.filter(|_| state.retries > 0);
    let body = format!(
        "{{\"active\":true,\"resource\":\"{}\",\"target\":{},\"created_at\":{},\"last_failure_at\":{},\
         \"last_failure_content\":{},\"last_success_at\":{},\"delivery_retry_count\":{},\
         \"next_attempt_after\":{},\"failure_deletion_timestamp\":{},\"filters\":{filters}}}",
        hook.resource,
        quoted(&hook.target),
        time(Some(hook.created_at)),
        time(state.last_failure_at),
        quoted(&state.last_failure_content),
        // The handshake was the first success.
        time(state.last_success_at.or(Some(hook.created_at))),
        state.retries,
        time(next),
        time(state.deletion_at()),
    );
    let gid = Gid::new(hook.id)?;
    Some(Node {
        gid,
        ty: Type::Webhook,
        home: Gid::new(hook.workspace),
        version: 1,
        head: head(Type::Webhook, gid, None, None, iter::empty()).into(),
        body: body.into(),
    })
}

/// Reads what showing webhooks takes; of what they watch and is gone, gid and type are left.
pub(super) async fn scene(
    api: &Api,
    mut want: Want,
    some: &[Hook],
    asked: &Asked,
) -> Result<View, Failure> {
    for hook in some {
        let node = node(hook).ok_or_else(|| broken("a webhook has no gid"))?;
        want.given.push((Arc::new(node), Arc::clone(&asked.plan)));
    }
    let mut view = driver::load(api, &want).await?;
    for hook in some {
        let (gid, ty) = (Gid::new(hook.resource), Type::from_code(hook.kind));
        if let Some((gid, ty)) = gid.zip(ty).filter(|(gid, _)| view.node(*gid).is_none()) {
            let about = About {
                gid,
                ty,
                subtype: None,
                within: Vec::new(),
            };
            view = view.with(about.remains(), Level::Viewer);
        }
    }
    Ok(view)
}

pub(super) async fn answer(
    api: &Api,
    call: &Call<'_>,
    hook: &Hook,
    asked: &Asked,
    status: u16,
) -> Result<Answered, Failure> {
    let shown = show(api, call, (hook, call.want()), asked, None).await;
    let (mut body, tally) = match shown {
        Err(failure) if failure.is_of_showing() && call.operation.method != Method::Get => {
            let (stub, want) = (answer::stub(call, asked)?, answer::last_want(call));
            show(api, call, (hook, want), &stub, Some(budget::LEAST)).await?
        }
        shown => shown?,
    };
    if status == 201 {
        // Here and at the handshake the secret is shown, and never again.
        body.extend_from_slice(b",\"X-Hook-Secret\":");
        body.extend_from_slice(quoted(&hook.secret).as_bytes());
    }
    body.push(b'}');
    Ok(Answered::new(
        status,
        body,
        answer::cost(tally, asked.named),
    ))
}

/// The start of a reply with a webhook in it, in at most `room` bytes, or what is left of the budget.
async fn show(
    api: &Api,
    call: &Call<'_>,
    (hook, want): (&Hook, Want),
    asked: &Asked,
    room: Option<usize>,
) -> Result<(Vec<u8>, Tally), Failure> {
    let view = scene(api, want, std::slice::from_ref(hook), asked).await?;
    let gid = Gid::new(hook.id).ok_or_else(|| broken("a webhook has no gid"))?;
    let project = || {
        let room = room.unwrap_or_else(|| call.budget.left());
        let start = answer::open(1024);
        let mut projector = Projector::onto(start, &view, &api.settings.base_url, room);
        projector.record(gid, &asked.plan);
        projector.finish()
    };
    let shown = allowance::compute(&view.interrupt, project).await;
    Ok(shown.map_err(|fault| call.budget.named(fault))?)
}
