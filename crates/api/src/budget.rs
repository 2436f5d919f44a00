//! The budget of a reply: how many bytes the records of a request may be, those of all actions of a batch together.
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use workgraph_core::fault::{Fault, Kind};

/// How much the record of a write may be when the budget is spent, in bytes: the change was made, and its reply
/// shows at least the compact record.
pub(crate) const LEAST: usize = 64 << 10;

/// What is left of the bytes that a request may answer with.
#[derive(Debug)]
pub(crate) struct Budget {
    whole: usize,
    left: AtomicUsize,
}

impl Budget {
    /// A budget of so many bytes.
    pub(crate) fn new(bytes: usize) -> Self {
        Self {
            whole: bytes,
            left: AtomicUsize::new(bytes),
        }
    }

    /// How many bytes are left.
    pub(crate) fn left(&self) -> usize {
        self.left.load(Relaxed)
    }

    /// Takes the bytes of a reply.
    pub(crate) fn take(&self, bytes: usize) {
        let less = |left: usize| Some(left.saturating_sub(bytes));
        // The function never refuses.
        let _before = self.left.fetch_update(Relaxed, Relaxed, less);
    }

    /// The same error; if it is that the budget is exceeded, with its size.
    pub(crate) fn named(&self, fault: Fault) -> Fault {
        if fault.kind != Kind::TooLarge {
            return fault;
        }
        Fault::too_large(format!(
            "opt_fields: The reply would be larger than {} bytes; name fewer fields or shorter paths, or ask for fewer objects at a time with `limit`",
            self.whole
        ))
    }

    /// The error of a reply that is larger once it is indented.
    pub(crate) fn exceeded_by_indentation(&self) -> Fault {
        Fault::too_large(format!(
            "opt_pretty: The reply would be larger than {} bytes with its indentation; ask without opt_pretty, or for less",
            self.whole
        ))
    }
}

/// The error of a request for which too much would have to be read.
pub(crate) fn unreadable() -> Fault {
    Fault::too_large(format!(
        "opt_fields: More than {} bytes would have to be read for the reply; name fewer fields or shorter paths, or ask for fewer objects at a time with `limit`",
        workgraph_core::budget::GATHERED
    ))
}
