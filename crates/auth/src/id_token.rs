//! id_tokens: who signed in, told to an app in a signed text (OpenID Connect Core section 2).
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::json::Object;
use crate::keys::{SignError, Signer};
use crate::scope::ScopeSet;
use crate::token::{Digest, Secret};

/// How long an id_token is good for.
pub const ID_TOKEN_LIFETIME: Duration = Duration::from_secs(3600);

/// What apps may learn of a user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Person {
    /// The user's number; in decimal, the `sub` of id_tokens.
    pub id: u64,
    /// The user's name.
    pub name: String,
    /// The user's e-mail address.
    pub email: String,
    /// Where the user's picture is.
    pub picture: Option<String>,
}

impl Person {
    /// The claims that the scopes give: `email`, and for `profile` name and picture.
    fn claims(&self, json: Object, scopes: ScopeSet) -> Object {
        let email = scopes.allows("email").then_some(self.email.as_str());
        let profile = scopes.allows("profile");
        let name = profile.then_some(self.name.as_str());
        let picture = self.picture.as_deref().filter(|_| profile);
        json.maybe("email", email)
            .maybe("name", name)
            .maybe("picture", picture)
    }
}

/// What an id_token says.
#[derive(Clone, Copy, Debug)]
pub struct IdToken<'a> {
    /// The issuer, byte for byte as the discovery document has it.
    pub issuer: &'a str,
    /// Whom it is about.
    pub person: &'a Person,
    /// The app it is for.
    pub app: u64,
    /// The scopes that decide what it tells.
    pub scopes: ScopeSet,
    /// The request's nonce, verbatim.
    pub nonce: Option<&'a str>,
    /// When the user signed in.
    pub auth_time: SystemTime,
    /// The access token it comes with, bound by `at_hash`.
    pub access: Option<&'a Secret>,
    /// The code it comes with, bound by `c_hash`.
    pub code: Option<&'a Secret>,
}

fn seconds(at: SystemTime) -> u64 {
    at.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// The left half of a text's SHA-256 (OpenID Connect Core section 3.3.2.11).
fn half_hash(text: &Secret) -> String {
    URL_SAFE_NO_PAD.encode(Digest::of(text.expose()).key())
}

impl IdToken<'_> {
    /// The claims as JSON.
    #[must_use]
    pub fn claims(&self, now: SystemTime) -> String {
        let json = Object::default()
            .text("iss", self.issuer)
            .text("sub", &self.person.id.to_string())
            .text("aud", &self.app.to_string())
            .number("exp", seconds(now) + ID_TOKEN_LIFETIME.as_secs())
            .number("iat", seconds(now))
            .number("auth_time", seconds(self.auth_time))
            .maybe("nonce", self.nonce)
            .maybe("at_hash", self.access.map(half_hash).as_deref())
            .maybe("c_hash", self.code.map(half_hash).as_deref());
        self.person.claims(json, self.scopes).end()
    }

    /// The signed text (JWS compact form, RFC 7515 section 3.1).
    ///
    /// # Errors
    /// The signer failed.
    pub fn sign(&self, signer: &dyn Signer, now: SystemTime) -> Result<String, SignError> {
        let header = Object::default()
            .text("alg", crate::keys::ALGORITHM)
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

/// The reply of the user-info endpoint, for a token of these scopes; none without `openid`.
#[must_use]
pub fn user_info(person: &Person, scopes: ScopeSet) -> Option<String> {
    let json = Object::default().text("sub", &person.id.to_string());
    scopes
        .allows("openid")
        .then(|| person.claims(json, scopes).end())
}
