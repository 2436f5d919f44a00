//! Decision of a limiter shared by several processes, and its part of a permit.
use crate::limit::Limit;
use crate::window::WindowTerms;

/// Part of a permit managed by a shared limiter. Dropping it frees the slots there.
pub trait SharedPermit: Send + Sync {
    /// Takes the cost of the reply, in credits.
    fn settle(&mut self, cost: u32);
}

/// Decision of a shared limiter, as [`Limiter::record`](crate::Limiter::record) counts it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SharedDecision<'a> {
    /// First limit that refused; `None` if the request was admitted.
    pub refused: Option<Limit>,
    /// Limits in shadow mode that would have refused.
    pub shadowed: &'a [Limit],
}

/// Figures for a decision, combined from the settings and the request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdmissionFigures {
    /// Figures of each window, in the order in which the limiter was built.
    pub windows: Vec<WindowFigures>,
    /// Figures of each number of concurrent requests.
    pub slots: Vec<SlotFigures>,
    /// Name of the cost quota.
    pub cost: Limit,
    /// Credits regained in the length, at least 1; `None` if the quota is off.
    pub credits: Option<u32>,
    /// Time in which a cost quota is regained, in milliseconds.
    pub cost_length_ms: u64,
    /// Maximum number of credits that one settlement takes.
    pub cost_ceiling: u32,
    /// True if the cost quota is in shadow mode.
    pub cost_shadow: bool,
    /// Milliseconds within which an admitted request ends.
    pub deadline_ms: u64,
}

/// Figures of a window for a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowFigures {
    /// Name and index of the window.
    pub window: Limit,
    /// Quota, maximum refused weight that is remembered, and length.
    pub terms: WindowTerms,
    /// Weight of the request.
    pub weight: u32,
    /// True if the window is in shadow mode.
    pub shadow: bool,
}

/// Figures of a number of concurrent requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotFigures {
    /// Name and index of the limit.
    pub class: Limit,
    /// Maximum number of concurrent requests.
    pub most: u32,
    /// Slots that the request needs.
    pub slots: u32,
    /// True if the limit is in shadow mode.
    pub shadow: bool,
}
