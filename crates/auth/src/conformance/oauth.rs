//! The cases about the OAuth half, and what they start from.
pub(super) mod apps;
pub(super) mod codes;
pub(super) mod lineage;
pub(super) mod sessions;

use super::{Failure, at, ensure};
use crate::authorization::Authorization;
use crate::client::{App, Registered, mint_secret};
use crate::code::Code;
use crate::grant::check;
use crate::oauth::{Allow, OAuthStore, Redeemed, Tokens};
use crate::pkce::Challenge;
use crate::record::{Account, Tier, TokenRecord};
use crate::redirect::{Loopback, OUT_OF_BAND, RedirectUri};
use crate::scope::ScopeSet;
use crate::session::Session;
use crate::store::StoreError;
use crate::token::{Digest, TokenKind, mint};

type Done = Result<(), Failure>;

fn set(text: &str) -> Result<ScopeSet, Failure> {
    ScopeSet::parse(text).map_err(|e| Failure(e.to_string()))
}

/// An app registered with three scopes.
fn app(id: u64) -> Result<App, Failure> {
    let uri = |text| RedirectUri::register(text, Loopback::Allowed);
    let uri = |text| uri(text).map_err(|e| Failure(e.to_string()));
    Ok(App {
        id,
        name: "Zeitplan «Ω» 🦀 'quoted'".to_owned(),
        secret: Some(mint_secret(&[9; 32]).1),
        redirects: vec![uri("https://app.example/cb?a=b")?, uri(OUT_OF_BAND)?],
        scopes: Registered::Only(set("tasks:read tasks:write openid")?),
        distribution: vec![7, 5],
        disabled_in: vec![6],
        owner: 1,
        created_at: at(1),
        disabled_at: None,
    })
}

fn authorization(id: u64, scopes: &str) -> Result<Authorization, Failure> {
    Ok(Authorization {
        id,
        user: 1,
        app: 40,
        scopes: set(scopes)?,
        created_at: at(0),
        revoked_at: None,
    })
}

fn digest(seed: u8) -> Digest {
    mint(TokenKind::Access, &[seed; 32]).1
}

fn code(seed: u8, scopes: &str) -> Result<Code, Failure> {
    Ok(Code {
        digest: digest(seed),
        app: 40,
        user: 1,
        grant: 0,
        redirect: "https://app.example/cb?a=b".to_owned(),
        challenge: Some(Challenge::of("a verifier")),
        scopes: set(scopes)?,
        nonce: Some("n \"once\" é".to_owned()),
        auth_time: at(3),
        created_at: at(4),
        expires_at: at(60_004),
        used_at: None,
        refresh: None,
    })
}

/// A yes to app 40 by user 1, with a code.
fn allow(seed: u8, grant: u64, scopes: &str) -> Result<Allow, Failure> {
    Ok(Allow {
        ticket: Digest([seed; 32]),
        at: at(4),
        authorization: authorization(grant, scopes)?,
        code: Some(code(seed, scopes)?),
    })
}

/// An access token's record, as bought with the refresh token of a grant.
fn access(id: u8, grant: u64, scopes: ScopeSet) -> TokenRecord {
    TokenRecord {
        kind: TokenKind::Access,
        app: Some(40),
        grant: Some(grant),
        scopes,
        expires_at: Some(at(3_600_000)),
        reach: Some([7, 5].into()),
        ..TokenRecord::personal(u64::from(id), digest(id), 1, at(5))
    }
}

fn tokens(id: u8, code: &Code) -> Tokens {
    let access = access(id, code.grant, code.scopes);
    let mut refresh = access.clone();
    refresh.id += 1;
    refresh.digest = digest(id + 1);
    refresh.kind = TokenKind::Refresh;
    refresh.expires_at = None;
    Tokens { access, refresh }
}

/// Users 1 and 2, and app 40.
async fn people(store: &dyn OAuthStore) -> Done {
    for user in [1, 2] {
        let account = Account::new(user, Tier::Free);
        store.put_account(account, None).await?;
    }
    store.put_app(app(40)?, None).await?;
    Ok(())
}

/// Has user 1 authorize app 40 and redeems the code: access token `id`, refresh token `id + 1`.
async fn issued(store: &dyn OAuthStore, id: u8, grant: u64, scopes: &str) -> Result<u64, Failure> {
    let stands = store.allow(allow(id, grant, scopes)?).await?;
    let kept = store.code(&digest(id)).await?;
    let kept = kept.ok_or_else(|| Failure("a code that was allowed is kept".to_owned()))?;
    // The tokens have digests of their own: those of codes and tokens are different things.
    let outcome = store
        .redeem(&digest(id), Some(tokens(id, &kept)), at(5))
        .await?;
    ensure(
        matches!(outcome, Redeemed::Issued(_)),
        "a fresh code is redeemed",
    )?;
    Ok(stands.id)
}

/// The scopes of a token that works, `None` for one that does not.
async fn works(store: &dyn OAuthStore, id: u8) -> Result<Option<ScopeSet>, Failure> {
    let found = store.find(&digest(id)).await?;
    Ok(found.and_then(|(record, account)| {
        let bearer = TokenRecord {
            kind: TokenKind::Access,
            expires_at: Some(at(3_600_000)),
            ..record
        };
        Some(check(&bearer, &account, at(10)).ok()?.scopes)
    }))
}

async fn alive(store: &dyn OAuthStore, id: u8) -> Result<bool, Failure> {
    Ok(works(store, id).await?.is_some())
}
