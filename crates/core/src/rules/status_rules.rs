//! Status updates: the newest one of an object, and the object's state that follows from it.
use crate::model::draft::Draft;
use crate::model::gid::Gid;
use crate::model::node::Node;
use crate::model::registry::{Type, rel};
use crate::model::resources::status_update::{self, COMPLETE, CURRENT_STATUS_UPDATE, StatusEffect};
use crate::model::resources::{goal, project, resource};
use crate::storage::ListPosition;
use crate::storage::change_builder::ChangeBuilder;

/// Adds a status update to an object, as the first of its list.
pub fn add_status(work: &mut ChangeBuilder<'_>, status: &Draft, parent: Gid) -> Gid {
    let gid = work.create(status, Some(parent));
    work.link(gid, rel::STATUS_OF, parent, ListPosition::First, None);
    gid
}

/// Makes a status update the current one of an object, and completes or reopens the object, or sets its status, according to the
/// update. Without an update the object is open and has no status.
pub fn set_current(parent: &mut Draft, current: Option<&Node>, now: crate::model::time::Time) {
    parent.set(CURRENT_STATUS_UPDATE, current.map(|node| node.gid));
    let effect = status_update::parent_rules(parent.ty).map(|rules| &rules.effect);
    match effect {
        Some(StatusEffect::Completes) => complete(parent, current),
        Some(StatusEffect::Status(words)) => {
            let status_type = current.and_then(|node| node.get(status_update::STATUS_TYPE));
            let mut words = words.iter();
            let found = words.find(|(name, _)| status_type.as_deref() == Some(*name));
            parent.set(goal::STATUS, found.map(|(_, word)| *word));
        }
        Some(StatusEffect::Nothing) | None => {}
    }
    if !parent.is_new() && resource(parent.ty).field("modified_at").is_some() {
        parent.set(project::MODIFIED_AT, now);
    }
}

/// Completes or reopens an object, according to its current status update.
fn complete(parent: &mut Draft, current: Option<&Node>) {
    let says_so = |node: &&Node| node.get(status_update::STATUS_TYPE).as_deref() == Some(COMPLETE);
    let done = current.filter(says_so);
    if parent.get(project::COMPLETED) != done.is_some() {
        parent.set(project::COMPLETED, done.is_some());
        parent.set(
            project::COMPLETED_AT,
            done.and_then(|node| node.get(status_update::CREATED_AT)),
        );
        parent.set(
            project::COMPLETED_BY,
            done.and_then(|node| node.get(status_update::CREATED_BY)),
        );
    }
}

/// Trashes a status update. If it is the current one of its object, `before` replaces it.
pub fn remove_status(
    work: &mut ChangeBuilder<'_>,
    status: Gid,
    parent: &Node,
    before: Option<&Node>,
) {
    work.trash(status, Type::StatusUpdate);
    if parent.get(CURRENT_STATUS_UPDATE) == Some(status) {
        let mut draft = Draft::edit(parent);
        set_current(&mut draft, before, work.now);
        work.save(&draft);
    }
}
