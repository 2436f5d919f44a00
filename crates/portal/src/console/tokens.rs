//! Personal access tokens.
use std::time::{Duration, SystemTime};

use workgraph_auth::{AuthStoreError, TokenKind, TokenRecord, mint_token};

use super::form_fields::FormFields;
use super::{
    Console, ConsoleContext, ConsoleNotice, ConsoleResponse, ConsoleUser, MANY, WriteContext,
    is_live, number,
};
use crate::pages::{FormProblem, LIFETIMES, SecretKind, TokenForm, TokenRow, TokensPage, paths};

pub(super) fn row(record: TokenRecord) -> TokenRow {
    TokenRow {
        id: record.id,
        description: record.description,
        scopes: record.scopes,
        created_at: record.created_at,
        expires_at: record.expires_at,
        last_used_at: record.last_used_at,
    }
}

impl Console<'_> {
    /// Returns the live tokens of one kind of an account, newest first.
    pub(super) async fn live(
        &self,
        user: u64,
        kind: TokenKind,
        now: SystemTime,
    ) -> Result<Vec<TokenRecord>, AuthStoreError> {
        let mut all = self.store.list(user).await?;
        all.retain(|record| record.kind == kind && is_live(record, now));
        all.reverse();
        Ok(all)
    }

    async fn list(
        &self,
        scene: &ConsoleContext<'_>,
        form: &TokenForm,
        problems: &[FormProblem],
        now: SystemTime,
    ) -> Result<crate::pages::HtmlPage, AuthStoreError> {
        let records = self.live(scene.user, TokenKind::Personal, now).await?;
        let tokens: Vec<TokenRow> = records.into_iter().map(row).collect();
        Ok(TokensPage {
            frame: scene.frame(),
            tokens: &tokens,
            form,
            problems,
        }
        .page())
    }

    pub(super) async fn tokens(
        &self,
        scene: &ConsoleContext<'_>,
        now: SystemTime,
    ) -> Result<ConsoleResponse, AuthStoreError> {
        Ok(ConsoleResponse::ok(
            self.list(scene, &TokenForm::default(), &[], now).await?,
        ))
    }

    pub(super) async fn create_token(
        &self,
        scene: &ConsoleContext<'_>,
        form: FormFields<'_>,
        fresh: &WriteContext,
        visitor: &ConsoleUser<'_>,
    ) -> Result<ConsoleResponse, AuthStoreError> {
        let mut problems = Vec::new();
        let description = form.line("description", "a description", &mut problems);
        let days = LIFETIMES
            .into_iter()
            .find(|(days, _)| days.to_string() == form.one("days"));
        if days.is_none() {
            problems.push(FormProblem::new("days", "Choose one of the times offered."));
        }
        let mut wrong = Vec::new();
        let scopes = form.permissions(&mut wrong);
        problems.append(&mut wrong);
        if self
            .live(scene.user, TokenKind::Personal, fresh.now)
            .await?
            .len()
            >= MANY
        {
            problems.push(FormProblem::new(
                "description",
                format!("You have {MANY} tokens already; revoke one first."),
            ));
        }
        let days = days.map_or_else(|| TokenForm::default().days, |(days, _)| days);
        if !problems.is_empty() {
            let form = TokenForm {
                description,
                scopes,
                days,
            };
            return Ok(ConsoleResponse::again(
                self.list(scene, &form, &problems, fresh.now).await?,
            ));
        }
        let (secret, digest) = mint_token(TokenKind::Personal, &fresh.random);
        let mut record = TokenRecord::personal(fresh.id, digest, scene.user, fresh.now);
        record.description.clone_from(&description);
        record.scopes = scopes;
        let lifetime = Duration::from_secs(u64::from(days) * 86_400);
        record.expires_at = (days > 0)
            .then(|| fresh.now.checked_add(lifetime))
            .flatten();
        self.store.insert_token(record).await?;
        Ok(self.show(
            visitor,
            SecretKind::Personal,
            &description,
            secret,
            fresh.now,
        ))
    }

    pub(super) async fn revoke_token(
        &self,
        scene: &ConsoleContext<'_>,
        id: &str,
        now: SystemTime,
    ) -> Result<ConsoleResponse, AuthStoreError> {
        let own = self.store.list(scene.user).await?;
        let own = own
            .iter()
            .find(|record| record.kind == TokenKind::Personal && Some(record.id) == number(id));
        let Some(own) = own else {
            return Ok(ConsoleResponse::not_found());
        };
        // A token that is already revoked is no error.
        self.store.revoke(own.id, now).await?;
        Ok(ConsoleResponse::done(paths::TOKENS, ConsoleNotice::Revoked))
    }
}
