//! Ports: where webhooks are kept, and who carries deliveries.
use crate::filter::Filter;
use crate::hook::{Hook, Position, State};
use crate::target::Target;
use async_trait::async_trait;
use bytes::Bytes;
use std::fmt;
use std::time::{Duration, SystemTime};

/// One request to a target.
#[derive(Clone, Debug)]
pub struct Attempt {
    /// The target.
    pub target: Target,
    /// Headers besides those of every request.
    pub headers: Vec<(&'static str, String)>,
    /// The body: JSON.
    pub body: Bytes,
    /// How long all of it may take.
    pub timeout: Duration,
}

/// What a target answered.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Replied {
    /// The status.
    pub status: u16,
    /// The value of `X-Hook-Secret`.
    pub secret: Option<String>,
    /// The value of `Retry-After` in seconds, if it is a number.
    pub retry_after: Option<u64>,
    /// The start of the body, as text.
    pub content: String,
}

/// Why there is no answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Failed {
    /// The name leads to an address that may not be called; nothing was.
    NotAllowed,
    /// No connection, no TLS, no complete answer in time; the text says what.
    Broken(String),
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAllowed => f.write_str("the target leads to an address that is not allowed"),
            Self::Broken(why) => f.write_str(why),
        }
    }
}
impl std::error::Error for Failed {}

/// Carries requests to targets. It follows no redirects, connects only to addresses that it has
/// checked itself, and reads little of an answer.
#[async_trait]
pub trait Deliver: Send + Sync {
    /// Sends a POST and waits for the answer, no longer than it may take.
    ///
    /// # Errors
    /// When there is no answer.
    async fn post(&self, attempt: Attempt) -> Result<Replied, Failed>;
}

/// A line of the delivery log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Delivery {
    /// Its number; a store gives it.
    pub id: u64,
    /// The webhook.
    pub hook: u64,
    /// When it was sent.
    pub at: SystemTime,
    /// Where the events began.
    pub from: Position,
    /// Where they ended.
    pub to: Position,
    /// How many there were; none for a heartbeat.
    pub events: u32,
    /// Which attempt it was, from 1.
    pub attempt: u32,
    /// The status of the answer, if there was one.
    pub status: Option<u16>,
    /// What went wrong; empty for a success.
    pub error: String,
}

/// How many webhooks there may be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// On one object, of all apps.
    pub per_resource: u64,
    /// Of one user with one app.
    pub per_owner: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            per_resource: 1_000,
            per_owner: 10_000,
        }
    }
}

/// Which webhooks are listed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Page {
    /// The user and app whose they are.
    pub owner: (u64, Option<u64>),
    /// The workspace they are in.
    pub workspace: u64,
    /// The object they are on, if only one is meant.
    pub resource: Option<u64>,
    /// Their ids are above this one.
    pub after: u64,
    /// How many to give at most.
    pub limit: usize,
}

/// What came of an insertion.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Inserted {
    /// It is there, and tells what is committed from now on.
    Done(Box<Hook>),
    /// The object has as many as it may have.
    ResourceFull,
    /// The user and app have as many as they may have.
    OwnerFull,
    /// The app may do nothing for the user any more.
    NoHold,
}

/// What a webhook may be sent now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Standing {
    /// Nothing at all: there is no such webhook.
    Gone,
    /// No events: its owner's account is off, or its app is switched off where it watches.
    Suspended,
    /// What its owner may see.
    Good,
}

impl Standing {
    /// That of a webhook that is there: whether its owner's account is on, and its app, if it has
    /// one, works where it watches.
    #[must_use]
    pub const fn of(account_on: bool, app_works: bool) -> Self {
        if account_on && app_works {
            Self::Good
        } else {
            Self::Suspended
        }
    }
}

/// A store failed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StoreError(pub String);

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "storage failed: {}", self.0)
    }
}
impl std::error::Error for StoreError {}

/// Where webhooks and the log of their deliveries are kept. What a method wrote is durable when it
/// returns.
///
/// A webhook that was made with an app lasts as long as the app's hold on its user, which is a
/// refresh token that lives, under an authorization that stands. Whatever ends the last hold of a
/// user and app deletes their webhooks in the same transaction, and none is inserted after it. What
/// revokes all tokens of a user at once deletes all webhooks of the user, those without an app, too.
#[async_trait]
pub trait HookStore: Send + Sync {
    /// Keeps a new webhook if the limits leave room for it and its app has a hold. Its position is set to the last commit,
    /// in the same step: what is committed later is told.
    async fn insert(&self, hook: Hook, limits: Limits) -> Result<Inserted, StoreError>;
    /// Every webhook, by id.
    async fn all(&self) -> Result<Vec<Hook>, StoreError>;
    /// What a webhook may be sent now.
    async fn standing(&self, id: u64) -> Result<Standing, StoreError>;
    /// A webhook.
    async fn get(&self, id: u64) -> Result<Option<Hook>, StoreError>;
    /// Webhooks of a user and app in a workspace, by id.
    async fn list(&self, page: Page) -> Result<Vec<Hook>, StoreError>;
    /// Replaces the filters; false if there is no such webhook.
    async fn set_filters(&self, id: u64, filters: Vec<Filter>) -> Result<bool, StoreError>;
    /// Deletes a webhook; false if there is none.
    async fn remove(&self, id: u64) -> Result<bool, StoreError>;
    /// Notes what came of an attempt, in one step with its line of the log; false if the webhook is
    /// gone.
    async fn settle(
        &self,
        id: u64,
        state: State,
        delivery: Option<Delivery>,
    ) -> Result<bool, StoreError>;
    /// Moves webhooks for which nothing happened to the commit that was looked at last.
    async fn advance(&self, ids: Vec<u64>, seq: u64) -> Result<(), StoreError>;
    /// The last deliveries of a webhook, newest first; none of one that is gone.
    async fn deliveries(&self, id: u64, limit: usize) -> Result<Vec<Delivery>, StoreError>;
    /// Drops lines of the log from before an instant; says how many.
    async fn sweep(&self, before: SystemTime) -> Result<u64, StoreError>;
}
