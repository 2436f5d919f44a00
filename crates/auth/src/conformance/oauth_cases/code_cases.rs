//! Cases about redeeming codes.
use super::*;

pub(in crate::conformance) async fn redeemed_once(store: &dyn OAuthStore) -> CaseResult {
    people(store).await?;
    issued(store, 1, 100, "tasks:read").await?;
    let spent = store.code(&digest(1)).await?;
    ensure(
        spent.is_some_and(|code| code.used_at == Some(at(5)) && code.refresh == Some(2)),
        "a redeemed code says when and for what",
    )?;
    let (found, _) = store.find_token(&digest(2)).await?.unzip();
    let expected = tokens(
        1,
        &AuthorizationCode {
            grant: 100,
            ..code(1, "tasks:read")?
        },
    );
    ensure(
        found == Some(expected.refresh),
        "the refresh token is found as given",
    )?;
    let (found, _) = store.find_token(&digest(1)).await?.unzip();
    ensure(
        found == Some(expected.access),
        "the access token is found as given",
    )?;
    let more = tokens(11, &code(1, "tasks:read")?);
    ensure(
        store.redeem(&digest(1), Some(more), at(6)).await? == RedemptionOutcome::Replayed,
        "a second redemption is a replay",
    )?;
    ensure(
        store.find_token(&digest(11)).await?.is_none()
            && store.find_token(&digest(12)).await?.is_none(),
        "a replay issues nothing",
    )?;
    ensure(
        store.redeem(&digest(9), None, at(6)).await? == RedemptionOutcome::Unknown,
        "an unknown code is unknown",
    )
}

pub(in crate::conformance) async fn replay_kills(store: &dyn OAuthStore) -> CaseResult {
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

/// Checks concurrent redemptions. Two requests for one code can both be checked before either is
/// written. The code's challenge shows whether the second request comes from the sender of the
/// first.
pub(in crate::conformance) async fn repeated(store: &dyn OAuthStore) -> CaseResult {
    people(store).await?;
    issued(store, 1, 100, "tasks:read").await?;
    let mut bare = allow(11, 100, "tasks:read")?;
    if let Some(code) = &mut bare.code {
        code.challenge = None;
    }
    store.keep_consent(bare).await?;
    let kept = AuthorizationCode {
        grant: 100,
        ..code(11, "tasks:read")?
    };
    let first = Some(tokens(11, &kept));
    store.redeem(&digest(11), first, at(5)).await?;
    for id in [1, 11] {
        let second = Some(tokens(id + 20, &kept));
        ensure(
            store.redeem(&digest(id), second, at(6)).await? == RedemptionOutcome::Replayed,
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

pub(in crate::conformance) async fn burned(store: &dyn OAuthStore) -> CaseResult {
    people(store).await?;
    store.keep_consent(allow(1, 100, "tasks:read")?).await?;
    ensure(
        store.redeem(&digest(1), None, at(5)).await? == RedemptionOutcome::Spent,
        "a code is spent without tokens",
    )?;
    let kept = AuthorizationCode {
        grant: 100,
        ..code(1, "tasks:read")?
    };
    ensure(
        store
            .redeem(&digest(1), Some(tokens(1, &kept)), at(6))
            .await?
            == RedemptionOutcome::Replayed,
        "then it is spent",
    )?;
    ensure(
        store.find_token(&digest(1)).await?.is_none(),
        "a spent code brings nothing",
    )
}

pub(in crate::conformance) async fn redeem_conflict(store: &dyn OAuthStore) -> CaseResult {
    people(store).await?;
    issued(store, 1, 100, "tasks:read").await?;
    store.keep_consent(allow(11, 100, "tasks:read")?).await?;
    let kept = AuthorizationCode {
        grant: 100,
        ..code(11, "tasks:read")?
    };
    let mut same_id = tokens(11, &kept);
    same_id.refresh.id = 1;
    let mut same_digest = tokens(11, &kept);
    same_digest.access.digest = digest(2);
    for tokens in [same_id, same_digest] {
        ensure(
            store.redeem(&digest(11), Some(tokens), at(6)).await == Err(AuthStoreError::Conflict),
            "an id or digest that is taken is a conflict",
        )?;
    }
    ensure(
        store.find_token(&digest(11)).await?.is_none()
            && store.find_token(&digest(12)).await?.is_none(),
        "a conflict keeps no token",
    )?;
    let outcome = store
        .redeem(&digest(11), Some(tokens(11, &kept)), at(6))
        .await?;
    ensure(
        matches!(outcome, RedemptionOutcome::Issued(_)),
        "and leaves the code unspent",
    )
}

pub(in crate::conformance) async fn redeem_needs_grant(store: &dyn OAuthStore) -> CaseResult {
    people(store).await?;
    store.keep_consent(allow(11, 100, "tasks:read")?).await?;
    store.keep_consent(allow(21, 100, "tasks:read")?).await?;
    let kept = |seed, grant| {
        Ok::<_, TokenStoreFailure>(AuthorizationCode {
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
    // A new consent after a withdrawal creates another authorization: codes of the old one stay dead.
    store.keep_consent(allow(31, 101, "tasks:read")?).await?;
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
            .all(|o| *o == RedemptionOutcome::Spent),
        "a code is worth nothing without its account, app and authorization",
    )?;
    for id in [1, 2, 11, 12, 21, 22] {
        ensure(
            store.find_token(&digest(id)).await?.is_none(),
            "and no token is kept for it",
        )?;
    }
    Ok(())
}
