//! The limits explained: in reply headers for requests that ask for them, and on a separate page.
//!
//! Neither is part of the contract, so only clients that ask for them get them. Both read the counts of the limiter, in
//! memory, and change nothing.
use crate::limits::admission::EffectiveLimits;
use crate::request::ApiResponse;
use crate::state::Api;
use crate::token_limits::COST;
use serde_json::{Map, Value, json};
use workgraph_auth::Grant;
use workgraph_core::model::time::Time;
use workgraph_limits::headers::{RATE_LIMIT, RATE_LIMIT_POLICY, RateLimitHeaders};
use workgraph_limits::{CostState, Limit, SlotState, WindowState};

/// Header of a request that asks for its limits, with the value [`EXPLAIN_LIMITS`].
pub const EXPLAIN_HEADER: &str = "workgraph-explain";
/// The value of the header.
pub const EXPLAIN_LIMITS: &str = "limits";
/// The header with the cost of a response, in credits.
pub const COST_HEADER: &str = "Workgraph-Cost";

fn seconds(millis: u64) -> Value {
    json!(std::time::Duration::from_millis(millis).as_secs_f64())
}

fn rate(of: &WindowState) -> Value {
    json!({
        "limit": of.limit,
        "window": of.length_ms / 1_000,
        "used": of.used,
        "refused": of.refused,
        "remaining": of.remaining,
        "next_in": seconds(of.next_ms),
        "full_in": seconds(of.full_ms),
        "shadow": of.shadow,
    })
}

fn slots(of: &SlotState) -> Value {
    json!({
        "limit": of.limit,
        "running": of.running,
        "remaining": of.limit.saturating_sub(of.running),
        "full_in": seconds(of.full_ms),
        "shadow": of.shadow,
    })
}

fn cost(of: &CostState) -> Value {
    json!({
        "limit": of.limit,
        "window": of.length_ms / 1_000,
        "balance": of.balance,
        "next_in": seconds(of.next_ms),
        "full_in": seconds(of.full_ms),
        "shadow": of.shadow,
    })
}

/// Returns the name of the operation with a number in the table.
fn operation(number: u16) -> Option<&'static str> {
    let at = usize::from(number).checked_sub(1)?;
    Some(workgraph_operations::all().nth(at)?.id)
}

impl Api {
    /// Adds to a reply its cost and the remaining limits.
    pub(crate) async fn with_limit_headers(
        &self,
        reply: ApiResponse,
        terms: &EffectiveLimits,
        cost: u32,
    ) -> ApiResponse {
        let limits = RateLimitHeaders::of(&self.shared_limiter_state(terms).await);
        reply
            .with(RATE_LIMIT_POLICY, limits.policy)
            .with(RATE_LIMIT, limits.limits)
            .with(COST_HEADER, cost.to_string())
    }

    /// Responds with the limits of a token: for each one its count, the operations that used it recently, and the time when
    /// it recovers. The request itself does not count.
    pub async fn limits_response(
        &self,
        authorization: &[String],
        base_url: Option<&str>,
    ) -> ApiResponse {
        match self.authenticate(authorization, None).await {
            Ok(authentication) => {
                let shown = json!({ "data": self.limits_json(&authentication.grant).await });
                ApiResponse::json(200, shown.to_string().into_bytes())
            }
            Err(failure) => {
                let help = self.settings.error_help(base_url);
                crate::error::error_response(&failure, &*self.entropy, &help)
            }
        }
    }

    /// Returns the counts of the limits for the token of a grant, in the format for clients.
    pub async fn limits_json(&self, grant: &Grant) -> Value {
        let terms = self.effective_limits(grant);
        let state = self.shared_limiter_state(&terms).await;
        let now = Time::from_system(self.clock.now());
        let mut limits = Map::new();
        let mut put = |limit: Limit, value| limits.insert(limit.name().to_owned(), value);
        for of in &state.windows {
            put(of.window, rate(of));
        }
        for of in &state.concurrent {
            put(of.class, slots(of));
        }
        put(COST, state.cost.as_ref().map_or(Value::Null, cost));
        let recent: Vec<Value> = state
            .recent
            .iter()
            .map(|one| {
                json!({
                    "operation": operation(one.label),
                    "at": Time::from_millis(now.millis() - i64::try_from(one.age_ms).unwrap_or(0)).to_string(),
                    "counted_by": one.window.name(),
                    "weight": one.weight,
                })
            })
            .collect();
        json!({ "at": now.to_string(), "limits": limits, "recent": recent })
    }
}
