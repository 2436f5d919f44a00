//! Signed tickets: short texts, signed with the keys of the service, that allow their holder one action until they
//! expire.
use crate::state::Api;
use std::time::SystemTime;
use workgraph_wire::signed_ticket;
use workgraph_wire::signed_ticket::TicketError;

impl Api {
    /// Issues a ticket for an action, valid until `expires`.
    #[must_use]
    pub fn issue_ticket(&self, what: &str, expires: SystemTime) -> String {
        signed_ticket::issue(&self.keys, what, expires)
    }

    /// Checks a ticket for an action at a given time.
    ///
    /// # Errors
    /// Fails when the ticket is for another action, or has expired.
    pub fn check_ticket(
        &self,
        what: &str,
        ticket: &str,
        now: SystemTime,
    ) -> Result<(), TicketError> {
        signed_ticket::check(&self.keys, what, ticket, now)
    }
}
