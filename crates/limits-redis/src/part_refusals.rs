//! Refusals by this process's part of each quota, for the warning that nearly nothing is admitted.

use parking_lot::Mutex;

/// Milliseconds over which refusals are counted.
const SPAN_MS: u64 = 10_000;

/// Minimum number of meaningful decisions in a span.
const DECISIONS_MIN: u64 = 20;

/// Counts of the decisions made with this process's part of the quotas, in the current span and the
/// previous one.
#[derive(Debug, Default)]
pub(crate) struct PartRefusals(Mutex<Spans>);

#[derive(Debug, Default)]
struct Spans {
    /// Number of the current span since the start.
    number: u64,
    present: Decisions,
    before: Decisions,
}

#[derive(Clone, Copy, Debug, Default)]
struct Decisions {
    all: u64,
    refused: u64,
}

impl Spans {
    fn turn(&mut self, now: u64) {
        let number = now / SPAN_MS;
        if number == self.number {
            return;
        }
        let present = std::mem::take(&mut self.present);
        self.before = if number == self.number.saturating_add(1) {
            present
        } else {
            Decisions::default()
        };
        self.number = number;
    }
}

impl PartRefusals {
    /// Records a decision at a time in milliseconds, which never goes back.
    pub(crate) fn note(&self, now: u64, is_refused: bool) {
        let mut spans = self.0.lock();
        spans.turn(now);
        spans.present.all += 1;
        spans.present.refused += u64::from(is_refused);
    }

    /// Returns true if at least nine of ten requests in the last seconds were refused.
    pub(crate) fn are_nearly_all(&self, now: u64) -> bool {
        let mut spans = self.0.lock();
        spans.turn(now);
        let all = spans.present.all + spans.before.all;
        let refused = spans.present.refused + spans.before.refused;
        all >= DECISIONS_MIN && refused * 10 >= all * 9
    }
}

#[cfg(test)]
mod tests {
    use super::PartRefusals;

    #[test]
    fn nine_refusals_of_ten_are_nearly_all_for_as_long_as_they_are_recent() {
        let refusals = PartRefusals::default();
        for n in 0..19 {
            refusals.note(n, true);
        }
        assert!(!refusals.are_nearly_all(19), "too few to tell");
        refusals.note(9_000, false);
        assert!(refusals.are_nearly_all(9_000) && refusals.are_nearly_all(19_999));
        assert!(!refusals.are_nearly_all(20_000), "they are over");
        for n in 0..40 {
            refusals.note(50_000, n % 5 > 0);
        }
        assert!(!refusals.are_nearly_all(50_000), "one of five is admitted");
    }
}
