//! The delivery scheduler: every webhook in memory, with its pending commits and the time of its next attempt.
//!
//! It is loaded from the store at start and follows each change, so finding the webhooks that a commit concerns takes no
//! read. At most one attempt holds a webhook at a time, by a numbered lease. If the holder dies, its lease expires, and
//! results that it delivers later are ignored.
use crate::cache::RecentCommits;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::time::SystemTime;
use workgraph_core::Gid;
use workgraph_core::journal::event_rendering::{RenderedEvent, ends_by_removal};
use workgraph_core::model::resources::resource;
use workgraph_core::storage::{ChangeRecord, JournalEntry};
use workgraph_webhooks::webhook_record::LEASE;
use workgraph_webhooks::{DeliveryState, EventSummary, JournalPosition, Webhook};

/// Returns the part of a change record that filters test.
pub(crate) fn occurrence<'e>(
    event: &'e JournalEntry,
    change: &ChangeRecord,
    said: &RenderedEvent,
) -> EventSummary<'e> {
    EventSummary {
        resource_type: resource(change.ty).name,
        resource_subtype: event
            .context_of(change.gid)
            .and_then(|a| a.subtype.as_deref()),
        action: said.action,
        other_action: (ends_by_removal(change.ty) && said.action == "removed").then_some("deleted"),
        field: said.change.map(|c| c.field),
    }
}

#[derive(Debug)]
struct ScheduledWebhook {
    webhook: Webhook,
    /// The last commit that concerns the webhook.
    last_commit: u64,
    /// The time at which the agenda lists the webhook.
    due: SystemTime,
    /// The number of the attempt that holds the webhook, 0 for none.
    lease: u64,
    /// Number of times that the next delivery is halved because a larger one took too long to build.
    halvings: u32,
    /// The webhook's position in the store.
    stored_position: u64,
}

impl ScheduledWebhook {
    fn waiting(&self) -> bool {
        self.last_commit > self.webhook.state.position.seq
    }

    fn plan(&mut self, due: SystemTime, agenda: &mut DueTimes) {
        if self.due != due {
            agenda.remove(&(self.due, self.webhook.id));
            self.due = due;
            agenda.insert((due, self.webhook.id));
        }
    }

    /// Records a commit that concerns the webhook.
    fn note(&mut self, seq: u64, agenda: &mut DueTimes) {
        let free = self.lease == 0;
        if free && !self.waiting() {
            // No commit before this one concerned it.
            let before = JournalPosition {
                seq: seq - 1,
                facts: 0,
            };
            self.webhook.state.position = self.webhook.state.position.max(before);
        }
        self.last_commit = self.last_commit.max(seq);
        if free {
            self.plan(self.webhook.due(true), agenda);
        }
    }
}

/// Webhooks in the order of their next attempts.
type DueTimes = BTreeSet<(SystemTime, u64)>;

/// A leased attempt to deliver.
#[derive(Clone, Debug)]
pub struct DeliveryAttempt {
    pub(crate) webhook: Webhook,
    pub(crate) waiting: bool,
    pub(crate) lease: u64,
    pub(crate) halvings: u32,
}

impl DeliveryAttempt {
    /// Returns the gid of the webhook.
    #[must_use]
    pub fn webhook(&self) -> u64 {
        self.webhook.id
    }
}

#[derive(Debug, Default)]
pub(crate) struct DeliveryScheduler {
    entries: HashMap<u64, ScheduledWebhook>,
    /// Webhooks by the resource that they watch.
    by_resource: HashMap<u64, Vec<u64>>,
    agenda: DueTimes,
    /// The last commits that were read.
    pub(crate) recent: RecentCommits,
    /// The number of the last commit that was read.
    pub(crate) scanned: u64,
    leases: u64,
}

impl DeliveryScheduler {
    /// Makes a scheduler without webhooks, with an empty cache of commits.
    pub(crate) fn new(recent: RecentCommits) -> Self {
        Self {
            recent,
            ..Self::default()
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Adds or replaces webhooks. A webhook whose position is before the last commit that was read counts as
    /// pending; an attempt then finds out if there are events.
    pub(crate) fn put(&mut self, webhooks: Vec<Webhook>) {
        if self.entries.is_empty() {
            let first = webhooks.iter().map(|h| h.state.position.seq).min();
            self.scanned = first.unwrap_or(self.scanned);
        }
        for webhook in webhooks {
            self.remove(webhook.id);
            let seq = webhook.state.position.seq;
            let noted = if seq < self.scanned { self.scanned } else { 0 };
            self.by_resource
                .entry(webhook.resource)
                .or_default()
                .push(webhook.id);
            let due = webhook.due(noted > seq);
            self.agenda.insert((due, webhook.id));
            let entry = ScheduledWebhook {
                last_commit: noted,
                due,
                lease: 0,
                halvings: 0,
                stored_position: seq,
                webhook,
            };
            self.entries.insert(entry.webhook.id, entry);
        }
    }

    pub(crate) fn remove(&mut self, id: u64) {
        let Some(entry) = self.entries.remove(&id) else {
            return;
        };
        self.agenda.remove(&(entry.due, id));
        if let Some(ids) = self.by_resource.get_mut(&entry.webhook.resource) {
            ids.retain(|i| *i != id);
            if ids.is_empty() {
                self.by_resource.remove(&entry.webhook.resource);
            }
        }
    }

    /// Replaces the filters of a webhook, and leaves its position and its next attempt as they are.
    pub(crate) fn filter(&mut self, webhook: &Webhook) {
        if let Some(entry) = self.entries.get_mut(&webhook.id) {
            entry.webhook.filters.clone_from(&webhook.filters);
        }
    }

    fn plan(&mut self, id: u64, due: SystemTime) {
        if let Some(entry) = self.entries.get_mut(&id) {
            entry.plan(due, &mut self.agenda);
        }
    }

    /// Records a commit for the webhooks that it concerns.
    pub(crate) fn note_commit(&mut self, event: JournalEntry) {
        self.scanned = self.scanned.max(event.seq);
        let named = event.node_contexts.iter();
        let named = named.flat_map(|n| std::iter::once(n.gid).chain(n.containers.iter().copied()));
        let mut places: Vec<Gid> = named
            .filter(|gid| self.by_resource.contains_key(&gid.get()))
            .collect();
        places.sort_unstable();
        places.dedup();
        for at in places {
            // Once per resource, even if it has many webhooks.
            let heard = event
                .change_records
                .iter()
                .filter(|change| event.is_heard_at(change, at));
            let heard: Vec<EventSummary<'_>> = heard
                .filter_map(|change| Some(occurrence(&event, change, &event.render(change)?)))
                .collect();
            for id in self.by_resource.get(&at.get()).into_iter().flatten() {
                if let Some(entry) = self.entries.get_mut(id)
                    && event.seq > entry.webhook.state.position.seq
                    && heard.iter().any(|record| entry.webhook.wants(record))
                {
                    entry.note(event.seq, &mut self.agenda);
                }
            }
        }
        self.recent.put(event);
    }

    /// Starts an attempt for the first webhook that is due. No other attempt can hold the webhook until the lease ends.
    pub(crate) fn take_due(&mut self, now: SystemTime) -> Option<DeliveryAttempt> {
        let (due, id) = *self.agenda.first()?;
        if due > now {
            return None;
        }
        self.lease(id, now)
    }

    /// Starts an attempt for a webhook.
    pub(crate) fn lease(&mut self, id: u64, now: SystemTime) -> Option<DeliveryAttempt> {
        self.leases += 1;
        let lease = self.leases;
        let entry = self.entries.get_mut(&id)?;
        entry.lease = lease;
        let attempt = DeliveryAttempt {
            webhook: entry.webhook.clone(),
            waiting: entry.waiting(),
            lease,
            halvings: entry.halvings,
        };
        self.plan(id, now + LEASE);
        Some(attempt)
    }

    /// Returns true if an attempt is in progress.
    pub(crate) fn is_leased(&self, id: u64, now: SystemTime) -> bool {
        let entry = self.entries.get(&id);
        entry.is_some_and(|e| e.lease != 0 && e.due > now)
    }

    /// Renews the lease of an attempt; returns false if the attempt no longer holds its webhook.
    pub(crate) fn renew(&mut self, attempt: &DeliveryAttempt, now: SystemTime) -> bool {
        let holds = self.holds(attempt);
        if holds {
            self.plan(attempt.webhook.id, now + LEASE);
        }
        holds
    }

    /// Returns true if an attempt still holds its webhook.
    pub(crate) fn holds(&self, attempt: &DeliveryAttempt) -> bool {
        let entry = self.entries.get(&attempt.webhook.id);
        entry.is_some_and(|e| e.lease == attempt.lease)
    }

    /// Ends an attempt that sent nothing. The next attempt is half as large, and due at the time that the webhook's state
    /// determines.
    pub(crate) fn retry_smaller(&mut self, attempt: &DeliveryAttempt) {
        if !self.holds(attempt) {
            return;
        }
        let id = attempt.webhook.id;
        if let Some(entry) = self.entries.get_mut(&id) {
            entry.lease = 0;
            entry.halvings = attempt.halvings + 1;
            let due = entry.webhook.due(entry.waiting());
            self.plan(id, due);
        }
    }

    /// Ends an attempt that changed nothing. The next one is due at the same time as this one.
    pub(crate) fn release(&mut self, attempt: &DeliveryAttempt) {
        if !self.holds(attempt) {
            return;
        }
        let id = attempt.webhook.id;
        if let Some(entry) = self.entries.get_mut(&id) {
            entry.lease = 0;
            let due = entry.webhook.due(entry.waiting());
            self.plan(id, due);
        }
    }

    /// Replaces all webhooks with these. Attempts in progress lose their leases.
    pub(crate) fn replace_all(&mut self, webhooks: Vec<Webhook>) {
        self.entries.clear();
        self.by_resource.clear();
        self.agenda.clear();
        self.put(webhooks);
    }

    /// Applies the changes to the webhooks of the store: new webhooks, deleted ones, and filters. Delivery states are not
    /// replaced, since this scheduler's are newer.
    pub(crate) fn merge(&mut self, webhooks: Vec<Webhook>) {
        let present: HashSet<u64> = webhooks.iter().map(|webhook| webhook.id).collect();
        let gone = self.entries.keys().filter(|id| !present.contains(id));
        for id in gone.copied().collect::<Vec<_>>() {
            self.remove(id);
        }
        let (known, new): (Vec<_>, Vec<_>) = webhooks
            .into_iter()
            .partition(|webhook| self.entries.contains_key(&webhook.id));
        for webhook in &known {
            self.filter(webhook);
        }
        self.put(new);
    }

    /// Ends an attempt. `saved` is true if the store has the state as well.
    pub(crate) fn settle(&mut self, attempt: &DeliveryAttempt, state: DeliveryState, saved: bool) {
        if !self.holds(attempt) {
            return;
        }
        let id = attempt.webhook.id;
        if let Some(entry) = self.entries.get_mut(&id) {
            entry.lease = 0;
            entry.halvings = attempt.halvings.saturating_sub(1);
            if saved {
                entry.stored_position = state.position.seq;
            }
            entry.webhook.state = state;
            let due = entry.webhook.due(entry.waiting());
            self.plan(id, due);
        }
    }

    /// Returns the time of the next attempt, over all webhooks.
    pub(crate) fn next(&self) -> Option<SystemTime> {
        self.agenda.first().map(|(due, _)| *due)
    }

    /// Returns the webhooks without events since their position in the store.
    pub(crate) fn idle_webhooks(&self) -> Vec<u64> {
        let idle = |e: &&ScheduledWebhook| {
            !e.waiting() && e.lease == 0 && e.stored_position < self.scanned
        };
        let ids = self.entries.values().filter(idle).map(|e| e.webhook.id);
        ids.collect()
    }

    /// Records that the store has advanced these webhooks to a commit.
    pub(crate) fn mark_advanced(&mut self, ids: &[u64], seq: u64) {
        for id in ids {
            if let Some(entry) = self.entries.get_mut(id) {
                entry.stored_position = entry.stored_position.max(seq);
                let here = JournalPosition { seq, facts: 0 };
                if entry.lease == 0 {
                    entry.webhook.state.position = entry.webhook.state.position.max(here);
                }
            }
        }
    }

    /// Returns the commit up to which no webhook needs the journal any more.
    pub(crate) fn journal_needed_up_to(&self) -> u64 {
        let saved = self.entries.values().map(|e| e.stored_position).min();
        saved.unwrap_or(u64::MAX)
    }
}
