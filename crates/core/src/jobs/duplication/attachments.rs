//! Copying of the attachments of tasks: a copy shares the file of its original. The file is kept until the original and all
//! its copies are deleted.
use super::copier::Copier;
use crate::domain_error::DomainError;
use crate::model::draft::Draft;
use crate::model::gid::Gid;
use crate::model::node::Node;
use crate::model::registry::{Type, rel};
use crate::model::resources::{attachment, task};
use crate::rules::rich_texts;
use crate::storage::change_builder::ChangeBuilder;
use crate::storage::{LinkSelector, ListPosition, NodeRef, NodeWrite, alias};
use std::collections::BTreeMap;

/// Attachments that a step copied: for the copy of each task, the originals with their copies.
pub(super) type CopiedAttachments = BTreeMap<Gid, Vec<(Gid, Gid)>>;

/// Returns a reference to the copy of a task whose description may show attachments of the original as images.
pub(super) fn copy_of_task(task: Gid, job: Gid) -> NodeRef {
    NodeRef::Gid(task).of(LinkSelector::Aux(rel::COPIED, job))
}

/// Returns a reference to the node of an attachment's file; `None` for links.
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
    ) -> Gid {
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
        // The original keeps the file from being removed until the commit.
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
        new
    }

    /// Replaces the images in the descriptions of copies by the copies of the attachments. Nobody changed these texts, so there
    /// are no events.
    pub(super) fn show_copies(
        &self,
        work: &mut ChangeBuilder<'_>,
        copied: &CopiedAttachments,
    ) -> Result<(), DomainError> {
        for (task, attachments) in copied {
            let Some(task) = self.more.node(*task) else {
                continue;
            };
            let mut draft = Draft::edit(task);
            let copy = |gid: u64| {
                let mut of_task = attachments.iter();
                let found = of_task.find(|(old, _)| old.get() == gid);
                found.map(|(_, new)| new.get())
            };
            if rich_texts::replace_images(&mut draft, task::HTML_NOTES, &copy)? {
                work.save_unrecorded(&draft);
            }
        }
        Ok(())
    }

    /// Returns the node of a file; creates it for the first copy.
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
