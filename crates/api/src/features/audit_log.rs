//! The audit log as an endless list.
//!
//! A walk reads the log row by row. A page with rows always has a next page: an empty page means that there are no new
//! rows yet, and its token continues from there.
use crate::error::ApiError;
use crate::execute::allowance_retry;
use crate::execute::load_view::load;
use crate::execute::page_position;
use crate::execute::page_position::PageBinding;
use crate::execute::record_response;
use crate::execute::record_response::CostedResponse;
use crate::reply_cost::CostInputs;
use crate::state::Api;
use workgraph_core::Gid;
use workgraph_core::access::Level;
use workgraph_core::domain_error::DomainError;
use workgraph_operations::operation::requests::ListAuditLog;
use workgraph_operations::operation::steps::Described;
use workgraph_operations::request_context::RequestContext;
use workgraph_wire::{Cursor, NextPage, envelope};

/// Rows per page if there is no `limit`.
const PAGE: usize = 1_000;

/// Responds with a page of the audit log.
pub(crate) async fn list_audit_log(
    api: &Api,
    call: &RequestContext<'_>,
    path: &str,
    list: &dyn Described<ListAuditLog>,
) -> Result<CostedResponse, ApiError> {
    let bounds = PageBinding::of(call, path)?;
    let input = list.describe(call)?;
    let view = load(api, &call.read_query().node(input.workspace.node)).await?;
    let workspace = call.named_node(&view, &input.workspace, Level::Viewer)?.gid;
    if view.viewer.service_workspace != Some(workspace) {
        let reason = "The audit log of a workspace is for its service accounts.";
        return Err(DomainError::forbidden(reason).into());
    }
    let mut ask = *input.query.get()?;
    let position = bounds.open_page_token(api, call)?;
    ask.after = position.last().and_then(Gid::from_i64);
    ask.limit = bounds.limit().map_or(PAGE, usize::from);
    let interrupt = call.interrupt();
    let trip = || api.graph.audit_rows(ask, interrupt.clone());
    let rows = allowance_retry::query_store(&interrupt, trip).await?;

    let mut json = record_response::open_envelope(64 + rows.len() * 640);
    json.push(b'[');
    for (at, row) in rows.iter().enumerate() {
        if at > 0 {
            json.push(b',');
        }
        json.extend_from_slice(row.to_json().as_bytes());
    }
    json.push(b']');
    let last = rows.last().map(|row| row.gid).or(ask.after);
    let body = match last {
        None => envelope::close(json, NextPage::Null),
        Some(last) => {
            let cursor = Cursor {
                listing: bounds.listing(),
                after: vec![last.as_i64()],
                max_seq: 0,
                rows_sent: 0,
                expires: api.clock.now() + call.settings.audit_retention,
            };
            page_position::write_next_page(api, call, &bounds, &cursor, bounds.limit(), json)?
        }
    };
    let work = CostInputs {
        objects: u32::try_from(rows.len()).unwrap_or(u32::MAX),
        edges: 0,
        extra_fields: 0,
        steps: 0,
    };
    Ok(CostedResponse::new(200, body, work.cost()))
}
