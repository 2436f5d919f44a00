//! The record of a request: bounded in size, with its secrets masked.
use super::masking::{cut, masked_body, masked_path, masked_query, masked_text};
use crate::refusal_reason::RefusalReason;
use crate::token_limits::RemainingLimits;
use serde_json::Value;
use std::time::{Duration, SystemTime};
use workgraph_auth::{Grant, TokenKind, TokenRecord};

/// Maximum stored bytes of a path, a query and an error.
const TEXT_MAX: usize = 1_024;

/// Owner of requests, who may see them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RequestOwner {
    /// A user: requests with their personal tokens.
    User(u64),
    /// An app: requests with the tokens that its users granted it.
    App(u64),
    /// A service account in a workspace.
    Service {
        /// A workspace: requests with the tokens of its service accounts.
        workspace: u64,
        /// The service account.
        account: u64,
    },
}

impl RequestOwner {
    fn of(kind: TokenKind, user: u64, app: Option<u64>, workspace: Option<u64>) -> Self {
        match (kind, app, workspace) {
            (TokenKind::Service, _, Some(workspace)) => Self::Service {
                workspace,
                account: user,
            },
            (TokenKind::Access, Some(app), _) => Self::App(app),
            _ => Self::User(user),
        }
    }
}

/// Token of a request, if known.
#[derive(Clone, Copy, Debug)]
pub struct TokenIdentity {
    pub(super) owner: RequestOwner,
    pub(super) user: u64,
    pub(super) token: u64,
    pub(super) checked_at: SystemTime,
}

impl TokenIdentity {
    /// Returns the identity of the token of a grant, which was checked at an instant.
    pub(crate) fn of(grant: &Grant, checked_at: SystemTime) -> Self {
        Self {
            owner: RequestOwner::of(grant.kind, grant.user, grant.app, grant.workspace),
            user: grant.user,
            token: grant.token,
            checked_at,
        }
    }

    pub(crate) const fn user(&self) -> u64 {
        self.user
    }

    /// Returns the app of the token, if it belongs to one.
    pub(crate) const fn app(&self) -> Option<u64> {
        match self.owner {
            RequestOwner::App(app) => Some(app),
            RequestOwner::User(_) | RequestOwner::Service { .. } => None,
        }
    }

    /// Returns the identity of a token that was refused at an instant.
    pub(crate) fn of_record(record: &TokenRecord, checked_at: SystemTime) -> Self {
        Self {
            owner: RequestOwner::of(record.kind, record.user, record.app, record.workspace),
            user: record.user,
            token: record.id,
            checked_at,
        }
    }
}

/// Bodies of a request and its response, masked and cut off at a maximum size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedBodies {
    /// Body of the request.
    pub request: Box<str>,
    /// Body of the response.
    pub response: Box<str>,
}

/// Request of the API that has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedRequest {
    /// Id of the request, as in `X-Request-Id`.
    pub id: Box<str>,
    /// Instant at which its token was checked.
    pub at: SystemTime,
    /// Time from the request head to the response.
    pub duration: Duration,
    /// Number of the token that the request sent.
    pub token: u64,
    /// User that the request acted as.
    pub user: u64,
    /// Method, in upper case.
    pub method: &'static str,
    /// Path below the API base, as it was sent.
    pub path: Box<str>,
    /// Query as the client sent it.
    pub query: Box<str>,
    /// Id of the operation, such as `getTask`; empty if none matched.
    pub operation: &'static str,
    /// Status of the response.
    pub status: u16,
    /// Cost in credits.
    pub cost: u32,
    /// Remaining limits of the token, after the request.
    pub limits: Option<RemainingLimits>,
    /// Message of the error, if the request failed.
    pub error: Option<Box<str>>,
    /// Reason of the refusal, if the request was refused.
    pub reason: Option<RefusalReason>,
    /// Bodies, if they are recorded.
    pub bodies: Option<RecordedBodies>,
}

impl RecordedRequest {
    /// Returns the bytes of memory that the record takes, including its slot in the ring, rounded up.
    pub(super) fn bytes(&self) -> usize {
        let error = self.error.as_ref().map_or(0, |text| text.len());
        let bodies = self.bodies.as_ref();
        let bodies = bodies.map_or(0, |b| b.request.len() + b.response.len());
        let texts = self.id.len() + self.path.len() + self.query.len() + error + bodies;
        // Allocations are rounded up, and the rings and the order have spare capacity.
        2 * size_of::<Self>() + 128 + texts
    }
}

/// A request that has ended, for its owner.
#[derive(Clone, Debug)]
pub struct RequestRecord {
    pub(super) owner: RequestOwner,
    pub(super) request: RecordedRequest,
}

impl RequestRecord {
    pub(crate) fn set_limits(&mut self, limits: RemainingLimits) {
        self.request.limits = Some(limits);
    }

    /// Returns the record of a request that the authorization server refused at an instant, for the app or user that it
    /// concerns. It has no query and no body, since those contain secrets.
    #[must_use]
    pub fn of_refusal(
        owner: RequestOwner,
        (method, path, operation): (&'static str, &'static str, &'static str),
        (status, reason): (u16, RefusalReason),
        at: SystemTime,
    ) -> Self {
        let user = match owner {
            RequestOwner::User(user) => user,
            RequestOwner::App(_) | RequestOwner::Service { .. } => 0,
        };
        Self {
            owner,
            request: RecordedRequest {
                id: Box::default(),
                at,
                duration: Duration::ZERO,
                token: 0,
                user,
                method,
                path: path.into(),
                query: Box::default(),
                operation,
                status,
                cost: 0,
                limits: None,
                error: Some(reason.meaning().into()),
                reason: Some(reason),
                bodies: None,
            },
        }
    }
}

/// The request as it was sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RequestLine<'r> {
    pub(crate) method: &'static str,
    pub(crate) path: &'r str,
    pub(crate) query: &'r str,
    pub(crate) content_type: Option<&'r str>,
    pub(crate) body: &'r [u8],
}

/// The response of a request, and its cost.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RequestOutcome<'r> {
    pub(crate) operation: &'static str,
    pub(crate) status: u16,
    pub(crate) body: &'r [u8],
    pub(crate) cost: u32,
    pub(crate) limits: Option<RemainingLimits>,
    pub(crate) reason: Option<RefusalReason>,
}

/// Returns the record of a request, including its bodies if they are recorded.
pub(super) fn make(
    token: TokenIdentity,
    line: &RequestLine<'_>,
    outcome: &RequestOutcome<'_>,
    with_bodies: bool,
) -> RequestRecord {
    let bodies = with_bodies.then(|| RecordedBodies {
        request: masked_body(line.body, line.content_type).into(),
        response: masked_body(outcome.body, None).into(),
    });
    let error = (outcome.status >= 400).then(|| error_text(outcome.body));
    RequestRecord {
        owner: token.owner,
        request: RecordedRequest {
            id: Box::default(),
            at: token.checked_at,
            duration: Duration::ZERO,
            token: token.token,
            user: token.user,
            method: line.method,
            path: cut(&masked_path(line.path), TEXT_MAX).into(),
            query: cut(&masked_query(line.query), TEXT_MAX).into(),
            operation: outcome.operation,
            status: outcome.status,
            cost: outcome.cost,
            limits: outcome.limits,
            error: error.map(|text| cut(&masked_text(&text), TEXT_MAX).into()),
            reason: outcome.reason,
            bodies,
        },
    }
}

/// Returns the message of an error envelope, with its phrase.
fn error_text(body: &[u8]) -> String {
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    let text = |name: &str| body.pointer(name).and_then(Value::as_str);
    let message = text("/errors/0/message").unwrap_or_default();
    match text("/errors/0/phrase") {
        Some(phrase) => format!("{message} ({phrase})"),
        None => message.to_owned(),
    }
}
