//! Builds small graphs: workspaces, people, teams, projects, tasks, as changes for any store.
use std::collections::HashMap;
use std::mem::take;
use workgraph_core::access::{Level, Role};
use workgraph_core::address::EmailAddress;
use workgraph_core::draft::{Draft, Writable};
use workgraph_core::gid::Gid;
use workgraph_core::graph::{Changes, Place};
use workgraph_core::index::Entry;
use workgraph_core::node::Node;
use workgraph_core::registry::{Field, Kind, Rel, Type, rel};
use workgraph_core::resources::{custom_field, enum_option, project, tag, task, team};
use workgraph_core::rules::sharing::CUSTOM_FIELDS;
use workgraph_core::rules::{fields, membership};
use workgraph_core::time::Time;
use workgraph_core::values;
use workgraph_core::work::Work;

/// Collects what is built. [`Fixture::take`] gives it as one change set.
///
/// Gids count up from 1001, so the same steps give the same graph.
#[derive(Debug)]
pub struct Fixture {
    now: Time,
    last: u64,
    changes: Changes,
    homes: HashMap<Gid, Gid>,
    sections: HashMap<Gid, Vec<Gid>>,
    containers: HashMap<Gid, Gid>,
}

impl Default for Fixture {
    fn default() -> Self {
        Self::new(Time::from_millis(1_768_469_400_000))
    }
}

impl Fixture {
    /// Nothing yet; everything is created at `now`.
    #[must_use]
    pub fn new(now: Time) -> Self {
        let changes = Changes {
            at: now,
            ..Changes::default()
        };
        Self {
            now,
            last: 1000,
            changes,
            homes: HashMap::new(),
            sections: HashMap::new(),
            containers: HashMap::new(),
        }
    }

    /// When everything is created.
    #[must_use]
    pub fn now(&self) -> Time {
        self.now
    }

    /// What was built since the last time, to be committed.
    pub fn take(&mut self) -> Changes {
        let next = Changes {
            at: self.now,
            ..Changes::default()
        };
        std::mem::replace(&mut self.changes, next)
    }

    /// The next gid.
    pub fn gid(&mut self) -> Gid {
        self.with(|work| work.fresh())
    }

    /// Runs rules of the domain; what they change is collected.
    pub fn with<T>(&mut self, rules: impl FnOnce(&mut Work<'_>) -> T) -> T {
        let last = std::cell::Cell::new(self.last);
        let mint = || {
            last.set(last.get() + 1);
            Gid::new(last.get()).unwrap_or(FIRST)
        };
        let mut work = Work::new(self.changes.actor, self.now, &mint);
        work.changes = take(&mut self.changes);
        let links = work.changes.links.len();
        let puts = work.changes.puts.len();
        let done = rules(&mut work);
        for put in work.changes.puts.iter().skip(puts) {
            self.homes
                .extend(put.node.home.map(|home| (put.node.gid, home)));
        }
        for link in work
            .changes
            .links
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

    /// The workspace of something built.
    #[must_use]
    pub fn home(&self, gid: Gid) -> Option<Gid> {
        self.homes.get(&gid).copied()
    }

    /// The sections of a project or task list, in the order in which they were made.
    #[must_use]
    pub fn sections(&self, container: Gid) -> &[Gid] {
        self.sections
            .get(&container)
            .map(Vec::as_slice)
            .unwrap_or_default()
    }

    /// The first section of a project or task list.
    ///
    /// # Panics
    /// When it was not built here.
    #[must_use]
    #[expect(clippy::expect_used, reason = "a mistake in a test")]
    pub fn section_in(&self, container: Gid) -> Gid {
        *self
            .sections(container)
            .first()
            .expect("the container was built by this fixture")
    }

    /// A paid organization.
    pub fn workspace(&mut self, name: &str) -> Gid {
        self.with(|work| membership::found_workspace(work, name, true, true))
    }

    /// A user who belongs to nothing.
    ///
    /// # Panics
    /// When the address is none.
    #[expect(clippy::expect_used, reason = "a mistake in a test")]
    pub fn user(&mut self, name: &str, email: &str) -> Gid {
        let email = EmailAddress::parse(email).expect("an address of a test");
        self.with(|work| membership::create_user(work, name, &email))
    }

    /// A user with a seat in a workspace; the address is made from the name.
    pub fn member(&mut self, workspace: Gid, name: &str, role: Role) -> Gid {
        let email = format!("{}@example.com", name.to_lowercase().replace(' ', "."));
        let user = self.user(name, &email);
        self.seat(user, workspace, role);
        user
    }

    /// Gives a user a seat, with a task list; returns the membership.
    pub fn seat(&mut self, user: Gid, workspace: Gid, role: Role) -> Gid {
        self.with(|work| membership::join_workspace(work, user, workspace, "Workspace", role))
    }

    /// The task list that came with a seat.
    ///
    /// # Panics
    /// When there is no such seat among what was not taken yet.
    #[must_use]
    #[expect(clippy::expect_used, reason = "a mistake in a test")]
    pub fn task_list(&self, user: Gid, workspace: Gid) -> Gid {
        let name = workgraph_core::graph::alias::task_list(user, workspace);
        let held = self.changes.aliases.iter().find(|(key, _)| *key == name);
        held.expect("the seat was built by this fixture").1
    }

    /// A team with its admin.
    pub fn team(&mut self, workspace: Gid, name: &str, admin: Gid) -> Gid {
        self.with(|work| {
            let mut draft = work.draft(Type::Team, Some(workspace));
            draft.set(team::NAME, name);
            membership::found_team(work, draft, Some(admin))
        })
    }

    /// Puts a user into a team.
    pub fn join_team(&mut self, user: Gid, team: Gid, workspace: Gid) -> Gid {
        self.with(|work| membership::join_team(work, user, team, workspace, false))
    }

    /// A project that everyone in the workspace can see, with one section.
    pub fn project(&mut self, workspace: Gid, name: &str, creator: Gid) -> Gid {
        self.project_with(workspace, name, creator, |_| ())
    }

    /// A project that only its members can see.
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
            membership::found_project(work, draft, creator)
        })
    }

    /// Shares a project with a user or team; returns the membership.
    pub fn share(&mut self, project: Gid, workspace: Gid, with: Gid, level: Level) -> Gid {
        self.with(|work| membership::join_project(work, with, project, workspace, level))
    }

    /// Gives a user or team a level of its own to a custom field; returns the membership.
    pub fn share_field(&mut self, field: Gid, workspace: Gid, with: Gid, level: Level) -> Gid {
        self.with(|work| CUSTOM_FIELDS.join(work, with, field, workspace, level))
    }

    /// One more section, after the others.
    pub fn section(&mut self, container: Gid, workspace: Gid, name: &str) -> Gid {
        self.with(|work| membership::add_section(work, container, workspace, name, Place::Last))
    }

    /// A task without a place.
    pub fn task(&mut self, workspace: Gid, name: &str, creator: Gid) -> Gid {
        self.node(Type::Task, Some(workspace), |draft, now| {
            draft.set(task::NAME, name);
            draft.set(task::CREATED_AT, now);
            draft.set(task::MODIFIED_AT, now);
            draft.set(task::CREATED_BY, creator);
        })
    }

    /// A task at the end of a section.
    pub fn task_in(&mut self, section: Gid, name: &str, creator: Gid) -> Gid {
        let container = self.containers.get(&section).copied();
        let home = self.home(section);
        let gid = self.node(Type::Task, home, |draft, now| {
            draft.set(task::NAME, name);
            draft.set(task::CREATED_AT, now);
            draft.set(task::MODIFIED_AT, now);
            draft.set(task::CREATED_BY, creator);
        });
        self.link(gid, rel::SECTION, section, Place::Last, container);
        gid
    }

    /// A subtask, after the others.
    pub fn subtask(&mut self, parent: Gid, name: &str, creator: Gid) -> Gid {
        let home = self.home(parent);
        let gid = self.node(Type::Task, home, |draft, now| {
            draft.set(task::NAME, name);
            draft.set(task::CREATED_AT, now);
            draft.set(task::CREATED_BY, creator);
        });
        self.link(gid, rel::PARENT, parent, Place::Last, None);
        gid
    }

    /// A tag.
    pub fn tag(&mut self, workspace: Gid, name: &str) -> Gid {
        self.node(Type::Tag, Some(workspace), |draft, _| {
            draft.set(tag::NAME, name)
        })
    }

    /// A custom field of the workspace's library with options of these names; returns it and them.
    pub fn custom_field(
        &mut self,
        workspace: Gid,
        name: &str,
        kind: Kind,
        options: &[&str],
    ) -> (Gid, Vec<Gid>) {
        self.with(|work| {
            let mut draft = work.draft(Type::CustomField, Some(workspace));
            draft.set(custom_field::NAME, name);
            draft.set(custom_field::SUBTYPE, kind.word());
            let field = fields::found_field(work, &draft, workspace);
            let add = |name: &&str| {
                fields::add_option(work, field, workspace, Place::Last, |draft| {
                    draft.set(enum_option::NAME, *name);
                })
            };
            let options = options.iter().map(add).collect();
            (field, options)
        })
    }

    /// Gives a task that was built last a value, in its stored form.
    pub fn value(&mut self, task: Gid, field: Gid, kind: Kind, value: &str) {
        self.with(|work| {
            let mut puts = work.changes.puts.iter_mut();
            if let Some(put) = puts.find(|put| put.node.gid == task) {
                let object = put.node.raw("custom_fields");
                let (object, _) = fields::merge(object, vec![(field, Some(value.to_owned()))]);
                let mut draft = Draft::edit(&put.node);
                draft.set(task::CUSTOM_FIELDS, object);
                let version = put.node.version;
                put.node = draft.finish();
                put.node.version = version;
            }
            work.changes.values.push(Entry {
                node: task,
                field,
                keys: values::keys(kind, value),
            });
        });
    }

    /// Gives the tasks of a project a custom field; returns the setting.
    pub fn field_on(&mut self, field: Gid, project: Gid, workspace: Gid) -> Gid {
        let container = (project, Type::Project);
        self.with(|work| fields::add_setting(work, field, container, workspace, false, Place::Last))
    }

    /// Any node; `fill` gets the draft and the time.
    pub fn node(
        &mut self,
        ty: Type,
        home: Option<Gid>,
        fill: impl FnOnce(&mut Draft, Time),
    ) -> Gid {
        let now = self.now;
        self.with(|work| {
            let mut draft = work.draft(ty, home);
            fill(&mut draft, now);
            work.create(&draft, home)
        })
    }

    /// The next version of a node, with one field changed and the version before as a condition.
    pub fn edit<K: Writable<T> + ?Sized, T>(&mut self, node: &Node, field: Field<K>, value: T) {
        self.with(|work| {
            let mut draft = Draft::edit(node);
            draft.set(field, value);
            work.save(&draft);
        });
    }

    /// Any edge.
    pub fn link(&mut self, src: Gid, rel: Rel, dst: Gid, place: Place, aux: Option<Gid>) {
        self.with(|work| work.link(src, rel, dst, place, aux));
    }
}

/// Gids never run out here; this is what a number out of range becomes.
const FIRST: Gid = match Gid::new(1) {
    Some(gid) => gid,
    None => unreachable!(),
};
