//! Faults of deliveries to webhooks.
use std::time::Duration;

/// Fault that a delivery to a webhook meets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum DeliveryFault {
    /// The delivery is sent twice.
    Duplicate,
    /// The delivery is sent after the next one to the same target.
    Reorder,
    /// The delivery is not sent, and counts as received.
    Drop,
    /// The delivery is sent later, and counts as received.
    Late(Duration),
    /// The signature of the delivery is wrong.
    BadSignature,
    /// A handshake from a stranger, with another secret, comes just before the delivery.
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
