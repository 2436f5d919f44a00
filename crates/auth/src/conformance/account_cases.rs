//! Cases about accounts and logins.
use super::{TokenStoreFailure, at, ensure, personal};
use crate::ports::token_store::{AuthStoreError, TokenStore};
use crate::tokens::token_record::{Account, Login, Tier};
use crate::tokens::token_text::Secret;

fn login(email: &str, hash: &str) -> Option<Login> {
    Some(Login::new(email, Secret::new(hash.to_owned())))
}

/// Returns the user and the password hash of an e-mail address.
async fn behind(
    store: &dyn TokenStore,
    email: &str,
) -> Result<Option<(u64, String)>, AuthStoreError> {
    let found = store.login(email).await?;
    Ok(found.map(|(account, hash)| (account.user, hash.expose().to_owned())))
}

pub(super) async fn last_put(store: &dyn TokenStore) -> Result<(), TokenStoreFailure> {
    ensure(
        store.account(1).await?.is_none(),
        "an unknown user has no account",
    )?;
    let first = Account::new(1, Tier::DEFAULT);
    for account in [first, Account::new(1, Tier::new(1)), first] {
        store.put_account(account, None).await?;
        ensure(
            store.account(1).await? == Some(account),
            "an account reads as last put",
        )?;
    }
    ensure(
        store.account(2).await?.is_none(),
        "putting one account makes no other",
    )?;
    let off = Account {
        disabled: true,
        ..Account::new(2, Tier::DEFAULT)
    };
    store.put_account(off, None).await?;
    ensure(
        store.account(2).await? == Some(off),
        "an account can be off from the start",
    )?;
    store
        .put_account(Account::new(2, Tier::new(1)), None)
        .await?;
    store
        .put_account(
            Account {
                disabled: true,
                ..first
            },
            None,
        )
        .await?;
    let tier = Tier::new(1);
    ensure(
        (store.account(1).await?, store.account(2).await?)
            == (Some(first), Some(Account { tier, ..off })),
        "putting an account that is there switches it neither off nor on",
    )
}

pub(super) async fn reaches_tokens(store: &dyn TokenStore) -> Result<(), TokenStoreFailure> {
    let account = Account::new(1, Tier::DEFAULT);
    store.put_account(account, None).await?;
    store
        .put_account(Account::new(2, Tier::DEFAULT), None)
        .await?;
    store.insert_token(personal(1, 1)).await?;
    store.insert_token(personal(2, 1)).await?;
    store.insert_token(personal(3, 2)).await?;
    let changed = Account {
        tier: Tier::new(1),
        disabled: true,
        ..account
    };
    store.put_account(changed, None).await?;
    store.set_disabled(1, true, at(1)).await?;
    for (id, expected) in [
        (1, changed),
        (2, changed),
        (3, Account::new(2, Tier::DEFAULT)),
    ] {
        let found = store
            .find_token(&personal(id, 0).digest)
            .await?
            .map(|(_, account)| account);
        ensure(
            found == Some(expected),
            "find shows the account as it is now",
        )?;
    }
    Ok(())
}

pub(super) async fn set_apart(store: &dyn TokenStore) -> Result<(), TokenStoreFailure> {
    store.set_tier(1, Tier::new(1)).await?;
    store.set_disabled(2, true, at(1)).await?;
    let mut paid = Account::new(1, Tier::new(1));
    let off = Account {
        disabled: true,
        ..Account::new(2, Tier::DEFAULT)
    };
    ensure(
        (store.account(1).await?, store.account(2).await?) == (Some(paid), Some(off)),
        "what is set of an unknown user makes an account",
    )?;
    store
        .put_account(paid, login("ada@example.com", "1"))
        .await?;
    store.insert_token(personal(1, 1)).await?;
    let digest = personal(1, 0).digest;
    for (tier, disabled) in [
        (Tier::new(1), true),
        (Tier::DEFAULT, true),
        (Tier::new(1), true),
        (Tier::new(1), false),
    ] {
        // Each round makes one of the two changes.
        if tier == paid.tier {
            store.set_disabled(1, disabled, at(2)).await?;
        } else {
            store.set_tier(1, tier).await?;
        }
        (paid.tier, paid.disabled) = (tier, disabled);
        let seen = store.find_token(&digest).await?.map(|(_, account)| account);
        ensure(
            store.account(1).await? == Some(paid) && seen == Some(paid),
            "what is set changes nothing else, and reaches tokens at once",
        )?;
    }
    ensure(
        behind(store, "ada@example.com").await? == Some((1, "1".to_owned())),
        "what is set leaves the login",
    )
}

pub(super) async fn login_folds_case(store: &dyn TokenStore) -> Result<(), TokenStoreFailure> {
    store
        .put_account(
            Account::new(1, Tier::DEFAULT),
            login("Ada@Example.com", "hash-1"),
        )
        .await?;
    store
        .put_account(Account::new(2, Tier::DEFAULT), None)
        .await?;
    let ada = Some((1, "hash-1".to_owned()));
    for email in [
        "Ada@Example.com",
        "ada@example.com",
        "ADA@EXAMPLE.COM",
        " ada@example.com ",
    ] {
        ensure(
            behind(store, email).await? == ada,
            "an address is found in any case",
        )?;
    }
    for email in [
        "",
        "ada",
        "ada@example.co",
        "ada@example.com.",
        "%",
        "_da@example.com",
    ] {
        ensure(
            behind(store, email).await?.is_none(),
            "no other address is found",
        )?;
    }
    store.set_disabled(1, true, at(1)).await?;
    let found = store.login("ada@example.com").await?;
    ensure(
        found.is_some_and(|(account, _)| account.disabled),
        "a disabled account is found as such",
    )
}

pub(super) async fn address_is_unique(store: &dyn TokenStore) -> Result<(), TokenStoreFailure> {
    let first = Account::new(1, Tier::DEFAULT);
    let second = Account::new(2, Tier::DEFAULT);
    store
        .put_account(first, login("ada@example.com", "hash-1"))
        .await?;
    let answer = store
        .put_account(second, login("ADA@example.com", "hash-2"))
        .await;
    ensure(
        answer == Err(AuthStoreError::Conflict),
        "another account's address is a conflict",
    )?;
    ensure(
        store.account(2).await?.is_none(),
        "a conflict makes no account",
    )?;
    let ada = Some((1, "hash-1".to_owned()));
    ensure(
        behind(store, "ada@example.com").await? == ada,
        "the first account keeps its address",
    )?;
    store
        .put_account(first, login("ada@example.com", "hash-3"))
        .await?;
    let ada = Some((1, "hash-3".to_owned()));
    ensure(
        behind(store, "ada@example.com").await? == ada,
        "one's own address is no conflict",
    )
}

pub(super) async fn login_is_kept(store: &dyn TokenStore) -> Result<(), TokenStoreFailure> {
    let account = Account::new(1, Tier::DEFAULT);
    store
        .put_account(account, login("ada@example.com", "hash-1"))
        .await?;
    store
        .put_account(
            Account {
                tier: Tier::new(1),
                ..account
            },
            None,
        )
        .await?;
    let ada = Some((1, "hash-1".to_owned()));
    ensure(
        behind(store, "ada@example.com").await? == ada,
        "a put without a login leaves it",
    )?;
    store
        .put_account(account, login("countess@example.com", "hash-2"))
        .await?;
    ensure(
        behind(store, "ada@example.com").await?.is_none(),
        "a replaced address is gone",
    )?;
    let new = Some((1, "hash-2".to_owned()));
    ensure(
        behind(store, "countess@example.com").await? == new,
        "the new address is found",
    )?;
    let second = Account::new(2, Tier::DEFAULT);
    store
        .put_account(second, login("ada@example.com", "hash-3"))
        .await?;
    let taken = Some((2, "hash-3".to_owned()));
    ensure(
        behind(store, "ada@example.com").await? == taken,
        "a replaced address is free again",
    )
}

pub(super) async fn revoked_at_once(store: &dyn TokenStore) -> Result<(), TokenStoreFailure> {
    for user in [1, 2] {
        store
            .put_account(Account::new(user, Tier::DEFAULT), None)
            .await?;
    }
    for (id, user) in [(1, 1), (2, 1), (3, 2)] {
        store.insert_token(personal(id, user)).await?;
    }
    store.revoke(1, at(1)).await?;
    ensure(
        store.revoke_all(1, at(2)).await? == 1 && store.revoke_all(1, at(3)).await? == 0,
        "each token is ended once",
    )?;
    for (id, revoked_at) in [(1, Some(at(1))), (2, Some(at(2))), (3, None)] {
        let found = store.find_token(&personal(id, 0).digest).await?;
        ensure(
            found.is_some_and(|(record, _)| record.revoked_at == revoked_at),
            "all tokens of a user are revoked, and nobody else's",
        )?;
    }
    Ok(())
}

pub(super) async fn off_for_good(store: &dyn TokenStore) -> Result<(), TokenStoreFailure> {
    for user in [1, 2] {
        store
            .put_account(Account::new(user, Tier::DEFAULT), None)
            .await?;
    }
    store.insert_token(personal(1, 1)).await?;
    store.insert_token(personal(3, 2)).await?;
    store.set_disabled(1, true, at(5)).await?;
    ensure(
        store.insert_token(personal(2, 1)).await == Err(AuthStoreError::NoAccount),
        "who is off gets no token",
    )?;
    store.set_disabled(1, false, at(6)).await?;
    for (id, revoked_at) in [(1, Some(at(5))), (3, None)] {
        let found = store.find_token(&personal(id, 0).digest).await?;
        ensure(
            found.is_some_and(|(record, _)| record.revoked_at == revoked_at),
            "a token of one who was off stays dead, and nobody else's dies",
        )?;
    }
    store.insert_token(personal(2, 1)).await?;
    let found = store.find_token(&personal(2, 0).digest).await?;
    ensure(
        found.is_some_and(|(record, _)| record.revoked_at.is_none()),
        "who is on again gets new tokens",
    )
}
