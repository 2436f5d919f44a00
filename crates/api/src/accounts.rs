//! Accounts follow seats: the quota of a token is that of the best plan among its user's workspaces.
use crate::pipeline::Api;
use workgraph_auth::Tier;
use workgraph_core::Gid;
use workgraph_core::graph::{ViewerKey, Want};

impl Api {
    /// Works out a user's tier anew from their seats, and leaves the rest of the account as it is.
    ///
    /// Seats that change meanwhile are looked at again: of many calls at once, the last to write
    /// saw the seats after it wrote.
    ///
    /// # Errors
    /// When a store fails; the text is for the log.
    pub async fn refresh_account(&self, user: Gid) -> Result<(), String> {
        let mut set = None;
        loop {
            let tier = self.tier(user).await?;
            if set == Some(tier) {
                return Ok(());
            }
            let done = self.tokens.set_tier(user.get(), tier).await;
            done.map_err(|e| e.to_string())?;
            set = Some(tier);
        }
    }

    /// The tier that a user's seats give.
    async fn tier(&self, user: Gid) -> Result<Tier, String> {
        let key = ViewerKey {
            user,
            service: None,
        };
        let view = self.graph.load(&Want::of(key)).await;
        let view = view.map_err(|e| e.to_string())?;
        let paid = view.viewer.seats.iter().any(|s| s.paid);
        Ok(if paid { Tier::Paid } else { Tier::Free })
    }
}
