//! Entries of the audit log for acts outside the graph: acts on tokens, apps and sessions.
use workgraph_auth::rules::AuditedAct;
use workgraph_core::audit::{AuditEntry, AuditEventKind, event_kinds};
use workgraph_core::model::gid::Gid;

/// Entry of the audit log for an act.
#[derive(Clone, Debug)]
pub enum ActEntry {
    /// Act of or on a user: one entry for each workspace that the user belongs to, or that a service account has tokens for.
    OfUser {
        /// The user who acted.
        user: Gid,
        /// The kind of the event.
        kind: AuditEventKind,
        /// The values before and after.
        details: (Option<String>, Option<String>),
    },
    /// Act on one workspace.
    OfWorkspace(AuditEntry),
}

impl ActEntry {
    /// Returns the entry for an act; `None` if its user or workspace has no valid gid.
    #[must_use]
    pub fn new(act: &AuditedAct) -> Option<Self> {
        let named = |name: &str| Some(name.to_owned()).filter(|name| !name.is_empty());
        let (user, kind, details) = match act {
            AuditedAct::AppAuthorized { user, app } => {
                (user, event_kinds::APP_AUTHORIZED, (None, Some(app.clone())))
            }
            AuditedAct::AppDeauthorized { user, app } => {
                (user, event_kinds::APP_REVOKED, (app.clone(), None))
            }
            AuditedAct::TokenCreated { user, description } => (
                user,
                event_kinds::TOKEN_AUTHORIZED,
                (None, named(description)),
            ),
            AuditedAct::TokenRevoked { user, description } => {
                (user, event_kinds::TOKEN_REVOKED, (named(description), None))
            }
            AuditedAct::SignedIn(user) => (user, event_kinds::LOGIN_SUCCEEDED, (None, None)),
            AuditedAct::SignInFailed(user) => (user, event_kinds::LOGIN_FAILED, (None, None)),
            AuditedAct::SignedOut(user) => (user, event_kinds::LOGGED_OUT, (None, None)),
            AuditedAct::PasswordChanged(user) => {
                (user, event_kinds::PASSWORD_CHANGED, (None, None))
            }
            AuditedAct::AccountDisabled(user) => (user, event_kinds::DEPROVISIONED, (None, None)),
            AuditedAct::AccountEnabled(user) => (user, event_kinds::REPROVISIONED, (None, None)),
            AuditedAct::AppUseChanged {
                workspace,
                app,
                before,
                after,
            } => {
                let workspace = Gid::new(*workspace)?;
                let use_of = |word| Some(format!("{app}: {word}"));
                let entry =
                    AuditEntry::new(event_kinds::APP_APPROVAL_CHANGED, workspace, workspace);
                let entry = entry.details(use_of(before), use_of(after));
                return Some(Self::OfWorkspace(entry));
            }
        };
        let user = Gid::new(*user)?;
        Some(Self::OfUser {
            user,
            kind,
            details,
        })
    }
}
