//! Rules of issuing access tokens for refresh tokens.
use std::time::SystemTime;

use crate::authorization::registered_app::App;
use crate::authorization::user_authorization::{Authorization, TokenContext, effective_record};
use crate::rules::auth_decision::{AuthDecision, AuthWrite};
use crate::tokens::grant::is_alive;
use crate::tokens::token_record::{Account, TokenRecord};
use crate::tokens::token_text::TokenKind;

/// Records on which an issued token depends.
#[derive(Clone, Debug)]
pub struct TokenAncestors {
    /// The authorization, live or not.
    pub authorization: Option<Authorization>,
    /// The app, even if it is disabled.
    pub app: Option<App>,
    /// The refresh token, live or not.
    pub refresh: Option<TokenRecord>,
}

impl TokenAncestors {
    /// Returns the effective record of a token.
    #[must_use]
    pub fn effective(&self, record: &TokenRecord) -> TokenRecord {
        let context = TokenContext {
            authorization: self.authorization.as_ref(),
            app: self.app.as_ref(),
            refresh: self.refresh.as_ref(),
        };
        effective_record(record, context)
    }
}

/// Refresh token with the records on which it depends.
#[derive(Clone, Debug)]
pub struct RefreshTokenContext {
    effective: TokenRecord,
    /// The account of its user.
    account: Account,
    /// The records on which the token, and each access token issued for it, depend.
    ancestors: TokenAncestors,
}

impl RefreshTokenContext {
    /// Returns the context of a stored token.
    #[must_use]
    pub fn new(stored: &TokenRecord, account: Account, ancestors: TokenAncestors) -> Self {
        Self {
            effective: ancestors.effective(stored),
            account,
            ancestors,
        }
    }

    /// Issues an access token, and returns its effective record; `None` if this is not a live refresh token of the same
    /// user, app and authorization. The refresh token stays live.
    pub fn issue(
        context: Option<&Self>,
        access: TokenRecord,
        now: SystemTime,
    ) -> AuthDecision<Option<TokenRecord>> {
        let is_issuer = |context: &&Self| {
            let token = &context.effective;
            token.kind == TokenKind::Refresh
                && (token.user, token.app, token.grant) == (access.user, access.app, access.grant)
                && is_alive(token, &context.account, now).is_ok()
        };
        let Some(context) = context.filter(is_issuer) else {
            return AuthDecision::new(None);
        };
        let issued = context.ancestors.effective(&access);
        AuthDecision::new(Some(issued)).write(AuthWrite::InsertToken {
            token: access,
            refresh: Some(context.effective.id),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::test_records::{account, app, at, authorization, token};

    fn context(refresh: &TokenRecord) -> RefreshTokenContext {
        let ancestors = TokenAncestors {
            authorization: Some(authorization()),
            app: Some(app()),
            refresh: Some(refresh.clone()),
        };
        RefreshTokenContext::new(refresh, account(), ancestors)
    }

    #[test]
    fn an_access_token_is_stored_under_its_refresh_token() {
        let (refresh, access) = (token(TokenKind::Refresh, 40), token(TokenKind::Access, 41));
        let decision = RefreshTokenContext::issue(Some(&context(&refresh)), access, at(3));
        assert_eq!(decision.outcome.unwrap().id, 41);
        assert!(matches!(
            &decision.writes[..],
            [AuthWrite::InsertToken { token, refresh: Some(40) }] if token.id == 41
        ));
    }

    #[test]
    fn only_a_live_refresh_token_of_the_same_user_app_and_authorization_issues_a_token() {
        let refresh = token(TokenKind::Refresh, 40);
        let changes: [fn(&mut RefreshTokenContext); 7] = [
            |context| context.effective.kind = TokenKind::Access,
            |context| context.effective.user = 8,
            |context| context.effective.app = Some(21),
            |context| context.effective.grant = Some(31),
            |context| context.effective.revoked_at = Some(at(1)),
            |context| context.effective.expires_at = Some(at(3)),
            |context| context.account.disabled = true,
        ];
        for change in changes {
            let mut context = context(&refresh);
            change(&mut context);
            let access = token(TokenKind::Access, 41);
            let decision = RefreshTokenContext::issue(Some(&context), access, at(3));
            assert_eq!(decision.outcome, None);
            assert!(decision.writes.is_empty());
        }
    }
}
