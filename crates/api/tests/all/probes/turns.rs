//! Turns: the share of a long run that the usual one makes.

/// Returns true if everything is tried, as with `WORKGRAPH_CASES`.
pub(super) fn all_are_tried() -> bool {
    std::env::var_os("WORKGRAPH_CASES").is_some()
}

/// Returns true if an operation, by its place in the table, is tried by this one of the callers: by one of them, and the next
/// operation by the next one. With `WORKGRAPH_CASES` all of them try it.
pub(super) fn has_turn(operation: usize, (caller, callers): (usize, usize)) -> bool {
    all_are_tried() || operation % callers == caller
}
