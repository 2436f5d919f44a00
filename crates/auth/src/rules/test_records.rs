//! Records for tests of rules: user 7, app 20, authorization 30, refresh token 40, access token 41.
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::authorization::authorization_code::AuthorizationCode;
use crate::authorization::browser_session::BrowserSession;
use crate::authorization::pkce::CodeChallenge;
use crate::authorization::registered_app::{App, RegisteredScopes};
use crate::authorization::user_authorization::Authorization;
use crate::ports::oauth_store::IssuedTokens;
use crate::tokens::scope::ScopeSet;
use crate::tokens::token_record::{Account, Tier, TokenRecord};
use crate::tokens::token_text::{SecretDigest, TokenKind};

/// Returns a time this many seconds after the beginning.
pub(super) fn at(seconds: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(seconds)
}

pub(super) fn account() -> Account {
    Account::new(7, Tier::DEFAULT)
}

pub(super) fn app() -> App {
    App {
        id: 20,
        name: "Reports".to_owned(),
        secret: None,
        redirects: Vec::new(),
        scopes: RegisteredScopes::from_set(ScopeSet::full()),
        distribution: vec![100],
        disabled_in: Vec::new(),
        owner: 7,
        created_at: at(0),
        disabled_at: None,
    }
}

pub(super) fn authorization() -> Authorization {
    Authorization {
        id: 30,
        user: 7,
        app: 20,
        scopes: ScopeSet::full(),
        created_at: at(0),
        revoked_at: None,
    }
}

pub(super) fn code() -> AuthorizationCode {
    let challenge = CodeChallenge::parse("E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
    AuthorizationCode {
        digest: SecretDigest([1; 32]),
        app: 20,
        user: 7,
        grant: 30,
        redirect: "https://reports.example/callback".to_owned(),
        challenge,
        scopes: ScopeSet::full(),
        nonce: None,
        auth_time: at(0),
        created_at: at(1),
        expires_at: at(61),
        used_at: None,
        refresh: None,
    }
}

/// Returns a token of the app for the code.
pub(super) fn token(kind: TokenKind, id: u64) -> TokenRecord {
    let digest = SecretDigest([u8::try_from(id).unwrap(); 32]);
    code().token(kind, id, digest, Some(at(3_600)), at(2))
}

pub(super) fn tokens() -> IssuedTokens {
    IssuedTokens {
        access: token(TokenKind::Access, 41),
        refresh: token(TokenKind::Refresh, 40),
    }
}

/// Returns a session of the user, whose digest has this byte.
pub(super) fn session(byte: u8) -> BrowserSession {
    BrowserSession {
        digest: SecretDigest([byte; 32]),
        ..BrowserSession::start(7, &[byte; 32], at(0)).1
    }
}
