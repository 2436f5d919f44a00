//! The authorization request, read in two steps: first the client and its redirect URL, then the
//! rest of the parameters. No response is sent to an app until the first step has succeeded.
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use crate::authorization::authorization_policy::AuthorizationPolicy;
use crate::authorization::authorization_response::{
    AuthorizationResponse, AuthorizeError, ResponseMode, ResponseTarget, ResponseType,
};
use crate::authorization::browser_session::BrowserSession;
use crate::authorization::pkce::CodeChallenge;
use crate::authorization::redirect_uri::RedirectUri;
use crate::authorization::registered_app::{App, RegisteredScopes};
use crate::authorization::user_authorization::Authorization;
pub use crate::authorization::verified_client::{UnverifiedClientError, VerifiedClient, client};
use crate::oidc::id_token::{IdToken, UserInfo};
use crate::params::{Param, Params, RepeatedParam, number};
use crate::refusal_reason::AuthRefusal;
use crate::tokens::scope::{DEFAULT, Scope, ScopeRegistry, ScopeSet};
use crate::tokens::token_text::Secret;

/// Maximum length of `state` and `nonce`, in bytes.
pub const MAX_ECHO_BYTES: usize = 8192;

/// Refused authorization request, with the redirect URL and mode of the response to the
/// app.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuthorizationRefusal {
    app: u64,
    way: ResponseTarget,
    error: AuthorizeError,
}

impl AuthorizationRefusal {
    /// Returns the error that the app gets.
    #[must_use]
    pub const fn error(&self) -> &AuthorizeError {
        &self.error
    }

    /// Returns the app that made the request.
    #[must_use]
    pub const fn client_id(&self) -> u64 {
        self.app
    }

    /// Returns the URL that the response is sent to.
    #[must_use]
    pub const fn redirect(&self) -> &RedirectUri {
        &self.way.redirect
    }

    /// Returns the response: error, description, the request's state, and the issuer if the policy
    /// includes it for this request.
    #[must_use]
    pub fn response(&self) -> AuthorizationResponse {
        self.way.failure(&self.error)
    }
}

/// Pages that `prompt` asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Prompt {
    /// True for `none`: no page is shown; the response is sent immediately or fails.
    pub none: bool,
    /// True for `login`: the user signs in, even if already signed in.
    pub login: bool,
}

/// Next step of a valid request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuthorizationStep {
    /// The user signs in.
    SignIn,
    /// The user is asked for consent.
    Consent,
    /// `prompt=none`, and the user already agreed to all of this: the response is sent immediately.
    Silent,
}

/// Valid authorization request. The user may still not be allowed to make it, or not agree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuthorizationRequest {
    app: Arc<App>,
    way: ResponseTarget,
    challenge: Option<CodeChallenge>,
    scopes: ScopeSet,
    nonce: Option<String>,
    prompt: Prompt,
    max_age: Option<Duration>,
    login_hint: Option<String>,
    is_public: bool,
    code_lifetime: Duration,
}

fn invalid(refusal: AuthRefusal, text: &str) -> AuthorizeError {
    AuthorizeError::InvalidRequest(refusal, text.to_owned())
}

impl From<RepeatedParam> for AuthorizeError {
    fn from(RepeatedParam(name): RepeatedParam) -> Self {
        let text = format!("The `{name}` parameter is given twice.");
        Self::InvalidRequest(AuthRefusal::ParameterRepeated, text)
    }
}

impl AuthorizationRequest {
    /// Parses the rest of a request. Unknown parameters are ignored, empty ones count as omitted.
    ///
    /// # Errors
    /// The first rule that the request breaks, as a refusal that can be sent to the app.
    pub fn read(
        verified: VerifiedClient,
        params: &[Param],
        policy: &AuthorizationPolicy<'_>,
    ) -> Result<Self, Box<AuthorizationRefusal>> {
        let params = Params(params);
        let VerifiedClient { app, redirect } = verified;
        // The target of the response is read before anything is refused, so that a refusal can be sent there.
        let state = params.one("state").ok().flatten();
        let kind = params
            .one("response_type")
            .ok()
            .flatten()
            .and_then(ResponseType::parse);
        let mode = params
            .one("response_mode")
            .ok()
            .flatten()
            .and_then(ResponseMode::parse);
        let kind = kind.unwrap_or(ResponseType::CODE);
        let way = ResponseTarget {
            redirect,
            kind,
            mode: mode.filter(|mode| !(kind.id_token && *mode == ResponseMode::Query)),
            state: state
                .filter(|state| state.len() <= MAX_ECHO_BYTES)
                .map(str::to_owned),
            issuer: policy.named_issuer(params.one("scope").ok().flatten()),
        };
        match Self::rest(&app, &way, params, policy) {
            Ok(draft) => Ok(Self { app, way, ..draft }),
            Err(error) => {
                let app = app.id;
                Err(Box::new(AuthorizationRefusal { app, way, error }))
            }
        }
    }

    fn rest(
        app: &Arc<App>,
        way: &ResponseTarget,
        params: Params<'_>,
        policy: &AuthorizationPolicy<'_>,
    ) -> Result<Self, AuthorizeError> {
        let state = params.one("state")?;
        let missing = || {
            invalid(
                AuthRefusal::StateMissing,
                "The `state` parameter is missing.",
            )
        };
        let state = state.ok_or_else(missing)?;
        if state.len() > MAX_ECHO_BYTES {
            let text = "The `state` parameter is too long.";
            return Err(invalid(AuthRefusal::StateTooLong, text));
        }
        let kind = response_type(way, params)?;
        if params.one("request")?.is_some() {
            return Err(AuthorizeError::RequestNotSupported);
        }
        if params.one("request_uri")?.is_some() {
            return Err(AuthorizeError::RequestUriNotSupported);
        }
        let method = params.one("code_challenge_method")?;
        let challenge = CodeChallenge::read(method, params.one("code_challenge")?)
            .map_err(|reason| invalid(AuthRefusal::CodeChallengeInvalid, &reason.to_string()))?;
        // A code that a person copies by hand is exposed in more ways than one that is sent to a
        // server.
        let excused = policy.oob_without_pkce && !app.is_native();
        if challenge.is_none() && way.redirect.is_out_of_band() && !excused {
            return Err(invalid(
                AuthRefusal::CodeChallengeMissing,
                "The `code_challenge` parameter is missing; a request for a code on a page must have one.",
            ));
        }
        let is_public = policy.public_clients.include(app);
        if challenge.is_none() && is_public && kind.code {
            return Err(invalid(
                AuthRefusal::CodeChallengeMissing,
                "The `code_challenge` parameter is missing; an app without a secret must send one.",
            ));
        }
        let scopes = scopes(policy.scopes, app.scopes, params.one("scope")?)?;
        let nonce = params.one("nonce")?;
        if nonce.is_some_and(|nonce| nonce.len() > MAX_ECHO_BYTES) {
            let text = "The `nonce` parameter is too long.";
            return Err(invalid(AuthRefusal::NonceTooLong, text));
        }
        if kind.id_token && !scopes.allows("openid") {
            return Err(AuthorizeError::InvalidScope);
        }
        if kind.id_token && nonce.is_none() {
            let text = "An id_token needs the `nonce` parameter.";
            return Err(invalid(AuthRefusal::NonceMissing, text));
        }
        let max_age = match params.one("max_age")? {
            None => None,
            Some(text) => {
                let seconds = number(text).filter(|n| u32::try_from(*n).is_ok());
                let text = "The `max_age` parameter is no number of seconds.";
                let seconds = seconds.ok_or_else(|| invalid(AuthRefusal::MaxAgeInvalid, text))?;
                Some(Duration::from_secs(seconds))
            }
        };
        Ok(Self {
            app: Arc::clone(app),
            way: way.clone(),
            challenge,
            scopes,
            nonce: nonce.map(str::to_owned),
            prompt: prompt(params.one("prompt")?)?,
            max_age,
            login_hint: params.one("login_hint")?.map(str::to_owned),
            is_public,
            code_lifetime: policy.code_lifetime,
        })
    }

    /// Returns the id of the requesting app.
    #[must_use]
    pub fn app_id(&self) -> u64 {
        self.app.id
    }

    /// Returns the app's record.
    #[must_use]
    pub fn client(&self) -> &App {
        &self.app
    }

    /// Returns the redirect URL of the response.
    #[must_use]
    pub const fn redirect(&self) -> &RedirectUri {
        &self.way.redirect
    }

    /// Returns the response type that the request asks for.
    #[must_use]
    pub const fn response_type(&self) -> ResponseType {
        self.way.kind
    }

    /// Returns the challenge; the code can only be redeemed with its verifier.
    #[must_use]
    pub const fn challenge(&self) -> Option<CodeChallenge> {
        self.challenge
    }

    /// Returns the lifetime of a code for this request.
    #[must_use]
    pub const fn code_lifetime(&self) -> Duration {
        self.code_lifetime
    }

    /// Returns the scopes that the user is asked to grant.
    #[must_use]
    pub const fn scopes(&self) -> ScopeSet {
        self.scopes
    }

    /// Returns the `nonce`, which the id_token repeats.
    #[must_use]
    pub fn nonce(&self) -> Option<&str> {
        self.nonce.as_deref()
    }

    /// Returns the login that the app expects the user to sign in with.
    #[must_use]
    pub fn login_hint(&self) -> Option<&str> {
        self.login_hint.as_deref()
    }

    /// Returns the requested scopes that are missing from an earlier authorization, for the consent
    /// page.
    #[must_use]
    pub fn new_scopes(&self, standing: Option<&Authorization>) -> Vec<Scope> {
        let had = |scope: &Scope| standing.is_some_and(|before| before.scopes.allows(scope.name));
        self.scopes.iter().filter(|scope| !had(scope)).collect()
    }

    /// Checks that a user in these workspaces may authorize the app.
    ///
    /// # Errors
    /// The app is distributed to none of these workspaces, or is disabled in them.
    pub fn admit(&self, workspaces: &[u64]) -> Result<(), Box<AuthorizationRefusal>> {
        if self.app.is_distributed_to(workspaces) {
            Ok(())
        } else {
            Err(self.refuse(AuthorizeError::NotDistributed))
        }
    }

    /// Returns the next step. It depends on the browser's session, on whether its user signed in
    /// for this very request, and on that user's earlier authorization.
    ///
    /// # Errors
    /// Fails with `prompt=none`, if a page would have to be shown.
    pub fn next(
        &self,
        session: Option<&BrowserSession>,
        fresh: bool,
        standing: Option<&Authorization>,
        now: SystemTime,
    ) -> Result<AuthorizationStep, Box<AuthorizationRefusal>> {
        let old = |session: &BrowserSession| {
            let age = now.duration_since(session.created_at).unwrap_or_default();
            self.max_age.is_some_and(|most| age > most)
        };
        let session = session.filter(|session| session.is_live(now));
        let known = session.is_some_and(|session| fresh || !(self.prompt.login || old(session)));
        // Any program can pretend to be an app without a secret, so earlier agreement of the user says nothing about this
        // request (RFC 8252 section 8.6).
        let agreed = standing.is_some_and(|before| {
            !self.is_public
                && before.revoked_at.is_none()
                && before.app == self.app.id
                && session.is_some_and(|session| session.user == before.user)
                && before.scopes.covers(self.scopes)
        });
        match (self.prompt.none, known, agreed) {
            (false, false, _) => Ok(AuthorizationStep::SignIn),
            (false, true, _) => Ok(AuthorizationStep::Consent),
            (true, false, _) => Err(self.refuse(AuthorizeError::LoginRequired)),
            (true, true, false) => Err(self.refuse(AuthorizeError::ConsentRequired)),
            (true, true, true) => Ok(AuthorizationStep::Silent),
        }
    }

    /// Makes a refusal of the request with this error.
    #[must_use]
    pub fn refuse(&self, error: AuthorizeError) -> Box<AuthorizationRefusal> {
        Box::new(AuthorizationRefusal {
            app: self.app.id,
            way: self.way.clone(),
            error,
        })
    }

    /// Returns the id_token to sign for the response, if the request asks for one.
    #[must_use]
    pub fn id_token<'a>(
        &'a self,
        issuer: &'a str,
        person: &'a UserInfo,
        auth_time: SystemTime,
        code: Option<&'a Secret>,
    ) -> Option<IdToken<'a>> {
        let kind = self.way.kind;
        kind.id_token.then(|| IdToken {
            issuer,
            user: person,
            app: self.app.id,
            scopes: self.scopes,
            nonce: self.nonce(),
            auth_time,
            access: None,
            code: code.filter(|_| kind.code),
        })
    }

    /// Returns the response to an allowed request, with the code and id_token that it asked
    /// for.
    #[must_use]
    pub fn success_response(
        &self,
        code: Option<&Secret>,
        id_token: Option<&str>,
    ) -> AuthorizationResponse {
        let kind = self.way.kind;
        let code = code.filter(|_| kind.code);
        let id_token = id_token.filter(|_| kind.id_token);
        self.way.success(code, id_token)
    }
}

/// Returns true if this is an OpenID Connect request, which gets an id_token with its tokens: it
/// lists `openid`, or it has a nonce and comes from an app with full permissions, which cannot list
/// scopes.
#[must_use]
pub fn is_openid(scopes: ScopeSet, nonce: Option<&str>) -> bool {
    scopes.allows("openid") && (!scopes.is_full() || nonce.is_some())
}

fn response_type(way: &ResponseTarget, params: Params<'_>) -> Result<ResponseType, AuthorizeError> {
    let text = params.one("response_type")?;
    let missing = "The `response_type` parameter is missing.";
    let text = text.ok_or_else(|| invalid(AuthRefusal::ResponseTypeMissing, missing))?;
    let kind = ResponseType::parse(text).ok_or(AuthorizeError::UnsupportedResponseType)?;
    if kind.id_token && way.redirect.is_out_of_band() {
        return Err(AuthorizeError::UnsupportedResponseType);
    }
    if let Some(text) = params.one("response_mode")? {
        let mode = ResponseMode::parse(text).ok_or_else(|| {
            let text = "The `response_mode` parameter must be query, fragment or form_post.";
            invalid(AuthRefusal::ResponseModeUnsupported, text)
        })?;
        if kind.id_token && mode == ResponseMode::Query {
            let text = "An id_token must not travel in a query.";
            return Err(invalid(AuthRefusal::ResponseModeUnsupported, text));
        }
    }
    Ok(kind)
}

/// Parses the scopes of a request by an app with this registration.
fn scopes(
    known: ScopeRegistry,
    registered: RegisteredScopes,
    text: Option<&str>,
) -> Result<ScopeSet, AuthorizeError> {
    let asked = text.unwrap_or(DEFAULT);
    let forbidden = || AuthorizeError::ForbiddenScopes(asked.to_owned());
    let set = known.parse(asked).map_err(|_| forbidden())?;
    let fits = match registered {
        RegisteredScopes::Full => set.is_full(),
        RegisteredScopes::Only(only) => !set.is_full() && !set.is_empty() && only.covers(set),
    };
    fits.then_some(set).ok_or_else(forbidden)
}

/// Parses `prompt`. Unknown words are ignored, and consent is always asked for.
fn prompt(text: Option<&str>) -> Result<Prompt, AuthorizeError> {
    let words: Vec<&str> = text.unwrap_or_default().split(' ').collect();
    let none = words.contains(&"none");
    if none && words.iter().any(|word| !["", "none"].contains(word)) {
        return Err(invalid(
            AuthRefusal::PromptInvalid,
            "The `prompt` parameter has none beside other values.",
        ));
    }
    Ok(Prompt {
        none,
        login: words.contains(&"login") || words.contains(&"select_account"),
    })
}
