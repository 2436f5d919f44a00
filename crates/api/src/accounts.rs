//! Accounts follow seats: the quota of a token is that of the best plan among its user's workspaces.
use crate::pipeline::Api;
use workgraph_auth::{Account, Tier};
use workgraph_core::Gid;
use workgraph_core::graph::{ViewerKey, Want};

impl Api {
    /// Works out a user's tier anew from their seats. Whether the account is disabled stays.
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
        let held = self
            .tokens
            .account(user.get())
            .await
            .map_err(|e| e.to_string())?;
        let account = Account {
            user: user.get(),
            tier: if paid { Tier::Paid } else { Tier::Free },
            disabled: held.is_some_and(|account| account.disabled),
        };
        self.tokens
            .put_account(account, None)
            .await
            .map_err(|e| e.to_string())
    }
}
