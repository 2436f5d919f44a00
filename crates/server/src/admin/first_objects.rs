//! The objects of a first start: the service creates each one, and the file records it.
use crate::admin::admin_service::AdminService;
use crate::admin::apps::NewApp;
use crate::admin::bootstrap_file::{AppEntry, Bootstrap, UserEntry, WorkspaceEntry};
use anyhow::Result;
use workgraph_auth::RegisteredScopes;
use workgraph_core::access::Role;
use workgraph_core::{Gid, Type};

impl Bootstrap {
    /// Creates a workspace and records it.
    pub(crate) async fn workspace(
        &mut self,
        service: &AdminService,
        name: &str,
        paid: bool,
        organization: bool,
    ) -> Result<Gid> {
        let gid = service.create_workspace(name, paid, organization).await?;
        let plan = if paid { "paid" } else { "free" };
        self.workspaces.push(WorkspaceEntry {
            gid: gid.to_string(),
            name: name.to_owned(),
            plan: plan.to_owned(),
        });
        Ok(gid)
    }

    /// Creates a user with a membership and records it.
    pub(crate) async fn user(
        &mut self,
        service: &AdminService,
        user: (&str, &str),
        membership: (Gid, Role),
        password: &str,
    ) -> Result<Gid> {
        let password = if password.is_empty() {
            service.password()?
        } else {
            password.to_owned()
        };
        let workspace = service
            .node(Type::Workspace, &membership.0.to_string())
            .await?;
        let gid = service
            .create_user(user.0, user.1, Some((&workspace, membership.1)), &password)
            .await?
            .user;
        self.users.push(UserEntry {
            gid: gid.to_string(),
            name: user.0.to_owned(),
            email: user.1.to_lowercase(),
            password: Some(password),
            token: None,
        });
        Ok(gid)
    }

    /// Registers an app and records it.
    pub(crate) async fn app(&mut self, service: &AdminService, new: &NewApp<'_>) -> Result<()> {
        let (app, secret) = service.create_app(new).await?;
        self.apps.push(AppEntry {
            client_id: app.client_id(),
            client_secret: secret.expose().to_owned(),
            redirect_uri: new.redirects.first().cloned().unwrap_or_default(),
            full_permissions: new.scopes == RegisteredScopes::Full,
            scopes: new.scopes.set().to_string(),
            name: app.name,
        });
        Ok(())
    }

    /// Creates a token.
    pub(crate) async fn token(
        &self,
        service: &AdminService,
        user: Gid,
        description: &str,
    ) -> Result<String> {
        Ok(service
            .create_token(user, description, None, None)
            .await?
            .1
            .expose()
            .to_owned())
    }
}
