//! Rules for redeeming authorization codes.
use std::time::SystemTime;

use crate::authorization::authorization_code::AuthorizationCode;
use crate::authorization::registered_app::App;
use crate::authorization::user_authorization::{Authorization, TokenContext, effective_record};
use crate::ports::oauth_store::{IssuedTokens, RedemptionOutcome};
use crate::rules::auth_decision::{AuthDecision, AuthWrite, is_enabled};
use crate::tokens::token_record::Account;

/// Code with the records on which its redemption depends.
#[derive(Clone, Debug)]
pub struct CodeContext {
    /// The code to redeem.
    pub code: AuthorizationCode,
    /// Its authorization, live or not.
    pub authorization: Option<Authorization>,
    /// Its app, even if it is disabled.
    pub app: Option<App>,
    /// The account of its user, even if it is disabled.
    pub account: Option<Account>,
}

impl CodeContext {
    /// Returns the authorization and the app, if tokens may be issued for the code: the authorization is live and belongs to
    /// the user and the app of the code, and both are enabled.
    fn issuers(&self) -> Option<(&Authorization, &App)> {
        let code = &self.code;
        let authorization = self.authorization.as_ref().filter(|live| {
            live.revoked_at.is_none() && (live.user, live.app) == (code.user, code.app)
        })?;
        let app = self.app.as_ref().filter(|app| app.disabled_at.is_none())?;
        is_enabled(self.account.as_ref()).then_some((authorization, app))
    }
}

/// Redeems an authorization code: spends it, and issues the tokens, if any are given and everything on which they depend is live.
///
/// A spent code that comes again is a replay, and revokes the refresh token for which it was redeemed (RFC 6749, section
/// 4.1.2). The exception is a retry by the client that spent it: tokens are only given with a checked request, which
/// contained the verifier, and the code [may be repeated](AuthorizationCode::may_be_repeated).
pub fn redeem(
    context: Option<&CodeContext>,
    tokens: Option<IssuedTokens>,
    now: SystemTime,
) -> AuthDecision<RedemptionOutcome> {
    let Some(context) = context else {
        return AuthDecision::new(RedemptionOutcome::Unknown);
    };
    let code = &context.code;
    let (user, app) = (code.user, code.app);
    if code.used_at.is_some() {
        let is_repeated = tokens.is_some() && code.may_be_repeated(now);
        let replayed = AuthDecision::new(RedemptionOutcome::Replayed);
        return match code.refresh.filter(|_| !is_repeated) {
            Some(id) => replayed
                .write(AuthWrite::RevokeToken { id, user, at: now })
                .write(AuthWrite::DeleteOrphanedWebhooks { user, app }),
            None => replayed,
        };
    }
    let spend = |refresh| AuthWrite::SpendCode {
        code: code.digest,
        at: now,
        refresh,
    };
    let (Some(IssuedTokens { access, refresh }), Some((authorization, app))) =
        (tokens, context.issuers())
    else {
        return AuthDecision::new(RedemptionOutcome::Spent).write(spend(None));
    };
    let ancestors = TokenContext {
        authorization: Some(authorization),
        app: Some(app),
        refresh: Some(&refresh),
    };
    let issued = Box::new(effective_record(&access, ancestors));
    let id = refresh.id;
    let insert = |token| AuthWrite::InsertToken {
        token,
        refresh: Some(id),
    };
    AuthDecision::new(RedemptionOutcome::Issued(issued))
        .write(spend(Some(id)))
        .write(insert(refresh))
        .write(insert(access))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::test_records::{account, app, at, authorization, code, tokens};

    fn context() -> CodeContext {
        CodeContext {
            code: code(),
            authorization: Some(authorization()),
            app: Some(app()),
            account: Some(account()),
        }
    }

    fn spent(at: SystemTime) -> CodeContext {
        let mut context = context();
        (context.code.used_at, context.code.refresh) = (Some(at), Some(40));
        context
    }

    #[test]
    fn a_code_is_spent_and_both_tokens_are_stored_under_the_refresh_token() {
        let decision = redeem(Some(&context()), Some(tokens()), at(2));
        assert!(matches!(decision.outcome, RedemptionOutcome::Issued(access) if access.id == 41));
        let [spend, refresh, access] = &decision.writes[..] else {
            panic!("{:?}", decision.writes);
        };
        assert!(matches!(
            spend,
            AuthWrite::SpendCode {
                refresh: Some(40),
                ..
            }
        ));
        for (write, id) in [(refresh, 40), (access, 41)] {
            assert!(
                matches!(write, AuthWrite::InsertToken { token, refresh: Some(40) } if token.id == id)
            );
        }
    }

    #[test]
    fn a_code_without_tokens_or_without_a_live_authorization_app_or_account_is_only_spent() {
        let changes: [fn(&mut CodeContext); 7] = [
            |context| context.authorization = None,
            |context| context.authorization.as_mut().unwrap().revoked_at = Some(at(1)),
            |context| context.authorization.as_mut().unwrap().user = 8,
            |context| context.app = None,
            |context| context.app.as_mut().unwrap().disabled_at = Some(at(1)),
            |context| context.account = None,
            |context| context.account.as_mut().unwrap().disabled = true,
        ];
        let changed = changes.map(|change| {
            let mut context = context();
            change(&mut context);
            redeem(Some(&context), Some(tokens()), at(2))
        });
        let without_tokens = redeem(Some(&context()), None, at(2));
        for decision in changed.into_iter().chain([without_tokens]) {
            assert_eq!(decision.outcome, RedemptionOutcome::Spent);
            let [AuthWrite::SpendCode { refresh: None, .. }] = decision.writes[..] else {
                panic!("{:?}", decision.writes);
            };
        }
    }

    /// A replayed code revokes the refresh token (RFC 6749, section 4.1.2).
    #[test]
    fn a_replay_revokes_the_refresh_token_for_which_the_code_was_redeemed() {
        // Too late for a retry, and at once but without the verifier.
        for (tokens, now) in [(Some(tokens()), at(60)), (None, at(3))] {
            let decision = redeem(Some(&spent(at(2))), tokens, now);
            assert_eq!(decision.outcome, RedemptionOutcome::Replayed);
            let revoked = AuthWrite::RevokeToken {
                id: 40,
                user: 7,
                at: now,
            };
            assert_eq!(format!("{:?}", decision.writes[0]), format!("{revoked:?}"));
        }
    }

    #[test]
    fn a_request_that_was_sent_twice_revokes_nothing_and_gets_nothing() {
        let decision = redeem(Some(&spent(at(2))), Some(tokens()), at(3));
        assert_eq!(decision.outcome, RedemptionOutcome::Replayed);
        assert!(decision.writes.is_empty());
    }

    #[test]
    fn an_unknown_code_changes_nothing() {
        let decision = redeem(None, Some(tokens()), at(2));
        assert_eq!(decision.outcome, RedemptionOutcome::Unknown);
        assert!(decision.writes.is_empty());
    }
}
