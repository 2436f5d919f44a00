//! Decision of a limiter that several processes share, and its part of a permit.
use crate::limit::{Limit, PerLimit};
use crate::window::WindowTerms;

/// Part of a permit that a shared limiter keeps. Dropping it frees the slots there.
pub trait SharedPermit: Send + Sync {
    /// Takes the cost of the answer, in credits.
    fn settle(&mut self, cost: u32);
}

/// Decision of a shared limiter, as [`Limiter::record`](crate::Limiter::record) counts it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SharedDecision {
    /// First limit that refused; `None` if the request was admitted.
    pub refused: Option<Limit>,
    /// Limits in shadow mode that would have refused.
    pub shadowed: PerLimit<bool>,
}

/// Figures that a decision is made with: those of the settings and of the request together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AdmissionFigures {
    /// Terms of the standard quota.
    pub standard: WindowTerms,
    /// Searches per minute.
    pub search_per_minute: u32,
    /// Reads that may run at the same time.
    pub concurrent_reads: u32,
    /// Writes that may run at the same time.
    pub concurrent_writes: u32,
    /// Credits per minute, at least 1; `None` if the limit is off.
    pub cost_per_minute: Option<u32>,
    /// Most credits that one settlement takes.
    pub cost_ceiling: u32,
    /// Milliseconds by which an admitted request has ended.
    pub deadline_ms: u64,
    /// Limits in shadow mode.
    pub shadow: PerLimit<bool>,
}
