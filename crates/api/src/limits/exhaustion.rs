//! Use of a whole quota on purpose, so that a client gets a real refusal with a real wait.
use crate::error::ApiError;
use crate::limits::request_weight::RequestWeight;
use crate::state::Api;
use crate::token_limits::{COST, SEARCH, STANDARD};
use serde_json::Value;
use workgraph_limits::Limit;

/// Limits that requests can use up: all limits per minute, but no limit of concurrent requests.
pub const EXHAUSTIBLE: [Limit; 3] = [STANDARD, SEARCH, COST];

/// Maximum number of requests that are counted for this: more than any quota that a test needs.
const REQUESTS_MAX: u32 = 1_000_000;

impl Api {
    /// Uses up the quota of `limit`, or the credits of a token, as if the token had sent requests now. Returns the state of
    /// its limits afterwards. Limits that processes share are not changed.
    ///
    /// # Errors
    /// Fails if the token is not valid, or the limit is not one of [`EXHAUSTIBLE`].
    pub async fn exhaust_limit(
        &self,
        authorization: &[String],
        limit: Limit,
    ) -> Result<Value, ApiError> {
        let grant = self.authenticate(authorization, None).await?.grant;
        let terms = self.effective_limits(&grant);
        let now = self.clock.now();
        let load = match limit {
            STANDARD | COST => RequestWeight {
                standard: 1,
                ..RequestWeight::default()
            },
            SEARCH => RequestWeight {
                searches: 1,
                ..RequestWeight::default()
            },
            _ => {
                let message = format!("{} can't be used up", limit.name());
                return Err(ApiError::BadHeader(message));
            }
        };
        for _ in 0..REQUESTS_MAX {
            let Ok(mut permit) = self.admit(&terms, load, 0, now) else {
                break;
            };
            if limit == COST {
                // The cost exceeds any balance: the client waits until the debt is made up for, at most as long as after the
                // most expensive reply.
                let cost = self.token_limits.all().cost_ceiling;
                permit.settle(cost, now);
            }
        }
        Ok(self.limits_json(&grant).await)
    }
}
