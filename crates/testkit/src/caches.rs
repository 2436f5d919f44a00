//! The cache switch for a whole test run.

/// Returns true unless the environment has `WORKGRAPH_TEST_CACHES=off`. In that case, tests that open a store or start a
/// server do so without caches, and must get the same results.
///
/// # Panics
/// Panics if the variable has a value other than `on` or `off`.
#[must_use]
#[expect(
    clippy::panic,
    reason = "a run with a misspelt switch would prove nothing"
)]
pub fn caches_are_on() -> bool {
    match std::env::var("WORKGRAPH_TEST_CACHES").as_deref() {
        Err(_) | Ok("on") => true,
        Ok("off") => false,
        Ok(other) => panic!("WORKGRAPH_TEST_CACHES must be on or off, not `{other}`"),
    }
}
