//! Signed tickets: short texts, signed with the keys of the service, that allow their holder one action until they
//! expire.
use crate::state::Api;
use std::sync::PoisonError;
use std::time::SystemTime;
use workgraph_wire::signed_ticket;
use workgraph_wire::signed_ticket::TicketError;

impl Api {
    /// Issues a ticket for an action, valid until an instant.
    #[must_use]
    pub fn issue_ticket(&self, what: &str, expires: SystemTime) -> String {
        let keys = self.keys.read().unwrap_or_else(PoisonError::into_inner);
        signed_ticket::issue(&keys, what, expires)
    }

    /// Checks a ticket for an action at an instant.
    ///
    /// # Errors
    /// Fails when the ticket is for another action, or has expired.
    pub fn check_ticket(
        &self,
        what: &str,
        ticket: &str,
        now: SystemTime,
    ) -> Result<(), TicketError> {
        let keys = self.keys.read().unwrap_or_else(PoisonError::into_inner);
        signed_ticket::check(&keys, what, ticket, now)
    }
}
