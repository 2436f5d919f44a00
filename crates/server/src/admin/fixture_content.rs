//! Creation of a fixture's content: workspaces, people, apps and teams by the service, all other objects through the API
//! itself.
use crate::admin::admin_service::AdminService;
use crate::admin::apps::{ChosenCredentials, NewApp};
use crate::admin::bootstrap_file::{Bootstrap, TeamEntry};
use crate::admin::fixture::{Fixture, FixtureApp, FixturePerson, FixtureTeam, PersonRole, Plan};
use crate::admin::fixture_objects::FixtureObjects;
use anyhow::{Context, Result};
use workgraph_api::SCOPES;
use workgraph_auth::{RegisteredScopes, Secret, SecretDigest};
use workgraph_core::access::Role;
use workgraph_core::{Gid, Type};

/// Name of the workspace of a fixture that names none.
const WORKSPACE: &str = "Workspace";

/// Creates the content of a fixture, and records it.
///
/// # Errors
/// Says which part of the fixture can't be created, and why.
pub(crate) async fn create_fixture(
    boot: &mut Bootstrap,
    service: &AdminService,
    fixture: &Fixture,
) -> Result<()> {
    let first = fixture.first_person()?;
    let mut content = FixtureContent {
        service,
        objects: FixtureObjects::new(service, &first.email),
    };
    content.workspaces(boot, fixture).await?;
    for (number, person) in fixture.people.iter().enumerate() {
        let made = content.person(boot, person, number == 0).await;
        made.with_context(|| format!("fixture.people: {}", person.name))?;
    }
    let owner = content.objects.names.gid(&first.email)?;
    for app in &fixture.apps {
        let made = content.app(boot, app, owner).await;
        made.with_context(|| format!("fixture.apps: {}", app.name))?;
    }
    for team in &fixture.teams {
        let made = content.team(boot, team, owner).await;
        made.with_context(|| format!("fixture.teams: {}", team.name))?;
    }
    let mut objects = content.objects;
    for project in &fixture.projects {
        let made = objects.project(boot, project).await;
        made.with_context(|| format!("fixture.projects: {}", project.name))?;
    }
    for (number, request) in fixture.requests.iter().enumerate() {
        let made = objects.request(request).await;
        made.with_context(|| format!("fixture.requests[{number}]"))?;
    }
    boot.personal_access_token = objects.first_token()?.to_owned();
    boot.names = objects.names.unique();
    Ok(())
}

/// Workspaces, people, apps and teams of a fixture.
struct FixtureContent<'a> {
    service: &'a AdminService,
    objects: FixtureObjects<'a>,
}

impl FixtureContent<'_> {
    async fn workspaces(&mut self, boot: &mut Bootstrap, fixture: &Fixture) -> Result<()> {
        if fixture.workspaces.is_empty() {
            let gid = boot.workspace(self.service, WORKSPACE, true, true).await?;
            self.objects.names.add(WORKSPACE, gid.to_string());
        }
        for workspace in &fixture.workspaces {
            let (name, is_paid) = (&workspace.name, workspace.plan == Plan::Paid);
            let gid = boot
                .workspace(self.service, name, is_paid, workspace.organization)
                .await?;
            let called = workspace.called.as_ref().unwrap_or(name);
            self.objects.names.add(called, gid.to_string());
        }
        Ok(())
    }

    /// Returns the gid of the workspace with a name, or of the first one if the name is `None`.
    fn workspace(&self, boot: &Bootstrap, name: Option<&str>) -> Result<Gid> {
        let all = &boot.workspaces;
        let gid = name.and_then(|name| self.objects.names.gid(name).ok());
        let found = match (name, gid) {
            (None, _) => all.first(),
            (Some(_), Some(gid)) => all.iter().find(|one| one.gid == gid.to_string()),
            (Some(name), None) => all.iter().find(|one| one.name == name),
        };
        let found = found.and_then(|workspace| Gid::parse(&workspace.gid));
        found.with_context(|| format!("workspace: there is no `{}`", name.unwrap_or_default()))
    }

    async fn person(
        &mut self,
        boot: &mut Bootstrap,
        person: &FixturePerson,
        is_first: bool,
    ) -> Result<()> {
        let workspace = self.workspace(boot, person.workspace.as_deref())?;
        let role = if is_first {
            Role::Admin
        } else {
            role_of(person.role)
        };
        let password = person.password.as_deref().unwrap_or_default();
        let called = (person.name.as_str(), person.email.as_str());
        let gid = boot
            .user(self.service, called, (workspace, role), password)
            .await?;
        let names = &mut self.objects.names;
        names.add(&person.name, gid.to_string());
        names.add(&person.email, gid.to_string());
        for further in &person.further_workspaces {
            let workspace = self.workspace(boot, Some(&further.workspace))?;
            let workspace = workspace.to_string();
            let node = self.service.node(Type::Workspace, &workspace).await?;
            self.service
                .add_member(gid, &node, role_of(further.role))
                .await?;
        }
        if !person.further_workspaces.is_empty() {
            self.service.refresh_account(gid).await?;
        }
        let token = self
            .service
            .create_fixture_token(gid, &person.email)
            .await?;
        if let Some(entry) = boot.users.last_mut() {
            entry.token = Some(token.clone());
        }
        self.objects.add_token(called, token);
        Ok(())
    }

    async fn app(&mut self, boot: &mut Bootstrap, app: &FixtureApp, owner: Gid) -> Result<()> {
        let scopes = match &app.scopes {
            None => RegisteredScopes::Full,
            Some(scopes) => RegisteredScopes::Only(SCOPES.parse(&scopes.join(" "))?),
        };
        let id = app.client_id.as_deref().map(|id| {
            let id = Gid::parse(id);
            id.context("client_id: must be a number such as 1201")
        });
        let workspaces: Vec<Gid> = boot
            .workspaces
            .iter()
            .filter_map(|workspace| Gid::parse(&workspace.gid))
            .collect();
        let new = NewApp {
            name: &app.name,
            redirects: &app.redirect_uris,
            scopes,
            owner,
            workspaces: &workspaces,
            chosen: ChosenCredentials {
                id: id.transpose()?,
                secret: app.client_secret.clone().map(Secret::new),
            },
        };
        boot.app(self.service, &new).await
    }

    async fn team(&mut self, boot: &mut Bootstrap, team: &FixtureTeam, owner: Gid) -> Result<()> {
        let workspace = self.workspace(boot, team.workspace.as_deref())?.to_string();
        let mut admins = match &team.admins {
            None => vec![owner],
            Some(admins) => self.people(admins)?,
        };
        let first = (!admins.is_empty()).then(|| admins.remove(0));
        let node = self.service.node(Type::Workspace, &workspace).await?;
        let gid = self
            .service
            .create_team(&team.name, &node, first, "public")
            .await?;
        boot.teams.push(TeamEntry {
            gid: gid.to_string(),
            name: team.name.clone(),
            workspace,
        });
        let called = team.called.as_ref().unwrap_or(&team.name);
        self.objects.names.add(called, gid.to_string());
        let node = self.service.node(Type::Team, &gid.to_string()).await?;
        for admin in &admins {
            self.service.join_team(*admin, &node, true).await?;
        }
        for member in self.people(&team.members)? {
            if first != Some(member) && !admins.contains(&member) {
                self.service.join_team(member, &node, false).await?;
            }
        }
        Ok(())
    }

    fn people(&self, names: &[String]) -> Result<Vec<Gid>> {
        names
            .iter()
            .map(|name| self.objects.names.gid(name))
            .collect()
    }
}

/// Returns the role in a workspace for a role of a fixture.
const fn role_of(role: PersonRole) -> Role {
    match role {
        PersonRole::Admin => Role::Admin,
        PersonRole::Member => Role::Member,
        PersonRole::Guest => Role::Guest,
    }
}

impl AdminService {
    /// Creates a personal access token that is the same in each world: its random bytes are derived from the user's address.
    async fn create_fixture_token(&self, user: Gid, email: &str) -> Result<String> {
        let SecretDigest(random) = SecretDigest::of(&format!("workgraph fixture token {email}"));
        let token = self.create_token_of(user, "Fixture", &random).await?;
        Ok(token.expose().to_owned())
    }
}
