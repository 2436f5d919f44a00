//! Accounts follow seats: the quota of the best plan, and no access without a seat.
use crate::pipeline::Api;
use workgraph_auth::{Account, Tier};
use workgraph_core::Gid;
use workgraph_core::graph::{ViewerKey, Want};

impl Api {
    /// Works out a user's account anew from their seats. A user without any seat is disabled, so
    /// their tokens stop working.
    ///
    /// # Errors
    /// When a store fails; the text is for the log.
    pub async fn refresh_account(&self, user: Gid) -> Result<(), String> {
        let view = self
            .graph
            .load(&Want::of(ViewerKey {
                user,
                service: None,
            }))
            .await
            .map_err(|e| e.to_string())?;
        let paid = view.viewer.seats.iter().any(|s| s.paid);
        let account = Account {
            user: user.get(),
            tier: if paid { Tier::Paid } else { Tier::Free },
            disabled: view.viewer.seats.is_empty(),
        };
        self.tokens
            .put_account(account, None)
            .await
            .map_err(|e| e.to_string())
    }
}
