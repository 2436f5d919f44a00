//! Gids: globally unique, time-ordered identifiers below 2^53.
use std::fmt;
use std::num::NonZeroU64;
use std::sync::atomic::{AtomicU64, Ordering};
use thiserror::Error;

/// Identifier of a node: a positive integer below 2^53, sent as a decimal string. Clients whose only number is a double can
/// read it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Gid(NonZeroU64);

/// One more than the largest gid.
pub const GID_END: u64 = 1 << 53;

impl Gid {
    /// Returns the gid with this number, if the number is in range.
    #[must_use]
    pub const fn new(number: u64) -> Option<Self> {
        if number >= GID_END {
            return None;
        }
        match NonZeroU64::new(number) {
            Some(n) => Some(Self(n)),
            None => None,
        }
    }

    /// Reads a gid as clients send it: ASCII digits, no sign, no leading zero, in range.
    #[must_use]
    #[inline]
    pub fn parse(text: &str) -> Option<Self> {
        let bytes = text.as_bytes();
        if bytes.is_empty() || bytes.len() > 16 || bytes.first() == Some(&b'0') {
            return None;
        }
        let mut n = 0u64;
        for b in bytes {
            if !b.is_ascii_digit() {
                return None;
            }
            n = n * 10 + u64::from(b - b'0');
        }
        Self::new(n)
    }

    /// Returns the least gid of a millisecond of the Unix epoch.
    #[must_use]
    pub fn first_of(ms: u64) -> Self {
        let number = (ms.saturating_sub(EPOCH_MS) & ((1 << 40) - 1)) << 13;
        Self(NonZeroU64::new(number).unwrap_or(NonZeroU64::MIN))
    }

    /// Returns the millisecond of the Unix epoch in which the gid was made.
    #[must_use]
    pub const fn created_ms(self) -> u64 {
        (self.get() >> 13) + EPOCH_MS
    }

    /// Returns the gid of a node that is computed and never stored. Generators never return these gids.
    #[must_use]
    pub(crate) const fn computed(series: u64, number: u8) -> Option<Self> {
        if series >= COMPUTED_END {
            return None;
        }
        Self::new(series << 13 | RESERVED_NODE << 8 | number as u64)
    }

    /// Returns the series and number of the gid of a computed node, if it is one.
    #[must_use]
    pub(crate) const fn computed_parts(self) -> Option<(u64, u8)> {
        let (series, rest) = (self.get() >> 13, self.get() & 0x1fff);
        if series >= COMPUTED_END || rest >> 8 != RESERVED_NODE {
            return None;
        }
        Some((series, (rest & 0xff) as u8))
    }

    /// Returns the gid as a number.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0.get()
    }

    /// Appends the digits of the gid to a text.
    pub fn push_to(self, text: &mut String) {
        text.push_str(itoa::Buffer::new().format(self.get()));
    }

    /// Returns the number as stored in SQLite and keysets.
    #[must_use]
    pub const fn as_i64(self) -> i64 {
        self.0.get().cast_signed()
    }

    /// Returns the gid with a stored number, if the number is in range.
    #[must_use]
    pub const fn from_i64(n: i64) -> Option<Self> {
        if n <= 0 {
            None
        } else {
            Self::new(n.cast_unsigned())
        }
    }
}

impl serde::Serialize for Gid {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u64(self.get())
    }
}

impl<'de> serde::Deserialize<'de> for Gid {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let number = u64::deserialize(from)?;
        Self::new(number).ok_or_else(|| serde::de::Error::custom("not a gid"))
    }
}

impl fmt::Display for Gid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for Gid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// First instant of gid time, 2025-01-01T00:00:00Z, in milliseconds of the Unix epoch.
const EPOCH_MS: u64 = 1_735_689_600_000;

/// Highest node number, reserved for rows of the audit log; no generator uses it.
pub(crate) const RESERVED_NODE: u64 = 31;

/// Number of series of computed nodes. Rows of the audit log never have such small gids, which would be from the first seconds of
/// gid time.
const COMPUTED_END: u64 = 10_000;

/// Generator of gids: 40 bits of milliseconds since 2025, 5 bits of node, 8 bits of counter.
///
/// Gids of one generator are strictly increasing; more than 256 in a millisecond borrow from the next one. Generators with
/// different node numbers (0 to 30) never return the same gid.
///
/// A node number may be leased until a millisecond of the Unix epoch; its next holder continues from there. So gids are stored
/// only after [`confirm`](Self::confirm), whatever the machines' clocks show.
#[derive(Debug)]
pub struct GidGenerator {
    last: AtomicU64,
    /// End of the lease on the node number, as the first slot that may not be used.
    end: AtomicU64,
    node: u64,
}

/// The lease on this node's number for new gids has ended: writes with new gids cannot be stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error(
    "the lease on the number with which this node makes new gids has ended and was not renewed: nothing new is stored"
)]
pub struct GidLeaseEnded;

impl GidGenerator {
    /// Returns a generator for this node (taken modulo 31) that continues above `floor`.
    #[must_use]
    pub fn new(node: u8, floor: Option<Gid>) -> Self {
        let last = floor.map_or(0, |g| slot(g.get()));
        Self {
            last: AtomicU64::new(last),
            end: AtomicU64::new(u64::MAX),
            node: u64::from(node) % RESERVED_NODE,
        }
    }

    /// Returns a generator for a leased node number (taken modulo 31). It returns gids from `start_ms`, where the previous
    /// holder's lease ended, until `end_ms`; both are milliseconds of the Unix epoch.
    #[must_use]
    pub fn leased(node: u8, start_ms: u64, end_ms: u64) -> Self {
        Self {
            last: AtomicU64::new(first_slot(start_ms).saturating_sub(1)),
            end: AtomicU64::new(first_slot(end_ms)),
            node: u64::from(node) % RESERVED_NODE,
        }
    }

    /// Records that the lease on the node number was renewed, until a millisecond of the Unix epoch.
    pub fn renew(&self, end_ms: u64) {
        self.end.fetch_max(first_slot(end_ms), Ordering::Relaxed);
    }

    /// Confirms that every gid returned so far belongs to this node.
    ///
    /// # Errors
    /// Fails if a gid is from a time after the end of the lease.
    pub fn confirm(&self) -> Result<(), GidLeaseEnded> {
        let last = self.last.load(Ordering::Relaxed);
        if last < self.end.load(Ordering::Relaxed) {
            Ok(())
        } else {
            Err(GidLeaseEnded)
        }
    }

    /// Returns the next gid, at `now_ms` milliseconds of the Unix epoch.
    pub fn next(&self, now_ms: u64) -> Gid {
        let now = first_slot(now_ms);
        let mut seen = self.last.load(Ordering::Relaxed);
        loop {
            let next = now.max(seen + 1);
            match self
                .last
                .compare_exchange_weak(seen, next, Ordering::Relaxed, Ordering::Relaxed)
            {
                Ok(_) => {
                    let number = ((next >> 8) << 13) | (self.node << 8) | (next & 0xff);
                    return Gid(NonZeroU64::new(number & (GID_END - 1)).unwrap_or(NonZeroU64::MIN));
                }
                Err(current) => seen = current,
            }
        }
    }
}

/// Returns the first slot of a millisecond of the Unix epoch.
const fn first_slot(ms: u64) -> u64 {
    (ms.saturating_sub(EPOCH_MS) & ((1 << 40) - 1)) << 8
}

/// Returns the (millisecond, counter) of a gid without its node bits.
fn slot(gid: u64) -> u64 {
    ((gid >> 13) << 8) | (gid & 0xff)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gids_are_read_strictly() {
        for good in ["1", "1201", "9007199254740991"] {
            assert_eq!(Gid::parse(good).unwrap().to_string(), good);
        }
        for bad in [
            "",
            "0",
            "01",
            "+1",
            "-1",
            "1 ",
            "1e3",
            "9007199254740992",
            "99999999999999999999",
            "١",
        ] {
            assert_eq!(Gid::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_mint_gives_increasing_gids_even_when_time_stands_still_or_goes_back() {
        let mint = GidGenerator::new(3, None);
        let mut last = mint.next(EPOCH_MS + 1000);
        for i in 0..2000u64 {
            let next = mint.next(EPOCH_MS + 1000 - (i % 3));
            assert!(next > last);
            last = next;
        }
        assert!(GidGenerator::new(3, Some(last)).next(EPOCH_MS) > last);
    }

    /// S923.
    #[test]
    fn holders_of_a_leased_number_never_give_the_same_gid_whatever_their_clocks_show() {
        let (start, end) = (EPOCH_MS + 1_000, EPOCH_MS + 2_000);
        let before = GidGenerator::leased(3, start, end);
        let mut given = std::collections::BTreeSet::new();
        // Its clock is behind at first: gids begin where the previous holder could have ended.
        for now in (EPOCH_MS..end).step_by(7) {
            let gid = before.next(now);
            assert!(gid.created_ms() >= start);
            assert_eq!(before.confirm(), Ok(()));
            assert!(given.insert(gid));
        }
        // The next holder's clock is behind, too.
        let after = GidGenerator::leased(3, end, end + 1_000);
        for now in EPOCH_MS..EPOCH_MS + 100 {
            assert!(given.insert(after.next(now)));
            assert_eq!(after.confirm(), Ok(()));
        }
        // The previous holder wakes up late: its gids are not confirmed now, and stay so.
        let late = before.next(end);
        assert!(given.contains(&late), "it is another one's");
        assert_eq!(before.confirm(), Err(GidLeaseEnded));
        assert_eq!(before.confirm(), Err(GidLeaseEnded));
        // Unless this node held the lease all the time.
        before.renew(end + 1);
        assert_eq!(before.confirm(), Ok(()));
        before.renew(start);
        assert_eq!(before.confirm(), Ok(()), "a lease never becomes shorter");
        // Gids that are borrowed from later milliseconds count, too.
        for _ in 0..600 {
            before.next(end);
        }
        assert_eq!(before.confirm(), Err(GidLeaseEnded));
        let own = GidGenerator::new(3, None);
        own.next(u64::MAX);
        assert_eq!(
            own.confirm(),
            Ok(()),
            "a number that is not leased has no end"
        );
    }

    #[test]
    fn mints_of_two_nodes_never_meet() {
        let (a, b) = (GidGenerator::new(1, None), GidGenerator::new(2, None));
        let left: std::collections::BTreeSet<_> = (0..1000).map(|_| a.next(EPOCH_MS + 5)).collect();
        assert!((0..1000).all(|_| !left.contains(&b.next(EPOCH_MS + 5))));
    }
}
