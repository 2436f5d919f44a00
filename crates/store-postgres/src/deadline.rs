//! Deadlines, and the clock of this crate, which is tokio's: no other module reads the time.
use std::time::Duration;
use tokio::time::Instant;

/// Moment at which work must have ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Deadline(Instant);

impl Deadline {
    /// Returns the deadline of work that begins now and may take this long.
    pub(crate) fn after(time: Duration) -> Self {
        Self(Instant::now() + time)
    }

    pub(crate) fn has_passed(self) -> bool {
        Instant::now() >= self.0
    }

    /// Waits for work until the deadline, but at most for this time. Returns `None` if it has not ended by then.
    pub(crate) async fn wait<T>(self, most: Duration, work: impl Future<Output = T>) -> Option<T> {
        let until = self.0.min(Instant::now() + most);
        tokio::time::timeout_at(until, work).await.ok()
    }
}
