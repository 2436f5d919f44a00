//! Builder of small graphs: workspaces, users, teams, projects, tasks, as changes for any store.
use std::collections::HashMap;
use std::mem::take;
use workgraph_core::access::{Level, Role};
use workgraph_core::model::custom_field_values;
use workgraph_core::model::draft::{Draft, StoredAs};
use workgraph_core::model::email_address::EmailAddress;
use workgraph_core::model::gid::Gid;
use workgraph_core::model::node::Node;
use workgraph_core::model::registry::{CustomFieldType, Relation, Type, TypedField, rel};
use workgraph_core::model::resources::{custom_field, enum_option, project, tag, task, team};
use workgraph_core::model::time::Time;
use workgraph_core::rules::sharing::CUSTOM_FIELDS;
use workgraph_core::rules::{custom_field_rules, membership_rules};
use workgraph_core::storage::change_builder::ChangeBuilder;
use workgraph_core::storage::custom_field_index::ValueIndexEntry;
use workgraph_core::storage::{Changes, ListPosition, NodeWrite};

/// Builder that collects changes. [`Fixture::take`] returns them as one change set.
///
/// Gids count up from 1001, so the same steps give the same graph.
#[derive(Clone, Debug)]
pub struct Fixture {
    now: Time,
    last: u64,
    changes: Changes,
    workspaces: HashMap<Gid, Gid>,
    sections: HashMap<Gid, Vec<Gid>>,
    containers: HashMap<Gid, Gid>,
}

impl Default for Fixture {
    fn default() -> Self {
        Self::new(Time::from_millis(1_768_469_400_000))
    }
}

impl Fixture {
    /// Makes an empty fixture; everything is created at `now`.
    #[must_use]
    pub fn new(now: Time) -> Self {
        let changes = Changes {
            time: now,
            ..Changes::default()
        };
        Self {
            now,
            last: 1000,
            changes,
            workspaces: HashMap::new(),
            sections: HashMap::new(),
            containers: HashMap::new(),
        }
    }

    /// Returns the time at which everything is created.
    #[must_use]
    pub fn now(&self) -> Time {
        self.now
    }

    /// Returns the changes built since the last call, to be committed.
    pub fn take(&mut self) -> Changes {
        let next = Changes {
            time: self.now,
            ..Changes::default()
        };
        std::mem::replace(&mut self.changes, next)
    }

    /// Returns the next free gid.
    pub fn gid(&mut self) -> Gid {
        self.with(|work| work.next_gid())
    }

    /// Runs rules of the domain, and collects their changes.
    pub fn with<T>(&mut self, rules: impl FnOnce(&mut ChangeBuilder<'_>) -> T) -> T {
        let last = std::cell::Cell::new(self.last);
        let generate_gid = || {
            last.set(last.get() + 1);
            Gid::new(last.get()).unwrap_or(FIRST)
        };
        let mut work = ChangeBuilder::new(self.changes.actor, self.now, &generate_gid);
        work.changes = take(&mut self.changes);
        let links = work.changes.edge_writes.len();
        let puts = work.changes.node_writes.len();
        let done = rules(&mut work);
        for put in work.changes.node_writes.iter().skip(puts) {
            self.workspaces.extend(
                put.node
                    .workspace
                    .map(|workspace| (put.node.gid, workspace)),
            );
        }
        for link in work
            .changes
            .edge_writes
            .iter()
            .skip(links)
            .filter(|l| l.rel == rel::SECTION_OF)
        {
            self.sections.entry(link.dst).or_default().push(link.src);
            self.containers.insert(link.src, link.dst);
        }
        self.changes = work.changes;
        self.last = last.get();
        done
    }

    /// Returns the workspace of a node built here.
    #[must_use]
    pub fn workspace_of(&self, gid: Gid) -> Option<Gid> {
        self.workspaces.get(&gid).copied()
    }

    /// Returns the sections of a project or task list, in order of creation.
    #[must_use]
    pub fn sections(&self, container: Gid) -> &[Gid] {
        self.sections
            .get(&container)
            .map(Vec::as_slice)
            .unwrap_or_default()
    }

    /// Returns the first section of a project or task list.
    ///
    /// # Panics
    /// Panics if the project or task list was not built here.
    #[must_use]
    #[expect(clippy::expect_used, reason = "a mistake in a test")]
    pub fn section_in(&self, container: Gid) -> Gid {
        *self
            .sections(container)
            .first()
            .expect("the container was built by this fixture")
    }

    /// Builds a paid organization.
    pub fn workspace(&mut self, name: &str) -> Gid {
        self.with(|work| membership_rules::create_workspace(work, name, true, true))
    }

    /// Builds a user who belongs to no workspace.
    ///
    /// # Panics
    /// Panics if the address is not valid.
    #[expect(clippy::expect_used, reason = "a mistake in a test")]
    pub fn user(&mut self, name: &str, email: &str) -> Gid {
        let email = EmailAddress::parse(email).expect("an address of a test");
        self.with(|work| membership_rules::create_user(work, name, &email))
    }

    /// Builds a user with a membership in a workspace; the address is made from the name.
    pub fn member(&mut self, workspace: Gid, name: &str, role: Role) -> Gid {
        let email = format!("{}@example.com", name.to_lowercase().replace(' ', "."));
        let user = self.user(name, &email);
        self.add_workspace_member(user, workspace, role);
        user
    }

    /// Gives a user a membership in a workspace, with a task list; returns the membership.
    pub fn add_workspace_member(&mut self, user: Gid, workspace: Gid, role: Role) -> Gid {
        self.with(|work| membership_rules::join_workspace(work, user, workspace, "Workspace", role))
    }

    /// Returns the task list that came with a membership.
    ///
    /// # Panics
    /// Panics if there is no such membership among the pending changes.
    #[must_use]
    #[expect(clippy::expect_used, reason = "a mistake in a test")]
    pub fn task_list(&self, user: Gid, workspace: Gid) -> Gid {
        let name = workgraph_core::storage::alias::task_list(user, workspace);
        let added = self
            .changes
            .add_aliases
            .iter()
            .find(|(key, _)| *key == name);
        added.expect("the membership was built by this fixture").1
    }

    /// Builds a team with its admin.
    pub fn team(&mut self, workspace: Gid, name: &str, admin: Gid) -> Gid {
        self.with(|work| {
            let mut draft = work.draft(Type::Team, Some(workspace));
            draft.set(team::NAME, name);
            membership_rules::create_team(work, draft, Some(admin))
        })
    }

    /// Adds a user to a team.
    pub fn join_team(&mut self, user: Gid, team: Gid, workspace: Gid) -> Gid {
        self.with(|work| {
            let standing = membership_rules::TeamStanding::MEMBER;
            membership_rules::join_team(work, user, team, workspace, standing)
        })
    }

    /// Builds a project that everyone in the workspace can see, with one section.
    pub fn project(&mut self, workspace: Gid, name: &str, creator: Gid) -> Gid {
        self.project_with(workspace, name, creator, |_| ())
    }

    /// Builds a project that only its members can see.
    pub fn private_project(&mut self, workspace: Gid, name: &str, creator: Gid) -> Gid {
        self.project_with(workspace, name, creator, |draft| {
            draft.set(project::PRIVACY, "private")
        })
    }

    fn project_with(
        &mut self,
        workspace: Gid,
        name: &str,
        creator: Gid,
        set: impl FnOnce(&mut Draft),
    ) -> Gid {
        self.with(|work| {
            let mut draft = work.draft(Type::Project, Some(workspace));
            draft.set(project::NAME, name);
            set(&mut draft);
            membership_rules::create_project(work, draft, creator)
        })
    }

    /// Shares a project with a user or team; returns the membership.
    pub fn share(&mut self, project: Gid, workspace: Gid, with: Gid, level: Level) -> Gid {
        self.with(|work| membership_rules::join_project(work, with, project, workspace, level))
    }

    /// Gives a user or team its own level for a custom field; returns the membership.
    pub fn share_field(&mut self, field: Gid, workspace: Gid, with: Gid, level: Level) -> Gid {
        self.with(|work| CUSTOM_FIELDS.join(work, with, field, workspace, level))
    }

    /// Builds another section after the existing ones.
    pub fn section(&mut self, container: Gid, workspace: Gid, name: &str) -> Gid {
        self.with(|work| {
            membership_rules::add_section(work, container, workspace, name, ListPosition::Last)
        })
    }

    /// Builds a task that is not in a section.
    pub fn task(&mut self, workspace: Gid, name: &str, creator: Gid) -> Gid {
        self.node(Type::Task, Some(workspace), |draft, now| {
            draft.set(task::NAME, name);
            draft.set(task::CREATED_AT, now);
            draft.set(task::MODIFIED_AT, now);
            draft.set(task::CREATED_BY, creator);
        })
    }

    /// Builds a task at the end of a section.
    pub fn task_in(&mut self, section: Gid, name: &str, creator: Gid) -> Gid {
        let container = self.containers.get(&section).copied();
        let workspace = self.workspace_of(section);
        let gid = self.node(Type::Task, workspace, |draft, now| {
            draft.set(task::NAME, name);
            draft.set(task::CREATED_AT, now);
            draft.set(task::MODIFIED_AT, now);
            draft.set(task::CREATED_BY, creator);
        });
        self.link(gid, rel::SECTION, section, ListPosition::Last, container);
        gid
    }

    /// Builds a subtask after the existing ones.
    pub fn subtask(&mut self, parent: Gid, name: &str, creator: Gid) -> Gid {
        let workspace = self.workspace_of(parent);
        let gid = self.node(Type::Task, workspace, |draft, now| {
            draft.set(task::NAME, name);
            draft.set(task::CREATED_AT, now);
            draft.set(task::CREATED_BY, creator);
        });
        self.link(gid, rel::PARENT, parent, ListPosition::Last, None);
        gid
    }

    /// Builds a tag.
    pub fn tag(&mut self, workspace: Gid, name: &str) -> Gid {
        self.node(Type::Tag, Some(workspace), |draft, _| {
            draft.set(tag::NAME, name)
        })
    }

    /// Builds a custom field with options of these names in the workspace's library; returns the field and the options.
    pub fn custom_field(
        &mut self,
        workspace: Gid,
        name: &str,
        kind: CustomFieldType,
        options: &[&str],
    ) -> (Gid, Vec<Gid>) {
        self.with(|work| {
            let mut draft = work.draft(Type::CustomField, Some(workspace));
            draft.set(custom_field::NAME, name);
            draft.set(custom_field::SUBTYPE, kind.name());
            let field = custom_field_rules::create_custom_field(work, &draft, workspace);
            let add = |name: &&str| {
                custom_field_rules::add_option(
                    work,
                    field,
                    workspace,
                    ListPosition::Last,
                    |draft| {
                        draft.set(enum_option::NAME, *name);
                    },
                )
            };
            let options = options.iter().map(add).collect();
            (field, options)
        })
    }

    /// Sets a custom field value, in its stored form, of a task that was built since the last [`Fixture::take`].
    pub fn value(&mut self, task: Gid, field: Gid, kind: CustomFieldType, value: &str) {
        self.with(|work| {
            let mut puts = work.changes.node_writes.iter_mut();
            if let Some(put) = puts.find(|put| put.node.gid == task) {
                let object = put.node.raw("custom_fields");
                let (object, _) =
                    custom_field_rules::merge(object, vec![(field, Some(value.to_owned()))]);
                let mut draft = Draft::edit(&put.node);
                draft.set(task::CUSTOM_FIELDS, object);
                let version = put.node.version;
                put.node = draft.finish();
                put.node.version = version;
            }
            work.changes.index_updates.push(ValueIndexEntry {
                node: task,
                field,
                keys: custom_field_values::keys(kind, value),
            });
        });
    }

    /// Adds a custom field to the tasks of a project; returns the setting.
    pub fn field_on(&mut self, field: Gid, project: Gid, workspace: Gid) -> Gid {
        let container = (project, Type::Project);
        self.with(|work| {
            custom_field_rules::add_setting(
                work,
                field,
                container,
                workspace,
                false,
                ListPosition::Last,
            )
        })
    }

    /// Builds any node; `fill` gets the draft and the time.
    pub fn node(
        &mut self,
        ty: Type,
        workspace: Option<Gid>,
        fill: impl FnOnce(&mut Draft, Time),
    ) -> Gid {
        let now = self.now;
        self.with(|work| {
            let mut draft = work.draft(ty, workspace);
            fill(&mut draft, now);
            if ty.has_events() {
                return work.create(&draft, workspace);
            }
            work.changes.node_writes.push(NodeWrite {
                node: draft.finish(),
            });
            draft.gid
        })
    }

    /// Writes the next version of a node with one field changed, on condition that the previous version is still current.
    pub fn edit<K: StoredAs<T> + ?Sized, T>(
        &mut self,
        node: &Node,
        field: TypedField<K>,
        value: T,
    ) {
        self.with(|work| {
            let mut draft = Draft::edit(node);
            draft.set(field, value);
            work.save(&draft);
        });
    }

    /// Adds an edge of any relation.
    pub fn link(
        &mut self,
        src: Gid,
        rel: Relation,
        dst: Gid,
        position: ListPosition,
        aux: Option<Gid>,
    ) {
        self.with(|work| work.link(src, rel, dst, position, aux));
    }
}

/// Fallback for numbers out of range; a fixture never runs out of gids.
const FIRST: Gid = match Gid::new(1) {
    Some(gid) => gid,
    None => unreachable!(),
};
