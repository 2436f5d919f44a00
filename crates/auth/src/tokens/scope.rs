//! Scopes: the registry of all scopes, and sets of them.
use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// Word for full permissions. Never part of a list.
pub const DEFAULT: &str = "default";

/// Permission that a user can grant to an app.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scope {
    /// The name as sent: `<resource>:<action>`, or an OpenID Connect word.
    pub name: &'static str,
    /// The permitted actions, in words for the consent page.
    pub description: &'static str,
}

const fn scope(name: &'static str, says: &'static str) -> Scope {
    Scope {
        name,
        description: says,
    }
}

/// Every scope, in order of name. A set is stored by these names, never by position.
pub static SCOPES: &[Scope] = &[
    scope("attachments:delete", "Delete attachments"),
    scope("attachments:read", "See attachments and their files"),
    scope("attachments:write", "Add attachments"),
    scope("custom_fields:read", "See custom fields and their options"),
    scope("custom_fields:write", "Create and change custom fields"),
    scope("email", "See your e-mail address"),
    scope("goals:read", "See goals"),
    scope("goals:write", "Create and change goals"),
    scope("jobs:read", "See the progress of jobs it started"),
    scope("ooo_entries:delete", "Delete out-of-office entries"),
    scope("ooo_entries:read", "See out-of-office entries"),
    scope(
        "ooo_entries:write",
        "Create and change out-of-office entries",
    ),
    scope("openid", "Confirm who you are"),
    scope("portfolios:read", "See portfolios and what they contain"),
    scope("portfolios:write", "Create and change portfolios"),
    scope("profile", "See your name and picture"),
    scope(
        "project_portfolio_settings:read",
        "See the settings of projects in portfolios",
    ),
    scope(
        "project_portfolio_settings:write",
        "Change the settings of projects in portfolios",
    ),
    scope("project_sections:read", "See the sections of projects"),
    scope("project_templates:read", "See project templates"),
    scope("projects:delete", "Delete projects"),
    scope("projects:read", "See projects"),
    scope("projects:write", "Create and change projects"),
    scope("roles:delete", "Delete roles"),
    scope("roles:read", "See roles"),
    scope("roles:write", "Create and change roles"),
    scope("stories:delete", "Delete comments"),
    scope("stories:read", "See comments and the history of tasks"),
    scope("stories:write", "Write and change comments"),
    scope("tags:read", "See tags"),
    scope("tags:write", "Create and change tags"),
    scope("task_custom_types:read", "See custom types of tasks"),
    scope("task_templates:read", "See task templates"),
    scope("tasks:delete", "Delete tasks"),
    scope("tasks:read", "See tasks"),
    scope("tasks:write", "Create and change tasks"),
    scope("team_memberships:read", "See who is a member of which team"),
    scope("teams:read", "See teams"),
    scope("time_periods:read", "See time periods"),
    scope(
        "time_tracking_categories:delete",
        "Delete categories of tracked time",
    ),
    scope(
        "time_tracking_categories:read",
        "See categories of tracked time",
    ),
    scope(
        "time_tracking_categories:write",
        "Create and change categories of tracked time",
    ),
    scope("time_tracking_entries:read", "See tracked time"),
    scope(
        "timesheet_approval_statuses:read",
        "See the approval of timesheets",
    ),
    scope(
        "timesheet_approval_statuses:write",
        "Submit and approve timesheets",
    ),
    scope(
        "users:read",
        "See the people you work with, with their e-mail addresses",
    ),
    scope("webhooks:delete", "Delete webhooks"),
    scope("webhooks:read", "See webhooks"),
    scope("webhooks:write", "Create and change webhooks"),
    scope(
        "workspaces.typeahead:read",
        "Search for objects by the start of their name",
    ),
    scope("workspaces:read", "See your workspaces"),
];

// Bit 127 belongs to no scope, so that full permissions differ from every list.
const _: () = assert!(SCOPES.len() < 127);

/// Words of the consent page for full permissions.
pub const FULL_ACCESS_DESCRIPTION: &str = "See and change everything you can see and change";

/// Reason for which a text is not a set of scopes.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ScopeError {
    /// This name is not a scope.
    #[error("unknown scope `{0}`")]
    Unknown(String),
    /// `default` stood beside other scopes; it only stands alone.
    #[error("`default` cannot be combined with other scopes")]
    Mixed,
}

/// Permissions of a token: a set of scopes, or everything.
///
/// Full permissions are more than all scopes together, since many operations have no scope and need
/// full permissions. Actions do not imply each other: `tasks:write` does not let an app read a
/// task.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct ScopeSet(u128);

impl ScopeSet {
    /// Returns full permissions: every endpoint, with or without a scope.
    #[must_use]
    pub const fn full() -> Self {
        Self(u128::MAX)
    }

    /// Returns the set without any scope.
    #[must_use]
    pub const fn empty() -> Self {
        Self(0)
    }

    /// Returns true if these are full permissions.
    #[must_use]
    pub const fn is_full(self) -> bool {
        self.0 == u128::MAX
    }

    /// Returns true if nothing is allowed.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Reads space-delimited names (RFC 6749 section 3.3): case-sensitive, in any order,
    /// repetitions allowed. `default` alone is full permissions. A text without names is the empty
    /// set.
    ///
    /// # Errors
    /// Names the first unknown scope, or says that `default` did not stand alone.
    pub fn parse(text: &str) -> Result<Self, ScopeError> {
        let mut set = Self::empty();
        let mut default = false;
        for name in text.split(' ').filter(|name| !name.is_empty()) {
            if name == DEFAULT {
                default = true;
            } else {
                set.0 |= bit(name).ok_or_else(|| ScopeError::Unknown(name.to_owned()))?;
            }
        }
        match (default, set.is_empty()) {
            (false, _) => Ok(set),
            (true, true) => Ok(Self::full()),
            (true, false) => Err(ScopeError::Mixed),
        }
    }

    /// Returns true if a request that needs `scope` is allowed. An unknown name needs full
    /// permissions, as does an operation without a scope (see [`is_full`](Self::is_full)).
    #[must_use]
    pub fn allows(&self, scope: &str) -> bool {
        self.is_full() || bit(scope).is_some_and(|bit| self.0 & bit != 0)
    }

    /// Returns true if everything in `other` is in this set too. Only full permissions cover full
    /// ones.
    #[must_use]
    pub const fn covers(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Returns the scopes that both sets allow. Full permissions leave the other set as it is.
    #[must_use]
    pub const fn intersect(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Returns the scopes of the set in order of name; none for full permissions, which are no
    /// list.
    pub fn iter(self) -> impl Iterator<Item = &'static Scope> {
        let listed = if self.is_full() { 0 } else { self.0 };
        SCOPES
            .iter()
            .enumerate()
            .filter(move |(at, _)| listed >> at & 1 == 1)
            .map(|(_, scope)| scope)
    }
}

/// Returns the bit of a scope: its index in the registry.
fn bit(name: &str) -> Option<u128> {
    let at = SCOPES.binary_search_by(|scope| scope.name.cmp(name)).ok()?;
    Some(1 << at)
}

impl FromStr for ScopeSet {
    type Err = ScopeError;

    fn from_str(text: &str) -> Result<Self, ScopeError> {
        Self::parse(text)
    }
}

/// Writes names in order, with one space between them; `default` for full permissions.
/// [`ScopeSet::parse`] reads it back.
impl fmt::Display for ScopeSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_full() {
            return f.write_str(DEFAULT);
        }
        for (at, scope) in self.iter().enumerate() {
            if at > 0 {
                f.write_str(" ")?;
            }
            f.write_str(scope.name)?;
        }
        Ok(())
    }
}

impl fmt::Debug for ScopeSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ScopeSet({self})")
    }
}
