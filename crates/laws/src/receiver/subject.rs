//! The webhook receiver under test, as the laws see it.

use std::time::Duration;

use crate::SubjectError;

/// Header of a handshake, in the request and in its answer.
pub const SECRET_HEADER: &str = "X-Hook-Secret";
/// Header with the signature of a body: HMAC-SHA256 in lower-case hexadecimal.
pub const SIGNATURE_HEADER: &str = "X-Hook-Signature";

/// Request to a receiver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// Headers in addition to the content type.
    pub headers: Vec<(String, String)>,
    /// The body, JSON; empty in a handshake.
    pub body: Vec<u8>,
}

/// Answer of a receiver to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReceiverReply {
    /// Status of the answer.
    pub status: u16,
    /// Value of [`SECRET_HEADER`].
    pub secret: Option<String>,
    /// Time until the answer arrived.
    pub took: Duration,
}

impl ReceiverReply {
    pub(crate) fn accepts(&self) -> bool {
        (200..300).contains(&self.status)
    }

    pub(crate) fn refuses(&self) -> bool {
        (400..500).contains(&self.status)
    }
}

/// Webhook receiver under test.
pub trait ReceiverSubject {
    /// Returns the name that the report shows.
    fn name(&self) -> String;

    /// Sends a request to the receiver.
    ///
    /// # Errors
    /// Fails if no answer arrives.
    fn post(&mut self, delivery: &Delivery) -> Result<ReceiverReply, SubjectError>;

    /// Returns a line that repeats the request.
    fn line(&self, delivery: &Delivery) -> String {
        let headers = delivery
            .headers
            .iter()
            .map(|(name, value)| format!("{name}: {value}"));
        let body = String::from_utf8_lossy(&delivery.body);
        format!("POST {} {body}", headers.collect::<Vec<_>>().join(", "))
    }
}
