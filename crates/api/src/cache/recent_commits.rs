//! Recently read commits, so that deliveries don't have to read them again.
use std::collections::VecDeque;
use std::sync::Arc;
use workgraph_core::Gid;
use workgraph_core::storage::{EventQuery, JournalEntry};

/// Maximum number of change records that are kept; ten take a few kilobytes.
const CHANGE_RECORDS_MAX: usize = 10_000;

/// The last commits of the journal that were read, without gaps.
#[derive(Debug)]
pub(crate) struct RecentCommits {
    events: VecDeque<Arc<JournalEntry>>,
    /// Number of change records in the commits.
    records: usize,
    /// Maximum number of change records; 0 keeps no commits.
    most: usize,
}

impl Default for RecentCommits {
    fn default() -> Self {
        Self::new(CHANGE_RECORDS_MAX)
    }
}

impl RecentCommits {
    /// Makes a cache of commits with this many change records in total.
    pub(super) const fn new(most: usize) -> Self {
        Self {
            events: VecDeque::new(),
            records: 0,
            most,
        }
    }

    /// Adds a commit. Adding the same commit again has no effect. If a commit does not directly follow the last one, all
    /// cached commits are dropped first.
    pub(crate) fn put(&mut self, event: JournalEntry) {
        let last = self.events.back().map_or(0, |last| last.seq);
        if event.seq <= last || self.most == 0 {
            return;
        }
        if event.seq != last + 1 {
            *self = Self::new(self.most);
        }
        self.records += event.change_records.len();
        self.events.push_back(Arc::new(event));
        while self.records > self.most
            && let Some(first) = self.events.pop_front()
        {
            self.records -= first.change_records.len();
        }
    }

    /// Returns the commits about a node, as [`GraphStore::events_about`] does, up to the last cached one; `None` if some of
    /// them may be missing.
    ///
    /// [`GraphStore::events_about`]: workgraph_core::storage::GraphStore::events_about
    pub(crate) fn feed(&self, ask: EventQuery) -> Option<(Vec<Arc<JournalEntry>>, u64)> {
        let (first, last) = (self.events.front()?.seq, self.events.back()?.seq);
        let skip = (ask.after + 1).checked_sub(first)?;
        let about = |event: &&Arc<JournalEntry>| names(event, ask.about);
        let new = self.events.iter().skip(usize::try_from(skip).ok()?);
        let found: Vec<_> = new.filter(about).take(ask.limit).cloned().collect();
        let full = found.last().filter(|_| found.len() >= ask.limit);
        let upto = full.map_or(last, |event| event.seq);
        Some((found, upto.max(ask.after)))
    }
}

/// Returns true if a commit changes a node or a node in it.
fn names(event: &JournalEntry, about: Gid) -> bool {
    let mut nodes = event.node_contexts.iter();
    nodes.any(|node| node.gid == about || node.containers.contains(&about))
}

#[cfg(test)]
mod tests {
    use super::*;
    use workgraph_core::model::registry::Type;
    use workgraph_core::model::time::Time;
    use workgraph_core::storage::{ChangeAction, ChangeRecord, NodeContext};

    fn event(seq: u64, task: u64, facts: usize) -> JournalEntry {
        let gid = Gid::new(task).unwrap();
        let fact = ChangeRecord {
            gid,
            ty: Type::Task,
            action: ChangeAction::Deleted,
        };
        let about = NodeContext {
            gid,
            ty: Type::Task,
            subtype: None,
            containers: vec![Gid::new(1).unwrap()],
        };
        JournalEntry {
            seq,
            time: Time::from_millis(0),
            actor: None,
            change_records: vec![fact; facts],
            node_contexts: vec![about],
        }
    }

    fn found(
        recent: &RecentCommits,
        about: u64,
        after: u64,
        limit: usize,
    ) -> Option<(Vec<u64>, u64)> {
        let ask = EventQuery {
            about: Gid::new(about).unwrap(),
            after,
            limit,
            scan: 100,
        };
        let (events, upto) = recent.feed(ask)?;
        Some((events.iter().map(|e| e.seq).collect(), upto))
    }

    #[test]
    fn what_is_not_all_here_is_not_given() {
        let mut recent = RecentCommits::default();
        assert_eq!(found(&recent, 1, 0, 9), None);
        for seq in [5, 6, 6, 5, 7] {
            recent.put(event(seq, seq % 2 + 10, 1));
        }
        assert_eq!(found(&recent, 1, 3, 9), None, "commit 4 is not here");
        assert_eq!(found(&recent, 1, 4, 9), Some((vec![5, 6, 7], 7)));
        assert_eq!(found(&recent, 11, 4, 9), Some((vec![5, 7], 7)));
        assert_eq!(
            found(&recent, 1, 4, 2),
            Some((vec![5, 6], 6)),
            "a full page"
        );
        assert_eq!(found(&recent, 1, 7, 9), Some((vec![], 7)), "nothing new");
        assert_eq!(found(&recent, 1, 9, 9), Some((vec![], 9)), "never back");
        recent.put(event(9, 10, 1));
        assert_eq!(found(&recent, 1, 6, 9), None, "after a gap it begins anew");
        assert_eq!(found(&recent, 1, 8, 9), Some((vec![9], 9)));
    }

    #[test]
    fn without_room_no_commit_is_kept() {
        let mut recent = RecentCommits::new(0);
        for seq in 1..4 {
            recent.put(event(seq, 10, 1));
            assert_eq!(found(&recent, 1, seq - 1, 9), None);
        }
    }

    #[test]
    fn there_are_so_many_facts_and_no_more() {
        let mut recent = RecentCommits::default();
        for seq in 1..=4 {
            recent.put(event(seq, 10, CHANGE_RECORDS_MAX / 3));
        }
        assert_eq!(found(&recent, 1, 0, 9), None);
        assert_eq!(found(&recent, 1, 1, 9), Some((vec![2, 3, 4], 4)));
        recent.put(event(5, 10, CHANGE_RECORDS_MAX + 1));
        assert_eq!(found(&recent, 1, 4, 9), None, "too much on its own");
    }
}
