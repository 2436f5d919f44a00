//! Triggers of rules: their creation, and their runs.
use super::story_rules::add_system_story;
use crate::model::draft::Draft;
use crate::model::gid::Gid;
use crate::model::node::Node;
use crate::model::registry::{Type, rel};
use crate::model::resources::{rule_trigger, story};
use crate::storage::change_builder::ChangeBuilder;
use crate::storage::{Guard, ListPosition, NodeWrite};

/// Creates a trigger in a project. The creation is not an event, since only the runs concern other users.
pub fn create_trigger(work: &mut ChangeBuilder<'_>, project: &Node, name: &str) -> Gid {
    let mut draft = work.draft(Type::RuleTrigger, project.workspace);
    draft.set(rule_trigger::NAME, name);
    draft.set(rule_trigger::PROJECT, project.gid);
    work.require_live(project.gid);
    let node = draft.finish();
    work.changes.node_writes.push(NodeWrite { node });
    let position = ListPosition::Rank(0);
    work.link(draft.gid, rel::RULE_TRIGGER_OF, project.gid, position, None);
    draft.gid
}

/// Renames the trigger of a rule.
pub fn rename_trigger(work: &mut ChangeBuilder<'_>, trigger: &Node, name: &str) {
    let mut draft = Draft::edit(trigger);
    draft.set(rule_trigger::NAME, name);
    work.save_unrecorded(&draft);
}

/// Deletes the trigger of a rule.
pub fn delete_trigger(work: &mut ChangeBuilder<'_>, trigger: &Node) {
    work.changes.guards.push(Guard::Live(trigger.gid));
    work.changes.trashed.push(trigger.gid);
    if let Some(project) = trigger.get(rule_trigger::PROJECT) {
        work.unlink(trigger.gid, rel::RULE_TRIGGER_OF, project);
    }
}

/// Runs a trigger on a task: a story stores the name of the trigger and the data, which is a JSON object.
pub fn run_trigger(work: &mut ChangeBuilder<'_>, trigger: &Node, task: &Node, data: &str) {
    let sentence = format!("ran the rule trigger \"{}\" with {data}", trigger.title());
    work.require_live(trigger.gid);
    work.require_live(task.gid);
    let (on, workspace) = (task.gid, task.workspace);
    add_system_story(work, on, workspace, story::RULE_TRIGGERED, |draft| {
        draft.set(story::TEXT, sentence.as_str());
    });
}
