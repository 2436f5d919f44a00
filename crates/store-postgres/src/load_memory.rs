//! Reads of recent loads, by what was loaded: the next load of the same fetches them ahead, in its first trip.
use crate::waves::{LoadReads, Read};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use workgraph_core::storage::{ReadQuery, ViewerKey};

/// Most loads of one generation.
const GENERATION: usize = 2048;

/// What a load was of: its viewer, and a hash of the nodes and lists that it names.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct LoadKey {
    viewer: ViewerKey,
    rest: u64,
}

impl LoadKey {
    pub(crate) fn of(query: &ReadQuery) -> Self {
        let mut hash = DefaultHasher::new();
        query.app.hash(&mut hash);
        query.node_refs.hash(&mut hash);
        let rules = [
            query.out.len(),
            query.into.len(),
            query.on_days.len(),
            query.linked.len(),
            query.ancestors.len(),
            query.plans.len(),
        ];
        rules.hash(&mut hash);
        if query.page.is_some() || query.search.is_some() {
            format!("{:?} {:?}", query.page, query.search).hash(&mut hash);
        }
        Self {
            viewer: query.viewer,
            rest: hash.finish(),
        }
    }
}

/// Memory of loads. It holds the most recent ones: when one generation is full, the one before it is forgotten.
#[derive(Debug, Default)]
pub(crate) struct LoadMemory {
    generations: Mutex<[Generation; 2]>,
}

#[derive(Debug, Default)]
struct Generation {
    loads: HashMap<LoadKey, Vec<Read>>,
    /// Reads that computed each viewer the last time.
    viewers: HashMap<ViewerKey, Vec<Read>>,
}

impl LoadMemory {
    /// Returns the reads that a load will probably make.
    pub(crate) fn recall(&self, key: &LoadKey) -> Vec<Read> {
        let generations = self.generations.lock();
        let same = generations
            .iter()
            .find_map(|generation| generation.loads.get(key));
        let viewers = || {
            generations
                .iter()
                .find_map(|generation| generation.viewers.get(&key.viewer))
        };
        same.or_else(viewers).cloned().unwrap_or_default()
    }

    /// Remembers the reads of a load.
    pub(crate) fn remember(&self, key: LoadKey, load: LoadReads) {
        let of_viewer = load.reads.iter().take(load.of_viewer).cloned().collect();
        let mut generations = self.generations.lock();
        let [current, before] = &mut *generations;
        if current.loads.len() >= GENERATION {
            *before = std::mem::take(current);
        }
        current.viewers.insert(key.viewer, of_viewer);
        current.loads.insert(key, load.reads);
    }
}
