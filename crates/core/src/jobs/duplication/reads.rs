//! Reads of a duplication: the rows of a step, and the nodes that the rows link to.
use super::attachments::{copy_of_task, shared_file};
use super::relations::Branch;
use super::{CopyKind, CopyPhase, Duplication, TIES_MAX};
use crate::jobs::STEP_OBJECTS;
use crate::model::gid::Gid;
use crate::model::node::Node;
use crate::model::registry::{Direction, FieldDef, Type, TypedField, rel};
use crate::model::resources::task;
use crate::plan::{FieldPaths, Plan};
use crate::rules::budget_rules;
use crate::storage::{
    EdgeEnd, LinkSelector, ListSource, NodeRef, PageQuery, ReadQuery, ReadView, RowFilter,
};
use crate::{plan, tasks_of_container};
use std::sync::{Arc, OnceLock};

impl Duplication {
    /// Adds the reads of a step.
    pub(in crate::jobs) fn needs(&self, job: Gid, mut want: ReadQuery) -> ReadQuery {
        let from = want.add_ref(self.source);
        want.add_ref(self.copy);
        let at_job = want.add_ref(job);
        let copies = ListSource::Edges {
            anchor: at_job,
            rel: rel::COPIED,
            dir: Direction::In,
            give: EdgeEnd::OtherEnd,
        };
        let (listing, after, limit, plan) = match &self.phase {
            CopyPhase::Survey { after, .. } => (
                tasks_of_container(from, false),
                after,
                5 * STEP_OBJECTS,
                &BARE,
            ),
            CopyPhase::Sections { after } => {
                let sections = ListSource::Edges {
                    anchor: from,
                    rel: rel::SECTION_OF,
                    dir: Direction::In,
                    give: EdgeEnd::OtherEnd,
                };
                (sections, after, STEP_OBJECTS, &HEAD)
            }
            CopyPhase::Tasks { after } => {
                (tasks_of_container(from, false), after, STEP_OBJECTS, &WHOLE)
            }
            CopyPhase::Subtasks {
                inside: Some((parent, after)),
                ..
            } => {
                let subtasks = inside(&mut want, *parent, Branch::Subtasks);
                want = want.edge(*parent, rel::COPIED, job);
                (subtasks, after, STEP_OBJECTS, &WHOLE)
            }
            CopyPhase::Attachments {
                inside: Some((parent, after)),
                ..
            } => {
                let attachments = inside(&mut want, *parent, Branch::Attachments);
                want = want.edge(*parent, rel::COPIED, job);
                (attachments, after, STEP_OBJECTS, &ATTACHMENT)
            }
            CopyPhase::Subtasks { after, wide, .. } => (copies, after, *wide, &BELOW),
            CopyPhase::Attachments { after, wide, .. } => (copies, after, *wide, &ATTACHED),
            CopyPhase::Dependencies { after } => (copies, after, STEP_OBJECTS, &WAITS),
            CopyPhase::Allocations { after } => {
                want = budget_rules::needs(&NodeRef::Gid(self.copy), want);
                let allocations = ListSource::Edges {
                    anchor: from,
                    rel: rel::ALLOCATION_OF,
                    dir: Direction::In,
                    give: EdgeEnd::OtherEnd,
                };
                (allocations, after, STEP_OBJECTS, &ALLOCATION)
            }
        };
        let tasks_alone = matches!(
            self.phase,
            CopyPhase::Subtasks { .. }
                | CopyPhase::Attachments { inside: None, .. }
                | CopyPhase::Dependencies { .. }
        );
        want.page = Some(PageQuery {
            filters: if tasks_alone {
                vec![RowFilter::Is(self.kind.from())]
            } else {
                Vec::new()
            },
            after: after.clone(),
            ..PageQuery::of(listing, true, limit)
        });
        want.page_plan = Some(plan.get(self.kind.from()));
        want
    }

    /// Adds the further reads of a step, which follow from the rows of the first read; `None` if there are none.
    pub(in crate::jobs) fn more(
        &self,
        job: Gid,
        view: &ReadView,
        mut want: ReadQuery,
    ) -> Option<ReadQuery> {
        let first = want.node_refs.len();
        let rows = view.rows.gids.iter().copied();
        match &self.phase {
            CopyPhase::Survey { .. }
            | CopyPhase::Sections { .. }
            | CopyPhase::Allocations { .. } => return None,
            CopyPhase::Tasks { .. } => {
                for row in rows {
                    for edge in view.links(row, rel::SECTION) {
                        if edge.aux == Some(self.source) {
                            want = want.edge(edge.dst, rel::COPIED, job);
                        }
                    }
                    want = self.people(view, row, want);
                }
            }
            CopyPhase::Subtasks {
                inside: Some(_), ..
            } => {
                for row in rows {
                    want = self.people(view, row, want);
                }
            }
            CopyPhase::Subtasks { .. } => {
                let mut room = STEP_OBJECTS;
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
            CopyPhase::Attachments {
                inside: Some((parent, _)),
                ..
            } => {
                want.add_ref(copy_of_task(*parent, job));
                let files = rows.filter_map(|row| shared_file(view.node(row)?));
                want = files.fold(want, ReadQuery::node);
            }
            CopyPhase::Attachments { .. } => {
                let mut room = STEP_OBJECTS;
                for parent in rows {
                    let attached = view.sources(parent, rel::ATTACHED_TO);
                    want = want.edge(parent, rel::COPIED, job);
                    if !attached.is_empty() {
                        want.add_ref(copy_of_task(parent, job));
                    }
                    let nodes = attached.iter().take(room);
                    let files = nodes.filter_map(|edge| shared_file(view.node(edge.src)?));
                    want = files.fold(want, ReadQuery::node);
                    room = room.saturating_sub(attached.len());
                    if room == 0 {
                        break;
                    }
                }
            }
            CopyPhase::Dependencies { .. } => {
                for row in rows {
                    for edge in view.links(row, rel::DEPENDS) {
                        want = want.edge(row, rel::COPIED, job);
                        want = want.edge(edge.dst, rel::COPIED, job);
                        if self.kind == CopyKind::Task {
                            want = want.edges(edge.dst, rel::DEPENDS).incoming_edges(
                                edge.dst,
                                rel::DEPENDS,
                                TIES_MAX,
                            );
                        }
                    }
                }
            }
        }
        (want.node_refs.len() > first).then_some(want)
    }

    /// Adds the assignee's memberships and the first section of their task list.
    fn people(&self, view: &ReadView, row: Gid, want: ReadQuery) -> ReadQuery {
        if !self.parts.has("assignee") {
            return want;
        }
        let Some(user) = view.node(row).and_then(|n| self.assignee(n)) else {
            return want;
        };
        want.edges(user, rel::WORKSPACES).incoming_edges(
            list_of(user, self.copy),
            rel::SECTION_OF,
            1,
        )
    }

    /// Returns the user to whom the copy is assigned.
    pub(super) fn assignee(&self, old: &Node) -> Option<Gid> {
        let user = old.get(task::ASSIGNEE)?;
        let role = self.roles.iter().find(|(from, _)| *from == user);
        Some(role.map_or(user, |(_, to)| *to))
    }
}

/// Returns the list source of the subtasks or attachments of a parent.
fn inside(want: &mut ReadQuery, parent: Gid, branch: Branch) -> ListSource {
    ListSource::Edges {
        anchor: want.add_ref(parent),
        rel: branch.relation(),
        dir: Direction::In,
        give: EdgeEnd::OtherEnd,
    }
}

/// Returns a reference to the task list of a user in the workspace of a node.
fn list_of(user: Gid, near: Gid) -> NodeRef {
    NodeRef::TaskList {
        user: Box::new(NodeRef::Gid(user)),
        within_workspace_of: Box::new(NodeRef::Gid(near)),
    }
}

/// Adds the reads for the root task, which is copied before the job starts.
#[must_use]
pub fn root(mut want: ReadQuery, old: &NodeRef) -> ReadQuery {
    want.plans
        .push((want.node_refs.len(), WHOLE.get(Type::Task)));
    want.node_refs.push(old.clone());
    let assignee = old.clone().of(LinkSelector::Key("assignee"));
    let list = NodeRef::TaskList {
        user: Box::new(assignee.clone()),
        within_workspace_of: Box::new(old.clone()),
    };
    want.edges(assignee, rel::WORKSPACES)
        .incoming_edges(list, rel::SECTION_OF, 1)
        .edges(old.clone(), rel::PARENT)
        .node(old.clone().of(LinkSelector::FirstEdge(rel::PARENT)))
}

/// Plan of the reads for each row, by the type of the rows; created on first use.
struct CopyPlans(OnceLock<[Arc<Plan>; 2]>, fn(Type) -> Plan);

static HEAD: CopyPlans = CopyPlans(OnceLock::new(), |_| of(Type::Section, "name"));
static ALLOCATION: CopyPlans = CopyPlans(OnceLock::new(), |_| {
    of(Type::Allocation, "effort,assignee.workspaces")
});
static BARE: CopyPlans = CopyPlans(OnceLock::new(), |ty| of(ty, "due_on"));
static WHOLE: CopyPlans = CopyPlans(OnceLock::new(), whole);
static WAITS: CopyPlans = CopyPlans(OnceLock::new(), |ty| of(ty, "dependencies"));
static BELOW: CopyPlans = CopyPlans(OnceLock::new(), |ty| {
    static SUBTASKS: FieldDef = TypedField::edges(
        "subtasks",
        &[Type::Task, Type::TemplateTask],
        rel::PARENT,
        Direction::In,
    )
    .def;
    branch(ty, &SUBTASKS, whole(ty))
});
static ATTACHMENT: CopyPlans = CopyPlans(OnceLock::new(), |_| attachment());
static ATTACHED: CopyPlans = CopyPlans(OnceLock::new(), |ty| {
    static ATTACHMENTS: FieldDef = TypedField::edges(
        "attachments",
        &[Type::Attachment],
        rel::ATTACHED_TO,
        Direction::In,
    )
    .def;
    branch(ty, &ATTACHMENTS, attachment())
});

/// Returns a plan that reads the subtasks or attachments of a task.
fn branch(ty: Type, field: &'static FieldDef, each: Plan) -> Plan {
    let links = plan::LinkPlan::Plans(vec![each]);
    Plan {
        ty,
        node_type: ty,
        steps: vec![plan::PlanStep::new(field, links)],
        band: None,
        is_head: false,
        reads_body: false,
        mentions: false,
        variants: Vec::new(),
    }
}

fn attachment() -> Plan {
    of(Type::Attachment, "created_at,size,parent,view_url")
}

impl CopyPlans {
    fn get(&self, ty: Type) -> Arc<Plan> {
        let plans = || [Type::Task, Type::TemplateTask].map(|ty| Arc::new((self.1)(ty)));
        let [task, recipe] = self.0.get_or_init(plans);
        Arc::clone(if ty == Type::TemplateTask {
            recipe
        } else {
            task
        })
    }
}

fn whole(ty: Type) -> Plan {
    of(
        ty,
        "notes,assignee,followers.workspaces,tags,memberships.project,memberships.section,\
         custom_fields.(gid|people_value.workspaces|reference_value)",
    )
}

fn of(ty: Type, names: &str) -> Plan {
    let names = FieldPaths::parse(names).unwrap_or_default();
    Arc::unwrap_or_clone(plan::resolve_fields(ty, &names).plan)
}
