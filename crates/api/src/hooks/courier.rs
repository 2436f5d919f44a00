//! Delivering: from the journal to the targets.
//!
//! What waits for a webhook is what the journal has after its position; there is no second queue
//! that could differ from it. The position moves when a target has acknowledged, in the store before
//! anywhere else: a crash in between means that a target hears something again, never that it does
//! not hear it.
use super::board::{Taken, occurrence};
use super::{Hooks, lock};
use crate::events::{Place, Records, Told, told};
use crate::fault::Failure;
use crate::pipeline::Api;
use bytes::Bytes;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime};
use workgraph_core::access::Level;
use workgraph_core::gid::GID_END;
use workgraph_core::graph::{Event, Feed, Ref, ViewerKey, Want};
use workgraph_core::plan::{self, Plan};
use workgraph_core::project::Projector;
use workgraph_core::{Gid, Type};
use workgraph_webhooks::hook::TIMEOUT;
use workgraph_webhooks::sign::{SIGNATURE_HEADER, is_success, signature};
use workgraph_webhooks::{Attempt, Delivery, Failed, Hook, Position, Replied, Standing, Target};

/// The most events of one delivery.
const MOST: usize = 100;
/// The most commits that are looked at for one delivery.
const SCAN: usize = 50_000;
/// How many commits are read at once when looking whom they concern.
const READ: usize = 500;
/// The events of a delivery by their stable ids, and the number of the attempt; only where the
/// operator wants them.
const EVENT_IDS_HEADER: &str = "X-Workgraph-Event-Ids";
const ATTEMPT_HEADER: &str = "X-Workgraph-Attempt";

/// The events of a delivery.
struct Batch {
    body: Vec<u8>,
    ids: String,
    count: u32,
    to: Position,
}

impl Batch {
    fn empty(to: Position) -> Self {
        Self {
            body: br#"{"events":[]}"#.to_vec(),
            ids: String::new(),
            count: 0,
            to,
        }
    }
}

impl From<Place> for Position {
    fn from(place: Place) -> Self {
        Self {
            seq: place.seq,
            facts: place.facts,
        }
    }
}

/// Everything that happened at a place and was not told yet, in the form of deliveries.
fn bare() -> Arc<Plan> {
    static PLAN: OnceLock<Arc<Plan>> = OnceLock::new();
    Arc::clone(PLAN.get_or_init(|| Arc::new(plan::full(Type::Event).bare())))
}

impl Api {
    /// Looks at what was committed since the last time, and notes which webhooks it concerns.
    ///
    /// # Errors
    /// When the store fails; the text is for the log.
    pub async fn hear(&self) -> Result<(), String> {
        let Some(hooks) = self.hooks.get() else {
            return Ok(());
        };
        loop {
            let after = {
                let board = lock(&hooks.board);
                if board.is_empty() {
                    return Ok(());
                }
                board.scanned
            };
            let events = self.graph.events(after, READ).await;
            let events = events.map_err(|e| e.to_string())?;
            let mut board = lock(&hooks.board);
            let count = events.len();
            for event in events {
                board.note(event);
            }
            if count < READ {
                return Ok(());
            }
        }
    }

    /// Begins an attempt, if one is due.
    #[must_use]
    pub fn take_delivery(&self) -> Option<Taken> {
        let hooks = self.hooks.get()?;
        lock(&hooks.board).take(self.clock.now())
    }

    /// When the next attempt is due; none if there are no webhooks.
    #[must_use]
    pub fn next_delivery(&self) -> Option<SystemTime> {
        lock(&self.hooks.get()?.board).next()
    }

    /// Carries out an attempt and notes what came of it.
    ///
    /// # Errors
    /// When a store fails: the attempt counts as not made, and is made again when its lease ends.
    pub async fn deliver(&self, taken: &Taken) -> Result<(), String> {
        let Some(hooks) = self.hooks.get() else {
            return Ok(());
        };
        let hook = &taken.hook;
        let standing = hooks.store.standing(hook.id).await;
        let standing = standing.map_err(|e| e.to_string())?;
        if standing == Standing::Gone {
            lock(&hooks.board).remove(hook.id);
            return Ok(());
        }
        let from = hook.state.position;
        let batch = if taken.waiting {
            self.batch(hook, standing, from, None).await?
        } else {
            Batch::empty(from)
        };
        if batch.count == 0 && hook.due(false) > self.clock.now() {
            // What happened is not for its owner to see; nothing to send.
            let mut state = hook.state.clone();
            state.position = state.position.max(batch.to);
            lock(&hooks.board).settle(taken, state, false);
            return Ok(());
        }
        let to = batch.to;
        let (outcome, mut line) = self.attempt(hooks, hook, batch).await;
        let now = self.clock.now();
        line.from = from;
        let next = match &outcome {
            Ok(_) => Some(hook.state.succeeded(now, to)),
            Err((why, wait)) => {
                let random: [u8; 8] = self.random().map_err(|_| "no random bytes".to_owned())?;
                let random = u64::from_le_bytes(random);
                hook.state.failed(now, why, *wait, random)
            }
        };
        if !lock(&hooks.board).holds(taken) {
            // Another attempt has it by now.
            return Ok(());
        }
        let Some(state) = next else {
            tracing::info!(
                webhook = hook.id,
                "deleted after a day of failing deliveries"
            );
            hooks
                .store
                .remove(hook.id)
                .await
                .map_err(|e| e.to_string())?;
            lock(&hooks.board).remove(hook.id);
            return Ok(());
        };
        let kept = hooks.store.settle(hook.id, state.clone(), Some(line)).await;
        match kept {
            Ok(true) => lock(&hooks.board).settle(taken, state, true),
            Ok(false) => lock(&hooks.board).remove(hook.id),
            Err(e) => return Err(e.to_string()),
        }
        Ok(())
    }

    /// Sends a batch; gives why it failed and how long the target wants to be left alone, and the
    /// line for the log.
    async fn attempt(
        &self,
        hooks: &Hooks,
        hook: &Hook,
        batch: Batch,
    ) -> (Result<(), (String, Option<Duration>)>, Delivery) {
        let number = hook.state.retries.saturating_add(1);
        let mut line = Delivery {
            id: 0,
            hook: hook.id,
            at: self.clock.now(),
            from: hook.state.position,
            to: batch.to,
            events: batch.count,
            attempt: number,
            status: None,
            error: String::new(),
        };
        let mut headers = vec![(SIGNATURE_HEADER, signature(&hook.secret, &batch.body))];
        if hooks.settings.event_ids {
            headers.push((EVENT_IDS_HEADER, batch.ids));
            headers.push((ATTEMPT_HEADER, number.to_string()));
        }
        let answer = match Target::parse(&hook.target) {
            None => Err(Failed::NotAllowed),
            Some(target) => {
                let attempt = Attempt {
                    target,
                    headers,
                    body: Bytes::from(batch.body),
                    timeout: TIMEOUT,
                };
                hooks.deliver.post(attempt).await
            }
        };
        let outcome = match answer {
            Ok(Replied { status, .. }) if is_success(status) => {
                line.status = Some(status);
                Ok(())
            }
            Ok(reply) => {
                line.status = Some(reply.status);
                let why = if reply.content.trim().is_empty() {
                    format!("HTTP {}", reply.status)
                } else {
                    reply.content
                };
                Err((why, reply.retry_after.map(Duration::from_secs)))
            }
            Err(failed) => Err((failed.to_string(), None)),
        };
        if let Err((why, _)) = &outcome {
            line.error = why.chars().take(200).collect();
        }
        (outcome, line)
    }

    /// The events after a position that a webhook is for and its owner may see.
    async fn batch(
        &self,
        hook: &Hook,
        standing: Standing,
        after: Position,
        end: Option<Position>,
    ) -> Result<Batch, String> {
        let (Some(at), Some(user)) = (Gid::new(hook.resource), Gid::new(hook.user)) else {
            return Ok(Batch::empty(after));
        };
        let ask = Feed {
            about: at,
            after: after.seq,
            limit: MOST + 1,
            scan: SCAN,
        };
        let (events, upto) = self.fed(hook, ask).await?;
        let place = Place {
            seq: after.seq,
            facts: after.facts,
        };
        let mut all = told(events.iter().map(AsRef::as_ref), at, place).filter(|t| {
            hook.wants(&occurrence(t.event, t.fact, &t.said))
                && end.is_none_or(|end| Position::from(t.then) <= end)
        });
        let some: Vec<Told<'_>> = all.by_ref().take(MOST).collect();
        let rest = all.next().is_some();
        let to = match some.last() {
            Some(last) if rest => last.then.into(),
            _ => Position {
                seq: upto.max(after.seq),
                facts: if upto > after.seq { 0 } else { after.facts },
            },
        };
        if standing != Standing::Good || some.is_empty() {
            return Ok(Batch::empty(to));
        }
        let seen = self.seen(hook, at, user, &some).await;
        let Some(records) = seen.map_err(|f| format!("{f:?}"))? else {
            return Ok(Batch::empty(to));
        };
        let out = Vec::with_capacity(32 + records.gids.len() * 320);
        let mut out = [out, br#"{"events":"#.to_vec()].concat();
        out.reserve(records.gids.len() * 320);
        let mut projector = Projector::onto(out, &records.view, &self.settings.base_url);
        projector.list(&records.gids, &bare());
        let (mut body, _) = projector.finish();
        body.push(b'}');
        let id = |gid: &Gid| {
            let told = some.get(usize::try_from(GID_END - 1 - gid.get()).ok()?)?;
            Some(format!("{}-{}", told.event.seq, told.index))
        };
        let ids: Vec<String> = records.gids.iter().filter_map(id).collect();
        Ok(Batch {
            body,
            ids: ids.join(","),
            count: u32::try_from(records.gids.len()).unwrap_or(u32::MAX),
            to,
        })
    }

    /// The commits about what a webhook watches, and up to which they were looked at: from memory if
    /// all of them are there.
    async fn fed(&self, hook: &Hook, ask: Feed) -> Result<(Vec<Arc<Event>>, u64), String> {
        let hooks = self.hooks.get();
        if let Some(found) = hooks.and_then(|h| lock(&h.board).recent.feed(ask)) {
            return Ok(found);
        }
        let fed = self.graph.feed(ask).await.map_err(|e| e.to_string())?;
        if ask.after < fed.pruned {
            tracing::warn!(
                webhook = hook.id,
                "events were dropped before they were told"
            );
        }
        Ok((fed.events.into_iter().map(Arc::new).collect(), fed.upto))
    }

    /// The events as their webhook's owner may see them; none if they may see nothing.
    async fn seen(
        &self,
        hook: &Hook,
        at: Gid,
        user: Gid,
        some: &[Told<'_>],
    ) -> Result<Option<Records>, Failure> {
        let key = ViewerKey {
            user,
            service: hook.service.and_then(Gid::new),
        };
        let want = Want::of(key).node(at);
        let mut records = match Records::load(self, want, at, some, &bare()).await {
            Ok(records) => records,
            // No seat anywhere: nothing to see.
            Err(Failure::Unauthorized(..)) => return Ok(None),
            Err(failure) => return Err(failure),
        };
        match records.view.resolve(&Ref::Gid(at)) {
            Some(at) if records.view.level(at) == Level::None => return Ok(None),
            Some(_) => {}
            // What was watched is gone: its end is the last thing to tell.
            None => records.gids.retain(|gid| {
                let told = usize::try_from(GID_END - 1 - gid.get()).ok();
                told.and_then(|i| some.get(i))
                    .is_some_and(|t| t.fact.gid == at)
            }),
        }
        Ok(Some(records).filter(|r| !r.gids.is_empty()))
    }

    /// Sends the events of a logged delivery once more, beside what waits.
    ///
    /// # Errors
    /// Says why not: there is no such delivery, an attempt is under way, or the target failed.
    pub async fn redeliver(&self, id: u64, delivery: u64) -> Result<u32, String> {
        let hooks = self.hooks.get().ok_or("there are no webhooks here")?;
        let log = hooks.store.deliveries(id, 10_000).await;
        let log = log.map_err(|e| e.to_string())?;
        let line = log.iter().find(|d| d.id == delivery);
        let line = line.ok_or_else(|| format!("{delivery}: the log has no such delivery"))?;
        let standing = hooks.store.standing(id).await;
        let standing = standing.map_err(|e| e.to_string())?;
        if standing == Standing::Suspended {
            return Err(format!("{id}: its owner's account or its app is off"));
        }
        let taken = {
            let (mut board, now) = (lock(&hooks.board), self.clock.now());
            if board.is_leased(id, now) {
                return Err("a delivery is under way; try again in a moment".to_owned());
            }
            board.lease(id, now)
        };
        let taken = taken.ok_or_else(|| format!("{id}: there is no such webhook"))?;
        let state = taken.hook.state.clone();
        let batch = self
            .batch(&taken.hook, standing, line.from, Some(line.to))
            .await;
        let outcome = match batch {
            Ok(batch) if batch.count > 0 => {
                let (outcome, mut again) = self.attempt(hooks, &taken.hook, batch).await;
                (again.from, again.to) = (line.from, line.to);
                let events = again.events;
                let kept = hooks.store.settle(id, state.clone(), Some(again)).await;
                kept.map_err(|e| e.to_string())
                    .and_then(|_| outcome.map(|()| events).map_err(|(why, _)| why))
            }
            Ok(_) => Err("its events are not in the journal any more".to_owned()),
            Err(why) => Err(why),
        };
        lock(&hooks.board).settle(&taken, state, true);
        outcome
    }

    /// What is to be done now and then: idle webhooks move on in the store, old lines of the log are
    /// dropped. Gives the commit up to which webhooks need the journal no more.
    ///
    /// # Errors
    /// When the store fails; the text is for the log.
    pub async fn keep_hooks(&self) -> Result<u64, String> {
        let Some(hooks) = self.hooks.get() else {
            return Ok(u64::MAX);
        };
        let (ids, seq) = {
            let board = lock(&hooks.board);
            (board.idle(), board.scanned)
        };
        for some in ids.chunks(256) {
            let moved = hooks.store.advance(some.to_vec(), seq).await;
            moved.map_err(|e| e.to_string())?;
            lock(&hooks.board).advanced(some, seq);
        }
        let before = self.clock.now().checked_sub(hooks.settings.log_retention);
        let before = before.unwrap_or(SystemTime::UNIX_EPOCH);
        hooks.store.sweep(before).await.map_err(|e| e.to_string())?;
        Ok(lock(&hooks.board).told())
    }
}
