//! Actions that faults take on requests.
use crate::stand_in::delivery_fault::DeliveryFault;
use crate::stand_in::world_options::parse_period;
use anyhow::{Context, Result, bail};
use serde::Deserialize;
use serde_json::Value;
use std::time::Duration;
use tokio::sync::futures::OwnedNotified;
use workgraph_api::error::ApiError;
use workgraph_api::request_watch::RequestFault;
use workgraph_auth::AuthRefusal;
use workgraph_core::domain_error::DomainError;
use workgraph_core::storage::GraphStoreError;
use workgraph_wire::{error_envelope, messages};

/// Maximum delay of a request.
const DELAY_MAX: Duration = Duration::from_secs(60);
/// Errors that a test may ask for by name.
const ERRORS: [&str; 6] = [
    "internal",
    "unavailable",
    "payment_required",
    "legal",
    "offset_expired",
    "token_expired",
];

/// Error of a request for events with a forgotten sync token.
const SYNC_EXPIRED: &str = "sync_expired";

/// Point at which the connection of a request is closed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Cut {
    /// Before anything is done, without a reply.
    Before,
    /// In the middle of the body of the reply.
    Half,
    /// After the request was carried out, and without a reply: the client can't know whether it was.
    AfterCommit,
}

/// Action of a fault on a request.
#[derive(Clone, Debug)]
pub(crate) enum FaultAction {
    /// The request ends with an error of the contract.
    Error(&'static str),
    /// The request ends with this reply.
    Respond {
        status: u16,
        retry_after: Option<String>,
        body: Value,
    },
    /// The request waits, by the clock of the machine, and holds its permits.
    Delay(Duration),
    /// The request waits until the test releases it, and holds its permits.
    Hold,
    /// The connection of the request is cut.
    Cut(Cut),
    /// The sync token of the request counts as forgotten.
    SyncExpired,
    /// A delivery to a webhook has this fault.
    Delivery(DeliveryFault),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SentReply {
    status: u16,
    retry_after: Option<u64>,
    #[serde(default)]
    body: Value,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SentAction {
    error: Option<String>,
    respond: Option<SentReply>,
    delay_ms: Option<u64>,
    hold: Option<bool>,
    cut: Option<String>,
    webhook: Option<Value>,
}

impl FaultAction {
    /// Reads an action as a test sends it.
    ///
    /// # Errors
    /// Names what is wrong.
    pub(crate) fn parse(sent: &Value) -> Result<Self> {
        let sent = SentAction::deserialize(sent).context("do")?;
        let all = [
            sent.error.map(Self::parse_error),
            sent.respond.map(Self::parse_reply),
            sent.delay_ms.map(Self::parse_delay),
            sent.hold.map(|hold| match hold {
                true => Ok(Self::Hold),
                false => bail!("do.hold: must be true"),
            }),
            sent.cut.map(|place| Self::parse_cut(&place)),
            sent.webhook.map(Self::parse_webhook),
        ];
        let mut given = all.into_iter().flatten();
        match (given.next(), given.next()) {
            (Some(action), None) => action,
            _ => bail!("do: one of error, respond, delay_ms, hold, cut and webhook is needed"),
        }
    }

    fn parse_error(name: String) -> Result<Self> {
        if name == SYNC_EXPIRED {
            return Ok(Self::SyncExpired);
        }
        let known = ERRORS.into_iter().find(|known| *known == name);
        let known = known.with_context(|| {
            let all = ERRORS.join(", ");
            format!("do.error: `{name}` is none of {all} and {SYNC_EXPIRED}")
        })?;
        Ok(Self::Error(known))
    }

    fn parse_reply(reply: SentReply) -> Result<Self> {
        if !(200..=599).contains(&reply.status) {
            bail!("do.respond.status: must be from 200 to 599");
        }
        Ok(Self::Respond {
            status: reply.status,
            retry_after: reply.retry_after.map(|seconds| seconds.to_string()),
            body: reply.body,
        })
    }

    fn parse_delay(delay: u64) -> Result<Self> {
        let delay = Duration::from_millis(delay);
        if delay > DELAY_MAX {
            bail!("do.delay_ms: at most {}", DELAY_MAX.as_millis());
        }
        Ok(Self::Delay(delay))
    }

    fn parse_cut(place: &str) -> Result<Self> {
        Ok(Self::Cut(match place {
            "before" => Cut::Before,
            "half" => Cut::Half,
            "after_commit" => Cut::AfterCommit,
            _ => bail!("do.cut: `{place}` is none of before, half and after_commit"),
        }))
    }

    fn parse_webhook(sent: Value) -> Result<Self> {
        if let Value::String(name) = &sent
            && let Some(fault) = DeliveryFault::named(name)
        {
            return Ok(Self::Delivery(fault));
        }
        if let Value::Object(fields) = &sent
            && let (1, Some(period)) = (fields.len(), fields.get("late"))
        {
            let period = parse_period("do.webhook.late", period)?;
            return Ok(Self::Delivery(DeliveryFault::Late(period)));
        }
        bail!(
            "do.webhook: {sent} is none of duplicate, reorder, drop, bad_signature, second_handshake and {{\"late\": \"10m\"}}"
        )
    }

    /// Returns true if the action applies to deliveries instead of requests.
    pub(crate) const fn is_of_deliveries(&self) -> bool {
        matches!(self, Self::Delivery(_))
    }

    /// Performs the action. Returns the fault of the request, or `None` if the request continues.
    pub(crate) async fn perform(self, released: OwnedNotified) -> Option<RequestFault> {
        let error = match self {
            Self::SyncExpired => return Some(RequestFault::SyncTokenForgotten),
            Self::Error(name) => Some(named_error(name)),
            Self::Respond {
                status,
                retry_after,
                body,
            } => Some(ApiError::Requested {
                status,
                headers: retry_after
                    .map(|wait| ("Retry-After", wait))
                    .into_iter()
                    .collect(),
                body: match body {
                    Value::Null => error_envelope::error("A tester asked for this reply", ""),
                    body => body.to_string().into_bytes(),
                },
            }),
            Self::Delay(delay) => {
                crate::adapters::system_clock::pause(delay).await;
                None
            }
            Self::Hold => {
                released.await;
                None
            }
            // The reply is never sent.
            Self::Cut(Cut::Before) => Some(named_error("internal")),
            Self::Cut(Cut::Half | Cut::AfterCommit) | Self::Delivery(_) => None,
        };
        error.map(RequestFault::Error)
    }
}

fn named_error(name: &str) -> ApiError {
    let asked = || "a tester asked for this error".to_owned();
    match name {
        "unavailable" => ApiError::Storage(GraphStoreError::Unavailable(asked()).into()),
        "payment_required" => {
            DomainError::paid_only("This feature is for paid workspaces only").into()
        }
        "legal" => ApiError::Requested {
            status: 451,
            headers: Vec::new(),
            body: error_envelope::error("Unavailable for legal reasons", ""),
        },
        "offset_expired" => DomainError::invalid(messages::OFFSET_EXPIRED).into(),
        "token_expired" => {
            let text = messages::EXPIRED_BEARER;
            ApiError::Unauthorized(AuthRefusal::TokenExpired, text, Some("invalid_token"))
        }
        _ => ApiError::Server(asked()),
    }
}
