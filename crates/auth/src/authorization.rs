//! Authorizations: what a user lets an app do, and what that leaves of the app's tokens.
use std::time::SystemTime;

use crate::client::App;
use crate::record::TokenRecord;
use crate::scope::ScopeSet;
use crate::token::TokenKind;

/// What a user lets an app do. There is at most one live one for each user and app; a later one
/// replaces its scopes. Once revoked it stays so: authorizing the app again makes another, and
/// tokens of the old one stay dead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Authorization {
    /// Its number: the `grant` of tokens and codes.
    pub id: u64,
    /// The user.
    pub user: u64,
    /// The app.
    pub app: u64,
    /// What the user agreed to last.
    pub scopes: ScopeSet,
    /// When the user first agreed.
    pub created_at: SystemTime,
    /// When the user withdrew it.
    pub revoked_at: Option<SystemTime>,
}

/// What a token hangs on, as it is at this moment. `None` for what does not exist.
#[derive(Clone, Copy, Debug)]
pub struct Lineage<'a> {
    /// The authorization that the token's `grant` names.
    pub authorization: Option<&'a Authorization>,
    /// The app that the token was issued to.
    pub app: Option<&'a App>,
    /// The refresh token that an access token came with or was bought with.
    pub refresh: Option<&'a TokenRecord>,
}

/// A token as its lineage leaves it: what [`TokenStore::find`](crate::TokenStore::find) returns.
///
/// Scopes are cut to those that the authorization *and* the app's registration have now. The token
/// counts as revoked from the first moment at which it, its refresh token, its authorization was
/// revoked or its app was disabled; a token whose lineage is not all there or not its own never
/// lived. Its reach is where the app works now. Tokens of the other kinds have no lineage and stay as they are.
///
/// Nothing of this is stored with the token, so one write to one row changes every token below it,
/// and each change counts from the next request.
#[must_use]
pub fn as_left(record: &TokenRecord, lineage: Lineage<'_>) -> TokenRecord {
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
    left.reach = Some(app.reach());
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
