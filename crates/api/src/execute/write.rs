//! Writes: decide, commit, retry after a conflict, and respond with the changed record.
use crate::error::ApiError;
use crate::execute::load_view::load;
use crate::execute::record_response::{CostedResponse, load_and_respond, respond_with_stub};
use crate::execute::response_plan::ResponsePlan;
use crate::state::Api;
use std::sync::Arc;
use workgraph_core::Gid;
use workgraph_core::access::Level;
use workgraph_core::domain_error::DomainError;
use workgraph_core::engine::has_audit_rows;
use workgraph_core::model::registry::rel;
use workgraph_core::model::resources::resource;
use workgraph_core::plan::Plan;
use workgraph_core::storage::{GraphStoreError, NodeRef, ReadQuery, ReadView, Seq};
use workgraph_operations::operation::inputs::Named;
use workgraph_operations::operation::steps::Prepared;
use workgraph_operations::operation::{Decision, ResponseKind};
use workgraph_operations::request_context::RequestContext;
use workgraph_wire::envelope;

/// Maximum number of attempts to decide a write, after which it fails with a server error. Of several concurrent writes of
/// one record, one is committed each time, so there must be more attempts than concurrent writes.
const ATTEMPTS: usize = 1_000;

/// The deletion of a node in the path.
pub(super) struct Deletion {
    pub(super) target: Named<NodeRef>,
    pub(super) least: Level,
}

impl Prepared<Decision> for Deletion {
    fn needs(&self, call: &RequestContext<'_>) -> Result<ReadQuery, DomainError> {
        Ok(call.read_query().node(self.target.node.clone()))
    }
    fn decide(&self, call: &RequestContext<'_>, view: &ReadView) -> Result<Decision, DomainError> {
        let node = call.named_node(view, &self.target, self.least)?;
        let mut work = call.change_builder();
        work.trash(node.gid, node.ty);
        Ok(Decision::of(work.changes))
    }
}

/// Maximum number of loads for one decision, after which it fails with a server error. Each load reads more than the one
/// before it.
const LOADS: usize = 64;

/// Reads and decides, and follows a plan from each node that the query names. If the decision asks for more than its query
/// reads, that is read as well and the decision is made again, so that nothing counts as absent that was not looked up.
///
/// # Errors
/// Fails if the store fails, or the operation is refused.
pub(super) async fn read_and_decide<D>(
    api: &Api,
    call: &RequestContext<'_>,
    operation: &dyn Prepared<D>,
    query: &mut ReadQuery,
    plan: Option<&Arc<Plan>>,
) -> Result<(D, ReadView), ApiError> {
    for _ in 0..LOADS {
        if let Some(plan) = plan {
            let nodes = query.plans.len()..query.node_refs.len();
            query.plans.extend(nodes.map(|at| (at, Arc::clone(plan))));
        }
        let mut view = load(api, query).await?;
        match view.decide(|view| operation.decide(call, view)) {
            Ok(decided) => return Ok((decided?, view)),
            Err(reads) => query.extend(reads),
        }
    }
    Err(ApiError::Server(format!(
        "{} asked for more after {LOADS} loads",
        call.operation.id
    )))
}

pub(crate) struct CommittedWrite {
    /// Node to respond with.
    pub(super) subject: Option<Gid>,
    /// Number of the commit; `None` if there was nothing to change.
    pub(super) seq: Option<Seq>,
}

/// Decides and commits, retrying after each conflict.
pub(crate) async fn commit(
    api: &Api,
    call: &RequestContext<'_>,
    write: &dyn Prepared<Decision>,
) -> Result<CommittedWrite, ApiError> {
    for attempt in 0..ATTEMPTS {
        let mut want = write.needs(call)?.tracked();
        if attempt > 0 {
            // The state that the last attempt was decided on is outdated.
            want.min_seq = None;
        }
        let (decision, mut view) = read_and_decide(api, call, write, &mut want, None).await?;
        let reads = view.take_reads();
        if decision.changes.is_empty() {
            return Ok(CommittedWrite {
                subject: decision.subject,
                seq: None,
            });
        }
        let mut changes = decision.changes;
        changes.reads = Some(reads);
        if has_audit_rows(&changes) {
            changes.actor_context = Some(Box::new(call.actor_context()));
        }
        // The changes start a job if they add it to the queue.
        let starts = changes.edge_writes.iter().any(|l| l.rel == rel::QUEUE);
        match api.graph.commit(changes).await {
            Ok(receipt) => {
                for user in decision.accounts {
                    let refreshed = api.refresh_account(user).await;
                    refreshed.map_err(|error| ApiError::Server(error.to_string()))?;
                }
                if let (true, Some(ring)) = (starts, api.job_notifier.get()) {
                    ring();
                }
                return Ok(CommittedWrite {
                    subject: decision.subject,
                    seq: Some(receipt.seq),
                });
            }
            Err(GraphStoreError::Conflict) => {}
            // Another request may just have taken the alias: the next attempt finds its node.
            Err(GraphStoreError::AliasTaken(_)) if attempt == 0 => {}
            Err(GraphStoreError::AliasTaken(name)) => {
                let (kind, value) = name.split_once(':').unwrap_or(("name", &name));
                return Err(
                    DomainError::field(kind, format_args!("Already taken: {value}")).into(),
                );
            }
            Err(error) => return Err(error.into()),
        }
    }
    Err(ApiError::Server(format!(
        "{} conflicted {ATTEMPTS} times",
        call.operation.id
    )))
}

/// Returns the response of a write: the record after the change.
pub(crate) async fn write_response(
    api: &Api,
    call: &RequestContext<'_>,
    written: CommittedWrite,
    asked: &ResponsePlan<'_>,
) -> Result<CostedResponse, ApiError> {
    let (ResponseKind::Record(_) | ResponseKind::Created(_), Some(gid)) =
        (call.operation.response, written.subject)
    else {
        return Ok(CostedResponse::new(200, envelope::empty_envelope(), 1));
    };
    let shown = match load_and_respond(api, call, (gid, written.seq), asked).await {
        Err(failure) if failure.is_render_failure() => {
            respond_with_stub(api, call, gid, asked).await
        }
        shown => shown,
    };
    let shown = match (written.seq, shown) {
        // Another request took the caller's access after the commit.
        (Some(_), Err(ApiError::Unauthorized(..))) => None,
        (Some(_), shown) => shown.map_err(ApiError::after_changes)?,
        (None, shown) => shown?,
    };
    // The record can't be shown if the write itself removed the caller's access, either.
    let empty = || CostedResponse::new(200, envelope::empty_envelope(), 1);
    let mut answered = shown.unwrap_or_else(empty);
    answered.reply.headers.extend(change_header(call));
    if let ResponseKind::Created(ty) = call.operation.response {
        answered.reply.status = 201;
        let location = format!("{}/{}/{gid}", call.base_url(), resource(ty).path);
        answered.reply.headers.push(("Location", location));
    }
    Ok(answered)
}

/// Returns the header that names the contract changes that affect the inputs of a write.
fn change_header(call: &RequestContext<'_>) -> Option<(&'static str, String)> {
    let mut changes_header: Vec<String> = Vec::new();
    for def in resource(call.operation.record()?).fields {
        // Few fields are deprecated, so only these are looked up in the body.
        let Some(change) = def.deprecated else {
            continue;
        };
        let given = call.raw.data.get(def.name);
        let Some(given) = given.filter(|given| !given.is_null()) else {
            continue;
        };
        let (name, base, instead) = (change.name, call.base_url(), change.instead);
        let line = format!("name={name};info={base}{instead};affected=true");
        if change.affects(given.as_str()) && !changes_header.contains(&line) {
            changes_header.push(line);
        }
    }
    (!changes_header.is_empty()).then(|| ("Asana-Change", changes_header.join(",")))
}
