//! Window log with debt: a quota per length of time that also counts refused attempts.

use crate::rate::WindowLength;
use crate::timestamps::{TimestampRing, is_old};

/// Maximum weight of an admitted request; a heavier request is always refused.
pub const MAX_WEIGHT: u32 = 1_024;

/// Number of the window's admitted requests that fit into a log without an allocation.
const FEW: usize = 6;

/// Number of admitted requests that a log with an allocation can still list.
pub(crate) const RECENT: usize = 16;

/// Terms of a window: the quota, the counted refused weight, and the length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowTerms {
    /// Weight that fits into any span of the length.
    pub quota: u32,
    /// Maximum refused weight that is remembered, newest first. A client that never pauses gets the rest of the quota.
    pub remembered: u32,
    /// Time for which a request counts. It must be the same in every call for a window.
    pub length: WindowLength,
}

impl WindowTerms {
    /// Returns the terms of a window in which a client that never pauses still gets `floor_percent` of the quota.
    #[inline]
    #[must_use]
    pub fn with_floor(quota: u32, floor_percent: u32, length: WindowLength) -> Self {
        let kept = u64::from(quota) * u64::from(floor_percent) / 100;
        Self {
            quota,
            remembered: quota.saturating_sub(u32::try_from(kept).unwrap_or(u32::MAX)),
            length,
        }
    }
}

/// Window log of one key with its own clock, for callers that keep one per key.
#[derive(Clone, Debug, Default)]
pub struct Window {
    log: WindowLog,
    last: u64,
}

impl Window {
    /// Moves the window to `now` (milliseconds), dropping expired stamps. If `now` is earlier than the last time, the last
    /// time is used.
    #[inline]
    pub fn advance(&mut self, length: WindowLength, now: u64) {
        let before = length.tick(self.last);
        self.last = self.last.max(now);
        let last = length.tick(self.last);
        self.log.expire(length.ticks(), last - before, last);
    }

    /// Counts an attempt and returns true if it is admitted. A weight of 0 is free.
    ///
    /// An attempt that does not fit is remembered as refused. If the terms have become stricter, refused stamps that
    /// the old terms remembered are kept until they expire.
    #[inline]
    pub fn charge(&mut self, terms: WindowTerms, weight: u32, now: u64) -> bool {
        self.advance(terms.length, now);
        let attempt = WindowAttempt { weight, label: 0 };
        let last = terms.length.tick(self.last);
        self.log.charge(terms, attempt, last)
    }

    /// Returns the milliseconds that a request of this weight would have to wait at the moment; 0 if it would be
    /// admitted. A weight that can never be admitted waits for the whole window.
    #[must_use]
    pub fn wait(&self, terms: WindowTerms, weight: u32) -> u64 {
        self.log.wait(terms, weight, self.last)
    }

    /// Returns true if nothing is remembered as of the last [`Window::advance`]; such a window equals a new one.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.log.is_empty()
    }
}

/// Request as a log counts it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WindowAttempt {
    pub(crate) weight: u32,
    pub(crate) label: u16,
}

/// Admitted request. A weight of 0 marks a free slot.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AdmittedEntry {
    stamp: u32,
    pub(crate) label: u16,
    weight: u16,
}

impl AdmittedEntry {
    fn new(attempt: WindowAttempt, stamp: u32) -> Self {
        Self {
            stamp,
            label: attempt.label,
            weight: u16::try_from(attempt.weight).unwrap_or(u16::MAX),
        }
    }

    pub(crate) fn weight(self) -> u32 {
        self.weight.into()
    }

    /// Returns true if this is an entry, and at least as old as the window.
    fn is_old(self, length: u32, last: u32) -> bool {
        !self.is_free() && is_old(self.stamp, length, last)
    }

    fn is_free(self) -> bool {
        self.weight == 0
    }
}

/// Attempts in the window, with admitted and refused ones separate. The owner supplies the time, in ticks.
///
/// Stamps are the low 32 bits of a tick. Their age is the wrapping difference from the owner's last
/// time, which is unambiguous because [`WindowLog::expire`] drops stamps that are older than the window, all of them
/// after a long silence.
#[derive(Clone, Debug, Default)]
pub(crate) struct WindowLog {
    /// Admitted requests, oldest first, while there are few of them; else empty.
    few: [AdmittedEntry; FEW],
    /// State that most keys never need.
    more: Option<Box<LogOverflow>>,
}

#[derive(Clone, Debug, Default)]
struct LogOverflow {
    /// True if `admitted` is used instead of the few slots.
    spilled: bool,
    /// One stamp per unit of admitted weight.
    admitted: TimestampRing,
    /// One stamp per unit of refused weight.
    refused: TimestampRing,
    held_since: u64,
    held: u32,
    remembered: u32,
    /// Last admitted requests, in a ring, while `spilled`.
    recent: [AdmittedEntry; RECENT],
    next: usize,
}

impl WindowLog {
    /// Drops the stamps that have expired at `last`, which is `silence` after the time of the previous call.
    #[inline]
    pub(crate) fn expire(&mut self, length: u32, silence: u64, last: u64) {
        if silence >= u64::from(length) {
            self.forget();
            return;
        }
        let last = low(last);
        let [first, ..] = &self.few;
        if first.is_old(length, last) {
            self.expire_few(length, last);
        }
        if let Some(more) = &mut self.more {
            more.admitted.expire(length, last);
            if !more.refused.is_empty() {
                more.refused.expire(length, last);
            }
            more.spilled &= !more.admitted.is_empty();
        }
    }

    #[inline(never)]
    fn forget(&mut self) {
        if !self.is_untouched() {
            *self = Self::default();
        }
    }

    #[inline(never)]
    fn expire_few(&mut self, length: u32, last: u32) {
        // Usually one at a time.
        let is_old = |first: &AdmittedEntry| first.is_old(length, last);
        while self.few.first().is_some_and(is_old) {
            self.few.copy_within(1.., 0);
            if let Some(last) = self.few.last_mut() {
                *last = AdmittedEntry::default();
            }
        }
    }

    /// Admits an attempt at `last`, up to which the log is expired, if only few admitted requests are remembered
    /// and there is room for one more. Otherwise nothing is counted, and [`charge`](Self::charge) decides.
    #[inline(never)]
    pub(crate) fn admit_in_place(&mut self, quota: u32, attempt: WindowAttempt, last: u64) -> bool {
        if self.more.is_some() || attempt.weight > MAX_WEIGHT {
            return false;
        }
        let mut used = attempt.weight;
        for entry in &mut self.few {
            if entry.is_free() {
                if used <= quota {
                    *entry = AdmittedEntry::new(attempt, low(last));
                }
                return used <= quota;
            }
            used += entry.weight();
        }
        false
    }

    /// Counts an attempt at `last`, up to which the log is expired, and returns true if it is admitted.
    #[inline]
    pub(crate) fn charge(&mut self, terms: WindowTerms, attempt: WindowAttempt, last: u64) -> bool {
        if attempt.weight == 0 {
            return true;
        }
        if let Some(more) = &mut self.more {
            more.come_to(terms, last);
            // Fast path for a busy key that has room.
            let used = more.admitted.len() + more.refused.len() + attempt.weight as usize;
            if more.spilled && used <= terms.quota as usize && attempt.weight <= MAX_WEIGHT {
                more.admit(AdmittedEntry::new(attempt, low(last)), terms.quota);
                return true;
            }
        }
        let fits = self.over(terms, attempt.weight) == 0;
        if fits {
            self.admit(attempt, low(last), terms.quota);
        } else {
            self.refuse(attempt.weight, terms, last);
        }
        fits
    }

    /// Counts an attempt at `last` that was decided elsewhere.
    pub(crate) fn record(
        &mut self,
        terms: WindowTerms,
        attempt: WindowAttempt,
        admitted: bool,
        last: u64,
    ) {
        if attempt.weight == 0 {
            return;
        }
        if let Some(more) = &mut self.more {
            more.come_to(terms, last);
        }
        match &mut self.more {
            _ if !admitted => self.refuse(attempt.weight, terms, last),
            Some(more) if more.spilled => {
                more.admit(AdmittedEntry::new(attempt, low(last)), terms.quota);
            }
            _ => self.admit(attempt, low(last), terms.quota),
        }
    }

    /// Returns the wait as [`Window::wait`] does; `now` is in milliseconds.
    pub(crate) fn wait(&self, terms: WindowTerms, weight: u32, now: u64) -> u64 {
        let over = self.over(terms, weight);
        if over == 0 {
            return 0;
        }
        let length = terms.length;
        let ticks = self.expiry(over, length.ticks(), low(length.tick(now)));
        length.until(ticks.unwrap_or(length.ticks().into()), now)
    }

    /// Returns true if nothing is remembered.
    pub(crate) fn is_empty(&self) -> bool {
        self.admitted() + self.refused() == 0
    }

    /// Frees memory after a burst has passed; the log is expired up to `last`.
    pub(crate) fn shrink(&mut self, length: u32, last: u64) {
        let Some(more) = &mut self.more else { return };
        if !more.spilled && more.refused.is_empty() && more.held(length, last) == 0 {
            self.more = None;
            return;
        }
        for stamps in [&mut more.admitted, &mut more.refused] {
            stamps.shrink();
        }
    }

    /// Returns the admitted weight in the window.
    pub(crate) fn admitted(&self) -> usize {
        match &self.more {
            Some(more) if more.spilled => more.admitted.len(),
            _ => {
                let few = self.few.iter().take_while(|entry| !entry.is_free());
                few.map(|entry| entry.weight() as usize).sum()
            }
        }
    }

    /// Returns the refused weight in the window, as far as it is remembered.
    pub(crate) fn refused(&self) -> usize {
        self.more.as_ref().map_or(0, |more| more.refused.len())
    }

    /// Returns the milliseconds from `now` until the `n`-th oldest stamp (from 1) expires.
    pub(crate) fn frees(&self, n: usize, length: WindowLength, now: u64) -> Option<u64> {
        let ticks = self.expiry(n, length.ticks(), low(length.tick(now)))?;
        Some(length.until(ticks, now))
    }

    /// Returns the recently admitted requests in no particular order, each with its age in ticks.
    pub(crate) fn recent(
        &self,
        length: u32,
        last: u64,
    ) -> impl Iterator<Item = (u32, AdmittedEntry)> {
        let last = low(last);
        let ring = self.more.iter().filter(|more| more.spilled);
        self.few
            .iter()
            .chain(ring.flat_map(|more| &more.recent))
            .filter(|entry| !entry.is_free())
            .map(move |entry| (last.wrapping_sub(entry.stamp), *entry))
            .filter(move |(age, _)| *age < length)
    }

    pub(crate) fn is_untouched(&self) -> bool {
        let [first, ..] = &self.few;
        first.is_free() && self.more.is_none()
    }

    /// Records an admitted attempt, as long as there are few.
    fn admit(&mut self, attempt: WindowAttempt, stamp: u32, quota: u32) {
        let entry = AdmittedEntry::new(attempt, stamp);
        if let Some(free) = self.few.iter_mut().find(|entry| entry.is_free()) {
            *free = entry;
        } else {
            let more = self.more.get_or_insert_default();
            more.recent = [AdmittedEntry::default(); RECENT];
            more.spilled = true;
            for entry in std::mem::take(&mut self.few) {
                more.admit(entry, quota);
            }
            more.admit(entry, quota);
        }
    }

    #[cold]
    fn refuse(&mut self, weight: u32, terms: WindowTerms, last: u64) {
        let more = self.more.get_or_insert_default();
        more.remembered = terms.remembered;
        let room = terms.remembered.max(more.held(terms.length.ticks(), last));
        let weight = weight.min(MAX_WEIGHT).min(room);
        let surplus = (more.refused.len() + weight as usize).saturating_sub(room as usize);
        more.refused.forget(surplus);
        more.refused.push(low(last), weight, room);
    }

    /// Returns how many of the oldest stamps must expire before this weight fits; more than there are if it
    /// never does.
    fn over(&self, terms: WindowTerms, weight: u32) -> usize {
        if weight == 0 {
            0
        } else if weight > MAX_WEIGHT || weight > terms.quota {
            usize::MAX
        } else {
            let wanted = self.admitted() + self.refused() + weight as usize;
            wanted.saturating_sub(terms.quota as usize)
        }
    }

    /// Returns the ticks from `last` until the `n`-th oldest stamp (from 1) of both queues expires.
    ///
    /// The queues are sorted, so a binary search finds how many of the `n` oldest stamps are admitted ones.
    fn expiry(&self, n: usize, length: u32, last: u32) -> Option<u64> {
        let (all_admitted, all_refused) = (self.admitted(), self.refused());
        if n > all_admitted + all_refused {
            return None;
        }
        let admitted = |i: usize| self.admitted_at(i).map(|stamp| left(stamp, length, last));
        let refused = |i: usize| {
            let stamps = &self.more.as_ref()?.refused;
            stamps.get(i).map(|stamp| left(stamp, length, last))
        };
        let mut low = n.saturating_sub(all_refused);
        let mut high = n.min(all_admitted);
        while low < high {
            let taken = low + (high - low) / 2;
            // One more admitted stamp is among the oldest if it is before the last refused one taken.
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

    /// Returns the stamp of the `i`-th unit of admitted weight.
    fn admitted_at(&self, i: usize) -> Option<u32> {
        if let Some(more) = &self.more
            && more.spilled
        {
            return more.admitted.get(i);
        }
        let mut passed = 0;
        let entry = self.few.iter().find(|entry| {
            passed += entry.weight() as usize;
            passed > i
        });
        entry.map(|entry| entry.stamp)
    }
}

impl LogOverflow {
    /// Applies the terms; stamps that stricter terms would drop are kept until they expire.
    fn come_to(&mut self, terms: WindowTerms, last: u64) {
        if terms.remembered < self.remembered {
            self.held = u32::try_from(self.refused.len()).unwrap_or(u32::MAX);
            self.held_since = last;
        }
        self.remembered = terms.remembered;
    }

    fn held(&self, length: u32, last: u64) -> u32 {
        if last.saturating_sub(self.held_since) < u64::from(length) {
            self.held
        } else {
            0
        }
    }

    #[inline]
    fn admit(&mut self, entry: AdmittedEntry, quota: u32) {
        self.admitted.push(entry.stamp, entry.weight(), quota);
        if let Some(slot) = self.recent.get_mut(self.next % RECENT) {
            *slot = entry;
        }
        self.next = (self.next + 1) % RECENT;
    }
}

/// Returns the low half of a tick, which is its stamp.
fn low(now: u64) -> u32 {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a stamp is the low half of the tick"
    )]
    let low = now as u32;
    low
}

/// Returns the ticks for which a stamp still counts.
fn left(stamp: u32, length: u32, last: u32) -> u64 {
    length.saturating_sub(last.wrapping_sub(stamp)).into()
}

#[cfg(test)]
mod tests;
