//! Copying of one task: the fields of the copy, and its parent and sections.
use super::{CopyKind, CopyOptions, Duplication};
use crate::access::{Level, follower_rank};
use crate::jobs::date_shift::DateShift;
use crate::jobs::template_snapshot::TemplateData;
use crate::model::draft::Draft;
use crate::model::edge::Edge;
use crate::model::gid::Gid;
use crate::model::node::Node;
use crate::model::registry::{Type, rel};
use crate::model::resources::{story, task};
use crate::model::time::{Date, Time};
use crate::rules::sharing::follow_task;
use crate::rules::story_rules::add_system_story;
use crate::rules::{auto_id_rules, custom_field_rules};
use crate::storage::change_builder::ChangeBuilder;
use crate::storage::{ListPosition, NodeRef, NodeWrite, ReadView};

/// Copies the root task of a duplication, before the job exists.
pub fn copy_root(
    work: &mut ChangeBuilder<'_>,
    view: &ReadView,
    parts: CopyOptions,
    old: &Node,
    name: &str,
) -> (Gid, Duplication) {
    let mut draft = work.draft(Type::Task, old.workspace);
    draft.set(task::NAME, name);
    let plot = Duplication {
        source: old.gid,
        copy: draft.gid,
        kind: CopyKind::Task,
        roles: Vec::new(),
        template: TemplateData::default(),
        parts,
        shift: DateShift::default(),
        anchor: None,
        copied: 1,
        phase: Duplication::of_task(parts),
    };
    let copier = Copier {
        plot: &plot,
        job: old.gid,
        view,
        more: view,
    };
    let parent = view.links(old.gid, rel::PARENT).first().map(|e| e.dst);
    let parent = parent.filter(|p| parts.has("parent") && view.level(*p) >= Level::Editor);
    let new = copier.fill(work, &mut draft, old);
    copier.create(work, &draft, old, parent);
    add_system_story(work, new, old.workspace, "duplicated", |draft| {
        draft.set(story::DUPLICATED_FROM, old.gid);
    });
    if let Some(me) = work.changes.actor {
        let tie = (new, rel::FOLLOWERS, me);
        let links = work.changes.edge_writes.iter();
        if !links.map(|l| (l.src, l.rel, l.dst)).any(|l| l == tie) {
            follow_task(work, new, me, Level::Editor);
        }
    }
    (new, plot)
}

/// Copier of one step: the duplication, and the reads of the step.
pub(super) struct Copier<'s> {
    pub(super) plot: &'s Duplication,
    pub(super) job: Gid,
    pub(super) view: &'s ReadView,
    pub(super) more: &'s ReadView,
}

impl<'s> Copier<'s> {
    /// Returns the copy of an original, if it was copied.
    pub(super) fn copy_of(&self, view: &ReadView, old: Gid) -> Option<Gid> {
        view.link(old, rel::COPIED, self.job).and_then(|e| e.aux)
    }

    /// Records the copy of an original.
    pub(super) fn note(&self, work: &mut ChangeBuilder<'_>, copied: &mut i64, old: Gid, new: Gid) {
        *copied += 1;
        work.link(
            old,
            rel::COPIED,
            self.job,
            ListPosition::Rank(*copied),
            Some(new),
        );
    }

    /// Copies a task into the copies of its sections, or as a subtask of a parent's copy.
    pub(super) fn task(
        &self,
        work: &mut ChangeBuilder<'_>,
        copied: &mut i64,
        old: &Node,
        under: Option<Gid>,
    ) -> Gid {
        let mut draft = work.draft(self.plot.kind.to(), old.workspace);
        draft.take(task::NAME, old);
        let new = self.fill(work, &mut draft, old);
        self.create(work, &draft, old, under);
        self.note(work, copied, old.gid, new);
        new
    }

    /// Creates a copy, below `under` if that is given, and adds it to its sections.
    fn create(&self, work: &mut ChangeBuilder<'_>, draft: &Draft, old: &Node, under: Option<Gid>) {
        let sections: Vec<_> = self.sections(old).collect();
        let parent = under.or(sections.first().map(|(_, project)| *project));
        let new = draft.gid;
        if draft.ty == Type::Task {
            work.create(draft, parent);
        } else {
            // Nodes in a template have no journal records, so they have no events.
            work.changes.node_writes.push(NodeWrite {
                node: draft.finish(),
            });
        }
        if let Some(parent) = under {
            work.require_live(parent);
            work.link(new, rel::PARENT, parent, ListPosition::Last, None);
        }
        for (section, project) in sections {
            work.require_live(section);
            work.link(
                new,
                rel::SECTION,
                section,
                ListPosition::Last,
                Some(project),
            );
            if draft.ty == Type::Task {
                auto_id_rules::number(work, self.view.node(project), new);
            }
        }
    }

    /// Returns the sections that the copy goes into, each with its project.
    fn sections(&self, old: &Node) -> impl Iterator<Item = (Gid, Gid)> {
        self.placed(old)
            .map(|(_, section, project)| (section, project))
    }

    /// Returns the edges to sections of the original that the copy takes over, each with the section and the project of the
    /// copy.
    fn placed(&self, old: &Node) -> impl Iterator<Item = (&Edge, Gid, Gid)> {
        let edges = self.view.links(old.gid, rel::SECTION).iter();
        edges.filter_map(|edge| {
            let project = edge.aux?;
            if project == self.plot.source {
                let section = self.copy_of(self.more, edge.dst)?;
                return Some((edge, section, self.plot.copy));
            }
            // The tasks of a template are in no other project.
            let is_task = self.plot.kind != CopyKind::ProjectToTemplate;
            let open = is_task && self.view.level(project) >= Level::Editor;
            let there = self.view.head(edge.dst).is_some();
            (self.plot.parts.has("projects") && open && there).then_some((edge, edge.dst, project))
        })
    }

    /// Fills in the fields that the copy takes over, and links it to users and tags.
    fn fill(&self, work: &mut ChangeBuilder<'_>, draft: &mut Draft, old: &Node) -> Gid {
        let (new, parts, shift) = (draft.gid, self.plot.parts, self.plot.shift);
        draft.take(task::SUBTYPE, old);
        draft.take(task::IS_SEPARATOR, old);
        if self.plot.kind == CopyKind::ProjectToTemplate {
            // Tasks of a template have no custom type.
            if old.get(task::CUSTOM_TYPE).is_some() {
                draft.clear(task::SUBTYPE);
            }
        } else {
            draft.take(task::CUSTOM_TYPE, old);
            // The copy is not completed, so it does not take over the status of a completed task.
            if !old.get(task::COMPLETED) {
                draft.take(task::CUSTOM_TYPE_STATUS, old);
            }
        }
        if old.get(task::SUBTYPE).as_deref() == Some("approval") {
            draft.set(task::APPROVAL_STATUS, "pending");
        }
        draft.set(task::CREATED_BY, work.changes.actor);
        draft.set(task::CREATED_AT, work.now);
        draft.set(task::MODIFIED_AT, work.now);
        if parts.has("notes") {
            draft.take(task::NOTES, old);
            draft.take(task::HTML_NOTES, old);
        }
        if parts.has("dates") {
            let day = |day: Option<Date>| day.map(|d| shift.day(d));
            let time = |time: Option<Time>| time.map(|t| shift.time(t));
            draft.set(task::START_ON, day(old.get(task::START_ON)));
            draft.set(task::DUE_ON, day(old.get(task::DUE_ON)));
            draft.set(task::START_AT, time(old.get(task::START_AT)));
            draft.set(task::DUE_AT, time(old.get(task::DUE_AT)));
        }
        let mut followers = if parts.has("followers") {
            self.followers(old)
        } else {
            Vec::new()
        };
        if self.plot.kind == CopyKind::ProjectToTemplate {
            draft.take(task::ASSIGNEE, old);
        } else if parts.has("assignee")
            && let Some(user) = self.plot.assignee(old)
            && let Some(workspace) = old.workspace
            && self.more.link(user, rel::WORKSPACES, workspace).is_some()
        {
            draft.set(task::ASSIGNEE, user);
            let other = work.changes.actor.filter(|me| *me != user);
            draft.set(task::ASSIGNED_BY, other);
            let list = self.list_of(user);
            let section = list.and_then(|l| self.more.sources(l, rel::SECTION_OF).first());
            if let Some(edge) = section {
                work.link(new, rel::MY_TASKS, edge.src, ListPosition::First, list);
            }
            if !followers.iter().any(|(follower, _)| *follower == user) {
                followers.push((user, follower_rank(Some(Level::Editor))));
            }
        }
        // Custom fields come with projects.
        let edges = self.placed(old).map(|(edge, ..)| edge.aux);
        let projects: Vec<Gid> = edges.flatten().collect();
        if !projects.is_empty() {
            let me = work.changes.actor;
            let is_own = me.is_some() && draft.get(task::ASSIGNEE) == me;
            let values = self.values(old, &projects, is_own);
            let values = custom_field_rules::new_values(draft, values);
            // Tasks of a template are not searchable, so their custom fields are not indexed.
            if draft.ty == Type::Task {
                custom_field_rules::index_value_changes(work, new, self.view, &values);
            }
        }
        for (user, rank) in followers {
            // A copy gives its followers no more access than the original.
            work.link(new, rel::FOLLOWERS, user, ListPosition::Rank(rank), None);
        }
        if parts.has("tags") {
            let to = CopyKind::tags(draft.ty);
            for edge in self.view.links(old.gid, CopyKind::tags(old.ty)) {
                if self.is_there(edge.dst) {
                    work.link(new, to, edge.dst, ListPosition::Rank(0), None);
                }
            }
        }
        new
    }

    /// Returns the task list of a user, given by any reference to that user.
    fn list_of(&self, member: Gid) -> Option<Gid> {
        self.more
            .resolved_refs
            .iter()
            .find_map(|(name, list)| match name {
                NodeRef::TaskList { user, .. } if self.named(user) == Some(member) => *list,
                _ => None,
            })
    }

    fn named(&self, name: &NodeRef) -> Option<Gid> {
        match name {
            NodeRef::Gid(gid) => Some(*gid),
            other => self.more.resolve(other),
        }
    }

    fn is_there(&self, gid: Gid) -> bool {
        self.view.head(gid).is_some()
    }
}
