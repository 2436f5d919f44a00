//! Fault of a delivery to a webhook.
use std::time::Duration;

/// Fault of a delivery.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum DeliveryFault {
    /// It is sent twice.
    Duplicate,
    /// It is sent after the next one to the same target.
    Reorder,
    /// It is not sent, and counts as received.
    Drop,
    /// It is sent later, and counts as received.
    Late(Duration),
    /// Its signature is wrong.
    BadSignature,
    /// A stranger tries to give the receiver another secret just before it.
    SecondHandshake,
}

impl DeliveryFault {
    /// Returns the fault with a name. A fault with a duration has no name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "duplicate" => Self::Duplicate,
            "reorder" => Self::Reorder,
            "drop" => Self::Drop,
            "bad_signature" => Self::BadSignature,
            "second_handshake" => Self::SecondHandshake,
            _ => return None,
        })
    }
}
