//! Lock of the shards: the mutex of `std`, or of loom when its model checker runs (`--cfg loom`).

#[cfg(loom)]
pub(crate) use loom::sync::{Mutex, MutexGuard};
#[cfg(not(loom))]
pub(crate) use std::sync::{Mutex, MutexGuard};

/// Number of shards, a power of two. Loom tries every interleaving of a few threads, for which one shard is enough.
pub(crate) const SHARDS: usize = if cfg!(loom) { 1 } else { 128 };

/// Locks a mutex, even if another thread panicked with it: no state here is ever left half changed.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}
