//! The task counts of a project, counted for each request.
use crate::error::ApiError;
use crate::execute::load_view::load;
use crate::execute::record_response::CostedResponse;
use crate::state::Api;
use workgraph_core::domain_error::DomainError;
use workgraph_core::model::resources::task;
use workgraph_core::storage::{NodeRef, PageQuery};
use workgraph_core::{Gid, tasks_of_container};
use workgraph_operations::request_context::RequestContext;
use workgraph_wire::{envelope, messages};

/// The names of the counts; each is only sent when requested by name.
pub(crate) const NAMES: [&str; 6] = [
    "num_tasks",
    "num_incomplete_tasks",
    "num_completed_tasks",
    "num_milestones",
    "num_incomplete_milestones",
    "num_completed_milestones",
];

/// Number of tasks read in one snapshot.
const ROWS: usize = 1_000;

/// Responds with the requested counts, by walking over the project's tasks, a thousand per snapshot. Tasks created during
/// the walk are left out; a task that changes before the walk reaches it counts with its new state. The walk ends after
/// the same number of rows as a list's walk, with the same 400.
pub(crate) async fn task_counts_response(
    api: &Api,
    call: &RequestContext<'_>,
    project: Gid,
) -> Result<CostedResponse, ApiError> {
    let fields = call.options.fields.clone().unwrap_or_default();
    let asked: Vec<&str> = fields
        .iter()
        .flat_map(|f| f.split(','))
        .map(str::trim)
        .collect();
    let (mut counts, mut looked) = ([0u64; 6], 0);
    if NAMES.iter().any(|n| asked.contains(n)) {
        let (mut after, mut upto) = (None, None);
        // Fewer, if a thousand tasks are too large to be read at once.
        let mut rows = ROWS;
        loop {
            let mut want = call.read_query();
            let anchor = want.add_ref(NodeRef::Gid(project));
            let mut page = PageQuery::of(tasks_of_container(anchor, false), true, 0);
            page.limit = rows;
            page.after = after.take();
            (page.max_seq, page.rows_seen, page.row_cap) =
                (upto, looked, call.settings.traversal_rows_max());
            // Every task passes this filter; it makes the store read the bodies along with the rows.
            page.filters.push(workgraph_core::storage::RowFilter::Is(
                workgraph_core::Type::Task,
            ));
            want.page = Some(page);
            let view = match load(api, &want).await {
                Err(failure) if failure.is_too_large() && rows > 1 => {
                    rows /= 2;
                    after = want.page.and_then(|page| page.after);
                    continue;
                }
                found => found?,
            };
            for node in view.rows.gids.iter().filter_map(|g| view.node(*g)) {
                let done = node.get(task::COMPLETED);
                let milestone = node.get(task::SUBTYPE).as_deref() == Some("milestone");
                for (count, hit) in counts.iter_mut().zip([
                    true,
                    !done,
                    done,
                    milestone,
                    milestone && !done,
                    milestone && done,
                ]) {
                    *count += u64::from(hit);
                }
            }
            if view.rows.is_truncated {
                return Err(DomainError::invalid(messages::TRUNCATED).into());
            }
            (upto, looked) = (Some(view.rows.max_seq), view.rows.rows_seen);
            after = view.rows.next;
            if after.is_none() {
                break;
            }
        }
    }
    let mut out = String::from("{");
    for (name, count) in NAMES.iter().zip(counts) {
        if asked.contains(name) {
            if out.len() > 1 {
                out.push(',');
            }
            out.push_str(&format!("\"{name}\":{count}"));
        }
    }
    out.push('}');
    let named = NAMES.iter().filter(|name| asked.contains(name)).count();
    let named = u32::try_from(named).unwrap_or(u32::MAX);
    // The walk has a cost, even if there are few counts.
    let cost = (1 + looked / 10).saturating_add(named.saturating_mul(10));
    Ok(CostedResponse::new(
        200,
        envelope::data_envelope(out.as_bytes()),
        cost,
    ))
}
