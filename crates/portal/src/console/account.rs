//! Somebody's account: the password, and where they are signed in.
use std::time::SystemTime;

use workgraph_auth::StoreError;

use super::{Answer, Console, Done, Scene, Visitor};
use crate::pages::{Account, Page, Problem, SessionRow, paths};

impl Console<'_> {
    async fn account_page(
        &self,
        scene: &Scene<'_>,
        visitor: &Visitor<'_>,
        problems: &[Problem],
        now: SystemTime,
    ) -> Result<Page, StoreError> {
        let mut own = self.store.sessions(scene.user).await?;
        own.retain(|session| session.is_live(now));
        own.sort_by_key(|session| std::cmp::Reverse(session.last_used_at));
        let row = |session: &workgraph_auth::Session| SessionRow {
            id: session.id(),
            created_at: session.created_at,
            last_used_at: session.last_used_at,
            address: session
                .address
                .map(|address| address.to_canonical().to_string()),
            is_this: session.digest == visitor.session.digest,
        };
        let sessions: Vec<SessionRow> = own.iter().map(row).collect();
        Ok(Account {
            frame: scene.frame(),
            sessions: &sessions,
            problems,
        }
        .page())
    }

    /// The page with a form that came back.
    pub(crate) async fn account_again(
        &self,
        visitor: &Visitor<'_>,
        problems: &[Problem],
        now: SystemTime,
    ) -> Result<Page, StoreError> {
        let scene = self.scene(visitor, &[]).await?;
        self.account_page(&scene, visitor, problems, now).await
    }

    pub(super) async fn account(
        &self,
        scene: &Scene<'_>,
        visitor: &Visitor<'_>,
        now: SystemTime,
    ) -> Result<Answer, StoreError> {
        let page = self.account_page(scene, visitor, &[], now).await?;
        Ok(Answer::ok(page))
    }

    pub(super) async fn end_session(
        &self,
        scene: &Scene<'_>,
        id: &str,
    ) -> Result<Answer, StoreError> {
        let own = self.store.sessions(scene.user).await?;
        // One that is over already is what was asked for.
        if let Some(session) = own.iter().find(|session| session.id() == id) {
            self.store.end_session(&session.digest).await?;
        }
        Ok(Answer::done(paths::ACCOUNT, Done::SignedOut))
    }

    pub(super) async fn end_other_sessions(
        &self,
        scene: &Scene<'_>,
        visitor: &Visitor<'_>,
    ) -> Result<Answer, StoreError> {
        let keep = Some(visitor.session.digest);
        self.store.end_sessions(scene.user, keep).await?;
        Ok(Answer::done(paths::ACCOUNT, Done::SignedOut))
    }

    pub(super) async fn revoke_everything(
        &self,
        scene: &Scene<'_>,
        now: SystemTime,
    ) -> Result<Answer, StoreError> {
        self.store.revoke_all(scene.user, now).await?;
        Ok(Answer::done(paths::ACCOUNT, Done::AllRevoked))
    }
}
