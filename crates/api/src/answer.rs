//! Replies with records: written within the budget of the request, and weighed.
use crate::allowance;
use crate::budget;
use crate::call::Call;
use crate::driver::{Asked, load};
use crate::fault::Failure;
use crate::pipeline::Api;
use crate::request::{Method, Reply};
use std::sync::Arc;
use workgraph_core::Gid;
use workgraph_core::access::Level;
use workgraph_core::fault::Fault;
use workgraph_core::graph::{View, Want};
use workgraph_core::plan::{self, Names, Plan};
use workgraph_core::project::{Projector, Tally};
use workgraph_core::registry::Type;
use workgraph_limits::{Work, least_cost};
use workgraph_wire::{Next, envelope};

/// A reply and what it cost.
pub(crate) struct Answered {
    pub(crate) reply: Reply,
    pub(crate) cost: u32,
}

impl Answered {
    /// An answer, which costs no less than its bytes do.
    pub(crate) fn new(status: u16, body: Vec<u8>, cost: u32) -> Self {
        Self {
            cost: cost.max(least_cost(body.len())),
            reply: Reply::json(status, body),
        }
    }

    /// The answer indented, if that was asked for. One that would become too large is an error if nothing was
    /// changed, and else stays as it is.
    pub(crate) fn indented(mut self, call: &Call<'_>) -> Result<Self, Failure> {
        if !call.options.pretty {
            return Ok(self);
        }
        match envelope::pretty_within(&self.reply.body, call.budget.left()) {
            Some(body) => {
                self.cost = self.cost.max(least_cost(body.len()));
                self.reply.body = body;
            }
            None if call.operation.method == Method::Get => {
                return Err(call.budget.exceeded_by_indentation().into());
            }
            None => {}
        }
        Ok(self)
    }
}

/// Shows a node; none if the caller does not see it.
pub(crate) async fn show(
    api: &Api,
    call: &Call<'_>,
    gid: Gid,
    asked: &Asked,
) -> Result<Option<Answered>, Failure> {
    let want = call.want().follow(gid, Arc::clone(&asked.plan));
    show_in(api, call, (gid, want), asked, None).await
}

/// Shows gid and type of a node that was changed, whatever is left of the budget and of the time of the request; none
/// if the caller does not see it.
pub(crate) async fn show_stub(
    api: &Api,
    call: &Call<'_>,
    gid: Gid,
    asked: &Asked,
) -> Result<Option<Answered>, Failure> {
    let stub = stub(call, asked)?;
    let want = last_want(call).follow(gid, Arc::clone(&stub.plan));
    show_in(api, call, (gid, want), &stub, Some(budget::LEAST)).await
}

async fn show_in(
    api: &Api,
    call: &Call<'_>,
    (gid, want): (Gid, Want),
    asked: &Asked,
    room: Option<usize>,
) -> Result<Option<Answered>, Failure> {
    let view = load(api, &want).await?;
    if view.level(gid) == Level::None {
        return Ok(None);
    }
    record(api, call, &view, gid, asked, room).await.map(Some)
}

/// What is shown of a change whose reply would be too large, or takes too long: the change was made, so its reply is
/// no error.
pub(crate) fn stub(call: &Call<'_>, asked: &Asked) -> Result<Asked, Fault> {
    let ty = call.operation.record().unwrap_or(Type::Task);
    Ok(Asked {
        plan: plan::asked(ty, &Names::parse("resource_type")?).plan,
        named: 0,
        files: asked.files,
    })
}

/// An empty want of the caller for a stub, which nothing stops.
pub(crate) fn last_want(call: &Call<'_>) -> Want {
    Want {
        interrupt: None,
        ..call.want()
    }
}

/// The reply with one record, in at most `room` bytes, or what is left of the budget.
///
/// # Errors
/// When the record is larger, or the work is stopped.
pub(crate) async fn record(
    api: &Api,
    call: &Call<'_>,
    view: &View,
    gid: Gid,
    asked: &Asked,
    room: Option<usize>,
) -> Result<Answered, Failure> {
    let addresses = api.addresses();
    let project = || {
        // Other actions of the batch may have had their part of it since.
        let room = room.unwrap_or_else(|| call.budget.left());
        let mut projector = Projector::onto(open(2048), view, &api.settings.base_url, room);
        if asked.files {
            projector = projector.files(&addresses);
        }
        projector.record(gid, &asked.plan);
        projector.finish()
    };
    let projected = allowance::compute(&view.interrupt, project).await;
    let (json, tally) = projected.map_err(|fault| call.budget.named(fault))?;
    let body = envelope::close(json, Next::Absent);
    Ok(Answered::new(200, body, cost(tally, asked.named)))
}

/// The start of a reply with a list of records in it, which take `room` bytes most likely.
///
/// # Errors
/// When they are more than is left of the budget, or the work is stopped.
pub(crate) async fn records(
    api: &Api,
    call: &Call<'_>,
    view: &View,
    gids: &[Gid],
    plan: &Plan,
    room: usize,
) -> Result<(Vec<u8>, Tally), Fault> {
    let project = || {
        let budget = call.budget.left();
        let start = open(room.min(budget));
        let mut projector = Projector::onto(start, view, &api.settings.base_url, budget);
        projector.list(gids, plan);
        projector.finish()
    };
    let projected = allowance::compute(&view.interrupt, project).await;
    projected.map_err(|fault| call.budget.named(fault))
}

/// The start of a reply, with room for the rest.
pub(crate) fn open(room: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(room);
    out.extend_from_slice(envelope::OPEN);
    out
}

/// The cost of a reply: its objects, the links followed for them, and fields asked for by name.
pub(crate) fn cost(tally: Tally, named: u32) -> u32 {
    let work = Work {
        objects: tally.objects,
        edges: tally.links,
        extra_fields: named,
    };
    work.cost()
}
