//! Tests with a server: the laws, the comparison with the in-process limiter, several nodes, outages, TLS,
//! and steps of the clock.

#![expect(clippy::disallowed_methods, reason = "they wait for another program")]

mod acts;
mod attempts;
mod clock_steps;
mod connecting;
mod differential;
mod function_limiter;
mod hostile_values;
mod laws;
mod nodes;
mod outages;
mod parts;
mod shapes;
mod test_request;
mod tls;

/// Returns a number from the environment, or else the default.
fn number(name: &str, default: u64) -> u64 {
    let text = std::env::var(name).ok();
    text.and_then(|text| text.parse().ok()).unwrap_or(default)
}
