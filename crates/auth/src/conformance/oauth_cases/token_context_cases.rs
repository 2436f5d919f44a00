//! Cases about the state of tokens after changes of their context.
use super::*;

pub(in crate::conformance) async fn later_scopes_cut(store: &dyn OAuthStore) -> CaseResult {
    people(store).await?;
    issued(store, 1, 100, "tasks:read openid").await?;
    for (seed, asked, left) in [
        (21, "tasks:read", "tasks:read"),
        (22, "tasks:write", ""),
        (23, "tasks:read tasks:write openid", "tasks:read openid"),
    ] {
        store.keep_consent(allow(seed, 0, asked)?).await?;
        for id in [1, 2] {
            ensure(
                works(store, id).await? == Some(set(left)?),
                &format!("tokens for tasks:read openid are cut to `{left}` by `{asked}`"),
            )?;
        }
    }
    let listed = store.list(1).await?;
    ensure(
        listed
            .iter()
            .all(|r| r.scopes.to_string() == "openid tasks:read"),
        "the list shows what find shows",
    )
}

pub(in crate::conformance) async fn registration_cuts(store: &dyn OAuthStore) -> CaseResult {
    people(store).await?;
    issued(store, 1, 100, "tasks:read openid").await?;
    let mut was = app(40)?;
    for (scopes, left) in [
        (RegisteredScopes::Only(set("openid")?), "openid"),
        (RegisteredScopes::Full, "tasks:read openid"),
        (RegisteredScopes::Only(set("users:read")?), ""),
    ] {
        let app = App {
            scopes,
            ..was.clone()
        };
        store.put_app(app.clone(), Some(&was)).await?;
        was = app;
        ensure(
            works(store, 1).await? == Some(set(left)?),
            &format!("a token is cut to `{left}` by its app's registration"),
        )?;
    }
    let off = App {
        disabled_at: Some(at(8)),
        ..was.clone()
    };
    store.put_app(off.clone(), Some(&was)).await?;
    let revoked = store
        .find_token(&digest(1))
        .await?
        .and_then(|(r, _)| r.revoked_at);
    ensure(
        revoked == Some(at(8)),
        "a disabled app's tokens are dead since then",
    )?;
    store.put_app(was, Some(&off)).await?;
    ensure(alive(store, 1).await?, "and alive when it is back")
}

pub(in crate::conformance) async fn reach_follows(store: &dyn OAuthStore) -> CaseResult {
    people(store).await?;
    issued(store, 1, 100, "tasks:read").await?;
    let mut was = app(40)?;
    for (distribution, disabled_in, reach) in [
        (vec![7, 5], vec![5], vec![7]),
        (vec![8], vec![], vec![8]),
        (vec![], vec![], vec![]),
    ] {
        let app = App {
            distribution,
            disabled_in,
            ..was.clone()
        };
        store.put_app(app.clone(), Some(&was)).await?;
        was = app;
        for token in [1, 2] {
            let found = store.find_token(&digest(token)).await?;
            let found = found.and_then(|(record, _)| record.allowed_workspaces);
            ensure(
                found.as_deref() == Some(reach.as_slice()),
                "a token reaches where its app works now",
            )?;
        }
    }
    Ok(())
}

pub(in crate::conformance) async fn deauthorized(store: &dyn OAuthStore) -> CaseResult {
    people(store).await?;
    issued(store, 1, 100, "tasks:read").await?;
    ensure(
        !store.deauthorize(100, 2, at(6)).await? && alive(store, 1).await?,
        "only the user who authorized an app deauthorizes it",
    )?;
    ensure(
        store.deauthorize(100, 1, at(6)).await?,
        "the first deauthorization reports true",
    )?;
    ensure(
        !store.deauthorize(100, 1, at(7)).await? && !store.deauthorize(77, 1, at(7)).await?,
        "a second, or one of nothing, reports false",
    )?;
    let revoked = store
        .find_token(&digest(2))
        .await?
        .and_then(|(r, _)| r.revoked_at);
    ensure(
        revoked == Some(at(6)),
        "tokens are dead since the deauthorization",
    )?;
    ensure(
        store.authorization(1, 40).await?.is_none() && store.authorizations(1).await?.is_empty(),
        "nothing stands",
    )?;
    let bought = store
        .refresh(2, access(3, 100, set("tasks:read")?), at(8))
        .await?;
    ensure(bought.is_none(), "nothing is bought any more")?;
    let again = issued(store, 11, 101, "tasks:read").await?;
    ensure(
        again == 101,
        "authorizing again makes another authorization",
    )?;
    ensure(
        !alive(store, 1).await? && !alive(store, 2).await? && alive(store, 11).await?,
        "old tokens stay dead under a new authorization",
    )
}

pub(in crate::conformance) async fn refresh_buys(store: &dyn OAuthStore) -> CaseResult {
    people(store).await?;
    issued(store, 1, 100, "tasks:read openid").await?;
    let narrow = access(3, 100, set("openid")?);
    let kept = store.refresh(2, narrow.clone(), at(6)).await?;
    ensure(kept == Some(narrow), "a bought token is kept as given")?;
    ensure(
        works(store, 3).await? == Some(set("openid")?) && alive(store, 2).await?,
        "it works, and the refresh token stays",
    )?;
    let wide = access(4, 100, set("users:read openid")?);
    let kept = store.refresh(2, wide, at(6)).await?;
    ensure(
        kept.is_some_and(|record| record.scopes.to_string() == "openid"),
        "no token is wider than its authorization",
    )?;
    let taken = access(3, 100, set("openid")?);
    ensure(
        store.refresh(2, taken, at(6)).await == Err(AuthStoreError::Conflict),
        "an id that is taken is a conflict",
    )?;
    let other = |change: fn(&mut TokenRecord)| {
        let mut record = access(5, 100, ScopeSet::empty());
        change(&mut record);
        record
    };
    for (what, refresh, record) in [
        ("an unknown token", 77, other(|_| ())),
        ("an access token", 1, other(|_| ())),
        ("another app's token", 2, other(|r| r.app = Some(41))),
        ("another user's token", 2, other(|r| r.user = 2)),
        ("another grant's token", 2, other(|r| r.grant = Some(101))),
    ] {
        ensure(
            store.refresh(refresh, record, at(6)).await?.is_none(),
            &format!("{what} buys nothing"),
        )?;
    }
    store.set_disabled(1, true, at(6)).await?;
    ensure(
        store.refresh(2, other(|_| ()), at(6)).await?.is_none(),
        "a disabled account buys nothing",
    )?;
    store.set_disabled(1, false, at(6)).await?;
    ensure(
        store.find_token(&digest(5)).await?.is_none(),
        "and nothing is kept of it",
    )
}

pub(in crate::conformance) async fn family_dies(store: &dyn OAuthStore) -> CaseResult {
    people(store).await?;
    issued(store, 1, 100, "tasks:read").await?;
    issued(store, 11, 100, "tasks:read").await?;
    store
        .refresh(2, access(3, 100, set("tasks:read")?), at(6))
        .await?;
    store
        .refresh(12, access(13, 100, set("tasks:read")?), at(6))
        .await?;
    ensure(store.revoke(2, at(7)).await?, "a refresh token is revoked")?;
    for id in [1, 2, 3] {
        let revoked = store
            .find_token(&digest(id))
            .await?
            .and_then(|(r, _)| r.revoked_at);
        ensure(
            revoked == Some(at(7)),
            "with a refresh token die the tokens that hang on it",
        )?;
    }
    for id in [11, 12, 13] {
        ensure(alive(store, id).await?, "those of another one live")?;
    }
    ensure(
        store.revoke(13, at(8)).await? && !alive(store, 13).await? && alive(store, 11).await?,
        "an access token dies alone",
    )
}

pub(in crate::conformance) async fn swept(store: &dyn OAuthStore) -> CaseResult {
    people(store).await?;
    issued(store, 1, 100, "tasks:read").await?;
    let session = BrowserSession::start(1, &[5; 32], at(0)).1;
    store.start_session(session, None).await?;
    ensure(
        store.delete_expired(at(0)).await? == 0,
        "nothing goes that is not over",
    )?;
    ensure(
        store.delete_expired(at(3_600_001)).await? == 3,
        "an access token, a code and a ticket go",
    )?;
    ensure(
        store.find_token(&digest(1)).await?.is_none() && store.code(&digest(1)).await?.is_none(),
        "what was over is gone",
    )?;
    ensure(
        alive(store, 2).await? && store.session(&session.digest).await?.is_some(),
        "what is not stays",
    )
}
