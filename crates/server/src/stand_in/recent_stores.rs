//! Stores of worlds that were used recently. The others are closed, because an open store has files and the memory of a
//! connection.
use crate::stand_in::initial_state::InitialState;
use crate::stand_in::test_world::TestWorld;
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::{Arc, Weak};

/// Maximum number of open stores.
const OPEN_STORES_MAX: usize = 64;

/// Stores that were used recently; the most recently used one is last.
#[derive(Default)]
pub(crate) struct RecentStores(Mutex<VecDeque<OpenStore>>);

/// Open store of a world: its own, or the store of its initial state.
enum OpenStore {
    Own(Weak<TestWorld>),
    /// The store that a world was copied from, which it reads until its first write.
    Initial(Weak<InitialState>),
}

impl OpenStore {
    fn of(test_world: &Arc<TestWorld>) -> Self {
        match &test_world.plan {
            Some(plan) if test_world.world.storage.reads_in_source() => {
                Self::Initial(Arc::downgrade(&plan.initial))
            }
            _ => Self::Own(Arc::downgrade(test_world)),
        }
    }

    /// Returns true if the store was dropped, or is the same as another.
    fn is_gone_or(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Own(own), Self::Own(other)) => own.strong_count() == 0 || own.ptr_eq(other),
            (Self::Initial(own), Self::Initial(other)) => {
                own.strong_count() == 0 || own.ptr_eq(other)
            }
            (Self::Own(own), Self::Initial(_)) => own.strong_count() == 0,
            (Self::Initial(own), Self::Own(_)) => own.strong_count() == 0,
        }
    }

    fn close(&self) {
        match self {
            Self::Own(world) => {
                if let Some(world) = world.upgrade() {
                    world.world.storage.close_idle_connections();
                }
            }
            Self::Initial(state) => {
                if let Some(state) = state.upgrade() {
                    state.close_idle_connections();
                }
            }
        }
    }
}

impl RecentStores {
    /// Records that a world is used, and closes the least recently used store if too many are open.
    pub(crate) fn note(&self, test_world: &Arc<TestWorld>) {
        let store = OpenStore::of(test_world);
        let mut recent = self.0.lock();
        recent.retain(|other| !other.is_gone_or(&store));
        recent.push_back(store);
        let longest = if recent.len() > OPEN_STORES_MAX {
            recent.pop_front()
        } else {
            None
        };
        drop(recent);
        if let Some(longest) = longest {
            longest.close();
        }
    }
}
