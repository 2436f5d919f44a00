//! Service accounts, for those who administer a workspace.
use std::time::SystemTime;

use workgraph_auth::{StoreError, TokenKind, TokenRecord, mint};

use super::form::Form;
use super::tokens::row;
use super::{Answer, Console, Done, Fresh, MANY, Scene, Seat, Visitor, number};
use crate::pages::{Page, Problem, Service, ServiceForm, ServicePlace, Services, Use, paths};

impl Scene<'_> {
    /// The workspace of this number, if the visitor administers it.
    pub(super) fn administers(&self, workspace: &str) -> Option<&Seat> {
        let id = number(workspace)?;
        self.seats
            .iter()
            .find(|seat| seat.workspace == id && seat.admin)
    }
}

impl Console<'_> {
    async fn service_page(
        &self,
        scene: &Scene<'_>,
        form: &ServiceForm,
        problems: &[Problem],
        now: SystemTime,
    ) -> Result<Page, StoreError> {
        let mut places = Vec::new();
        for seat in scene.seats.iter().filter(|seat| seat.admin) {
            let mut accounts = Vec::new();
            for (id, name) in self.places.services(seat.workspace).await? {
                let records = self.live(id, TokenKind::Service, now).await?;
                let here = records
                    .into_iter()
                    .filter(|record| record.workspace == Some(seat.workspace));
                accounts.push(Service {
                    id,
                    name,
                    tokens: here.map(row).collect(),
                });
            }
            places.push(ServicePlace {
                id: seat.workspace,
                name: seat.name.clone(),
                accounts,
            });
        }
        Ok(Services {
            frame: scene.frame(),
            places: &places,
            form,
            problems,
        }
        .page())
    }

    pub(super) async fn services(
        &self,
        scene: &Scene<'_>,
        now: SystemTime,
    ) -> Result<Answer, StoreError> {
        if !scene.seats.iter().any(|seat| seat.admin) {
            return Ok(Answer::not_found());
        }
        Ok(Answer::ok(
            self.service_page(scene, &ServiceForm::default(), &[], now)
                .await?,
        ))
    }

    async fn issue(
        &self,
        seat: &Seat,
        account: u64,
        name: &str,
        fresh: &Fresh,
        visitor: &Visitor<'_>,
    ) -> Result<Answer, StoreError> {
        let (secret, digest) = mint(TokenKind::Service, &fresh.random);
        let mut record = TokenRecord::service(fresh.id, digest, account, seat.workspace, fresh.now);
        name.clone_into(&mut record.description);
        self.store.insert(record).await?;
        Ok(self.show(visitor, Use::Service, name, secret, fresh.now))
    }

    pub(super) async fn create_service(
        &self,
        scene: &Scene<'_>,
        form: Form<'_>,
        fresh: &Fresh,
        visitor: &Visitor<'_>,
    ) -> Result<Answer, StoreError> {
        if !scene.seats.iter().any(|seat| seat.admin) {
            return Ok(Answer::not_found());
        }
        let mut problems = Vec::new();
        let name = form.line("name", "a name", &mut problems);
        let seat = scene.administers(form.one("workspace"));
        if seat.is_none() {
            problems.push(Problem::new(
                "workspace",
                "Choose a workspace that you administer.",
            ));
        }
        if let Some(seat) = seat
            && self.places.services(seat.workspace).await?.len() >= MANY
        {
            problems.push(Problem::new(
                "name",
                format!("The workspace has {MANY} service accounts already."),
            ));
        }
        match seat.filter(|_| problems.is_empty()) {
            Some(seat) => {
                let made = self
                    .places
                    .create_service(seat.workspace, &name, self.acting);
                let account = made.await?;
                self.issue(seat, account, &name, fresh, visitor).await
            }
            None => {
                let form = ServiceForm {
                    name,
                    workspace: seat.map_or(0, |seat| seat.workspace),
                };
                Ok(Answer::again(
                    self.service_page(scene, &form, &problems, fresh.now)
                        .await?,
                ))
            }
        }
    }

    /// A service account of a workspace that the visitor administers.
    async fn service<'s>(
        &self,
        scene: &'s Scene<'_>,
        place: &str,
        account: &str,
    ) -> Result<Option<(&'s Seat, u64, String)>, StoreError> {
        let (Some(seat), Some(id)) = (scene.administers(place), number(account)) else {
            return Ok(None);
        };
        let all = self.places.services(seat.workspace).await?;
        let found = all.into_iter().find(|(account, _)| *account == id);
        Ok(found.map(|(account, name)| (seat, account, name)))
    }

    pub(super) async fn create_service_token(
        &self,
        scene: &Scene<'_>,
        place: &str,
        account: &str,
        fresh: &Fresh,
        visitor: &Visitor<'_>,
    ) -> Result<Answer, StoreError> {
        let Some((seat, account, name)) = self.service(scene, place, account).await? else {
            return Ok(Answer::not_found());
        };
        if self
            .live(account, TokenKind::Service, fresh.now)
            .await?
            .len()
            >= MANY
        {
            let many = Problem::new(
                "name",
                format!("{name} has {MANY} tokens already; revoke one first."),
            );
            return Ok(Answer::again(
                self.service_page(scene, &ServiceForm::default(), &[many], fresh.now)
                    .await?,
            ));
        }
        self.issue(seat, account, &name, fresh, visitor).await
    }

    pub(super) async fn revoke_service_token(
        &self,
        scene: &Scene<'_>,
        place: &str,
        account: &str,
        id: &str,
        now: SystemTime,
    ) -> Result<Answer, StoreError> {
        let Some((seat, account, _)) = self.service(scene, place, account).await? else {
            return Ok(Answer::not_found());
        };
        let all = self.store.list(account).await?;
        let own = all.iter().find(|record| {
            Some(record.id) == number(id)
                && record.kind == TokenKind::Service
                && record.workspace == Some(seat.workspace)
        });
        let Some(own) = own else {
            return Ok(Answer::not_found());
        };
        self.store.revoke(own.id, now).await?;
        Ok(Answer::done(paths::SERVICES, Done::Revoked))
    }
}
