//! Apps, authorizations, codes and sessions in memory, like the tokens. Webhooks end with the last access of their app, or with
//! all access of their user.
use super::{MemoryStore, TokenStoreResult};
use async_trait::async_trait;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use workgraph_auth::{
    Account, App, Authorization, AuthorizationCode, BrowserSession, ConsentRecord, IssuedTokens,
    Login, OAuthStore, PasswordChange, RedemptionOutcome, Secret, SecretDigest, TokenRecord,
};

#[async_trait]
impl OAuthStore for MemoryStore {
    async fn put_app(&self, app: App, was: Option<&App>) -> TokenStoreResult<()> {
        let (id, name) = (app.id, app.name.clone());
        self.tokens.put_app(app, was).await?;
        self.state().apps.insert(id, name);
        Ok(())
    }
    async fn app(&self, id: u64) -> TokenStoreResult<Option<Arc<App>>> {
        self.tokens.app(id).await
    }
    async fn apps(&self, owner: Option<u64>) -> TokenStoreResult<Vec<App>> {
        self.tokens.apps(owner).await
    }
    async fn keep_consent(&self, allow: ConsentRecord) -> TokenStoreResult<Authorization> {
        self.tokens.keep_consent(allow).await
    }
    async fn keep_code(&self, code: AuthorizationCode) -> TokenStoreResult<Authorization> {
        self.tokens.keep_code(code).await
    }
    async fn authorization(&self, user: u64, app: u64) -> TokenStoreResult<Option<Authorization>> {
        self.tokens.authorization(user, app).await
    }
    async fn authorizations(&self, user: u64) -> TokenStoreResult<Vec<Authorization>> {
        self.tokens.authorizations(user).await
    }
    async fn deauthorize(&self, id: u64, user: u64, now: SystemTime) -> TokenStoreResult<bool> {
        let done = self.tokens.deauthorize(id, user, now).await;
        self.let_go();
        done
    }
    async fn code(&self, digest: &SecretDigest) -> TokenStoreResult<Option<AuthorizationCode>> {
        self.tokens.code(digest).await
    }
    async fn redeem(
        &self,
        code: &SecretDigest,
        tokens: Option<IssuedTokens>,
        now: SystemTime,
    ) -> TokenStoreResult<RedemptionOutcome> {
        let done = self.tokens.redeem(code, tokens, now).await;
        self.let_go();
        done
    }
    async fn refresh(
        &self,
        refresh: u64,
        access: TokenRecord,
        now: SystemTime,
    ) -> TokenStoreResult<Option<TokenRecord>> {
        self.tokens.refresh(refresh, access, now).await
    }
    async fn login_of(&self, user: u64) -> TokenStoreResult<Option<Login>> {
        self.tokens.login_of(user).await
    }
    async fn change_password(&self, change: PasswordChange) -> TokenStoreResult<bool> {
        let revoked = change.revoke_tokens_at.map(|_| change.user);
        let done = self.tokens.change_password(change).await?;
        if let Some(user) = revoked.filter(|_| done) {
            self.drop_hooks(user);
        }
        Ok(done)
    }
    async fn start_session(
        &self,
        session: BrowserSession,
        hash: Option<&Secret>,
    ) -> TokenStoreResult<()> {
        self.tokens.start_session(session, hash).await
    }
    async fn session(
        &self,
        digest: &SecretDigest,
    ) -> TokenStoreResult<Option<(BrowserSession, Account)>> {
        self.tokens.session(digest).await
    }
    async fn sessions(&self, user: u64) -> TokenStoreResult<Vec<BrowserSession>> {
        self.tokens.sessions(user).await
    }
    async fn touch_session(
        &self,
        digest: &SecretDigest,
        address: IpAddr,
        now: SystemTime,
    ) -> TokenStoreResult<()> {
        self.tokens.touch_session(digest, address, now).await
    }
    async fn end_session(&self, digest: &SecretDigest) -> TokenStoreResult<()> {
        self.tokens.end_session(digest).await
    }
    async fn end_sessions(&self, user: u64, but: Option<SecretDigest>) -> TokenStoreResult<u64> {
        self.tokens.end_sessions(user, but).await
    }
    async fn attempt_login(
        &self,
        key: &SecretDigest,
        now: SystemTime,
    ) -> TokenStoreResult<Option<Duration>> {
        self.tokens.attempt_login(key, now).await
    }
    async fn clear_login_attempts(&self, key: &SecretDigest) -> TokenStoreResult<()> {
        self.tokens.clear_login_attempts(key).await
    }
    async fn delete_expired(&self, before: SystemTime) -> TokenStoreResult<u64> {
        OAuthStore::delete_expired(&self.tokens, before).await
    }
}
