//! Waves: loads and commits against facts, for a store that answers many reads in one trip.
//!
//! [`load`](super::load::load) and [`apply`](super::apply::apply) make one read after the other. A store behind a network would
//! make a trip for each. Instead it keeps [`Facts`]: reads with their answers, all of one state of the graph. An *attempt* runs
//! the same code on the facts; a read without an answer gets "nothing" and is noted ([`FactsSnapshot`]). If any read was noted,
//! the attempt's result is thrown away, even an error; the noted reads are made in one trip, a *wave*, and the next attempt gets
//! further. So the number of trips is the depth of the reads, not their number.
//!
//! ```text
//!        load_guesses(query)                     ┌──────────────────────────┐
//!               │                                ▼                          │ Lacks(reads)
//!               └──► wave: all reads in one trip ──► Facts::insert ──► load_attempt ──► Whole(view)
//! ```
//!
//! Every loop in the engine ends when it reads nothing, so an attempt ends. A store bounds the waves of a load or commit by
//! [`WAVES_MAX`], and then makes one read after the other, as if there were no facts.
//!
//! A commit is the same on an [`Overlay`]: a transaction whose reads see its own writes over facts, and whose writes are
//! collected ([`GraphWrites`]), with the keys of all reads and writes. The facts may be older than the state to which the
//! writes are applied, as long as no commit in between touched the reads.
//!
//! [`FactCache`] keeps answers between requests. An attempt takes from it the answers that the facts lack
//! ([`load_attempt_with`]), so one attempt is enough if the cache has them all. The cache is exact: before it is used, the
//! first wave also reads which keys the commits since its state have touched. A store that commits gives the cache its
//! writes, so that the reply to the request, and the next commit to the same lists, find it there. [`PendingCommits`] does
//! the same for writes that are not durable yet, so that the next change sets can be applied to the state after them.
mod answer_weight;
mod attempt_facts;
mod attempts;
mod commit_attempt;
mod committed_state;
mod fact_cache;
mod facts;
mod facts_snapshot;
mod graph_read;
mod graph_writes;
mod guesses;
mod known_ranges;
mod misses;
mod overlay;
mod pending_commits;
mod read_keys;
mod viewer_cache;

pub use attempt_facts::AttemptCache;
pub use attempts::{Attempt, load_attempt, load_attempt_with, viewer_attempt};
pub use commit_attempt::{Applied, AppliedChanges, apply_attempt, apply_attempt_with};
pub use fact_cache::FactCache;
pub use facts::Facts;
pub use facts_snapshot::FactsSnapshot;
pub use graph_read::{GraphAnswer, GraphRead, InOutRow};
pub use graph_writes::{EdgeKey, GraphWrites, WrittenNode};
pub use guesses::{commit_guesses, load_guesses};
pub use overlay::Overlay;
pub use pending_commits::PendingCommits;

/// Maximum number of waves of one load or commit.
pub const WAVES_MAX: usize = 12;
