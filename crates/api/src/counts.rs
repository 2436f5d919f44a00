//! Task counts of a project.
use crate::answer::Answered;
use crate::call::Call;
use crate::driver;
use crate::fault::Failure;
use crate::pipeline::Api;
use workgraph_core::Gid;
use workgraph_core::fault::Fault;
use workgraph_core::graph::Ref;
use workgraph_core::resources::task;
use workgraph_core::tasks_of_container;
use workgraph_wire::{envelope, message};

/// The names of the counts; all are sent only when named.
const NAMES: [&str; 6] = [
    "num_tasks",
    "num_incomplete_tasks",
    "num_completed_tasks",
    "num_milestones",
    "num_incomplete_milestones",
    "num_completed_milestones",
];

/// How many tasks are read in one snapshot.
const ROWS: usize = 1_000;

/// Counts what the caller asked for by walking the project's tasks, a thousand in each snapshot: tasks
/// that are made meanwhile are passed over, but one that changes before the walk is at it counts as it
/// then is. The walk ends where that of a list does, with the same 400.
pub(crate) async fn answer(api: &Api, call: &Call<'_>, project: Gid) -> Result<Answered, Failure> {
    let fields = call.options.fields.clone().unwrap_or_default();
    let asked: Vec<&str> = fields
        .iter()
        .flat_map(|f| f.split(','))
        .map(str::trim)
        .collect();
    let (mut counts, mut looked) = ([0u64; 6], 0);
    if NAMES.iter().any(|n| asked.contains(n)) {
        let (mut after, mut upto) = (None, None);
        // Fewer, where tasks have so much to say that a thousand are more than may be read at once.
        let mut rows = ROWS;
        loop {
            let mut want = call.want();
            let anchor = want.add(Ref::Gid(project));
            let mut page = driver::page(tasks_of_container(anchor, false), true);
            page.limit = rows;
            page.after = after.take();
            (page.upto, page.seen, page.cap) = (upto, looked, call.settings.rows());
            // A filter that every task passes, so that bodies are read with the rows.
            page.filters.push(workgraph_core::graph::Filter::Is(
                workgraph_core::Type::Task,
            ));
            want.page = Some(page);
            let view = match driver::load(api, &want).await {
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
            if view.rows.cut {
                return Err(Fault::invalid(message::TRUNCATED).into());
            }
            (upto, looked) = (Some(view.rows.upto), view.rows.seen);
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
    // Walking is work, however few the counts are.
    let cost = (1 + looked / 10).saturating_add(named.saturating_mul(10));
    Ok(Answered::new(200, envelope::data(out.as_bytes()), cost))
}
