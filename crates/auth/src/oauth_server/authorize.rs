//! The authorization endpoint: a browser's way from an app to the user's decision and back (RFC 6749 section 4.1).
use std::time::{Duration, SystemTime};

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use http::{HeaderMap, Request, StatusCode};

use super::consent_page::{ConsentView, error_page, form_post, shown};
use super::http_forms::{form, one, page_headers, pairs, see_other, session_cookie};
use super::{AUTHORIZE, EVERYONE, OAuthServer, failed, unavailable};
use crate::authorization::authorization_code::AuthorizationCode;
use crate::authorization::authorization_request::{
    AuthorizationRefusal, AuthorizationRequest, AuthorizationStep, VerifiedClient, client,
};
use crate::authorization::authorization_response::{AuthorizationResponse, AuthorizeError};
use crate::authorization::browser_session::{
    BrowserSession, consent_ticket, verify_consent_ticket,
};
use crate::authorization::user_authorization::Authorization;
use crate::oidc::id_token::UserInfo;
use crate::params::{Param, encode};
use crate::ports::oauth_store::ConsentRecord;
use crate::ports::token_store::AuthStoreError;
use crate::tokens::token_text::{Secret, SecretDigest};

/// Time after a sign-in within which it counts as made for the present request.
const FRESH: Duration = Duration::from_secs(60);
const HTML: &str = "text/html;charset=UTF-8";
const PLAIN: &str = "text/plain;charset=UTF-8";

/// Live session of a browser, with its user.
struct Visit {
    session: BrowserSession,
    secret: Secret,
    user: UserInfo,
}

/// Response that ends a request early.
type Stop = Box<Response>;

/// Answers `GET` with the consent page, a redirect to the sign-in page, or the answer to the app.
pub(super) async fn show(State(server): State<OAuthServer>, request: Request<Body>) -> Response {
    let query = request.uri().query().unwrap_or_default();
    let shown = server.show(request.headers(), query).await;
    shown.unwrap_or_else(|stop| *stop)
}

/// Answers `POST`: the form of the consent page.
pub(super) async fn decide(State(server): State<OAuthServer>, request: Request<Body>) -> Response {
    let headers = request.headers().clone();
    let decided = match form(request).await {
        Ok(fields) => server.decide(&headers, &fields).await,
        Err(text) => Err(plain(text)),
    };
    decided.unwrap_or_else(|stop| *stop)
}

impl OAuthServer {
    async fn show(&self, headers: &HeaderMap, query: &str) -> Result<Response, Stop> {
        let now = self.now();
        let visit = self.visit(headers, now).await.map_err(broken)?;
        let known = visit.is_some() || is_framed(headers);
        let (asked, pairs) = self.read(query, known).await?;
        let standing = match &visit {
            Some(visit) => {
                let user = visit.session.user;
                let standing = self.0.store.authorization(user, asked.app_id()).await;
                standing.map_err(broken)?
            }
            None => None,
        };
        let session = visit.as_ref().map(|visit| &visit.session);
        let is_fresh = |session: &BrowserSession| {
            let age = now.duration_since(session.created_at);
            age.is_ok_and(|age| age < FRESH)
        };
        let fresh = session.is_some_and(is_fresh);
        let step = asked.next(session, fresh, standing.as_ref(), now);
        let step = step.map_err(|refused| refuse(&asked.client().name, &refused, known))?;
        match (step, &visit) {
            (AuthorizationStep::Silent, Some(visit)) => self.grant(&asked, visit, None, now).await,
            (AuthorizationStep::Consent, Some(visit)) => {
                self.ask(&asked, visit, query, &pairs, now)
            }
            _ => {
                let next = encode(&format!("{AUTHORIZE}?{query}"));
                Ok(see_other(&format!("{}?next={next}", self.0.sign_in_page)))
            }
        }
    }

    /// Returns the consent page.
    fn ask(
        &self,
        asked: &AuthorizationRequest,
        visit: &Visit,
        query: &str,
        pairs: &[Param],
        now: SystemTime,
    ) -> Result<Response, Stop> {
        self.admit(asked)?;
        let random = self.random().map_err(broken)?;
        let ticket = consent_ticket(&visit.secret, visit.session.user, pairs, &random, now);
        let fields = [
            ("request".to_owned(), query.to_owned()),
            ("ticket".to_owned(), ticket),
        ];
        let scopes = asked.scopes();
        let view = ConsentView {
            app: &asked.client().name,
            host: asked.redirect().host(),
            user: &visit.user.name,
            scopes: (!scopes.is_full()).then(|| scopes.iter().collect()),
            fields: &fields,
        };
        Ok(page_headers(
            StatusCode::OK,
            HTML,
            (self.0.consent_page)(&view),
        ))
    }

    async fn decide(&self, headers: &HeaderMap, fields: &[Param]) -> Result<Response, Stop> {
        let now = self.now();
        let visit = self.visit(headers, now).await.map_err(broken)?;
        let visit = visit.ok_or_else(|| plain("You are not signed in; go back to the app."))?;
        let (asked, pairs) = self.read(one(fields, "request"), true).await?;
        // The ticket was sealed with the secret of this session, so no other site can have made it.
        let (text, user) = (one(fields, "ticket"), visit.session.user);
        let ticket = verify_consent_ticket(text, &visit.secret, user, &pairs, now);
        let ticket = ticket.ok_or_else(used)?;
        match one(fields, "decision") {
            "allow" => self.grant(&asked, &visit, Some(ticket), now).await,
            "deny" => Err(deny(&asked, AuthorizeError::Denied)),
            _ => Err(plain("The form has no decision.")),
        }
    }

    /// Returns the session of a browser, if its user exists and is not disabled.
    async fn visit(
        &self,
        headers: &HeaderMap,
        now: SystemTime,
    ) -> Result<Option<Visit>, AuthStoreError> {
        let Some(secret) = session_cookie(headers, &self.0.issuer) else {
            return Ok(None);
        };
        let digest = SecretDigest::of(secret.expose());
        let Some((session, account)) = self.0.store.session(&digest).await? else {
            return Ok(None);
        };
        if !session.is_live(now) || account.disabled {
            return Ok(None);
        }
        let user = self.0.users.user_info(session.user).await?;
        Ok(user.map(|user| Visit {
            session,
            secret,
            user,
        }))
    }

    /// Reads a request. Until app and redirect URL are verified, errors are plain text without a redirect.
    async fn read(
        &self,
        query: &str,
        known: bool,
    ) -> Result<(AuthorizationRequest, Vec<Param>), Stop> {
        let pairs = pairs(query);
        let pairs = pairs.ok_or_else(|| plain("invalid_request: The query cannot be decoded."))?;
        let id = client(&pairs).map_err(|reason| plain(&reason.to_string()))?;
        let found = self.0.store.app(id).await.map_err(broken)?;
        let policy = self.policy();
        let verified = VerifiedClient::check(&pairs, found, &policy);
        let verified = verified.map_err(|reason| plain(&reason.to_string()))?;
        let name = verified.app().name.clone();
        let asked = AuthorizationRequest::read(verified, &pairs, &policy);
        let asked = asked.map_err(|refused| refuse(&name, &refused, known))?;
        Ok((asked, pairs))
    }

    fn admit(&self, asked: &AuthorizationRequest) -> Result<(), Stop> {
        let admitted = asked.admit(&[EVERYONE]);
        admitted.map_err(|refused| refuse(&asked.client().name, &refused, true))
    }

    /// Stores the consent in one write, and returns the answer. Without a ticket the user was not asked, and earlier consent
    /// stays unchanged.
    async fn grant(
        &self,
        asked: &AuthorizationRequest,
        visit: &Visit,
        ticket: Option<SecretDigest>,
        now: SystemTime,
    ) -> Result<Response, Stop> {
        self.admit(asked)?;
        let (user, signed_in) = (visit.session.user, visit.session.created_at);
        let minted = if asked.response_type().code {
            let random = self.random().map_err(broken)?;
            Some(AuthorizationCode::mint(
                asked, user, signed_in, &random, now,
            ))
        } else {
            None
        };
        let (secret, code) = minted.unzip();
        let id_token = self.id_token(asked, visit, secret.as_ref(), now);
        let id_token = id_token.map_err(|_| deny(asked, AuthorizeError::ServerError))?;
        let kept = match (ticket, code) {
            (Some(ticket), code) => {
                let authorization = Authorization {
                    id: self.new_id().map_err(broken)?,
                    user,
                    app: asked.app_id(),
                    scopes: asked.scopes(),
                    created_at: now,
                    revoked_at: None,
                };
                let consent = ConsentRecord {
                    ticket,
                    time: now,
                    authorization,
                    code,
                };
                self.0.store.keep_consent(consent).await.map(drop)
            }
            (None, Some(code)) => self.0.store.keep_code(code).await.map(drop),
            (None, None) => Ok(()),
        };
        match (kept, ticket) {
            (Ok(()), _) => {}
            // The form was already submitted, or the app or account was disabled since.
            (Err(AuthStoreError::Conflict | AuthStoreError::NoAccount), Some(_)) => {
                return Err(used());
            }
            (Err(AuthStoreError::Conflict | AuthStoreError::NoAccount), None) => {
                return Err(deny(asked, AuthorizeError::ConsentRequired));
            }
            (Err(error), _) => return Err(broken(error)),
        }
        Ok(deliver(
            asked.success_response(secret.as_ref(), id_token.as_deref()),
        ))
    }

    /// Returns the id_token of the answer, if requested.
    fn id_token(
        &self,
        asked: &AuthorizationRequest,
        visit: &Visit,
        code: Option<&Secret>,
        now: SystemTime,
    ) -> Result<Option<String>, AuthStoreError> {
        let signed_in = visit.session.created_at;
        let token = asked.id_token(&self.0.issuer, &visit.user, signed_in, code);
        let Some(token) = token else {
            return Ok(None);
        };
        let signer = self.0.signing_keys.signer(now);
        let signer = signer.ok_or_else(|| unavailable("no key signs at this time"))?;
        let signed = token.sign(signer, now);
        signed
            .map(Some)
            .map_err(|error| unavailable(&error.to_string()))
    }
}

/// Returns true for a request in a hidden frame: the page around it stays, and its script waits for the answer.
fn is_framed(headers: &HeaderMap) -> bool {
    let dest = headers.get("sec-fetch-dest");
    dest.is_some_and(|dest| dest == "iframe" || dest == "frame")
}

/// Returns the response to a form that is no longer valid.
fn used() -> Stop {
    plain(
        "This form has expired, was answered before, or is not of this session; go back to the app.",
    )
}

/// Returns a refusal as plain text.
fn plain(text: &str) -> Stop {
    Box::new(page_headers(
        StatusCode::BAD_REQUEST,
        PLAIN,
        text.to_owned(),
    ))
}

fn deny(asked: &AuthorizationRequest, error: AuthorizeError) -> Stop {
    refuse(&asked.client().name, &asked.refuse(error), true)
}

/// Returns the error to the app. A visitor without a session first sees the host it goes to (RFC 9700 section 4.11.2).
fn refuse(app: &str, refused: &AuthorizationRefusal, known: bool) -> Stop {
    let mut response = match refused.response() {
        AuthorizationResponse::Redirect(to) if !known => {
            let host = refused.redirect().host().unwrap_or_default();
            let page = error_page(app, &refused.error().to_string(), &to, host);
            page_headers(StatusCode::BAD_REQUEST, HTML, page)
        }
        answer => deliver(answer),
    };
    response.extensions_mut().insert(refused.error().refusal());
    Box::new(response)
}

/// Ends a request after a store failure.
fn broken(error: AuthStoreError) -> Stop {
    Box::new(failed(error))
}

/// Returns the response that delivers an answer to the app.
fn deliver(answer: AuthorizationResponse) -> Response {
    let own = |fields: Vec<(&'static str, String)>| -> Vec<Param> {
        let pair = |(name, value): (&str, String)| (name.to_owned(), value);
        fields.into_iter().map(pair).collect()
    };
    match answer {
        AuthorizationResponse::Redirect(to) => see_other(&to),
        AuthorizationResponse::Form { action, fields } => {
            page_headers(StatusCode::OK, HTML, form_post(&action, &own(fields)))
        }
        AuthorizationResponse::Page(fields) => {
            page_headers(StatusCode::OK, HTML, shown(&own(fields)))
        }
    }
}
