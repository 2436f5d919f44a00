//! Authorizations: a user's lasting permission for an app, and its effect on the app's tokens.
use std::time::SystemTime;

use crate::authorization::registered_app::App;
use crate::tokens::scope::ScopeSet;
use crate::tokens::token_record::TokenRecord;
use crate::tokens::token_text::TokenKind;

/// A user's lasting permission for an app. At most one is live for each user and app; a later consent replaces
/// its scopes. A revoked authorization stays revoked: authorizing the app again creates a new one, and tokens
/// of the old one never work again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Authorization {
    /// Its id: the `grant` of tokens and codes.
    pub id: u64,
    /// The user who gave it.
    pub user: u64,
    /// The app that has it.
    pub app: u64,
    /// The scopes of the user's last consent.
    pub scopes: ScopeSet,
    /// The time of the user's first consent.
    pub created_at: SystemTime,
    /// The time at which the user withdrew it.
    pub revoked_at: Option<SystemTime>,
}

impl Authorization {
    /// Returns true if an app may use a scope in a workspace now: this is its live authorization, the user has allowed the
    /// scope, and the app is registered with the scope and works in the workspace.
    #[must_use]
    pub fn allows(&self, app: &App, scope: &str, workspace: u64) -> bool {
        let scopes = self.scopes.intersect(app.scopes.set());
        self.app == app.id
            && self.revoked_at.is_none()
            && scopes.allows(scope)
            && app.works_in(workspace)
    }
}

/// Records on which a token depends, in their current state. `None` for missing records.
#[derive(Clone, Copy, Debug)]
pub struct TokenContext<'a> {
    /// The authorization that the token's `grant` names.
    pub authorization: Option<&'a Authorization>,
    /// The app that the token was issued to.
    pub app: Option<&'a App>,
    /// The refresh token of an access token: the one issued together with it, or exchanged for it.
    pub refresh: Option<&'a TokenRecord>,
}

/// Returns the effective state of a token in its context, as returned by
/// [`TokenStore::find_token`](crate::TokenStore::find_token).
///
/// Scopes are limited to the present scopes of both the authorization *and* the app's registration. The token counts as
/// revoked from the first moment at which it, its refresh token or its authorization was revoked or its app was
/// disabled. A token whose context is incomplete or belongs to another token counts as revoked from its creation. Its
/// allowed workspaces are those where the app works now. Tokens of other kinds have no context and are returned
/// unchanged.
///
/// The effective state is not stored with the token, so one write to one row changes every token that depends
/// on it, and each change takes effect with the next request.
#[must_use]
pub fn effective_record(record: &TokenRecord, lineage: TokenContext<'_>) -> TokenRecord {
    let mut left = record.clone();
    if matches!(record.kind, TokenKind::Personal | TokenKind::Service) {
        return left;
    }
    let authorization = lineage.authorization.filter(|authorization| {
        record.grant == Some(authorization.id)
            && record.app == Some(authorization.app)
            && record.user == authorization.user
    });
    let app = lineage.app.filter(|app| record.app == Some(app.id));
    let refresh = match record.kind {
        TokenKind::Access => lineage.refresh.filter(|refresh| {
            refresh.kind == TokenKind::Refresh
                && refresh.grant == record.grant
                && refresh.user == record.user
        }),
        _ => Some(record),
    };
    let (Some(authorization), Some(app), Some(refresh)) = (authorization, app, refresh) else {
        left.scopes = ScopeSet::empty();
        left.revoked_at = Some(record.created_at);
        return left;
    };
    left.scopes = record
        .scopes
        .intersect(authorization.scopes)
        .intersect(app.scopes.set());
    left.allowed_workspaces = Some(app.allowed_workspaces());
    left.revoked_at = [
        record.revoked_at,
        refresh.revoked_at,
        authorization.revoked_at,
        app.disabled_at,
    ]
    .into_iter()
    .flatten()
    .min();
    left
}
