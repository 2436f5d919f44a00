//! Faults become replies: the only place where a status code is chosen.
use crate::budget;
use crate::request::Reply;
use crate::seams::Entropy;
use workgraph_core::Interrupted;
use workgraph_core::fault::{Fault, Kind};
use workgraph_core::graph::StoreError;
use workgraph_limits::{Refusal, least_cost};
use workgraph_wire::{ErrorObject, error, message};

/// The credits that a request costs whose work was stopped, whatever it had done by then: as many as the largest replies.
pub const STOPPED_COST: u32 = 50_000;

/// Why a request is not answered with what it asked for.
#[derive(Debug)]
pub enum Failure {
    /// No operation has this method and path.
    NoRoute,
    /// No valid token; the message, and the error code of RFC 6750, section 3.1, if one applies.
    Unauthorized(&'static str, Option<&'static str>),
    /// The Authorization header is malformed.
    BadHeader(String),
    /// The token lacks a scope.
    Scope(String),
    /// A limit was hit.
    Limited(Refusal),
    /// The body is of a media type that is not understood.
    MediaType,
    /// The body is too large.
    TooLarge,
    /// The sync token is missing, unknown or too old; here is one to go on from.
    Resync(String),
    /// The domain refuses.
    Fault(Fault),
    /// The server is at fault; the text is for the log alone.
    Server(String),
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Interrupted(interrupted) => Self::Fault(interrupted.into()),
            StoreError::OverBudget => Self::Fault(budget::unreadable()),
            error => Self::Server(error.to_string()),
        }
    }
}

impl Failure {
    /// Whether more was asked for than a budget holds.
    pub(crate) fn is_too_large(&self) -> bool {
        matches!(self, Self::Fault(fault) if fault.kind == Kind::TooLarge)
    }

    /// Whether showing was too much, rather than anything wrong: for the records, or for the time there is.
    pub(crate) fn is_of_showing(&self) -> bool {
        let stopped = |kind| matches!(kind, Kind::TooLarge | Kind::Interrupted(_));
        matches!(self, Self::Fault(fault) if stopped(fault.kind))
    }

    /// Whether the work was stopped at its deadline.
    pub(crate) fn is_late(&self) -> bool {
        let late = Kind::Interrupted(Interrupted::Deadline);
        matches!(self, Self::Fault(fault) if fault.kind == late)
    }

    /// What a request that ended so costs, in credits: nothing, unless it worked until it was stopped, or until
    /// it had filled the largest reply.
    #[must_use]
    pub fn cost(&self, reply_max: usize) -> u32 {
        match self {
            Self::Fault(fault) if matches!(fault.kind, Kind::Interrupted(_)) => STOPPED_COST,
            failure if failure.is_too_large() => least_cost(reply_max),
            _ => 0,
        }
    }
}

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

/// The reply for a failure. Server faults are logged with the phrase the client is given.
#[must_use]
pub fn reply(failure: &Failure, entropy: &dyn Entropy) -> Reply {
    let say = |status: u16, text: &str| Reply::json(status, workgraph_wire::error::error(text));
    match failure {
        Failure::NoRoute => say(404, message::NO_ROUTE),
        Failure::Unauthorized(text, code) => {
            let challenge =
                code.map_or_else(|| "Bearer".to_owned(), |c| format!("Bearer error=\"{c}\""));
            say(401, text).with("WWW-Authenticate", challenge)
        }
        Failure::BadHeader(text) => say(400, text),
        Failure::Scope(text) => say(403, text),
        Failure::Limited(refusal) => {
            say(429, message::RATE_LIMITED).with("Retry-After", refusal.retry_after.to_string())
        }
        Failure::MediaType => say(415, message::UNSUPPORTED_MEDIA),
        Failure::TooLarge => say(413, message::BODY_TOO_LARGE),
        Failure::Resync(token) => {
            let body = error::error_with_sync(message::SYNC_TOKEN_OLD, token);
            Reply::json(412, body)
        }
        Failure::Fault(fault) => match fault.kind {
            Kind::Invalid | Kind::TooLarge => say(400, &fault.message),
            Kind::Unknown => say(404, &fault.message),
            Kind::Forbidden => say(403, &fault.message),
            Kind::Premium => say(402, &fault.message),
            Kind::Unprocessable => say(422, &fault.message),
            Kind::Interrupted(_) => say(504, &fault.message),
            Kind::Busy(seconds) => {
                say(429, &fault.message).with("Retry-After", seconds.to_string())
            }
        },
        Failure::Server(why) => {
            let phrase = log(why, entropy);
            Reply::json(
                500,
                error::errors(&[ErrorObject::with_phrase(message::SERVER_ERROR, phrase)]),
            )
        }
    }
}

/// Logs a fault of the server's, and gives the phrase that its line can be found by.
#[must_use]
pub fn log(why: &str, entropy: &dyn Entropy) -> String {
    let mut random = [0u8; 8];
    // Without entropy the phrase is the same each time; the log line still carries it.
    let _missing = entropy.fill(&mut random);
    let phrase = workgraph_wire::phrase::phrase(u64::from_le_bytes(random));
    tracing::error!(phrase, why, "request failed");
    phrase
}
