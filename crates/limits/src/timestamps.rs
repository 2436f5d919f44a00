//! Ring of timestamps in order: the low 32 bits of ticks.
//!
//! `VecDeque` would work; here the two counters are read and written only once for all stamps that expire at the same time,
//! which is most of the work of a busy window.

/// Timestamps of a list, oldest first.
#[derive(Clone, Debug, Default)]
pub(crate) struct TimestampRing {
    slots: Box<[u32]>,
    /// Position of the oldest stamp.
    head: u32,
    len: u32,
}

impl TimestampRing {
    pub(crate) fn len(&self) -> usize {
        self.len as usize
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(crate) fn capacity(&self) -> usize {
        self.slots.len()
    }

    /// Returns the `i`-th stamp, from 0.
    pub(crate) fn get(&self, i: usize) -> Option<u32> {
        if i >= self.len() {
            return None;
        }
        self.slots.get(self.position(i)).copied()
    }

    /// Drops the stamps that are at least as old as the window, `length`.
    #[inline]
    pub(crate) fn expire(&mut self, length: u32, last: u32) {
        let (mut head, mut len) = (self.head, self.len);
        while len > 0
            && let Some(&stamp) = self.slots.get(head as usize)
            && is_old(stamp, length, last)
        {
            head += 1;
            if head as usize == self.slots.len() {
                head = 0;
            }
            len -= 1;
        }
        (self.head, self.len) = (head, len);
    }

    /// Drops the `n` oldest stamps.
    pub(crate) fn forget(&mut self, n: usize) {
        let n = n.min(self.len());
        self.head = narrow(self.position(n));
        self.len -= narrow(n);
    }

    /// Appends a stamp `weight` times. The ring doubles as it grows, but never exceeds `most`.
    #[inline]
    pub(crate) fn push(&mut self, stamp: u32, weight: u32, most: u32) {
        if self.len() + weight as usize > self.slots.len() {
            self.grow(weight, most);
        }
        for _ in 0..weight {
            let at = self.position(self.len());
            if let Some(position) = self.slots.get_mut(at) {
                *position = stamp;
                self.len += 1;
            }
        }
    }

    /// Frees memory after a burst has passed.
    pub(crate) fn shrink(&mut self) {
        if self.capacity() / 4 > self.len() {
            self.resize(self.len() * 2);
        }
    }

    #[cold]
    fn grow(&mut self, weight: u32, most: u32) {
        let doubled = (self.capacity() * 2).max(4).min(most as usize);
        self.resize(doubled.max(self.len() + weight as usize));
    }

    /// Moves to a ring of another size that has room for all stamps.
    fn resize(&mut self, capacity: usize) {
        let kept = (0..self.len()).map_while(|i| self.get(i));
        let rest = capacity.saturating_sub(self.len());
        self.slots = kept.chain(std::iter::repeat_n(0, rest)).collect();
        self.head = 0;
    }

    /// Returns the position of the `i`-th stamp, which may be beyond the end of the ring.
    fn position(&self, i: usize) -> usize {
        let at = self.head as usize + i;
        if at >= self.slots.len() {
            at - self.slots.len()
        } else {
            at
        }
    }
}

/// Returns true if a stamp is at least as old as the window.
#[inline]
pub(crate) fn is_old(stamp: u32, length: u32, last: u32) -> bool {
    last.wrapping_sub(stamp) >= length
}

/// Converts a length to 32 bits. The quota and memory bound a list far below the 32-bit range.
fn narrow(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::TimestampRing;
    use std::collections::VecDeque;

    #[test]
    fn the_ring_is_a_queue() {
        let (mut ring, mut queue) = (TimestampRing::default(), VecDeque::new());
        let mut seed = 1_u32;
        let (mut now, mut highest) = (0_u32, 4);
        for _ in 0..20_000 {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let n = seed >> 28;
            match (seed >> 24) % 8 {
                0..4 => {
                    let most = 200.max(u32::try_from(ring.len()).unwrap() + n);
                    highest = highest.max(most as usize);
                    ring.push(now, n, most);
                    queue.extend(std::iter::repeat_n(now, n as usize));
                    assert!(ring.capacity() <= highest);
                }
                4 => {
                    ring.forget(n as usize);
                    queue.drain(..queue.len().min(n as usize));
                }
                5 => ring.shrink(),
                _ => {
                    now = now.wrapping_add(n * 1_000);
                    ring.expire(60_000, now);
                    queue.retain(|stamp| now.wrapping_sub(*stamp) < 60_000);
                }
            }
            assert_eq!(
                (ring.len(), ring.is_empty()),
                (queue.len(), queue.is_empty())
            );
            assert!((0..=queue.len()).all(|i| ring.get(i) == queue.get(i).copied()));
        }
    }
}
