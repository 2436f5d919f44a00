//! Rules for consents, codes and authorizations.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::test_records::{account, app, at, authorization, code};
    use crate::tokens::scope::ScopeSet;
    use crate::tokens::token_text::SecretDigest;

    fn context(authorization: Option<Authorization>) -> ConsentContext {
        ConsentContext {
            account: Some(account()),
            app: Some(app()),
            authorization,
        }
    }

    fn consent(scopes: ScopeSet) -> ConsentRecord {
        ConsentRecord {
            ticket: SecretDigest([9; 32]),
            time: at(5),
            authorization: Authorization {
                id: 31,
                scopes,
                ..authorization()
            },
            code: Some(code()),
        }
    }

    #[test]
    fn a_first_consent_spends_the_ticket_and_stores_the_authorization_and_the_code_under_it() {
        let decision = keep_consent(context(None), consent(ScopeSet::full())).unwrap();
        assert_eq!(decision.outcome.id, 31);
        assert!(matches!(
            &decision.writes[..],
            [
                AuthWrite::InsertTicket(..),
                AuthWrite::InsertAuthorization(_),
                AuthWrite::InsertCode(code),
            ] if code.grant == 31
        ));
        assert_eq!(decision.acts.len(), 1);
    }

    #[test]
    fn a_later_consent_replaces_the_scopes_of_the_authorization_and_is_recorded_if_they_differ() {
        for (scopes, acts) in [(ScopeSet::full(), 0), (ScopeSet::empty(), 1)] {
            let decision = keep_consent(context(Some(authorization())), consent(scopes)).unwrap();
            assert_eq!((decision.outcome.id, decision.acts.len()), (30, acts));
            assert!(matches!(decision.writes[1], AuthWrite::SetScopes(30, _)));
            assert!(matches!(&decision.writes[2], AuthWrite::InsertCode(code) if code.grant == 30));
        }
    }

    #[test]
    fn a_silent_request_needs_an_authorization_that_covers_its_scopes() {
        let live = context(Some(authorization()));
        assert_eq!(keep_code(live, code()).unwrap().outcome.id, 30);
        let narrow = Authorization {
            scopes: ScopeSet::empty(),
            ..authorization()
        };
        for authorization in [None, Some(narrow)] {
            let refused = keep_code(context(authorization), code()).unwrap_err();
            assert_eq!(refused, AuthStoreError::Conflict);
        }
    }

    #[test]
    fn a_disabled_account_or_app_gets_neither_consent_nor_code() {
        let mut no_account = context(Some(authorization()));
        no_account.account.as_mut().unwrap().disabled = true;
        let mut no_app = context(Some(authorization()));
        no_app.app.as_mut().unwrap().disabled_at = Some(at(1));
        let expected = [AuthStoreError::NoAccount, AuthStoreError::Conflict];
        for (context, expected) in [no_account, no_app].into_iter().zip(expected) {
            assert_eq!(keep_code(context.clone(), code()).unwrap_err(), expected);
            let refused = keep_consent(context, consent(ScopeSet::full()));
            assert_eq!(refused.unwrap_err(), expected);
        }
    }

    #[test]
    fn only_its_user_withdraws_a_live_authorization() {
        let live = authorization();
        let ended = deauthorize(Some(&live), None, 7, at(6));
        assert!(ended.outcome && ended.writes.len() == 2 && ended.acts.len() == 1);
        let withdrawn = Authorization {
            revoked_at: Some(at(5)),
            ..authorization()
        };
        for (authorization, user) in [(Some(&live), 8), (Some(&withdrawn), 7), (None, 7)] {
            let decision = deauthorize(authorization, None, user, at(6));
            assert!(!decision.outcome && decision.writes.is_empty() && decision.acts.is_empty());
        }
    }
}
