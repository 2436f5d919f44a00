//! The token endpoint's two exchanges.
use std::time::SystemTime;

use super::{Endpoints, Form, Fresh, Reply, Stop, TokenError, claim, missing, params};
use crate::authorize::is_openid;
use crate::client::App;
use crate::code::{Code, Verdict};
use crate::grant::alive;
use crate::id_token::{IdToken, Person};
use crate::introspect::ACCESS_LIFETIME;
use crate::json::Object;
use crate::oauth::{Redeemed, Tokens};
use crate::params::Params;
use crate::record::TokenRecord;
use crate::scope::ScopeSet;
use crate::store::StoreError;
use crate::token::{Digest, Secret, TokenKind, digest, mint};

const CODE: TokenError = TokenError::InvalidGrant("code");
const REFRESH: TokenError = TokenError::InvalidGrant("refresh_token");

impl Endpoints<'_> {
    pub(super) async fn exchange(
        &self,
        form: &Form<'_>,
        fresh: &Fresh,
        now: SystemTime,
    ) -> Result<Reply, Stop> {
        let params = params(form)?;
        let grant_type = params
            .one("grant_type")?
            .ok_or_else(|| missing("grant_type"))?;
        let by_code = match grant_type {
            "authorization_code" => true,
            "refresh_token" => false,
            _ => return Err(TokenError::UnsupportedGrantType.into()),
        };
        // The client proves who it is before anything it brought is looked up.
        let claim = claim(form, params)?.ok_or(TokenError::InvalidClient)?;
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
        fresh: &Fresh,
        now: SystemTime,
    ) -> Result<Reply, Stop> {
        let text = params.one("code")?.ok_or_else(|| missing("code"))?;
        let redirect = params
            .one("redirect_uri")?
            .ok_or_else(|| missing("redirect_uri"))?;
        let verifier = params.one("code_verifier")?;
        let digest = Digest::of(text);
        let code = self.store.code(&digest).await.map_err(Stop::Broken)?;
        let Some(code) = code else {
            return Err(CODE.into());
        };
        match code.judge(app.id, redirect, verifier, now) {
            Verdict::Refuse => return Err(CODE.into()),
            Verdict::Burn | Verdict::Replay => {
                let spent = self.store.redeem(&digest, None, now).await;
                spent.map_err(Stop::Broken)?;
                return Err(CODE.into());
            }
            Verdict::Issue => {}
        }
        // All that can fail comes before the one write, so a code is not lost to a failure.
        let person = self.person(code.user).await?;
        let (access_text, access) = mint(TokenKind::Access, &fresh.access);
        let (refresh_text, refresh) = mint(TokenKind::Refresh, &fresh.refresh);
        let id_token = self.id_token(&code, &person, &access_text, now)?;
        let end = now.checked_add(ACCESS_LIFETIME).unwrap_or(now);
        let tokens = Tokens {
            access: code.token(TokenKind::Access, fresh.access_id, access, Some(end), now),
            refresh: code.token(TokenKind::Refresh, fresh.refresh_id, refresh, None, now),
        };
        let outcome = self.store.redeem(&digest, Some(tokens), now).await;
        match outcome.map_err(Stop::Broken)? {
            Redeemed::Issued(left) => Ok(Issued {
                access: &access_text,
                refresh: Some(&refresh_text),
                person: &person,
                scope: (left.scopes != code.scopes).then_some(left.scopes),
                id_token: id_token.as_deref(),
            }
            .reply()),
            Redeemed::Spent | Redeemed::Replayed | Redeemed::Unknown => Err(CODE.into()),
        }
    }

    async fn refresh(
        &self,
        params: Params<'_>,
        app: &App,
        fresh: &Fresh,
        now: SystemTime,
    ) -> Result<Reply, Stop> {
        let text = params
            .one("refresh_token")?
            .ok_or_else(|| missing("refresh_token"))?;
        let scope = params.one("scope")?;
        let found = match digest(text) {
            Some(digest) => self.store.find(&digest).await.map_err(Stop::Broken)?,
            None => None,
        };
        let own = |(record, account): &(TokenRecord, _)| {
            record.kind == TokenKind::Refresh
                && record.app == Some(app.id)
                && alive(record, account, now).is_ok()
        };
        let Some((refresh, _)) = found.filter(own) else {
            return Err(REFRESH.into());
        };
        let asked = match scope {
            None => refresh.scopes,
            Some(text) => ScopeSet::parse(text)
                .ok()
                .filter(|asked| refresh.scopes.covers(*asked) && !asked.is_empty())
                .ok_or(TokenError::InvalidScope)?,
        };
        let person = self.person(refresh.user).await?;
        let (access_text, access) = mint(TokenKind::Access, &fresh.access);
        let record = TokenRecord {
            id: fresh.access_id,
            digest: access,
            kind: TokenKind::Access,
            scopes: asked,
            description: String::new(),
            created_at: now,
            expires_at: Some(now.checked_add(ACCESS_LIFETIME).unwrap_or(now)),
            last_used_at: None,
            ..refresh
        };
        let kept = self.store.refresh(refresh.id, record, now).await;
        let Some(left) = kept.map_err(Stop::Broken)? else {
            return Err(REFRESH.into());
        };
        Ok(Issued {
            access: &access_text,
            refresh: None,
            person: &person,
            scope: (left.scopes != asked).then_some(left.scopes),
            id_token: None,
        }
        .reply())
    }

    async fn person(&self, user: u64) -> Result<Person, Stop> {
        let found = self.people.person(user).await.map_err(Stop::Broken)?;
        let gone = || StoreError::Unavailable(format!("user {user} of a grant is not there"));
        found.ok_or_else(|| Stop::Broken(gone()))
    }

    fn id_token(
        &self,
        code: &Code,
        person: &Person,
        access: &Secret,
        now: SystemTime,
    ) -> Result<Option<String>, Stop> {
        let nonce = code.nonce.as_deref();
        let Some(signer) = self.signer.filter(|_| is_openid(code.scopes, nonce)) else {
            return Ok(None);
        };
        let token = IdToken {
            issuer: self.issuer,
            person,
            app: code.app,
            scopes: code.scopes,
            nonce,
            auth_time: code.auth_time,
            access: Some(access),
            code: None,
        };
        let signed = token.sign(signer, now);
        signed
            .map(Some)
            .map_err(|why| Stop::Broken(StoreError::Unavailable(why.to_string())))
    }
}

/// What a client gets.
struct Issued<'a> {
    access: &'a Secret,
    refresh: Option<&'a Secret>,
    person: &'a Person,
    /// The scopes, if they are not those asked for (RFC 6749 section 5.1).
    scope: Option<ScopeSet>,
    id_token: Option<&'a str>,
}

impl Issued<'_> {
    fn reply(&self) -> Reply {
        let gid = self.person.id.to_string();
        let data = Object::default()
            .number("id", self.person.id)
            .text("gid", &gid)
            .text("name", &self.person.name)
            .text("email", &self.person.email)
            .end();
        let scope = self.scope.map(|scope| scope.to_string());
        let json = Object::default()
            .text("access_token", self.access.expose())
            .number("expires_in", ACCESS_LIFETIME.as_secs())
            .text("token_type", "bearer")
            .maybe("refresh_token", self.refresh.map(Secret::expose))
            .raw("data", &data)
            .maybe("scope", scope.as_deref())
            .maybe("id_token", self.id_token);
        Reply::ok(json.end())
    }
}
