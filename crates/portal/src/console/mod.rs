//! The developer console and the connected apps: the handlers of their forms.
//!
//! A read is answered with a page. A successful write is answered with 303 to the page that shows its result; a failed
//! one with its form and the problems marked. A new secret is kept in a [`OneTimeSecrets`] for the page that shows it
//! once.
mod account;
mod apps;
mod authorized_apps;
pub(crate) mod console_router;
mod entry_checks;
mod form_fields;
mod requests;
mod response;
mod service_accounts;
mod tokens;
mod workspace_apps;

use std::time::SystemTime;

use workgraph_api::request_inspector::RequestInspector;
use workgraph_auth::authorization::browser_session::{csrf, csrf_matches};
use workgraph_auth::{
    AuthStoreError, BrowserSession, LoopbackPolicy, OAuthStore, Param, Secret, TokenRecord,
};
use workgraph_core::audit::ActorContext;

pub use crate::csrf::PURPOSE;
pub use crate::one_time_secrets::OneTimeSecrets;
pub use crate::ports::{InvitationSummary, UserWorkspace, WorkspaceDirectory};
pub use entry_checks::{check_line, check_redirects, check_scopes};
pub(crate) use response::ConsoleNotice;
pub use response::ConsoleResponse;

use crate::pages::{
    ErrorPage, OverviewPage, PageChrome, SecretKind, SecretPage, SignedInUser, paths,
};
use form_fields::FormFields;

/// Purpose of the key in the address of the page that shows a new secret.
const SHOWING: &str = "secret";

/// Maximum number of live tokens of a user, and of apps.
const MANY: usize = 100;

/// Signed-in user of a request, with a live session.
#[derive(Clone, Copy, Debug)]
pub struct ConsoleUser<'a> {
    /// Session of the browser.
    pub session: &'a BrowserSession,
    /// Secret of the session, from the cookie.
    pub secret: &'a Secret,
    /// Name of the user.
    pub name: &'a str,
}

/// Values that a write needs from outside: the current time, a new number, and random bytes.
#[derive(Clone, Copy)]
pub struct WriteContext {
    /// Time of the write.
    pub now: SystemTime,
    /// Number of the object that the write creates.
    pub id: u64,
    /// 256 bits from the operating system's generator, for a secret.
    pub random: [u8; 32],
}

/// Console of a signed-in user, with the ports that it uses.
#[derive(Clone, Copy)]
pub struct Console<'a> {
    /// Store of apps, authorizations and tokens.
    pub store: &'a dyn OAuthStore,
    /// Actor of the request; the store is bound to it already.
    pub actor: &'a ActorContext,
    /// Directory of workspaces and service accounts.
    pub workspaces: &'a dyn WorkspaceDirectory,
    /// New secrets until they are shown.
    pub one_time_secrets: &'a OneTimeSecrets,
    /// Policy for `http` redirect URLs on this machine.
    pub loopback: LoopbackPolicy,
    /// The last requests of each token owner.
    pub inspector: &'a RequestInspector,
    /// Address of the API without a trailing slash.
    pub base_url: &'a str,
}

/// Context of one request: the signed-in user, the frame of their pages, and their memberships.
struct ConsoleContext<'a> {
    user: u64,
    name: &'a str,
    csrf: String,
    memberships: Vec<UserWorkspace>,
    notice: Option<&'static str>,
}

impl ConsoleContext<'_> {
    fn frame(&self) -> PageChrome<'_> {
        let admin = self.memberships.iter().any(|membership| membership.admin);
        PageChrome {
            user: SignedInUser {
                name: self.name,
                csrf: &self.csrf,
                admin,
            },
            notice: self.notice,
        }
    }
}

impl Console<'_> {
    async fn scene<'v>(
        &self,
        visitor: &ConsoleUser<'v>,
        query: &[Param],
    ) -> Result<ConsoleContext<'v>, AuthStoreError> {
        let user = visitor.session.user;
        Ok(ConsoleContext {
            user,
            name: visitor.name,
            csrf: csrf(visitor.secret, PURPOSE),
            memberships: self.workspaces.workspaces_of(user).await?,
            notice: ConsoleNotice::read(query),
        })
    }

    /// Answers a GET. Returns `None` if the path does not belong to the console.
    ///
    /// # Errors
    /// Fails if a store fails.
    pub async fn get(
        &self,
        visitor: &ConsoleUser<'_>,
        path: &str,
        query: &[Param],
        now: SystemTime,
    ) -> Result<Option<ConsoleResponse>, AuthStoreError> {
        if path == paths::SECRET {
            return Ok(Some(self.reveal(visitor, query, now)));
        }
        let Some((part, below)) = console_section(path) else {
            return Ok(None);
        };
        let scene = self.scene(visitor, query).await?;
        Ok(Some(match (part, below.as_slice()) {
            (ConsoleSection::Overview, [] | [""]) => ConsoleResponse::ok(
                OverviewPage {
                    frame: scene.frame(),
                }
                .page(),
            ),
            (ConsoleSection::Account, []) => self.account(&scene, visitor, now).await?,
            (ConsoleSection::Connected, []) => self.connected(&scene).await?,
            (ConsoleSection::Apps, []) => self.apps(&scene).await?,
            (ConsoleSection::Apps, ["new"]) => self.new_app(&scene),
            (ConsoleSection::Apps, [app]) => self.app(&scene, app).await?,
            (ConsoleSection::Tokens, []) => self.tokens(&scene, now).await?,
            (ConsoleSection::Services, []) => self.services(&scene, now).await?,
            (ConsoleSection::Installed, []) => self.installed(&scene).await?,
            (ConsoleSection::Requests, []) => self.requests(&scene, query, now).await?,
            (ConsoleSection::Requests, [id]) => self.request(&scene, id).await?,
            _ => ConsoleResponse::not_found(),
        }))
    }

    /// Answers a POST, whose body is a form. Returns `None` if the path does not belong to the console.
    ///
    /// # Errors
    /// Fails if a store fails.
    pub async fn post(
        &self,
        visitor: &ConsoleUser<'_>,
        path: &str,
        body: &[Param],
        fresh: &WriteContext,
    ) -> Result<Option<ConsoleResponse>, AuthStoreError> {
        let Some((part, below)) = console_section(path) else {
            return Ok(None);
        };
        let form = FormFields(body);
        if !csrf_matches(visitor.secret, PURPOSE, form.one("csrf")) {
            return Ok(Some(ConsoleResponse::invalid_csrf()));
        }
        let scene = self.scene(visitor, &[]).await?;
        let answer = match (part, below.as_slice()) {
            (ConsoleSection::Account, ["sessions", "end"]) => {
                self.end_other_sessions(&scene, visitor).await?
            }
            (ConsoleSection::Account, ["sessions", id, "end"]) => {
                self.end_session(&scene, id).await?
            }
            (ConsoleSection::Account, ["revoke"]) => {
                self.revoke_everything(&scene, fresh.now).await?
            }
            (ConsoleSection::Connected, ["invitations", id, answer]) => {
                self.answer_invitation(&scene, id, answer).await?
            }
            (ConsoleSection::Connected, [id, "revoke"]) => {
                self.disconnect(&scene, id, fresh.now).await?
            }
            (ConsoleSection::Apps, ["new"]) => {
                self.create_app(&scene, form, fresh, visitor).await?
            }
            (ConsoleSection::Apps, [app]) => self.save_app(&scene, app, form).await?,
            (ConsoleSection::Apps, [app, "secret"]) => {
                self.reset_secret(&scene, app, fresh, visitor).await?
            }
            (ConsoleSection::Apps, [app, "state"]) => {
                self.switch_app(&scene, app, form, fresh.now).await?
            }
            (ConsoleSection::Tokens, []) => self.create_token(&scene, form, fresh, visitor).await?,
            (ConsoleSection::Tokens, [id, "revoke"]) => {
                self.revoke_token(&scene, id, fresh.now).await?
            }
            (ConsoleSection::Services, []) => {
                self.create_service(&scene, form, fresh, visitor).await?
            }
            (ConsoleSection::Services, [workspace, account, "tokens"]) => {
                self.create_service_token(&scene, workspace, account, fresh, visitor)
                    .await?
            }
            (ConsoleSection::Services, [workspace, account, id, "revoke"]) => {
                self.revoke_service_token(&scene, workspace, account, id, fresh.now)
                    .await?
            }
            (ConsoleSection::Requests, ["recording"]) => {
                self.record_bodies(&scene, form, fresh.now).await?
            }
            (ConsoleSection::Installed, [workspace, app]) => {
                self.switch_installed(&scene, workspace, app, form).await?
            }
            _ => ConsoleResponse::not_found(),
        };
        Ok(Some(answer))
    }

    /// Stores a new secret for the page that shows it, and redirects there.
    fn show(
        &self,
        visitor: &ConsoleUser<'_>,
        purpose: SecretKind,
        name: &str,
        secret: Secret,
        now: SystemTime,
    ) -> ConsoleResponse {
        self.one_time_secrets
            .put(visitor.session.digest, purpose, name, secret, now);
        // Only this browser's own pages know the key: a foreign link must not use up the secret, which is shown only once.
        let key = csrf(visitor.secret, SHOWING);
        ConsoleResponse::SeeOther(format!("{}?key={key}", paths::SECRET))
    }

    fn reveal(
        &self,
        visitor: &ConsoleUser<'_>,
        query: &[Param],
        now: SystemTime,
    ) -> ConsoleResponse {
        let own = csrf_matches(visitor.secret, SHOWING, FormFields(query).one("key"));
        let taken = own.then(|| self.one_time_secrets.take(&visitor.session.digest, now));
        match taken.flatten() {
            Some((purpose, name, secret)) => {
                let page = SecretPage {
                    purpose: &purpose,
                    name: &name,
                    secret: secret.expose(),
                };
                ConsoleResponse::ok(page.page())
            }
            None => {
                let failure = ErrorPage {
                    heading: "There is no secret to show, or it was shown already",
                    text: "A secret is shown once. If you did not copy it, make a new one.",
                    onward: Some((paths::APPS, "Go to my apps")),
                };
                ConsoleResponse::Page(410, failure.page())
            }
        }
    }
}

/// Section of the console, by its path.
#[derive(Clone, Copy)]
enum ConsoleSection {
    Overview,
    Account,
    Connected,
    Apps,
    Tokens,
    Services,
    Installed,
    Requests,
}

/// Returns the console section of a path, and the segments below it.
fn console_section(path: &str) -> Option<(ConsoleSection, Vec<&str>)> {
    let parts = [
        (paths::ACCOUNT, ConsoleSection::Account),
        (paths::CONNECTED, ConsoleSection::Connected),
        (paths::APPS, ConsoleSection::Apps),
        (paths::TOKENS, ConsoleSection::Tokens),
        (paths::SERVICES, ConsoleSection::Services),
        (paths::INSTALLED, ConsoleSection::Installed),
        (paths::REQUESTS, ConsoleSection::Requests),
        (paths::CONSOLE, ConsoleSection::Overview),
    ];
    let (below, part) = parts.into_iter().find_map(|(at, part)| {
        let below = path.strip_prefix(at)?;
        (below.is_empty() || below.starts_with('/')).then_some((below, part))
    })?;
    Some((part, below.split('/').skip(1).collect()))
}

/// Parses a number in a path, accepting only the form in which the pages write it.
fn number(segment: &str) -> Option<u64> {
    segment
        .parse()
        .ok()
        .filter(|n: &u64| n.to_string() == segment)
}

/// Returns true if a token is still valid.
fn is_live(record: &TokenRecord, now: SystemTime) -> bool {
    record.revoked_at.is_none() && record.expires_at.is_none_or(|end| now < end)
}
