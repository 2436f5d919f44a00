//! The switch of a whole test run: with its caches, or without them.

/// Returns true unless the environment has `WORKGRAPH_TEST_CACHES=off`. Tests that open a store or start a server then
/// do so without caches, and must see what they see with them.
///
/// # Panics
/// Panics if the variable has another value than `on` or `off`.
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
