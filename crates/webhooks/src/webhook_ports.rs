//! Ports: the store of webhooks, and the client that sends deliveries.
use crate::delivery_target::Target;
use crate::event_filter::EventFilter;
use crate::webhook_record::{DeliveryStateChange, JournalPosition, Webhook};
use async_trait::async_trait;
use bytes::Bytes;
use std::time::{Duration, SystemTime};
use thiserror::Error;

/// Request that a client sends to a target.
#[derive(Clone, Debug)]
pub struct DeliveryRequest {
    /// The URL that is called.
    pub target: Target,
    /// Headers in addition to the ones that every request has.
    pub headers: Vec<(&'static str, String)>,
    /// The body: JSON.
    pub body: Bytes,
    /// The time limit for the whole request.
    pub timeout: Duration,
}

/// Start of the reply of a target.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TargetReply {
    /// The HTTP status.
    pub status: u16,
    /// The value of `X-Hook-Secret`.
    pub secret: Option<String>,
    /// The value of `Retry-After` in seconds, if it is a number.
    pub retry_after: Option<u64>,
    /// The start of the body, as text.
    pub content: String,
}

/// Reason why a target gave no reply.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum DeliveryError {
    /// The name resolves to an address that may not be called; no connection was made.
    #[error("the target leads to an address that is not allowed")]
    NotAllowed,
    /// No connection, no TLS, or no complete reply in time; the text says which.
    #[error("{0}")]
    Broken(String),
}
/// Client that sends requests to targets. It follows no redirects, connects only to addresses that it has checked
/// itself, and reads only the start of a reply.
#[async_trait]
pub trait WebhookClient: Send + Sync {
    /// Sends a POST and waits for the reply, at most for the request's timeout.
    ///
    /// # Errors
    /// Fails if there is no reply.
    async fn post(&self, attempt: DeliveryRequest) -> Result<TargetReply, DeliveryError>;
}

/// Line of the delivery log: one attempt and its outcome.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DeliveryLogEntry {
    /// The number of the line; a store assigns it.
    pub id: u64,
    /// The id of the webhook.
    pub webhook: u64,
    /// The time at which the request was sent.
    pub sent_at: SystemTime,
    /// The journal position before the events.
    pub from: JournalPosition,
    /// The journal position after the events.
    pub to: JournalPosition,
    /// The number of events; 0 for a heartbeat.
    pub events: u32,
    /// The number of the attempt, from 1.
    pub attempt: u32,
    /// The status of the reply, if there was one.
    pub status: Option<u16>,
    /// The error message; empty for a success.
    pub error: String,
}

/// Maximum numbers of webhooks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WebhookLimits {
    /// Maximum number of webhooks on one object, of all apps.
    pub per_resource: u64,
    /// Maximum number of webhooks of one user with one app.
    pub per_owner: u64,
}

impl Default for WebhookLimits {
    fn default() -> Self {
        Self {
            per_resource: 1_000,
            per_owner: 10_000,
        }
    }
}

/// Selection of the webhooks that a list shows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WebhookListQuery {
    /// The user and app that own the webhooks.
    pub owner: (u64, Option<u64>),
    /// The workspace of the webhooks.
    pub workspace: u64,
    /// The watched object; `None` for every object.
    pub resource: Option<u64>,
    /// The keyset: only webhooks with a greater id are listed.
    pub after: u64,
    /// The maximum number of webhooks to return.
    pub limit: usize,
}

/// Outcome of inserting a webhook.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum InsertOutcome {
    /// The webhook was inserted; it receives the events of later commits.
    Done(Box<Webhook>),
    /// The object already has the maximum number of webhooks.
    ResourceFull,
    /// The user and app already have the maximum number of webhooks.
    OwnerFull,
    /// The app is no longer authorized by the user.
    NoGrant,
}

/// State of a store on which an insertion depends. It is read in the transaction of the insertion, and no other may change it in
/// between.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InsertionContext {
    /// True if the app of the webhook still has access to its user: it has a live refresh token.
    pub has_access: bool,
    /// Number of webhooks on the object.
    pub on_resource: u64,
    /// Number of webhooks of the user with the app.
    pub of_owner: u64,
    /// Number of the last commit.
    pub last_commit: u64,
}

impl WebhookLimits {
    /// Decides whether a webhook is inserted. It receives the events of commits after the last one; a webhook without an app needs
    /// no access.
    #[must_use]
    pub fn insert(self, mut hook: Webhook, context: InsertionContext) -> InsertOutcome {
        if hook.app.is_some() && !context.has_access {
            return InsertOutcome::NoGrant;
        }
        if context.on_resource >= self.per_resource {
            return InsertOutcome::ResourceFull;
        }
        if context.of_owner >= self.per_owner {
            return InsertOutcome::OwnerFull;
        }
        hook.state.position = JournalPosition {
            seq: context.last_commit,
            facts: 0,
        };
        InsertOutcome::Done(Box::new(hook))
    }
}

/// Outcome of storing the result of an attempt.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AttemptRecord {
    /// The result and its line of the log are stored.
    Stored,
    /// The webhook does not exist.
    Deleted,
    /// Nothing is stored: another attempt has changed the state since this one began.
    Changed,
}

/// Permission to send to a webhook at this time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DeliveryPermission {
    /// Nothing may be sent: the webhook does not exist.
    Deleted,
    /// No events may be sent: the owner's account is off, or the app is disabled in the watched workspace or lacks the scope of
    /// webhooks.
    Suspended,
    /// Events may be sent, as far as the owner may see them.
    Active,
}

impl DeliveryPermission {
    /// Returns the permission of an existing webhook. `account_on`: the owner's account is on. `app_works`: the webhook has no
    /// app, or its app is enabled in the watched workspace and has the scope of webhooks.
    #[must_use]
    pub const fn of(account_on: bool, app_works: bool) -> Self {
        if account_on && app_works {
            Self::Active
        } else {
            Self::Suspended
        }
    }
}

/// Error of a store of webhooks, with its message.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("storage failed: {0}")]
pub struct WebhookStoreError(pub String);
/// Store of webhooks and of the log of their deliveries. All writes of a method are durable when it returns.
///
/// A webhook that was made with an app lasts as long as the app has a live grant of its user: a live refresh token under a valid
/// authorization. An operation that ends the last live grant of a user and app deletes their webhooks in the same transaction,
/// and none is inserted after it. An operation that revokes all tokens of a user at once deletes all webhooks of the user,
/// including webhooks without an app.
#[async_trait]
pub trait WebhookStore: Send + Sync {
    /// Stores a new webhook if the limits allow it and its app has a live grant. Sets its position to the last commit in the same
    /// step, so that the webhook receives the events of every later commit.
    async fn insert(
        &self,
        hook: Webhook,
        limits: WebhookLimits,
    ) -> Result<InsertOutcome, WebhookStoreError>;
    /// Returns every webhook, by id.
    async fn all(&self) -> Result<Vec<Webhook>, WebhookStoreError>;
    /// Returns the permission to send to a webhook at this time. An app also needs `scope`: its user has allowed it, and the app is
    /// still registered with it.
    async fn delivery_permission(
        &self,
        id: u64,
        scope: &str,
    ) -> Result<DeliveryPermission, WebhookStoreError>;
    /// Returns a webhook, or `None` if it does not exist.
    async fn get(&self, id: u64) -> Result<Option<Webhook>, WebhookStoreError>;
    /// Returns webhooks of a user and app in a workspace, by id.
    async fn list(&self, page: WebhookListQuery) -> Result<Vec<Webhook>, WebhookStoreError>;
    /// Replaces the filters; false if the webhook does not exist.
    async fn set_filters(
        &self,
        id: u64,
        filters: Vec<EventFilter>,
    ) -> Result<bool, WebhookStoreError>;
    /// Deletes a webhook; false if it does not exist.
    async fn remove(&self, id: u64) -> Result<bool, WebhookStoreError>;
    /// Stores the result of an attempt, in one step with its line of the log. Stores neither if the change no longer applies to
    /// the stored state ([`DeliveryStateChange::applies_to`]).
    async fn record_attempt(
        &self,
        id: u64,
        change: Option<DeliveryStateChange>,
        delivery: Option<DeliveryLogEntry>,
    ) -> Result<AttemptRecord, WebhookStoreError>;
    /// Moves the positions of webhooks that have no events to send to `seq`, the last commit that was examined.
    async fn advance_positions(&self, ids: Vec<u64>, seq: u64) -> Result<(), WebhookStoreError>;
    /// Returns the last deliveries of a webhook, newest first; none if the webhook is deleted.
    async fn deliveries(
        &self,
        id: u64,
        limit: usize,
    ) -> Result<Vec<DeliveryLogEntry>, WebhookStoreError>;
    /// Deletes the lines of the log that are older than an instant; returns their number.
    async fn prune_delivery_log(&self, before: SystemTime) -> Result<u64, WebhookStoreError>;
    /// Returns a number that changes whenever a webhook is inserted or deleted, or gets other filters. `None`: only this process
    /// writes the store, so there are no changes to detect.
    async fn revision(&self) -> Result<Option<u64>, WebhookStoreError> {
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::webhook_record::DeliveryState;
    use std::time::UNIX_EPOCH;

    #[test]
    fn an_insertion_needs_access_and_room_and_begins_after_the_last_commit() {
        let hook = |app| Webhook {
            id: 1,
            user: 7,
            app,
            service: None,
            workspace: 100,
            resource: 200,
            kind: 0,
            target: "https://receiver.example/hook".to_owned(),
            secret: String::new(),
            filters: Vec::new(),
            created_at: UNIX_EPOCH,
            state: DeliveryState::default(),
        };
        let limits = WebhookLimits {
            per_resource: 2,
            per_owner: 3,
        };
        let insert = |app, has_access, on_resource, of_owner| {
            let context = InsertionContext {
                has_access,
                on_resource,
                of_owner,
                last_commit: 9,
            };
            limits.insert(hook(app), context)
        };
        for (app, has_access) in [(Some(20), true), (None, false)] {
            let outcome = insert(app, has_access, 1, 2);
            let InsertOutcome::Done(hook) = outcome else {
                panic!("{outcome:?}");
            };
            assert_eq!(hook.state.position, JournalPosition { seq: 9, facts: 0 });
        }
        assert_eq!(insert(Some(20), false, 0, 0), InsertOutcome::NoGrant);
        assert_eq!(insert(None, false, 2, 0), InsertOutcome::ResourceFull);
        assert_eq!(insert(None, false, 0, 3), InsertOutcome::OwnerFull);
    }
}
