//! The total of tracked time that a task stores.
use crate::model::draft::Draft;
use crate::model::node::Node;
use crate::model::resources::task;
use crate::storage::change_builder::ChangeBuilder;

/// Adds minutes, which may be negative, to the total of a task. The total becomes null when no time is left: every entry has at
/// least one minute. The commit fails if the task has changed since it was read, so no minute is lost.
pub fn add_minutes(work: &mut ChangeBuilder<'_>, task: &Node, minutes: i64) {
    if minutes == 0 {
        return;
    }
    let mut draft = Draft::edit(task);
    let sum = task.get(task::ACTUAL_TIME).saturating_add(minutes);
    match sum {
        1.. => draft.set(task::ACTUAL_TIME, sum),
        _ => draft.clear(task::ACTUAL_TIME),
    }
    draft.set(task::MODIFIED_AT, work.now);
    work.save(&draft);
}
