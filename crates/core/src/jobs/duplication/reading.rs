//! What copying must read: the rows of a step, and what is told by them.
use super::{Duplication, Kind, Phase, TIES_MAX};
use crate::gid::Gid;
use crate::graph::{By, Filter, Give, Listing, Page, Ref, View, Want};
use crate::jobs::STEP;
use crate::node::Node;
use crate::plan::{self, Names, Plan};
use crate::registry::{Def, Dir, Field, Type, rel};
use crate::resources::task;
use crate::tasks_of_container;
use std::sync::{Arc, OnceLock};

impl Duplication {
    /// What a step must read.
    pub(in crate::jobs) fn needs(&self, job: Gid, mut want: Want) -> Want {
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
            filters: if tasks_alone {
                vec![Filter::Is(self.kind.from())]
            } else {
                Vec::new()
            },
            after: after.clone(),
            ..Page::of(listing, true, limit)
        });
        want.page_plan = Some(plan.get(self.kind.from()));
        want
    }

    /// What it must read besides.
    pub(in crate::jobs) fn more(&self, job: Gid, view: &View, mut want: Want) -> Option<Want> {
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
    pub(super) fn assignee(&self, old: &Node) -> Option<Gid> {
        let who = old.get(task::ASSIGNEE)?;
        let role = self.roles.iter().find(|(from, _)| *from == who);
        Some(role.map_or(who, |(_, to)| *to))
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
            named: false,
        }],
        band: None,
        is_head: false,
        reads_body: false,
        mentions: false,
        kin: Vec::new(),
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
