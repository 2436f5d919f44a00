//! Webhooks of apps: they last as long as the app has access to its user. Ending all access of a user ends all
//! webhooks of that user.
use super::*;
use workgraph_auth::authorization::user_authorization::Authorization;
use workgraph_auth::{
    App, ConsentRecord, Login, PasswordChange, RedemptionOutcome, RegisteredScopes, Secret,
    SecretDigest,
};
use workgraph_webhooks::DeliveryPermission;

/// Scope that an app needs for its webhooks.
const SCOPE: &str = "webhooks:write";

/// Ways in which an app loses its last access to a user.
const ENDS: [&str; 3] = ["deauthorized", "revoked", "replayed"];

/// Changes of a user's password and access; the first leaves the access unchanged.
const REVOKED: [&str; 4] = ["kept", "password", "all", "off"];

/// Checks an empty store of webhooks and apps: a webhook lasts as long as its app has access to its user.
///
/// # Errors
/// Fails with the first difference from the promises.
pub async fn webhooks_of_apps(
    oauth: &dyn OAuthStore,
    store: &dyn WebhookStore,
) -> Result<(), GraphStoreFailure> {
    for user in [7, 8] {
        oauth
            .put_account(Account::new(user, Tier::DEFAULT), None)
            .await?;
    }
    let put = async |id, user, app| -> Result<InsertOutcome, GraphStoreFailure> {
        Ok(store
            .insert(hook(id, user, app, 100), WebhookLimits::default())
            .await?)
    };
    same(
        &put(10, 7, Some(9)).await?,
        &InsertOutcome::NoGrant,
        "an app that nobody let in has no webhooks",
    )?;
    put(11, 7, None).await?;
    for (n, end) in (1_u64..).zip(ENDS) {
        let (mine, number) = (n * 100, n * 1_000);
        let first = let_in(oauth, number).await?;
        let second = let_in(oauth, number + 10).await?;
        same(&second.grant, &first.grant, "one authorization")?;
        put(mine, 7, Some(9)).await?;
        put(mine + 1, 7, Some(9)).await?;
        oauth.revoke(second.refresh, at(1)).await?;
        same(
            &store.delivery_permission(mine, SCOPE).await?,
            &DeliveryPermission::Active,
            "one hold of two is enough",
        )?;
        match end {
            "deauthorized" => ensure(
                !oauth.deauthorize(first.grant, 8, at(1)).await?
                    && store.get(mine).await?.is_some()
                    && oauth.deauthorize(first.grant, 7, at(1)).await?,
                "only its own user ends an authorization",
            )?,
            "revoked" => ensure(
                oauth.revoke(first.refresh, at(1)).await?,
                "a token is revoked",
            )?,
            _ => same(
                &oauth.redeem(&first.code, None, at(1)).await?,
                &RedemptionOutcome::Replayed,
                "a code is used once",
            )?,
        }
        for id in [mine, mine + 1] {
            same(
                &(
                    store.get(id).await?,
                    store.delivery_permission(id, SCOPE).await?,
                ),
                &(None, DeliveryPermission::Deleted),
                &format!("{end}: the webhooks end with the last hold"),
            )?;
        }
        same(
            &put(mine + 2, 7, Some(9)).await?,
            &InsertOutcome::NoGrant,
            &format!("{end}: none comes after it"),
        )?;
        let again = let_in(oauth, number + 20).await?;
        same(
            &store.delivery_permission(mine, SCOPE).await?,
            &DeliveryPermission::Deleted,
            "letting the app in again brings none back",
        )?;
        oauth.revoke(again.refresh, at(2)).await?;
    }
    same(
        &ids(&store.all().await?),
        &vec![11],
        "the user's own webhooks stay",
    )?;
    suspended(oauth, store).await?;
    revoked(oauth, store).await
}

/// Checks that a reversible state ends no webhook, and that nothing is sent in that state.
async fn suspended(
    oauth: &dyn OAuthStore,
    store: &dyn WebhookStore,
) -> Result<(), GraphStoreFailure> {
    let_in(oauth, 9_000).await?;
    store
        .insert(hook(20, 7, Some(9), 100), WebhookLimits::default())
        .await?;
    let standing = async |id| -> Result<DeliveryPermission, GraphStoreFailure> {
        Ok(store.delivery_permission(id, SCOPE).await?)
    };
    let app = oauth.app(9).await?;
    let app = app.ok_or_else(|| GraphStoreFailure("the app is registered".to_owned()))?;
    let off = App {
        disabled_at: Some(at(3)),
        ..(*app).clone()
    };
    let off_here = App {
        disabled_in: vec![1],
        ..(*app).clone()
    };
    let without_scope = App {
        scopes: RegisteredScopes::Only(ScopeSet::empty()),
        ..(*app).clone()
    };
    for other in [off, off_here, without_scope] {
        oauth.put_app(other.clone(), Some(&app)).await?;
        same(
            &(standing(20).await?, standing(11).await?),
            &(DeliveryPermission::Suspended, DeliveryPermission::Active),
            "an app that is switched off is told nothing",
        )?;
        oauth.put_app((*app).clone(), Some(&other)).await?;
        same(
            &standing(20).await?,
            &DeliveryPermission::Active,
            "it is on again",
        )?;
    }
    for (number, scopes, expected) in [
        (9_100, ScopeSet::empty(), DeliveryPermission::Suspended),
        (9_200, ScopeSet::full(), DeliveryPermission::Active),
    ] {
        let consent = ConsentRecord {
            ticket: SecretDigest::of(&format!("ticket {number}")),
            time: at(4),
            authorization: Authorization {
                id: number,
                user: 7,
                app: 9,
                scopes,
                created_at: at(4),
                revoked_at: None,
            },
            code: None,
        };
        oauth.keep_consent(consent).await?;
        same(
            &(standing(20).await?, standing(11).await?),
            &(expected, DeliveryPermission::Active),
            "an app is sent nothing while its user does not allow it the scope",
        )?;
    }
    oauth.set_disabled(7, true, at(9)).await?;
    same(
        &(standing(20).await?, standing(11).await?),
        &(DeliveryPermission::Deleted, DeliveryPermission::Deleted),
        "an account that is off has no webhooks",
    )
}

/// Checks that the webhooks of a user, those of apps and the user's own, end with all access of the user.
async fn revoked(
    oauth: &dyn OAuthStore,
    store: &dyn WebhookStore,
) -> Result<(), GraphStoreFailure> {
    oauth.set_disabled(7, false, at(9)).await?;
    let hash = |text: &str| Secret::new(text.to_owned());
    let login = Login::new("seven@example.com", hash("one"));
    oauth
        .put_account(Account::new(7, Tier::DEFAULT), Some(login))
        .await?;
    let change = |before, after, revoke| PasswordChange {
        user: 7,
        before: hash(before),
        after: hash(after),
        keep_session: None,
        revoke_tokens_at: revoke,
    };
    store
        .insert(hook(30, 8, None, 100), WebhookLimits::default())
        .await?;
    for (n, end) in (1_u64..).zip(REVOKED) {
        let_in(oauth, 20_000 + 100 * n).await?;
        let (own, of_app) = (30 + 10 * n, 31 + 10 * n);
        for hook in [hook(own, 7, None, 100), hook(of_app, 7, Some(9), 100)] {
            let kept = store.insert(hook, WebhookLimits::default()).await?;
            ensure(
                matches!(kept, InsertOutcome::Done(_)),
                "who is on again makes webhooks anew",
            )?;
        }
        match end {
            "kept" => ensure(
                oauth.change_password(change("one", "two", None)).await?,
                "a password is changed",
            )?,
            "password" => ensure(
                oauth
                    .change_password(change("two", "three", Some(at(10))))
                    .await?,
                "a password is changed",
            )?,
            "all" => ensure(
                oauth.revoke_all(7, at(11)).await? > 0,
                "there is access to revoke",
            )?,
            _ => {
                for disabled in [true, false] {
                    oauth.set_disabled(7, disabled, at(12)).await?;
                }
            }
        }
        let left = if end == "kept" {
            vec![30, own, of_app]
        } else {
            vec![30]
        };
        same(&ids(&store.all().await?), &left, end)?;
    }
    Ok(())
}
