//! Copying of the attachments of tasks: a copy has the content of its original, whose file is kept for as long as one of
//! them exists.
use super::copier::Copier;
use crate::model::gid::Gid;
use crate::model::node::Node;
use crate::model::registry::{Type, rel};
use crate::model::resources::attachment;
use crate::storage::change_builder::ChangeBuilder;
use crate::storage::{ListPosition, NodeRef, NodeWrite, alias};

/// Returns a reference to the node that stands for the file of an attachment; `None` for links.
pub(super) fn shared_file(of: &Node) -> Option<NodeRef> {
    let file = of.get(attachment::FILE)?;
    Some(NodeRef::Alias(alias::shared_file(file)))
}

impl Copier<'_> {
    /// Copies an attachment of a task to the copy of the task.
    pub(super) fn attachment(
        &self,
        work: &mut ChangeBuilder<'_>,
        old: &Node,
        from: Gid,
        under: Gid,
    ) {
        let mut draft = work.draft(Type::Attachment, old.workspace);
        draft.take(attachment::NAME, old);
        draft.take(attachment::SUBTYPE, old);
        draft.take(attachment::SIZE, old);
        draft.take(attachment::FILE, old);
        draft.take(attachment::URL, old);
        draft.take(attachment::APP, old);
        draft.set(attachment::CREATED_AT, work.now);
        draft.set(attachment::CREATED_BY, work.changes.actor);
        let new = draft.gid;
        // Until the commit the original keeps the file from being removed.
        for needed in [old.gid, from, under] {
            work.require_live(needed);
        }
        if self.plot.kind.to() == Type::Task {
            work.create(&draft, Some(under));
        } else {
            // Nodes in a template have no journal records, so they have no events.
            let node = draft.finish();
            work.changes.node_writes.push(NodeWrite { node });
        }
        let attached = self.view.link(old.gid, rel::ATTACHED_TO, from);
        let rank = attached.map_or(work.now.millis(), |edge| edge.rank);
        let at = ListPosition::Rank(rank);
        work.link(new, rel::ATTACHED_TO, under, at, None);
        if let Some(file) = old.get(attachment::FILE) {
            let shared = self.file_node(work, file);
            work.link(new, rel::FILE_COPIES, shared, ListPosition::Rank(0), None);
        }
    }

    /// Returns the node that stands for a file; makes it for the first copy.
    fn file_node(&self, work: &mut ChangeBuilder<'_>, file: Gid) -> Gid {
        let name = alias::shared_file(file);
        let mut made = work.changes.add_aliases.iter();
        if let Some((_, node)) = made.find(|(known, _)| *known == name) {
            return *node;
        }
        let known = self.more.resolve(&NodeRef::Alias(name.clone()));
        known.unwrap_or_else(|| {
            let draft = work.draft(Type::Attachment, None);
            work.changes.add_aliases.push((name, draft.gid));
            let node = draft.finish();
            work.changes.node_writes.push(NodeWrite { node });
            draft.gid
        })
    }
}
