//! The response budget: bytes that the records of a response may take. All actions of a batch share one.
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use workgraph_core::domain_error::{DomainError, DomainErrorKind};

/// Bytes that the record of a write may take when the budget is spent. The change was made, so the reply shows at
/// least the compact record.
pub(crate) const MIN_STUB_BYTES: usize = 64 << 10;

/// Bytes that the response may still take.
#[derive(Debug)]
pub(crate) struct ResponseBudget {
    total: usize,
    remaining: AtomicUsize,
}

impl ResponseBudget {
    /// Returns a budget of this many bytes.
    pub(crate) fn new(bytes: usize) -> Self {
        Self {
            total: bytes,
            remaining: AtomicUsize::new(bytes),
        }
    }

    /// Returns the number of bytes left.
    pub(crate) fn remaining(&self) -> usize {
        self.remaining.load(Relaxed)
    }

    /// Subtracts the bytes of a reply from the budget.
    pub(crate) fn consume(&self, bytes: usize) {
        let less = |left: usize| Some(left.saturating_sub(bytes));
        // The function never refuses.
        let _before = self.remaining.fetch_update(Relaxed, Relaxed, less);
    }

    /// Returns the error; if it says that the budget is exceeded, adds the size of the budget.
    pub(crate) fn describe(&self, fault: DomainError) -> DomainError {
        if fault.kind != DomainErrorKind::TooLarge {
            return fault;
        }
        DomainError::too_large(format!(
            "opt_fields: The reply would be larger than {} bytes; name fewer fields or shorter paths, or ask for fewer objects at a time with `limit`",
            self.total
        ))
    }

    /// Returns the error of a reply that exceeds the budget only when indented.
    pub(crate) fn exceeded_by_indentation(&self) -> DomainError {
        DomainError::too_large(format!(
            "opt_pretty: The reply would be larger than {} bytes with its indentation; ask without opt_pretty, or for less",
            self.total
        ))
    }
}

/// Returns the error of a request that would have to read too much.
pub(crate) fn read_budget_exceeded() -> DomainError {
    DomainError::too_large(format!(
        "opt_fields: More than {} bytes would have to be read for the reply; name fewer fields or shorter paths, or ask for fewer objects at a time with `limit`",
        workgraph_core::byte_budgets::LOAD_BYTES
    ))
}
