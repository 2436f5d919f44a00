//! Writes of decisions into the maps of the memory store.
use std::collections::HashSet;

use super::{MemoryTokenStore, MemoryTokens};
use crate::ports::token_store::AuthStoreError;
use crate::rules::{AuthDecisionResult, AuthWrite, ConsentContext};
use crate::tokens::token_record::{Account, Login, TokenRecord};

impl MemoryTokenStore {
    /// Makes a decision on the stored records, and carries out its writes.
    pub(super) fn decide<T>(
        &self,
        decide: impl FnOnce(&MemoryTokens) -> AuthDecisionResult<T>,
    ) -> Result<T, AuthStoreError> {
        let mut state = self.lock();
        let decision = decide(&state)?;
        let (mut ids, mut digests) = (HashSet::new(), HashSet::new());
        for write in &decision.writes {
            // Two new tokens of one decision may also share an id or a digest.
            if let AuthWrite::InsertToken { token, .. } = write
                && !(ids.insert(token.id) && digests.insert(token.digest))
            {
                return Err(AuthStoreError::Conflict);
            }
            if state.conflicts_with(write) {
                return Err(AuthStoreError::Conflict);
            }
        }
        for write in decision.writes {
            state.write(write);
        }
        Ok(decision.outcome)
    }
}

impl MemoryTokens {
    /// Returns the records on which a consent of a user to an app depends.
    pub(super) fn consent_context(&self, (user, app): (u64, u64)) -> ConsentContext {
        ConsentContext {
            account: self.accounts.get(&user).copied(),
            app: self.apps.get(&app).cloned(),
            authorization: self.live_authorization(user, app).cloned(),
        }
    }

    /// Returns true if a unique value of a new record is taken.
    fn conflicts_with(&self, write: &AuthWrite) -> bool {
        match write {
            AuthWrite::InsertApp(app) => self.apps.contains_key(&app.id),
            AuthWrite::InsertTicket(ticket, _) => self.tickets.contains_key(ticket),
            AuthWrite::InsertAuthorization(new) => self.authorizations.contains_key(&new.id),
            AuthWrite::InsertCode(code) => self.codes.contains_key(&code.digest),
            AuthWrite::InsertSession(session) => self.sessions.contains_key(&session.digest),
            AuthWrite::InsertToken { token, .. } => {
                self.tokens.contains_key(&token.id) || self.by_digest.contains_key(&token.digest)
            }
            AuthWrite::PutLogin(user, login) => {
                let owner = self.by_email.get(login.email());
                owner.is_some_and(|owner| owner != user)
            }
            _ => false,
        }
    }

    fn write(&mut self, write: AuthWrite) {
        match write {
            AuthWrite::InsertApp(app) | AuthWrite::ReplaceApp(app) => {
                self.apps.insert(app.id, app);
            }
            AuthWrite::PutAccount(account) => {
                self.accounts.insert(account.user, account);
            }
            AuthWrite::SetTier(user, tier) => {
                let new = Account::new(user, tier);
                self.accounts.entry(user).or_insert(new).tier = tier;
            }
            AuthWrite::PutLogin(user, login) => {
                let email = login.email().to_owned();
                if let Some(before) = self.logins.insert(user, login) {
                    self.by_email.remove(before.email());
                }
                self.by_email.insert(email, user);
            }
            AuthWrite::PutPasswordHash(user, hash) => {
                if let Some(login) = self.logins.get_mut(&user) {
                    *login = Login::new(login.email(), hash);
                }
            }
            AuthWrite::InsertTicket(ticket, at) => {
                self.tickets.insert(ticket, at);
            }
            AuthWrite::InsertAuthorization(new) => {
                self.live_authorizations.insert((new.user, new.app), new.id);
                self.authorizations.insert(new.id, new);
            }
            AuthWrite::SetScopes(id, scopes) => {
                if let Some(authorization) = self.authorizations.get_mut(&id) {
                    authorization.scopes = scopes;
                }
            }
            AuthWrite::WithdrawAuthorization { id, user, at } => {
                if let Some(authorization) = self.authorizations.get_mut(&id) {
                    authorization.revoked_at.get_or_insert(at);
                    self.live_authorizations.remove(&(user, authorization.app));
                }
            }
            AuthWrite::WithdrawAuthorizationsOf(user, at) => {
                let own = self.authorizations.values_mut();
                for authorization in own.filter(|authorization| authorization.user == user) {
                    authorization.revoked_at.get_or_insert(at);
                }
                self.live_authorizations
                    .retain(|(owner, _), _| *owner != user);
            }
            AuthWrite::InsertCode(code) => {
                self.codes.insert(code.digest, code);
            }
            AuthWrite::SpendCode { code, at, refresh } => {
                if let Some(code) = self.codes.get_mut(&code) {
                    (code.used_at, code.refresh) = (Some(at), refresh);
                }
            }
            AuthWrite::InsertToken { token, refresh } => self.insert_token(token, refresh),
            AuthWrite::RevokeToken { id, at, .. } => {
                if let Some(token) = self.tokens.get_mut(&id) {
                    token.revoked_at.get_or_insert(at);
                }
            }
            AuthWrite::RevokeTokensOf(user, at) => {
                let own = self.tokens.values_mut();
                for token in own.filter(|token| token.user == user) {
                    token.revoked_at.get_or_insert(at);
                }
            }
            AuthWrite::InsertSession(session) => {
                self.sessions.insert(session.digest, session);
            }
            AuthWrite::DeleteSession(digest) => {
                self.sessions.remove(&digest);
            }
            AuthWrite::DeleteSessionsOf(user, but) => {
                let stays = |digest, owner| owner != user || but == Some(digest);
                self.sessions
                    .retain(|digest, session| stays(*digest, session.user));
            }
            AuthWrite::DeleteOrphanedWebhooks { .. } | AuthWrite::DeleteWebhooksOf(_) => {}
        }
    }

    fn insert_token(&mut self, token: TokenRecord, refresh: Option<u64>) {
        if let Some(refresh) = refresh {
            self.refresh_of.insert(token.id, refresh);
        }
        self.by_digest.insert(token.digest, token.id);
        self.tokens.insert(token.id, token);
    }
}
