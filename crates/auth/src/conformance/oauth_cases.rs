//! Cases about apps, authorizations, codes and sessions, and the state that they start from.
pub(super) mod app_cases;
pub(super) mod code_cases;
pub(super) mod session_cases;
pub(super) mod token_context_cases;

use super::{SCOPES, TokenStoreFailure, at, ensure};
use crate::authorization::authorization_code::AuthorizationCode;
use crate::authorization::browser_session::BrowserSession;
use crate::authorization::pkce::CodeChallenge;
use crate::authorization::redirect_uri::{LoopbackPolicy, OUT_OF_BAND, RedirectUri};
use crate::authorization::registered_app::{App, RegisteredScopes, mint_secret};
use crate::authorization::user_authorization::Authorization;
use crate::ports::oauth_store::{ConsentRecord, IssuedTokens, OAuthStore, RedemptionOutcome};
use crate::ports::token_store::AuthStoreError;
use crate::tokens::grant::check_token;
use crate::tokens::scope::ScopeSet;
use crate::tokens::token_record::{Account, Tier, TokenRecord};
use crate::tokens::token_text::{SecretDigest, TokenKind, mint_token};

type CaseResult = Result<(), TokenStoreFailure>;

fn set(text: &str) -> Result<ScopeSet, TokenStoreFailure> {
    SCOPES
        .parse(text)
        .map_err(|e| TokenStoreFailure(e.to_string()))
}

/// Returns an app registered with three scopes.
fn app(id: u64) -> Result<App, TokenStoreFailure> {
    let uri = |text| RedirectUri::register(text, LoopbackPolicy::Allowed);
    let uri = |text| uri(text).map_err(|e| TokenStoreFailure(e.to_string()));
    Ok(App {
        id,
        name: "Zeitplan «Ω» 🦀 'quoted'".to_owned(),
        secret: Some(mint_secret(&[9; 32]).1),
        redirects: vec![uri("https://app.example/cb?a=b")?, uri(OUT_OF_BAND)?],
        scopes: RegisteredScopes::Only(set("tasks:read tasks:write openid")?),
        distribution: vec![7, 5],
        disabled_in: vec![6],
        owner: 1,
        created_at: at(1),
        disabled_at: None,
    })
}

fn authorization(id: u64, scopes: &str) -> Result<Authorization, TokenStoreFailure> {
    Ok(Authorization {
        id,
        user: 1,
        app: 40,
        scopes: set(scopes)?,
        created_at: at(0),
        revoked_at: None,
    })
}

fn digest(seed: u8) -> SecretDigest {
    mint_token(TokenKind::Access, &[seed; 32]).1
}

fn code(seed: u8, scopes: &str) -> Result<AuthorizationCode, TokenStoreFailure> {
    Ok(AuthorizationCode {
        digest: digest(seed),
        app: 40,
        user: 1,
        grant: 0,
        redirect: "https://app.example/cb?a=b".to_owned(),
        challenge: Some(CodeChallenge::of("a verifier")),
        scopes: set(scopes)?,
        nonce: Some("n \"once\" é".to_owned()),
        auth_time: at(3),
        created_at: at(4),
        expires_at: at(60_004),
        used_at: None,
        refresh: None,
    })
}

/// Returns a consent to app 40 by user 1, with a code.
fn allow(seed: u8, grant: u64, scopes: &str) -> Result<ConsentRecord, TokenStoreFailure> {
    Ok(ConsentRecord {
        ticket: SecretDigest([seed; 32]),
        time: at(4),
        authorization: authorization(grant, scopes)?,
        code: Some(code(seed, scopes)?),
    })
}

/// Returns an access token's record, as issued for the refresh token of a grant.
fn access(id: u8, grant: u64, scopes: ScopeSet) -> TokenRecord {
    TokenRecord {
        kind: TokenKind::Access,
        app: Some(40),
        grant: Some(grant),
        scopes,
        expires_at: Some(at(3_600_000)),
        allowed_workspaces: Some([7, 5].into()),
        ..TokenRecord::personal(u64::from(id), digest(id), 1, at(5))
    }
}

fn tokens(id: u8, code: &AuthorizationCode) -> IssuedTokens {
    let access = access(id, code.grant, code.scopes);
    let mut refresh = access.clone();
    refresh.id += 1;
    refresh.digest = digest(id + 1);
    refresh.kind = TokenKind::Refresh;
    refresh.expires_at = None;
    IssuedTokens { access, refresh }
}

/// Stores users 1 and 2, and app 40.
async fn people(store: &dyn OAuthStore) -> CaseResult {
    for user in [1, 2] {
        let account = Account::new(user, Tier::DEFAULT);
        store.put_account(account, None).await?;
    }
    store.put_app(app(40)?, None).await?;
    Ok(())
}

/// Authorizes app 40 for user 1 and redeems the code: access token `id`, refresh token `id + 1`.
async fn issued(
    store: &dyn OAuthStore,
    id: u8,
    grant: u64,
    scopes: &str,
) -> Result<u64, TokenStoreFailure> {
    let stands = store.keep_consent(allow(id, grant, scopes)?).await?;
    let kept = store.code(&digest(id)).await?;
    let kept =
        kept.ok_or_else(|| TokenStoreFailure("a code that was allowed is kept".to_owned()))?;
    // The access token has the same digest as the code: codes and tokens are looked up separately.
    let outcome = store
        .redeem(&digest(id), Some(tokens(id, &kept)), at(5))
        .await?;
    ensure(
        matches!(outcome, RedemptionOutcome::Issued(_)),
        "a fresh code is redeemed",
    )?;
    Ok(stands.id)
}

/// Returns the scopes of a token, or `None` if it does not work.
async fn works(store: &dyn OAuthStore, id: u8) -> Result<Option<ScopeSet>, TokenStoreFailure> {
    let found = store.find_token(&digest(id)).await?;
    Ok(found.and_then(|(record, account)| {
        let bearer = TokenRecord {
            kind: TokenKind::Access,
            expires_at: Some(at(3_600_000)),
            ..record
        };
        Some(check_token(&bearer, &account, at(10)).ok()?.scopes)
    }))
}

async fn alive(store: &dyn OAuthStore, id: u8) -> Result<bool, TokenStoreFailure> {
    Ok(works(store, id).await?.is_some())
}
