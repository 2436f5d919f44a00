//! The cases about redeeming codes.
use super::*;

pub(in crate::conformance) async fn redeemed_once(store: &dyn OAuthStore) -> Done {
    people(store).await?;
    issued(store, 1, 100, "tasks:read").await?;
    let spent = store.code(&digest(1)).await?;
    ensure(
        spent.is_some_and(|code| code.used_at == Some(at(5)) && code.refresh == Some(2)),
        "a redeemed code says when and for what",
    )?;
    let (found, _) = store.find(&digest(2)).await?.unzip();
    let expected = tokens(
        1,
        &Code {
            grant: 100,
            ..code(1, "tasks:read")?
        },
    );
    ensure(
        found == Some(expected.refresh),
        "the refresh token is found as given",
    )?;
    let (found, _) = store.find(&digest(1)).await?.unzip();
    ensure(
        found == Some(expected.access),
        "the access token is found as given",
    )?;
    let more = tokens(11, &code(1, "tasks:read")?);
    ensure(
        store.redeem(&digest(1), Some(more), at(6)).await? == Redeemed::Replayed,
        "a second redemption is a replay",
    )?;
    ensure(
        store.find(&digest(11)).await?.is_none() && store.find(&digest(12)).await?.is_none(),
        "a replay issues nothing",
    )?;
    ensure(
        store.redeem(&digest(9), None, at(6)).await? == Redeemed::Unknown,
        "an unknown code is unknown",
    )
}

pub(in crate::conformance) async fn replay_kills(store: &dyn OAuthStore) -> Done {
    people(store).await?;
    issued(store, 1, 100, "tasks:read").await?;
    issued(store, 11, 100, "tasks:read").await?;
    let bought = access(3, 100, set("tasks:read")?);
    store.refresh(2, bought, at(6)).await?;
    ensure(alive(store, 3).await?, "a bought token works")?;
    store.redeem(&digest(1), None, at(7)).await?;
    for id in 1..=3 {
        ensure(
            !alive(store, id).await?,
            "everything that came from a replayed code is dead",
        )?;
    }
    ensure(
        alive(store, 11).await? && alive(store, 12).await?,
        "what came from another code lives",
    )?;
    ensure(
        store.authorization(1, 40).await?.is_some(),
        "the authorization stands",
    )
}

/// Two requests for one code can both be judged before either is written. The code's challenge tells
/// whether the second comes from whoever sent the first.
pub(in crate::conformance) async fn repeated(store: &dyn OAuthStore) -> Done {
    people(store).await?;
    issued(store, 1, 100, "tasks:read").await?;
    let mut bare = allow(11, 100, "tasks:read")?;
    if let Some(code) = &mut bare.code {
        code.challenge = None;
    }
    store.allow(bare).await?;
    let kept = Code {
        grant: 100,
        ..code(11, "tasks:read")?
    };
    let first = Some(tokens(11, &kept));
    store.redeem(&digest(11), first, at(5)).await?;
    for id in [1, 11] {
        let second = Some(tokens(id + 20, &kept));
        ensure(
            store.redeem(&digest(id), second, at(6)).await? == Redeemed::Replayed,
            "what comes second gets nothing",
        )?;
    }
    ensure(
        alive(store, 1).await? && alive(store, 2).await?,
        "a repeat that has shown its verifier kills nothing",
    )?;
    ensure(
        !alive(store, 11).await? && !alive(store, 12).await?,
        "without a challenge it is a replay",
    )
}

pub(in crate::conformance) async fn burned(store: &dyn OAuthStore) -> Done {
    people(store).await?;
    store.allow(allow(1, 100, "tasks:read")?).await?;
    ensure(
        store.redeem(&digest(1), None, at(5)).await? == Redeemed::Spent,
        "a code is spent without tokens",
    )?;
    let kept = Code {
        grant: 100,
        ..code(1, "tasks:read")?
    };
    ensure(
        store
            .redeem(&digest(1), Some(tokens(1, &kept)), at(6))
            .await?
            == Redeemed::Replayed,
        "then it is spent",
    )?;
    ensure(
        store.find(&digest(1)).await?.is_none(),
        "a spent code brings nothing",
    )
}

pub(in crate::conformance) async fn redeem_conflict(store: &dyn OAuthStore) -> Done {
    people(store).await?;
    issued(store, 1, 100, "tasks:read").await?;
    store.allow(allow(11, 100, "tasks:read")?).await?;
    let kept = Code {
        grant: 100,
        ..code(11, "tasks:read")?
    };
    let mut same_id = tokens(11, &kept);
    same_id.refresh.id = 1;
    let mut same_digest = tokens(11, &kept);
    same_digest.access.digest = digest(2);
    for tokens in [same_id, same_digest] {
        ensure(
            store.redeem(&digest(11), Some(tokens), at(6)).await == Err(StoreError::Conflict),
            "an id or digest that is taken is a conflict",
        )?;
    }
    ensure(
        store.find(&digest(11)).await?.is_none() && store.find(&digest(12)).await?.is_none(),
        "a conflict keeps no token",
    )?;
    let outcome = store
        .redeem(&digest(11), Some(tokens(11, &kept)), at(6))
        .await?;
    ensure(
        matches!(outcome, Redeemed::Issued(_)),
        "and leaves the code unspent",
    )
}

pub(in crate::conformance) async fn redeem_needs_grant(store: &dyn OAuthStore) -> Done {
    people(store).await?;
    store.allow(allow(11, 100, "tasks:read")?).await?;
    store.allow(allow(21, 100, "tasks:read")?).await?;
    let kept = |seed, grant| {
        Ok::<_, Failure>(Code {
            grant,
            ..code(seed, "tasks:read")?
        })
    };
    let disabled = App {
        disabled_at: Some(at(5)),
        ..app(40)?
    };
    store.put_app(disabled.clone(), Some(&app(40)?)).await?;
    let app_off = store
        .redeem(&digest(11), Some(tokens(11, &kept(11, 100)?)), at(6))
        .await?;
    store.put_app(app(40)?, Some(&disabled)).await?;
    store.deauthorize(100, 1, at(5)).await?;
    // A new authorization is another one: codes of the old stay dead.
    store.allow(allow(31, 101, "tasks:read")?).await?;
    let gone = store
        .redeem(&digest(21), Some(tokens(21, &kept(21, 100)?)), at(6))
        .await?;
    store.set_disabled(1, true, at(6)).await?;
    let user_off = store
        .redeem(&digest(31), Some(tokens(1, &kept(31, 101)?)), at(6))
        .await?;
    ensure(
        [user_off, app_off, gone]
            .iter()
            .all(|o| *o == Redeemed::Spent),
        "a code is worth nothing without its account, app and authorization",
    )?;
    for id in [1, 2, 11, 12, 21, 22] {
        ensure(
            store.find(&digest(id)).await?.is_none(),
            "and no token is kept for it",
        )?;
    }
    Ok(())
}
