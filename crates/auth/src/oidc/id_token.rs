//! id_tokens: signed statements for an app about the user who signed in (OpenID Connect Core
//! section 2).
use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Serialize;

use crate::json::to_json;
use crate::oidc::ID_TOKEN_LIFETIME;
use crate::oidc::signing_keys::{ALGORITHM, SignError, Signer};
use crate::tokens::scope::ScopeSet;
use crate::tokens::token_text::{Secret, SecretDigest};

/// Data about a user that apps may read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserInfo {
    /// The user's gid; in decimal, the `sub` of id_tokens.
    pub id: u64,
    /// The user's name.
    pub name: String,
    /// The user's e-mail address.
    pub email: String,
    /// The URL of the user's picture.
    pub picture: Option<String>,
}

/// Claims about a user, by scope: `email`, and for `profile` name and picture.
#[derive(Serialize)]
struct UserClaims<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    email: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    picture: Option<&'a str>,
}

impl UserInfo {
    /// Makes the data of a user without a picture.
    #[must_use]
    pub fn new(id: u64, name: impl Into<String>, email: impl Into<String>) -> Self {
        Self {
            id,
            name: name.into(),
            email: email.into(),
            picture: None,
        }
    }

    fn claims(&self, scopes: ScopeSet) -> UserClaims<'_> {
        let profile = scopes.allows("profile");
        UserClaims {
            email: scopes.allows("email").then_some(self.email.as_str()),
            name: profile.then_some(self.name.as_str()),
            picture: self.picture.as_deref().filter(|_| profile),
        }
    }
}

/// Content of an id_token, before it is signed.
#[derive(Clone, Copy, Debug)]
pub struct IdToken<'a> {
    /// The issuer, exactly as in the discovery document.
    pub issuer: &'a str,
    /// The user who signed in.
    pub user: &'a UserInfo,
    /// The app for which the id_token is made.
    pub app: u64,
    /// The scopes that determine its claims.
    pub scopes: ScopeSet,
    /// The request's nonce, verbatim.
    pub nonce: Option<&'a str>,
    /// The time at which the user signed in.
    pub auth_time: SystemTime,
    /// The access token issued with it, bound by `at_hash`.
    pub access: Option<&'a Secret>,
    /// The code issued with it, bound by `c_hash`.
    pub code: Option<&'a Secret>,
}

#[derive(Serialize)]
struct IdTokenClaims<'a> {
    iss: &'a str,
    sub: String,
    aud: String,
    exp: u64,
    iat: u64,
    auth_time: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    nonce: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    at_hash: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    c_hash: Option<String>,
    #[serde(flatten)]
    user: UserClaims<'a>,
}

/// Header of a signed text (RFC 7515 section 4.1).
#[derive(Serialize)]
struct JwsHeader<'a> {
    alg: &'static str,
    typ: &'static str,
    kid: &'a str,
}

fn seconds(at: SystemTime) -> u64 {
    at.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// Returns the left half of a text's SHA-256 (OpenID Connect Core section 3.3.2.11).
fn half_hash(text: &Secret) -> String {
    URL_SAFE_NO_PAD.encode(SecretDigest::of(text.expose()).key())
}

impl IdToken<'_> {
    /// Formats the claims as JSON.
    #[must_use]
    pub fn claims(&self, now: SystemTime) -> String {
        to_json(&IdTokenClaims {
            iss: self.issuer,
            sub: self.user.id.to_string(),
            aud: self.app.to_string(),
            exp: seconds(now) + ID_TOKEN_LIFETIME.as_secs(),
            iat: seconds(now),
            auth_time: seconds(self.auth_time),
            nonce: self.nonce,
            at_hash: self.access.map(half_hash),
            c_hash: self.code.map(half_hash),
            user: self.user.claims(self.scopes),
        })
    }

    /// Returns the signed text (JWS compact form, RFC 7515 section 3.1).
    ///
    /// # Errors
    /// Fails if the signer fails.
    pub fn sign(&self, signer: &dyn Signer, now: SystemTime) -> Result<String, SignError> {
        let header = to_json(&JwsHeader {
            alg: ALGORITHM,
            typ: "JWT",
            kid: signer.kid(),
        });
        let mut text = URL_SAFE_NO_PAD.encode(header);
        text.push('.');
        URL_SAFE_NO_PAD.encode_string(self.claims(now), &mut text);
        let signature = signer.sign(text.as_bytes())?;
        text.push('.');
        URL_SAFE_NO_PAD.encode_string(signature, &mut text);
        Ok(text)
    }
}

/// Returns the reply of the user-info endpoint, for a token with these scopes; `None` without
/// `openid`.
#[must_use]
pub fn user_info(person: &UserInfo, scopes: ScopeSet) -> Option<String> {
    #[derive(Serialize)]
    struct UserInfoReply<'a> {
        sub: String,
        #[serde(flatten)]
        user: UserClaims<'a>,
    }
    let reply = || UserInfoReply {
        sub: person.id.to_string(),
        user: person.claims(scopes),
    };
    scopes.allows("openid").then(|| to_json(&reply()))
}
