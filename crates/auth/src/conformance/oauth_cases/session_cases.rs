//! Cases about browser sessions and logins.
use std::net::IpAddr;
use std::time::Duration;

use super::*;
use crate::ports::oauth_store::PasswordChange;
use crate::tokens::token_record::Login;
use crate::tokens::token_text::Secret;

fn login(email: &str, hash: &str) -> Option<Login> {
    Some(Login::new(email, Secret::new(hash.to_owned())))
}

/// Starts a session of a user at `at(millis)`.
async fn begun(
    store: &dyn OAuthStore,
    user: u64,
    seed: u8,
    millis: u64,
) -> Result<BrowserSession, TokenStoreFailure> {
    let session = BrowserSession::start(user, &[seed; 32], at(millis)).1;
    store.start_session(session, None).await?;
    Ok(session)
}

pub(in crate::conformance) async fn sessions(store: &dyn OAuthStore) -> CaseResult {
    people(store).await?;
    let start = |user, seed: u8| BrowserSession::start(user, &[seed; 32], at(0)).1;
    let all = [start(1, 1), start(1, 2), start(2, 3)];
    for session in all {
        store.start_session(session, None).await?;
    }
    ensure(
        store.start_session(start(1, 1), None).await == Err(AuthStoreError::Conflict),
        "a session is taken once",
    )?;
    ensure(
        store.start_session(start(9, 4), None).await == Err(AuthStoreError::NoAccount),
        "nobody has no session",
    )?;
    for session in all {
        let account = Account::new(session.user, Tier::DEFAULT);
        ensure(
            store.session(&session.digest).await? == Some((session, account)),
            "a session comes back with its account",
        )?;
    }
    let [first, second, other] = all.map(|session| session.digest);
    ensure(
        store.end_sessions(1, Some(first)).await? == 1,
        "sessions that end are counted",
    )?;
    ensure(
        store.session(&second).await?.is_none() && store.session(&first).await?.is_some(),
        "all sessions of a user end, but one",
    )?;
    store.end_session(&first).await?;
    store.end_session(&first).await?;
    ensure(
        store.session(&first).await?.is_none() && store.session(&other).await?.is_some(),
        "a session ends, and only that",
    )
}

pub(in crate::conformance) async fn logins_back_off(store: &dyn OAuthStore) -> CaseResult {
    let (key, other) = (SecretDigest([1; 32]), SecretDigest([2; 32]));
    for _ in 0..5 {
        ensure(
            store.attempt_login(&key, at(0)).await?.is_none(),
            "the first attempts go ahead",
        )?;
    }
    let second = Some(Duration::from_secs(1));
    for _ in 0..2 {
        ensure(
            store.attempt_login(&key, at(0)).await? == second,
            "the next one waits a second, and waiting does not count",
        )?;
    }
    ensure(
        store.attempt_login(&other, at(0)).await?.is_none(),
        "other keys are not concerned",
    )?;
    ensure(
        store.attempt_login(&key, at(1000)).await?.is_none()
            && store.attempt_login(&key, at(1000)).await? == second.map(|wait| wait * 2),
        "the wait over, one goes ahead, and the wait doubles",
    )?;
    store.clear_login_attempts(&key).await?;
    ensure(
        store.attempt_login(&key, at(1000)).await?.is_none(),
        "a success forgets all",
    )
}

pub(in crate::conformance) async fn last_use(store: &dyn OAuthStore) -> CaseResult {
    people(store).await?;
    let later = begun(store, 1, 1, 9).await?;
    let first = begun(store, 1, 2, 5).await?.used_from([10, 0, 0, 7].into());
    begun(store, 2, 3, 7).await?;
    let (near, far) = (
        IpAddr::from([10, 0, 0, 7]),
        IpAddr::from([0, 0, 0, 0, 0, 0, 0, 1]),
    );
    store.touch_session(&first.digest, near, at(5)).await?;
    ensure(
        store.sessions(1).await? == [first, later],
        "the sessions of a user are listed from the first on",
    )?;
    for (from, millis) in [(near, 60), (far, 70), (near, 65)] {
        store.touch_session(&first.digest, from, at(millis)).await?;
    }
    store.touch_session(&digest(9), near, at(70)).await?;
    let used = BrowserSession {
        last_used_at: at(70),
        address: Some(far),
        ..first
    };
    ensure(
        store.session(&first.digest).await?.map(|found| found.0) == Some(used)
            && store.sessions(1).await? == [used, later],
        "the last use counts, and what comes late does not move it back",
    )
}

pub(in crate::conformance) async fn login_ends_sessions(store: &dyn OAuthStore) -> CaseResult {
    people(store).await?;
    let account = Account::new(1, Tier::DEFAULT);
    store
        .put_account(account, login("ada@example.com", "one"))
        .await?;
    let other = begun(store, 2, 9, 0).await?;
    let replacements = [
        (login("ada@example.com", "two"), true),
        (login("countess@example.com", "two"), true),
        (login("countess@example.com", "two"), false),
        (None, false),
    ];
    for (seed, (login, ends)) in (1..).zip(replacements) {
        let session = begun(store, 1, seed, 0).await?;
        store.put_account(account, login).await?;
        ensure(
            store.session(&session.digest).await?.is_none() == ends,
            "a session ends with the login it began by, and with nothing else",
        )?;
    }
    ensure(
        store.session(&other.digest).await?.is_some(),
        "nobody else's session ends",
    )
}

pub(in crate::conformance) async fn password_changed(store: &dyn OAuthStore) -> CaseResult {
    people(store).await?;
    let account = Account::new(1, Tier::DEFAULT);
    ensure(
        store.login_of(1).await?.is_none(),
        "there is no login until there is one",
    )?;
    store
        .put_account(account, login("ada@example.com", "one"))
        .await?;
    let (here, there) = (begun(store, 1, 1, 0).await?, begun(store, 1, 2, 0).await?);
    let change = |before: &str, after: &str| PasswordChange {
        user: 1,
        before: Secret::new(before.to_owned()),
        after: Secret::new(after.to_owned()),
        keep_session: Some(here.digest),
        revoke_tokens_at: None,
    };
    ensure(
        !store.change_password(change("none", "two")).await?
            && !store
                .change_password(PasswordChange {
                    user: 2,
                    ..change("one", "two")
                })
                .await?
            && store.sessions(1).await?.len() == 2,
        "a hash that is not there is not replaced",
    )?;
    ensure(
        store.change_password(change("one", "two")).await?
            && !store.change_password(change("one", "three")).await?,
        "a hash is replaced once",
    )?;
    let kept = store.login_of(1).await?;
    let kept = kept.map(|login| (login.email().to_owned(), login.hash().expose().to_owned()));
    ensure(
        kept == Some(("ada@example.com".to_owned(), "two".to_owned())),
        "the address stays, and the hash is the new one",
    )?;
    ensure(
        store.session(&here.digest).await?.is_some()
            && store.session(&there.digest).await?.is_none(),
        "all sessions end but the one to keep",
    )?;
    issued(store, 10, 60, "tasks:read").await?;
    store.change_password(change("two", "three")).await?;
    ensure(alive(store, 10).await?, "tokens go on")?;
    let revoking = PasswordChange {
        revoke_tokens_at: Some(at(6)),
        ..change("three", "four")
    };
    ensure(
        store.change_password(revoking).await?
            && !alive(store, 10).await?
            && !alive(store, 11).await?
            && store.session(&here.digest).await?.is_some(),
        "unless they are to be revoked",
    )
}

pub(in crate::conformance) async fn old_password_starts_none(store: &dyn OAuthStore) -> CaseResult {
    people(store).await?;
    let account = Account::new(1, Tier::DEFAULT);
    let start = |seed: u8| BrowserSession::start(1, &[seed; 32], at(0)).1;
    let [one, two] = ["one", "two"].map(|hash| Secret::new(hash.to_owned()));
    ensure(
        store.start_session(start(1), Some(&one)).await == Err(AuthStoreError::NoAccount),
        "without a login no password starts a session",
    )?;
    store
        .put_account(account, login("ada@example.com", "one"))
        .await?;
    store.start_session(start(2), Some(&one)).await?;
    let change = PasswordChange {
        user: 1,
        before: one.clone(),
        after: two.clone(),
        keep_session: None,
        revoke_tokens_at: None,
    };
    ensure(
        store.change_password(change).await?
            && store.start_session(start(3), Some(&one)).await == Err(AuthStoreError::NoAccount)
            && store.sessions(1).await?.is_empty(),
        "a password that was replaced starts no session",
    )?;
    store.start_session(start(3), Some(&two)).await?;
    ensure(
        store.sessions(1).await? == [start(3)],
        "the one in its place does",
    )
}

pub(in crate::conformance) async fn off_ends_all(store: &dyn OAuthStore) -> CaseResult {
    people(store).await?;
    let (own, other) = (begun(store, 1, 1, 0).await?, begun(store, 2, 2, 0).await?);
    issued(store, 10, 60, "tasks:read").await?;
    store.keep_consent(allow(20, 61, "tasks:read")?).await?;
    let code = store.code(&digest(20)).await?;
    let code =
        code.ok_or_else(|| TokenStoreFailure("a code that was allowed is kept".to_owned()))?;
    store.set_disabled(1, true, at(6)).await?;
    ensure(
        store
            .start_session(BrowserSession::start(1, &[3; 32], at(6)).1, None)
            .await
            == Err(AuthStoreError::NoAccount),
        "who is off starts no session",
    )?;
    store.set_disabled(1, false, at(7)).await?;
    ensure(
        store.session(&own.digest).await?.is_none()
            && store.session(&other.digest).await?.is_some(),
        "the sessions of one who was off are over, and nobody else's",
    )?;
    ensure(
        !alive(store, 10).await? && !alive(store, 11).await?,
        "what apps had is dead",
    )?;
    ensure(
        store.authorizations(1).await?.is_empty() && store.authorization(1, 40).await?.is_none(),
        "no authorization stands",
    )?;
    let late = store
        .redeem(&digest(20), Some(tokens(20, &code)), at(8))
        .await?;
    ensure(
        late == RedemptionOutcome::Spent,
        "a code from before is worth nothing",
    )?;
    issued(store, 30, 62, "tasks:read").await?;
    ensure(
        alive(store, 30).await?,
        "who is on again can authorize apps anew",
    )
}
