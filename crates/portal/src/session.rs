//! Browser cookies and sessions: signing in and out.
//!
//! There are two cookies. One holds the session's secret after a sign-in. The other holds a random text that protects the
//! sign-in form until then, so that a foreign page can't sign a browser in as another user. A session always gets a
//! new secret, regardless of the cookies that the browser sent.
use std::time::SystemTime;

use workgraph_api::{ApiResponse, Refusal};
use workgraph_auth::authorization::browser_session::{TICKET_LIFETIME, csrf, csrf_matches};
use workgraph_auth::{
    Account, AuthRefusal, AuthStoreError, BrowserSession, Secret, SecretDigest, UserInfo,
};
use workgraph_core::model::permalink::RECORD_PAGES;

use crate::common_responses::{invalid_form, page, see_other};
use crate::cookies::CookieKind;
use crate::csrf::{PURPOSE, is_same_origin, origin};
use crate::form_decoding;
use crate::login::{LoginCredentials, PasswordCheck, retry_after};
use crate::pages::{SignInPage, SignOutPage, SiteUser, paths};
use crate::portal::{Portal, PortalError};
use crate::portal_request::PortalRequest;
use crate::route::{ATTACHMENTS, AUTHORIZE};
use crate::try_token::revoke_try_tokens;

/// Purpose of the sign-in form's anti-forgery text.
const SIGN_IN: &str = "sign in";
/// Field with the path to continue to.
const NEXT: &str = "next";
/// Parameter that a fresh sign-in adds to the address of the request that required it.
pub const SIGNED_IN: &str = "&signed_in=";
/// Maximum length of an e-mail address and a password, in bytes.
const EMAIL_MAX: usize = 320;
const PASSWORD_MAX: usize = 1024;

/// Live session with its user.
pub(crate) struct AuthenticatedSession {
    pub(crate) session: BrowserSession,
    pub(crate) account: Account,
    pub(crate) secret: Secret,
    pub(crate) user: UserInfo,
}

impl SiteUser {
    /// Returns the user of a session, for the page header.
    pub(crate) fn of(visit: &AuthenticatedSession) -> Self {
        Self {
            name: visit.user.name.clone(),
            csrf: csrf(&visit.secret, PURPOSE),
        }
    }
}

impl Portal {
    /// Returns the session of a browser, if any, whose user still exists and is not disabled.
    pub(crate) async fn authenticated_session(
        &self,
        request: &PortalRequest,
        now: SystemTime,
    ) -> Result<Option<AuthenticatedSession>, PortalError> {
        let Some(secret) = self.cookie(request, CookieKind::Session) else {
            return Ok(None);
        };
        let digest = SecretDigest::of(secret.expose());
        let Some((session, account)) = self.store.session(&digest).await? else {
            return Ok(None);
        };
        if !session.is_live(now) || account.disabled {
            return Ok(None);
        }
        if session.is_use_due(now) {
            let used = self.store.touch_session(&digest, request.address, now);
            used.await?;
        }
        let person = self.user_directory.user_info(session.user).await?;
        Ok(person.map(|person| AuthenticatedSession {
            session,
            account,
            secret,
            user: person,
        }))
    }

    /// Returns true if a form was sent from a page of this server.
    pub(crate) fn is_own(&self, request: &PortalRequest) -> bool {
        is_same_origin(request, origin(self.auth_url(request)))
    }

    /// Returns the query of a request without its proof of a fresh sign-in, and true if that proof is valid.
    pub(crate) fn split_signed_in<'r>(
        request: &'r PortalRequest,
        visit: Option<&AuthenticatedSession>,
        now: SystemTime,
    ) -> (&'r str, bool) {
        let query = request.query.as_str();
        let Some((before, proof)) = query.rsplit_once(SIGNED_IN) else {
            return (query, false);
        };
        let fresh = visit.is_some_and(|visit| {
            let age = now.duration_since(visit.session.created_at);
            age.is_ok_and(|age| age < TICKET_LIFETIME)
                && csrf_matches(&visit.secret, &signed_in(before), proof)
        });
        // Without a session the proof is useless; the rest of the request stays.
        (
            if fresh || visit.is_none() {
                before
            } else {
                query
            },
            fresh,
        )
    }

    /// Returns the sign-in page, with the cookie that protects its form.
    pub(crate) fn ask_to_sign_in(
        &self,
        request: &PortalRequest,
        status: u16,
        form: &SignInPage<'_>,
        leads_to: Option<&str>,
    ) -> Result<ApiResponse, PortalError> {
        self.guarded(request, SIGN_IN, |csrf| {
            let mut shown = SignInPage { csrf, ..*form }.page();
            if let Some(url) = leads_to {
                shown = shown.leading_to(url);
            }
            page(status, shown)
        })
    }

    /// Returns the page that `show` makes for a browser without a session, from the anti-forgery text of a form with this
    /// purpose. Sets the matching cookie if the browser does not have one.
    pub(crate) fn guarded(
        &self,
        request: &PortalRequest,
        purpose: &str,
        show: impl FnOnce(&str) -> ApiResponse,
    ) -> Result<ApiResponse, PortalError> {
        let before = self.cookie(request, CookieKind::Form);
        let (secret, new) = match before {
            Some(secret) => (secret, false),
            None => (
                BrowserSession::start(0, &self.random()?, self.now()).0,
                true,
            ),
        };
        let reply = show(&csrf(&secret, purpose));
        Ok(if new {
            self.set_cookie((request, reply), CookieKind::Form, Some(secret.expose()))
        } else {
            reply
        })
    }

    /// Returns true if a form of this browser has the anti-forgery text for this purpose.
    pub(crate) fn is_guarded(&self, request: &PortalRequest, purpose: &str, text: &str) -> bool {
        let guard = self.cookie(request, CookieKind::Form);
        guard.is_some_and(|guard| csrf_matches(&guard, purpose, text))
    }

    /// Returns the name of the app that a user signs in for, and its redirect URL: the sign-in may redirect there
    /// immediately.
    async fn waiting(
        &self,
        request: &PortalRequest,
        next: &str,
    ) -> Result<Option<(String, String)>, PortalError> {
        let query = next
            .strip_prefix(AUTHORIZE)
            .and_then(|rest| rest.strip_prefix('?'));
        let Some(query) = query else { return Ok(None) };
        let read = self.read(request, query).await?.ok();
        Ok(read.map(|(asked, _)| {
            let to = asked.redirect().as_str().to_owned();
            (asked.client().name.clone(), to)
        }))
    }

    pub(crate) async fn sign_in_page(
        &self,
        request: &PortalRequest,
    ) -> Result<ApiResponse, PortalError> {
        let query = form_decoding::decode(&request.query).unwrap_or_default();
        let next = safe_redirect_path(form_decoding::one(&query, NEXT)).to_owned();
        let (app, to) = self.waiting(request, &next).await?.unzip();
        let fields = [(NEXT.to_owned(), next)];
        let notice =
            (form_decoding::one(&query, "done") == "signed_out").then_some("You are signed out.");
        let form = SignInPage {
            fields: &fields,
            app: app.as_deref(),
            notice,
            ..SignInPage::default()
        };
        self.ask_to_sign_in(request, 200, &form, to.as_deref())
    }

    pub(crate) async fn sign_in(
        &self,
        request: &PortalRequest,
        now: SystemTime,
    ) -> Result<ApiResponse, PortalError> {
        let Ok(form) = form_decoding::read(request) else {
            return Ok(invalid_form(AuthRefusal::FormUnreadable));
        };
        let own = self.is_guarded(request, SIGN_IN, form_decoding::one(&form, "csrf"));
        if !own || !self.is_own(request) {
            return Ok(invalid_form(match own {
                true => AuthRefusal::FormFromElsewhere,
                false => AuthRefusal::FormForged,
            }));
        }
        let next = safe_redirect_path(form_decoding::one(&form, NEXT));
        let email = form_decoding::one(&form, "email");
        let password = form_decoding::one(&form, "password");
        let (app, to) = self.waiting(request, next).await?.unzip();
        let again = |refusal: Refusal, status: u16, problem: &str| {
            let fields = [(NEXT.to_owned(), next.to_owned())];
            let form = SignInPage {
                fields: &fields,
                email,
                app: app.as_deref(),
                problem: Some(problem),
                ..SignInPage::default()
            };
            let page = self.ask_to_sign_in(request, status, &form, to.as_deref())?;
            Ok::<_, PortalError>(page.refused_for(refusal))
        };
        let wrong = "The e-mail address or the password is not right.";
        if email.len() > EMAIL_MAX || password.len() > PASSWORD_MAX {
            return again(AuthRefusal::CredentialsTooLong.into(), 400, wrong);
        }
        let browser = self.known_browser(request, email, now);
        let claim = LoginCredentials {
            email,
            password,
            browser: browser.as_ref().map(Secret::expose),
        };
        let tried = self.try_password(request, &claim, now).await?;
        if let Some((refusal, status, words, wait)) = tried.refusal() {
            return Ok(retry_after(again(refusal.into(), status, &words)?, wait));
        }
        let failed = |account: &Account| {
            let acting = request.actor_context(None);
            self.audited_store
                .sign_in_failed(account.user, acting, self.now());
        };
        let PasswordCheck::Right(account, hash) = tried else {
            let refusal = tried.wrong();
            if let PasswordCheck::Wrong(Some(account)) = &tried {
                failed(account);
            }
            return again(refusal, 400, wrong);
        };
        let now = self.now();
        let (secret, session) = BrowserSession::start(account.user, &self.random()?, now);
        let store = self
            .audited_store
            .as_actor(request.actor_context(Some(account.user)), now);
        match store
            .start_session(session.used_from(request.address), Some(&hash))
            .await
        {
            // The account was disabled since, or has another password.
            Err(AuthStoreError::NoAccount) => {
                failed(&account);
                let refusal = Refusal::from(AuthRefusal::CredentialsChanged);
                return again(refusal.of_user(Some(account.user)), 400, wrong);
            }
            done => done?,
        }
        self.workspaces.password_used(account.user);
        if let Some(before) = self.cookie(request, CookieKind::Session) {
            store
                .end_session(&SecretDigest::of(before.expose()))
                .await?;
        }
        let to = match next
            .strip_prefix(AUTHORIZE)
            .and_then(|rest| rest.strip_prefix('?'))
        {
            Some(query) => {
                let proof = csrf(&secret, &signed_in(query));
                format!("{AUTHORIZE}?{query}{SIGNED_IN}{proof}")
            }
            None => next.to_owned(),
        };
        let reply = self.set_cookie(
            (request, see_other(to)),
            CookieKind::Session,
            Some(secret.expose()),
        );
        let reply = self.set_cookie((request, reply), CookieKind::Form, None);
        Ok(self.remember_browser(reply, request, email, now))
    }

    pub(crate) async fn sign_out_page(
        &self,
        request: &PortalRequest,
        now: SystemTime,
    ) -> Result<ApiResponse, PortalError> {
        let Some(visit) = self.authenticated_session(request, now).await? else {
            return Ok(see_other(paths::SIGN_IN));
        };
        let csrf = csrf(&visit.secret, PURPOSE);
        Ok(page(200, SignOutPage { csrf: &csrf }.page()))
    }

    pub(crate) async fn sign_out(
        &self,
        request: &PortalRequest,
        now: SystemTime,
    ) -> Result<ApiResponse, PortalError> {
        let gone = see_other(format!("{}?done=signed_out", paths::SIGN_IN));
        let Some(visit) = self.authenticated_session(request, now).await? else {
            return Ok(gone);
        };
        let form = form_decoding::read(request).unwrap_or_default();
        let own = csrf_matches(&visit.secret, PURPOSE, form_decoding::one(&form, "csrf"));
        if !own || !self.is_own(request) {
            return Ok(invalid_form(match own {
                true => AuthRefusal::FormFromElsewhere,
                false => AuthRefusal::FormForged,
            }));
        }
        let store = self
            .audited_store
            .as_actor(request.actor_context(Some(visit.session.user)), now);
        revoke_try_tokens(&*store, visit.session.user, now).await?;
        store.end_session(&visit.session.digest).await?;
        Ok(self.set_cookie((request, gone), CookieKind::Session, None))
    }
}

/// Returns the purpose of the sign-in proof for this request.
fn signed_in(query: &str) -> String {
    format!("signed in for {query}")
}

/// Returns the path to continue to after the sign-in: always a page of this server.
fn safe_redirect_path(next: &str) -> &str {
    let (path, query) = next.split_once('?').unwrap_or((next, ""));
    // Segments of this server's paths contain no other characters, and so no dots and no escapes.
    let named = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
    let plain = |segment: &str| !segment.is_empty() && segment.bytes().all(named);
    let below = path.strip_prefix('/').unwrap_or_default();
    let sound =
        below.split('/').all(plain) && query.bytes().all(|b| b.is_ascii_graphic() && b != b'\\');
    let ours = [
        AUTHORIZE,
        paths::CONNECTED,
        paths::SIGN_OUT,
        paths::CONSOLE,
        paths::REFERENCE,
        ATTACHMENTS,
        RECORD_PAGES,
    ];
    let is_in = |at: &&str| {
        let rest = path.strip_prefix(*at);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    if next == paths::HOME || sound && ours.iter().any(is_in) {
        next
    } else {
        paths::CONNECTED
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// B25.
    #[test]
    fn signing_in_leads_to_a_page_of_ours() {
        for next in [
            "/-/oauth_authorize?client_id=1",
            "/-/console/apps",
            "/-/connected_apps",
            "/",
            "/0/7/12",
            "/0/portfolio/12",
            "/-/attachments/12",
            "/-/console/requests?status=4xx",
        ] {
            assert_eq!(safe_redirect_path(next), next);
        }
        for next in [
            "",
            "https://evil.example/",
            "//evil.example",
            "/\\evil.example",
            "/-/oauth_authorize.evil",
            "/-/console\r\nX: y",
            "javascript:alert(1)",
            "/-/metrics",
            "/-/console/../..//evil",
            "/-/console/./apps",
            "/-/console/%2e%2e/%2E%2e/evil",
            "/-/console//evil",
            "/0/../-/metrics",
            "/00",
            "/-/console/..",
            "/-/console/apps;x",
        ] {
            assert_eq!(safe_redirect_path(next), paths::CONNECTED, "{next}");
        }
    }
}
