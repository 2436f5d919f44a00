//! Pending commits: writes on their way to the store, each applied to the state after the writes before it.
use super::committed_state::{CommittedState, depends};
use super::fact_cache::FactCache;
use super::facts::Facts;
use super::graph_read::{GraphAnswer, GraphRead};
use super::graph_writes::GraphWrites;
use crate::model::edge::Seq;
use crate::storage::DecisionReads;
use std::collections::VecDeque;

/// Commits that are not durable yet, in their order. With a cache of the state before them they answer reads of the state after
/// them, so that the next change sets can be applied early. If one of them fails, so do all after it: they must be
/// [forgotten](PendingCommits::clear).
#[derive(Debug, Default)]
pub struct PendingCommits {
    states: VecDeque<CommittedState>,
}

impl PendingCommits {
    /// Returns the number of pending additions: each of them may be searched for an answer.
    #[must_use]
    pub fn len(&self) -> usize {
        self.states.len()
    }

    /// Returns true if no commit is pending.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.states.is_empty()
    }

    /// Returns the last commit, if there is one.
    #[must_use]
    pub fn last_seq(&self) -> Option<Seq> {
        self.states.back().map(CommittedState::last_seq)
    }

    /// Adds commits. `facts` are the facts from which the writes were computed, true of the state after the last commit.
    pub fn push(&mut self, facts: Facts, writes: GraphWrites) {
        self.states.push_back(CommittedState::new(facts, writes));
    }

    /// Removes the commits up to this one, which are now durable, and gives them to the cache.
    pub fn settle(&mut self, upto: Seq, cache: &mut FactCache) {
        while let Some(first) = self.states.pop_front_if(|state| state.last_seq() <= upto) {
            cache.commit_state(first);
        }
    }

    /// Forgets all commits.
    pub fn clear(&mut self) {
        self.states.clear();
    }

    /// Returns true if neither these commits nor earlier ones, as far as the cache knows them, touch the reads of a
    /// decision.
    #[must_use]
    pub fn hold(&self, reads: &DecisionReads, cache: &FactCache) -> bool {
        cache.holds(reads) && self.states.iter().all(|state| state.holds(reads))
    }

    /// Returns the answer to a read of the state after the last commit, if it is known. The cache must be at the state
    /// before these commits, or after some or all of them; otherwise the answer is `None`.
    pub fn answer(&mut self, read: &GraphRead, cache: &mut FactCache) -> Option<GraphAnswer> {
        let states = self.states.make_contiguous();
        if let Some((first, last)) = states.first().zip(states.last())
            && !(first.base()..=last.last_seq()).contains(&cache.seq())
        {
            return None;
        }
        answer_after(states, read, cache)
    }
}

/// Returns the answer to a read of the state after these commits.
fn answer_after(
    states: &mut [CommittedState],
    read: &GraphRead,
    cache: &mut FactCache,
) -> Option<GraphAnswer> {
    let Some((last, before)) = states.split_last_mut() else {
        return cache.get(read);
    };
    let written = last.answer(read, &mut |read| answer_after(before, read, cache));
    // In any case, these commits may have changed the answer.
    if written.is_some() || last.touches_read(read) {
        return written;
    }
    let answer = answer_after(before, read, cache)?;
    (!depends(read, &answer, |key| last.touches(key))).then_some(answer)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::gid::Gid;
    use crate::model::registry::rel;
    use crate::storage::FactKey;

    /// Checks the number of look-ups. With two look-ups in each commit, there would be 2^64 in all.
    #[test]
    fn a_read_that_nobody_knows_is_looked_for_once_in_each_commit() {
        let (dst, rel) = (Gid::new(1).unwrap(), rel::SECTION);
        let mut pending = PendingCommits::default();
        for _ in 0..64 {
            let touched = [FactKey::list(dst, rel)].into();
            let writes = GraphWrites {
                touched,
                ..GraphWrites::default()
            };
            pending.push(Facts::at(0), writes);
        }
        let read = GraphRead::CountIn { dst, rel };
        let mut cache = FactCache::new(1 << 16, 0);
        cache.keep(0, &read, &GraphAnswer::Count(0));
        assert_eq!(pending.answer(&read, &mut cache), None);
        assert_eq!(pending.len(), 64);
    }
}
