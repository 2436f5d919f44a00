//! Rules of redeeming authorization codes.
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
    /// The code.
    pub code: AuthorizationCode,
    /// Its authorization, live or not.
    pub authorization: Option<Authorization>,
    /// Its app, even if it is disabled.
    pub app: Option<App>,
    /// The account of its user, even if it is disabled.
    pub account: Option<Account>,
}

impl CodeContext {
    /// Returns the authorization and the app, if tokens may be issued for the code: the authorization is live and that of the user
    /// and the app of the code, and both are enabled.
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
/// 4.1.2), unless the client that spent it has sent its request twice: tokens are only given with a checked request, which has
/// shown the verifier, and the code [may be repeated](AuthorizationCode::may_be_repeated).
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
