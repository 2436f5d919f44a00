//! Delivering: from the journal to the targets.
//!
//! What waits for a webhook is what the journal has after its position; there is no second queue
//! that could differ from it. The position moves when a target has acknowledged, in the store before
//! anywhere else: a crash in between means that a target hears something again, never that it does
//! not hear it.
use super::batch::{Batch, MOST};
use super::board::Taken;
use super::{Hooks, lock};
use crate::pipeline::Api;
use bytes::Bytes;
use std::time::{Duration, SystemTime};
use workgraph_core::MaybeInterrupt;
use workgraph_webhooks::hook::TIMEOUT;
use workgraph_webhooks::sign::{SIGNATURE_HEADER, is_success, signature};
use workgraph_webhooks::{Attempt, Delivery, Failed, Hook, Replied, Standing, Target};

/// How many commits are read at once when looking whom they concern.
const READ: usize = 500;
/// The events of a delivery by their stable ids, and the number of the attempt; only where the
/// operator wants them.
const EVENT_IDS_HEADER: &str = "X-Workgraph-Event-Ids";
const ATTEMPT_HEADER: &str = "X-Workgraph-Attempt";

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
        self.deliver_under(taken, None).await
    }

    /// Carries out an attempt, as [`deliver`](Self::deliver) does, with something that stops the work on what is sent.
    /// When that takes too long, nothing is sent, and the next attempt is half as large.
    ///
    /// # Errors
    /// As for `deliver`; also when the work was abandoned, or took too long for a single event.
    pub async fn deliver_under(
        &self,
        taken: &Taken,
        interrupt: MaybeInterrupt,
    ) -> Result<(), String> {
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
            let narrowed = taken.narrowed;
            let batch = self.batch(hook, standing, (from, None), narrowed, &interrupt);
            match batch.await {
                Err(failure) if failure.is_late() && MOST >> narrowed > 1 => {
                    lock(&hooks.board).narrow(taken);
                    return Ok(());
                }
                batch => batch.map_err(|failure| format!("{failure:?}"))?,
            }
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
        if !lock(&hooks.board).renew(taken, self.clock.now()) {
            // The work took longer than the lease, and another attempt has it by now.
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

    /// Sends the events of a logged delivery once more, beside what waits.
    ///
    /// # Errors
    /// Says why not: there is no such delivery, an attempt is under way, or the target failed.
    pub async fn redeliver(&self, id: u64, delivery: u64) -> Result<u32, String> {
        let hooks = self.hooks.get().ok_or("there are no webhooks here")?;
        let standing = hooks.store.standing(id).await;
        let standing = standing.map_err(|e| e.to_string())?;
        let none = || format!("{id}: there is no such webhook");
        match standing {
            Standing::Gone => return Err(none()),
            Standing::Suspended => {
                return Err(format!("{id}: its owner's account or its app is off"));
            }
            Standing::Good => {}
        }
        let log = hooks.store.deliveries(id, 10_000).await;
        let log = log.map_err(|e| e.to_string())?;
        let line = log.iter().find(|d| d.id == delivery);
        let line = line.ok_or_else(|| format!("{delivery}: the log has no such delivery"))?;
        let taken = {
            let (mut board, now) = (lock(&hooks.board), self.clock.now());
            if board.is_leased(id, now) {
                return Err("a delivery is under way; try again in a moment".to_owned());
            }
            board.lease(id, now)
        };
        let taken = taken.ok_or_else(none)?;
        let state = taken.hook.state.clone();
        let span = (line.from, Some(line.to));
        let batch = self.batch(&taken.hook, standing, span, 0, &None).await;
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
            Err(failure) => Err(format!("{failure:?}")),
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
