//! Requirements of stores about tokens and accounts.
use super::{SCOPES, TokenStoreFailure, at, digest_of, ensure, personal};
use crate::ports::token_store::{AuthStoreError, TokenStore};
use crate::tokens::scope::ScopeSet;
use crate::tokens::token_record::{Account, Tier, TokenRecord};
use crate::tokens::token_text::{SecretDigest, TokenKind};

/// Largest identifier that the service assigns.
const LARGEST: u64 = (1 << 53) - 1;

async fn user(store: &dyn TokenStore, user: u64) -> Result<(), AuthStoreError> {
    store
        .put_account(Account::new(user, Tier::DEFAULT), None)
        .await
}

pub(super) async fn record_comes_back(store: &dyn TokenStore) -> Result<(), TokenStoreFailure> {
    user(store, 1).await?;
    user(store, LARGEST).await?;
    let every: Vec<&str> = SCOPES.iter().map(|scope| scope.name).collect();
    let every = SCOPES
        .parse(&every.join(" "))
        .map_err(|e| TokenStoreFailure(e.to_string()))?;
    let full = TokenRecord {
        description: "Skript für «Ω» 🦀 'quoted'".to_owned(),
        last_used_at: Some(at(5)),
        ..personal(1, 1)
    };
    let service = TokenRecord::service(LARGEST, digest_of(2), LARGEST, LARGEST - 1, at(7));
    let access = TokenRecord {
        kind: TokenKind::Access,
        app: Some(8),
        grant: Some(9),
        scopes: every,
        expires_at: Some(at(3_600_000)),
        revoked_at: Some(at(11)),
        ..personal(3, 1)
    };
    let refresh = TokenRecord {
        kind: TokenKind::Refresh,
        app: Some(8),
        grant: Some(9),
        scopes: ScopeSet::empty(),
        ..personal(4, 1)
    };
    for record in [full, service, access, refresh] {
        store.insert_token(record.clone()).await?;
        let found = store.find_token(&record.digest).await?;
        let account = Account::new(record.user, Tier::DEFAULT);
        let promise = format!(
            "the {} record is found with every field as inserted",
            record.kind.name()
        );
        ensure(found == Some((record, account)), &promise)?;
    }
    Ok(())
}

pub(super) async fn whole_digest(store: &dyn TokenStore) -> Result<(), TokenStoreFailure> {
    user(store, 1).await?;
    let record = personal(1, 1);
    store.insert_token(record.clone()).await?;
    for bit in 0..256 {
        let mut other = record.digest;
        if let Some(byte) = other.0.get_mut(bit / 8) {
            *byte ^= 1 << (bit % 8);
        }
        let found = store.find_token(&other).await?;
        ensure(
            found.is_none(),
            &format!("a digest that differs in bit {bit} is another token's"),
        )?;
    }
    for other in [SecretDigest([0; 32]), SecretDigest([255; 32])] {
        ensure(
            store.find_token(&other).await?.is_none(),
            "a constant digest finds nothing",
        )?;
    }
    ensure(
        store.find_token(&record.digest).await?.is_some(),
        "the digest itself finds its token",
    )
}

pub(super) async fn taken_once(store: &dyn TokenStore) -> Result<(), TokenStoreFailure> {
    user(store, 1).await?;
    user(store, 2).await?;
    let first = personal(1, 1);
    store.insert_token(first.clone()).await?;
    let same_id = TokenRecord {
        digest: digest_of(9),
        ..personal(1, 2)
    };
    let same_digest = TokenRecord {
        digest: first.digest,
        ..personal(2, 2)
    };
    for (what, record) in [("id", same_id), ("digest", same_digest)] {
        let answer = store.insert_token(record).await;
        ensure(
            answer == Err(AuthStoreError::Conflict),
            &format!("a second token with one {what} is a conflict"),
        )?;
    }
    ensure(
        store.list(2).await?.is_empty(),
        "a conflict inserts nothing",
    )?;
    ensure(
        store.find_token(&digest_of(9)).await?.is_none(),
        "a conflict leaves no digest behind",
    )?;
    let found = store
        .find_token(&first.digest)
        .await?
        .map(|(record, _)| record);
    ensure(
        found == Some(first),
        "the first token is untouched by a conflict",
    )
}

pub(super) async fn needs_account(store: &dyn TokenStore) -> Result<(), TokenStoreFailure> {
    let record = personal(1, 1);
    let answer = store.insert_token(record.clone()).await;
    ensure(
        answer == Err(AuthStoreError::NoAccount),
        "a token of no account is refused",
    )?;
    ensure(
        store.find_token(&record.digest).await?.is_none(),
        "a refused token is not kept",
    )?;
    user(store, 1).await?;
    store.insert_token(record).await?;
    Ok(())
}

pub(super) async fn revoked_once(store: &dyn TokenStore) -> Result<(), TokenStoreFailure> {
    user(store, 1).await?;
    let record = personal(1, 1);
    store.insert_token(record.clone()).await?;
    ensure(
        !store.revoke(77, at(1)).await?,
        "revoking an unknown token reports false",
    )?;
    ensure(
        store.revoke(1, at(2)).await?,
        "the first revocation reports true",
    )?;
    ensure(
        !store.revoke(1, at(3)).await?,
        "the second revocation reports false",
    )?;
    let found = store.find_token(&record.digest).await?;
    let when = found.and_then(|(record, _)| record.revoked_at);
    ensure(
        when == Some(at(2)),
        "find shows the revocation, with the first one's time",
    )?;
    let listed = store.list(1).await?;
    ensure(
        listed.iter().all(|r| r.revoked_at == Some(at(2))),
        "list shows the revocation too",
    )
}

pub(super) async fn revokes_one(store: &dyn TokenStore) -> Result<(), TokenStoreFailure> {
    user(store, 1).await?;
    for id in 1..=3 {
        store.insert_token(personal(id, 1)).await?;
    }
    store.revoke(2, at(1)).await?;
    let dead: Vec<u64> = store
        .list(1)
        .await?
        .iter()
        .filter(|r| r.revoked_at.is_some())
        .map(|r| r.id)
        .collect();
    ensure(dead == [2], "only the token named is revoked")?;
    for id in 1..=3 {
        let one = store.find_by_id(1, id).await?;
        let all = store.list(1).await?;
        ensure(
            one.as_ref() == all.iter().find(|r| r.id == id),
            "a token by its number is the one of the list",
        )?;
    }
    let strange = [store.find_by_id(1, 4).await?, store.find_by_id(2, 1).await?];
    ensure(
        strange.iter().all(Option::is_none),
        "a number of nobody, or of another user, is no token",
    )
}

pub(super) async fn dead_found(store: &dyn TokenStore) -> Result<(), TokenStoreFailure> {
    user(store, 1).await?;
    let expired = TokenRecord {
        expires_at: Some(at(0)),
        ..personal(1, 1)
    };
    let revoked = personal(2, 1);
    store.insert_token(expired.clone()).await?;
    store.insert_token(revoked.clone()).await?;
    store.revoke(2, at(1)).await?;
    for record in [expired, revoked] {
        let found = store.find_token(&record.digest).await?;
        ensure(
            found.is_some(),
            "a dead token is found, so that the refusal can say why",
        )?;
    }
    Ok(())
}

pub(super) async fn listed_in_order(store: &dyn TokenStore) -> Result<(), TokenStoreFailure> {
    user(store, 1).await?;
    user(store, 2).await?;
    for (id, owner) in [(9, 1), (3, 1), (4, 2), (20, 1), (5, 1)] {
        store.insert_token(personal(id, owner)).await?;
    }
    store.revoke(5, at(1)).await?;
    let ids: Vec<u64> = store
        .list(1)
        .await?
        .iter()
        .map(|record| record.id)
        .collect();
    ensure(
        ids == [3, 5, 9, 20],
        "a user's own tokens, dead ones included, in order of id",
    )?;
    ensure(
        store.list(3).await?.is_empty(),
        "a user without tokens has an empty list",
    )
}

pub(super) async fn touch_forward(store: &dyn TokenStore) -> Result<(), TokenStoreFailure> {
    user(store, 1).await?;
    store.insert_token(personal(1, 1)).await?;
    store.insert_token(personal(2, 1)).await?;
    let used = async || -> Result<Vec<_>, AuthStoreError> {
        Ok(store
            .list(1)
            .await?
            .iter()
            .map(|record| record.last_used_at)
            .collect())
    };
    store.record_token_uses(&[]).await?;
    ensure(
        used().await? == [None, None],
        "touching nothing changes nothing",
    )?;
    store
        .record_token_uses(&[(77, at(9)), (1, at(5)), (2, at(6)), (1, at(4))])
        .await?;
    ensure(
        used().await? == [Some(at(5)), Some(at(6))],
        "the latest time of each token stays",
    )?;
    store.record_token_uses(&[(1, at(3)), (2, at(8))]).await?;
    ensure(
        used().await? == [Some(at(5)), Some(at(8))],
        "an earlier time is passed over",
    )
}

pub(super) async fn version_says(store: &dyn TokenStore) -> Result<(), TokenStoreFailure> {
    for round in 0..9 {
        let before = (store.version(), store.find_token(&digest_of(1)).await?);
        match round {
            0 => user(store, 1).await?,
            1 => store.insert_token(personal(1, 1)).await?,
            2 => store.set_tier(1, Tier::new(1)).await?,
            3 => store.set_disabled(1, true, at(9)).await?,
            4 => store.record_token_uses(&[(1, at(5))]).await?,
            5 => user(store, 1).await?,
            6 => drop(store.revoke(1, at(6)).await?),
            7 => user(store, 2).await?,
            _ => drop(store.account(1).await?),
        }
        let after = (store.version(), store.find_token(&digest_of(1)).await?);
        ensure(
            before.0.is_none() || before.0 != after.0 || before.1 == after.1,
            "the version changes with what is found",
        )?;
    }
    Ok(())
}
