//! Exchanges of the token endpoint: a code for tokens, and a refresh token for an access token.
use std::time::{Duration, SystemTime};

use serde::Serialize;

use super::{
    EndpointReply, EndpointRequest, EndpointStop, Endpoints, NewTokenMaterial, TokenError, missing,
    params,
};
use crate::authorization::authorization_code::{AuthorizationCode, CodeCheck};
use crate::authorization::authorization_request::is_openid;
use crate::authorization::registered_app::App;
use crate::json::to_json;
use crate::oidc::id_token::{IdToken, UserInfo};
use crate::params::Params;
use crate::ports::oauth_store::{IssuedTokens, RedemptionOutcome};
use crate::ports::token_store::AuthStoreError;
use crate::refusal_reason::AuthRefusal;
use crate::tokens::grant::{TokenRefusal, is_alive};
use crate::tokens::scope::ScopeSet;
use crate::tokens::token_record::TokenRecord;
use crate::tokens::token_text::{Secret, SecretDigest, TokenKind};

/// Returns the reply that refuses a code.
fn code_refused(refusal: AuthRefusal) -> EndpointStop {
    TokenError::InvalidGrant(refusal, "code").into()
}

/// Returns the reply that refuses a refresh token.
fn refresh_refused(refusal: AuthRefusal) -> EndpointStop {
    TokenError::InvalidGrant(refusal, "refresh_token").into()
}

impl Endpoints<'_> {
    pub(super) async fn exchange(
        &self,
        form: &EndpointRequest<'_>,
        fresh: &NewTokenMaterial,
        now: SystemTime,
    ) -> Result<EndpointReply, EndpointStop> {
        let params = params(form)?;
        let grant_type = params
            .one("grant_type")?
            .ok_or_else(|| missing("grant_type", AuthRefusal::GrantTypeMissing))?;
        let by_code = match grant_type {
            "authorization_code" => true,
            "refresh_token" => false,
            _ => return Err(TokenError::UnsupportedGrantType.into()),
        };
        // The client authenticates before any code or token of the request is looked up.
        let nobody = TokenError::InvalidClient(AuthRefusal::ClientIdMissing);
        let claim = form.claim(params)?.ok_or(nobody)?;
        let app = self.client(claim).await?;
        if by_code {
            self.redeem(params, &app, fresh, now).await
        } else {
            self.refresh(params, &app, fresh, now).await
        }
    }

    async fn redeem(
        &self,
        params: Params<'_>,
        app: &App,
        fresh: &NewTokenMaterial,
        now: SystemTime,
    ) -> Result<EndpointReply, EndpointStop> {
        let text = params
            .one("code")?
            .ok_or_else(|| missing("code", AuthRefusal::CodeMissing))?;
        let redirect = params
            .one("redirect_uri")?
            .ok_or_else(|| missing("redirect_uri", AuthRefusal::RedirectUriMissing))?;
        let verifier = params.one("code_verifier")?;
        let digest = SecretDigest::of(text);
        let code = self
            .store
            .code(&digest)
            .await
            .map_err(EndpointStop::ServerError)?;
        let Some(code) = code else {
            return Err(code_refused(AuthRefusal::CodeUnknown));
        };
        let is_public = self.public_clients.include(app);
        let check = match code.check_redemption(app.id, redirect, verifier, now) {
            // The app still had a secret when it sent the request without a challenge.
            CodeCheck::Issue if is_public && code.challenge.is_none() => {
                CodeCheck::SpendOnly(AuthRefusal::CodeVerifierMissing)
            }
            check => check,
        };
        match check {
            CodeCheck::Refuse(refusal) => return Err(code_refused(refusal)),
            CodeCheck::SpendOnly(refusal) | CodeCheck::Replay(refusal) => {
                let spent = self.store.redeem(&digest, None, now).await;
                spent.map_err(EndpointStop::ServerError)?;
                return Err(code_refused(refusal));
            }
            CodeCheck::Issue => {}
        }
        // Every step that can fail comes before the only write, so that a failure does not lose the
        // code.
        let person = self.person(code.user, code_refused).await?;
        let (access_text, access) = self.tokens.prefixes.mint(TokenKind::Access, &fresh.access);
        let (refresh_text, refresh) = self
            .tokens
            .prefixes
            .mint(TokenKind::Refresh, &fresh.refresh);
        let id_token = self.id_token(&code, code.scopes, &person, &access_text, now)?;
        let end = now.checked_add(self.tokens.access_lifetime).unwrap_or(now);
        // Nothing proves who presents the refresh token of a client without a secret, and it is not rotated, so nobody gets
        // its text (RFC 9700 section 2.2.2). The access token still depends on it, and both expire together.
        let refresh_end = is_public.then_some(end);
        let tokens = IssuedTokens {
            access: code.token(TokenKind::Access, fresh.access_id, access, Some(end), now),
            refresh: code.token(
                TokenKind::Refresh,
                fresh.refresh_id,
                refresh,
                refresh_end,
                now,
            ),
        };
        let outcome = self.store.redeem(&digest, Some(tokens), now).await;
        match outcome.map_err(EndpointStop::ServerError)? {
            RedemptionOutcome::Issued(left) => {
                let id_token = match left.scopes == code.scopes {
                    true => id_token,
                    // The claims are those of the scopes that are left.
                    false => self.id_token(&code, left.scopes, &person, &access_text, now)?,
                };
                Ok(TokenResponse {
                    refresh_token: (!is_public).then(|| refresh_text.expose()),
                    scope: (left.scopes != code.scopes).then(|| left.scopes.to_string()),
                    id_token: id_token.as_deref(),
                    ..TokenResponse::new(&access_text, self.tokens.access_lifetime, &person)
                }
                .reply())
            }
            RedemptionOutcome::Spent => Err(code_refused(AuthRefusal::GrantEnded)),
            RedemptionOutcome::Replayed => Err(code_refused(AuthRefusal::CodeReplayed)),
            RedemptionOutcome::Unknown => Err(code_refused(AuthRefusal::CodeUnknown)),
        }
    }

    /// Answers with a new access token. The refresh token is not rotated (docs/decisions/authorization.md).
    async fn refresh(
        &self,
        params: Params<'_>,
        app: &App,
        fresh: &NewTokenMaterial,
        now: SystemTime,
    ) -> Result<EndpointReply, EndpointStop> {
        let text = params
            .one("refresh_token")?
            .ok_or_else(|| missing("refresh_token", AuthRefusal::RefreshTokenMissing))?;
        let scope = params.one("scope")?;
        if self.public_clients.include(app) {
            // The app still had a secret when it got the refresh token.
            return Err(refresh_refused(AuthRefusal::ClientWithoutSecret));
        }
        let found = self.find_token(text).await?;
        let Some((refresh, account)) = found else {
            return Err(refresh_refused(AuthRefusal::RefreshTokenUnknown));
        };
        if refresh.kind != TokenKind::Refresh {
            return Err(refresh_refused(AuthRefusal::RefreshTokenOfOtherKind));
        }
        if refresh.app != Some(app.id) {
            return Err(refresh_refused(AuthRefusal::RefreshTokenOfOtherClient));
        }
        is_alive(&refresh, &account, now).map_err(|dead| {
            refresh_refused(match dead {
                TokenRefusal::Revoked => AuthRefusal::RefreshTokenRevoked,
                other => other.into(),
            })
        })?;
        let asked = match scope {
            None => refresh.scopes,
            Some(text) => {
                let unknown = |_| TokenError::InvalidScope(AuthRefusal::ScopeUnknown);
                let asked = self.scopes.parse(text).map_err(unknown)?;
                if asked.is_empty() || !refresh.scopes.covers(asked) {
                    return Err(TokenError::InvalidScope(AuthRefusal::ScopeTooWide).into());
                }
                asked
            }
        };
        let person = self.person(refresh.user, refresh_refused).await?;
        let (access_text, access) = self.tokens.prefixes.mint(TokenKind::Access, &fresh.access);
        let record = TokenRecord {
            id: fresh.access_id,
            digest: access,
            kind: TokenKind::Access,
            scopes: asked,
            description: String::new(),
            created_at: now,
            expires_at: Some(now.checked_add(self.tokens.access_lifetime).unwrap_or(now)),
            last_used_at: None,
            ..refresh
        };
        let kept = self.store.refresh(refresh.id, record, now).await;
        let Some(left) = kept.map_err(EndpointStop::ServerError)? else {
            return Err(refresh_refused(AuthRefusal::GrantEnded));
        };
        Ok(TokenResponse {
            scope: (left.scopes != asked).then(|| left.scopes.to_string()),
            ..TokenResponse::new(&access_text, self.tokens.access_lifetime, &person)
        }
        .reply())
    }

    /// Returns the user of a code or a refresh token, which is refused if the user has no access.
    async fn person(
        &self,
        user: u64,
        refused: fn(AuthRefusal) -> EndpointStop,
    ) -> Result<UserInfo, EndpointStop> {
        let found = self.users.user_with_access(user).await;
        let found = found.map_err(EndpointStop::ServerError)?;
        found.ok_or_else(|| refused(AuthRefusal::NoWorkspace))
    }

    fn id_token(
        &self,
        code: &AuthorizationCode,
        scopes: ScopeSet,
        person: &UserInfo,
        access: &Secret,
        now: SystemTime,
    ) -> Result<Option<String>, EndpointStop> {
        let nonce = code.nonce.as_deref();
        let Some(signer) = self.signer.filter(|_| is_openid(scopes, nonce)) else {
            return Ok(None);
        };
        let token = IdToken {
            issuer: self.issuer,
            user: person,
            app: code.app,
            scopes,
            nonce,
            auth_time: code.auth_time,
            access: Some(access),
            code: None,
        };
        let signed = token.sign(signer, now);
        signed.map(Some).map_err(|reason| {
            EndpointStop::ServerError(AuthStoreError::Unavailable(reason.to_string()))
        })
    }
}

/// Successful reply of the token endpoint (RFC 6749 section 5.1).
#[derive(Serialize)]
struct TokenResponse<'a> {
    access_token: &'a str,
    expires_in: u64,
    token_type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    refresh_token: Option<&'a str>,
    data: TokenUser<'a>,
    /// The scopes, if they differ from the requested ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    scope: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id_token: Option<&'a str>,
}

/// User for whom a token was issued.
#[derive(Serialize)]
struct TokenUser<'a> {
    id: u64,
    gid: String,
    name: &'a str,
    email: &'a str,
}

impl<'a> TokenResponse<'a> {
    fn new(access: &'a Secret, lifetime: Duration, user: &'a UserInfo) -> Self {
        Self {
            access_token: access.expose(),
            expires_in: lifetime.as_secs(),
            token_type: "bearer",
            refresh_token: None,
            data: TokenUser {
                id: user.id,
                gid: user.id.to_string(),
                name: &user.name,
                email: &user.email,
            },
            scope: None,
            id_token: None,
        }
    }

    fn reply(&self) -> EndpointReply {
        EndpointReply::ok(to_json(self))
    }
}
