//! The events API: the changes since the last call, from the journal.
//!
//! A sync token is a position in the journal: a commit, and how many of its change records were sent. It is sealed like a
//! page token and bound to user, app and object, so the same token always gives the same events, and later also the
//! newer ones.
mod event_records;
mod positioned_event;

pub(crate) use event_records::EventRecords;
pub(crate) use positioned_event::{EventPosition, PositionedEvent, events_after};

use crate::background_error::BackgroundError;
use crate::error::ApiError;
use crate::execute::load_view::load;
use crate::execute::record_response::CostedResponse;
use crate::execute::response_plan::ResponsePlan;
use crate::execute::{allowance_retry, record_response};
use crate::state::Api;
use std::time::SystemTime;
use workgraph_auth::Grant;
use workgraph_core::Gid;
use workgraph_core::access::Level;
use workgraph_core::domain_error::DomainError;
use workgraph_core::model::registry::Type;
use workgraph_core::model::time::Time;
use workgraph_core::storage::{EventPage, EventQuery, ReadView};
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
