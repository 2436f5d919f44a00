//! The developer console and the connected apps: what its forms do.
//!
//! A read answers with a page. A write that is in order answers with 303 to the page that shows what
//! came of it; one that is not answers with its form, the problems marked. A new secret waits in a
//! [`Drawer`] for the one page that shows it.
mod account;
mod answer;
mod apps;
mod connected;
mod drawer;
mod form;
mod installed;
mod services;
mod tokens;

use std::time::SystemTime;

use async_trait::async_trait;
use workgraph_auth::session::{csrf, csrf_matches};
use workgraph_auth::{Loopback, OAuthStore, Pair, Secret, Session, StoreError, TokenRecord};
use workgraph_core::audit::Acting;

pub use answer::Answer;
pub(crate) use answer::Done;
pub use drawer::Drawer;

use crate::pages::{Failure, Frame, SecretPage, Use, Who, paths};
use form::Form;

/// The purpose that the console's forms are guarded for.
pub const PURPOSE: &str = "console";

/// What the key of the page that shows a new secret is made for.
const SHOWING: &str = "secret";

/// How many live tokens, or apps, somebody can have.
const MANY: usize = 100;

/// A user's place in a workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seat {
    /// The workspace.
    pub workspace: u64,
    /// Its name.
    pub name: String,
    /// Whether the user administers it.
    pub admin: bool,
}

/// An invitation to a workspace that waits for an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invite {
    /// Its number.
    pub id: u64,
    /// The name of the workspace.
    pub workspace: String,
}

/// What the console asks of the service around it.
#[async_trait]
pub trait Places: Send + Sync {
    /// The workspaces of a user, in order of id.
    async fn seats(&self, user: u64) -> Result<Vec<Seat>, StoreError>;

    /// Returns the invitations that wait for a user's answer.
    async fn invitations(&self, user: u64) -> Result<Vec<Invite>, StoreError>;

    /// Accepts or declines an invitation of a user; false if they have no such invitation.
    async fn answer_invitation(
        &self,
        user: u64,
        id: u64,
        accepted: bool,
        acting: &Acting,
    ) -> Result<bool, StoreError>;

    /// The service accounts of a workspace, with their names.
    async fn services(&self, workspace: u64) -> Result<Vec<(u64, String)>, StoreError>;

    /// Makes a service account of a workspace, with its [`Account`](workgraph_auth::Account) and
    /// no token yet; by somebody, as the audit log tells.
    async fn create_service(
        &self,
        workspace: u64,
        name: &str,
        acting: &Acting,
    ) -> Result<u64, StoreError>;

    /// Notes that a user has signed in with their password.
    fn password_used(&self, user: u64);

    /// Notes that the password of a user is another one now.
    fn password_changed(&self, user: u64);
}

/// Who asks: somebody with a live session.
#[derive(Clone, Copy, Debug)]
pub struct Visitor<'a> {
    /// The session.
    pub session: &'a Session,
    /// Its secret, from the cookie.
    pub secret: &'a Secret,
    /// The user's name.
    pub name: &'a str,
}

/// What a write needs from outside: the instant, a number nobody has, and random bytes.
#[derive(Clone, Copy)]
pub struct Fresh {
    /// Now.
    pub now: SystemTime,
    /// The number of what is made.
    pub id: u64,
    /// 256 bits from the operating system's generator, for a secret.
    pub random: [u8; 32],
}

/// The console over its ports.
#[derive(Clone, Copy)]
pub struct Console<'a> {
    /// Apps, authorizations and tokens.
    pub store: &'a dyn OAuthStore,
    /// Who acts, as the store knows already.
    pub acting: &'a Acting,
    /// Workspaces and service accounts.
    pub places: &'a dyn Places,
    /// New secrets until they are shown.
    pub drawer: &'a Drawer,
    /// Whether apps may have `http` redirect URLs on this machine.
    pub loopback: Loopback,
}

/// What surrounds one request: who asks, what stands around their pages, where they have seats.
struct Scene<'a> {
    user: u64,
    name: &'a str,
    csrf: String,
    seats: Vec<Seat>,
    notice: Option<&'static str>,
}

impl Scene<'_> {
    fn frame(&self) -> Frame<'_> {
        let admin = self.seats.iter().any(|seat| seat.admin);
        Frame {
            who: Who {
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
        visitor: &Visitor<'v>,
        query: &[Pair],
    ) -> Result<Scene<'v>, StoreError> {
        let user = visitor.session.user;
        Ok(Scene {
            user,
            name: visitor.name,
            csrf: csrf(visitor.secret, PURPOSE),
            seats: self.places.seats(user).await?,
            notice: Done::read(query),
        })
    }

    /// Answers a GET; none if the path is not the console's.
    ///
    /// # Errors
    /// When a store fails.
    pub async fn get(
        &self,
        visitor: &Visitor<'_>,
        path: &str,
        query: &[Pair],
        now: SystemTime,
    ) -> Result<Option<Answer>, StoreError> {
        if path == paths::SECRET {
            return Ok(Some(self.reveal(visitor, query, now)));
        }
        let Some((part, below)) = spot(path) else {
            return Ok(None);
        };
        let scene = self.scene(visitor, query).await?;
        Ok(Some(match (part, below.as_slice()) {
            (Part::Account, []) => self.account(&scene, visitor, now).await?,
            (Part::Connected, []) => self.connected(&scene).await?,
            (Part::Apps, []) => self.apps(&scene).await?,
            (Part::Apps, ["new"]) => self.new_app(&scene),
            (Part::Apps, [app]) => self.app(&scene, app).await?,
            (Part::Tokens, []) => self.tokens(&scene, now).await?,
            (Part::Services, []) => self.services(&scene, now).await?,
            (Part::Installed, []) => self.installed(&scene).await?,
            _ => Answer::not_found(),
        }))
    }

    /// Answers a POST, whose body is a form; none if the path is not the console's.
    ///
    /// # Errors
    /// When a store fails.
    pub async fn post(
        &self,
        visitor: &Visitor<'_>,
        path: &str,
        body: &[Pair],
        fresh: &Fresh,
    ) -> Result<Option<Answer>, StoreError> {
        let Some((part, below)) = spot(path) else {
            return Ok(None);
        };
        let form = Form(body);
        if !csrf_matches(visitor.secret, PURPOSE, form.one("csrf")) {
            return Ok(Some(Answer::forged()));
        }
        let scene = self.scene(visitor, &[]).await?;
        let answer = match (part, below.as_slice()) {
            (Part::Account, ["sessions", "end"]) => {
                self.end_other_sessions(&scene, visitor).await?
            }
            (Part::Account, ["sessions", id, "end"]) => self.end_session(&scene, id).await?,
            (Part::Account, ["revoke"]) => self.revoke_everything(&scene, fresh.now).await?,
            (Part::Connected, ["invitations", id, answer]) => {
                self.answer_invitation(&scene, id, answer).await?
            }
            (Part::Connected, [id, "revoke"]) => self.disconnect(&scene, id, fresh.now).await?,
            (Part::Apps, ["new"]) => self.create_app(&scene, form, fresh, visitor).await?,
            (Part::Apps, [app]) => self.save_app(&scene, app, form).await?,
            (Part::Apps, [app, "secret"]) => self.reset_secret(&scene, app, fresh, visitor).await?,
            (Part::Apps, [app, "state"]) => self.switch_app(&scene, app, form, fresh.now).await?,
            (Part::Tokens, []) => self.create_token(&scene, form, fresh, visitor).await?,
            (Part::Tokens, [id, "revoke"]) => self.revoke_token(&scene, id, fresh.now).await?,
            (Part::Services, []) => self.create_service(&scene, form, fresh, visitor).await?,
            (Part::Services, [place, account, "tokens"]) => {
                self.create_service_token(&scene, place, account, fresh, visitor)
                    .await?
            }
            (Part::Services, [place, account, id, "revoke"]) => {
                self.revoke_service_token(&scene, place, account, id, fresh.now)
                    .await?
            }
            (Part::Installed, [place, app]) => {
                self.switch_installed(&scene, place, app, form).await?
            }
            _ => Answer::not_found(),
        };
        Ok(Some(answer))
    }

    /// Puts a new secret where its page finds it, and leads there.
    fn show(
        &self,
        visitor: &Visitor<'_>,
        purpose: Use,
        name: &str,
        secret: Secret,
        now: SystemTime,
    ) -> Answer {
        self.drawer
            .put(visitor.session.digest, purpose, name, secret, now);
        // Only this browser's own pages know the key: a foreign link must not spend the one showing.
        let key = csrf(visitor.secret, SHOWING);
        Answer::SeeOther(format!("{}?key={key}", paths::SECRET))
    }

    fn reveal(&self, visitor: &Visitor<'_>, query: &[Pair], now: SystemTime) -> Answer {
        let own = csrf_matches(visitor.secret, SHOWING, Form(query).one("key"));
        let taken = own.then(|| self.drawer.take(&visitor.session.digest, now));
        match taken.flatten() {
            Some((purpose, name, secret)) => {
                let page = SecretPage {
                    purpose: &purpose,
                    name: &name,
                    secret: secret.expose(),
                };
                Answer::ok(page.page())
            }
            None => {
                let failure = Failure {
                    heading: "There is no secret to show, or it was shown already",
                    text: "A secret is shown once. If you did not copy it, make a new one.",
                    onward: Some((paths::APPS, "Go to my apps")),
                };
                Answer::Page(410, failure.page())
            }
        }
    }
}

/// A part of the console.
#[derive(Clone, Copy)]
enum Part {
    Account,
    Connected,
    Apps,
    Tokens,
    Services,
    Installed,
}

/// The part of the console that a path is in, and the segments below.
fn spot(path: &str) -> Option<(Part, Vec<&str>)> {
    let parts = [
        (paths::ACCOUNT, Part::Account),
        (paths::CONNECTED, Part::Connected),
        (paths::APPS, Part::Apps),
        (paths::TOKENS, Part::Tokens),
        (paths::SERVICES, Part::Services),
        (paths::INSTALLED, Part::Installed),
    ];
    let (below, part) = parts.into_iter().find_map(|(at, part)| {
        let below = path.strip_prefix(at)?;
        (below.is_empty() || below.starts_with('/')).then_some((below, part))
    })?;
    Some((part, below.split('/').skip(1).collect()))
}

/// A number in a path, in the one form that we write it in.
fn number(segment: &str) -> Option<u64> {
    segment
        .parse()
        .ok()
        .filter(|n: &u64| n.to_string() == segment)
}

/// Whether a token still works.
fn live(record: &TokenRecord, now: SystemTime) -> bool {
    record.revoked_at.is_none() && record.expires_at.is_none_or(|end| now < end)
}
