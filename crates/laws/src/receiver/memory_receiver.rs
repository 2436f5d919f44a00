//! The receiver that defines the laws, and its broken variants.

use std::time::Duration;

use workgraph_webhooks::signature::signature;

use super::subject::{Delivery, ReceiverReply, ReceiverSubject, SECRET_HEADER, SIGNATURE_HEADER};
use crate::SubjectError;

/// Receiver in memory. It obeys every law, or deliberately breaks one.
#[derive(Debug, Default)]
pub struct MemoryReceiver {
    broken_law: String,
    secret: Option<String>,
    seen: Vec<Vec<u8>>,
}

impl MemoryReceiver {
    /// Makes a receiver that obeys every law.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes the broken variant for the law with this name.
    #[must_use]
    pub fn breaking(law: &str) -> Self {
        Self {
            broken_law: law.to_uppercase(),
            ..Self::default()
        }
    }

    fn answer(&mut self, delivery: &Delivery) -> (u16, Option<String>) {
        let breaks = |law: &str| self.broken_law == law;
        let header = |name: &str| {
            let found = delivery
                .headers
                .iter()
                .find(|(given, _)| given.eq_ignore_ascii_case(name));
            found.map(|(_, value)| value.clone())
        };
        if let Some(secret) = header(SECRET_HEADER) {
            if self.secret.is_some() && !breaks("R2") {
                return (409, None);
            }
            self.secret = Some(secret.clone());
            return (200, Some(secret).filter(|_| !breaks("R1")));
        }
        let Some(secret) = &self.secret else {
            return (401, None);
        };
        let signed = |body: &[u8]| signature(secret, body);
        let accepted = match header(SIGNATURE_HEADER) {
            None => breaks("R5"),
            Some(_) if breaks("R4") => true,
            // Reads the body as text before checking it, which changes non-ASCII text.
            Some(given) if breaks("R8") => {
                let ascii: Vec<u8> = delivery.body.iter().copied().filter(u8::is_ascii).collect();
                given == signed(&ascii)
            }
            Some(given) => given == signed(&delivery.body),
        };
        let heartbeat = delivery.body == br#"{"events":[]}"#;
        let repeated = self.seen.contains(&delivery.body);
        let status = match (accepted, self.broken_law.as_str()) {
            (false, _) => 401,
            (true, "R3") => 500,
            (true, "R6") if repeated => 409,
            (true, "R7") if heartbeat => 400,
            (true, _) => 200,
        };
        if accepted {
            self.seen.push(delivery.body.clone());
        }
        (status, None)
    }
}

impl ReceiverSubject for MemoryReceiver {
    fn name(&self) -> String {
        "receiver in memory".to_owned()
    }

    fn post(&mut self, delivery: &Delivery) -> Result<ReceiverReply, SubjectError> {
        let took = Duration::from_secs(if self.broken_law == "R9" { 11 } else { 0 });
        let (status, secret) = self.answer(delivery);
        Ok(ReceiverReply {
            status,
            secret,
            took,
        })
    }
}
