//! People of an exported world: their workspaces and roles, and the objects that each creates in the fixture.
use crate::admin::fixture_export::fixture_labels::FixtureLabels;
use crate::admin::fixture_export::world_reader::WorldReader;
use anyhow::{Context, Result};
use serde_json::{Map, Value, json};
use workgraph_core::{Gid, Node, Type};

/// Role of a person in a workspace, most rights first: people with more rights come first as substitutes for missing
/// creators.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ExportedRole {
    Admin,
    Member,
    Guest,
}

impl ExportedRole {
    /// Returns the role's word in a fixture; `None` for the default role.
    const fn word(self) -> Option<&'static str> {
        match self {
            Self::Admin => Some("admin"),
            Self::Member => None,
            Self::Guest => Some("guest"),
        }
    }
}

/// Person of an exported world.
struct ExportedPerson {
    gid: Gid,
    name: String,
    email: String,
    /// Workspaces with the role of the person in each, in the order of the fixture.
    roles: Vec<(Gid, ExportedRole)>,
}

/// People of an exported world. The first one creates all objects without a named creator.
pub(crate) struct ExportedPeople {
    people: Vec<ExportedPerson>,
    /// Numbers of view-only memberships, and of users without an address.
    pub(crate) left_out: [(&'static str, usize); 2],
}

impl ExportedPeople {
    /// Reads the members of some workspaces.
    ///
    /// # Errors
    /// Fails if the first workspace has no admin, who would create the other objects.
    pub(crate) async fn read(readers: &[WorldReader<'_>]) -> Result<Self> {
        let mut people: Vec<ExportedPerson> = Vec::new();
        let (mut viewers, mut unnamed) = (0, 0);
        let fields = "is_active,is_admin,is_guest,is_view_only,user.(name|email)";
        for reader in readers {
            for record in reader.records(Type::WorkspaceMembership, fields).await? {
                let Some(gid) = record
                    .gid_at("/user/gid")
                    .filter(|_| record.flag("/is_active"))
                else {
                    continue;
                };
                let Some(email) = record
                    .text("/user/email")
                    .filter(|email| email.contains('@'))
                else {
                    unnamed += 1;
                    continue;
                };
                viewers += usize::from(record.flag("/is_view_only"));
                let role = match (record.flag("/is_admin"), record.flag("/is_guest")) {
                    (true, _) => ExportedRole::Admin,
                    (false, true) => ExportedRole::Guest,
                    (false, false) => ExportedRole::Member,
                };
                let membership = (reader.workspace, role);
                match people.iter_mut().find(|person| person.gid == gid) {
                    Some(person) => person.roles.push(membership),
                    None => people.push(ExportedPerson {
                        gid,
                        name: record.text("/user/name").unwrap_or_default().to_owned(),
                        email: email.to_owned(),
                        roles: vec![membership],
                    }),
                }
            }
        }
        people.sort_by_key(|person| person.gid);
        let first = readers.first().context("the world has no workspace")?;
        let admin = (first.workspace, ExportedRole::Admin);
        let first = people
            .iter()
            .position(|person| person.roles.contains(&admin));
        let first = first.context("the first workspace has no admin, who would create the rest")?;
        let first = people.remove(first);
        people.insert(0, first);
        let left_out = [
            ("membership that only allows to view", viewers),
            ("user without an address", unnamed),
        ];
        Ok(Self { people, left_out })
    }

    /// Labels the people with their names, or with their addresses if something else has the name.
    pub(crate) fn add_labels(&self, labels: &mut FixtureLabels) {
        for person in &self.people {
            labels.reserve(&person.email);
        }
        for person in &self.people {
            let mut others = self.people.iter().filter(|other| other.gid != person.gid);
            let is_own = !others.any(|other| other.name == person.name)
                && !person.name.starts_with('@')
                && !person.name.contains('"');
            let is_free = labels.reserve(&person.name);
            let label = if is_own && is_free {
                &person.name
            } else {
                &person.email
            };
            labels.set(person.gid, label);
        }
    }

    /// Returns the people in the form of a fixture.
    pub(crate) fn fixture(&self, workspaces: &[Node], labels: &FixtureLabels) -> Vec<Value> {
        let first_workspace = workspaces.first().map(|node| node.gid);
        let people = self.people.iter().enumerate();
        let shown = people.map(|(number, person)| {
            let mut out = Map::new();
            out.insert("name".to_owned(), person.name.clone().into());
            out.insert("email".to_owned(), person.email.clone().into());
            let mut roles = person.roles.iter();
            if let Some((workspace, role)) = roles.next() {
                let workspace = Some(*workspace).filter(|gid| Some(*gid) != first_workspace);
                if let Some(label) = workspace.and_then(|gid| labels.label(gid)) {
                    out.insert("workspace".to_owned(), label.into());
                }
                if let Some(word) = role.word().filter(|_| number > 0) {
                    out.insert("role".to_owned(), word.into());
                }
            }
            let further: Vec<Value> = roles
                .map(|(workspace, role)| match role.word() {
                    Some(word) => json!({"workspace": labels.label(*workspace), "role": word}),
                    None => json!({ "workspace": labels.label(*workspace) }),
                })
                .collect();
            if !further.is_empty() {
                out.insert("further_workspaces".to_owned(), further.into());
            }
            Value::Object(out)
        });
        shown.collect()
    }

    /// Returns true if a person belongs to a workspace.
    pub(crate) fn is_member(&self, workspace: Gid, person: Gid) -> bool {
        self.role(workspace, person).is_some()
    }

    fn role(&self, workspace: Gid, person: Gid) -> Option<ExportedRole> {
        let person = self.people.iter().find(|one| one.gid == person)?;
        let found = person.roles.iter().find(|(gid, _)| *gid == workspace);
        found.map(|(_, role)| *role)
    }

    /// Returns the person who creates an object of a workspace in the fixture: its original creator if they still belong to
    /// the workspace, otherwise the member with the most rights. `None` if the workspace is empty.
    pub(crate) fn actor(&self, workspace: Gid, creator: Option<Gid>) -> Option<Gid> {
        let creator = creator.filter(|gid| self.is_member(workspace, *gid));
        creator.or_else(|| self.first_of(workspace))
    }

    /// Returns the same as [`actor`](Self::actor) for an object that guests can't create: a creator who is a guest is
    /// replaced.
    pub(crate) fn full_actor(&self, workspace: Gid, creator: Option<Gid>) -> Option<Gid> {
        let is_full = |gid: &Gid| {
            let role = self.role(workspace, *gid);
            role.is_some_and(|role| role < ExportedRole::Guest)
        };
        let creator = creator.filter(is_full);
        creator.or_else(|| self.first_of(workspace))
    }

    fn first_of(&self, workspace: Gid) -> Option<Gid> {
        let members = self.people.iter().filter_map(|person| {
            let role = self.role(workspace, person.gid)?;
            Some((role, person.gid))
        });
        // Among people with the same role, the first one is chosen.
        let first = members.min_by_key(|(role, _)| *role);
        first.map(|(_, gid)| gid)
    }

    /// Returns the person who creates all objects without a named creator.
    pub(crate) fn first(&self) -> Option<Gid> {
        self.people.first().map(|person| person.gid)
    }

    /// Returns the people of a list, in the order of the fixture.
    pub(crate) fn sorted(&self, gids: &[Gid]) -> Vec<Gid> {
        let all = self.people.iter().map(|person| person.gid);
        all.filter(|gid| gids.contains(gid)).collect()
    }
}
