//! Rules for accounts and their logins.
use std::time::SystemTime;

use crate::authorization::browser_session::BrowserSession;
use crate::ports::oauth_store::PasswordChange;
use crate::rules::auth_decision::{AuditedAct, AuthDecision, AuthWrite};
use crate::rules::session_rules::end_sessions;
use crate::rules::token_rules::{UserAccess, revoke_all};
use crate::tokens::token_record::{Account, Login, Tier};

/// Drops the outcome of a decision.
fn done<T>(decision: AuthDecision<T>) -> AuthDecision<()> {
    AuthDecision {
        outcome: (),
        writes: decision.writes,
        acts: decision.acts,
    }
}

/// Creates an account, or sets the tier of the existing one; and stores a login, if one is given. `before` is the stored
/// account and login; `sessions` are the sessions of the user, which end if the login changes.
pub fn put_account(
    before: (Option<&Account>, Option<&Login>),
    sessions: &[BrowserSession],
    account: Account,
    login: Option<Login>,
) -> AuthDecision<()> {
    let (stored, stored_login) = before;
    let new = Account {
        disabled: stored.map_or(account.disabled, |stored| stored.disabled),
        ..account
    };
    let mut decision = AuthDecision::new(());
    if stored != Some(&new) {
        decision = decision.write(AuthWrite::PutAccount(new));
    }
    let Some(login) = login else {
        return decision;
    };
    let user = account.user;
    let same_hash = stored_login.is_some_and(|stored| stored.has_hash(login.hash()));
    let same_email = stored_login.is_some_and(|stored| stored.email() == login.email());
    if same_hash && same_email {
        return decision;
    }
    let is_changed = stored_login.is_some() && !same_hash;
    decision
        .write(AuthWrite::PutLogin(user, login))
        .act(is_changed.then_some(AuditedAct::PasswordChanged(user)))
        .and(done(end_sessions(user, sessions, None)))
}

/// Changes the tier of an account, or creates one. The decision reads nothing: whatever else happens to the account at the same
/// time, only its tier is set.
pub fn set_tier(user: u64, tier: Tier) -> AuthDecision<()> {
    AuthDecision::new(()).write(AuthWrite::SetTier(user, tier))
}

/// Disables or enables an account, or creates one. A disabled account has no session, no token and no app.
pub fn set_disabled(
    stored: Option<&Account>,
    (access, sessions): (&UserAccess, &[BrowserSession]),
    (user, disabled): (u64, bool),
    now: SystemTime,
) -> AuthDecision<()> {
    let before = stored.map(|stored| stored.disabled);
    let account = stored.copied();
    let account = account.unwrap_or_else(|| Account::new(user, Tier::DEFAULT));
    let new = Account {
        disabled,
        ..account
    };
    let act = match (before, disabled) {
        (Some(false), true) => Some(AuditedAct::AccountDisabled(user)),
        (Some(true), false) => Some(AuditedAct::AccountEnabled(user)),
        _ => None,
    };
    let decision = AuthDecision::new(())
        .write(AuthWrite::PutAccount(new))
        .act(act);
    if !disabled {
        return decision;
    }
    decision
        .and(done(revoke_all(user, access, now)))
        .and(done(end_sessions(user, sessions, None)))
}

/// Replaces the hash of a login, if it is still the hash of the password that its owner has entered. Ends the other sessions
/// of the user and, if the change says so, all access.
pub fn change_password(
    login: Option<&Login>,
    (access, sessions): (&UserAccess, &[BrowserSession]),
    change: &PasswordChange,
) -> AuthDecision<bool> {
    if !login.is_some_and(|login| login.has_hash(&change.before)) {
        return AuthDecision::new(false);
    }
    let user = change.user;
    let decision = AuthDecision::new(true)
        .write(AuthWrite::PutPasswordHash(user, change.after.clone()))
        .act(AuditedAct::PasswordChanged(user))
        .and(done(end_sessions(user, sessions, change.keep_session)));
    match change.revoke_tokens_at {
        Some(now) => decision.and(done(revoke_all(user, access, now))),
        None => decision,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::test_records::{account, at, session};
    use crate::tokens::token_text::Secret;

    fn login(email: &str, hash: &str) -> Login {
        Login::new(email, Secret::new(hash.to_owned()))
    }

    #[test]
    fn a_login_that_changes_ends_the_sessions_and_only_a_changed_hash_is_a_changed_password() {
        let before = login("ada@example.com", "one");
        let sessions = [session(1)];
        let acts = |new: Login| {
            let stored = account();
            let before = (Some(&stored), Some(&before));
            put_account(before, &sessions, account(), Some(new)).acts
        };
        let (changed, out) = (AuditedAct::PasswordChanged(7), AuditedAct::SignedOut(7));
        assert_eq!(
            acts(login("ada@example.com", "two")),
            [changed, out.clone()]
        );
        assert_eq!(acts(login("ada@example.org", "one")), [out]);
        assert_eq!(acts(login("Ada@Example.com", "one")), []);
    }

    #[test]
    fn an_existing_account_keeps_its_switch_and_an_equal_one_is_not_written() {
        let off = Account {
            disabled: true,
            ..account()
        };
        let put =
            |stored, tier| put_account((stored, None), &[], Account::new(7, tier), None).writes;
        let writes = put(Some(&off), Tier::new(2));
        assert!(matches!(
            writes[..],
            [AuthWrite::PutAccount(Account { disabled: true, tier, .. })] if tier == Tier::new(2)
        ));
        assert!(put(Some(&off), off.tier).is_empty());
        assert_eq!(put(None, Tier::DEFAULT).len(), 1);
    }

    #[test]
    fn a_disabled_account_loses_access_and_sessions_and_each_switch_is_recorded_once() {
        let (access, sessions) = (UserAccess::default(), [session(1)]);
        let set = |stored: Option<&Account>, disabled| {
            set_disabled(stored, (&access, &sessions), (7, disabled), at(1))
        };
        let (on, off) = (
            account(),
            Account {
                disabled: true,
                ..account()
            },
        );
        let disabled = set(Some(&on), true);
        assert_eq!(
            disabled.acts,
            [AuditedAct::AccountDisabled(7), AuditedAct::SignedOut(7)]
        );
        assert!(disabled.writes.len() > 3);
        assert_eq!(set(Some(&off), false).acts, [AuditedAct::AccountEnabled(7)]);
        assert_eq!(set(Some(&on), false).acts, []);
        assert_eq!(set(None, false).writes.len(), 1);
    }

    #[test]
    fn a_password_changes_only_from_the_one_that_was_entered() {
        let current = login("ada@example.com", "one");
        let sessions = [session(1), session(2)];
        let change = |before: &str, revoke_tokens_at| PasswordChange {
            user: 7,
            before: Secret::new(before.to_owned()),
            after: Secret::new("two".to_owned()),
            keep_session: Some(sessions[0].digest),
            revoke_tokens_at,
        };
        let access = UserAccess::default();
        let decide =
            |change: &PasswordChange| change_password(Some(&current), (&access, &sessions), change);
        let refused = decide(&change("other", Some(at(1))));
        assert!(!refused.outcome && refused.writes.is_empty() && refused.acts.is_empty());
        let kept = decide(&change("one", None));
        assert!(kept.outcome && kept.acts.len() == 2 && kept.writes.len() == 2);
        assert!(decide(&change("one", Some(at(1)))).writes.len() > 2);
    }
}
