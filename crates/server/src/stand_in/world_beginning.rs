//! Users, apps and tokens that a world began with.
use crate::admin::bootstrap_file::WorldBootstrap;
use crate::admin::bootstrap_file::{AppEntry, Bootstrap, TeamEntry, UserEntry, WorkspaceEntry};
use parking_lot::Mutex;
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Users, apps and tokens that a world began with.
pub(crate) struct WorldBeginning {
    bootstrap: WorldBootstrap,
    /// Personal access token of the first user. Each world has one of its own.
    token: String,
}

/// Members of a world's record that describe its initial content.
#[derive(Serialize)]
pub(crate) struct ShownBeginning<'a> {
    personal_access_token: &'a str,
    users: &'a [UserEntry],
    workspaces: &'a [WorkspaceEntry],
    teams: &'a [TeamEntry],
    apps: &'a [AppEntry],
    names: &'a BTreeMap<String, String>,
}

impl WorldBeginning {
    /// Returns the beginning of a world with this token of the first user.
    pub(crate) fn new(bootstrap: Arc<Bootstrap>, token: String) -> Self {
        Self {
            bootstrap: Arc::new(Mutex::new(bootstrap)),
            token,
        }
    }

    /// Returns the content as the world shares it with its first passwords.
    pub(crate) fn shared(&self) -> WorldBootstrap {
        Arc::clone(&self.bootstrap)
    }

    /// Returns the present content: a first password that was replaced is gone.
    pub(crate) fn bootstrap(&self) -> Arc<Bootstrap> {
        Arc::clone(&self.bootstrap.lock())
    }

    /// Returns true if the world began with an app.
    pub(crate) fn has_app(&self, client_id: &str) -> bool {
        let bootstrap = self.bootstrap.lock();
        bootstrap.apps.iter().any(|app| app.client_id == client_id)
    }

    /// Returns true if the world began with a token.
    pub(crate) fn has_token(&self, token: &str) -> bool {
        let bootstrap = self.bootstrap.lock();
        let mut others = bootstrap
            .users
            .iter()
            .filter_map(|user| user.token.as_deref());
        self.token == token || others.any(|other| other == token)
    }

    /// Returns the members of the record of the world, given the [present content](Self::bootstrap).
    pub(crate) fn shown<'a>(&'a self, bootstrap: &'a Bootstrap) -> ShownBeginning<'a> {
        ShownBeginning {
            personal_access_token: &self.token,
            users: &bootstrap.users,
            workspaces: &bootstrap.workspaces,
            teams: &bootstrap.teams,
            apps: &bootstrap.apps,
            names: &bootstrap.names,
        }
    }
}
