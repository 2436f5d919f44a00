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
use crate::guard::origin;
use crate::pages::{Consent, FormPost, Interstitial, OutOfBand, SignIn, Wish, paths};
use crate::portal::{Broken, Portal};
use crate::request::{Request, page, plain, see_other};
use crate::route::AUTHORIZE;
use crate::session::{Visit, not_ours};

/// The fields of the consent form: the query that asked, the ticket, and the user's word.
const REQUEST: &str = "request";
const TICKET: &str = "ticket";
const DECISION: &str = "decision";

/// The decision of somebody who was shown an error and goes on to the app with it.
const CONTINUE: &str = "continue";

/// Why a request goes no further.
pub(crate) enum Stopped {
    /// App or redirect URL are not known: the reply in plain text.
    Plain(Reply),
    /// It is refused; the app's name, and the error to be delivered to it.
    Refused(String, Box<Refused>),
}

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
            Err(Stopped::Plain(reply)) => return Ok(reply),
            Err(Stopped::Refused(app, refused)) => {
                let visitor = visit.as_ref();
                return self.send_back(request, query, visitor, &app, &refused);
            }
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
            (Err(refused), visitor) => {
                let app = &asked.client().name;
                self.send_back(request, query, visitor.as_ref(), app, &refused)
            }
            (Ok(Next::Silent), Some(visit)) => self.allow(request, &asked, visit, None, now).await,
            (Ok(Next::Consent), Some(visit)) => {
                if let Some(refused) = self.admit(&asked, visit).await? {
                    return Ok(refuse(&asked, &refused));
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

    /// `POST /-/oauth_authorize`: the consent form, or the one that goes on with an error.
    pub(crate) async fn decide(&self, request: &Request, now: SystemTime) -> Result<Reply, Broken> {
        if !self.is_own(request) {
            return Ok(not_ours());
        }
        let Ok(fields) = form::read(request) else {
            return Ok(not_ours());
        };
        let query = form::one(&fields, REQUEST);
        if form::one(&fields, DECISION) == CONTINUE {
            return self.go_on(request, query, &fields, now).await;
        }
        let Some(visit) = self.visit(request, now).await? else {
            return Ok(not_ours());
        };
        let (asked, pairs) = match self.read(query).await? {
            Ok(read) => read,
            Err(Stopped::Plain(reply)) => return Ok(reply),
            Err(Stopped::Refused(app, refused)) => return Ok(deliver(&app, refused.deliver())),
        };
        let text = form::one(&fields, TICKET);
        let ticket = open_ticket(text, &visit.secret, visit.session.user, &pairs, now);
        let Some(ticket) = ticket else {
            return Ok(not_ours());
        };
        match form::one(&fields, DECISION) {
            "allow" => self.allow(request, &asked, &visit, Some(ticket), now).await,
            "deny" => Ok(refuse(&asked, &asked.refuse(AuthorizeError::Denied))),
            _ => Ok(not_ours()),
        }
    }

    /// Answers an error. A visitor with a session is sent back to the app at once. Anybody else would
    /// follow a link to this server and land wherever an app of theirs whom they do not know says
    /// (RFC 9700 section 4.11.2), so they are shown the host first. In a frame nobody lands anywhere.
    fn send_back(
        &self,
        request: &Request,
        query: &str,
        visitor: Option<&Visit>,
        app: &str,
        refused: &Refused,
    ) -> Result<Reply, Broken> {
        let framed = matches!(request.fetch_dest.as_deref(), Some("iframe" | "frame"));
        let delivery = refused.deliver();
        if visitor.is_some() || framed || !matches!(delivery, Delivery::Redirect(_)) {
            return Ok(deliver(app, delivery));
        }
        let error = refused.error();
        let to = refused.redirect();
        self.guarded(request, &continuing(query), |csrf| {
            let fields = [
                (REQUEST.to_owned(), query.to_owned()),
                ("csrf".to_owned(), csrf.to_owned()),
            ];
            let shown = Interstitial {
                app,
                host: to.host().unwrap_or_default(),
                error: error.code(),
                description: &error.to_string(),
                action: AUTHORIZE,
                fields: &fields,
            };
            page(200, shown.page().leading_to(to.as_str()))
        })
    }

    /// Sends a visitor who was shown an error on to the app with it: the error that the request has
    /// now, without a session.
    async fn go_on(
        &self,
        request: &Request,
        query: &str,
        fields: &[Pair],
        now: SystemTime,
    ) -> Result<Reply, Broken> {
        if !self.is_guarded(request, &continuing(query), form::one(fields, "csrf")) {
            return Ok(not_ours());
        }
        Ok(match self.read(query).await? {
            Err(Stopped::Plain(reply)) => reply,
            Err(Stopped::Refused(app, refused)) => deliver(&app, refused.deliver()),
            Ok((asked, _)) => match asked.next(None, false, None, now) {
                Err(refused) => refuse(&asked, &refused),
                // Nothing is wrong with it any more: it starts again.
                Ok(_) => see_other(format!("{AUTHORIZE}?{query}")),
            },
        })
    }

    /// Reads a request. Until app and redirect URL are verified, errors are plain text.
    pub(crate) async fn read(
        &self,
        query: &str,
    ) -> Result<Result<(AuthorizationRequest, Vec<Pair>), Stopped>, Broken> {
        let stop = |text: &str| Ok(Err(Stopped::Plain(plain(400, text))));
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
        let read = AuthorizationRequest::read(verified, &pairs, &self.settings.policy());
        Ok(match read {
            Ok(asked) => Ok((asked, pairs)),
            Err(refused) => Err(Stopped::Refused(name, refused)),
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
    /// are there both or not at all, and a ticket is taken once. Without a ticket nobody was asked:
    /// then nothing changes of what the user agreed to before, or a link could take it away.
    async fn allow(
        &self,
        request: &Request,
        asked: &AuthorizationRequest,
        visit: &Visit,
        ticket: Option<Digest>,
        now: SystemTime,
    ) -> Result<Reply, Broken> {
        if let Some(refused) = self.admit(asked, visit).await? {
            return Ok(refuse(asked, &refused));
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
        let store = self.acts.by(request.acting(Some(user)), now);
        let kept = match (ticket, code) {
            (Some(ticket), code) => {
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
                store.allow(yes).await.map(drop)
            }
            (None, Some(code)) => store.keep_code(code).await.map(drop),
            (None, None) => Ok(()),
        };
        match (kept, ticket) {
            (Ok(()), _) => {}
            // The form was answered before, or app or account went meanwhile.
            (Err(StoreError::Conflict | StoreError::NoAccount), Some(_)) => return Ok(not_ours()),
            // What the user agreed to went meanwhile, and no page may be shown.
            (Err(StoreError::Conflict | StoreError::NoAccount), None) => {
                return Ok(refuse(
                    asked,
                    &asked.refuse(AuthorizeError::ConsentRequired),
                ));
            }
            (Err(e), _) => return Ok(self.lost(asked, &e.into())),
        }
        let delivery = asked.deliver(secret.as_ref(), id_token.as_deref());
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

    /// Tells the app that something broke here.
    fn lost(&self, asked: &AuthorizationRequest, broken: &Broken) -> Reply {
        self.log(broken);
        refuse(asked, &asked.refuse(AuthorizeError::ServerError))
    }
}

/// The purpose that the form of an [`Interstitial`] for this request is guarded for.
fn continuing(query: &str) -> String {
    format!("continue with the error of {query}")
}

/// Tells the app that its request was refused.
fn refuse(asked: &AuthorizationRequest, refused: &Refused) -> Reply {
    deliver(&asked.client().name, refused.deliver())
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
                site: origin(&action),
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
