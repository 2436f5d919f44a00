//! id_tokens: signed statements for an app about the user who signed in (OpenID Connect Core
//! section 2).
use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::json_object::JsonObject;
use crate::oidc::ID_TOKEN_LIFETIME;
use crate::oidc::signing_keys::{SignError, Signer};
use crate::tokens::scope::ScopeSet;
use crate::tokens::token_text::{Secret, SecretDigest};

/// Facts of a user that apps may learn.
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

impl UserInfo {
    /// Adds the claims that the scopes give: `email`, and for `profile` name and picture.
    fn claims(&self, json: JsonObject, scopes: ScopeSet) -> JsonObject {
        let email = scopes.allows("email").then_some(self.email.as_str());
        let profile = scopes.allows("profile");
        let name = profile.then_some(self.name.as_str());
        let picture = self.picture.as_deref().filter(|_| profile);
        json.maybe("email", email)
            .maybe("name", name)
            .maybe("picture", picture)
    }
}

/// Content of an id_token.
#[derive(Clone, Copy, Debug)]
pub struct IdToken<'a> {
    /// The issuer, byte for byte as the discovery document has it.
    pub issuer: &'a str,
    /// The user who signed in.
    pub user: &'a UserInfo,
    /// The app for which it is made.
    pub app: u64,
    /// The scopes that decide which claims it has.
    pub scopes: ScopeSet,
    /// The request's nonce, verbatim.
    pub nonce: Option<&'a str>,
    /// The time at which the user signed in.
    pub auth_time: SystemTime,
    /// The access token that is issued with it, bound by `at_hash`.
    pub access: Option<&'a Secret>,
    /// The code that is issued with it, bound by `c_hash`.
    pub code: Option<&'a Secret>,
}

fn seconds(at: SystemTime) -> u64 {
    at.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// Returns the left half of a text's SHA-256 (OpenID Connect Core section 3.3.2.11).
fn half_hash(text: &Secret) -> String {
    URL_SAFE_NO_PAD.encode(SecretDigest::of(text.expose()).key())
}

impl IdToken<'_> {
    /// Returns the claims as JSON.
    #[must_use]
    pub fn claims(&self, now: SystemTime) -> String {
        let json = JsonObject::default()
            .text("iss", self.issuer)
            .text("sub", &self.user.id.to_string())
            .text("aud", &self.app.to_string())
            .number("exp", seconds(now) + ID_TOKEN_LIFETIME.as_secs())
            .number("iat", seconds(now))
            .number("auth_time", seconds(self.auth_time))
            .maybe("nonce", self.nonce)
            .maybe("at_hash", self.access.map(half_hash).as_deref())
            .maybe("c_hash", self.code.map(half_hash).as_deref());
        self.user.claims(json, self.scopes).end()
    }

    /// Returns the signed text (JWS compact form, RFC 7515 section 3.1).
    ///
    /// # Errors
    /// The signer failed.
    pub fn sign(&self, signer: &dyn Signer, now: SystemTime) -> Result<String, SignError> {
        let header = JsonObject::default()
            .text("alg", crate::oidc::signing_keys::ALGORITHM)
            .text("typ", "JWT")
            .text("kid", signer.kid())
            .end();
        let mut text = URL_SAFE_NO_PAD.encode(header);
        text.push('.');
        URL_SAFE_NO_PAD.encode_string(self.claims(now), &mut text);
        let signature = signer.sign(text.as_bytes())?;
        text.push('.');
        URL_SAFE_NO_PAD.encode_string(signature, &mut text);
        Ok(text)
    }
}

/// Returns the reply of the user-info endpoint, for a token of these scopes; `None` without
/// `openid`.
#[must_use]
pub fn user_info(person: &UserInfo, scopes: ScopeSet) -> Option<String> {
    let json = JsonObject::default().text("sub", &person.id.to_string());
    scopes
        .allows("openid")
        .then(|| person.claims(json, scopes).end())
}
