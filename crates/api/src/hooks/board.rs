//! The board: every webhook in memory, what waits for it, and when it is its turn.
//!
//! It is made from the store at start and follows each change, so finding out whether a commit
//! concerns a webhook costs no read. One attempt at a time holds a webhook, by a lease with a number:
//! when its holder dies, the lease ends, and what the dead holder would still say is not believed.
use super::recent::Recent;
use std::collections::{BTreeSet, HashMap};
use std::time::SystemTime;
use workgraph_core::Gid;
use workgraph_core::feed::{Said, said};
use workgraph_core::graph::{Event, Fact};
use workgraph_core::resources::resource;
use workgraph_webhooks::hook::LEASE;
use workgraph_webhooks::{Hook, Occurrence, Position, State};

/// What filters see of a fact.
pub(crate) fn occurrence<'e>(event: &'e Event, fact: &Fact, said: &Said) -> Occurrence<'e> {
    Occurrence {
        resource_type: resource(fact.ty).name,
        resource_subtype: event.about(fact.gid).and_then(|a| a.subtype.as_deref()),
        action: said.action,
        field: said.change.map(|c| c.field),
    }
}

#[derive(Debug)]
struct Entry {
    hook: Hook,
    /// The last commit that concerns it.
    noted: u64,
    /// Its place in the agenda.
    due: SystemTime,
    /// The number of the attempt that holds it, 0 for none.
    lease: u64,
    /// How often its next delivery is halved, because it took too long to put a larger one together.
    narrowed: u32,
    /// Where the store has it.
    saved: u64,
}

impl Entry {
    fn waiting(&self) -> bool {
        self.noted > self.hook.state.position.seq
    }

    fn plan(&mut self, due: SystemTime, agenda: &mut Agenda) {
        if self.due != due {
            agenda.remove(&(self.due, self.hook.id));
            self.due = due;
            agenda.insert((due, self.hook.id));
        }
    }

    /// Notes a commit that concerns it.
    fn note(&mut self, seq: u64, agenda: &mut Agenda) {
        let free = self.lease == 0;
        if free && !self.waiting() {
            // Nothing before this commit concerned it.
            let before = Position {
                seq: seq - 1,
                facts: 0,
            };
            self.hook.state.position = self.hook.state.position.max(before);
        }
        self.noted = self.noted.max(seq);
        if free {
            self.plan(self.hook.due(true), agenda);
        }
    }
}

/// Whose turn is when.
type Agenda = BTreeSet<(SystemTime, u64)>;

/// An attempt that was begun.
#[derive(Clone, Debug)]
pub struct Taken {
    pub(crate) hook: Hook,
    pub(crate) waiting: bool,
    pub(crate) lease: u64,
    pub(crate) narrowed: u32,
}

impl Taken {
    /// The gid of the webhook.
    #[must_use]
    pub fn webhook(&self) -> u64 {
        self.hook.id
    }
}

#[derive(Debug, Default)]
pub(crate) struct Board {
    entries: HashMap<u64, Entry>,
    /// Webhooks by what they watch.
    on: HashMap<u64, Vec<u64>>,
    agenda: Agenda,
    /// What was looked at last.
    pub(crate) recent: Recent,
    /// The last commit that was looked at.
    pub(crate) scanned: u64,
    leases: u64,
}

impl Board {
    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Adds webhooks, or puts others in their place. Those that begin before what was looked at last
    /// are taken to have something waiting: an attempt finds out.
    pub(crate) fn put(&mut self, hooks: Vec<Hook>) {
        if self.entries.is_empty() {
            let first = hooks.iter().map(|h| h.state.position.seq).min();
            self.scanned = first.unwrap_or(self.scanned);
        }
        for hook in hooks {
            self.remove(hook.id);
            let seq = hook.state.position.seq;
            let noted = if seq < self.scanned { self.scanned } else { 0 };
            self.on.entry(hook.resource).or_default().push(hook.id);
            let due = hook.due(noted > seq);
            self.agenda.insert((due, hook.id));
            let entry = Entry {
                noted,
                due,
                lease: 0,
                narrowed: 0,
                saved: seq,
                hook,
            };
            self.entries.insert(entry.hook.id, entry);
        }
    }

    pub(crate) fn remove(&mut self, id: u64) {
        let Some(entry) = self.entries.remove(&id) else {
            return;
        };
        self.agenda.remove(&(entry.due, id));
        if let Some(ids) = self.on.get_mut(&entry.hook.resource) {
            ids.retain(|i| *i != id);
            if ids.is_empty() {
                self.on.remove(&entry.hook.resource);
            }
        }
    }

    /// Replaces the filters of a webhook.
    pub(crate) fn filter(&mut self, hook: &Hook) {
        if let Some(entry) = self.entries.get_mut(&hook.id) {
            entry.hook.filters.clone_from(&hook.filters);
        }
    }

    fn plan(&mut self, id: u64, due: SystemTime) {
        if let Some(entry) = self.entries.get_mut(&id) {
            entry.plan(due, &mut self.agenda);
        }
    }

    /// Notes whom a commit concerns.
    pub(crate) fn note(&mut self, event: Event) {
        self.scanned = self.scanned.max(event.seq);
        let named = event.nodes.iter();
        let named = named.flat_map(|n| std::iter::once(n.gid).chain(n.within.iter().copied()));
        let mut places: Vec<Gid> = named
            .filter(|gid| self.on.contains_key(&gid.get()))
            .collect();
        places.sort_unstable();
        places.dedup();
        for at in places {
            // Once for each place, however many webhooks it has.
            let heard = event.facts.iter().filter(|fact| event.reaches(fact, at));
            let heard: Vec<Occurrence<'_>> = heard
                .filter_map(|fact| Some(occurrence(&event, fact, &said(fact)?)))
                .collect();
            for id in self.on.get(&at.get()).into_iter().flatten() {
                if let Some(entry) = self.entries.get_mut(id)
                    && event.seq > entry.hook.state.position.seq
                    && heard.iter().any(|told| entry.hook.wants(told))
                {
                    entry.note(event.seq, &mut self.agenda);
                }
            }
        }
        self.recent.put(event);
    }

    /// Begins an attempt for whoever's turn it is. Until the lease ends nobody else gets it.
    pub(crate) fn take(&mut self, now: SystemTime) -> Option<Taken> {
        let (due, id) = *self.agenda.first()?;
        if due > now {
            return None;
        }
        self.lease(id, now)
    }

    /// Begins an attempt for a webhook.
    pub(crate) fn lease(&mut self, id: u64, now: SystemTime) -> Option<Taken> {
        self.leases += 1;
        let lease = self.leases;
        let entry = self.entries.get_mut(&id)?;
        entry.lease = lease;
        let taken = Taken {
            hook: entry.hook.clone(),
            waiting: entry.waiting(),
            lease,
            narrowed: entry.narrowed,
        };
        self.plan(id, now + LEASE);
        Some(taken)
    }

    /// Whether an attempt is under way.
    pub(crate) fn is_leased(&self, id: u64, now: SystemTime) -> bool {
        let entry = self.entries.get(&id);
        entry.is_some_and(|e| e.lease != 0 && e.due > now)
    }

    /// Begins the lease of an attempt anew; false if the attempt holds its webhook no more.
    pub(crate) fn renew(&mut self, taken: &Taken, now: SystemTime) -> bool {
        let holds = self.holds(taken);
        if holds {
            self.plan(taken.hook.id, now + LEASE);
        }
        holds
    }

    /// Whether an attempt still holds its webhook.
    pub(crate) fn holds(&self, taken: &Taken) -> bool {
        let entry = self.entries.get(&taken.hook.id);
        entry.is_some_and(|e| e.lease == taken.lease)
    }

    /// Ends an attempt for which nothing was sent: the next one begins as soon as this one might have, and is half as
    /// large.
    pub(crate) fn narrow(&mut self, taken: &Taken) {
        if !self.holds(taken) {
            return;
        }
        let id = taken.hook.id;
        if let Some(entry) = self.entries.get_mut(&id) {
            entry.lease = 0;
            entry.narrowed = taken.narrowed + 1;
            let due = entry.hook.due(entry.waiting());
            self.plan(id, due);
        }
    }

    /// Ends an attempt. `saved`: the store has the state, too.
    pub(crate) fn settle(&mut self, taken: &Taken, state: State, saved: bool) {
        if !self.holds(taken) {
            return;
        }
        let id = taken.hook.id;
        if let Some(entry) = self.entries.get_mut(&id) {
            entry.lease = 0;
            entry.narrowed = taken.narrowed.saturating_sub(1);
            if saved {
                entry.saved = state.position.seq;
            }
            entry.hook.state = state;
            let due = entry.hook.due(entry.waiting());
            self.plan(id, due);
        }
    }

    /// When the next attempt is due.
    pub(crate) fn next(&self) -> Option<SystemTime> {
        self.agenda.first().map(|(due, _)| *due)
    }

    /// Webhooks for which nothing happened since the store heard of them last.
    pub(crate) fn idle(&self) -> Vec<u64> {
        let idle = |e: &&Entry| !e.waiting() && e.lease == 0 && e.saved < self.scanned;
        let ids = self.entries.values().filter(idle).map(|e| e.hook.id);
        ids.collect()
    }

    /// The store has these webhooks at a commit.
    pub(crate) fn advanced(&mut self, ids: &[u64], seq: u64) {
        for id in ids {
            if let Some(entry) = self.entries.get_mut(id) {
                entry.saved = entry.saved.max(seq);
                let here = Position { seq, facts: 0 };
                if entry.lease == 0 {
                    entry.hook.state.position = entry.hook.state.position.max(here);
                }
            }
        }
    }

    /// The commit up to which nobody needs the journal any more.
    pub(crate) fn told(&self) -> u64 {
        let saved = self.entries.values().map(|e| e.saved).min();
        saved.unwrap_or(u64::MAX)
    }
}
