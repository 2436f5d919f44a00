//! The cases about browser sessions and logins.
use std::time::Duration;

use super::*;

pub(in crate::conformance) async fn sessions(store: &dyn OAuthStore) -> Done {
    people(store).await?;
    let start = |user, seed: u8| Session::start(user, &[seed; 32], at(0)).1;
    let all = [start(1, 1), start(1, 2), start(2, 3)];
    for session in all {
        store.start_session(session).await?;
    }
    ensure(
        store.start_session(start(1, 1)).await == Err(StoreError::Conflict),
        "a session is taken once",
    )?;
    ensure(
        store.start_session(start(9, 4)).await == Err(StoreError::NoAccount),
        "nobody has no session",
    )?;
    for session in all {
        let account = Account::new(session.user, Tier::Free);
        ensure(
            store.session(&session.digest).await? == Some((session, account)),
            "a session comes back with its account",
        )?;
    }
    let [first, second, other] = all.map(|session| session.digest);
    store.end_sessions(1, Some(first)).await?;
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

pub(in crate::conformance) async fn logins_back_off(store: &dyn OAuthStore) -> Done {
    let (key, other) = (Digest([1; 32]), Digest([2; 32]));
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
    store.forgive_login(&key).await?;
    ensure(
        store.attempt_login(&key, at(1000)).await?.is_none(),
        "a success forgets all",
    )
}
