//! The window log with debt: a quota per minute that also counts attempts it refused.

use std::collections::VecDeque;

/// The length of the window in milliseconds. A stamp made at `s` counts while `now - s` is below it.
pub const WINDOW_MS: u64 = 60_000;

/// The largest weight a request can be admitted with; what is heavier is refused whatever the quota.
pub const MAX_WEIGHT: u32 = 1_024;

/// What a window allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// The weight that fits into any [`WINDOW_MS`].
    pub quota: u32,
    /// How much refused weight is remembered, the newest first; the rest of the quota is what constant hammering gets.
    pub remembered: u32,
}

/// The attempts of the last minute: one stamp per unit of weight, admitted and refused ones apart.
///
/// Stamps are the low 32 bits of a time in milliseconds. Their age is the wrapping difference from `last`, which is
/// unambiguous because [`Window::advance`] drops what is older than the window, all of it after a long silence.
#[derive(Clone, Debug, Default)]
pub struct Window {
    admitted: VecDeque<u32>,
    refused: VecDeque<u32>,
    last: u64,
    held_since: u64,
    held: u32,
    remembered: u32,
}

impl Window {
    /// Moves the window to `now` (milliseconds), dropping what has expired. An earlier `now` than the last is that one.
    pub fn advance(&mut self, now: u64) {
        let silence = now.saturating_sub(self.last);
        self.last = self.last.max(now);
        if silence >= WINDOW_MS {
            self.admitted.clear();
            self.refused.clear();
            return;
        }
        let last = low(self.last);
        expire(&mut self.admitted, last);
        expire(&mut self.refused, last);
    }

    /// Counts an attempt and says whether it is admitted. A weight of 0 is free.
    ///
    /// What does not fit is remembered as refused. When the terms have become stricter, refused stamps that the old
    /// terms remembered stay for their minute.
    pub fn charge(&mut self, terms: Terms, weight: u32, now: u64) -> bool {
        if weight == 0 {
            return true;
        }
        self.advance(now);
        if terms.remembered < self.remembered {
            self.held = count(&self.refused);
            self.held_since = self.last;
        }
        self.remembered = terms.remembered;
        let stamp = low(self.last);
        if self.over(terms, weight) == 0 {
            push(&mut self.admitted, stamp, weight, terms.quota);
            return true;
        }
        let held = if self.last - self.held_since < WINDOW_MS {
            self.held
        } else {
            0
        };
        let room = terms.remembered.max(held);
        let weight = weight.min(MAX_WEIGHT).min(room);
        let surplus = (self.refused.len() + weight as usize).saturating_sub(room as usize);
        self.refused.drain(..surplus.min(self.refused.len()));
        push(&mut self.refused, stamp, weight, room);
        false
    }

    /// How long a request of this weight would have to wait as things stand, in milliseconds; 0 if it would be admitted.
    /// A weight that can never be admitted waits for the whole window.
    #[must_use]
    pub fn wait(&self, terms: Terms, weight: u32) -> u64 {
        match self.over(terms, weight) {
            0 => 0,
            over => self.expiry(over).unwrap_or(WINDOW_MS),
        }
    }

    /// Whether nothing is remembered, as of the last [`Window::advance`]; such a window equals a new one.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.admitted.is_empty() && self.refused.is_empty()
    }

    /// Gives back memory after a burst has passed.
    pub fn shrink(&mut self) {
        for stamps in [&mut self.admitted, &mut self.refused] {
            if stamps.capacity() / 4 > stamps.len() {
                stamps.shrink_to(stamps.len() * 2);
            }
        }
    }

    /// How many of the oldest stamps must expire before this weight fits; more than there are if it never does.
    fn over(&self, terms: Terms, weight: u32) -> usize {
        if weight == 0 {
            0
        } else if weight > MAX_WEIGHT || weight > terms.quota {
            usize::MAX
        } else {
            let wanted = self.admitted.len() + self.refused.len() + weight as usize;
            wanted.saturating_sub(terms.quota as usize)
        }
    }

    /// When the `n`-th oldest stamp (from 1) of both queues expires, in milliseconds from `last`.
    ///
    /// The queues are sorted, so a binary search finds how many of the `n` oldest are admitted ones.
    fn expiry(&self, n: usize) -> Option<u64> {
        if n > self.admitted.len() + self.refused.len() {
            return None;
        }
        let admitted = |i: usize| self.left(&self.admitted, i);
        let refused = |i: usize| self.left(&self.refused, i);
        let mut low = n.saturating_sub(self.refused.len());
        let mut high = n.min(self.admitted.len());
        while low < high {
            let taken = low + (high - low) / 2;
            // One more admitted stamp belongs among the oldest if it goes before the last refused one taken.
            if admitted(taken) < refused(n - taken - 1) {
                low = taken + 1;
            } else {
                high = taken;
            }
        }
        let last_of =
            |taken: usize, left: &dyn Fn(usize) -> Option<u64>| taken.checked_sub(1).and_then(left);
        last_of(low, &admitted).max(last_of(n - low, &refused))
    }

    /// How long the `i`-th stamp of a queue still counts.
    fn left(&self, stamps: &VecDeque<u32>, i: usize) -> Option<u64> {
        let age = u64::from(low(self.last).wrapping_sub(*stamps.get(i)?));
        Some(WINDOW_MS.saturating_sub(age))
    }
}

/// The stamp of a time.
fn low(now: u64) -> u32 {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a stamp is the low half of the time"
    )]
    let low = now as u32;
    low
}

/// The length of a queue, as a figure of the terms.
fn count(stamps: &VecDeque<u32>) -> u32 {
    u32::try_from(stamps.len()).unwrap_or(u32::MAX)
}

/// Drops the stamps that are as old as the window.
fn expire(stamps: &mut VecDeque<u32>, last: u32) {
    while let Some(&stamp) = stamps.front() {
        if u64::from(last.wrapping_sub(stamp)) < WINDOW_MS {
            break;
        }
        stamps.pop_front();
    }
}

/// Appends a stamp `weight` times. The queue doubles as it grows, but not beyond `most`, which it never outgrows.
fn push(stamps: &mut VecDeque<u32>, stamp: u32, weight: u32, most: u32) {
    let wanted = stamps.len() + weight as usize;
    if wanted > stamps.capacity() {
        let target = (stamps.capacity() * 2)
            .max(4)
            .min(most as usize)
            .max(wanted);
        stamps.reserve_exact(target - stamps.len());
    }
    stamps.extend(std::iter::repeat_n(stamp, weight as usize));
}

#[cfg(test)]
mod tests {
    use super::{Terms, WINDOW_MS, Window};

    const TERMS: Terms = Terms {
        quota: 100,
        remembered: 90,
    };

    #[test]
    fn a_clock_that_steps_back_neither_frees_nor_misplaces_stamps() {
        let mut window = Window::default();
        assert!(window.charge(TERMS, 60, 100_000));
        assert!(window.charge(TERMS, 40, 70_000));
        assert!(!window.charge(TERMS, 1, 100_000 + WINDOW_MS - 1));
        assert_eq!(window.wait(TERMS, 1), 1);
        assert!(window.charge(TERMS, 1, 100_000 + WINDOW_MS));
    }

    #[test]
    fn the_lists_do_not_outgrow_the_quota_and_shrink_after_a_burst() {
        let mut window = Window::default();
        for now in 0..10_000 {
            window.charge(TERMS, 1, now);
            assert!(window.admitted.capacity() <= 100 && window.refused.capacity() <= 90);
        }
        window.advance(2 * WINDOW_MS);
        window.shrink();
        assert!(window.is_empty() && window.admitted.capacity() + window.refused.capacity() == 0);
    }

    #[test]
    fn stamps_outlast_the_overflow_of_their_32_bits_but_not_a_silence_of_that_length() {
        let overflow = 1 << 32;
        let mut window = Window::default();
        assert!(window.charge(TERMS, 100, overflow - 1));
        assert!(!window.charge(TERMS, 1, overflow + WINDOW_MS - 2));
        assert_eq!(window.wait(TERMS, 1), 1);
        // The same low half, 49 days later.
        assert!(window.charge(TERMS, 100, 2 * overflow - 1));
    }
}
