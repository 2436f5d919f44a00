//! The authorization request, read in two steps: first who asks and where the answer goes, then
//! what is asked. Nothing is sent anywhere before the first step succeeded.
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use crate::authorization::Authorization;
use crate::client::{App, Registered};
use crate::id_token::{IdToken, Person};
use crate::params::{Pair, Params, Repeated, number};
use crate::pkce::Challenge;
use crate::policy::Policy;
use crate::redirect::RedirectUri;
use crate::respond::{AuthorizeError, Delivery, ResponseMode, ResponseType, Way};
use crate::scope::{Scope, ScopeSet};
use crate::session::Session;
use crate::token::Secret;

/// The longest `state` and `nonce`, in bytes.
pub const MAX_ECHO_BYTES: usize = 2048;

/// Why a request is answered with a page of plain text, status 400 and no redirect: nobody is known
/// who could be sent anywhere. The text repeats nothing of the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlainError {
    /// `client_id` is missing, given twice, or no app's.
    Client,
    /// `redirect_uri` is missing, given twice, or not byte for byte one of the app's.
    Redirect,
}

impl fmt::Display for PlainError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Client => {
                "invalid_request: The `client_id` parameter does not match a valid application."
            }
            Self::Redirect => {
                "invalid_request: The `redirect_uri` parameter does not match a valid url for the application."
            }
        })
    }
}

impl std::error::Error for PlainError {}

/// The app that a request names, for the caller to look up.
///
/// # Errors
/// The parameter is missing, given twice or no number that we write.
pub fn client(params: &[Pair]) -> Result<u64, PlainError> {
    let id = Params(params).one("client_id");
    id.ok().flatten().and_then(number).ok_or(PlainError::Client)
}

/// An app, and one of its redirect URLs that a request repeated byte for byte. There is no other
/// way to make one, and every answer that leaves for an app starts from one.
///
/// ```compile_fail
/// use workgraph_auth::{App, RedirectUri, authorize::Verified};
/// fn forge(app: App, redirect: RedirectUri) -> Verified {
///     Verified { app, redirect }
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified {
    app: Arc<App>,
    redirect: RedirectUri,
}

impl Verified {
    /// Verifies a request against the app that was found under its [`client`]. A disabled app is
    /// none.
    ///
    /// # Errors
    /// Client or redirect URL do not match.
    pub fn check(params: &[Pair], found: Option<impl Into<Arc<App>>>) -> Result<Self, PlainError> {
        let id = client(params)?;
        let app = found
            .map(Into::into)
            .filter(|app| app.id == id && app.disabled_at.is_none())
            .ok_or(PlainError::Client)?;
        let sent = Params(params).one("redirect_uri");
        let sent = sent.ok().flatten().ok_or(PlainError::Redirect)?;
        let same = |uri: &&RedirectUri| uri.as_str() == sent;
        let redirect = app.redirects.iter().find(same).cloned();
        Ok(Self {
            redirect: redirect.ok_or(PlainError::Redirect)?,
            app,
        })
    }

    /// The app.
    #[must_use]
    pub fn app(&self) -> &App {
        &self.app
    }

    /// The redirect URL.
    #[must_use]
    pub const fn redirect(&self) -> &RedirectUri {
        &self.redirect
    }
}

/// A request that was refused, and the way back to the app.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    way: Way,
    error: AuthorizeError,
}

impl Refused {
    /// Why.
    #[must_use]
    pub const fn error(&self) -> &AuthorizeError {
        &self.error
    }

    /// The URL that the answer goes to.
    #[must_use]
    pub const fn redirect(&self) -> &RedirectUri {
        &self.way.redirect
    }

    /// The answer: error, description, the request's state, and the issuer where the policy of the
    /// request names it.
    #[must_use]
    pub fn deliver(&self) -> Delivery {
        self.way.failure(&self.error)
    }
}

/// What `prompt` says about the pages to be shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Prompt {
    /// Show none: answer at once or fail.
    pub none: bool,
    /// Have the user sign in, even if they are signed in.
    pub login: bool,
}

/// What comes next for a valid request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// The user signs in.
    SignIn,
    /// The user is asked to allow or deny.
    Consent,
    /// `prompt=none`, and the user agreed to all of this before: answer at once.
    Silent,
}

/// A valid authorization request. Whether this user may make it, and wants to, is open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuthorizationRequest {
    app: Arc<App>,
    way: Way,
    challenge: Option<Challenge>,
    scopes: ScopeSet,
    nonce: Option<String>,
    prompt: Prompt,
    max_age: Option<Duration>,
    login_hint: Option<String>,
}

fn invalid(why: &str) -> AuthorizeError {
    AuthorizeError::InvalidRequest(why.to_owned())
}

impl From<Repeated> for AuthorizeError {
    fn from(Repeated(name): Repeated) -> Self {
        Self::InvalidRequest(format!("The `{name}` parameter is given twice."))
    }
}

impl AuthorizationRequest {
    /// Reads the rest of a request. Unknown parameters are ignored, empty ones omitted.
    ///
    /// # Errors
    /// The first rule that it breaks, with the way back.
    pub fn read(
        verified: Verified,
        params: &[Pair],
        policy: &Policy<'_>,
    ) -> Result<Self, Box<Refused>> {
        let params = Params(params);
        let Verified { app, redirect } = verified;
        // What can be known of the way back is known before anything is refused.
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
        let way = Way {
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
            Err(error) => Err(Box::new(Refused { way, error })),
        }
    }

    fn rest(
        app: &Arc<App>,
        way: &Way,
        params: Params<'_>,
        policy: &Policy<'_>,
    ) -> Result<Self, AuthorizeError> {
        let state = params.one("state")?;
        let state = state.ok_or_else(|| invalid("The `state` parameter is missing."))?;
        if state.len() > MAX_ECHO_BYTES {
            return Err(invalid("The `state` parameter is too long."));
        }
        let kind = response_type(way, params)?;
        if params.one("request")?.is_some() {
            return Err(AuthorizeError::RequestNotSupported);
        }
        if params.one("request_uri")?.is_some() {
            return Err(AuthorizeError::RequestUriNotSupported);
        }
        let method = params.one("code_challenge_method")?;
        let challenge = Challenge::read(method, params.one("code_challenge")?)
            .map_err(|why| invalid(&why.to_string()))?;
        // A code that a person carries over passes more hands than one that a server is sent.
        let excused = policy.oob_without_pkce && !app.is_native();
        if challenge.is_none() && way.redirect.is_out_of_band() && !excused {
            return Err(invalid(
                "The `code_challenge` parameter is missing; a request for a code on a page must have one.",
            ));
        }
        let scopes = scopes(app.scopes, params.one("scope")?)?;
        let nonce = params.one("nonce")?;
        if nonce.is_some_and(|nonce| nonce.len() > MAX_ECHO_BYTES) {
            return Err(invalid("The `nonce` parameter is too long."));
        }
        if kind.id_token && !scopes.allows("openid") {
            return Err(AuthorizeError::InvalidScope);
        }
        if kind.id_token && nonce.is_none() {
            return Err(invalid("An id_token needs the `nonce` parameter."));
        }
        let max_age = match params.one("max_age")? {
            None => None,
            Some(text) => {
                let seconds = number(text).filter(|n| u32::try_from(*n).is_ok());
                let seconds = seconds
                    .ok_or_else(|| invalid("The `max_age` parameter is no number of seconds."))?;
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
        })
    }

    /// The app's number.
    #[must_use]
    pub fn app(&self) -> u64 {
        self.app.id
    }

    /// The app's record.
    #[must_use]
    pub fn client(&self) -> &App {
        &self.app
    }

    /// Where the answer goes.
    #[must_use]
    pub const fn redirect(&self) -> &RedirectUri {
        &self.way.redirect
    }

    /// What is asked for.
    #[must_use]
    pub const fn response_type(&self) -> ResponseType {
        self.way.kind
    }

    /// The challenge whose verifier must come with the code.
    #[must_use]
    pub const fn challenge(&self) -> Option<Challenge> {
        self.challenge
    }

    /// The scopes that the user is asked for.
    #[must_use]
    pub const fn scopes(&self) -> ScopeSet {
        self.scopes
    }

    /// The nonce.
    #[must_use]
    pub fn nonce(&self) -> Option<&str> {
        self.nonce.as_deref()
    }

    /// Who the app thinks will sign in.
    #[must_use]
    pub fn login_hint(&self) -> Option<&str> {
        self.login_hint.as_deref()
    }

    /// The scopes asked for that an earlier authorization does not have, for the consent page.
    #[must_use]
    pub fn added(&self, standing: Option<&Authorization>) -> Vec<&'static Scope> {
        let had = |scope: &&Scope| standing.is_some_and(|before| before.scopes.allows(scope.name));
        self.scopes.iter().filter(|scope| !had(scope)).collect()
    }

    /// Whether a user of these workspaces may authorize the app.
    ///
    /// # Errors
    /// The app is distributed to none of them, or disabled where it is.
    pub fn admit(&self, workspaces: &[u64]) -> Result<(), Box<Refused>> {
        if self.app.is_for(workspaces) {
            Ok(())
        } else {
            Err(self.refuse(AuthorizeError::NotDistributed))
        }
    }

    /// What comes next, given the browser's session, whether its user signed in for this very
    /// request, and what that user agreed to before.
    ///
    /// # Errors
    /// `prompt=none`, and a page would have to be shown.
    pub fn next(
        &self,
        session: Option<&Session>,
        fresh: bool,
        standing: Option<&Authorization>,
        now: SystemTime,
    ) -> Result<Next, Box<Refused>> {
        let old = |session: &Session| {
            let age = now.duration_since(session.created_at).unwrap_or_default();
            self.max_age.is_some_and(|most| age > most)
        };
        let session = session.filter(|session| session.is_live(now));
        let known = session.is_some_and(|session| fresh || !(self.prompt.login || old(session)));
        let agreed = standing.is_some_and(|before| {
            before.revoked_at.is_none()
                && before.app == self.app.id
                && session.is_some_and(|session| session.user == before.user)
                && before.scopes.covers(self.scopes)
        });
        match (self.prompt.none, known, agreed) {
            (false, false, _) => Ok(Next::SignIn),
            (false, true, _) => Ok(Next::Consent),
            (true, false, _) => Err(self.refuse(AuthorizeError::LoginRequired)),
            (true, true, false) => Err(self.refuse(AuthorizeError::ConsentRequired)),
            (true, true, true) => Ok(Next::Silent),
        }
    }

    /// Refuses the request after all.
    #[must_use]
    pub fn refuse(&self, error: AuthorizeError) -> Box<Refused> {
        Box::new(Refused {
            way: self.way.clone(),
            error,
        })
    }

    /// The id_token to sign for the answer, if the request asks for one there.
    #[must_use]
    pub fn id_token<'a>(
        &'a self,
        issuer: &'a str,
        person: &'a Person,
        auth_time: SystemTime,
        code: Option<&'a Secret>,
    ) -> Option<IdToken<'a>> {
        let kind = self.way.kind;
        kind.id_token.then(|| IdToken {
            issuer,
            person,
            app: self.app.id,
            scopes: self.scopes,
            nonce: self.nonce(),
            auth_time,
            access: None,
            code: code.filter(|_| kind.code),
        })
    }

    /// The answer to a request that was allowed, with what it asked for.
    #[must_use]
    pub fn deliver(&self, code: Option<&Secret>, id_token: Option<&str>) -> Delivery {
        let kind = self.way.kind;
        let code = code.filter(|_| kind.code);
        let id_token = id_token.filter(|_| kind.id_token);
        self.way.success(code, id_token)
    }
}

/// Whether this is an OpenID Connect request, which gets an id_token with its tokens: it lists
/// `openid`, or it comes from an app with full permissions, which cannot, and has a nonce.
#[must_use]
pub fn is_openid(scopes: ScopeSet, nonce: Option<&str>) -> bool {
    scopes.allows("openid") && (!scopes.is_full() || nonce.is_some())
}

fn response_type(way: &Way, params: Params<'_>) -> Result<ResponseType, AuthorizeError> {
    let text = params.one("response_type")?;
    let text = text.ok_or_else(|| invalid("The `response_type` parameter is missing."))?;
    let kind = ResponseType::parse(text).ok_or(AuthorizeError::UnsupportedResponseType)?;
    if kind.id_token && way.redirect.is_out_of_band() {
        return Err(AuthorizeError::UnsupportedResponseType);
    }
    if let Some(text) = params.one("response_mode")? {
        let mode = ResponseMode::parse(text).ok_or_else(|| {
            invalid("The `response_mode` parameter must be query, fragment or form_post.")
        })?;
        if kind.id_token && mode == ResponseMode::Query {
            return Err(invalid("An id_token must not travel in a query."));
        }
    }
    Ok(kind)
}

/// The scopes of a request by an app of this registration.
fn scopes(registered: Registered, text: Option<&str>) -> Result<ScopeSet, AuthorizeError> {
    let asked = text.unwrap_or(crate::scope::DEFAULT);
    let forbidden = || AuthorizeError::ForbiddenScopes(asked.to_owned());
    let set = ScopeSet::parse(asked).map_err(|_| forbidden())?;
    let fits = match registered {
        Registered::Full => set.is_full(),
        Registered::Only(only) => !set.is_full() && !set.is_empty() && only.covers(set),
    };
    fits.then_some(set).ok_or_else(forbidden)
}

/// What a `prompt` asks for; words we do not know ask for nothing, and consent is always asked.
fn prompt(text: Option<&str>) -> Result<Prompt, AuthorizeError> {
    let words: Vec<&str> = text.unwrap_or_default().split(' ').collect();
    let none = words.contains(&"none");
    if none && words.iter().any(|word| !["", "none"].contains(word)) {
        return Err(invalid(
            "The `prompt` parameter has none beside other values.",
        ));
    }
    Ok(Prompt {
        none,
        login: words.contains(&"login") || words.contains(&"select_account"),
    })
}
