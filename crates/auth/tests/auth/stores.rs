//! The memory store meets every requirement, and stores that miss one are caught by its case.
use std::sync::Barrier;
use std::time::SystemTime;

use async_trait::async_trait;
use workgraph_auth::conformance::{CASES, OAUTH_CASES, TokenStoreCase, block_on};
use workgraph_auth::{
    Account, AuthStoreError, Login, MemoryTokenStore, Secret, SecretDigest, Tier, TokenKind,
    TokenRecord, TokenStore,
};

use crate::{at, record};

#[test]
fn the_memory_store_keeps_every_promise() {
    for (rule, case) in CASES {
        assert_eq!(block_on(case(&MemoryTokenStore::new())), Ok(()), "{rule}");
    }
    for (rule, case) in OAUTH_CASES {
        assert_eq!(block_on(case(&MemoryTokenStore::new())), Ok(()), "{rule}");
    }
}

#[test]
fn rules_have_names_of_their_own() {
    let oauth = OAUTH_CASES.iter().map(|(rule, _)| *rule);
    let mut rules: Vec<&str> = CASES.iter().map(|(rule, _)| *rule).chain(oauth).collect();
    rules.sort_unstable();
    rules.dedup();
    assert_eq!(rules.len(), CASES.len() + OAUTH_CASES.len());
}

#[test]
fn of_many_revocations_at_once_one_counts() {
    for _ in 0..50 {
        let store = MemoryTokenStore::new();
        block_on(store.put_account(Account::new(12, Tier::DEFAULT), None)).unwrap();
        block_on(store.insert_token(record(TokenKind::Personal))).unwrap();
        let barrier = Barrier::new(8);
        let revoke = |n: u64| {
            barrier.wait();
            block_on(store.revoke(5, at(n))).unwrap()
        };
        let wins: Vec<u64> = std::thread::scope(|scope| {
            let revoke = &revoke;
            let threads: Vec<_> = (0..8)
                .map(|n| (n, scope.spawn(move || revoke(n))))
                .collect();
            threads
                .into_iter()
                .filter_map(|(n, t)| t.join().unwrap().then_some(n))
                .collect()
        });
        let revoked_at = block_on(store.list(12)).unwrap()[0].revoked_at;
        assert_eq!(wins.len(), 1);
        assert_eq!(revoked_at, Some(at(wins[0])));
    }
}

/// Flaw of a store.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Flaw {
    MatchesStartOfDigest,
    ForgetsDead,
    DropsExpiry,
    RevokesTwice,
    RevokesAll,
    TouchesLastOnly,
    ListsEveryone,
    HidesDisabled,
    SetsWholeAccount,
    MatchesCase,
    KnowsNoChange,
    OffIsAPause,
}

/// The memory store with one flaw.
struct Flawed(Flaw, MemoryTokenStore);

impl Flawed {
    /// Returns every token of the users that the cases use.
    async fn all(&self) -> Result<Vec<TokenRecord>, AuthStoreError> {
        let mut all = self.1.list(1).await?;
        all.extend(self.1.list(2).await?);
        Ok(all)
    }
}

#[async_trait]
impl TokenStore for Flawed {
    async fn find_token(
        &self,
        digest: &SecretDigest,
    ) -> Result<Option<(TokenRecord, Account)>, AuthStoreError> {
        let mut digest = *digest;
        if self.0 == Flaw::MatchesStartOfDigest {
            let near = |record: &TokenRecord| record.digest.0[..8] == digest.0[..8];
            digest = self
                .all()
                .await?
                .into_iter()
                .find(near)
                .map_or(digest, |r| r.digest);
        }
        let found = self.1.find_token(&digest).await?;
        Ok(found
            .filter(|(r, _)| self.0 != Flaw::ForgetsDead || r.revoked_at.is_none())
            .map(|(record, account)| {
                let disabled = account.disabled && self.0 != Flaw::HidesDisabled;
                let pause = self.0 == Flaw::OffIsAPause && !account.disabled;
                let revoked_at = record.revoked_at.filter(|_| !pause);
                (
                    TokenRecord {
                        revoked_at,
                        ..record
                    },
                    Account {
                        disabled,
                        ..account
                    },
                )
            }))
    }

    fn version(&self) -> Option<u64> {
        (self.0 == Flaw::KnowsNoChange).then_some(1)
    }

    async fn insert_token(&self, mut record: TokenRecord) -> Result<(), AuthStoreError> {
        if self.0 == Flaw::DropsExpiry {
            record.expires_at = None;
        }
        self.1.insert_token(record).await
    }

    async fn revoke(&self, id: u64, now: SystemTime) -> Result<bool, AuthStoreError> {
        if self.0 == Flaw::RevokesAll {
            for record in self.all().await? {
                self.1.revoke(record.id, now).await?;
            }
        }
        Ok(self.1.revoke(id, now).await? || self.0 == Flaw::RevokesTwice)
    }

    async fn revoke_all(&self, user: u64, now: SystemTime) -> Result<u64, AuthStoreError> {
        self.1.revoke_all(user, now).await
    }

    async fn list(&self, user: u64) -> Result<Vec<TokenRecord>, AuthStoreError> {
        if self.0 == Flaw::ListsEveryone {
            self.all().await
        } else {
            self.1.list(user).await
        }
    }

    async fn record_token_uses(&self, used: &[(u64, SystemTime)]) -> Result<(), AuthStoreError> {
        if self.0 == Flaw::TouchesLastOnly {
            let last = used.last().copied();
            return self
                .1
                .record_token_uses(&last.into_iter().collect::<Vec<_>>())
                .await;
        }
        self.1.record_token_uses(used).await
    }

    async fn put_account(
        &self,
        account: Account,
        login: Option<Login>,
    ) -> Result<(), AuthStoreError> {
        self.1.put_account(account, login).await
    }

    async fn set_tier(&self, user: u64, tier: Tier) -> Result<(), AuthStoreError> {
        if self.0 == Flaw::SetsWholeAccount {
            return self.1.put_account(Account::new(user, tier), None).await;
        }
        self.1.set_tier(user, tier).await
    }

    async fn set_disabled(
        &self,
        user: u64,
        disabled: bool,
        now: SystemTime,
    ) -> Result<(), AuthStoreError> {
        if self.0 == Flaw::SetsWholeAccount {
            self.1.set_tier(user, Tier::DEFAULT).await?;
        }
        self.1.set_disabled(user, disabled, now).await
    }

    async fn account(&self, user: u64) -> Result<Option<Account>, AuthStoreError> {
        self.1.account(user).await
    }

    async fn login(&self, email: &str) -> Result<Option<(Account, Secret)>, AuthStoreError> {
        if self.0 == Flaw::MatchesCase && email.contains(char::is_uppercase) {
            return Ok(None);
        }
        self.1.login(email).await
    }
}

#[test]
fn every_flaw_is_caught_by_the_case_named_after_it() {
    let table = [
        (
            Flaw::MatchesStartOfDigest,
            "a token is found by its whole digest only",
        ),
        (Flaw::ForgetsDead, "dead tokens are still found"),
        (Flaw::DropsExpiry, "a record comes back as it was"),
        (Flaw::RevokesTwice, "a token is revoked once"),
        (Flaw::RevokesAll, "revoking one token leaves the others"),
        (
            Flaw::TouchesLastOnly,
            "the time of last use never moves back",
        ),
        (
            Flaw::ListsEveryone,
            "a user's tokens are listed in order of id",
        ),
        (
            Flaw::HidesDisabled,
            "a change of account reaches its tokens at once",
        ),
        (
            Flaw::SetsWholeAccount,
            "the tier of an account and its switch are set apart",
        ),
        (Flaw::OffIsAPause, "switching an account off is for good"),
        (Flaw::MatchesCase, "a login is found without regard to case"),
        (
            Flaw::KnowsNoChange,
            "a version says whether what was found is still true",
        ),
    ];
    for (flaw, rule) in table {
        let case: TokenStoreCase = CASES.iter().find(|(name, _)| *name == rule).unwrap().1;
        let outcome = block_on(case(&Flawed(flaw, MemoryTokenStore::new())));
        assert!(outcome.is_err(), "{flaw:?} passes `{rule}`");
    }
}
