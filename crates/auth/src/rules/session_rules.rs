//! Rules for starting and ending browser sessions.
use crate::authorization::browser_session::BrowserSession;
use crate::ports::token_store::AuthStoreError;
use crate::rules::auth_decision::{
    AuditedAct, AuthDecision, AuthDecisionResult, AuthWrite, is_enabled,
};
use crate::tokens::token_record::{Account, Login};
use crate::tokens::token_text::{Secret, SecretDigest};

/// Stores a new session. If a hash is given, the user's login must have it: otherwise the password that was checked against
/// it is no longer valid.
///
/// # Errors
/// Fails with [`AuthStoreError::NoAccount`] if the user is unknown or disabled, or the hash differs.
pub fn start_session(
    account: Option<&Account>,
    login: Option<&Login>,
    session: BrowserSession,
    hash: Option<&Secret>,
) -> AuthDecisionResult<()> {
    let is_current = |hash: &Secret| login.is_some_and(|login| login.has_hash(hash));
    if !is_enabled(account) || !hash.is_none_or(is_current) {
        return Err(AuthStoreError::NoAccount);
    }
    let decision = AuthDecision::new(()).write(AuthWrite::InsertSession(session));
    Ok(decision.act(AuditedAct::SignedIn(session.user)))
}

/// Ends a session, if it exists.
pub fn end_session(session: Option<&BrowserSession>) -> AuthDecision<()> {
    let decision = AuthDecision::new(());
    match session {
        Some(session) => decision
            .write(AuthWrite::DeleteSession(session.digest))
            .act(AuditedAct::SignedOut(session.user)),
        None => decision,
    }
}

/// Ends the sessions of a user except one, and returns their number.
pub fn end_sessions(
    user: u64,
    sessions: &[BrowserSession],
    but: Option<SecretDigest>,
) -> AuthDecision<u64> {
    let mut ended = sessions
        .iter()
        .filter(|session| Some(session.digest) != but);
    let number = ended.by_ref().count();
    let mut decision = AuthDecision::new(number as u64);
    if number > 0 {
        decision = decision.write(AuthWrite::DeleteSessionsOf(user, but));
        decision
            .acts
            .extend(std::iter::repeat_n(AuditedAct::SignedOut(user), number));
    }
    decision
}

/// Records a failed sign-in as a user.
pub fn failed_sign_in(user: u64) -> AuthDecision<()> {
    AuthDecision::new(()).act(AuditedAct::SignInFailed(user))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::test_records::{account, session};

    #[test]
    fn a_session_starts_only_for_an_enabled_account_with_the_hash_that_was_checked() {
        let hash = Secret::new("hash".to_owned());
        let login = Login::new("ada@example.com", hash.clone());
        let (on, off) = (
            account(),
            Account {
                disabled: true,
                ..account()
            },
        );
        let start = |account, login, hash| start_session(account, login, session(1), hash);
        assert!(start(Some(&on), Some(&login), Some(&hash)).is_ok());
        assert!(start(Some(&on), None, None).is_ok());
        let other = Secret::new("other".to_owned());
        for refused in [
            start(Some(&off), Some(&login), Some(&hash)),
            start(None, Some(&login), Some(&hash)),
            start(Some(&on), Some(&login), Some(&other)),
            start(Some(&on), None, Some(&hash)),
        ] {
            assert_eq!(refused.unwrap_err(), AuthStoreError::NoAccount);
        }
    }

    #[test]
    fn each_session_that_ends_is_recorded_and_the_kept_one_stays() {
        let sessions = [session(1), session(2), session(3)];
        let decision = end_sessions(7, &sessions, Some(sessions[1].digest));
        assert_eq!((decision.outcome, decision.acts.len()), (2, 2));
        assert_eq!(decision.writes.len(), 1);
        let none = end_sessions(7, &sessions[1..2], Some(sessions[1].digest));
        assert!(none.outcome == 0 && none.writes.is_empty() && none.acts.is_empty());
        assert!(end_session(None).acts.is_empty());
        assert_eq!(
            end_session(Some(&sessions[0])).acts,
            [AuditedAct::SignedOut(7)]
        );
    }
}
