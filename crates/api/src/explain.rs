//! The limits explained: on each reply to a request that asks for it, and on a page of their own.
//!
//! Neither is part of the contract, so both are given only to who asks. Both read what the limiter has
//! counted, in memory, and change nothing of it.
use crate::audit::Caller;
use crate::limits::Terms;
use crate::pipeline::Api;
use crate::request::Reply;
use serde_json::{Map, Value, json};
use std::fmt::Write;
use workgraph_auth::Grant;
use workgraph_core::time::Time;
use workgraph_limits::{CostState, Limit, RateState, SlotState, State};

/// The header by which a request asks to be told about its limits, with the value [`EXPLAIN_LIMITS`].
pub const EXPLAIN: &str = "workgraph-explain";
/// What the header says.
pub const EXPLAIN_LIMITS: &str = "limits";
/// The header that says what an answer cost, in credits.
pub const COST: &str = "Workgraph-Cost";

/// One limit as the draft sees it.
struct Line {
    limit: Limit,
    /// The quota.
    quota: u64,
    /// What is left of it.
    remaining: u64,
    /// When all of it is there again, in milliseconds.
    full_ms: u64,
}

fn lines(state: &State) -> Vec<Line> {
    let rate = |limit, of: &RateState| Line {
        limit,
        quota: of.limit.into(),
        remaining: of.remaining.into(),
        full_ms: of.full_ms,
    };
    let slots = |limit, of: &SlotState| Line {
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
    lines.extend(state.cost.as_ref().map(|of| Line {
        limit: Limit::Cost,
        quota: of.limit.into(),
        remaining: u64::try_from(of.balance).unwrap_or(0),
        full_ms: of.full_ms,
    }));
    lines
}

/// What follows the quota of a limit in its policy: the window, the unit, or both.
fn measure(limit: Limit) -> &'static str {
    match limit {
        Limit::Standard | Limit::Search => ";w=60",
        Limit::ConcurrentReads | Limit::ConcurrentWrites => ";qu=\"concurrent-requests\"",
        Limit::Cost => ";w=60;qu=\"credits\"",
    }
}

/// The values of `RateLimit-Policy` and `RateLimit` (draft-ietf-httpapi-ratelimit-headers-10, sections 3 and 4).
fn headers(state: &State) -> (String, String) {
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

/// The name of the operation with a number in the table.
fn operation(number: u16) -> Option<&'static str> {
    let at = usize::from(number).checked_sub(1)?;
    Some(crate::operations::all().nth(at)?.id)
}

impl Api {
    /// Adds to a reply what it cost and what that left.
    pub(crate) fn explain(&self, reply: Reply, terms: &Terms, cost: u32) -> Reply {
        let (policies, limits) = headers(&self.counted(terms));
        reply
            .with("RateLimit-Policy", policies)
            .with("RateLimit", limits)
            .with(COST, cost.to_string())
    }

    /// Answers who asks about the limits of a token: what each has counted, what used it lately, and when it recovers.
    /// It counts against none of them.
    pub async fn limits(&self, authorization: &[String]) -> Reply {
        match self.authenticate(authorization, Caller::default()).await {
            Ok((grant, _)) => {
                let shown = json!({ "data": self.limits_of(&grant) });
                Reply::json(200, shown.to_string().into_bytes())
            }
            Err(failure) => crate::fault::reply(&failure, &*self.entropy),
        }
    }

    /// What the limits have counted for the token of a grant, in the form that clients get.
    #[must_use]
    pub fn limits_of(&self, grant: &Grant) -> Value {
        let state = self.counted(&self.terms(grant));
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
