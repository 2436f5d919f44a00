//! Rules for independent tokens, and for ending all access of a user.
use std::time::SystemTime;

use crate::ports::token_store::AuthStoreError;
use crate::rules::auth_decision::{
    AuditedAct, AuthDecision, AuthDecisionResult, AuthWrite, is_enabled,
};
use crate::tokens::token_record::{Account, TokenRecord};
use crate::tokens::token_text::TokenKind;

/// Tokens and authorizations of a user that are neither revoked nor withdrawn.
#[derive(Clone, Debug, Default)]
pub struct UserAccess {
    /// The tokens, of any kind, in the order of their ids.
    pub tokens: Vec<TokenRecord>,
    /// The app name of each authorization, in the order of the authorizations' ids; `None` if the app no longer exists.
    pub authorized_apps: Vec<Option<String>>,
}

/// Returns true if the audit log records the token itself, as it does for tokens created by users and administrators; for
/// the token of an app, the log records the user's authorization instead.
const fn is_recorded(token: &TokenRecord) -> bool {
    matches!(token.kind, TokenKind::Personal | TokenKind::Service)
}

fn revoked(token: &TokenRecord) -> Option<AuditedAct> {
    let act = |user, description| AuditedAct::TokenRevoked { user, description };
    is_recorded(token).then(|| act(token.user, token.description.clone()))
}

/// Stores a new independent token.
///
/// # Errors
/// Fails with [`AuthStoreError::NoAccount`] if its user is unknown or disabled.
pub fn insert_token(account: Option<&Account>, token: TokenRecord) -> AuthDecisionResult<()> {
    if !is_enabled(account) {
        return Err(AuthStoreError::NoAccount);
    }
    let created = AuditedAct::TokenCreated {
        user: token.user,
        description: token.description.clone(),
    };
    let decision = AuthDecision::new(()).act(is_recorded(&token).then_some(created));
    let refresh = None;
    Ok(decision.write(AuthWrite::InsertToken { token, refresh }))
}

/// Revokes a token, if it is not revoked yet. `token` is the stored record, without its context.
pub fn revoke_token(token: Option<&TokenRecord>, now: SystemTime) -> AuthDecision<bool> {
    let Some(token) = token.filter(|token| token.revoked_at.is_none()) else {
        return AuthDecision::new(false);
    };
    let (id, user) = (token.id, token.user);
    let decision = AuthDecision::new(true)
        .write(AuthWrite::RevokeToken { id, user, at: now })
        .act(revoked(token));
    match token.app.filter(|_| token.kind == TokenKind::Refresh) {
        Some(app) => decision.write(AuthWrite::DeleteOrphanedWebhooks { user, app }),
        None => decision,
    }
}

/// Revokes the tokens of a user and withdraws their authorizations; the outcome is the number of both together.
pub fn revoke_all(user: u64, access: &UserAccess, now: SystemTime) -> AuthDecision<u64> {
    let ended = access.tokens.len() + access.authorized_apps.len();
    let mut decision = AuthDecision::new(ended as u64)
        .write(AuthWrite::WithdrawAuthorizationsOf(user, now))
        .write(AuthWrite::RevokeTokensOf(user, now))
        .write(AuthWrite::DeleteWebhooksOf(user));
    decision
        .acts
        .extend(access.tokens.iter().filter_map(revoked));
    let apps = access.authorized_apps.iter().cloned();
    decision
        .acts
        .extend(apps.map(|app| AuditedAct::AppDeauthorized { user, app }));
    decision
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::test_records::{account, at, token};
    use crate::tokens::token_text::SecretDigest;

    fn personal() -> TokenRecord {
        TokenRecord {
            description: "CI".to_owned(),
            ..TokenRecord::personal(50, SecretDigest([50; 32]), 7, at(0))
        }
    }

    #[test]
    fn a_token_needs_an_enabled_account() {
        let decision = insert_token(Some(&account()), personal()).unwrap();
        assert!(matches!(
            decision.writes[..],
            [AuthWrite::InsertToken { refresh: None, .. }]
        ));
        assert_eq!(decision.acts.len(), 1);
        let off = Account {
            disabled: true,
            ..account()
        };
        for account in [None, Some(&off)] {
            let refused = insert_token(account, personal()).unwrap_err();
            assert_eq!(refused, AuthStoreError::NoAccount);
        }
    }

    #[test]
    fn a_token_is_revoked_once_and_webhooks_end_with_a_refresh_token_only() {
        let revoked = TokenRecord {
            revoked_at: Some(at(1)),
            ..personal()
        };
        for token in [None, Some(&revoked)] {
            let decision = revoke_token(token, at(2));
            assert!(!decision.outcome && decision.writes.is_empty() && decision.acts.is_empty());
        }
        let writes = |token: &TokenRecord| revoke_token(Some(token), at(2)).writes.len();
        assert_eq!(writes(&personal()), 1);
        assert_eq!(writes(&token(TokenKind::Access, 41)), 1);
        assert_eq!(writes(&token(TokenKind::Refresh, 40)), 2);
    }

    #[test]
    fn all_access_of_a_user_ends_and_what_an_app_held_is_recorded_once_by_its_name() {
        let access = UserAccess {
            tokens: vec![token(TokenKind::Refresh, 40), personal()],
            authorized_apps: vec![Some("Reports".to_owned())],
        };
        let decision = revoke_all(7, &access, at(2));
        assert_eq!(decision.outcome, 3);
        assert!(matches!(
            &decision.acts[..],
            [
                AuditedAct::TokenRevoked { description, .. },
                AuditedAct::AppDeauthorized { app: Some(app), .. },
            ] if description == "CI" && app == "Reports"
        ));
    }
}
