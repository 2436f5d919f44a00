//! Positions in the journal, and the events after one.
use workgraph_core::Gid;
use workgraph_core::journal::event_rendering::RenderedEvent;
use workgraph_core::storage::{ChangeRecord, JournalEntry};

/// A position in the journal.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct EventPosition {
    /// The last commit that was sent completely.
    pub(crate) seq: u64,
    /// The number of change records of the next commit that were already sent.
    pub(crate) changes_seen: u32,
}

#[derive(Clone, Copy)]
pub(crate) struct PositionedEvent<'e> {
    pub(crate) event: &'e JournalEntry,
    pub(crate) change: &'e ChangeRecord,
    pub(crate) summary: RenderedEvent,
    /// The index of the change record in its commit.
    pub(crate) index: usize,
    /// The position right after the event.
    pub(crate) next_position: EventPosition,
}

/// Returns the events for a node in the commits after a position, in order.
pub(crate) fn events_after<'e>(
    events: impl IntoIterator<Item = &'e JournalEntry>,
    at: Gid,
    after: EventPosition,
) -> impl Iterator<Item = PositionedEvent<'e>> {
    events.into_iter().flat_map(move |event| {
        let skip = if event.seq == after.seq + 1 {
            after.changes_seen as usize
        } else {
            0
        };
        let changes = event.change_records.iter().enumerate().skip(skip);
        changes.filter_map(move |(i, change)| {
            let said = event
                .render(change)
                .filter(|_| event.is_heard_at(change, at))?;
            let then = if i + 1 == event.change_records.len() {
                EventPosition {
                    seq: event.seq,
                    changes_seen: 0,
                }
            } else {
                EventPosition {
                    seq: event.seq - 1,
                    changes_seen: u32::try_from(i + 1).unwrap_or(u32::MAX),
                }
            };
            Some(PositionedEvent {
                event,
                change,
                summary: said,
                index: i,
                next_position: then,
            })
        })
    })
}
