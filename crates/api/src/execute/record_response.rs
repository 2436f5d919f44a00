//! Responses with records, written within the budget of the request, with their cost.
use crate::budget;
use crate::budget::ResponseBudget;
use crate::error::ApiError;
use crate::execute::allowance_retry;
use crate::execute::load_view::load;
use crate::execute::response_plan::ResponsePlan;
use crate::reply_cost::{CostInputs, least_cost};
use crate::request::{ApiResponse, Method};
use crate::state::Api;
use std::sync::Arc;
use workgraph_core::Gid;
use workgraph_core::access::Level;
use workgraph_core::domain_error::DomainError;
use workgraph_core::projection::projector::{ProjectionCounts, Projector};
use workgraph_core::storage::{ReadQuery, ReadView, Seq};
use workgraph_operations::request_context::RequestContext;
use workgraph_wire::{NextPage, envelope};

/// Response, and its cost in credits.
pub(crate) struct CostedResponse {
    pub(crate) reply: ApiResponse,
    pub(crate) cost: u32,
}

impl CostedResponse {
    /// Returns a response whose cost covers at least its bytes.
    pub(crate) fn new(status: u16, body: Vec<u8>, cost: u32) -> Self {
        Self {
            cost: cost.max(least_cost(body.len())),
            reply: ApiResponse::json(status, body),
        }
    }

    /// Indents the response, if the client asked for it. If that makes the response too large, a read fails, and the response
    /// to a write stays as it is.
    pub(crate) fn pretty_printed(
        mut self,
        call: &RequestContext<'_>,
        budget: &ResponseBudget,
    ) -> Result<Self, ApiError> {
        if !call.options.pretty {
            return Ok(self);
        }
        match envelope::indent_within(&self.reply.body, budget.remaining()) {
            Some(body) => {
                self.cost = self.cost.max(least_cost(body.len()));
                self.reply.body = body.into();
            }
            None if call.operation.method == Method::Get => {
                return Err(budget.exceeded_by_indentation().into());
            }
            None => {}
        }
        Ok(self)
    }
}

/// Shows a node as of a commit, or later; `None` if the caller cannot see it.
pub(crate) async fn load_and_respond(
    api: &Api,
    call: &RequestContext<'_>,
    (gid, min_seq): (Gid, Option<Seq>),
    asked: &ResponsePlan<'_>,
) -> Result<Option<CostedResponse>, ApiError> {
    let want = ReadQuery {
        min_seq: min_seq.or(call.min_seq),
        ..call.read_query().follow(gid, Arc::clone(&asked.plan))
    };
    respond_from(api, (gid, want), asked, None).await
}

/// Shows gid and type of a changed node, even if the budget or the time of the request is spent; `None` if the caller
/// cannot see it.
pub(crate) async fn respond_with_stub(
    api: &Api,
    call: &RequestContext<'_>,
    gid: Gid,
    asked: &ResponsePlan<'_>,
) -> Result<Option<CostedResponse>, ApiError> {
    let stub = asked.stub()?;
    let want = uninterrupted_query(call).follow(gid, Arc::clone(&stub.plan));
    respond_from(api, (gid, want), &stub, Some(budget::MIN_STUB_BYTES)).await
}

async fn respond_from(
    api: &Api,
    (gid, want): (Gid, ReadQuery),
    asked: &ResponsePlan<'_>,
    room: Option<usize>,
) -> Result<Option<CostedResponse>, ApiError> {
    let view = load(api, &want).await?;
    if view.level(gid) == Level::None {
        return Ok(None);
    }
    record_response(api, &view, gid, asked, room)
        .await
        .map(Some)
}

/// Returns an empty read query of the caller that has no interrupt, for the stub of a record that was just written.
pub(crate) fn uninterrupted_query(call: &RequestContext<'_>) -> ReadQuery {
    ReadQuery {
        interrupt: None,
        min_seq: None,
        ..call.read_query()
    }
}

/// Returns the response with one record, in at most `room` bytes, or the rest of the budget.
///
/// # Errors
/// Fails when the record is larger, or the work is stopped.
pub(crate) async fn record_response(
    api: &Api,
    view: &ReadView,
    gid: Gid,
    asked: &ResponsePlan<'_>,
    room: Option<usize>,
) -> Result<CostedResponse, ApiError> {
    let addresses = api.download_urls(&view.viewer, asked.base_url);
    let project = || {
        // Other actions of the batch may have used part of the budget since.
        let room = room.unwrap_or_else(|| asked.budget.remaining());
        let mut projector = Projector::appending(open_envelope(2048), view, asked.base_url, room);
        if asked.with_download_urls {
            projector = projector.with_downloads(&addresses);
        }
        projector.record(gid, &asked.plan);
        projector.finish()
    };
    let projected = allowance_retry::compute(&view.interrupt, project).await;
    let (json, tally) = projected.map_err(|fault| asked.budget.describe(fault))?;
    let body = envelope::close(json, NextPage::Absent);
    Ok(CostedResponse::new(
        200,
        body,
        response_cost(tally, asked.named_fields),
    ))
}

/// Writes the start of a response with a list of records, which will probably take `room` bytes.
///
/// # Errors
/// Fails when the records exceed the rest of the budget, or the work is stopped.
pub(crate) async fn write_records(
    api: &Api,
    view: &ReadView,
    gids: &[Gid],
    asked: &ResponsePlan<'_>,
    room: usize,
) -> Result<(Vec<u8>, ProjectionCounts), DomainError> {
    let addresses = api.download_urls(&view.viewer, asked.base_url);
    let project = || {
        let budget = asked.budget.remaining();
        let start = open_envelope(room.min(budget));
        let mut projector = Projector::appending(start, view, asked.base_url, budget);
        if asked.with_download_urls {
            projector = projector.with_downloads(&addresses);
        }
        projector.list(gids, &asked.plan);
        projector.finish()
    };
    let projected = allowance_retry::compute(&view.interrupt, project).await;
    projected.map_err(|fault| asked.budget.describe(fault))
}

/// Returns the start of a response, with capacity for the rest.
pub(crate) fn open_envelope(room: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(room);
    out.extend_from_slice(envelope::OPEN);
    out
}

/// Returns the cost of a response: its objects, the links followed for them, and the fields requested by name, but at
/// least the cost of the steps of its load.
pub(crate) fn response_cost(tally: ProjectionCounts, named: u32) -> u32 {
    let work = CostInputs {
        objects: tally.objects,
        edges: tally.links,
        extra_fields: named,
        steps: tally.steps,
    };
    work.cost()
}
