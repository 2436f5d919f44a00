//! Rules of consents, codes and authorizations.
use crate::authorization::authorization_code::AuthorizationCode;
use crate::authorization::registered_app::App;
use crate::authorization::user_authorization::Authorization;
use crate::ports::oauth_store::ConsentRecord;
use crate::ports::token_store::AuthStoreError;
use crate::rules::auth_decision::{
    AuditedAct, AuthDecision, AuthDecisionResult, AuthWrite, is_enabled,
};
use crate::tokens::token_record::Account;
use std::time::SystemTime;

/// Records on which a consent or a code depends.
#[derive(Clone, Debug, Default)]
pub struct ConsentContext {
    /// The account of the user.
    pub account: Option<Account>,
    /// The app, even if it is disabled.
    pub app: Option<App>,
    /// The live authorization of the app by the user.
    pub authorization: Option<Authorization>,
}

impl ConsentContext {
    /// Returns the app, if it and the account of the user are enabled.
    fn enabled_app(&self) -> Result<&App, AuthStoreError> {
        if !is_enabled(self.account.as_ref()) {
            return Err(AuthStoreError::NoAccount);
        }
        let enabled = self.app.as_ref().filter(|app| app.disabled_at.is_none());
        enabled.ok_or(AuthStoreError::Conflict)
    }
}

/// Stores a code of a silent request under the live authorization of its user and app.
///
/// # Errors
/// Fails with [`AuthStoreError::NoAccount`] if the user is unknown or disabled, and with [`AuthStoreError::Conflict`] if the app
/// is, or the authorization does not cover the scopes.
pub fn keep_code(
    context: ConsentContext,
    mut code: AuthorizationCode,
) -> AuthDecisionResult<Authorization> {
    context.enabled_app()?;
    let authorization = context
        .authorization
        .filter(|authorization| authorization.scopes.covers(code.scopes))
        .ok_or(AuthStoreError::Conflict)?;
    code.grant = authorization.id;
    Ok(AuthDecision::new(authorization).write(AuthWrite::InsertCode(code)))
}

/// Stores the consent of a user: the live authorization gets the new scopes, or there is a new one.
///
/// # Errors
/// Fails with [`AuthStoreError::NoAccount`] if the user is unknown or disabled, and with [`AuthStoreError::Conflict`] if the app
/// is.
pub fn keep_consent(
    context: ConsentContext,
    consent: ConsentRecord,
) -> AuthDecisionResult<Authorization> {
    let app = context.enabled_app()?.name.clone();
    let (new, before) = (consent.authorization, context.authorization);
    let user = new.user;
    let is_changed = before
        .as_ref()
        .is_none_or(|before| before.scopes != new.scopes);
    let (authorization, write) = match before {
        Some(before) => {
            let write = AuthWrite::SetScopes(before.id, new.scopes);
            let scopes = new.scopes;
            (Authorization { scopes, ..before }, write)
        }
        None => (new.clone(), AuthWrite::InsertAuthorization(new)),
    };
    let code = consent.code.map(|code| {
        AuthWrite::InsertCode(AuthorizationCode {
            grant: authorization.id,
            ..code
        })
    });
    let act = AuditedAct::AppAuthorized { user, app };
    let mut decision = AuthDecision::new(authorization)
        .write(AuthWrite::InsertTicket(consent.ticket, consent.time))
        .write(write)
        .act(is_changed.then_some(act));
    decision.writes.extend(code);
    Ok(decision)
}

/// Withdraws an authorization, if it is live and of this user. `app_name` is the name of its app, if that still exists.
pub fn deauthorize(
    authorization: Option<&Authorization>,
    app_name: Option<String>,
    user: u64,
    now: SystemTime,
) -> AuthDecision<bool> {
    let live = authorization.filter(|live| live.user == user && live.revoked_at.is_none());
    let Some(Authorization { id, app: of, .. }) = live.cloned() else {
        return AuthDecision::new(false);
    };
    AuthDecision::new(true)
        .write(AuthWrite::WithdrawAuthorization { id, user, at: now })
        .write(AuthWrite::DeleteOrphanedWebhooks { user, app: of })
        .act(AuditedAct::AppDeauthorized {
            user,
            app: app_name,
        })
}
