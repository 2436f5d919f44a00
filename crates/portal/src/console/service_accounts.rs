//! Service accounts, for administrators of a workspace.
use std::time::SystemTime;

use workgraph_auth::{AuthStoreError, TokenKind, TokenRecord, mint_token};

use super::form_fields::FormFields;
use super::tokens::row;
use super::{
    Console, ConsoleContext, ConsoleNotice, ConsoleResponse, ConsoleUser, MANY, UserWorkspace,
    WriteContext, number,
};
use crate::pages::{
    FormProblem, HtmlPage, SecretKind, ServiceAccountForm, ServiceAccountRow, ServiceAccountsPage,
    WorkspaceServiceAccounts, paths,
};

impl ConsoleContext<'_> {
    /// Returns the workspace with this number, if the signed-in user administers it.
    pub(super) fn administers(&self, workspace: &str) -> Option<&UserWorkspace> {
        let id = number(workspace)?;
        self.memberships
            .iter()
            .find(|membership| membership.workspace == id && membership.admin)
    }
}

impl Console<'_> {
    async fn service_page(
        &self,
        scene: &ConsoleContext<'_>,
        form: &ServiceAccountForm,
        problems: &[FormProblem],
        now: SystemTime,
    ) -> Result<HtmlPage, AuthStoreError> {
        let mut workspaces = Vec::new();
        for membership in scene
            .memberships
            .iter()
            .filter(|membership| membership.admin)
        {
            let mut accounts = Vec::new();
            for (id, name) in self.workspaces.services(membership.workspace).await? {
                let records = self.live(id, TokenKind::Service, now).await?;
                let here = records
                    .into_iter()
                    .filter(|record| record.workspace == Some(membership.workspace));
                accounts.push(ServiceAccountRow {
                    id,
                    name,
                    tokens: here.map(row).collect(),
                });
            }
            workspaces.push(WorkspaceServiceAccounts {
                id: membership.workspace,
                name: membership.name.clone(),
                accounts,
            });
        }
        Ok(ServiceAccountsPage {
            frame: scene.frame(),
            workspaces: &workspaces,
            form,
            problems,
        }
        .page())
    }

    pub(super) async fn services(
        &self,
        scene: &ConsoleContext<'_>,
        now: SystemTime,
    ) -> Result<ConsoleResponse, AuthStoreError> {
        if !scene.memberships.iter().any(|membership| membership.admin) {
            return Ok(ConsoleResponse::not_found());
        }
        Ok(ConsoleResponse::ok(
            self.service_page(scene, &ServiceAccountForm::default(), &[], now)
                .await?,
        ))
    }

    async fn issue(
        &self,
        scene: &ConsoleContext<'_>,
        (membership, account, name): (&UserWorkspace, u64, &str),
        fresh: &WriteContext,
        visitor: &ConsoleUser<'_>,
    ) -> Result<ConsoleResponse, AuthStoreError> {
        let (secret, digest) = mint_token(TokenKind::Service, &fresh.random);
        let mut record =
            TokenRecord::service(fresh.id, digest, account, membership.workspace, fresh.now);
        name.clone_into(&mut record.description);
        match self.store.insert_token(record).await {
            Ok(()) => Ok(self.show(visitor, SecretKind::Service, name, secret, fresh.now)),
            Err(AuthStoreError::NoAccount) => {
                let reason = format!(
                    "{name} is switched off, so it gets no token. The operator of this server can switch it on."
                );
                let problem = FormProblem::new("name", reason);
                let form = ServiceAccountForm::default();
                let problems = [problem];
                let page = self.service_page(scene, &form, &problems, fresh.now);
                Ok(ConsoleResponse::again(page.await?))
            }
            Err(other) => Err(other),
        }
    }

    pub(super) async fn create_service(
        &self,
        scene: &ConsoleContext<'_>,
        form: FormFields<'_>,
        fresh: &WriteContext,
        visitor: &ConsoleUser<'_>,
    ) -> Result<ConsoleResponse, AuthStoreError> {
        if !scene.memberships.iter().any(|membership| membership.admin) {
            return Ok(ConsoleResponse::not_found());
        }
        let mut problems = Vec::new();
        let name = form.line("name", "a name", &mut problems);
        let membership = scene.administers(form.one("workspace"));
        if membership.is_none() {
            problems.push(FormProblem::new(
                "workspace",
                "Choose a workspace that you administer.",
            ));
        }
        if let Some(membership) = membership
            && self.workspaces.services(membership.workspace).await?.len() >= MANY
        {
            problems.push(FormProblem::new(
                "name",
                format!("The workspace has {MANY} service accounts already."),
            ));
        }
        match membership.filter(|_| problems.is_empty()) {
            Some(membership) => {
                let made = self
                    .workspaces
                    .create_service(membership.workspace, &name, self.actor);
                let account = made.await?;
                self.issue(scene, (membership, account, &name), fresh, visitor)
                    .await
            }
            None => {
                let form = ServiceAccountForm {
                    name,
                    workspace: membership.map_or(0, |membership| membership.workspace),
                };
                Ok(ConsoleResponse::again(
                    self.service_page(scene, &form, &problems, fresh.now)
                        .await?,
                ))
            }
        }
    }

    /// Returns a service account of a workspace that the signed-in user administers.
    async fn service<'s>(
        &self,
        scene: &'s ConsoleContext<'_>,
        workspace: &str,
        account: &str,
    ) -> Result<Option<(&'s UserWorkspace, u64, String)>, AuthStoreError> {
        let (Some(membership), Some(id)) = (scene.administers(workspace), number(account)) else {
            return Ok(None);
        };
        let all = self.workspaces.services(membership.workspace).await?;
        let found = all.into_iter().find(|(account, _)| *account == id);
        Ok(found.map(|(account, name)| (membership, account, name)))
    }

    pub(super) async fn create_service_token(
        &self,
        scene: &ConsoleContext<'_>,
        workspace: &str,
        account: &str,
        fresh: &WriteContext,
        visitor: &ConsoleUser<'_>,
    ) -> Result<ConsoleResponse, AuthStoreError> {
        let Some((membership, account, name)) = self.service(scene, workspace, account).await?
        else {
            return Ok(ConsoleResponse::not_found());
        };
        if self
            .live(account, TokenKind::Service, fresh.now)
            .await?
            .len()
            >= MANY
        {
            let many = FormProblem::new(
                "name",
                format!("{name} has {MANY} tokens already; revoke one first."),
            );
            return Ok(ConsoleResponse::again(
                self.service_page(scene, &ServiceAccountForm::default(), &[many], fresh.now)
                    .await?,
            ));
        }
        self.issue(scene, (membership, account, &name), fresh, visitor)
            .await
    }

    pub(super) async fn revoke_service_token(
        &self,
        scene: &ConsoleContext<'_>,
        workspace: &str,
        account: &str,
        id: &str,
        now: SystemTime,
    ) -> Result<ConsoleResponse, AuthStoreError> {
        let Some((membership, account, _)) = self.service(scene, workspace, account).await? else {
            return Ok(ConsoleResponse::not_found());
        };
        let all = self.store.list(account).await?;
        let own = all.iter().find(|record| {
            Some(record.id) == number(id)
                && record.kind == TokenKind::Service
                && record.workspace == Some(membership.workspace)
        });
        let Some(own) = own else {
            return Ok(ConsoleResponse::not_found());
        };
        self.store.revoke(own.id, now).await?;
        Ok(ConsoleResponse::done(
            paths::SERVICES,
            ConsoleNotice::Revoked,
        ))
    }
}
