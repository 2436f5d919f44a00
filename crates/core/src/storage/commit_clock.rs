//! Commit clock: gives changes instants in the order in which they are committed.
use crate::model::gid::Gid;
use crate::model::json_members::members;
use crate::model::node::Node;
use crate::model::time::Time;
use crate::search::is_searchable;
use crate::storage::Changes;
use rustc_hash::FxHashMap;

/// Maximum number of milliseconds that instants run ahead of the time of the requests; beyond that, instants are equal.
const AHEAD_MAX: i64 = 1_000;
/// Tolerance in milliseconds: a request that is earlier than the request before it by more than this shows that the clock
/// was set back.
const SET_BACK: i64 = 60_000;
/// Number of workspaces above which the clock forgets workspaces whose last instant has passed.
const WORKSPACES_KEPT: usize = 1_024;

/// Clock of one writer. Its instants keep the order of the commits:
///
/// - In each workspace, the nodes that searches find have different instants. If a request is not later than the last
///   instant, its node gets one millisecond more, as long as that is at most a second ahead. So a walk by `created_at`,
///   `modified_at` or `completed_at` that continues after the last instant skips nothing.
/// - The time of a commit, which is also the time of its events, is never before the time of the previous commit, nor before
///   an instant of its nodes.
///
/// It never reads a system clock: the requests give the time.
#[derive(Clone, Debug)]
pub struct CommitClock {
    /// Latest time of a request, in milliseconds.
    now: i64,
    /// Time of the last commit.
    last: i64,
    /// Last instant of a node in workspaces that are not listed.
    floor: i64,
    /// Last instant of a node, by workspace.
    workspaces: FxHashMap<Option<Gid>, i64>,
}

/// The clock of a writer without earlier commits.
impl Default for CommitClock {
    fn default() -> Self {
        Self::after(Time::default())
    }
}

impl CommitClock {
    /// Returns the clock of a writer that continues after a commit of this time.
    #[must_use]
    pub fn after(last: Time) -> Self {
        Self {
            now: i64::MIN,
            last: last.millis(),
            floor: last.millis(),
            workspaces: FxHashMap::default(),
        }
    }

    /// Sets the time of the changes that are committed next. In their nodes, replaces the time of the request by the
    /// instants of the nodes.
    pub fn stamp(&mut self, changes: &mut Changes) {
        let asked = changes.time.millis();
        if asked.saturating_add(SET_BACK) < self.now.max(self.last) {
            *self = Self::after(changes.time);
        }
        self.now = self.now.max(asked);
        if self.workspaces.len() > WORKSPACES_KEPT {
            let now = self.now;
            self.workspaces.retain(|_, last| *last >= now);
        }
        let raw = format!("\"{}\"", changes.time);
        self.last = self.last.max(asked);
        for write in &mut changes.node_writes {
            if !write.node.body.contains(&raw) {
                continue;
            }
            let instant = self.instant_of(&write.node, asked);
            self.last = self.last.max(instant);
            if instant != asked {
                let stamp = format!("\"{}\"", Time::from_millis(instant));
                restamp(&mut write.node, &raw, &stamp);
            }
        }
        changes.time = Time::from_millis(self.last);
    }

    /// Returns the instant of a node that a request of this time writes.
    fn instant_of(&mut self, node: &Node, asked: i64) -> i64 {
        let last = self.workspaces.entry(node.workspace).or_insert(self.floor);
        if !is_searchable(node.ty) {
            return asked.max(*last);
        }
        let bound = self.now.saturating_add(AHEAD_MAX).max(*last);
        *last = asked.max(last.saturating_add(1)).min(bound);
        *last
    }
}

/// Replaces the time of the request in a node by another instant.
fn restamp(node: &mut Node, asked: &str, stamp: &str) {
    let is_new = node.version == 1;
    let is_instant = |key: &str, value: &str| {
        value == asked
            && match key {
                "created_at" => is_new,
                "modified_at" | "completed_at" => true,
                _ => false,
            }
    };
    let stamped = |object: &str| {
        let mut text = String::with_capacity(object.len());
        for (key, value) in members(object) {
            text.push(if text.is_empty() { '{' } else { ',' });
            text.push('"');
            text.push_str(key);
            text.push_str("\":");
            text.push_str(if is_instant(key, value) { stamp } else { value });
        }
        text.push('}');
        text
    };
    node.body = stamped(&node.body).into();
    if node.head.contains(asked) {
        node.head = stamped(&node.head).into();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::draft::Draft;
    use crate::model::registry::Type;
    use crate::model::resources::{story, task};
    use crate::storage::NodeWrite;

    fn gid(number: u64) -> Gid {
        Gid::new(number).unwrap()
    }

    fn written(time: i64, drafts: &[Draft]) -> Changes {
        let writes = drafts.iter().map(Draft::finish);
        Changes {
            time: Time::from_millis(time),
            node_writes: writes.map(|node| NodeWrite { node }).collect(),
            ..Changes::default()
        }
    }

    fn new_task(number: u64, workspace: u64, time: i64) -> Draft {
        let mut draft = Draft::new(Type::Task, gid(number), Some(gid(workspace)));
        draft.set(
            task::NAME,
            format!("at {}", Time::from_millis(time)).as_str(),
        );
        draft.set(task::CREATED_AT, Time::from_millis(time));
        draft.set(task::MODIFIED_AT, Time::from_millis(time));
        draft
    }

    fn instants(changes: &Changes) -> Vec<(i64, i64)> {
        let nodes = changes.node_writes.iter().map(|write| &write.node);
        let millis = |time: Option<Time>| time.map_or(0, Time::millis);
        nodes
            .map(|n| {
                (
                    millis(n.get(task::CREATED_AT)),
                    millis(n.get(task::MODIFIED_AT)),
                )
            })
            .collect()
    }

    #[test]
    fn nodes_of_one_millisecond_have_different_instants_in_each_workspace() {
        let mut clock = CommitClock::after(Time::from_millis(0));
        let mut first = written(5_000, &[new_task(1, 9, 5_000), new_task(2, 9, 5_000)]);
        clock.stamp(&mut first);
        assert_eq!(instants(&first), [(5_000, 5_000), (5_001, 5_001)]);
        assert_eq!(first.time.millis(), 5_001);
        let mut other = written(5_000, &[new_task(3, 8, 5_000)]);
        clock.stamp(&mut other);
        assert_eq!(instants(&other), [(5_000, 5_000)]);
        assert_eq!(other.time.millis(), 5_001, "events do not go back");
        let mut next = Draft::edit(&first.node_writes[1].node);
        next.set(task::MODIFIED_AT, Time::from_millis(5_000));
        let mut edit = written(5_000, &[next]);
        clock.stamp(&mut edit);
        assert_eq!(instants(&edit), [(5_001, 5_002)]);
    }

    #[test]
    fn an_instant_is_at_most_a_second_ahead_and_never_goes_back() {
        let mut clock = CommitClock::after(Time::from_millis(0));
        let drafts: Vec<Draft> = (1..=1_500).map(|n| new_task(n, 9, 7_000)).collect();
        let mut burst = written(7_000, &drafts);
        clock.stamp(&mut burst);
        let of_burst: Vec<i64> = instants(&burst).iter().map(|i| i.0).collect();
        assert!(of_burst.is_sorted());
        assert_eq!(of_burst.last(), Some(&8_000));
        let mut late = written(6_900, &[new_task(2_000, 9, 6_900)]);
        clock.stamp(&mut late);
        assert_eq!(instants(&late), [(8_000, 8_000)]);
        let mut set_back = written(
            7_000 - 2 * SET_BACK,
            &[new_task(2_001, 9, 7_000 - 2 * SET_BACK)],
        );
        clock.stamp(&mut set_back);
        assert_eq!(set_back.time.millis(), 7_000 - 2 * SET_BACK + 1);
    }

    #[test]
    fn a_story_is_not_before_its_task_and_texts_stay_as_they_are() {
        let mut clock = CommitClock::after(Time::from_millis(5_000));
        let task = new_task(1, 9, 5_000);
        let mut comment = Draft::new(Type::Story, gid(2), Some(gid(9)));
        comment.set(story::CREATED_AT, Time::from_millis(5_000));
        let mut changes = written(5_000, &[task.clone(), comment]);
        clock.stamp(&mut changes);
        let [task_write, story_write] = &changes.node_writes[..] else {
            panic!("two nodes were written");
        };
        assert_eq!(task_write.node.get(task::NAME), task.get(task::NAME));
        assert_eq!(
            story_write.node.get(story::CREATED_AT),
            task_write.node.get(task::CREATED_AT)
        );
        assert_eq!(
            task_write.node.get(task::CREATED_AT).map(Time::millis),
            Some(5_001)
        );
    }
}
