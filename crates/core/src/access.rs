//! Who may do what: one pure function over viewer, node and the facts around it.
use crate::gid::Gid;
use crate::graph::{Edge, StoreError};
use crate::node::Node;
use crate::registry::{Rel, Type, rel};
use crate::resources::{
    custom_field, custom_field_setting, enum_option, job, membership, project, project_template,
    section, task, task_template, team, user_task_list,
};
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;

/// What a viewer may do with a node; each level includes those before it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
#[repr(u8)]
pub enum Level {
    /// Nothing; the node is left out of lists and is 403 by gid.
    #[default]
    None = 0,
    /// See it.
    Viewer = 1,
    /// See it and comment.
    Commenter = 2,
    /// Change it.
    Editor = 3,
    /// Change who may see it, and delete it.
    Admin = 4,
}

impl Level {
    /// The level kept as the rank of a membership edge.
    #[must_use]
    pub const fn from_rank(rank: i64) -> Self {
        match rank {
            1 => Self::Viewer,
            2 => Self::Commenter,
            3 => Self::Editor,
            4.. => Self::Admin,
            _ => Self::None,
        }
    }
}

/// A user's standing in a workspace.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Role {
    /// Sees only what is shared with them.
    Guest,
    /// Sees what is public to the workspace.
    Member,
    /// Administers the workspace.
    Admin,
}

/// A user's place in a workspace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Seat {
    /// The workspace.
    pub workspace: Gid,
    /// The standing.
    pub role: Role,
    /// Holds a view-only seat: never more than [`Level::Viewer`].
    pub view_only: bool,
    /// The workspace is on a paid plan.
    pub paid: bool,
    /// The workspace membership.
    pub membership: Gid,
    /// The user's task list there.
    pub task_list: Option<Gid>,
}

/// The users whom a guest knows in one workspace: those in the projects and teams that the guest is in. Of
/// small ones the members are here; of others it is looked up whether a user is one.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Acquaintances {
    /// The members of small projects and teams.
    pub users: FxHashSet<Gid>,
    /// The projects with more members.
    pub projects: Vec<Gid>,
    /// The teams with more members.
    pub teams: Vec<Gid>,
}

impl Acquaintances {
    /// Returns whether a user is among them.
    ///
    /// # Errors
    /// Only when the facts can't be read.
    fn include(&self, user: Gid, facts: &mut dyn Facts) -> Result<bool, StoreError> {
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

/// Who asks: a user with all that their own memberships say, or a service account.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Viewer {
    /// The user.
    pub user: Gid,
    /// The workspace a service account may do everything in.
    pub service: Option<Gid>,
    /// The workspaces the user belongs to.
    pub seats: Vec<Seat>,
    /// The workspaces the user belongs to but what asks for them does not reach; the viewer has no
    /// seat there.
    pub barred: Vec<Gid>,
    /// The teams the user belongs to; true for team admins.
    pub teams: FxHashMap<Gid, bool>,
    /// The projects and custom fields shared with the user or a team of theirs, and the highest level
    /// so given.
    pub shared: FxHashMap<Gid, Level>,
    /// The users whom the viewer knows where they are a guest, by workspace.
    pub acquaintances: FxHashMap<Gid, Acquaintances>,
}

impl Viewer {
    /// A viewer without any membership.
    #[must_use]
    pub fn alone(user: Gid) -> Self {
        Self {
            user,
            service: None,
            seats: Vec::new(),
            barred: Vec::new(),
            teams: FxHashMap::default(),
            shared: FxHashMap::default(),
            acquaintances: FxHashMap::default(),
        }
    }
    /// Whether the viewer belongs to a workspace that is none of these.
    #[must_use]
    pub fn exceeds(&self, reach: &[u64]) -> bool {
        self.seats
            .iter()
            .any(|s| !reach.contains(&s.workspace.get()))
    }
    /// The viewer as far as these workspaces go.
    #[must_use]
    pub fn within(&self, reach: &[u64]) -> Self {
        let mut within = self.clone();
        let (kept, barred) = self
            .seats
            .iter()
            .partition(|s| reach.contains(&s.workspace.get()));
        within.seats = kept;
        within.barred = Vec::into_iter(barred).map(|s: Seat| s.workspace).collect();
        within
    }
    /// The workspaces that the viewer belongs to, in the order of their gids.
    #[must_use]
    pub fn homes(&self) -> Vec<Gid> {
        let seats = self.seats.iter().map(|seat| seat.workspace);
        let mut homes: Vec<Gid> = seats.chain(self.service).collect();
        homes.sort_unstable();
        homes.dedup();
        homes
    }
    /// The viewer's seat in a workspace.
    #[must_use]
    pub fn seat(&self, workspace: Gid) -> Option<&Seat> {
        self.seats.iter().find(|s| s.workspace == workspace)
    }
    /// Whether the viewer is a full member (not a guest) of the workspace.
    #[must_use]
    pub fn is_member(&self, workspace: Gid) -> bool {
        self.service == Some(workspace)
            || self.seat(workspace).is_some_and(|s| s.role >= Role::Member)
    }
    /// Whether the viewer administers the workspace.
    #[must_use]
    pub fn is_admin(&self, workspace: Gid) -> bool {
        self.service == Some(workspace)
            || self.seat(workspace).is_some_and(|s| s.role == Role::Admin)
    }
}

/// What the rules may look up. Stores answer from one snapshot, tests from a table.
pub trait Facts {
    /// The live node, with its body.
    ///
    /// # Errors
    /// When the store fails.
    fn fact(&mut self, gid: Gid) -> Result<Option<Arc<Node>>, StoreError>;
    /// The edges of one relation that start at the node.
    ///
    /// # Errors
    /// When the store fails.
    fn edges_of(&mut self, gid: Gid, rel: Rel) -> Result<Vec<Edge>, StoreError>;
    /// Whether such an edge exists.
    ///
    /// # Errors
    /// When the store fails.
    fn is_linked(&mut self, source: Gid, rel: Rel, target: Gid) -> Result<bool, StoreError>;
    /// The live teams that a user belongs to.
    ///
    /// # Errors
    /// When the store fails.
    fn teams_of(&mut self, user: Gid) -> Result<Vec<Gid>, StoreError>;
}

/// The deepest chain of parents that is followed; subtasks go five levels deep.
const MAX_DEPTH: u8 = 8;

/// What the viewer may do with the node.
///
/// # Errors
/// Only when the facts can't be read.
pub fn level(viewer: &Viewer, node: &Node, facts: &mut dyn Facts) -> Result<Level, StoreError> {
    at_depth(viewer, node, facts, 0)
}

fn at_depth(
    viewer: &Viewer,
    node: &Node,
    facts: &mut dyn Facts,
    depth: u8,
) -> Result<Level, StoreError> {
    if depth > MAX_DEPTH {
        return Ok(Level::None);
    }
    let workspace = if node.ty == Type::Workspace {
        Some(node.gid)
    } else {
        node.home
    };
    if matches!(
        node.ty,
        Type::Job | Type::GraphExport | Type::ResourceExport
    ) {
        // Not even a service account reads the job of another.
        let own = node.get(job::CREATED_BY) == Some(viewer.user);
        return Ok(if own { Level::Viewer } else { Level::None });
    }
    if viewer.service.is_some() && viewer.service == workspace {
        return Ok(Level::Admin);
    }
    if node.ty == Type::User {
        return user(viewer, node, facts);
    }
    let Some(seat) = workspace.and_then(|w| viewer.seat(w)) else {
        return Ok(Level::None);
    };
    let full = seat.role >= Role::Member;
    let by_role = |member: Level| match seat.role {
        Role::Admin => Level::Admin,
        Role::Member => member,
        Role::Guest => Level::None,
    };
    let found = match node.ty {
        Type::Workspace => by_role(Level::Editor).max(Level::Viewer),
        // Guests see the tags of the tasks they see, there; by themselves only those they follow.
        Type::Tag if full => by_role(Level::Editor),
        Type::Tag if facts.is_linked(node.gid, rel::TAG_FOLLOWERS, viewer.user)? => Level::Viewer,
        Type::Tag => Level::None,
        Type::Team => by_visibility(viewer, node, full),
        Type::WorkspaceMembership => {
            let own = if node.get(membership::USER) == Some(viewer.user) {
                Level::Viewer
            } else {
                Level::None
            };
            by_role(Level::Viewer).max(own)
        }
        Type::TeamMembership => {
            let own = if node.get(membership::USER) == Some(viewer.user) {
                Level::Viewer
            } else {
                Level::None
            };
            of_link(viewer, node.get(membership::TEAM), facts, depth)?.max(own)
        }
        Type::ProjectMembership | Type::CustomFieldMembership => {
            of_link(viewer, node.get(membership::PARENT), facts, depth)?
        }
        Type::Project => in_project(viewer, node, full, facts)?,
        Type::Section => in_container(viewer, node.get(section::PROJECT), facts, depth)?,
        Type::UserTaskList if node.get(user_task_list::OWNER) == Some(viewer.user) => Level::Admin,
        Type::UserTaskList => by_role(Level::Viewer).min(Level::Viewer),
        Type::Task | Type::Recipe => of_task(viewer, node, facts, depth)?,
        Type::Story => match facts.edges_of(node.gid, rel::STORY_OF)?.first() {
            Some(edge) => of_link(viewer, Some(edge.dst), facts, depth)?,
            None => Level::None,
        },
        Type::CustomField => of_custom_field(viewer, node, seat.role, facts)?,
        Type::EnumOption => of_link(viewer, node.get(enum_option::CUSTOM_FIELD), facts, depth)?,
        Type::CustomFieldSetting => {
            in_container(viewer, node.get(custom_field_setting::PARENT), facts, depth)?
        }
        Type::ProjectTemplate => of_template(viewer, node, full, facts)?,
        Type::TaskTemplate => of_link(viewer, node.get(task_template::PROJECT), facts, depth)?,
        // The export of an organization is its service account's alone. The last two are never nodes of
        // a store.
        Type::User
        | Type::Job
        | Type::GraphExport
        | Type::ResourceExport
        | Type::OrganizationExport
        | Type::Webhook
        | Type::Event => Level::None,
    };
    Ok(if seat.view_only {
        found.min(Level::Viewer)
    } else {
        found
    })
}

/// Users see themselves, and those they share a workspace with; where they are guests, only those they share
/// a project or team with.
fn user(viewer: &Viewer, node: &Node, facts: &mut dyn Facts) -> Result<Level, StoreError> {
    if node.gid == viewer.user {
        return Ok(Level::Admin);
    }
    let seats = facts.edges_of(node.gid, rel::WORKSPACES)?;
    if seats.iter().any(|seat| viewer.is_member(seat.dst)) {
        return Ok(Level::Viewer);
    }
    for seat in seats {
        // A user known to a guest of one workspace is not known to them from another.
        let known = viewer.acquaintances.get(&seat.dst);
        if let Some(known) = known.filter(|_| viewer.seat(seat.dst).is_some())
            && known.include(node.gid, facts)?
        {
            return Ok(Level::Viewer);
        }
    }
    Ok(Level::None)
}

/// The level of a node that another belongs to.
fn of_link(
    viewer: &Viewer,
    gid: Option<Gid>,
    facts: &mut dyn Facts,
    depth: u8,
) -> Result<Level, StoreError> {
    match gid.map(|g| facts.fact(g)).transpose()?.flatten() {
        Some(node) => at_depth(viewer, &node, facts, depth + 1),
        None => Ok(Level::None),
    }
}

/// Members see their team; full members of the organization see those that are not secret.
fn by_visibility(viewer: &Viewer, node: &Node, full: bool) -> Level {
    match viewer.teams.get(&node.gid) {
        Some(true) => Level::Admin,
        Some(false) => Level::Editor,
        None if full && node.get(team::VISIBILITY).as_deref() != Some("secret") => Level::Viewer,
        None => Level::None,
    }
}

/// The highest of: ownership, a membership, and what the privacy setting gives to all.
fn in_project(
    viewer: &Viewer,
    node: &Node,
    full: bool,
    facts: &mut dyn Facts,
) -> Result<Level, StoreError> {
    if node.get(project::OWNER) == Some(viewer.user) {
        return Ok(Level::Admin);
    }
    let shared = viewer.shared.get(&node.gid).copied().unwrap_or_default();
    let open = match node.get(project::PRIVACY).as_deref() {
        Some("public_to_workspace") if full => Level::Editor,
        Some("private_to_team") if shared < Level::Editor => {
            let teams = facts.edges_of(node.gid, rel::TEAM)?;
            if teams.iter().any(|e| viewer.teams.contains_key(&e.dst)) {
                Level::Editor
            } else {
                Level::None
            }
        }
        _ => Level::None,
    };
    Ok(shared.max(open))
}

/// A custom field belongs to who created it and to the admins; others have what its settings give.
/// Memberships raise that, and one's own lowers it, too: a team's would not for long, since one can
/// leave it. Guests never do more than set values.
fn of_custom_field(
    viewer: &Viewer,
    node: &Node,
    role: Role,
    facts: &mut dyn Facts,
) -> Result<Level, StoreError> {
    if role == Role::Admin || node.get(custom_field::CREATED_BY) == Some(viewer.user) {
        return Ok(Level::Admin);
    }
    let open = match (node.get(custom_field::PRIVACY).as_deref(), role) {
        (Some("private"), _) => Level::None,
        (Some("public"), Role::Guest) => Level::None,
        (_, Role::Guest) => Level::Viewer,
        _ => match node.get(custom_field::DEFAULT_ACCESS).as_deref() {
            Some("user") => Level::Viewer,
            Some("admin") => Level::Admin,
            _ => Level::Editor,
        },
    };
    let found = match viewer.shared.get(&node.gid) {
        Some(given) if *given > open => *given,
        Some(given) if facts.is_linked(node.gid, rel::MEMBERS, viewer.user)? => *given,
        _ => open,
    };
    Ok(if role == Role::Guest {
        found.min(Level::Viewer)
    } else {
        found
    })
}

/// A template belongs to its owner; its team edits it, and if it is public the workspace sees it.
fn of_template(
    viewer: &Viewer,
    node: &Node,
    full: bool,
    facts: &mut dyn Facts,
) -> Result<Level, StoreError> {
    if node.get(project_template::OWNER) == Some(viewer.user) {
        return Ok(Level::Admin);
    }
    let teams = facts.edges_of(node.gid, rel::TEMPLATE_TEAM)?;
    if teams.iter().any(|e| viewer.teams.contains_key(&e.dst)) {
        return Ok(Level::Editor);
    }
    Ok(if full && node.get(project_template::PUBLIC) {
        Level::Viewer
    } else {
        Level::None
    })
}

/// What makes up a project is as visible as it is; what makes up a task list is the owner's alone.
fn in_container(
    viewer: &Viewer,
    container: Option<Gid>,
    facts: &mut dyn Facts,
    depth: u8,
) -> Result<Level, StoreError> {
    let Some(place) = container.map(|g| facts.fact(g)).transpose()?.flatten() else {
        return Ok(Level::None);
    };
    // Not by the level: with a view-only seat the owner has no other than anybody.
    let own = place.get(user_task_list::OWNER) == Some(viewer.user);
    if place.ty == Type::UserTaskList && !own {
        return Ok(Level::None);
    }
    at_depth(viewer, &place, facts, depth + 1)
}

/// A task is open to its creator and assignee, to whoever may see one of its projects or its parent,
/// and to its followers; those edit it only where no project or parent gives them less.
fn of_task(
    viewer: &Viewer,
    node: &Node,
    facts: &mut dyn Facts,
    depth: u8,
) -> Result<Level, StoreError> {
    let me = Some(viewer.user);
    let mut best = Level::None;
    if node.get(task::ASSIGNEE) == me || node.get(task::CREATED_BY) == me {
        best = Level::Editor;
    }
    if best >= Level::Editor {
        return Ok(best);
    }
    for edge in facts.edges_of(node.gid, rel::SECTION)? {
        best = best.max(of_link(viewer, edge.aux, facts, depth)?);
    }
    if best < Level::Editor
        && let Some(parent) = facts.edges_of(node.gid, rel::PARENT)?.first()
    {
        best = best.max(of_link(viewer, Some(parent.dst), facts, depth)?);
    }
    if best < Level::Editor && facts.is_linked(node.gid, rel::FOLLOWERS, viewer.user)? {
        // Whoever may comment can follow, so following must not lift what a project leaves them.
        best = match best {
            Level::None => Level::Editor,
            left => left.max(Level::Commenter),
        };
    }
    Ok(best)
}
