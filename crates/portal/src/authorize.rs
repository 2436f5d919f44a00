//! The authorization endpoint: the browser's way from an app to the user's decision and back (RFC 6749 section 4.1).
use std::time::SystemTime;

use workgraph_api::{ApiResponse, Refusal};
use workgraph_auth::authorization::authorization_request::{AuthorizationRefusal, client};
use workgraph_auth::authorization::browser_session::{consent_ticket, verify_consent_ticket};
use workgraph_auth::{
    AuthRefusal, AuthStoreError, Authorization, AuthorizationCode, AuthorizationRequest,
    AuthorizationResponse, AuthorizationStep, AuthorizeError, BrowserSession, ConsentRecord, Param,
    Secret, SecretDigest, VerifiedClient,
};
use workgraph_wire::percent::encode_component;

use crate::common_responses::{invalid_form, page, plain, see_other};
use crate::csrf::origin;
use crate::form_decoding;
use crate::pages::{
    ConsentPage, ConsentRequest, ErrorInterstitialPage, FormPostPage, OutOfBandPage, SignInPage,
    paths,
};
use crate::portal::{Portal, PortalError};
use crate::portal_request::PortalRequest;
use crate::route::AUTHORIZE;
use crate::session::AuthenticatedSession;

/// Fields of the consent form: the query of the request, the ticket, and the user's decision.
const REQUEST: &str = "request";
const TICKET: &str = "ticket";
const DECISION: &str = "decision";

/// Decision of a user who was shown an error and continues to the app with it.
const CONTINUE: &str = "continue";

/// Reason why a request is rejected.
pub(crate) enum RejectedAuthorization {
    /// The app or its redirect URL is unknown: the response in plain text.
    Plain(Box<ApiResponse>),
    /// The request is refused: the app's name, and the error for it.
    Refused(String, Box<AuthorizationRefusal>),
}

impl Portal {
    /// Answers `GET /-/oauth_authorize`: the consent page, the sign-in page, or the answer to the app.
    pub(crate) async fn authorize(
        &self,
        request: &PortalRequest,
        now: SystemTime,
    ) -> Result<ApiResponse, PortalError> {
        let visit = self.authenticated_session(request, now).await?;
        let (query, fresh) = Self::split_signed_in(request, visit.as_ref(), now);
        let (asked, pairs) = match self.read(request, query).await? {
            Ok(read) => read,
            Err(RejectedAuthorization::Plain(reply)) => return Ok(*reply),
            Err(RejectedAuthorization::Refused(app, refused)) => {
                let visitor = visit.as_ref();
                return self.respond_with_error(request, query, visitor, &app, &refused);
            }
        };
        let standing = match &visit {
            Some(visit) => {
                self.store
                    .authorization(visit.session.user, asked.app_id())
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
                self.respond_with_error(request, query, visitor.as_ref(), app, &refused)
            }
            (Ok(AuthorizationStep::Silent), Some(visit)) => {
                self.grant_authorization(request, &asked, visit, None, now)
                    .await
            }
            (Ok(AuthorizationStep::Consent), Some(visit)) => {
                if let Some(refused) = self.require_usable_app(&asked, visit).await? {
                    return Ok(refuse(&asked, &refused));
                }
                self.consent_page(visit, &asked, query, &pairs, standing.as_ref(), now)
            }
            _ => {
                let fields = [("next".to_owned(), format!("{AUTHORIZE}?{query}"))];
                let form = SignInPage {
                    fields: &fields,
                    email: asked.login_hint().unwrap_or_default(),
                    app: Some(&asked.client().name),
                    ..SignInPage::default()
                };
                let to = asked.redirect().as_str();
                self.ask_to_sign_in(request, 200, &form, Some(to))
            }
        }
    }

    /// `POST /-/oauth_authorize`: the consent form, or the form that continues with an error.
    pub(crate) async fn decide(
        &self,
        request: &PortalRequest,
        now: SystemTime,
    ) -> Result<ApiResponse, PortalError> {
        if !self.is_own(request) {
            return Ok(invalid_form(AuthRefusal::FormFromElsewhere));
        }
        let Ok(fields) = form_decoding::read(request) else {
            return Ok(invalid_form(AuthRefusal::FormUnreadable));
        };
        let query = form_decoding::one(&fields, REQUEST);
        if form_decoding::one(&fields, DECISION) == CONTINUE {
            return self.continue_with_error(request, query, &fields, now).await;
        }
        let Some(visit) = self.authenticated_session(request, now).await? else {
            return Ok(invalid_form(AuthRefusal::SessionMissing));
        };
        let (asked, pairs) = match self.read(request, query).await? {
            Ok(read) => read,
            Err(RejectedAuthorization::Plain(reply)) => return Ok(*reply),
            Err(RejectedAuthorization::Refused(app, refused)) => {
                let delivered = deliver(&app, refused.response());
                return Ok(delivered.refused_for(refusal_of(&refused)));
            }
        };
        let text = form_decoding::one(&fields, TICKET);
        let ticket = verify_consent_ticket(text, &visit.secret, visit.session.user, &pairs, now);
        let Some(ticket) = ticket else {
            let invalid = invalid_form(AuthRefusal::FormTicketInvalid);
            return Ok(of_client(invalid, &asked));
        };
        match form_decoding::one(&fields, DECISION) {
            "allow" => {
                self.grant_authorization(request, &asked, &visit, Some(ticket), now)
                    .await
            }
            "deny" => Ok(refuse(&asked, &asked.refuse(AuthorizeError::Denied))),
            _ => Ok(invalid_form(AuthRefusal::DecisionUnknown)),
        }
    }

    /// Carries out the decision of a user without a session, as if the user had just signed in.
    pub(crate) async fn decision_for(
        &self,
        user: u64,
        is_allowed: bool,
        request: &PortalRequest,
        now: SystemTime,
    ) -> Result<Option<ApiResponse>, PortalError> {
        let account = self.store.account(user).await?;
        let account = account.filter(|account| !account.disabled);
        let person = self.user_directory.user_info(user).await?;
        let (Some(account), Some(person)) = (account, person) else {
            return Ok(None);
        };
        let asked = match self.read(request, &request.query).await? {
            Ok((asked, _)) => asked,
            Err(RejectedAuthorization::Plain(reply)) => return Ok(Some(*reply)),
            Err(RejectedAuthorization::Refused(app, refused)) => {
                let delivered = deliver(&app, refused.response());
                return Ok(Some(delivered.refused_for(refusal_of(&refused))));
            }
        };
        if !is_allowed {
            return Ok(Some(refuse(&asked, &asked.refuse(AuthorizeError::Denied))));
        }
        let (secret, session) = BrowserSession::start(user, &self.random()?, now);
        let ticket = SecretDigest::of(secret.expose());
        let visit = AuthenticatedSession {
            session,
            account,
            secret,
            user: person,
        };
        let granted = self.grant_authorization(request, &asked, &visit, Some(ticket), now);
        granted.await.map(Some)
    }

    /// Answers an error. A user with a session is redirected to the app immediately. A user without a session could otherwise
    /// follow a link to this server and land on a host chosen by an app unknown to them (RFC 9700 section 4.11.2), so the
    /// host is shown to them first. In a frame the browser stays on its page, so no page is shown.
    fn respond_with_error(
        &self,
        request: &PortalRequest,
        query: &str,
        visitor: Option<&AuthenticatedSession>,
        app: &str,
        refused: &AuthorizationRefusal,
    ) -> Result<ApiResponse, PortalError> {
        let framed = matches!(request.fetch_dest.as_deref(), Some("iframe" | "frame"));
        let delivery = refused.response();
        if visitor.is_some() || framed || !matches!(delivery, AuthorizationResponse::Redirect(_)) {
            return Ok(deliver(app, delivery).refused_for(refusal_of(refused)));
        }
        let error = refused.error();
        let to = refused.redirect();
        self.guarded(request, &continuing(query), |csrf| {
            let fields = [
                (REQUEST.to_owned(), query.to_owned()),
                ("csrf".to_owned(), csrf.to_owned()),
            ];
            let shown = ErrorInterstitialPage {
                app,
                host: to.host().unwrap_or_default(),
                error: error.code(),
                description: &error.to_string(),
                action: AUTHORIZE,
                fields: &fields,
            };
            page(200, shown.page().leading_to(to.as_str())).refused_for(refusal_of(refused))
        })
    }

    /// Redirects a user without a session, who was shown an error, to the app. The app gets the error that the request has
    /// now.
    async fn continue_with_error(
        &self,
        request: &PortalRequest,
        query: &str,
        fields: &[Param],
        now: SystemTime,
    ) -> Result<ApiResponse, PortalError> {
        if !self.is_guarded(
            request,
            &continuing(query),
            form_decoding::one(fields, "csrf"),
        ) {
            return Ok(invalid_form(AuthRefusal::FormForged));
        }
        Ok(match self.read(request, query).await? {
            Err(RejectedAuthorization::Plain(reply)) => *reply,
            Err(RejectedAuthorization::Refused(app, refused)) => {
                deliver(&app, refused.response()).refused_for(refusal_of(&refused))
            }
            Ok((asked, _)) => match asked.next(None, false, None, now) {
                Err(refused) => refuse(&asked, &refused),
                // The request no longer has an error: it starts over.
                Ok(_) => see_other(format!("{AUTHORIZE}?{query}")),
            },
        })
    }

    /// Reads a request. Until app and redirect URL are verified, errors are plain text.
    pub(crate) async fn read(
        &self,
        request: &PortalRequest,
        query: &str,
    ) -> Result<Result<(AuthorizationRequest, Vec<Param>), RejectedAuthorization>, PortalError>
    {
        let stop = |refusal: AuthRefusal, named: Option<u64>, text: &str| {
            let refusal = Refusal::from(refusal).of_client(named);
            let reply = Box::new(plain(refusal, 400, text));
            Ok(Err(RejectedAuthorization::Plain(reply)))
        };
        let Ok(pairs) = form_decoding::decode(query) else {
            let text = "invalid_request: The query cannot be decoded.";
            return stop(AuthRefusal::QueryUnreadable, None, text);
        };
        let named = match client(&pairs) {
            Ok(id) => id,
            Err(reason) => return stop(reason.refusal(), None, &reason.to_string()),
        };
        let found = self.store.app(named).await?;
        let policy = self.settings.policy(self.base_url(request));
        let verified = match VerifiedClient::check(&pairs, found, &policy) {
            Ok(verified) => verified,
            Err(reason) => return stop(reason.refusal(), Some(named), &reason.to_string()),
        };
        let name = verified.app().name.clone();
        let read = AuthorizationRequest::read(verified, &pairs, &policy);
        Ok(match read {
            Ok(asked) => Ok((asked, pairs)),
            Err(refused) => Err(RejectedAuthorization::Refused(name, refused)),
        })
    }

    /// Returns the refusal for an app that works in none of the user's workspaces.
    async fn require_usable_app(
        &self,
        asked: &AuthorizationRequest,
        visit: &AuthenticatedSession,
    ) -> Result<Option<Box<AuthorizationRefusal>>, PortalError> {
        let memberships = self.workspaces.workspaces_of(visit.session.user).await?;
        let places: Vec<u64> = memberships
            .iter()
            .map(|membership| membership.workspace)
            .collect();
        Ok(asked.admit(&places).err())
    }

    /// Returns the page on which the user decides.
    fn consent_page(
        &self,
        visit: &AuthenticatedSession,
        asked: &AuthorizationRequest,
        query: &str,
        pairs: &[Param],
        standing: Option<&Authorization>,
        now: SystemTime,
    ) -> Result<ApiResponse, PortalError> {
        let user = visit.session.user;
        let ticket = consent_ticket(&visit.secret, user, pairs, &self.random()?, now);
        let fields = [
            (REQUEST.to_owned(), query.to_owned()),
            (TICKET.to_owned(), ticket),
        ];
        let next = encode_component(&format!("{AUTHORIZE}?{query}"));
        let shown = ConsentPage {
            app: &asked.client().name,
            host: asked.redirect().host(),
            name: &visit.user.name,
            email: &visit.user.email,
            wish: &ConsentRequest::of(asked.scopes(), standing.map(|standing| standing.scopes)),
            action: AUTHORIZE,
            fields: &fields,
            switch_user_url: Some(&format!("{}?next={next}", paths::SIGN_IN)),
        };
        Ok(page(
            200,
            shown.page().leading_to(asked.redirect().as_str()),
        ))
    }

    /// Stores the user's consent and delivers the answer. Code and authorization are stored in one write, and a ticket is
    /// used once. Without a ticket the user was not asked: then the scopes that the user agreed to before are kept, since a
    /// link could otherwise remove them.
    async fn grant_authorization(
        &self,
        request: &PortalRequest,
        asked: &AuthorizationRequest,
        visit: &AuthenticatedSession,
        ticket: Option<SecretDigest>,
        now: SystemTime,
    ) -> Result<ApiResponse, PortalError> {
        if let Some(refused) = self.require_usable_app(asked, visit).await? {
            return Ok(refuse(asked, &refused));
        }
        let (user, signed_in) = (visit.session.user, visit.session.created_at);
        let minted = if asked.response_type().code {
            let random = self.random()?;
            Some(AuthorizationCode::mint(
                asked, user, signed_in, &random, now,
            ))
        } else {
            None
        };
        let (secret, code) = minted.unzip();
        let id_token = match self
            .id_token((request, asked), visit, secret.as_ref(), now)
            .await
        {
            Ok(id_token) => id_token,
            Err(broken) => return Ok(self.lost(asked, &broken)),
        };
        let store = self
            .audited_store
            .as_actor(request.actor_context(Some(user)), now);
        let kept = match (ticket, code) {
            (Some(ticket), code) => {
                let authorization = Authorization {
                    id: self.next_id()?,
                    user,
                    app: asked.app_id(),
                    scopes: asked.scopes(),
                    created_at: now,
                    revoked_at: None,
                };
                let yes = ConsentRecord {
                    ticket,
                    time: now,
                    authorization,
                    code,
                };
                store.keep_consent(yes).await.map(drop)
            }
            (None, Some(code)) => store.keep_code(code).await.map(drop),
            (None, None) => Ok(()),
        };
        match (kept, ticket) {
            (Ok(()), _) => {}
            // The form was already submitted, or the app or account was disabled or removed since.
            (Err(AuthStoreError::Conflict | AuthStoreError::NoAccount), Some(_)) => {
                let invalid = invalid_form(AuthRefusal::FormTicketInvalid);
                return Ok(of_client(invalid, asked));
            }
            // The authorization has ended since, and no page may be shown.
            (Err(AuthStoreError::Conflict | AuthStoreError::NoAccount), None) => {
                return Ok(refuse(
                    asked,
                    &asked.refuse(AuthorizeError::ConsentRequired),
                ));
            }
            (Err(e), _) => return Ok(self.lost(asked, &e.into())),
        }
        let delivery = asked.success_response(secret.as_ref(), id_token.as_deref());
        Ok(deliver(&asked.client().name, delivery))
    }

    /// Returns the id_token of the answer, if requested.
    async fn id_token(
        &self,
        (request, asked): (&PortalRequest, &AuthorizationRequest),
        visit: &AuthenticatedSession,
        code: Option<&Secret>,
        now: SystemTime,
    ) -> Result<Option<String>, PortalError> {
        let issuer = self.base_url(request);
        let signed_in = visit.session.created_at;
        let Some(token) = asked.id_token(issuer, &visit.user, signed_in, code) else {
            return Ok(None);
        };
        let ring = self.signing_keys().await?;
        let signer = ring.signer(now);
        let signer = signer.ok_or_else(|| PortalError("no key signs at this time".to_owned()))?;
        let signed = token.sign(signer, now);
        signed.map(Some).map_err(|e| PortalError(e.to_string()))
    }

    /// Sends the app the error for a server failure.
    fn lost(&self, asked: &AuthorizationRequest, broken: &PortalError) -> ApiResponse {
        self.log(broken);
        refuse(asked, &asked.refuse(AuthorizeError::ServerError))
    }
}

/// Returns the purpose of the anti-forgery text in the form of an [`ErrorInterstitialPage`] for this request.
fn continuing(query: &str) -> String {
    format!("continue with the error of {query}")
}

/// Sends the app the error of its refused request.
fn refuse(asked: &AuthorizationRequest, refused: &AuthorizationRefusal) -> ApiResponse {
    let delivered = deliver(&asked.client().name, refused.response());
    delivered.refused_for(refusal_of(refused))
}

/// Returns the refusal of an authorization request, for the log.
fn refusal_of(refused: &AuthorizationRefusal) -> Refusal {
    Refusal::from(refused.error().refusal()).of_client(Some(refused.client_id()))
}

/// Sets the app in the refusal of a form.
fn of_client(mut reply: ApiResponse, asked: &AuthorizationRequest) -> ApiResponse {
    let refusal = reply
        .refusal
        .map(|refusal| refusal.of_client(Some(asked.app_id())));
    reply.refusal = refusal;
    reply
}

/// Returns the response that delivers an answer to the app through the browser.
fn deliver(app: &str, delivery: AuthorizationResponse) -> ApiResponse {
    let own = |fields: Vec<(&'static str, String)>| {
        let pair = |(name, value): (&str, String)| (name.to_owned(), value);
        fields.into_iter().map(pair).collect::<Vec<Param>>()
    };
    match delivery {
        AuthorizationResponse::Redirect(url) => see_other(url),
        AuthorizationResponse::Form { action, fields } => {
            let fields = own(fields);
            let form = FormPostPage {
                app,
                site: origin(&action),
                action: &action,
                fields: &fields,
            };
            page(200, form.page())
        }
        AuthorizationResponse::Page(fields) => {
            let fields = own(fields);
            let shown = match form_decoding::one(&fields, "error") {
                "" => OutOfBandPage::Code {
                    app,
                    code: form_decoding::one(&fields, "code"),
                },
                error => OutOfBandPage::Error {
                    error,
                    description: form_decoding::one(&fields, "error_description"),
                },
            };
            let status = if matches!(shown, OutOfBandPage::Code { .. }) {
                200
            } else {
                400
            };
            page(status, shown.page())
        }
    }
}
