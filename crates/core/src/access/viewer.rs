//! The viewer of a request, with everything that its memberships give.
use super::access_lookup::AccessLookup;
use super::level::Level;
use crate::graph_store_error::GraphStoreError;
use crate::model::gid::Gid;
use crate::model::registry::rel;
use rustc_hash::{FxHashMap, FxHashSet};

/// Role of a user in a workspace.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Role {
    /// Guest: sees only what is shared with them.
    Guest,
    /// Member: sees what is public to the workspace.
    Member,
    /// Admin: administers the workspace.
    Admin,
}

/// A user's membership of a workspace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WorkspaceMembership {
    /// Gid of the workspace.
    pub workspace: Gid,
    /// Role of the user in the workspace.
    pub role: Role,
    /// True if the user holds a view-only seat: never more than [`Level::Viewer`].
    pub view_only: bool,
    /// True if the workspace is on a paid plan.
    pub paid: bool,
    /// Gid of the workspace membership.
    pub membership_gid: Gid,
    /// Task list of the user in the workspace.
    pub task_list: Option<Gid>,
}

/// Users that a guest knows in one workspace: the users in the projects and teams that the guest is in. Members of small
/// projects and teams are listed here; for larger projects and teams the store looks up the membership.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct UsersKnownToGuest {
    /// Members of small projects and teams.
    pub users: FxHashSet<Gid>,
    /// Projects with more members.
    pub projects: Vec<Gid>,
    /// Teams with more members.
    pub teams: Vec<Gid>,
}

impl UsersKnownToGuest {
    /// Returns true if the guest knows a user.
    ///
    /// # Errors
    /// Returns an error if the nodes and edges can't be read.
    pub(super) fn include(
        &self,
        user: Gid,
        facts: &mut dyn AccessLookup,
    ) -> Result<bool, GraphStoreError> {
        if self.users.contains(&user) {
            return Ok(true);
        }
        for team in &self.teams {
            if facts.is_linked(*team, rel::TEAM_MEMBERS, user)? {
                return Ok(true);
            }
        }
        if self.projects.is_empty() {
            return Ok(false);
        }
        let mut members = facts.teams_of(user)?;
        members.push(user);
        for project in &self.projects {
            for member in &members {
                if facts.is_linked(*project, rel::MEMBERS, *member)? {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }
}

/// User of a request with all their memberships, or a service account.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Viewer {
    /// Gid of the user.
    pub user: Gid,
    /// Workspace in which a service account may do everything.
    pub service_workspace: Option<Gid>,
    /// Memberships of the workspaces to which the user belongs.
    pub memberships: Vec<WorkspaceMembership>,
    /// The user's workspaces that the request does not reach; the viewer has no membership in them.
    pub excluded_workspaces: Vec<Gid>,
    /// The teams the user belongs to; true for team admins.
    pub teams: FxHashMap<Gid, bool>,
    /// Objects that memberships share with the user or with one of the user's teams, each with the highest level that the
    /// memberships give.
    pub shared_levels: FxHashMap<Gid, Level>,
    /// Users that the viewer knows in the workspaces where the viewer is a guest, by workspace.
    pub known_users: FxHashMap<Gid, UsersKnownToGuest>,
}

impl Viewer {
    /// Returns a viewer without any membership.
    #[must_use]
    pub fn without_memberships(user: Gid) -> Self {
        Self {
            user,
            service_workspace: None,
            memberships: Vec::new(),
            excluded_workspaces: Vec::new(),
            teams: FxHashMap::default(),
            shared_levels: FxHashMap::default(),
            known_users: FxHashMap::default(),
        }
    }
    /// Returns true if the viewer belongs to a workspace within the reach of the request.
    #[must_use]
    pub const fn has_workspace(&self) -> bool {
        self.service_workspace.is_some() || !self.memberships.is_empty()
    }
    /// Returns true if the viewer belongs to a workspace that is not in `reach`.
    #[must_use]
    pub fn belongs_outside(&self, reach: &[u64]) -> bool {
        self.memberships
            .iter()
            .any(|s| !reach.contains(&s.workspace.get()))
    }
    /// Returns the viewer with only the memberships of these workspaces.
    #[must_use]
    pub fn restricted_to(&self, reach: &[u64]) -> Self {
        let mut within = self.clone();
        let (kept, barred) = self
            .memberships
            .iter()
            .partition(|s| reach.contains(&s.workspace.get()));
        within.memberships = kept;
        within.excluded_workspaces = Vec::into_iter(barred)
            .map(|s: WorkspaceMembership| s.workspace)
            .collect();
        within
    }
    /// Returns the workspaces that the viewer belongs to, in the order of their gids.
    #[must_use]
    pub fn workspaces(&self) -> Vec<Gid> {
        let memberships = self
            .memberships
            .iter()
            .map(|membership| membership.workspace);
        let mut workspaces: Vec<Gid> = memberships.chain(self.service_workspace).collect();
        workspaces.sort_unstable();
        workspaces.dedup();
        workspaces
    }
    /// Returns the viewer's membership of a workspace.
    #[must_use]
    pub fn membership(&self, workspace: Gid) -> Option<&WorkspaceMembership> {
        self.memberships.iter().find(|s| s.workspace == workspace)
    }
    /// Returns true if the viewer is a full member (not a guest) of the workspace.
    #[must_use]
    pub fn is_member(&self, workspace: Gid) -> bool {
        self.service_workspace == Some(workspace)
            || self
                .membership(workspace)
                .is_some_and(|s| s.role >= Role::Member)
    }
    /// Returns true if the viewer administers the workspace.
    #[must_use]
    pub fn is_admin(&self, workspace: Gid) -> bool {
        self.service_workspace == Some(workspace)
            || self
                .membership(workspace)
                .is_some_and(|s| s.role == Role::Admin)
    }
}
