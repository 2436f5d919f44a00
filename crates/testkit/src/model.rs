//! Random histories: the same changes to two stores must give equal answers everywhere.
mod look;
mod world;

use self::look::{Look, looks};
use self::world::World;
use proptest::prelude::*;
use workgraph_auth::conformance::block_on;
use workgraph_core::graph::GraphStore;

/// One step of a change set. Numbers are taken modulo what there is.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// Writes a version of a node, which may be new.
    Write {
        /// Which node.
        node: u8,
        /// Which version.
        version: u8,
        /// Which values.
        values: u8,
    },
    /// Trashes a node.
    Trash(u8),
    /// Makes or moves an edge.
    Link {
        /// From which node.
        src: u8,
        /// Of which relation.
        rel: u8,
        /// To which node.
        dst: u8,
        /// First, last, beside another, or at a rank.
        place: u8,
        /// Beside which, at which rank.
        beside: u8,
    },
    /// Removes an edge.
    Unlink {
        /// From which node.
        src: u8,
        /// Of which relation.
        rel: u8,
        /// To which node.
        dst: u8,
    },
    /// Gives a node a name.
    Name {
        /// Which name.
        key: u8,
        /// Which node.
        node: u8,
    },
    /// Makes the change set conditional.
    Guard {
        /// Which condition.
        kind: u8,
        /// On which node.
        node: u8,
        /// On which relation or version.
        with: u8,
    },
}

/// A change set, and what is looked at after it.
#[derive(Clone, Debug)]
pub struct Round {
    steps: Vec<Step>,
    look: Look,
}

fn steps() -> impl Strategy<Value = Step> {
    let n = any::<u8>;
    // Edges among few nodes, so that lists grow and places meet.
    let few = || 0..10u8;
    prop_oneof![
        3 => (n(), 1..4u8, n()).prop_map(|(node, version, values)| Step::Write { node, version, values }),
        1 => n().prop_map(Step::Trash),
        4 => (n(), n(), n(), n(), n())
            .prop_map(|(src, rel, dst, place, beside)| Step::Link { src, rel, dst, place, beside }),
        4 => (n(), few(), few(), n(), n()).prop_map(|(src, rel, dst, place, beside)| {
            Step::Link { src, rel: 2 + rel % 2, dst, place, beside }
        }),
        1 => (n(), n(), n()).prop_map(|(src, rel, dst)| Step::Unlink { src, rel, dst }),
        1 => (0..6u8, n()).prop_map(|(key, node)| Step::Name { key, node }),
        1 => (n(), n(), n()).prop_map(|(kind, node, with)| Step::Guard { kind, node, with }),
    ]
}

/// Random histories of up to this many change sets.
pub fn histories(most: usize) -> impl Strategy<Value = Vec<Round>> {
    let round = (prop::collection::vec(steps(), 0..8), looks());
    prop::collection::vec(
        round.prop_map(|(steps, look)| Round { steps, look }),
        1..most,
    )
}

/// How many random cases to run: this many, times `WORKGRAPH_CASES` if that is set.
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
/// Says where the stores differ.
pub fn compare(
    left: &dyn GraphStore,
    right: &dyn GraphStore,
    history: &[Round],
) -> Result<(), String> {
    let mut world = World::new();
    let both = |changes: workgraph_core::graph::Changes| {
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
        look::compare(left, right, &world, &round.look)?;
    }
    let events = (
        block_on(left.events(0, 10_000)),
        block_on(right.events(0, 10_000)),
    );
    if events.0 != events.1 {
        return Err(format!("journals differ: {events:?}"));
    }
    look::walks(left, right, &world)
}
