//! Promises of the lists of index entries, below the port of a store: the entries of each list, and the values that it
//! returns.
use super::{GraphStoreFailure, same};
use workgraph_core::engine::{build_entry, update_entry};
use workgraph_core::model::draft::Draft;
use workgraph_core::model::gid::Gid;
use workgraph_core::model::registry::Type;
use workgraph_core::model::resources::task;
use workgraph_core::model::time::{Date, Time};
use workgraph_core::search::{EntryList, IndexColumn, IndexEntry};
use workgraph_core::storage::snapshot::{Depth, Transaction};

const DAY: i64 = 86_400_000;
const TASKS: i64 = 24;

fn gid(number: i64) -> Result<Gid, GraphStoreFailure> {
    Gid::from_i64(number).ok_or_else(|| GraphStoreFailure("not a gid".into()))
}

/// Gives a task distinct values; some values repeat, so that lists contain a few tasks each.
fn fill(draft: &mut Draft, number: i64, users: [Gid; 2]) {
    let at = |days: i64| Time::from_millis(days * DAY);
    let user = |turn: i64| users.get(turn as usize).copied();
    let done = number % 2 == 0;
    draft.set(task::CREATED_AT, at(number));
    draft.set(task::MODIFIED_AT, at(2 * TASKS - number));
    if let Some(creator) = user(number % 2) {
        draft.set(task::CREATED_BY, creator);
    }
    if number % 7 == 0 {
        draft.set(task::SUBTYPE, "approval");
    }
    draft.set(task::COMPLETED, done);
    draft.set(task::COMPLETED_AT, done.then(|| at(number + 1)));
    draft.set(task::ASSIGNEE, user(number % 3));
    draft.set(task::ASSIGNED_BY, user(number % 3));
    draft.set(
        task::DUE_ON,
        (number % 4 > 0).then(|| Date::of(at(number % 5))),
    );
    draft.set(
        task::START_ON,
        (number % 5 > 0).then(|| Date::of(at(number % 4))),
    );
}

/// Checks the lists of index entries over an empty transaction that is rolled back or discarded afterwards.
///
/// # Errors
/// Fails if a promise is broken.
pub fn lists(txn: &mut dyn Transaction) -> Result<(), GraphStoreFailure> {
    let workspace = Some(gid(1)?);
    let users = [gid(2)?, gid(3)?];
    // Each task is written twice: values of the first version are no longer listed.
    for number in (0..TASKS).chain(0..TASKS) {
        let mut draft = match txn.node(gid(100 + number)?, Depth::Full)? {
            None => Draft::new(Type::Task, gid(100 + number)?, workspace),
            Some(node) => Draft::edit(&node),
        };
        let version = if draft.is_new() { number / 2 } else { number };
        fill(&mut draft, version, users);
        let node = draft.finish();
        txn.put_node(&node, 1)?;
        update_entry(txn, node.gid)?;
    }
    let mut entries = Vec::new();
    for number in 0..TASKS {
        let node = txn.node(gid(100 + number)?, Depth::Full)?;
        let node =
            node.ok_or_else(|| GraphStoreFailure("a task that was written is not there".into()))?;
        entries.push(build_entry(txn, &node)?.0);
    }
    for list in all(&entries, users) {
        for column in IndexColumn::ALL {
            let mut found = Vec::new();
            let each = &mut |gid, value| found.push((gid, value));
            txn.list_index_entries(workspace, Type::Task, list, column, usize::MAX >> 1, each)?;
            found.sort_unstable();
            let value = |entry: &IndexEntry| entry.value(column).filter(|_| list.gives(column));
            let expected = entries.iter().filter(|entry| list.has(entry));
            let expected: Vec<_> = expected.map(|entry| (entry.gid, value(entry))).collect();
            same(
                &found,
                &expected,
                &format!("{list:?} has its cards, with their values of {column:?}"),
            )?;
        }
        let mut found = 0;
        let each = &mut |_, _| found += 1;
        txn.list_index_entries(workspace, Type::Task, list, IndexColumn::Gid, 2, each)?;
        let most = entries
            .iter()
            .filter(|entry| list.has(entry))
            .count()
            .min(2);
        same(&found, &most, "a list gives as many as it is asked for")?;
    }
    Ok(())
}

/// Returns every kind of list, with and without bounds.
fn all(entries: &[IndexEntry], users: [Gid; 2]) -> Vec<EntryList> {
    let bounds = [(i64::MIN, i64::MAX), (DAY, 3 * DAY)];
    let columns = IndexColumn::ALL
        .into_iter()
        .filter(|c| *c != IndexColumn::Modified);
    let mut lists: Vec<EntryList> = columns
        .flat_map(|column| bounds.map(|(from, to)| EntryList::Within(column, from, to)))
        .collect();
    let shaped = |entry: &IndexEntry| {
        let half = (TASKS * DAY, 2 * TASKS * DAY);
        [bounds[0], half].map(|(from, to)| EntryList::Shaped(entry.shape(), from, to))
    };
    lists.extend(entries.iter().flat_map(shaped));
    for user in users {
        for done in [None, Some(false), Some(true)] {
            for due in [None, Some(bounds[0]), Some(bounds[1])] {
                lists.push(EntryList::Of {
                    responsible: user,
                    done,
                    due,
                });
            }
        }
    }
    lists
}
