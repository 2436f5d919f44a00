//! The browser's way from an app to the user's word and back (RFC 6749 section 4.1).
use std::time::SystemTime;

use workgraph_api::Reply;
use workgraph_auth::authorize::{Refused, client};
use workgraph_auth::session::{open_ticket, ticket};
use workgraph_auth::{
    Allow, Authorization, AuthorizationRequest, AuthorizeError, Code, Delivery, Digest, Next, Pair,
    Secret, StoreError, Verified, encode,
};

use crate::form;
use crate::pages::{Consent, FormPost, OutOfBand, SignIn, Wish, paths};
use crate::portal::{Broken, Portal};
use crate::request::{Request, page, plain, see_other};
use crate::route::AUTHORIZE;
use crate::session::{Visit, not_ours};

/// The fields of the consent form: the query that asked, the ticket, and the user's word.
const REQUEST: &str = "request";
const TICKET: &str = "ticket";
const DECISION: &str = "decision";

/// Why a request goes no further: the reply to it.
pub(crate) type Stopped = Box<Reply>;

impl Portal {
    /// `GET /-/oauth_authorize`.
    pub(crate) async fn authorize(
        &self,
        request: &Request,
        now: SystemTime,
    ) -> Result<Reply, Broken> {
        let visit = self.visit(request, now).await?;
        let (query, fresh) = Self::fresh(request, visit.as_ref(), now);
        let (asked, pairs) = match self.read(query).await? {
            Ok(read) => read,
            Err(reply) => return Ok(*reply),
        };
        let standing = match &visit {
            Some(visit) => {
                self.store
                    .authorization(visit.session.user, asked.app())
                    .await
            }
            None => Ok(None),
        };
        let standing = match standing {
            Ok(standing) => standing,
            Err(e) => return Ok(self.lost(&asked, &e.into())),
        };
        let session = visit.as_ref().map(|visit| &visit.session);
        match (asked.next(session, fresh, standing.as_ref(), now), &visit) {
            (Err(refused), _) => Ok(self.refuse(&asked, &refused)),
            (Ok(Next::Silent), Some(visit)) => {
                // Nobody is asked, so there is no form to be answered once.
                let ticket = Digest(self.random()?);
                self.allow(request, &asked, visit, ticket, now).await
            }
            (Ok(Next::Consent), Some(visit)) => {
                if let Some(refused) = self.admit(&asked, visit).await? {
                    return Ok(self.refuse(&asked, &refused));
                }
                self.ask(visit, &asked, query, &pairs, standing.as_ref(), now)
            }
            _ => {
                let fields = [("next".to_owned(), format!("{AUTHORIZE}?{query}"))];
                let form = SignIn {
                    fields: &fields,
                    email: asked.login_hint().unwrap_or_default(),
                    app: Some(&asked.client().name),
                    ..SignIn::default()
                };
                let to = asked.redirect().as_str();
                self.ask_to_sign_in(request, 200, &form, Some(to))
            }
        }
    }

    /// `POST /-/oauth_authorize`: the consent form.
    pub(crate) async fn decide(&self, request: &Request, now: SystemTime) -> Result<Reply, Broken> {
        if !self.is_own(request) {
            return Ok(not_ours());
        }
        let (Ok(fields), Some(visit)) = (form::read(request), self.visit(request, now).await?)
        else {
            return Ok(not_ours());
        };
        let query = form::one(&fields, REQUEST);
        let (asked, pairs) = match self.read(query).await? {
            Ok(read) => read,
            Err(reply) => return Ok(*reply),
        };
        let text = form::one(&fields, TICKET);
        let ticket = open_ticket(text, &visit.secret, visit.session.user, &pairs, now);
        let Some(ticket) = ticket else {
            return Ok(not_ours());
        };
        match form::one(&fields, DECISION) {
            "allow" => self.allow(request, &asked, &visit, ticket, now).await,
            "deny" => Ok(self.refuse(&asked, &asked.refuse(AuthorizeError::Denied))),
            _ => Ok(not_ours()),
        }
    }

    /// Reads a request. Until app and redirect URL are verified, errors are plain text.
    pub(crate) async fn read(
        &self,
        query: &str,
    ) -> Result<Result<(AuthorizationRequest, Vec<Pair>), Stopped>, Broken> {
        let stop = |text: &str| Ok(Err(Box::new(plain(400, text))));
        let Ok(pairs) = form::decode(query) else {
            return stop("invalid_request: The query cannot be decoded.");
        };
        let found = match client(&pairs) {
            Ok(id) => self.store.app(id).await?,
            Err(why) => return stop(&why.to_string()),
        };
        let verified = match Verified::check(&pairs, found) {
            Ok(verified) => verified,
            Err(why) => return stop(&why.to_string()),
        };
        let name = verified.app().name.clone();
        Ok(match AuthorizationRequest::read(verified, &pairs) {
            Ok(asked) => Ok((asked, pairs)),
            Err(refused) => {
                let delivery = refused.deliver(&self.settings.base_url);
                Err(Box::new(deliver(&name, delivery)))
            }
        })
    }

    /// Whether the app works in none of the user's workspaces.
    async fn admit(
        &self,
        asked: &AuthorizationRequest,
        visit: &Visit,
    ) -> Result<Option<Box<Refused>>, Broken> {
        let seats = self.places.seats(visit.session.user).await?;
        let places: Vec<u64> = seats.iter().map(|seat| seat.workspace).collect();
        Ok(asked.admit(&places).err())
    }

    /// The consent page.
    fn ask(
        &self,
        visit: &Visit,
        asked: &AuthorizationRequest,
        query: &str,
        pairs: &[Pair],
        standing: Option<&Authorization>,
        now: SystemTime,
    ) -> Result<Reply, Broken> {
        let user = visit.session.user;
        let ticket = ticket(&visit.secret, user, pairs, &self.random()?, now);
        let fields = [
            (REQUEST.to_owned(), query.to_owned()),
            (TICKET.to_owned(), ticket),
        ];
        let next = encode(&format!("{AUTHORIZE}?{query}"));
        let shown = Consent {
            app: &asked.client().name,
            host: asked.redirect().host(),
            name: &visit.person.name,
            email: &visit.person.email,
            wish: &Wish::of(asked.scopes(), standing.map(|standing| standing.scopes)),
            action: AUTHORIZE,
            fields: &fields,
            other: Some(&format!("{}?next={next}", paths::SIGN_IN)),
        };
        Ok(page(
            200,
            shown.page().leading_to(asked.redirect().as_str()),
        ))
    }

    /// Keeps the user's yes and hands over what was asked for. One write: code and authorization
    /// are there both or not at all, and a ticket is taken once.
    async fn allow(
        &self,
        request: &Request,
        asked: &AuthorizationRequest,
        visit: &Visit,
        ticket: Digest,
        now: SystemTime,
    ) -> Result<Reply, Broken> {
        if let Some(refused) = self.admit(asked, visit).await? {
            return Ok(self.refuse(asked, &refused));
        }
        let (user, signed_in) = (visit.session.user, visit.session.created_at);
        let minted = if asked.response_type().code {
            let random = self.random()?;
            Some(Code::mint(asked, user, signed_in, &random, now))
        } else {
            None
        };
        let (secret, code) = minted.unzip();
        let id_token = match self.id_token(asked, visit, secret.as_ref(), now).await {
            Ok(id_token) => id_token,
            Err(broken) => return Ok(self.lost(asked, &broken)),
        };
        let authorization = Authorization {
            id: self.number(),
            user,
            app: asked.app(),
            scopes: asked.scopes(),
            created_at: now,
            revoked_at: None,
        };
        let yes = Allow {
            ticket,
            at: now,
            authorization,
            code,
        };
        match self
            .acts
            .by(request.acting(Some(user)), now)
            .allow(yes)
            .await
        {
            Ok(_) => {}
            // The form was answered before, or app or account went meanwhile.
            Err(StoreError::Conflict | StoreError::NoAccount) => return Ok(not_ours()),
            Err(e) => return Ok(self.lost(asked, &e.into())),
        }
        let issuer = &self.settings.base_url;
        let delivery = asked.deliver(issuer, secret.as_ref(), id_token.as_deref());
        Ok(deliver(&asked.client().name, delivery))
    }

    /// The id_token of the answer, if one was asked for.
    async fn id_token(
        &self,
        asked: &AuthorizationRequest,
        visit: &Visit,
        code: Option<&Secret>,
        now: SystemTime,
    ) -> Result<Option<String>, Broken> {
        let issuer = &self.settings.base_url;
        let signed_in = visit.session.created_at;
        let Some(token) = asked.id_token(issuer, &visit.person, signed_in, code) else {
            return Ok(None);
        };
        let ring = self.ring().await?;
        let signer = ring.signer(now);
        let signer = signer.ok_or_else(|| Broken("no key signs at this time".to_owned()))?;
        let signed = token.sign(signer, now);
        signed.map(Some).map_err(|e| Broken(e.to_string()))
    }

    fn refuse(&self, asked: &AuthorizationRequest, refused: &Refused) -> Reply {
        deliver(
            &asked.client().name,
            refused.deliver(&self.settings.base_url),
        )
    }

    /// Tells the app that something broke here.
    fn lost(&self, asked: &AuthorizationRequest, broken: &Broken) -> Reply {
        self.log(broken);
        self.refuse(asked, &asked.refuse(AuthorizeError::ServerError))
    }
}

/// Sends a browser where an answer goes.
fn deliver(app: &str, delivery: Delivery) -> Reply {
    let own = |fields: Vec<(&'static str, String)>| {
        let pair = |(name, value): (&str, String)| (name.to_owned(), value);
        fields.into_iter().map(pair).collect::<Vec<Pair>>()
    };
    match delivery {
        Delivery::Redirect(url) => see_other(url),
        Delivery::Form { action, fields } => {
            let fields = own(fields);
            let form = FormPost {
                app,
                action: &action,
                fields: &fields,
            };
            page(200, form.page())
        }
        Delivery::Page(fields) => {
            let fields = own(fields);
            let shown = match form::one(&fields, "error") {
                "" => OutOfBand::Code {
                    app,
                    code: form::one(&fields, "code"),
                },
                error => OutOfBand::Error {
                    error,
                    description: form::one(&fields, "error_description"),
                },
            };
            let status = if matches!(shown, OutOfBand::Code { .. }) {
                200
            } else {
                400
            };
            page(status, shown.page())
        }
    }
}
