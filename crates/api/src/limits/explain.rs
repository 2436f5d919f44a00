//! The limits explained: in headers of each reply to a request that asks for them, and on a page of their own.
//!
//! Neither is part of the contract, so only clients that ask for them get them. Both read the counts of the limiter, in
//! memory, and change nothing.
use crate::limits::admission::EffectiveLimits;
use crate::request::ApiResponse;
use crate::state::Api;
use serde_json::{Map, Value, json};
use std::fmt::Write;
use workgraph_auth::Grant;
use workgraph_core::model::time::Time;
use workgraph_limits::{CostState, Limit, LimiterState, RateState, SlotState};

/// The header by which a request asks for its limits, with the value [`EXPLAIN_LIMITS`].
pub const EXPLAIN_HEADER: &str = "workgraph-explain";
/// The value of the header.
pub const EXPLAIN_LIMITS: &str = "limits";
/// The header with the cost of a response, in credits.
pub const COST_HEADER: &str = "Workgraph-Cost";

/// One limit in the terms of the draft.
struct LimitStatus {
    limit: Limit,
    /// The quota, in requests or credits.
    quota: u64,
    /// The rest of the quota.
    remaining: u64,
    /// Milliseconds until the full quota is there again.
    full_ms: u64,
}

fn lines(state: &LimiterState) -> Vec<LimitStatus> {
    let rate = |limit, of: &RateState| LimitStatus {
        limit,
        quota: of.limit.into(),
        remaining: of.remaining.into(),
        full_ms: of.full_ms,
    };
    let slots = |limit, of: &SlotState| LimitStatus {
        limit,
        quota: of.limit.into(),
        remaining: of.limit.saturating_sub(of.running).into(),
        full_ms: of.full_ms,
    };
    let mut lines = vec![
        rate(Limit::Standard, &state.standard),
        rate(Limit::Search, &state.search),
        slots(Limit::ConcurrentReads, &state.reads),
        slots(Limit::ConcurrentWrites, &state.writes),
    ];
    lines.extend(state.cost.as_ref().map(|of| LimitStatus {
        limit: Limit::Cost,
        quota: of.limit.into(),
        remaining: u64::try_from(of.balance).unwrap_or(0),
        full_ms: of.full_ms,
    }));
    lines
}

/// Returns the parameters after the quota of a limit in its policy: the window, the unit, or both.
fn measure(limit: Limit) -> &'static str {
    match limit {
        Limit::Standard | Limit::Search => ";w=60",
        Limit::ConcurrentReads | Limit::ConcurrentWrites => ";qu=\"concurrent-requests\"",
        Limit::Cost => ";w=60;qu=\"credits\"",
    }
}

/// Returns the values of `RateLimit-Policy` and `RateLimit` (draft-ietf-httpapi-ratelimit-headers-10, sections 3 and
/// 4).
fn headers(state: &LimiterState) -> (String, String) {
    let (mut policies, mut limits) = (String::new(), String::new());
    for line in lines(state) {
        let comma = if policies.is_empty() { "" } else { ", " };
        let name = line.limit.name();
        // Writing to a String cannot fail.
        let _ = write!(
            policies,
            "{comma}\"{name}\";q={}{}",
            line.quota,
            measure(line.limit)
        );
        let _ = write!(
            limits,
            "{comma}\"{name}\";r={};t={}",
            line.remaining,
            line.full_ms.div_ceil(1_000)
        );
    }
    (policies, limits)
}

fn seconds(millis: u64) -> Value {
    json!(std::time::Duration::from_millis(millis).as_secs_f64())
}

fn rate(of: &RateState) -> Value {
    json!({
        "limit": of.limit,
        "window": 60,
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
        "window": 60,
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
    /// Adds its cost and the rest of the limits to a reply.
    pub(crate) async fn with_limit_headers(
        &self,
        reply: ApiResponse,
        terms: &EffectiveLimits,
        cost: u32,
    ) -> ApiResponse {
        let (policies, limits) = headers(&self.shared_limiter_state(terms).await);
        reply
            .with("RateLimit-Policy", policies)
            .with("RateLimit", limits)
            .with(COST_HEADER, cost.to_string())
    }

    /// Responds with the limits of a token: for each its count, the operations that used it lately, and the time when
    /// it recovers. The request counts against none of them.
    pub async fn limits_response(&self, authorization: &[String]) -> ApiResponse {
        match self.authenticate(authorization, None).await {
            Ok(authentication) => {
                let shown = json!({ "data": self.limits_json(&authentication.grant).await });
                ApiResponse::json(200, shown.to_string().into_bytes())
            }
            Err(failure) => {
                crate::error::error_response(&failure, &*self.entropy, &self.settings.error_help())
            }
        }
    }

    /// Returns the counts of the limits for the token of a grant, in the form that clients get.
    pub async fn limits_json(&self, grant: &Grant) -> Value {
        let terms = self.effective_limits(grant);
        let state = self.shared_limiter_state(&terms).await;
        let now = Time::from_system(self.clock.now());
        let mut limits = Map::new();
        let mut put = |limit: Limit, value| limits.insert(limit.name().to_owned(), value);
        put(Limit::Standard, rate(&state.standard));
        put(Limit::Search, rate(&state.search));
        put(Limit::ConcurrentReads, slots(&state.reads));
        put(Limit::ConcurrentWrites, slots(&state.writes));
        put(Limit::Cost, state.cost.as_ref().map_or(Value::Null, cost));
        let recent: Vec<Value> = state
            .recent
            .iter()
            .map(|one| {
                json!({
                    "operation": operation(one.label),
                    "at": Time::from_millis(now.millis() - i64::try_from(one.age_ms).unwrap_or(0)).to_string(),
                    "counted_by": one.limit.name(),
                    "weight": one.weight,
                })
            })
            .collect();
        json!({ "at": now.to_string(), "limits": limits, "recent": recent })
    }
}
