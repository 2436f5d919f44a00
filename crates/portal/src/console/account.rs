//! The account page of a user: the password, and the browsers with a session.
use std::time::SystemTime;

use workgraph_auth::AuthStoreError;

use super::{Console, ConsoleContext, ConsoleNotice, ConsoleResponse, ConsoleUser};
use crate::pages::{AccountPage, FormProblem, HtmlPage, SessionRow, paths};

impl Console<'_> {
    async fn account_page(
        &self,
        scene: &ConsoleContext<'_>,
        visitor: &ConsoleUser<'_>,
        problems: &[FormProblem],
        now: SystemTime,
    ) -> Result<HtmlPage, AuthStoreError> {
        let mut own = self.store.sessions(scene.user).await?;
        own.retain(|session| session.is_live(now));
        own.sort_by_key(|session| std::cmp::Reverse(session.last_used_at));
        let row = |session: &workgraph_auth::BrowserSession| SessionRow {
            id: session.id(),
            created_at: session.created_at,
            last_used_at: session.last_used_at,
            address: session
                .address
                .map(|address| address.to_canonical().to_string()),
            is_this: session.digest == visitor.session.digest,
        };
        let sessions: Vec<SessionRow> = own.iter().map(row).collect();
        Ok(AccountPage {
            frame: scene.frame(),
            sessions: &sessions,
            problems,
        }
        .page())
    }

    /// Returns the account page with a rejected form and its problems.
    pub(crate) async fn account_again(
        &self,
        visitor: &ConsoleUser<'_>,
        problems: &[FormProblem],
        now: SystemTime,
    ) -> Result<HtmlPage, AuthStoreError> {
        let scene = self.scene(visitor, &[]).await?;
        self.account_page(&scene, visitor, problems, now).await
    }

    pub(super) async fn account(
        &self,
        scene: &ConsoleContext<'_>,
        visitor: &ConsoleUser<'_>,
        now: SystemTime,
    ) -> Result<ConsoleResponse, AuthStoreError> {
        let page = self.account_page(scene, visitor, &[], now).await?;
        Ok(ConsoleResponse::ok(page))
    }

    pub(super) async fn end_session(
        &self,
        scene: &ConsoleContext<'_>,
        id: &str,
    ) -> Result<ConsoleResponse, AuthStoreError> {
        let own = self.store.sessions(scene.user).await?;
        // A session that has already ended is no error.
        if let Some(session) = own.iter().find(|session| session.id() == id) {
            self.store.end_session(&session.digest).await?;
        }
        Ok(ConsoleResponse::done(
            paths::ACCOUNT,
            ConsoleNotice::SignedOut,
        ))
    }

    pub(super) async fn end_other_sessions(
        &self,
        scene: &ConsoleContext<'_>,
        visitor: &ConsoleUser<'_>,
    ) -> Result<ConsoleResponse, AuthStoreError> {
        let keep = Some(visitor.session.digest);
        self.store.end_sessions(scene.user, keep).await?;
        Ok(ConsoleResponse::done(
            paths::ACCOUNT,
            ConsoleNotice::SignedOut,
        ))
    }

    pub(super) async fn revoke_everything(
        &self,
        scene: &ConsoleContext<'_>,
        now: SystemTime,
    ) -> Result<ConsoleResponse, AuthStoreError> {
        self.store.revoke_all(scene.user, now).await?;
        Ok(ConsoleResponse::done(
            paths::ACCOUNT,
            ConsoleNotice::AllRevoked,
        ))
    }
}
