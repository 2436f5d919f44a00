//! Who asks: the browser's cookies, signing in and out.
//!
//! Two cookies. One holds the session's secret, once somebody signed in. The other holds a random
//! text that guards the sign-in form until then, so that nobody is signed in as somebody else by a
//! foreign page. A session always gets a secret of its own, whatever the browser brought along.
use std::time::SystemTime;

use workgraph_api::Reply;
use workgraph_auth::session::{SESSION_LIFETIME, TICKET_LIFETIME, csrf, csrf_matches};
use workgraph_auth::{Account, Digest, Person, Secret, Session, StoreError};

use crate::attempt::{Claim, KNOWN_LIFETIME, Tried, retry_after};
use crate::console::{Answer, PURPOSE};
use crate::form;
use crate::guard::{is_own, origin};
use crate::pages::{Leave, SignIn, paths};
use crate::portal::{Broken, Portal};
use crate::request::{Request, failure, page, see_other};
use crate::route::AUTHORIZE;

/// What the sign-in form is guarded for.
const SIGN_IN: &str = "sign in";
/// The field that says where to go on.
const NEXT: &str = "next";
/// What a fresh sign-in adds to the address of the request that asked for it.
const SIGNED_IN: &str = "&signed_in=";
/// How long cookies can be; ours are shorter.
const COOKIE_MAX: usize = 128;
/// The longest address and password that are looked at, in bytes.
const EMAIL_MAX: usize = 320;
const PASSWORD_MAX: usize = 1024;

/// Somebody with a live session.
pub(crate) struct Visit {
    pub(crate) session: Session,
    pub(crate) secret: Secret,
    pub(crate) person: Person,
}

/// The cookies.
#[derive(Clone, Copy)]
pub(crate) enum Cookie {
    /// The secret of a session.
    Session,
    /// What guards the sign-in form.
    Form,
    /// The ticket of a browser in which somebody signed in before.
    Known,
}

impl Portal {
    fn secure(&self) -> bool {
        self.settings.auth_url.starts_with("https://")
    }

    /// `__Host-` binds a cookie to this very host and to `https`; over plain `http`, on this machine,
    /// browsers and clients would drop such a cookie.
    const fn cookie_name(cookie: Cookie, secure: bool) -> &'static str {
        match (cookie, secure) {
            (Cookie::Session, true) => "__Host-workgraph",
            (Cookie::Session, false) => "workgraph",
            (Cookie::Form, true) => "__Host-workgraph-form",
            (Cookie::Form, false) => "workgraph-form",
            (Cookie::Known, true) => "__Host-workgraph-known",
            (Cookie::Known, false) => "workgraph-known",
        }
    }

    pub(crate) fn cookie(&self, request: &Request, cookie: Cookie) -> Option<Secret> {
        let name = Self::cookie_name(cookie, self.secure());
        let each = request.cookies.iter().flat_map(|line| line.split(';'));
        let mut found = each.filter_map(|part| part.trim().split_once('='));
        let (_, value) = found.find(|(n, _)| *n == name)?;
        let sound = (1..=COOKIE_MAX).contains(&value.len());
        sound.then(|| Secret::new(value.to_owned()))
    }

    /// `Set-Cookie`; without a value the cookie goes.
    pub(crate) fn set_cookie(&self, reply: Reply, cookie: Cookie, value: Option<&str>) -> Reply {
        let name = Self::cookie_name(cookie, self.secure());
        let secure = if self.secure() { "; Secure" } else { "" };
        let age = match (cookie, value) {
            (_, None) => "; Max-Age=0".to_owned(),
            (Cookie::Session, _) => format!("; Max-Age={}", SESSION_LIFETIME.as_secs()),
            (Cookie::Known, _) => format!("; Max-Age={}", KNOWN_LIFETIME.as_secs()),
            (Cookie::Form, _) => String::new(),
        };
        let value = value.unwrap_or_default();
        reply.with(
            "Set-Cookie",
            format!("{name}={value}; Path=/; HttpOnly; SameSite=Lax{secure}{age}"),
        )
    }

    /// Who asks, if somebody signed in with this browser, is still there and not switched off.
    pub(crate) async fn visit(
        &self,
        request: &Request,
        now: SystemTime,
    ) -> Result<Option<Visit>, Broken> {
        let Some(secret) = self.cookie(request, Cookie::Session) else {
            return Ok(None);
        };
        let digest = Digest::of(secret.expose());
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
        let person = self.people.person(session.user).await?;
        Ok(person.map(|person| Visit {
            session,
            secret,
            person,
        }))
    }

    /// A form that came from one of our own pages.
    pub(crate) fn is_own(&self, request: &Request) -> bool {
        is_own(request, origin(&self.settings.auth_url))
    }

    /// The address of a request that its user signs in for, and whether they just did.
    pub(crate) fn fresh<'r>(
        request: &'r Request,
        visit: Option<&Visit>,
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
        // Without a session the proof has had its day; the request stays.
        (
            if fresh || visit.is_none() {
                before
            } else {
                query
            },
            fresh,
        )
    }

    /// The sign-in form, with the cookie that guards it.
    pub(crate) fn ask_to_sign_in(
        &self,
        request: &Request,
        status: u16,
        form: &SignIn<'_>,
        leads_to: Option<&str>,
    ) -> Result<Reply, Broken> {
        self.guarded(request, SIGN_IN, |csrf| {
            let mut shown = SignIn { csrf, ..*form }.page();
            if let Some(url) = leads_to {
                shown = shown.leading_to(url);
            }
            page(status, shown)
        })
    }

    /// Returns the page that `show` makes with the anti-forgery text of a form for this purpose, for
    /// a browser without a session, and sets the cookie that goes with it.
    pub(crate) fn guarded(
        &self,
        request: &Request,
        purpose: &str,
        show: impl FnOnce(&str) -> Reply,
    ) -> Result<Reply, Broken> {
        let before = self.cookie(request, Cookie::Form);
        let (secret, new) = match before {
            Some(secret) => (secret, false),
            None => (Session::start(0, &self.random()?, self.now()).0, true),
        };
        let reply = show(&csrf(&secret, purpose));
        Ok(if new {
            self.set_cookie(reply, Cookie::Form, Some(secret.expose()))
        } else {
            reply
        })
    }

    /// Returns whether a form of this browser carries the anti-forgery text for this purpose.
    pub(crate) fn is_guarded(&self, request: &Request, purpose: &str, text: &str) -> bool {
        let guard = self.cookie(request, Cookie::Form);
        guard.is_some_and(|guard| csrf_matches(&guard, purpose, text))
    }

    /// The app that somebody signs in for, and its redirect URL, where signing in may lead at once.
    async fn waiting(&self, next: &str) -> Result<Option<(String, String)>, Broken> {
        let query = next
            .strip_prefix(AUTHORIZE)
            .and_then(|rest| rest.strip_prefix('?'));
        let Some(query) = query else { return Ok(None) };
        let read = self.read(query).await?.ok();
        Ok(read.map(|(asked, _)| {
            let to = asked.redirect().as_str().to_owned();
            (asked.client().name.clone(), to)
        }))
    }

    pub(crate) async fn sign_in_page(&self, request: &Request) -> Result<Reply, Broken> {
        let query = form::decode(&request.query).unwrap_or_default();
        let next = onward(form::one(&query, NEXT)).to_owned();
        let (app, to) = self.waiting(&next).await?.unzip();
        let fields = [(NEXT.to_owned(), next)];
        let notice = (form::one(&query, "done") == "signed_out").then_some("You are signed out.");
        let form = SignIn {
            fields: &fields,
            app: app.as_deref(),
            notice,
            ..SignIn::default()
        };
        self.ask_to_sign_in(request, 200, &form, to.as_deref())
    }

    pub(crate) async fn sign_in(
        &self,
        request: &Request,
        now: SystemTime,
    ) -> Result<Reply, Broken> {
        let Ok(form) = form::read(request) else {
            return Ok(not_ours());
        };
        let own = self.is_guarded(request, SIGN_IN, form::one(&form, "csrf"));
        if !own || !self.is_own(request) {
            return Ok(not_ours());
        }
        let next = onward(form::one(&form, NEXT));
        let email = form::one(&form, "email");
        let password = form::one(&form, "password");
        let (app, to) = self.waiting(next).await?.unzip();
        let again = |status: u16, problem: &str| {
            let fields = [(NEXT.to_owned(), next.to_owned())];
            let form = SignIn {
                fields: &fields,
                email,
                app: app.as_deref(),
                problem: Some(problem),
                ..SignIn::default()
            };
            self.ask_to_sign_in(request, status, &form, to.as_deref())
        };
        let wrong = "The e-mail address or the password is not right.";
        if email.len() > EMAIL_MAX || password.len() > PASSWORD_MAX {
            return again(400, wrong);
        }
        let browser = self.known_browser(request, email, now);
        let claim = Claim {
            email,
            password,
            browser: browser.as_ref().map(Secret::expose),
        };
        let tried = self.try_password(request, &claim, now).await?;
        if let Some((status, words, wait)) = tried.refusal() {
            return Ok(retry_after(again(status, &words)?, wait));
        }
        let failed = |account: &Account| {
            let acting = request.acting(None);
            self.acts.sign_in_failed(account.user, acting, self.now());
        };
        let Tried::Right(account, hash) = tried else {
            if let Tried::Wrong(Some(account)) = &tried {
                failed(account);
            }
            return again(400, wrong);
        };
        let now = self.now();
        let (secret, session) = Session::start(account.user, &self.random()?, now);
        let store = self.acts.by(request.acting(Some(account.user)), now);
        match store
            .start_session(session.used_from(request.address), Some(&hash))
            .await
        {
            // It was switched off meanwhile, or has another password.
            Err(StoreError::NoAccount) => {
                failed(&account);
                return again(400, wrong);
            }
            done => done?,
        }
        self.places.password_used(account.user);
        if let Some(before) = self.cookie(request, Cookie::Session) {
            store.end_session(&Digest::of(before.expose())).await?;
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
        let reply = self.set_cookie(see_other(to), Cookie::Session, Some(secret.expose()));
        let reply = self.set_cookie(reply, Cookie::Form, None);
        Ok(self.make_known(reply, request, email, now))
    }

    pub(crate) async fn sign_out_page(
        &self,
        request: &Request,
        now: SystemTime,
    ) -> Result<Reply, Broken> {
        let Some(visit) = self.visit(request, now).await? else {
            return Ok(see_other(paths::SIGN_IN));
        };
        let csrf = csrf(&visit.secret, PURPOSE);
        Ok(page(200, Leave { csrf: &csrf }.page()))
    }

    pub(crate) async fn sign_out(
        &self,
        request: &Request,
        now: SystemTime,
    ) -> Result<Reply, Broken> {
        let gone = see_other(format!("{}?done=signed_out", paths::SIGN_IN));
        let Some(visit) = self.visit(request, now).await? else {
            return Ok(gone);
        };
        let form = form::read(request).unwrap_or_default();
        let own = csrf_matches(&visit.secret, PURPOSE, form::one(&form, "csrf"));
        if !own || !self.is_own(request) {
            return Ok(not_ours());
        }
        let store = self.acts.by(request.acting(Some(visit.session.user)), now);
        store.end_session(&visit.session.digest).await?;
        Ok(self.set_cookie(gone, Cookie::Session, None))
    }
}

/// What the proof of a sign-in for this request is made for.
fn signed_in(query: &str) -> String {
    format!("signed in for {query}")
}

/// A form that is not ours, or whose session is over.
pub(crate) fn not_ours() -> Reply {
    match Answer::forged() {
        Answer::Page(status, shown) => page(status, shown),
        Answer::SeeOther(_) => failure(403, "This form is no longer valid", "Nothing was changed."),
    }
}

/// Where to go on after signing in: a page of ours, whatever was asked for.
fn onward(next: &str) -> &str {
    let (path, query) = next.split_once('?').unwrap_or((next, ""));
    // No path of ours has anything else in a segment, and so no dots and nothing escaped.
    let named = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
    let plain = |segment: &str| !segment.is_empty() && segment.bytes().all(named);
    let below = path.strip_prefix('/').unwrap_or_default();
    let sound =
        below.split('/').all(plain) && query.bytes().all(|b| b.is_ascii_graphic() && b != b'\\');
    let ours = [AUTHORIZE, paths::CONNECTED, paths::SIGN_OUT, "/-/console"];
    let is_in = |at: &&str| {
        let rest = path.strip_prefix(*at);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    if sound && ours.iter().any(is_in) {
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
        ] {
            assert_eq!(onward(next), next);
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
            "/-/console/..",
            "/-/console/apps;x",
        ] {
            assert_eq!(onward(next), paths::CONNECTED, "{next}");
        }
    }
}
