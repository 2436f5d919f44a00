//! The events API: the changes since the last call, from the journal.
//!
//! A sync token is a position in the journal: a commit, and how many of its change records were sent. It is sealed like a
//! page token and bound to user, app and object, so the same token always gives the same events, and later also the
//! newer ones.
use crate::background_error::BackgroundError;
use crate::error::ApiError;
use crate::execute::load_view::load;
use crate::execute::record_response::CostedResponse;
use crate::execute::response_plan::ResponsePlan;
use crate::execute::{allowance_retry, record_response};
use crate::state::Api;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::SystemTime;
use workgraph_auth::Grant;
use workgraph_core::access::Level;
use workgraph_core::domain_error::DomainError;
use workgraph_core::journal::event_rendering::RenderedEvent;
use workgraph_core::model::gid::GID_END;
use workgraph_core::model::registry::Type;
use workgraph_core::model::time::Time;
use workgraph_core::plan::Plan;
use workgraph_core::storage::{
    ChangeRecord, EventPage, EventQuery, JournalEntry, NodeRef, ReadQuery, ReadView,
};
use workgraph_core::{Gid, Node};
use workgraph_operations::operation::inputs::InputPlace;
use workgraph_operations::operation::requests::{EventScope, ListEvents};
use workgraph_operations::operation::steps::Described;
use workgraph_operations::request_context::{RequestContext, require_level};
use workgraph_wire::{Cursor, envelope, listing_digest};

/// Maximum number of events per call, for an object and for a workspace.
const RESOURCE_EVENTS_MAX: usize = 100;
const WORKSPACE_EVENTS_MAX: usize = 1_000;
/// Maximum number of commits that one call reads, which takes about 20 ms. Later commits are left for the next call.
const COMMITS_SCANNED_MAX: usize = 50_000;

/// Number of commits dropped from the journal at once, kept small so that other writes do not wait long.
const PRUNE_BATCH: usize = 1_000;

impl Api {
    /// Drops journal entries older than the journal's retention. Commits after `upto` stay, because webhooks still need
    /// them. Returns the number of dropped commits.
    ///
    /// # Errors
    /// Fails when the store fails; the text is for the log.
    pub async fn prune_journal(&self, upto: u64) -> Result<usize, BackgroundError> {
        let kept = self.settings.journal_retention;
        let before = self.clock.now().checked_sub(kept);
        let before = Time::from_system(before.unwrap_or(SystemTime::UNIX_EPOCH));
        let mut gone = 0;
        loop {
            let round = self.graph.prune_journal(before, upto, PRUNE_BATCH).await?;
            gone += round;
            if round < PRUNE_BATCH {
                return Ok(gone);
            }
        }
    }
}

/// A position in the journal.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct EventPosition {
    /// The last commit that was sent completely.
    pub(crate) seq: u64,
    /// The number of change records of the next commit that were already sent.
    pub(crate) changes_seen: u32,
}

/// An event with its position.
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

impl PositionedEvent<'_> {
    /// Returns the containers of a story; nothing for other types.
    fn holders(&self) -> impl Iterator<Item = Gid> {
        let about = self.event.context_of(self.change.gid);
        let about = about.filter(|_| self.change.ty == Type::Story);
        about.into_iter().flat_map(|a| a.containers.iter().copied())
    }
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

/// Responds with the events after the position in the token.
pub(crate) async fn list_events(
    api: &Api,
    call: &RequestContext<'_>,
    list: &dyn Described<ListEvents>,
    asked: &ResponsePlan<'_>,
) -> Result<CostedResponse, ApiError> {
    let input = list.describe(call)?;
    let view = load(api, &call.read_query().node(input.resource.node)).await?;
    let at = open(call, &view, &input)?;
    let listing = token_binding(call.grant, at);
    let most = match input.scope {
        EventScope::Resource => RESOURCE_EVENTS_MAX,
        EventScope::Workspace => WORKSPACE_EVENTS_MAX,
    };
    let now = |seq| EventPosition {
        seq,
        changes_seen: 0,
    };
    let Some(after) = open_sync_token(api, &input, listing)? else {
        return Err(ApiError::Resync(encode_sync_token(
            api,
            call,
            listing,
            now(view.seq),
        )?));
    };
    let ask = EventQuery {
        about: at,
        after: after.seq,
        limit: most + 1,
        scan: COMMITS_SCANNED_MAX,
    };
    let interrupt = call.interrupt();
    let fed = allowance_retry::query_store(&interrupt, || {
        api.graph.events_about(ask, interrupt.clone())
    })
    .await?;
    if after.seq < fed.pruned || after.seq > fed.last {
        // The commits after it are gone, or the token is from before the store was replaced.
        return Err(ApiError::Resync(encode_sync_token(
            api,
            call,
            listing,
            now(fed.last),
        )?));
    }
    let mut most = most;
    loop {
        let mut all = events_after(&fed.events, at, after);
        let some: Vec<PositionedEvent<'_>> = all.by_ref().take(most).collect();
        let rest = all.next().is_some();
        let then = match some.last() {
            Some(last) if rest => last.next_position,
            _ => now(fed.upto),
        };
        let more = rest || fed.upto < fed.last;
        let next = encode_sync_token(api, call, listing, then)?;
        match events_response(api, call, asked, (at, &fed), &some, (&next, more)).await {
            // Without `opt_fields` the client cannot ask for fewer fields, so each page has fewer events.
            Err(failure)
                if failure.is_too_large() && call.options.fields.is_none() && some.len() > 1 =>
            {
                most = some.len() / 2;
            }
            answered => return answered,
        }
    }
}

/// Checks that the node exists and that the caller may see its events.
fn open(call: &RequestContext<'_>, view: &ReadView, input: &ListEvents) -> Result<Gid, ApiError> {
    let resource = &input.resource;
    if resource.input.place == InputPlace::Path {
        let node = call.named_node(view, resource, Level::Viewer)?;
        if input.scope == EventScope::Workspace && view.viewer.service_workspace != Some(node.gid) {
            let reason = "The events of a workspace are for its service accounts.";
            return Err(DomainError::forbidden(reason).into());
        }
        return Ok(node.gid);
    }
    let found = view.node(resource.node);
    let node = found
        .filter(|n| call.is_visible(view, n))
        .ok_or_else(|| DomainError::reference_not_found(resource.input.name, resource.node))?;
    require_level(view, node, Level::Viewer)?;
    if !matches!(node.ty, Type::Task | Type::Project | Type::Goal) {
        let reason = "Not a task, project or goal; of other objects webhooks tell";
        return Err(DomainError::field(resource.input.name, reason).into());
    }
    Ok(node.gid)
}

/// Returns the digest that a sync token is bound to.
fn token_binding(grant: &Grant, at: Gid) -> [u8; 16] {
    let [user, app, service, at] = [
        grant.user,
        grant.app.unwrap_or(0),
        grant.workspace.unwrap_or(0),
        at.get(),
    ]
    .map(u64::to_be_bytes);
    listing_digest(&[b"events", &user, &app, &service, &at])
}

/// Returns the position in the client's token, if it is still valid.
fn open_sync_token(
    api: &Api,
    input: &ListEvents,
    listing: [u8; 16],
) -> Result<Option<EventPosition>, ApiError> {
    let Some(token) = input.sync.get()? else {
        return Ok(None);
    };
    let cursor = Cursor::open(token, &api.keys, listing, api.clock.now()).ok();
    Ok(cursor.map(|c| EventPosition {
        seq: c.max_seq,
        changes_seen: c.rows_sent,
    }))
}

fn encode_sync_token(
    api: &Api,
    call: &RequestContext<'_>,
    listing: [u8; 16],
    position: EventPosition,
) -> Result<String, ApiError> {
    let cursor = Cursor {
        listing,
        after: Vec::new(),
        max_seq: position.seq,
        rows_sent: position.changes_seen,
        expires: api.clock.now() + call.settings.sync_lifetime,
    };
    let nonce = api.random_bytes::<12>()?;
    Ok(cursor.seal(&api.keys, nonce))
}

/// Writes events, with the objects in them as the caller may see them now.
async fn events_response(
    api: &Api,
    call: &RequestContext<'_>,
    asked: &ResponsePlan<'_>,
    (at, fed): (Gid, &EventPage),
    some: &[PositionedEvent<'_>],
    (next, more): (&str, bool),
) -> Result<CostedResponse, ApiError> {
    let records = EventRecords::load(api, call.read_query(), at, some, &asked.plan).await?;
    let room = 64 + records.gids.len() * 512;
    let (json, tally) =
        record_response::write_records(api, &records.view, &records.gids, asked, room).await?;
    // Reading the journal costs something, too.
    let looked = u32::try_from(fed.events.len() / 10).unwrap_or(u32::MAX);
    let cost = record_response::response_cost(tally, asked.named_fields).saturating_add(looked);
    let body = envelope::close_events(json, next, more);
    Ok(CostedResponse::new(200, body, cost))
}

/// Events as records, with everything that a plan reads to show them.
pub(crate) struct EventRecords {
    pub(crate) view: ReadView,
    pub(crate) gids: Vec<Gid>,
}

impl EventRecords {
    /// Reads the objects of the events. Events about objects that the viewer may no longer see are left out,
    /// unless they report that the object was removed from here. For deleted objects, gid and type remain.
    pub(crate) async fn load(
        api: &Api,
        mut want: ReadQuery,
        at: Gid,
        some: &[PositionedEvent<'_>],
        plan: &Arc<Plan>,
    ) -> Result<Self, ApiError> {
        let mut gids = Vec::with_capacity(some.len());
        for (i, positioned) in some.iter().enumerate() {
            // This gid is above all existing ones, because these nodes are not stored.
            let gid = Gid::new(GID_END - 1 - i as u64).unwrap_or(at);
            let record = positioned
                .event
                .event_node(gid, positioned.change, &positioned.summary);
            want.external_nodes
                .push((Arc::new(record), Arc::clone(plan)));
            gids.push(gid);
        }
        let mut subjects: HashSet<Gid> = some.iter().map(|t| t.change.gid).collect();
        // Deleting a task also deletes its stories; they have no separate entries in the trash.
        subjects.extend(some.iter().flat_map(PositionedEvent::holders));
        want.node_refs
            .extend(subjects.into_iter().map(NodeRef::Gid));
        let mut view = load(api, &want).await?;
        let mut gone: Vec<Node> = Vec::new();
        let mut known = HashSet::new();
        for positioned in some {
            for about in &positioned.event.node_contexts {
                if view.resolve(&NodeRef::Gid(about.gid)).is_none()
                    && view.node(about.gid).is_none()
                    && known.insert(about.gid)
                {
                    gone.push(about.tombstone());
                }
            }
        }
        let mut shown = Vec::with_capacity(gids.len());
        for (gid, positioned) in gids.into_iter().zip(some) {
            let subject = positioned.change.gid;
            let hidden = view.node(subject).is_some() && view.level(subject) == Level::None;
            let orphan = || {
                positioned
                    .holders()
                    .any(|g| view.resolve(&NodeRef::Gid(g)).is_none())
            };
            if hidden && orphan() {
                gone.extend(
                    positioned
                        .event
                        .context_of(subject)
                        .map(|about| about.tombstone()),
                );
            } else if hidden
                && positioned.summary.parent == Some(at)
                && positioned.summary.action == "removed"
            {
                // The viewer saw the removal of these objects, but may not see their later state.
                gone.extend(
                    positioned
                        .event
                        .context_of(subject)
                        .map(|about| about.tombstone()),
                );
            } else if hidden {
                continue;
            }
            shown.push(gid);
        }
        for node in gone {
            view = view.with_node(node, Level::Viewer);
        }
        Ok(Self { view, gids: shown })
    }
}
