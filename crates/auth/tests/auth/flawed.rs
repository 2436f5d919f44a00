//! The memory store with one flaw of its OAuth half.
use std::net::IpAddr;
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use workgraph_auth::conformance::SCOPES;
use workgraph_auth::{
    Account, App, AuthStoreError, Authorization, AuthorizationCode, BrowserSession, ConsentRecord,
    IssuedTokens, Login, MemoryTokenStore, OAuthStore, PasswordChange, RedemptionOutcome, ScopeSet,
    Secret, SecretDigest, Tier, TokenRecord, TokenStore,
};

/// Flaw of a store.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Flaw {
    CodeTwice,
    ReplayHarmless,
    RepeatKills,
    BurnForgets,
    SilenceReplaces,
    SilenceRevives,
    ScopesAdd,
    ScopesUncut,
    GrantOutlived,
    AnyRefresh,
    FamilyLives,
    TicketTwice,
    BlindPut,
    CannotRevoke,
    SessionsStay,
    LateSession,
}

impl Flaw {
    /// Flaws that a long run must notice.
    pub(crate) const LAWLESS: [Self; 9] = [
        Self::SilenceReplaces,
        Self::SilenceRevives,
        Self::CodeTwice,
        Self::ReplayHarmless,
        Self::BurnForgets,
        Self::ScopesAdd,
        Self::ScopesUncut,
        Self::GrantOutlived,
        Self::FamilyLives,
    ];
}

pub(crate) struct Flawed(pub(crate) Flaw, pub(crate) MemoryTokenStore);

impl Flawed {
    fn is(&self, flaw: Flaw) -> bool {
        self.0 == flaw
    }

    /// Returns a token as this store returns it.
    fn show(&self, mut record: TokenRecord) -> TokenRecord {
        if record.grant.is_some() && self.is(Flaw::ScopesUncut) {
            record.scopes = ScopeSet::full();
        }
        let bearer = record.expires_at.is_some();
        if self.is(Flaw::GrantOutlived) || bearer && self.is(Flaw::FamilyLives) {
            record.revoked_at = None;
        }
        record
    }
}

type Answer<T> = Result<T, AuthStoreError>;

#[async_trait]
impl TokenStore for Flawed {
    async fn find_token(&self, digest: &SecretDigest) -> Answer<Option<(TokenRecord, Account)>> {
        let found = self.1.find_token(digest).await?;
        Ok(found.map(|(record, account)| (self.show(record), account)))
    }
    async fn insert_token(&self, record: TokenRecord) -> Answer<()> {
        self.1.insert_token(record).await
    }
    async fn revoke(&self, id: u64, now: SystemTime) -> Answer<bool> {
        if self.is(Flaw::CannotRevoke) {
            return Err(AuthStoreError::Unavailable("the disk is full".to_owned()));
        }
        self.1.revoke(id, now).await
    }
    async fn revoke_all(&self, user: u64, now: SystemTime) -> Answer<u64> {
        self.1.revoke_all(user, now).await
    }
    async fn list(&self, user: u64) -> Answer<Vec<TokenRecord>> {
        self.1.list(user).await
    }
    async fn record_token_uses(&self, used: &[(u64, SystemTime)]) -> Answer<()> {
        self.1.record_token_uses(used).await
    }
    async fn put_account(&self, account: Account, login: Option<Login>) -> Answer<()> {
        let sessions = self.1.sessions(account.user).await?;
        self.1.put_account(account, login).await?;
        for session in sessions.into_iter().filter(|_| self.is(Flaw::SessionsStay)) {
            match self.1.start_session(session, None).await {
                Ok(()) | Err(AuthStoreError::Conflict) => {}
                Err(other) => return Err(other),
            }
        }
        Ok(())
    }
    async fn set_tier(&self, user: u64, tier: Tier) -> Answer<()> {
        self.1.set_tier(user, tier).await
    }
    async fn set_disabled(&self, user: u64, disabled: bool, now: SystemTime) -> Answer<()> {
        self.1.set_disabled(user, disabled, now).await
    }
    async fn account(&self, user: u64) -> Answer<Option<Account>> {
        self.1.account(user).await
    }
    async fn login(&self, email: &str) -> Answer<Option<(Account, Secret)>> {
        self.1.login(email).await
    }
}

#[async_trait]
impl OAuthStore for Flawed {
    async fn put_app(&self, app: App, was: Option<&App>) -> Answer<()> {
        if self.is(Flaw::BlindPut) {
            let now = self.1.app(app.id).await?;
            return self.1.put_app(app, now.as_deref()).await;
        }
        self.1.put_app(app, was).await
    }
    async fn app(&self, id: u64) -> Answer<Option<std::sync::Arc<App>>> {
        self.1.app(id).await
    }
    async fn apps(&self, owner: Option<u64>) -> Answer<Vec<App>> {
        self.1.apps(owner).await
    }
    async fn keep_consent(&self, mut allow: ConsentRecord) -> Answer<Authorization> {
        let (user, app) = (allow.authorization.user, allow.authorization.app);
        if self.is(Flaw::ScopesAdd)
            && let Some(before) = self.1.authorization(user, app).await?
        {
            let both = format!("{} {}", before.scopes, allow.authorization.scopes);
            allow.authorization.scopes = SCOPES.parse(&both).unwrap_or(ScopeSet::full());
        }
        if self.is(Flaw::TicketTwice) {
            allow.ticket.0[0] ^= allow.authorization.scopes.to_string().len() as u8;
        }
        self.1.keep_consent(allow).await
    }
    async fn keep_code(&self, code: AuthorizationCode) -> Answer<Authorization> {
        let stands = self.1.authorization(code.user, code.app).await?;
        let consented = match self.0 {
            Flaw::SilenceReplaces => stands.is_some_and(|s| s.scopes.covers(code.scopes)),
            Flaw::SilenceRevives => stands.is_none(),
            _ => false,
        };
        if !consented {
            return self.1.keep_code(code).await;
        }
        let authorization = Authorization {
            id: u64::from(code.digest.0[0]) + 1_000_000,
            user: code.user,
            app: code.app,
            scopes: code.scopes,
            created_at: code.created_at,
            revoked_at: None,
        };
        let allow = ConsentRecord {
            ticket: code.digest,
            time: code.created_at,
            authorization,
            code: Some(code),
        };
        self.1.keep_consent(allow).await
    }
    async fn authorization(&self, user: u64, app: u64) -> Answer<Option<Authorization>> {
        self.1.authorization(user, app).await
    }
    async fn authorizations(&self, user: u64) -> Answer<Vec<Authorization>> {
        self.1.authorizations(user).await
    }
    async fn deauthorize(&self, id: u64, user: u64, now: SystemTime) -> Answer<bool> {
        self.1.deauthorize(id, user, now).await
    }
    async fn code(&self, digest: &SecretDigest) -> Answer<Option<AuthorizationCode>> {
        let mut code = self.1.code(digest).await?;
        if self.is(Flaw::CodeTwice)
            && let Some(code) = &mut code
        {
            code.used_at = None;
        }
        Ok(code)
    }
    async fn redeem(
        &self,
        code: &SecretDigest,
        tokens: Option<IssuedTokens>,
        now: SystemTime,
    ) -> Answer<RedemptionOutcome> {
        let spent = self
            .1
            .code(code)
            .await?
            .is_some_and(|c| c.used_at.is_some());
        match (self.0, tokens) {
            (Flaw::CodeTwice, Some(tokens)) if spent => {
                self.1.insert_token(tokens.refresh).await?;
                self.1.insert_token(tokens.access.clone()).await?;
                Ok(RedemptionOutcome::Issued(Box::new(tokens.access)))
            }
            (Flaw::ReplayHarmless, _) if spent => Ok(RedemptionOutcome::Replayed),
            (Flaw::RepeatKills, Some(_)) if spent => self.1.redeem(code, None, now).await,
            (Flaw::BurnForgets, None) if !spent => Ok(RedemptionOutcome::Spent),
            (_, tokens) => self.1.redeem(code, tokens, now).await,
        }
    }
    async fn refresh(
        &self,
        refresh: u64,
        access: TokenRecord,
        now: SystemTime,
    ) -> Answer<Option<TokenRecord>> {
        let kept = self.1.refresh(refresh, access.clone(), now).await?;
        if self.is(Flaw::AnyRefresh) && kept.is_none() {
            self.1.insert_token(access.clone()).await?;
            return Ok(Some(access));
        }
        Ok(kept)
    }
    async fn login_of(&self, user: u64) -> Answer<Option<Login>> {
        self.1.login_of(user).await
    }
    async fn change_password(&self, change: PasswordChange) -> Answer<bool> {
        self.1.change_password(change).await
    }
    async fn start_session(&self, session: BrowserSession, hash: Option<&Secret>) -> Answer<()> {
        let hash = hash.filter(|_| !self.is(Flaw::LateSession));
        self.1.start_session(session, hash).await
    }
    async fn session(&self, digest: &SecretDigest) -> Answer<Option<(BrowserSession, Account)>> {
        self.1.session(digest).await
    }
    async fn sessions(&self, user: u64) -> Answer<Vec<BrowserSession>> {
        self.1.sessions(user).await
    }
    async fn touch_session(
        &self,
        digest: &SecretDigest,
        from: IpAddr,
        now: SystemTime,
    ) -> Answer<()> {
        self.1.touch_session(digest, from, now).await
    }
    async fn end_session(&self, digest: &SecretDigest) -> Answer<()> {
        self.1.end_session(digest).await
    }
    async fn end_sessions(&self, user: u64, but: Option<SecretDigest>) -> Answer<u64> {
        self.1.end_sessions(user, but).await
    }
    async fn attempt_login(&self, key: &SecretDigest, now: SystemTime) -> Answer<Option<Duration>> {
        self.1.attempt_login(key, now).await
    }
    async fn clear_login_attempts(&self, key: &SecretDigest) -> Answer<()> {
        self.1.clear_login_attempts(key).await
    }
    async fn delete_expired(&self, before: SystemTime) -> Answer<u64> {
        self.1.delete_expired(before).await
    }
}
