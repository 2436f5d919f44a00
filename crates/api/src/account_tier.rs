//! The tier of an account. It follows from the best plan among the user's workspaces, and decides the quota of the tokens.
use crate::background_error::BackgroundError;
use crate::state::Api;
use workgraph_auth::Tier;
use workgraph_core::Gid;
use workgraph_core::storage::{ReadQuery, ViewerKey};

/// Tier of users without a paid workspace, whose tokens have the smaller quota.
pub const FREE_TIER: Tier = Tier::DEFAULT;
/// Tier of users with a paid workspace, whose tokens have the larger quota.
pub const PAID_TIER: Tier = Tier::new(1);

impl Api {
    /// Recomputes a user's tier from their memberships. The rest of the account stays as it is.
    ///
    /// Reads the memberships again if they change during the call: of several concurrent calls, the last one to write
    /// has read the memberships after its write.
    ///
    /// # Errors
    /// Fails when a store fails; the text is for the log.
    pub async fn refresh_account(&self, user: Gid) -> Result<(), BackgroundError> {
        let mut set = None;
        loop {
            let tier = self.tier(user).await?;
            if set == Some(tier) {
                return Ok(());
            }
            self.tokens.set_tier(user.get(), tier).await?;
            set = Some(tier);
        }
    }

    /// Returns the tier that a user's memberships give.
    async fn tier(&self, user: Gid) -> Result<Tier, BackgroundError> {
        let key = ViewerKey {
            user,
            service: None,
        };
        let view = self.graph.load(&ReadQuery::of(key)).await?;
        let paid = view.viewer.memberships.iter().any(|s| s.paid);
        Ok(if paid { PAID_TIER } else { FREE_TIER })
    }
}
