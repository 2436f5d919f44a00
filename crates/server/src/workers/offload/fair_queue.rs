//! Queues in which keys, or the owners of keys, take turns.
use std::collections::{HashMap, VecDeque};
use std::hash::Hash;

/// Items of several keys. Items of one key are returned in the order in which they were added, and the keys take turns, so
/// an item waits for at most one item of each other key before each item of its own key.
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

    /// Adds an item after the others of its key.
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

    /// Removes the first item of a key that matches a predicate.
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

/// Items of owners with several keys each: the owners take turns, and so do an owner's keys within its turns. So an item
/// waits for at most one of each other owner before its own turn, regardless of how many keys that owner has.
#[derive(Debug)]
pub(super) struct OwnerQueue<O, K, T> {
    owners: HashMap<O, FairQueue<K, T>>,
    /// Each owner that has items, once.
    turns: VecDeque<O>,
    len: usize,
}

impl<O, K, T> Default for OwnerQueue<O, K, T> {
    fn default() -> Self {
        Self {
            owners: HashMap::new(),
            turns: VecDeque::new(),
            len: 0,
        }
    }
}

impl<O: Copy + Eq + Hash, K: Copy + Eq + Hash, T> OwnerQueue<O, K, T> {
    /// Returns the number of items.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Returns the number of items of an owner.
    pub(super) fn len_of_owner(&self, owner: O) -> usize {
        self.owners.get(&owner).map_or(0, FairQueue::len)
    }

    /// Returns the number of items of an owner's key.
    pub(super) fn len_of(&self, owner: O, key: K) -> usize {
        let keys = self.owners.get(&owner);
        keys.map_or(0, |keys| keys.len_of(key))
    }

    /// Adds an item after the others of its owner and key.
    pub(super) fn push(&mut self, owner: O, key: K, item: T) {
        let keys = self.owners.entry(owner).or_default();
        if keys.len() == 0 {
            self.turns.push_back(owner);
        }
        keys.push(key, item);
        self.len += 1;
    }

    /// Takes the next item of the owner whose turn it is.
    pub(super) fn pop(&mut self) -> Option<T> {
        let owner = self.turns.pop_front()?;
        let keys = self.owners.get_mut(&owner)?;
        let item = keys.pop()?;
        self.len -= 1;
        if keys.len() == 0 {
            self.owners.remove(&owner);
        } else {
            self.turns.push_back(owner);
        }
        Some(item)
    }

    /// Removes the first item of an owner's key that matches a predicate.
    pub(super) fn remove(
        &mut self,
        owner: O,
        key: K,
        is_meant: impl FnMut(&T) -> bool,
    ) -> Option<T> {
        let keys = self.owners.get_mut(&owner)?;
        let item = keys.remove(key, is_meant)?;
        self.len -= 1;
        if keys.len() == 0 {
            self.owners.remove(&owner);
            self.turns.retain(|turn| *turn != owner);
        }
        Some(item)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Interface shared by the queues.
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

    /// Flawed queue: first in, first out, regardless of the key.
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

    /// Flawed queue: last in, first out, so that some items wait forever.
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

    /// Adds and removes items at random. Checks that between two turns of a key with items, every other key has at most one
    /// turn, that the items of a key keep their order, and that none is lost.
    fn is_fair(queue: &mut dyn Queue, seed: u64) -> Result<(), String> {
        let mut random = seed.wrapping_mul(2).wrapping_add(1);
        let mut roll = |sides: u64| {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            (random >> 11) % sides
        };
        let mut waiting: HashMap<u64, VecDeque<u32>> = HashMap::new();
        // The number of turns of each key while another one waited.
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
            // One key has far more items than the others.
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

    /// Queue whose owners each spread their items over many keys.
    struct ByOwner(OwnerQueue<u64, u64, (u64, u32)>);

    impl Queue for ByOwner {
        fn put(&mut self, owner: u64, item: u32) {
            // The items of an owner keep their order only within a key.
            self.0.push(owner, 0, (owner, item));
        }
        fn take(&mut self) -> Option<(u64, u32)> {
            self.0.pop()
        }
    }

    /// S102.
    #[test]
    fn no_owner_waits_for_two_turns_of_another_however_many_keys_that_has() {
        for seed in 0..200 {
            let mut queue = ByOwner(OwnerQueue::default());
            assert_eq!(is_fair(&mut queue, seed), Ok(()), "seed {seed}");
            assert!(queue.0.owners.is_empty() && queue.0.turns.is_empty() && queue.0.len() == 0);
        }
        let mut queue = OwnerQueue::default();
        for key in 0..50 {
            queue.push("many", key, (key, 1));
            queue.push("many", key, (key, 2));
        }
        queue.push("few", 0, (100, 1));
        queue.push("few", 0, (100, 2));
        queue.push("one", 0, (101, 1));
        assert_eq!((queue.len(), queue.len_of_owner("many")), (103, 100));
        assert_eq!(queue.len_of("many", 7), 2);
        let order: Vec<(i32, i32)> = std::iter::from_fn(|| queue.pop()).collect();
        let first = [(0, 1), (100, 1), (101, 1), (1, 1), (100, 2), (2, 1)];
        assert_eq!(order[..6], first);
        // The keys of one owner take turns as well.
        assert_eq!((order[52], order[53]), ((49, 1), (0, 2)));
    }

    #[test]
    fn what_an_owner_takes_out_neither_counts_nor_has_a_turn() {
        let mut queue = OwnerQueue::default();
        for (owner, key, item) in [(1, 1, 10), (1, 2, 20), (2, 1, 30)] {
            queue.push(owner, key, item);
        }
        assert_eq!(queue.remove(1, 1, |item| *item == 10), Some(10));
        assert_eq!(queue.remove(1, 1, |_| true), None);
        assert_eq!(queue.remove(2, 1, |_| true), Some(30));
        assert_eq!((queue.len(), queue.len_of_owner(2)), (1, 0));
        assert_eq!([queue.pop(), queue.pop()], [Some(20), None]);
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
