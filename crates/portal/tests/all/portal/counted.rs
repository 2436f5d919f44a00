//! A store that records which of its calls were awaited.
use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use workgraph_auth::{
    Account, App, AuthStoreError, Authorization, AuthorizationCode, BrowserSession, ConsentRecord,
    IssuedTokens, Login, MemoryTokenStore, OAuthStore, PasswordChange, RedemptionOutcome, Secret,
    SecretDigest, Tier, TokenRecord, TokenStore,
};

#[derive(Default)]
pub(crate) struct Counted {
    inner: MemoryTokenStore,
    calls: Mutex<Vec<&'static str>>,
    /// Change of password that comes just before the next session starts.
    meanwhile: Mutex<Option<PasswordChange>>,
}

impl Counted {
    fn note(&self, call: &'static str) {
        self.calls.lock().unwrap().push(call);
    }

    /// Has a password changed just before the next session starts.
    pub(crate) fn change_meanwhile(&self, change: PasswordChange) {
        *self.meanwhile.lock().unwrap() = Some(change);
    }

    /// Returns the calls since the last time.
    pub(crate) fn calls(&self) -> Vec<&'static str> {
        std::mem::take(&mut *self.calls.lock().unwrap())
    }
}

type Answer<T> = Result<T, AuthStoreError>;

#[async_trait]
impl TokenStore for Counted {
    async fn find_token(&self, digest: &SecretDigest) -> Answer<Option<(TokenRecord, Account)>> {
        self.note("find");
        self.inner.find_token(digest).await
    }
    async fn insert_token(&self, record: TokenRecord) -> Answer<()> {
        self.note("insert");
        self.inner.insert_token(record).await
    }
    async fn revoke(&self, id: u64, now: SystemTime) -> Answer<bool> {
        self.note("revoke");
        self.inner.revoke(id, now).await
    }
    async fn revoke_all(&self, user: u64, now: SystemTime) -> Answer<u64> {
        self.note("revoke_all");
        self.inner.revoke_all(user, now).await
    }
    async fn list(&self, user: u64) -> Answer<Vec<TokenRecord>> {
        self.note("list");
        self.inner.list(user).await
    }
    async fn record_token_uses(&self, used: &[(u64, SystemTime)]) -> Answer<()> {
        self.note("touch");
        self.inner.record_token_uses(used).await
    }
    async fn put_account(&self, account: Account, login: Option<Login>) -> Answer<()> {
        self.note("put_account");
        self.inner.put_account(account, login).await
    }
    async fn set_tier(&self, user: u64, tier: Tier) -> Answer<()> {
        self.note("set_tier");
        self.inner.set_tier(user, tier).await
    }
    async fn set_disabled(&self, user: u64, disabled: bool, now: SystemTime) -> Answer<()> {
        self.note("set_disabled");
        self.inner.set_disabled(user, disabled, now).await
    }
    async fn account(&self, user: u64) -> Answer<Option<Account>> {
        self.note("account");
        self.inner.account(user).await
    }
    async fn login(&self, email: &str) -> Answer<Option<(Account, Secret)>> {
        self.note("login");
        self.inner.login(email).await
    }
}

#[async_trait]
impl OAuthStore for Counted {
    async fn put_app(&self, app: App, was: Option<&App>) -> Answer<()> {
        self.note("put_app");
        self.inner.put_app(app, was).await
    }
    async fn app(&self, id: u64) -> Answer<Option<Arc<App>>> {
        self.note("app");
        self.inner.app(id).await
    }
    async fn apps(&self, owner: Option<u64>) -> Answer<Vec<App>> {
        self.note("apps");
        self.inner.apps(owner).await
    }
    async fn keep_consent(&self, allow: ConsentRecord) -> Answer<Authorization> {
        self.note("allow");
        self.inner.keep_consent(allow).await
    }
    async fn keep_code(&self, code: AuthorizationCode) -> Answer<Authorization> {
        self.note("keep_code");
        self.inner.keep_code(code).await
    }
    async fn authorization(&self, user: u64, app: u64) -> Answer<Option<Authorization>> {
        self.note("authorization");
        self.inner.authorization(user, app).await
    }
    async fn authorizations(&self, user: u64) -> Answer<Vec<Authorization>> {
        self.note("authorizations");
        self.inner.authorizations(user).await
    }
    async fn deauthorize(&self, id: u64, user: u64, now: SystemTime) -> Answer<bool> {
        self.note("deauthorize");
        self.inner.deauthorize(id, user, now).await
    }
    async fn code(&self, digest: &SecretDigest) -> Answer<Option<AuthorizationCode>> {
        self.note("code");
        self.inner.code(digest).await
    }
    async fn redeem(
        &self,
        code: &SecretDigest,
        tokens: Option<IssuedTokens>,
        now: SystemTime,
    ) -> Answer<RedemptionOutcome> {
        self.note("redeem");
        self.inner.redeem(code, tokens, now).await
    }
    async fn refresh(
        &self,
        refresh: u64,
        access: TokenRecord,
        now: SystemTime,
    ) -> Answer<Option<TokenRecord>> {
        self.note("refresh");
        self.inner.refresh(refresh, access, now).await
    }
    async fn login_of(&self, user: u64) -> Answer<Option<Login>> {
        self.note("login_of");
        self.inner.login_of(user).await
    }
    async fn change_password(&self, change: PasswordChange) -> Answer<bool> {
        self.note("change_password");
        self.inner.change_password(change).await
    }
    async fn start_session(&self, session: BrowserSession, hash: Option<&Secret>) -> Answer<()> {
        self.note("start_session");
        let meanwhile = self.meanwhile.lock().unwrap().take();
        if let Some(change) = meanwhile {
            assert!(self.inner.change_password(change).await?);
        }
        self.inner.start_session(session, hash).await
    }
    async fn session(&self, digest: &SecretDigest) -> Answer<Option<(BrowserSession, Account)>> {
        self.note("session");
        self.inner.session(digest).await
    }
    async fn sessions(&self, user: u64) -> Answer<Vec<BrowserSession>> {
        self.note("sessions");
        self.inner.sessions(user).await
    }
    async fn touch_session(
        &self,
        digest: &SecretDigest,
        from: IpAddr,
        now: SystemTime,
    ) -> Answer<()> {
        self.note("touch_session");
        self.inner.touch_session(digest, from, now).await
    }
    async fn end_session(&self, digest: &SecretDigest) -> Answer<()> {
        self.note("end_session");
        self.inner.end_session(digest).await
    }
    async fn end_sessions(&self, user: u64, but: Option<SecretDigest>) -> Answer<u64> {
        self.note("end_sessions");
        self.inner.end_sessions(user, but).await
    }
    async fn attempt_login(&self, key: &SecretDigest, now: SystemTime) -> Answer<Option<Duration>> {
        self.note("attempt_login");
        self.inner.attempt_login(key, now).await
    }
    async fn clear_login_attempts(&self, key: &SecretDigest) -> Answer<()> {
        self.note("forgive_login");
        self.inner.clear_login_attempts(key).await
    }
    async fn delete_expired(&self, before: SystemTime) -> Answer<u64> {
        self.note("sweep");
        OAuthStore::delete_expired(&self.inner, before).await
    }
}
