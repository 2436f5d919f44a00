//! Tokens, accounts and logins, in the same file and through the same writer.
use crate::session::{Session, gid};
use crate::sql::Sql;
use crate::store::SqliteStore;
use async_trait::async_trait;
use rusqlite::{ErrorCode, Row};
use std::sync::Arc;
use std::time::SystemTime;
use workgraph_auth::record::fold_email;
use workgraph_auth::{
    Account, Digest, Login, ScopeSet, Secret, StoreError, Tier, TokenKind, TokenRecord, TokenStore,
};
use workgraph_core::graph;
use workgraph_core::time::Time;

/// A token with its account, as the cache keeps it.
pub(crate) type Found = Arc<(TokenRecord, Account)>;

/// One change to tokens or accounts.
pub(crate) enum TokenChange {
    Insert(TokenRecord),
    Revoke(u64, SystemTime),
    Touch(Vec<(u64, SystemTime)>),
    PutAccount(Account, Option<Login>),
}

impl TokenChange {
    /// Makes the change; true if it changed anything.
    pub(crate) fn apply(&self, session: &mut Session<'_>) -> Result<bool, StoreError> {
        let changed = match self {
            Self::Insert(record) => insert(session, record),
            Self::Revoke(id, now) => session
                .run(Sql::RevokeToken, (number(*id)?, millis(*now)))
                .map(|n| n > 0)
                .map_err(refused),
            Self::Touch(used) => {
                let mut any = false;
                for (id, at) in used {
                    any |= session
                        .run(Sql::TouchToken, (number(*id)?, millis(*at)))
                        .map_err(refused)?
                        > 0;
                }
                Ok(any)
            }
            Self::PutAccount(account, login) => put_account(session, account, login.as_ref()),
        }?;
        session.tokens |= changed;
        Ok(changed)
    }
}

fn insert(session: &mut Session<'_>, record: &TokenRecord) -> Result<bool, StoreError> {
    let user = number(record.user)?;
    if session
        .one(Sql::Account, [user], |_| Ok(()))
        .map_err(refused)?
        .is_none()
    {
        return Err(StoreError::NoAccount);
    }
    let maybe = |n: Option<u64>| n.map(number).transpose();
    let params = rusqlite::params![
        number(record.id)?,
        record.digest.0,
        record.kind.name(),
        user,
        maybe(record.app)?,
        maybe(record.grant)?,
        maybe(record.workspace)?,
        record.scopes.to_string(),
        record.description,
        millis(record.created_at),
        record.expires_at.map(millis),
        record.revoked_at.map(millis),
        record.last_used_at.map(millis),
    ];
    session.run(Sql::InsertToken, params).map_err(refused)?;
    Ok(true)
}

fn put_account(
    session: &mut Session<'_>,
    account: &Account,
    login: Option<&Login>,
) -> Result<bool, StoreError> {
    let user = number(account.user)?;
    let paid = account.tier == Tier::Paid;
    session
        .run(Sql::PutAccount, (user, paid, account.disabled))
        .map_err(refused)?;
    if let Some(login) = login {
        // An address that another account has is a broken constraint: a conflict.
        session
            .run(Sql::PutLogin, (user, login.email(), login.hash().expose()))
            .map_err(refused)?;
    }
    Ok(true)
}

fn refused(error: rusqlite::Error) -> StoreError {
    match error.sqlite_error_code() {
        Some(ErrorCode::ConstraintViolation) => StoreError::Conflict,
        _ => StoreError::Unavailable(error.to_string()),
    }
}

fn unavailable(error: graph::StoreError) -> StoreError {
    StoreError::Unavailable(error.to_string())
}

fn number(n: u64) -> Result<i64, StoreError> {
    i64::try_from(n).map_err(|_| StoreError::Unavailable(format!("{n} is too large to be kept")))
}

fn millis(at: SystemTime) -> i64 {
    Time::from_system(at).millis()
}

fn time(row: &Row<'_>, at: usize) -> rusqlite::Result<SystemTime> {
    row.get(at).map(|ms| Time::from_millis(ms).to_system())
}

fn maybe_time(row: &Row<'_>, at: usize) -> rusqlite::Result<Option<SystemTime>> {
    let ms: Option<i64> = row.get(at)?;
    Ok(ms.map(|ms| Time::from_millis(ms).to_system()))
}

fn maybe_number(row: &Row<'_>, at: usize) -> rusqlite::Result<Option<u64>> {
    let n: Option<i64> = row.get(at)?;
    Ok(n.and_then(|n| u64::try_from(n).ok()))
}

fn unreadable(at: usize, what: &str) -> rusqlite::Error {
    let why = format!("not a {what} this program knows");
    rusqlite::Error::FromSqlConversionFailure(at, rusqlite::types::Type::Text, why.into())
}

fn record(row: &Row<'_>) -> rusqlite::Result<TokenRecord> {
    let kind = TokenKind::named(row.get_ref(2)?.as_str()?)
        .ok_or_else(|| unreadable(2, "kind of token"))?;
    Ok(TokenRecord {
        id: gid(row, 0)?.get(),
        digest: Digest(row.get(1)?),
        kind,
        user: gid(row, 3)?.get(),
        app: maybe_number(row, 4)?,
        grant: maybe_number(row, 5)?,
        workspace: maybe_number(row, 6)?,
        scopes: ScopeSet::parse(row.get_ref(7)?.as_str()?)
            .map_err(|_| unreadable(7, "set of scopes"))?,
        description: row.get(8)?,
        created_at: time(row, 9)?,
        expires_at: maybe_time(row, 10)?,
        revoked_at: maybe_time(row, 11)?,
        last_used_at: maybe_time(row, 12)?,
    })
}

/// The account whose tier and switch are in these two columns.
fn account(row: &Row<'_>, user: u64, at: usize) -> rusqlite::Result<Account> {
    let tier = if row.get(at)? { Tier::Paid } else { Tier::Free };
    Ok(Account {
        user,
        tier,
        disabled: row.get(at + 1)?,
    })
}

impl SqliteStore {
    fn one_row<T>(
        &self,
        sql: Sql,
        params: impl rusqlite::Params,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>, StoreError> {
        let found = self
            .readers
            .read(|s| s.one(sql, params, read).map_err(crate::error::failed));
        found.map_err(unavailable)
    }
}

#[async_trait]
impl TokenStore for SqliteStore {
    async fn find(&self, digest: &Digest) -> Result<Option<(TokenRecord, Account)>, StoreError> {
        let cache = &self.caches.tokens;
        let epoch = cache.epoch();
        if let Some(found) = cache.get(digest, epoch) {
            return Ok(Some((*found).clone()));
        }
        let found = self.one_row(Sql::TokenByDigest, [digest.0], |row| {
            let record = record(row)?;
            let account = account(row, record.user, 13)?;
            Ok((record, account))
        })?;
        if let Some(found) = &found {
            cache.put(*digest, Arc::new(found.clone()), epoch);
        }
        Ok(found)
    }

    async fn insert(&self, record: TokenRecord) -> Result<(), StoreError> {
        self.writer
            .change_tokens(TokenChange::Insert(record))
            .await
            .map(drop)
    }

    async fn revoke(&self, id: u64, now: SystemTime) -> Result<bool, StoreError> {
        self.writer
            .change_tokens(TokenChange::Revoke(id, now))
            .await
    }

    async fn list(&self, user: u64) -> Result<Vec<TokenRecord>, StoreError> {
        let user = number(user)?;
        let mut all = Vec::new();
        let read = self.readers.read(|session| {
            let each = |row: &Row<'_>| record(row).map(|r| all.push(r));
            session
                .each(Sql::TokensOfUser, [user], each)
                .map_err(crate::error::failed)
        });
        read.map_err(unavailable)?;
        Ok(all)
    }

    async fn touch(&self, used: &[(u64, SystemTime)]) -> Result<(), StoreError> {
        self.writer
            .change_tokens(TokenChange::Touch(used.to_vec()))
            .await
            .map(drop)
    }

    async fn put_account(&self, account: Account, login: Option<Login>) -> Result<(), StoreError> {
        self.writer
            .change_tokens(TokenChange::PutAccount(account, login))
            .await
            .map(drop)
    }

    async fn account(&self, user: u64) -> Result<Option<Account>, StoreError> {
        self.one_row(Sql::Account, [number(user)?], |row| account(row, user, 0))
    }

    async fn login(&self, email: &str) -> Result<Option<(Account, Secret)>, StoreError> {
        self.one_row(Sql::Login, [fold_email(email)], |row| {
            let user = gid(row, 0)?.get();
            Ok((account(row, user, 1)?, Secret::new(row.get(3)?)))
        })
    }
}
