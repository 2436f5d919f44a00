//! Nodes of a random history, and its change sets.
use super::ModelStep;
use crate::fixture::Fixture;
use workgraph_core::access::{Level, Role};
use workgraph_core::model::draft::Draft;
use workgraph_core::model::gid::Gid;
use workgraph_core::model::node::Node;
use workgraph_core::model::registry::{Relation, Type, rel};
use workgraph_core::model::resources::{membership, project, tag, task, team};
use workgraph_core::model::time::Time;
use workgraph_core::storage::{
    ChangeAction, ChangeRecord, Changes, EdgeWrite, Guard, ListPosition, NodeWrite,
};

/// All possible nodes. The last ones may be created by the history.
pub(super) struct ModelWorld {
    start: Changes,
    pub(super) nodes: Vec<Node>,
    pub(super) users: Vec<Gid>,
    pub(super) workspace: Gid,
    clock: i64,
}

/// Returns an alias for nodes.
pub(super) fn name(key: u8) -> String {
    format!("name:{}", key % 6)
}

impl ModelWorld {
    pub(super) fn new() -> Self {
        let mut fixture = Fixture::default();
        let workspace = fixture.workspace("Acme");
        let ann = fixture.member(workspace, "Ann", Role::Admin);
        let bob = fixture.member(workspace, "Bob", Role::Member);
        let gus = fixture.member(workspace, "Gus", Role::Guest);
        let team = fixture.team(workspace, "Team", bob);
        let public = fixture.project(workspace, "Public", ann);
        let private = fixture.private_project(workspace, "Private", ann);
        fixture.share(private, workspace, team, Level::Viewer);
        for project in [public, private] {
            let section = fixture.section_in(project);
            for n in 0..4 {
                fixture.task_in(section, &format!("task {n}"), ann);
            }
        }
        let start = fixture.take();
        for n in 0..4 {
            fixture.task(workspace, &format!("new {n}"), gus);
            fixture.tag(workspace, &format!("tag {n}"));
        }
        let new = fixture.take().node_writes;
        let mut nodes: Vec<Node> = start
            .node_writes
            .iter()
            .chain(&new)
            .map(|put| put.node.clone())
            .collect();
        // Tasks first, so that small numbers mean tasks.
        nodes.sort_by_key(|n| (n.ty != Type::Task, n.gid));
        Self {
            start,
            nodes,
            users: vec![ann, bob, gus],
            workspace,
            clock: 0,
        }
    }

    /// Returns the changes that create the initial nodes.
    pub(super) fn start(&self) -> Changes {
        self.start.clone()
    }

    pub(super) fn pick(&self, number: u8) -> &Node {
        self.nodes
            .get(usize::from(number) % self.nodes.len())
            .unwrap_or_else(|| unreachable!())
    }

    fn gid(&self, number: u8) -> Gid {
        self.pick(number).gid
    }

    /// Returns the auxiliary node of an edge of a relation, if the rules need it.
    fn aux(&self, of: Relation, number: u8) -> Option<Gid> {
        let ty = match of {
            rel::SECTION => Type::Project,
            rel::MY_TASKS => Type::UserTaskList,
            rel::WORKSPACES => Type::WorkspaceMembership,
            rel::LIKES => Type::Tag,
            _ => return None,
        };
        let all: Vec<Gid> = self
            .nodes
            .iter()
            .filter(|n| n.ty == ty)
            .map(|n| n.gid)
            .collect();
        all.get(usize::from(number) % all.len().max(1)).copied()
    }

    /// Returns the change set of some steps.
    pub(super) fn changes(&mut self, steps: &[ModelStep]) -> Changes {
        self.clock += 1;
        let mut changes = Changes {
            time: Time::from_millis(self.clock),
            ..Changes::default()
        };
        for step in steps {
            self.step(step, &mut changes);
        }
        changes
    }

    fn step(&self, step: &ModelStep, changes: &mut Changes) {
        match *step {
            ModelStep::Write {
                node,
                version,
                values,
            } => {
                let node = written(self.pick(node), version, values);
                let action = ChangeAction::Changed {
                    field: "name",
                    added: None,
                    removed: Some(node.gid),
                };
                changes.change_records.push(ChangeRecord {
                    gid: node.gid,
                    ty: node.ty,
                    action,
                });
                changes.node_writes.push(NodeWrite { node });
            }
            ModelStep::Trash(node) => changes.trashed.push(self.gid(node)),
            ModelStep::Link {
                src,
                rel,
                dst,
                position,
                beside,
            } => {
                // Only tasks are subtasks: trashing follows that edge.
                let rel = match relation(rel) {
                    rel::PARENT if self.pick(src).ty != Type::Task => rel::FOLLOWERS,
                    rel => rel,
                };
                let position = match position % 6 {
                    0 => ListPosition::First,
                    1 => ListPosition::Before(self.gid(beside)),
                    2 => ListPosition::After(self.gid(beside)),
                    // Close to each other, so that gaps in lists are used up.
                    3 => ListPosition::Rank(i64::from(beside % 5)),
                    _ => ListPosition::Last,
                };
                let aux = self.aux(rel, beside);
                changes.edge_writes.push(EdgeWrite {
                    src: self.gid(src),
                    rel,
                    dst: self.gid(dst),
                    position,
                    aux,
                });
            }
            ModelStep::Unlink { src, rel, dst } => {
                changes
                    .edge_removals
                    .push((self.gid(src), relation(rel), self.gid(dst)))
            }
            ModelStep::Name { key, node } => changes.add_aliases.push((name(key), self.gid(node))),
            ModelStep::Guard { kind, node, with } => changes.guards.push(match kind % 4 {
                0 => Guard::Version(self.gid(node), u64::from(with % 4)),
                1 => Guard::Live(self.gid(node)),
                2 => Guard::Below(self.gid(node), relation(with), 1),
                _ => Guard::AtMost(self.gid(node), relation(with), 1),
            }),
        }
    }
}

pub(super) fn relation(number: u8) -> Relation {
    Relation(number % 16 + 1)
}

/// Returns a version of a node with some of its values changed.
fn written(node: &Node, version: u8, values: u8) -> Node {
    let mut draft = Draft::edit(node);
    let (flag, title) = (values.is_multiple_of(2), format!("title {}", values % 7));
    match node.ty {
        Type::Task => {
            draft.set(task::NAME, title.as_str());
            draft.set(task::COMPLETED, flag);
            draft.set(task::MODIFIED_AT, Time::from_millis(i64::from(values)));
        }
        Type::Tag => draft.set(tag::NAME, title.as_str()),
        Type::Project => draft.set(
            project::PRIVACY,
            if flag {
                "private"
            } else {
                "public_to_workspace"
            },
        ),
        Type::Team => draft.set(team::NAME, title.as_str()),
        Type::WorkspaceMembership => draft.set(membership::IS_GUEST, flag),
        _ => {}
    }
    Node {
        version: u64::from(version),
        ..draft.finish()
    }
}
