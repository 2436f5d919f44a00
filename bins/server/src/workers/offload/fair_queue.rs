//! A queue in which every key has its turn.
use std::collections::{HashMap, VecDeque};
use std::hash::Hash;

/// Items of several keys. Those of one key come out in the order they went in, and the keys take turns, so
/// that an item waits for no more than one of each other key before it, and for those of its own.
#[derive(Debug)]
pub(super) struct FairQueue<K, T> {
    queues: HashMap<K, VecDeque<T>>,
    /// Each key that has items, once.
    turns: VecDeque<K>,
    len: usize,
}

impl<K, T> Default for FairQueue<K, T> {
    fn default() -> Self {
        Self {
            queues: HashMap::new(),
            turns: VecDeque::new(),
            len: 0,
        }
    }
}

impl<K: Copy + Eq + Hash, T> FairQueue<K, T> {
    /// Returns the number of items.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Returns the number of items of a key.
    pub(super) fn len_of(&self, key: K) -> usize {
        self.queues.get(&key).map_or(0, VecDeque::len)
    }

    /// Adds an item behind those of its key.
    pub(super) fn push(&mut self, key: K, item: T) {
        let queue = self.queues.entry(key).or_default();
        if queue.is_empty() {
            self.turns.push_back(key);
        }
        queue.push_back(item);
        self.len += 1;
    }

    /// Takes the first item of the key whose turn it is.
    pub(super) fn pop(&mut self) -> Option<T> {
        let key = self.turns.pop_front()?;
        let queue = self.queues.get_mut(&key)?;
        let item = queue.pop_front()?;
        self.len -= 1;
        if queue.is_empty() {
            self.queues.remove(&key);
        } else {
            self.turns.push_back(key);
        }
        Some(item)
    }

    /// Removes the first item of a key for which the predicate is true.
    pub(super) fn remove(&mut self, key: K, is_meant: impl FnMut(&T) -> bool) -> Option<T> {
        let queue = self.queues.get_mut(&key)?;
        let item = queue.remove(queue.iter().position(is_meant)?)?;
        self.len -= 1;
        if queue.is_empty() {
            self.queues.remove(&key);
            self.turns.retain(|turn| *turn != key);
        }
        Some(item)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Interface that the queues have in common.
    trait Queue {
        fn put(&mut self, key: u64, item: u32);
        fn take(&mut self) -> Option<(u64, u32)>;
    }

    impl Queue for FairQueue<u64, (u64, u32)> {
        fn put(&mut self, key: u64, item: u32) {
            self.push(key, (key, item));
        }
        fn take(&mut self) -> Option<(u64, u32)> {
            self.pop()
        }
    }

    /// A queue with a flaw: first in, first out, without regard to the key.
    #[derive(Default)]
    struct Unfair(VecDeque<(u64, u32)>);

    impl Queue for Unfair {
        fn put(&mut self, key: u64, item: u32) {
            self.0.push_back((key, item));
        }
        fn take(&mut self) -> Option<(u64, u32)> {
            self.0.pop_front()
        }
    }

    /// A queue with a flaw: last in, first out, so that some items wait for ever.
    #[derive(Default)]
    struct Stack(Vec<(u64, u32)>);

    impl Queue for Stack {
        fn put(&mut self, key: u64, item: u32) {
            self.0.push((key, item));
        }
        fn take(&mut self) -> Option<(u64, u32)> {
            self.0.pop()
        }
    }

    const KEYS: u64 = 4;

    /// Puts and takes at random. Checks that between two turns of a key that has items, every other key has one turn at
    /// most, that the items of a key keep their order, and that none is lost.
    fn is_fair(queue: &mut dyn Queue, seed: u64) -> Result<(), String> {
        let mut random = seed.wrapping_mul(2).wrapping_add(1);
        let mut roll = |sides: u64| {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            (random >> 11) % sides
        };
        let mut waiting: HashMap<u64, VecDeque<u32>> = HashMap::new();
        // The turns that each key has had while another one waited.
        let mut passed: HashMap<(u64, u64), u32> = HashMap::new();
        let mut taken = |queue: &mut dyn Queue, waiting: &mut HashMap<u64, VecDeque<u32>>| {
            let all: usize = waiting.values().map(VecDeque::len).sum();
            let Some((key, item)) = queue.take() else {
                return if all == 0 {
                    Ok(false)
                } else {
                    Err("an item was lost".to_owned())
                };
            };
            let first = waiting.get_mut(&key).and_then(VecDeque::pop_front);
            if first != Some(item) {
                return Err(format!("{key}: {item} came before {first:?}"));
            }
            for other in 0..KEYS {
                passed.remove(&(key, other));
                let waits = waiting.get(&other).is_some_and(|items| !items.is_empty());
                if other != key && waits {
                    let turns = passed.entry((other, key)).or_default();
                    *turns += 1;
                    if *turns > 1 {
                        return Err(format!("{other} waited while {key} had {turns} turns"));
                    }
                }
            }
            Ok(true)
        };
        for item in 0..200 {
            // One key has far more than the others.
            let key = roll(KEYS * 3).min(KEYS - 1);
            queue.put(key, item);
            waiting.entry(key).or_default().push_back(item);
            if roll(3) == 0 {
                taken(queue, &mut waiting)?;
            }
        }
        while taken(queue, &mut waiting)? {}
        Ok(())
    }

    /// S102.
    #[test]
    fn no_key_waits_for_two_turns_of_another() {
        for seed in 0..200 {
            let mut queue = FairQueue::<u64, _>::default();
            assert_eq!(is_fair(&mut queue, seed), Ok(()), "seed {seed}");
            assert_eq!(queue.len(), 0);
            assert!(queue.queues.is_empty() && queue.turns.is_empty());
        }
    }

    #[test]
    fn what_is_taken_out_neither_counts_nor_has_a_turn() {
        let mut queue = FairQueue::default();
        for (key, item) in [(1, 10), (1, 11), (2, 20), (3, 30)] {
            queue.push(key, item);
        }
        assert_eq!(queue.remove(1, |item| *item == 11), Some(11));
        assert_eq!(queue.remove(1, |item| *item == 11), None);
        assert_eq!(queue.remove(2, |item| *item == 20), Some(20));
        assert_eq!(queue.remove(2, |_| true), None);
        assert_eq!((queue.len(), queue.len_of(1), queue.len_of(2)), (2, 1, 0));
        assert_eq!([queue.pop(), queue.pop()], [Some(10), Some(30)]);
        assert_eq!(queue.pop(), None);
    }

    #[test]
    fn queues_without_turns_are_noticed() {
        let noticed = |fair: &dyn Fn(u64) -> Result<(), String>| (0..20).any(|s| fair(s).is_err());
        assert!(noticed(&|seed| is_fair(&mut Unfair::default(), seed)));
        assert!(noticed(&|seed| is_fair(&mut Stack::default(), seed)));
    }
}
