//! Random histories: the same changes to two stores must give equal answers everywhere.
mod compare;
mod generator;
mod well_formed;

use self::compare::Observation;
use self::compare::looks;
use self::generator::ModelWorld;
pub use self::well_formed::WellFormed;
use crate::memory_store::{MemoryStore, WaveStore};
use proptest::prelude::*;
use workgraph_auth::conformance::block_on;
use workgraph_core::storage::GraphStore;

/// Step of a change set. Numbers are taken modulo the number of choices.
#[derive(Clone, Copy, Debug)]
pub enum ModelStep {
    /// Writes a version of a node, which may be new.
    Write {
        /// Number of the node.
        node: u8,
        /// Number of the version.
        version: u8,
        /// Number of the combination of values.
        values: u8,
    },
    /// Trashes a node.
    Trash(u8),
    /// Makes or moves an edge.
    Link {
        /// Number of the source node.
        src: u8,
        /// Number of the relation.
        rel: u8,
        /// Number of the target node.
        dst: u8,
        /// Kind of position: first, last, next to another, or at a rank.
        position: u8,
        /// Number of the neighbouring node, or the rank.
        beside: u8,
    },
    /// Removes an edge.
    Unlink {
        /// Number of the source node.
        src: u8,
        /// Number of the relation.
        rel: u8,
        /// Number of the target node.
        dst: u8,
    },
    /// Gives a node an alias.
    Name {
        /// Number of the alias.
        key: u8,
        /// Number of the node.
        node: u8,
    },
    /// Makes the change set conditional.
    Guard {
        /// Number of the condition.
        kind: u8,
        /// Number of the node in the condition.
        node: u8,
        /// Number of the relation or version in the condition.
        with: u8,
    },
}

/// Change set and the observations after it.
#[derive(Clone, Debug)]
pub struct ModelRound {
    steps: Vec<ModelStep>,
    look: Observation,
}

fn steps() -> impl Strategy<Value = ModelStep> {
    let n = any::<u8>;
    // Edges among few nodes, so that lists grow and positions collide.
    let few = || 0..10u8;
    prop_oneof![
        3 => (n(), 1..4u8, n()).prop_map(|(node, version, values)| ModelStep::Write { node, version, values }),
        1 => n().prop_map(ModelStep::Trash),
        4 => (n(), n(), n(), n(), n())
            .prop_map(|(src, rel, dst, position, beside)| ModelStep::Link { src, rel, dst, position, beside }),
        4 => (n(), few(), few(), n(), n()).prop_map(|(src, rel, dst, position, beside)| {
            ModelStep::Link { src, rel: 2 + rel % 2, dst, position, beside }
        }),
        1 => (n(), n(), n()).prop_map(|(src, rel, dst)| ModelStep::Unlink { src, rel, dst }),
        1 => (0..6u8, n()).prop_map(|(key, node)| ModelStep::Name { key, node }),
        1 => (n(), n(), n()).prop_map(|(kind, node, with)| ModelStep::Guard { kind, node, with }),
    ]
}

/// Returns random histories of up to this many change sets.
pub fn histories(most: usize) -> impl Strategy<Value = Vec<ModelRound>> {
    let round = (prop::collection::vec(steps(), 0..8), looks());
    prop::collection::vec(
        round.prop_map(|(steps, look)| ModelRound { steps, look }),
        1..most,
    )
}

/// Returns the highest gid in a history. An edge may name a node that is never created, so new gids come after it.
#[must_use]
pub fn highest_gid() -> u64 {
    let world = ModelWorld::new();
    world
        .nodes
        .iter()
        .map(|node| node.gid.get())
        .max()
        .unwrap_or(0)
}

/// Returns the number of operations of a history: steps of change sets, and subsequent reads, for both stores.
#[must_use]
pub fn operations(history: &[ModelRound]) -> usize {
    let reads = |round: &ModelRound| 1 + round.look.reads();
    history
        .iter()
        .map(|round| round.steps.len() + reads(round))
        .sum()
}

/// Returns the number of random cases to run: `usual`, times `WORKGRAPH_CASES` if that is set.
#[must_use]
pub fn cases(usual: u32) -> u32 {
    let times = std::env::var("WORKGRAPH_CASES")
        .ok()
        .and_then(|n| n.parse().ok());
    usual.saturating_mul(times.unwrap_or(1))
}

/// Runs a history against two empty stores.
///
/// # Errors
/// Fails with the first difference between the stores.
pub fn compare(
    left: &dyn GraphStore,
    right: &dyn GraphStore,
    history: &[ModelRound],
) -> Result<(), String> {
    let mut world = ModelWorld::new();
    let both = |changes: workgraph_core::storage::Changes| {
        let answers = (
            block_on(left.commit(changes.clone())),
            block_on(right.commit(changes)),
        );
        if answers.0 == answers.1 {
            Ok(())
        } else {
            Err(format!("commits differ: {answers:?}"))
        }
    };
    both(world.start())?;
    for round in history {
        both(world.changes(&round.steps))?;
        compare::compare(left, right, &world, &round.look)?;
    }
    let events = (
        block_on(left.journal_entries(0, 10_000)),
        block_on(right.journal_entries(0, 10_000)),
    );
    if events.0 != events.1 {
        return Err(format!("journals differ: {events:?}"));
    }
    compare::walks(left, right, &world)
}

/// Runs a history against two stores in memory: in single commits, and in groups of this many commits.
///
/// # Errors
/// Fails with the first difference between the stores.
pub fn compare_groups(
    left: &MemoryStore,
    right: &WaveStore,
    history: &[ModelRound],
    size: usize,
) -> Result<(), String> {
    let mut world = ModelWorld::new();
    let known = well_formed::KnownNodes::default();
    let mut sets = vec![world.start()];
    sets.extend(history.iter().map(|round| world.changes(&round.steps)));
    for group in sets.chunks(size.max(1)) {
        let mut expected = Vec::new();
        let mut formed = Vec::new();
        for changes in group {
            let changes = known.formed(changes.clone());
            let outcome = block_on(left.commit(changes.clone()));
            if outcome.is_ok() {
                known.add(&changes);
            }
            expected.push(outcome);
            formed.push(changes);
        }
        let outcomes = right.commit_group(&formed).map_err(|e| e.to_string())?;
        if outcomes != expected {
            return Err(format!("outcomes differ: {expected:?} and {outcomes:?}"));
        }
        if !left.has_same_graph(right.store()) {
            return Err(format!("graphs differ after {formed:?}"));
        }
    }
    Ok(())
}
