//! Source of a copy: a store that nobody writes, which the copy reads until its own first write.
use crate::open_error::StoreOpenError;
use parking_lot::Mutex;
use rusqlite::Connection;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use workgraph_core::storage::GraphStoreError;

type CopyStep = Box<dyn FnMut() -> Result<(), StoreOpenError> + Send>;
type ResealStep = Box<dyn FnMut(&mut Connection) -> Result<(), StoreOpenError> + Send>;

/// Work that prepares a copy for its first write. It may be run again if it failed.
pub(crate) struct Preparation {
    /// Copies the database, unless that is done. It holds the lock on the folder of the copy afterwards.
    pub(crate) copy: CopyStep,
    /// Reseals the secrets in the database of the copy.
    pub(crate) reseal: ResealStep,
}

/// Source of a copy, with the pool `P` of connections that read in it. The content of both is the same until the copy is
/// written, so reads of the copy can use the connections of the source, their prepared statements, and its caches.
pub(crate) struct CopiedFrom<P> {
    source: Arc<P>,
    /// True once the copy reads in its own database.
    is_left: AtomicBool,
    /// Preparation of the first write; `None` if the copy must not be written any more.
    preparation: Mutex<Option<Preparation>>,
}

impl<P> CopiedFrom<P> {
    pub(crate) fn new(source: Arc<P>, preparation: Preparation) -> Self {
        Self {
            source,
            is_left: AtomicBool::new(false),
            preparation: Mutex::new(Some(preparation)),
        }
    }

    /// Returns the pool of the source, if the copy was not written yet.
    pub(crate) fn current(&self) -> Option<&P> {
        (!self.is_left.load(Ordering::Acquire)).then_some(&*self.source)
    }

    /// Runs the preparation by a function, unless it is done.
    ///
    /// # Errors
    /// Fails as the function does; the preparation then stays to be done. Fails after [`stay`](Self::stay), too.
    pub(crate) fn leave(
        &self,
        run: impl FnOnce(&mut Preparation) -> Result<(), GraphStoreError>,
    ) -> Result<(), GraphStoreError> {
        if self.is_left.load(Ordering::Acquire) {
            return Ok(());
        }
        let mut preparation = self.preparation.lock();
        if !self.is_left.load(Ordering::Acquire) {
            let Some(preparation) = &mut *preparation else {
                let reason = "the copy was removed before its first write";
                return Err(GraphStoreError::Failed(reason.to_owned()));
            };
            run(preparation)?;
            self.is_left.store(true, Ordering::Release);
        }
        Ok(())
    }

    /// Refuses the first write, unless it was made.
    pub(crate) fn stay(&self) {
        let mut preparation = self.preparation.lock();
        if !self.is_left.load(Ordering::Acquire) {
            *preparation = None;
        }
    }
}

impl<P> fmt::Debug for CopiedFrom<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CopiedFrom")
            .field("is_left", &self.is_left)
            .finish_non_exhaustive()
    }
}
