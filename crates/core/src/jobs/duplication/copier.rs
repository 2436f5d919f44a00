//! Copying one task: what the copy has of its original, and where it goes.
use super::{Duplication, Kind, Parts};
use crate::access::Level;
use crate::draft::Draft;
use crate::gid::Gid;
use crate::graph::{Place, Put, Ref, View};
use crate::jobs::dates::Shift;
use crate::jobs::freezing::Frozen;
use crate::node::Node;
use crate::registry::{Type, rel};
use crate::resources::{story, task};
use crate::rules::stories::tell;
use crate::rules::{fields, ids};
use crate::time::{Date, Time};
use crate::work::Work;

/// Copies the task that a job goes on from, before there is the job.
pub fn copy_root(
    work: &mut Work<'_>,
    view: &View,
    parts: Parts,
    old: &Node,
    name: &str,
) -> (Gid, Duplication) {
    let mut draft = work.draft(Type::Task, old.home);
    draft.set(task::NAME, name);
    let plot = Duplication {
        from: old.gid,
        to: draft.gid,
        kind: Kind::Task,
        roles: Vec::new(),
        frozen: Frozen::default(),
        parts,
        shift: Shift::default(),
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
    copier.place(work, &draft, old, parent);
    tell(work, new, old.home, "duplicated", |draft| {
        draft.set(story::DUPLICATED_FROM, old.gid);
    });
    if let Some(me) = work.changes.actor {
        let tie = (new, rel::FOLLOWERS, me);
        let held = work.changes.links.iter();
        if !held.map(|l| (l.src, l.rel, l.dst)).any(|l| l == tie) {
            work.link(new, rel::FOLLOWERS, me, Place::Rank(0), None);
        }
    }
    (new, plot)
}

/// One step's copying: what is copied, and what was read for it.
pub(super) struct Copier<'s> {
    pub(super) plot: &'s Duplication,
    pub(super) job: Gid,
    pub(super) view: &'s View,
    pub(super) more: &'s View,
}

impl<'s> Copier<'s> {
    /// What an original became.
    pub(super) fn copy_of(&self, view: &View, old: Gid) -> Option<Gid> {
        view.link(old, rel::COPIED, self.job).and_then(|e| e.aux)
    }

    /// Notes what an original becomes.
    pub(super) fn note(&self, work: &mut Work<'_>, copied: &mut i64, old: Gid, new: Gid) {
        *copied += 1;
        work.link(old, rel::COPIED, self.job, Place::Rank(*copied), Some(new));
    }

    /// Copies a task into the copies of its sections, or below a copy of its parent.
    pub(super) fn task(
        &self,
        work: &mut Work<'_>,
        copied: &mut i64,
        old: &Node,
        under: Option<Gid>,
    ) -> Gid {
        let mut draft = work.draft(self.plot.kind.to(), old.home);
        draft.take(task::NAME, old);
        let new = self.fill(work, &mut draft, old);
        self.place(work, &draft, old, under);
        self.note(work, copied, old.gid, new);
        new
    }

    /// Creates the copy below a parent, and in its sections.
    fn place(&self, work: &mut Work<'_>, draft: &Draft, old: &Node, under: Option<Gid>) {
        let sections: Vec<_> = self.sections(old).collect();
        let parent = under.or(sections.first().map(|(_, project)| *project));
        let new = draft.gid;
        if draft.ty == Type::Task {
            work.create(draft, parent);
        } else {
            // What is in a template is nobody's news.
            work.changes.puts.push(Put {
                node: draft.finish(),
            });
        }
        if let Some(parent) = under {
            work.needs_live(parent);
            work.link(new, rel::PARENT, parent, Place::Last, None);
        }
        for (section, project) in sections {
            work.needs_live(section);
            work.link(new, rel::SECTION, section, Place::Last, Some(project));
            if draft.ty == Type::Task {
                ids::number(work, self.view.node(project), new);
            }
        }
    }

    /// The sections that the copy goes into, each with its project.
    fn sections(&self, old: &Node) -> impl Iterator<Item = (Gid, Gid)> {
        let edges = self.view.links(old.gid, rel::SECTION).iter();
        edges.filter_map(|edge| {
            let project = edge.aux?;
            if project == self.plot.from {
                let section = self.copy_of(self.more, edge.dst)?;
                return Some((section, self.plot.to));
            }
            let open = self.view.level(project) >= Level::Editor;
            let there = self.view.node(edge.dst).is_some();
            (self.plot.parts.has("projects") && open && there).then_some((edge.dst, project))
        })
    }

    /// Fills in what the copy has of its original, and ties it to people and tags.
    fn fill(&self, work: &mut Work<'_>, draft: &mut Draft, old: &Node) -> Gid {
        let (new, parts, shift) = (draft.gid, self.plot.parts, self.plot.shift);
        draft.take(task::SUBTYPE, old);
        draft.take(task::IS_SEPARATOR, old);
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
        if self.plot.kind == Kind::Freeze {
            // Search does not find what is in a template.
            draft.take(task::CUSTOM_FIELDS, old);
        } else if self.sections(old).next().is_some() {
            // Custom fields come with projects.
            fields::copy_values(work, draft, self.view, old);
        }
        let mut followers = Vec::new();
        if parts.has("followers") {
            let edges = self.view.links(old.gid, rel::FOLLOWERS).iter();
            followers.extend(edges.map(|e| e.dst).filter(|who| self.is_there(*who)));
        }
        if self.plot.kind == Kind::Freeze {
            draft.take(task::ASSIGNEE, old);
        } else if parts.has("assignee")
            && let Some(who) = self.plot.assignee(old)
            && let Some(home) = old.home
            && self.more.link(who, rel::WORKSPACES, home).is_some()
        {
            draft.set(task::ASSIGNEE, who);
            let other = work.changes.actor.filter(|me| *me != who);
            draft.set(task::ASSIGNED_BY, other);
            let list = self.list_of(who);
            let section = list.and_then(|l| self.more.sources(l, rel::SECTION_OF).first());
            if let Some(edge) = section {
                work.link(new, rel::MY_TASKS, edge.src, Place::First, list);
            }
            if !followers.contains(&who) {
                followers.push(who);
            }
        }
        for who in followers {
            work.link(new, rel::FOLLOWERS, who, Place::Rank(0), None);
        }
        if parts.has("tags") {
            let to = Kind::tags(draft.ty);
            for edge in self.view.links(old.gid, Kind::tags(old.ty)) {
                if self.is_there(edge.dst) {
                    work.link(new, to, edge.dst, Place::Rank(0), None);
                }
            }
        }
        new
    }

    /// The task list of a user, under whatever name it was read.
    fn list_of(&self, who: Gid) -> Option<Gid> {
        self.more.found.iter().find_map(|(name, list)| match name {
            Ref::TaskList { user, .. } if self.named(user) == Some(who) => *list,
            _ => None,
        })
    }

    fn named(&self, name: &Ref) -> Option<Gid> {
        match name {
            Ref::Gid(gid) => Some(*gid),
            other => self.more.resolve(other),
        }
    }

    fn is_there(&self, gid: Gid) -> bool {
        self.view.node(gid).is_some()
    }
}
