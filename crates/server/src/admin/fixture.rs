//! Fixture: a document with the people, apps and objects that a world begins with.
use anyhow::{Context, Result};
use schemars::{JsonSchema, schema_for};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Content that a world begins with.
///
/// A text `@NAME` stands for the gid of the object with this name in the fixture: a workspace, person (by name or address),
/// team, project, section (`PROJECT/SECTION`), task, or any object that a request names with `called`. `{"in_days": 3}`
/// stands for a day, or for a time in a field that ends in `_at` or `_time`, counted from the time at which the world
/// begins; `{"in_seconds": 90}` for any other time. `@@` at the start of a text stands for `@`. In rich texts,
/// `data-asana-gid="@NAME"` is a link to the object with this name.
#[derive(Deserialize, JsonSchema, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct Fixture {
    /// Workspaces; one paid organization if none is named.
    #[serde(default)]
    pub(crate) workspaces: Vec<FixtureWorkspace>,
    /// People. The first one is an admin of the first workspace, and creates everything that names nobody else.
    #[schemars(length(min = 1))]
    pub(crate) people: Vec<FixturePerson>,
    /// Apps with credentials of the test's choice.
    #[serde(default)]
    pub(crate) apps: Vec<FixtureApp>,
    /// Teams.
    #[serde(default)]
    pub(crate) teams: Vec<FixtureTeam>,
    /// Projects with their sections and tasks.
    #[serde(default)]
    pub(crate) projects: Vec<FixtureProject>,
    /// Requests to the API, sent in this order once everything else is created.
    #[serde(default)]
    pub(crate) requests: Vec<FixtureRequest>,
}

/// Workspace of a fixture.
#[derive(Deserialize, JsonSchema, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct FixtureWorkspace {
    pub(crate) name: String,
    /// Name in the fixture, if it is different.
    pub(crate) called: Option<String>,
    /// Plan.
    #[serde(default)]
    pub(crate) plan: Plan,
    /// True if it is an organization, with teams.
    #[serde(default = "yes")]
    pub(crate) organization: bool,
}

/// Plan of a workspace.
#[derive(Deserialize, JsonSchema, Debug, Default, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Plan {
    Free,
    #[default]
    Paid,
}

/// Person of a fixture.
#[derive(Deserialize, JsonSchema, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct FixturePerson {
    pub(crate) name: String,
    pub(crate) email: String,
    /// Password for the sign-in page; a random one if it is left out.
    pub(crate) password: Option<String>,
    /// Role in the workspace.
    #[serde(default)]
    pub(crate) role: PersonRole,
    /// Name of the workspace; the first one if it is left out.
    pub(crate) workspace: Option<String>,
    /// Further workspaces.
    #[serde(default)]
    pub(crate) further_workspaces: Vec<FixtureMembership>,
}

/// Membership of a person in a further workspace.
#[derive(Deserialize, JsonSchema, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct FixtureMembership {
    /// Name of the workspace.
    pub(crate) workspace: String,
    /// Role in it.
    #[serde(default)]
    pub(crate) role: PersonRole,
}

/// Role of a person in a workspace.
#[derive(Deserialize, JsonSchema, Debug, Default, Clone, Copy)]
#[serde(rename_all = "lowercase")]
pub(crate) enum PersonRole {
    Admin,
    #[default]
    Member,
    Guest,
}

/// App of a fixture.
#[derive(Deserialize, JsonSchema, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct FixtureApp {
    pub(crate) name: String,
    /// Client id: a number; a new one if it is left out.
    pub(crate) client_id: Option<String>,
    /// Client secret; a random one if it is left out.
    pub(crate) client_secret: Option<String>,
    /// Redirect URLs.
    #[schemars(length(min = 1))]
    pub(crate) redirect_uris: Vec<String>,
    /// Scopes that it may ask for; full permissions if they are left out.
    pub(crate) scopes: Option<Vec<String>>,
}

/// Team of a fixture.
#[derive(Deserialize, JsonSchema, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct FixtureTeam {
    pub(crate) name: String,
    /// Name in the fixture, if it is different.
    pub(crate) called: Option<String>,
    /// Name of the workspace; the first one if it is left out.
    pub(crate) workspace: Option<String>,
    /// Names of its members.
    #[serde(default)]
    pub(crate) members: Vec<String>,
    /// Names of its admins, who are members, too; the first person if they are left out.
    pub(crate) admins: Option<Vec<String>>,
}

/// Project of a fixture. All other fields are those of the API.
#[derive(Deserialize, JsonSchema, Debug)]
pub(crate) struct FixtureProject {
    pub(crate) name: String,
    /// Name in the fixture, if it is different.
    pub(crate) called: Option<String>,
    /// Name of the person who creates it, with its tasks; the first one if it is left out.
    #[serde(rename = "as")]
    pub(crate) sender: Option<String>,
    /// Name of its team; the first team, or that of the `workspace`, if it is left out.
    pub(crate) team: Option<String>,
    /// People and teams that it is shared with, besides the person who creates it.
    #[serde(default)]
    pub(crate) members: Vec<FixtureMember>,
    /// Its sections. They come after the section that each project begins with, `Untitled section`.
    #[serde(default)]
    pub(crate) sections: Vec<FixtureSection>,
    /// Tasks in it.
    #[serde(default)]
    pub(crate) tasks: Vec<FixtureTask>,
    #[serde(flatten)]
    pub(crate) fields: Map<String, Value>,
}

/// Person or team that a project is shared with.
#[derive(Deserialize, JsonSchema, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct FixtureMember {
    /// Name of the person or team.
    pub(crate) member: String,
    /// Access level; that of new members if it is left out.
    pub(crate) access_level: Option<String>,
}

/// Section of a project: its name, and perhaps another name for the fixture.
#[derive(Deserialize, JsonSchema, Debug)]
#[serde(untagged)]
pub(crate) enum FixtureSection {
    Name(String),
    Called { name: String, called: String },
}

impl FixtureSection {
    /// Returns the name.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Name(name) | Self::Called { name, .. } => name,
        }
    }

    /// Returns the name in the fixture.
    pub(crate) fn called(&self) -> &str {
        match self {
            Self::Name(called) | Self::Called { called, .. } => called,
        }
    }
}

/// Task of a fixture. All other fields are those of the API.
#[derive(Deserialize, JsonSchema, Debug)]
pub(crate) struct FixtureTask {
    pub(crate) name: String,
    /// Name in the fixture, if it is different.
    pub(crate) called: Option<String>,
    /// Name of the person who creates it; by default, the person who creates its project or parent task.
    #[serde(rename = "as")]
    pub(crate) sender: Option<String>,
    /// Name of its section in the project.
    pub(crate) section: Option<String>,
    /// Subtasks.
    #[serde(default)]
    pub(crate) subtasks: Vec<FixtureTask>,
    #[serde(flatten)]
    pub(crate) fields: Map<String, Value>,
}

/// Request of a fixture to the API.
#[derive(Deserialize, JsonSchema, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct FixtureRequest {
    /// Operation, such as `addTagForTask`.
    pub(crate) operation: String,
    /// Values of the parameters in its path, by their names.
    #[serde(default)]
    pub(crate) path: BTreeMap<String, Value>,
    /// Fields of the body.
    #[serde(default)]
    pub(crate) data: Map<String, Value>,
    /// Name of the person who sends it; the first one if it is left out.
    #[serde(rename = "as")]
    pub(crate) sender: Option<String>,
    /// Name for the object in the reply.
    pub(crate) called: Option<String>,
}

const fn yes() -> bool {
    true
}

impl Fixture {
    /// Reads a fixture.
    ///
    /// # Errors
    /// Names the field that is wrong.
    pub(crate) fn parse(document: Value) -> Result<Self> {
        let fixture: Self = serde_json::from_value(document).context("fixture")?;
        fixture.first_person()?;
        Ok(fixture)
    }

    /// Returns the person who creates everything that names nobody else.
    ///
    /// # Errors
    /// Fails if there is nobody.
    pub(crate) fn first_person(&self) -> Result<&FixturePerson> {
        let first = self.people.first();
        first.context("fixture.people: at least one person is needed, who creates the rest")
    }

    /// Returns the JSON Schema of fixtures.
    pub(crate) fn schema() -> Value {
        schema_for!(Self).to_value()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_wrong_in_a_fixture_is_named() {
        let refused = |document| format!("{:#}", Fixture::parse(document).unwrap_err());
        assert!(refused(json!({"people": []})).contains("at least one person"));
        let misspelt = json!({"people": [{"name": "Ann", "mail": "ann@acme.test"}]});
        assert!(refused(misspelt).contains("mail"), "unknown field");
        assert!(refused(json!({})).contains("people"));
    }

    #[test]
    fn the_schema_has_every_part() {
        let schema = Fixture::schema();
        let parts = schema["properties"].as_object().unwrap();
        let mut names: Vec<&str> = parts.keys().map(|name| &**name).collect();
        names.sort_unstable();
        let expected = [
            "apps",
            "people",
            "projects",
            "requests",
            "teams",
            "workspaces",
        ];
        assert_eq!(names, expected);
        assert_eq!(schema["additionalProperties"], false);
    }
}
