//! Apps, authorizations, codes and sessions in memory: as the tokens beside them, and webhooks end with
//! the last hold of their app, or with all access of their user.
use super::{MemoryStore, Tokens as Kept};
use async_trait::async_trait;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use workgraph_auth::{
    Account, Allow, App, Authorization, Code, Digest, Login, OAuthStore, PasswordChange, Redeemed,
    Secret, Session, TokenRecord, Tokens,
};

#[async_trait]
impl OAuthStore for MemoryStore {
    async fn put_app(&self, app: App, was: Option<&App>) -> Kept<()> {
        let (id, name) = (app.id, app.name.clone());
        self.tokens.put_app(app, was).await?;
        self.state().apps.insert(id, name);
        Ok(())
    }
    async fn app(&self, id: u64) -> Kept<Option<Arc<App>>> {
        self.tokens.app(id).await
    }
    async fn apps(&self, owner: Option<u64>) -> Kept<Vec<App>> {
        self.tokens.apps(owner).await
    }
    async fn allow(&self, allow: Allow) -> Kept<Authorization> {
        self.tokens.allow(allow).await
    }
    async fn keep_code(&self, code: Code) -> Kept<Authorization> {
        self.tokens.keep_code(code).await
    }
    async fn authorization(&self, user: u64, app: u64) -> Kept<Option<Authorization>> {
        self.tokens.authorization(user, app).await
    }
    async fn authorizations(&self, user: u64) -> Kept<Vec<Authorization>> {
        self.tokens.authorizations(user).await
    }
    async fn deauthorize(&self, id: u64, user: u64, now: SystemTime) -> Kept<bool> {
        let done = self.tokens.deauthorize(id, user, now).await;
        self.let_go();
        done
    }
    async fn code(&self, digest: &Digest) -> Kept<Option<Code>> {
        self.tokens.code(digest).await
    }
    async fn redeem(
        &self,
        code: &Digest,
        tokens: Option<Tokens>,
        now: SystemTime,
    ) -> Kept<Redeemed> {
        let done = self.tokens.redeem(code, tokens, now).await;
        self.let_go();
        done
    }
    async fn refresh(
        &self,
        refresh: u64,
        access: TokenRecord,
        now: SystemTime,
    ) -> Kept<Option<TokenRecord>> {
        self.tokens.refresh(refresh, access, now).await
    }
    async fn login_of(&self, user: u64) -> Kept<Option<Login>> {
        self.tokens.login_of(user).await
    }
    async fn change_password(&self, change: PasswordChange) -> Kept<bool> {
        let revoked = change.revoke.map(|_| change.user);
        let done = self.tokens.change_password(change).await?;
        if let Some(user) = revoked.filter(|_| done) {
            self.drop_hooks(user);
        }
        Ok(done)
    }
    async fn start_session(&self, session: Session, hash: Option<&Secret>) -> Kept<()> {
        self.tokens.start_session(session, hash).await
    }
    async fn session(&self, digest: &Digest) -> Kept<Option<(Session, Account)>> {
        self.tokens.session(digest).await
    }
    async fn sessions(&self, user: u64) -> Kept<Vec<Session>> {
        self.tokens.sessions(user).await
    }
    async fn touch_session(&self, digest: &Digest, address: IpAddr, now: SystemTime) -> Kept<()> {
        self.tokens.touch_session(digest, address, now).await
    }
    async fn end_session(&self, digest: &Digest) -> Kept<()> {
        self.tokens.end_session(digest).await
    }
    async fn end_sessions(&self, user: u64, but: Option<Digest>) -> Kept<u64> {
        self.tokens.end_sessions(user, but).await
    }
    async fn attempt_login(&self, key: &Digest, now: SystemTime) -> Kept<Option<Duration>> {
        self.tokens.attempt_login(key, now).await
    }
    async fn forgive_login(&self, key: &Digest) -> Kept<()> {
        self.tokens.forgive_login(key).await
    }
    async fn sweep(&self, before: SystemTime) -> Kept<u64> {
        OAuthStore::sweep(&self.tokens, before).await
    }
}
