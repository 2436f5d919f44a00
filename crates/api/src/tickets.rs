//! Tickets of the service: short texts, under its keys, that let whoever has one do one thing for a while.
use crate::pipeline::Api;
use std::sync::PoisonError;
use std::time::SystemTime;
use workgraph_wire::ticket::{self, TicketError};

impl Api {
    /// Issues a ticket for something, good until an instant.
    #[must_use]
    pub fn issue_ticket(&self, what: &str, expires: SystemTime) -> String {
        let keys = self.keys.read().unwrap_or_else(PoisonError::into_inner);
        ticket::issue(&keys, what, expires)
    }

    /// Checks a ticket for something at an instant.
    ///
    /// # Errors
    /// When the ticket is not for it, or has expired.
    pub fn check_ticket(
        &self,
        what: &str,
        ticket: &str,
        now: SystemTime,
    ) -> Result<(), TicketError> {
        let keys = self.keys.read().unwrap_or_else(PoisonError::into_inner);
        ticket::check(&keys, what, ticket, now)
    }
}
