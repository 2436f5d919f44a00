//! Values of HTTP response headers that describe limits to clients: `Retry-After` (RFC 9110, section 10.2.3), and
//! `RateLimit-Policy` and `RateLimit` (draft-ietf-httpapi-ratelimit-headers-10, sections 3 and 4).
//!
//! They are plain strings, for any HTTP library. The draft names a policy, its quota (`q`) and window in seconds (`w`),
//! and the counted unit if that is not requests (`qu`); and for each policy the rest (`r`) and the seconds until all
//! of it is free again (`t`).

use std::fmt::Write;

use crate::limit::{Limit, LimitKind};
use crate::limit_exceeded::LimitExceeded;
use crate::limiter_state::LimiterState;

/// Name of the header with the seconds to wait.
pub const RETRY_AFTER: &str = "Retry-After";
/// Name of the header with the limits.
pub const RATE_LIMIT_POLICY: &str = "RateLimit-Policy";
/// Name of the header with the remaining limits.
pub const RATE_LIMIT: &str = "RateLimit";

/// Values of `RateLimit-Policy` and `RateLimit`; without limits they are empty, and the headers should be omitted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RateLimitHeaders {
    /// Value of `RateLimit-Policy`.
    pub policy: String,
    /// Value of `RateLimit`.
    pub limits: String,
}

/// Returns the value of `Retry-After` for a refusal, in whole seconds.
#[must_use]
pub fn retry_after(refusal: &LimitExceeded) -> String {
    refusal.retry_after.to_string()
}

impl RateLimitHeaders {
    /// Returns the values for the state of a key: one policy for each window, each number of concurrent requests, and
    /// the cost.
    #[must_use]
    pub fn of(state: &LimiterState) -> Self {
        let mut headers = Self::default();
        for of in &state.windows {
            let (left, quota) = (of.remaining.into(), of.limit.into());
            headers.add(of.window, quota, Some(of.length_ms), left, of.full_ms);
        }
        for of in &state.concurrent {
            let left = of.limit.saturating_sub(of.running).into();
            headers.add(of.class, of.limit.into(), None, left, of.full_ms);
        }
        if let Some(of) = &state.cost {
            let left = u64::try_from(of.balance).unwrap_or(0);
            headers.add(
                of.cost,
                of.limit.into(),
                Some(of.length_ms),
                left,
                of.full_ms,
            );
        }
        headers
    }

    fn add(&mut self, limit: Limit, quota: u64, length: Option<u64>, left: u64, full_ms: u64) {
        let comma = if self.policy.is_empty() { "" } else { ", " };
        let name = quoted(limit.name());
        // Writing to a String cannot fail.
        let _ = write!(self.policy, "{comma}{name};q={quota}");
        if let Some(length) = length {
            // A window shorter than a second is given as one second: the draft only has whole seconds.
            let _ = write!(self.policy, ";w={}", length.div_ceil(1_000));
        }
        let unit = match limit.kind() {
            LimitKind::Window => "",
            LimitKind::Concurrent => ";qu=\"concurrent-requests\"",
            LimitKind::Cost => ";qu=\"credits\"",
        };
        self.policy.push_str(unit);
        let seconds = full_ms.div_ceil(1_000);
        let _ = write!(self.limits, "{comma}{name};r={left};t={seconds}");
    }
}

/// Returns a name as a string of a structured field (RFC 9651, section 3.3.3), which only allows printable ASCII: other
/// characters become `?`.
fn quoted(name: &str) -> String {
    let mut text = String::with_capacity(name.len() + 2);
    text.push('"');
    for character in name.chars() {
        match character {
            '"' | '\\' => text.extend(['\\', character]),
            ' '..='~' => text.push(character),
            _ => text.push('?'),
        }
    }
    text.push('"');
    text
}

#[cfg(test)]
mod tests {
    use super::{RateLimitHeaders, quoted, retry_after};
    use crate::{AdmissionRequest, Limiter, PerTime};
    use std::time::{Duration, UNIX_EPOCH};

    #[test]
    fn every_limit_has_its_policy_and_its_rest() {
        let limits: Limiter<u32> = Limiter::builder()
            .window("burst", 100.per(Duration::from_millis(2_500)))
            .window("day", 10_000.per_day())
            .concurrent(20)
            .cost(50_000.per_minute())
            .build();
        let now = UNIX_EPOCH + Duration::from_secs(1_800_000_000);
        let mut permit = limits.admit(&1, now).unwrap();
        permit.settle(25, now);
        let state = limits.state(&AdmissionRequest::new(&1), now + Duration::from_secs(1));
        let headers = RateLimitHeaders::of(&state);
        assert_eq!(
            headers.policy,
            "\"burst\";q=100;w=3, \"day\";q=10000;w=86400, \
             \"concurrent\";q=20;qu=\"concurrent-requests\", \"cost\";q=50000;w=60;qu=\"credits\""
        );
        assert_eq!(
            headers.limits,
            "\"burst\";r=99;t=2, \"day\";r=9999;t=86399, \"concurrent\";r=19;t=29, \
             \"cost\";r=50000;t=0"
        );
    }

    #[test]
    fn a_limiter_without_limits_has_no_headers() {
        let limits: Limiter<u32> = Limiter::builder().build();
        let state = limits.state(&AdmissionRequest::new(&1), UNIX_EPOCH);
        assert_eq!(RateLimitHeaders::of(&state), RateLimitHeaders::default());
    }

    #[test]
    fn names_are_strings_of_structured_fields() {
        assert_eq!(quoted(r#"a "b" \ ü"#), r#""a \"b\" \\ ?""#);
    }

    #[test]
    fn the_wait_is_in_whole_seconds() {
        let limits: Limiter<u32> = Limiter::builder()
            .window("second", 1.per(Duration::from_millis(1_500)))
            .build();
        drop(limits.admit(&1, UNIX_EPOCH).unwrap());
        let refusal = limits.admit(&1, UNIX_EPOCH).unwrap_err();
        assert_eq!(retry_after(&refusal), "2");
    }
}
