//! Ids of deliveries: a receiver recognizes a repeated delivery by its id.
use ring::digest;
pub use uuid::Uuid;

/// Header with the id of a delivery. It is the same at each attempt.
pub const DELIVERY_HEADER: &str = "X-Workgraph-Delivery";

/// Returns the id of the delivery of some events to a webhook: a UUID of version 8 (RFC 9562, section 5.8) with the first bits of
/// a SHA-256 of both. It needs no storage, and an attempt with more events than the last one has another id, since a receiver
/// that dropped it would lose them.
#[must_use]
pub fn delivery_id(webhook: u64, events: &str) -> Uuid {
    let named = format!("delivery {webhook} {events}");
    let digest = digest::digest(&digest::SHA256, named.as_bytes());
    let first = digest.as_ref().first_chunk().copied().unwrap_or_default();
    uuid::Builder::from_custom_bytes(first).into_uuid()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delivery_has_one_id_and_every_other_has_another() {
        let id = delivery_id(7, "12-0,12-1");
        assert_eq!(id, delivery_id(7, "12-0,12-1"));
        assert_eq!(id.get_version_num(), 8);
        assert_ne!(id, delivery_id(8, "12-0,12-1"), "another webhook");
        assert_ne!(id, delivery_id(7, "12-0,12-1,12-2"), "more events");
    }
}
