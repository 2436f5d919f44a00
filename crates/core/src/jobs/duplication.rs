//! Copying tasks: section by section, then what is below them, then what they wait for.
//!
//! Each copied object leaves an edge from the original to the job, whose third party is the copy
//! and whose rank counts the copies. Read by original it says what became of it; read in order it
//! is the list of tasks whose subtasks are still to be copied, which grows at its end until there
//! are none: breadth first, without anything kept in memory.
use super::dates::{Anchor, Shift, Span};
use super::freezing::Frozen;
use super::{Held, Next, Plot, STEP};
use crate::access::Level;
use crate::draft::Draft;
use crate::fault::Fault;
use crate::gid::Gid;
use crate::graph::{By, Filter, Give, Listing, Page, Place, Put, Ref, View, Want};
use crate::node::Node;
use crate::plan::{self, Names, Plan};
use crate::registry::{Def, Dir, Field, Rel, Type, rel};
use crate::resources::{project, task};
use crate::rules::{fields, membership};
use crate::tasks_of_container;
use crate::time::{Date, Time};
use crate::work::Work;
use serde::{Deserialize, Serialize};
use std::sync::{Arc, OnceLock};

/// The most tasks that one waits for or that wait for it, together.
pub const TIES_MAX: usize = 30;

/// What a copy of a task has besides its name and kind, as in `include`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parts(u16);

impl Parts {
    /// The names, without the `task_` that they have for projects.
    pub const NAMES: [&'static str; 10] = [
        "assignee",
        "attachments",
        "dates",
        "dependencies",
        "followers",
        "notes",
        "parent",
        "projects",
        "subtasks",
        "tags",
    ];
    /// With the part of this name.
    #[must_use]
    pub fn with(self, name: &str) -> Self {
        let bit = Self::NAMES.iter().position(|n| *n == name);
        Self(self.0 | bit.map_or(0, |at| 1 << at))
    }
    /// All of them.
    #[must_use]
    pub fn all() -> Self {
        Self::NAMES.iter().fold(Self(0), |all, name| all.with(name))
    }
    /// Whether the part of this name is among them.
    #[must_use]
    pub fn has(self, name: &str) -> bool {
        self.with(name) == self
    }
}

/// What becomes of what.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kind {
    /// A task becomes a task, with what is below it.
    Task,
    /// A project becomes a project.
    Project,
    /// A project becomes a template.
    Freeze,
    /// A template becomes a project.
    Thaw,
}

impl Kind {
    /// The type of the originals.
    const fn from(self) -> Type {
        match self {
            Self::Thaw => Type::Recipe,
            _ => Type::Task,
        }
    }
    /// The type of the copies.
    const fn to(self) -> Type {
        match self {
            Self::Freeze => Type::Recipe,
            _ => Type::Task,
        }
    }
    /// The edges from things of a type to their tags.
    const fn tags(ty: Type) -> Rel {
        match ty {
            Type::Recipe => rel::RECIPE_TAGS,
            _ => rel::TAGS,
        }
    }
}

/// A copying, and how far it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Duplication {
    /// The project or task that is copied.
    pub from: Gid,
    /// Its copy.
    pub to: Gid,
    /// What becomes of what.
    pub kind: Kind,
    /// Assignees whose tasks go to another.
    pub roles: Vec<(Gid, Gid)>,
    /// What a template keeps besides.
    pub frozen: Frozen,
    /// What copies have.
    pub parts: Parts,
    /// How their dates differ.
    pub shift: Shift,
    /// Where the dates are to begin or end; the shift follows from it.
    pub anchor: Option<Anchor>,
    /// How many objects were copied.
    pub copied: i64,
    /// What is done now.
    pub phase: Phase,
}

/// The parts of a copying, in their order; `after` is the keyset of the last row done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Phase {
    /// Looking for the first and the last day.
    Survey {
        /// Where the page starts.
        after: Option<Vec<i64>>,
        /// What was found so far.
        span: Span,
    },
    /// The sections of the project.
    Sections {
        /// Where the page starts.
        after: Option<Vec<i64>>,
    },
    /// The tasks of the project.
    Tasks {
        /// Where the page starts.
        after: Option<Vec<i64>>,
    },
    /// The subtasks of what was copied.
    Subtasks {
        /// Where the page of parents starts.
        after: Option<Vec<i64>>,
        /// How many parents a page has: more where few have subtasks.
        wide: usize,
        /// A parent with too many for one step, and where the page of its subtasks starts.
        inside: Option<(Gid, Option<Vec<i64>>)>,
    },
    /// What the copies wait for.
    Dependencies {
        /// Where the page starts.
        after: Option<Vec<i64>>,
    },
}

impl Duplication {
    /// The first phase of copying a project.
    #[must_use]
    pub fn of_project(anchor: Option<Anchor>) -> Phase {
        if anchor.is_some() {
            Phase::Survey {
                after: None,
                span: Span::default(),
            }
        } else {
            Phase::Sections { after: None }
        }
    }

    /// The first phase after the task itself was copied.
    #[must_use]
    pub fn of_task(parts: Parts) -> Phase {
        if parts.has("subtasks") {
            Phase::Subtasks {
                after: None,
                wide: STEP,
                inside: None,
            }
        } else {
            Phase::Dependencies { after: None }
        }
    }

    /// What a step must read.
    pub(super) fn needs(&self, job: Gid, mut want: Want) -> Want {
        let from = want.add(self.from);
        want.add(self.to);
        let at_job = want.add(job);
        let copies = Listing::Edges {
            anchor: at_job,
            rel: rel::COPIED,
            dir: Dir::In,
            give: Give::Far,
        };
        let (listing, after, limit, plan) = match &self.phase {
            Phase::Survey { after, .. } => {
                (tasks_of_container(from, false), after, 5 * STEP, &BARE)
            }
            Phase::Sections { after } => {
                let sections = Listing::Edges {
                    anchor: from,
                    rel: rel::SECTION_OF,
                    dir: Dir::In,
                    give: Give::Far,
                };
                (sections, after, STEP, &HEAD)
            }
            Phase::Tasks { after } => (tasks_of_container(from, false), after, STEP, &WHOLE),
            Phase::Subtasks {
                inside: Some((parent, after)),
                ..
            } => {
                let anchor = want.add(*parent);
                let subtasks = Listing::Edges {
                    anchor,
                    rel: rel::PARENT,
                    dir: Dir::In,
                    give: Give::Far,
                };
                want = want.edge(*parent, rel::COPIED, job);
                (subtasks, after, STEP, &WHOLE)
            }
            Phase::Subtasks { after, wide, .. } => (copies, after, *wide, &BELOW),
            Phase::Dependencies { after } => (copies, after, STEP, &WAITS),
        };
        let tasks_alone = matches!(
            self.phase,
            Phase::Subtasks { .. } | Phase::Dependencies { .. }
        );
        want.page = Some(Page {
            from: listing,
            filters: if tasks_alone {
                vec![Filter::Is(self.kind.from())]
            } else {
                Vec::new()
            },
            after: after.clone(),
            limit,
            upto: None,
            open: true,
            seen: 0,
            cap: u32::MAX,
        });
        want.page_plan = Some(plan.get(self.kind.from()));
        want
    }

    /// What it must read besides.
    pub(super) fn more(&self, job: Gid, view: &View, mut want: Want) -> Option<Want> {
        let first = want.refs.len();
        let rows = view.rows.gids.iter().copied();
        match &self.phase {
            Phase::Survey { .. } | Phase::Sections { .. } => return None,
            Phase::Tasks { .. } => {
                for row in rows {
                    for edge in view.links(row, rel::SECTION) {
                        if edge.aux == Some(self.from) {
                            want = want.edge(edge.dst, rel::COPIED, job);
                        }
                    }
                    want = self.people(view, row, want);
                }
            }
            Phase::Subtasks {
                inside: Some(_), ..
            } => {
                for row in rows {
                    want = self.people(view, row, want);
                }
            }
            Phase::Subtasks { .. } => {
                let mut room = STEP;
                for parent in rows {
                    let below = view.sources(parent, rel::PARENT);
                    want = want.edge(parent, rel::COPIED, job);
                    for edge in below.iter().take(room) {
                        want = self.people(view, edge.src, want);
                    }
                    room = room.saturating_sub(below.len());
                    if room == 0 {
                        break;
                    }
                }
            }
            Phase::Dependencies { .. } => {
                for row in rows {
                    for edge in view.links(row, rel::DEPENDS) {
                        want = want.edge(row, rel::COPIED, job);
                        want = want.edge(edge.dst, rel::COPIED, job);
                        if self.kind == Kind::Task {
                            want = want.edges(edge.dst, rel::DEPENDS).into(
                                edge.dst,
                                rel::DEPENDS,
                                TIES_MAX,
                            );
                        }
                    }
                }
            }
        }
        (want.refs.len() > first).then_some(want)
    }

    /// The assignee's seat and the first section of their list.
    fn people(&self, view: &View, row: Gid, want: Want) -> Want {
        if !self.parts.has("assignee") {
            return want;
        }
        let Some(who) = view.node(row).and_then(|n| self.assignee(n)) else {
            return want;
        };
        want.edges(who, rel::WORKSPACES)
            .into(list_of(who, self.to), rel::SECTION_OF, 1)
    }

    /// Who the copy is assigned to.
    fn assignee(&self, old: &Node) -> Option<Gid> {
        let who = old.get(task::ASSIGNEE)?;
        let role = self.roles.iter().find(|(from, _)| *from == who);
        Some(role.map_or(who, |(_, to)| *to))
    }

    /// The next step.
    pub(super) fn step(
        &self,
        held: &Held,
        view: &View,
        more: Option<&View>,
        work: &mut Work<'_>,
    ) -> Result<Next, Fault> {
        for (gid, what) in [(self.from, "original"), (self.to, "copy")] {
            if view.node(gid).is_none() {
                return Err(Fault::invalid(format!("The {what} was deleted.")));
            }
        }
        if view.level(self.from) < Level::Viewer {
            return Err(Fault::invalid("The original is no longer shared."));
        }
        work.needs_live(self.to);
        let mut next = self.clone();
        let copier = Copier {
            plot: self,
            job: held.gid(),
            view,
            more: more.unwrap_or(view),
        };
        next.phase = match &self.phase {
            Phase::Survey { span, .. } => {
                let mut span = *span;
                span.add_rows(view);
                if view.rows.next.is_none() {
                    next.shift.days = self.anchor.map_or(0, |anchor| span.shift_to(anchor));
                    next.frozen.span = span;
                    if self.kind == Kind::Project {
                        next.move_project(work, view);
                    }
                    Phase::Sections { after: None }
                } else {
                    let after = view.rows.next.clone();
                    Phase::Survey { after, span }
                }
            }
            Phase::Sections { .. } => {
                let home = view.node(self.to).and_then(|n| n.home).unwrap_or(self.to);
                for old in &view.rows.gids {
                    let name = view.node(*old).map(Node::title).unwrap_or_default();
                    let new = membership::add_section(work, self.to, home, &name, Place::Last);
                    copier.note(work, &mut next.copied, *old, new);
                }
                match view.rows.next.clone() {
                    None => Phase::Tasks { after: None },
                    after => Phase::Sections { after },
                }
            }
            Phase::Tasks { .. } => {
                for old in view.rows.gids.iter().filter_map(|g| view.node(*g)) {
                    copier.task(work, &mut next.copied, old, None);
                    next.keep(view, old);
                }
                match view.rows.next.clone() {
                    None => self.after_tasks(),
                    after => Phase::Tasks { after },
                }
            }
            Phase::Subtasks {
                after,
                wide,
                inside: Some((parent, _)),
            } => {
                if let Some(under) = copier.copy_of(view, *parent) {
                    for old in view.rows.gids.iter().filter_map(|g| view.node(*g)) {
                        copier.task(work, &mut next.copied, old, Some(under));
                        next.keep(view, old);
                    }
                }
                let rest = view.rows.next.clone().map(|after| (*parent, Some(after)));
                Phase::Subtasks {
                    after: after.clone(),
                    wide: *wide,
                    inside: rest,
                }
            }
            Phase::Subtasks { after, wide, .. } => {
                match copier.below(work, &mut next, after, *wide) {
                    Some(phase) => phase,
                    None => Phase::Dependencies { after: None },
                }
            }
            Phase::Dependencies { .. } => {
                if self.parts.has("dependencies") {
                    copier.ties(work);
                    if view.rows.next.is_some() {
                        next.phase = Phase::Dependencies {
                            after: view.rows.next.clone(),
                        };
                        return Ok(Next::On(Plot::Duplicate(next)));
                    }
                }
                next.seal(work, view)?;
                return Ok(Next::Done);
            }
        };
        Ok(Next::On(Plot::Duplicate(next)))
    }

    /// Moves the dates of the project itself as far as those of its tasks.
    fn move_project(&self, work: &mut Work<'_>, view: &View) {
        let (Some(old), Some(new)) = (view.node(self.from), view.node(self.to)) else {
            return;
        };
        let mut draft = Draft::edit(new);
        let day = |day: Option<Date>| day.map(|d| self.shift.day(d));
        draft.set(project::START_ON, day(old.get(project::START_ON)));
        draft.set(project::DUE_ON, day(old.get(project::DUE_ON)));
        work.save(&draft);
    }

    /// Keeps who is assigned to what goes into a template.
    fn keep(&mut self, view: &View, old: &Node) {
        if self.kind == Kind::Freeze
            && let Some(who) = old.get(task::ASSIGNEE).and_then(|who| view.node(who))
        {
            self.frozen.add(who);
        }
    }

    /// Says in the template what it asks for.
    fn seal(&self, work: &mut Work<'_>, view: &View) -> Result<(), Fault> {
        if let (Kind::Freeze, Some(node)) = (self.kind, view.node(self.to)) {
            let mut draft = Draft::edit(node);
            self.frozen.write(&mut draft)?;
            work.save(&draft);
        }
        Ok(())
    }

    fn after_tasks(&self) -> Phase {
        Self::of_task(self.parts)
    }
}

/// The task list of a user in the workspace of a node.
fn list_of(who: Gid, near: Gid) -> Ref {
    Ref::TaskList {
        user: Box::new(Ref::Gid(who)),
        near: Box::new(Ref::Gid(near)),
    }
}

/// What must be read of a task that is copied at once, before the job starts.
#[must_use]
pub fn root(mut want: Want, old: &Ref) -> Want {
    want.plans.push((want.refs.len(), WHOLE.get(Type::Task)));
    want.refs.push(old.clone());
    let assignee = old.clone().of(By::Key("assignee"));
    let list = Ref::TaskList {
        user: Box::new(assignee.clone()),
        near: Box::new(old.clone()),
    };
    want.edges(assignee, rel::WORKSPACES)
        .into(list, rel::SECTION_OF, 1)
        .edges(old.clone(), rel::PARENT)
        .node(old.clone().of(By::Edge(rel::PARENT)))
}

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
struct Copier<'s> {
    plot: &'s Duplication,
    job: Gid,
    view: &'s View,
    more: &'s View,
}

impl<'s> Copier<'s> {
    /// What an original became.
    fn copy_of(&self, view: &View, old: Gid) -> Option<Gid> {
        view.link(old, rel::COPIED, self.job).and_then(|e| e.aux)
    }

    /// Notes what an original becomes.
    fn note(&self, work: &mut Work<'_>, copied: &mut i64, old: Gid, new: Gid) {
        *copied += 1;
        work.link(old, rel::COPIED, self.job, Place::Rank(*copied), Some(new));
    }

    /// Copies a task into the copies of its sections, or below a copy of its parent.
    fn task(&self, work: &mut Work<'_>, copied: &mut i64, old: &Node, under: Option<Gid>) -> Gid {
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

    /// Copies the subtasks of a page of parents, as many as fit a step; none if there are no more
    /// parents.
    fn below(
        &self,
        work: &mut Work<'_>,
        next: &mut Duplication,
        before: &Option<Vec<i64>>,
        wide: usize,
    ) -> Option<Phase> {
        let (mut room, mut after) = (STEP, before.clone());
        for parent in &self.view.rows.gids {
            let Some(mark) = self.more.link(*parent, rel::COPIED, self.job) else {
                // Beyond what fits this step.
                return Some(Phase::Subtasks {
                    after,
                    wide: (wide / 2).max(8),
                    inside: None,
                });
            };
            let keyset = Some(vec![mark.rank, parent.as_i64()]);
            let below = self.view.sources(*parent, rel::PARENT);
            if below.len() > STEP {
                if room < STEP {
                    return Some(Phase::Subtasks {
                        after,
                        wide: 8,
                        inside: None,
                    });
                }
                return Some(Phase::Subtasks {
                    after: keyset,
                    wide: 8,
                    inside: Some((*parent, None)),
                });
            }
            if below.len() > room {
                return Some(Phase::Subtasks {
                    after,
                    wide: (wide / 2).max(8),
                    inside: None,
                });
            }
            room -= below.len();
            after = keyset;
            let Some(under) = mark.aux else { continue };
            for old in below.iter().filter_map(|e| self.view.node(e.src)) {
                self.task(work, &mut next.copied, old, Some(under));
                next.keep(self.view, old);
            }
        }
        // What was copied now has stood itself at the end of the list.
        let more = self.view.rows.next.is_some() || room < STEP;
        more.then_some(Phase::Subtasks {
            after,
            wide: if room > STEP / 2 {
                (wide * 2).min(8 * STEP)
            } else {
                wide
            },
            inside: None,
        })
    }

    /// Whether one more task may wait for this one.
    fn has_room(&self, on: Gid) -> bool {
        let ties = self.more.links(on, rel::DEPENDS).len();
        let ties = ties + self.more.sources(on, rel::DEPENDS).len();
        self.more.level(on) >= Level::Viewer && ties < TIES_MAX
    }

    /// Lets copies wait for the copies of what their originals wait for. What was not copied too is
    /// waited for itself, if only the task was to be copied and there is room.
    fn ties(&self, work: &mut Work<'_>) {
        for row in &self.view.rows.gids {
            let Some(new) = self.copy_of(self.more, *row) else {
                continue;
            };
            for edge in self.view.links(*row, rel::DEPENDS) {
                let outside = || {
                    (self.plot.kind == Kind::Task && self.has_room(edge.dst)).then_some(edge.dst)
                };
                let on = self.copy_of(self.more, edge.dst).or_else(outside);
                if let Some(on) = on {
                    work.link(new, rel::DEPENDS, on, Place::Rank(0), None);
                }
            }
        }
    }
}

/// What is read of each row, by the type of the rows.
struct Reads(OnceLock<[Arc<Plan>; 2]>, fn(Type) -> Plan);

static HEAD: Reads = Reads(OnceLock::new(), |_| of(Type::Section, "name"));
static BARE: Reads = Reads(OnceLock::new(), |ty| of(ty, "due_on"));
static WHOLE: Reads = Reads(OnceLock::new(), whole);
static WAITS: Reads = Reads(OnceLock::new(), |ty| of(ty, "dependencies"));
static BELOW: Reads = Reads(OnceLock::new(), |ty| {
    static SUBTASKS: Def = Field::edges(
        "subtasks",
        &[Type::Task, Type::Recipe],
        rel::PARENT,
        Dir::In,
    )
    .def;
    Plan {
        ty,
        steps: vec![plan::Step {
            def: &SUBTASKS,
            then: plan::Then::Plans(vec![whole(ty)]),
        }],
        band: None,
        is_head: false,
        reads_body: false,
    }
});

impl Reads {
    fn get(&self, ty: Type) -> Arc<Plan> {
        let plans = || [Type::Task, Type::Recipe].map(|ty| Arc::new((self.1)(ty)));
        let [task, recipe] = self.0.get_or_init(plans);
        Arc::clone(if ty == Type::Recipe { recipe } else { task })
    }
}

fn whole(ty: Type) -> Plan {
    of(
        ty,
        "notes,assignee,followers,tags,memberships.project,memberships.section,custom_fields.gid",
    )
}

fn of(ty: Type, names: &str) -> Plan {
    let names = Names::parse(names).unwrap_or_default();
    Arc::unwrap_or_clone(plan::asked(ty, &names).plan)
}
