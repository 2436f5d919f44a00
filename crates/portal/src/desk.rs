//! Leads requests to the console: nobody gets there without a live session.
use std::time::SystemTime;

use workgraph_api::Reply;
use workgraph_auth::{OAuthStore, encode};
use workgraph_core::audit::Acting;

use crate::console::{Answer, Console, Fresh, Visitor};
use crate::form;
use crate::pages::paths;
use crate::portal::{Broken, Portal};
use crate::request::{Request, page, see_other};
use crate::session::{Visit, not_ours};

impl Portal {
    pub(crate) fn console<'c>(
        &'c self,
        store: &'c dyn OAuthStore,
        acting: &'c Acting,
    ) -> Console<'c> {
        Console {
            store,
            acting,
            places: &*self.places,
            drawer: &self.drawer,
            loopback: self.settings.loopback,
        }
    }

    pub(crate) async fn console_page(
        &self,
        request: &Request,
        now: SystemTime,
    ) -> Result<Reply, Broken> {
        let Some(visit) = self.visit(request, now).await? else {
            return Ok(sign_in_first(request));
        };
        let query = form::decode(&request.query).unwrap_or_default();
        let acting = request.acting(Some(visit.session.user));
        let answer = self
            .console(&*self.store, &acting)
            .get(&visitor(&visit), &request.path, &query, now)
            .await?;
        Ok(send(answer))
    }

    pub(crate) async fn console_form(
        &self,
        request: &Request,
        now: SystemTime,
    ) -> Result<Reply, Broken> {
        if !self.is_own(request) {
            return Ok(not_ours());
        }
        let (Ok(body), Some(visit)) = (form::read(request), self.visit(request, now).await?) else {
            return Ok(not_ours());
        };
        if request.path == paths::PASSWORD {
            return self.change_password(request, &visit, &body, now).await;
        }
        let fresh = Fresh {
            now,
            id: self.number(),
            random: self.random()?,
        };
        let acting = request.acting(Some(visit.session.user));
        let store = self.acts.by(acting.clone(), now);
        let answer = self
            .console(&*store, &acting)
            .post(&visitor(&visit), &request.path, &body, &fresh)
            .await?;
        Ok(send(answer))
    }
}

pub(crate) fn visitor(visit: &Visit) -> Visitor<'_> {
    Visitor {
        session: &visit.session,
        secret: &visit.secret,
        name: &visit.person.name,
    }
}

fn sign_in_first(request: &Request) -> Reply {
    let next = encode(&request.path);
    see_other(format!("{}?next={next}", paths::SIGN_IN))
}

fn send(answer: Option<Answer>) -> Reply {
    match answer.unwrap_or_else(Answer::not_found) {
        Answer::Page(status, shown) => page(status, shown),
        Answer::SeeOther(path) => see_other(path),
    }
}
