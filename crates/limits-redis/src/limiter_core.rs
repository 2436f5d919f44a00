//! Admission in Redis, or by this node's part of each limit when Redis does not answer.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU32, AtomicU64};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;
use redis::{Value, pipe};
use tokio::sync::mpsc::Receiver;
use tokio::time::MissedTickBehavior;
use workgraph_limits::shared_limiter::{AdmissionFigures, RequestPart, SharedDecision, SharedMode};
use workgraph_limits::{LimitExceeded, LocalLimits, Permit, SharedRequest};

use crate::awaited_answer::AwaitedAnswer;
use crate::breaker::Breaker;
use crate::connection::{CallError, CallResult, RedisLink};
use crate::part_refusals::PartRefusals;
use crate::protocol::{
    AdmissionReply, CallTime, FunctionFigures, Protocol, Settlement, deadline, read_admission,
};
use crate::settlements::{RedisPermit, SettlementQueue, TOGETHER_MAX};

#[derive(Debug)]
pub(crate) struct LimiterCore {
    pub(crate) link: RedisLink,
    pub(crate) protocol: Protocol,
    pub(crate) breaker: Breaker,
    pub(crate) queue: SettlementQueue,
    pub(crate) timeout: Duration,
    pub(crate) local_time: bool,
    pub(crate) processes: AtomicU32,
    pub(crate) started: Instant,
    /// Latest time of a decision, if this process uses its own clock.
    pub(crate) given_time: AtomicU64,
    pub(crate) shared: AtomicU64,
    pub(crate) local: AtomicU64,
    pub(crate) failures: AtomicU64,
    /// Name of the server's data, as of the last connection.
    pub(crate) server_id: Mutex<String>,
    pub(crate) part_refusals: PartRefusals,
}

impl LimiterCore {
    pub(crate) fn elapsed(&self) -> u64 {
        if self.local_time {
            return self.given_time.load(Relaxed);
        }
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Returns the time of a call: the time of Redis, unless this process uses its own clock.
    pub(crate) fn time(&self, now: SystemTime) -> CallTime {
        let since = || now.duration_since(UNIX_EPOCH).unwrap_or_default();
        self.local_time
            .then(|| u64::try_from(since().as_millis()).unwrap_or(u64::MAX))
    }

    /// Decides about a request within the rate limits of all nodes, in Redis, or only within the limits of this process if
    /// Redis is unavailable.
    pub(crate) async fn admit(
        &self,
        request: &SharedRequest<'_>,
        local: LocalLimits<'_>,
        now: SystemTime,
    ) -> Result<Permit, LimitExceeded> {
        let figures = local.limiter.figures(&request.request);
        if let Some(given) = self.time(now) {
            self.given_time.fetch_max(given, Relaxed);
        }
        let mode = self.breaker.mode(self.elapsed());
        let places = FunctionFigures::of(&figures).filter(|_| mode != SharedMode::Local);
        let Some(places) = places else {
            return self.decide_alone(request, &figures, local, now);
        };
        let is_cautious = mode == SharedMode::Cautious;
        let call = self
            .protocol
            .admit(request, &places, is_cautious, self.time(now));
        let ended = Settlement {
            key: *request.request.key(),
            deadline: deadline(&figures),
            slots: places.slots(),
            ..Settlement::default()
        };
        let asked = AwaitedAnswer::new(self.link.call(call), ended, self.queue.clone());
        let Some(reply) = self.ask(asked).await else {
            return self.decide_alone(request, &figures, local, now);
        };
        let Some(reply) = read_admission(&reply) else {
            self.note_failure();
            return self.decide_alone(request, &figures, local, now);
        };
        self.shared.fetch_add(1, Relaxed);
        match reply {
            AdmissionReply::Admitted {
                at,
                shadowed,
                next_wait_ms,
            } => {
                let remote = Box::new(self.permit(request, &places, at));
                if is_cautious {
                    let part = RequestPart::of(request, &figures, self.processes.load(Relaxed));
                    let own = local.admit(&part.request(request), now);
                    self.part_refusals.note(self.elapsed(), own.is_err());
                    return own
                        .map(|permit| permit.with_shared(remote))
                        .map_err(|refusal| refusal.with_min_wait(next_wait_ms));
                }
                let decision = SharedDecision {
                    refused: None,
                    shadowed: &places.limits_of(shadowed),
                };
                let permit = local.limiter.record(&request.request, &decision, now);
                if let Some((owner, shares)) = request.owner {
                    local.totals.charge(owner, shares, now);
                }
                match permit {
                    Some(permit) => Ok(permit.with_shared(remote)),
                    None => self.decide_alone(request, &figures, local, now),
                }
            }
            AdmissionReply::Refused {
                limit,
                mut wait_ms,
                shadowed,
            } => {
                let Some(limit) = places.limit(limit) else {
                    self.note_failure();
                    return self.decide_alone(request, &figures, local, now);
                };
                let decision = SharedDecision {
                    refused: Some(limit),
                    shadowed: &places.limits_of(shadowed),
                };
                local.limiter.record(&request.request, &decision, now);
                if is_cautious {
                    let part = RequestPart::of(request, &figures, self.processes.load(Relaxed));
                    wait_ms = wait_ms.max(local.wait(&part.request(request), now));
                }
                Err(LimitExceeded::new(limit, wait_ms))
            }
        }
    }

    /// Decides in this process alone, with its part of each quota.
    fn decide_alone(
        &self,
        request: &SharedRequest<'_>,
        figures: &AdmissionFigures,
        local: LocalLimits<'_>,
        now: SystemTime,
    ) -> Result<Permit, LimitExceeded> {
        self.local.fetch_add(1, Relaxed);
        let part = RequestPart::of(request, figures, self.processes.load(Relaxed));
        let own = local.admit(&part.request(request), now);
        self.part_refusals.note(self.elapsed(), own.is_err());
        own
    }

    fn permit(
        &self,
        request: &SharedRequest<'_>,
        places: &FunctionFigures<'_>,
        at: u64,
    ) -> RedisPermit {
        RedisPermit {
            queue: self.queue.clone(),
            key: *request.request.key(),
            deadline: at.saturating_add(deadline(places.all)),
            slots: places.slots(),
            cost: 0,
            rate: places.all.credits.unwrap_or(0),
            length_ms: places.all.cost_length_ms,
            owner: request
                .owner
                .map(|(owner, shares)| places.owner_cost(*owner, shares)),
        }
    }

    /// Waits for the answer to a call, up to the timeout.
    pub(crate) async fn ask(&self, call: impl Future<Output = CallResult>) -> Option<Value> {
        match tokio::time::timeout(self.timeout, call).await {
            Ok(Ok(reply)) => return Some(reply),
            Ok(Err((CallError::Lost, number))) => self.note_loss(number),
            Ok(Err((CallError::Failed, _))) | Err(_) => {}
        }
        self.note_failure();
        None
    }

    fn note_failure(&self) {
        self.failures.fetch_add(1, Relaxed);
        self.breaker.note_failure(self.elapsed());
    }

    pub(crate) fn note_loss(&self, number: u64) {
        // A failure of an earlier connection does not affect this one.
        if self.link.close(number) || !self.link.is_open() {
            self.breaker.note_loss();
        }
    }
}

/// Sends ends of requests as they arrive, until the queue is closed.
pub(crate) async fn send_ends(core: Arc<LimiterCore>, mut ends: Receiver<Settlement>) {
    let mut together = Vec::with_capacity(TOGETHER_MAX);
    while ends.recv_many(&mut together, TOGETHER_MAX).await > 0 {
        if core.breaker.mode(core.elapsed()) == SharedMode::Local {
            // Their slots become free at their deadlines. Their costs are charged to no shared balance, since each node decides
            // alone in this time.
            together.clear();
            continue;
        }
        let mut calls = pipe();
        for ended in together.drain(..) {
            calls.add_command(core.protocol.settle(&ended, core.local_time.then_some(0)));
        }
        match core.link.call_all(&calls).await {
            Err((CallError::Lost, number)) => core.note_loss(number),
            Err(_) => core.note_failure(),
            Ok(_) => {}
        }
    }
}

/// Number of unanswered probes after which a connection is closed.
const SILENT_PROBES: u32 = 5;

/// Maintains the breaker: while it is open, Redis is asked periodically, and reconnected if needed.
pub(crate) async fn probe(core: Arc<LimiterCore>, interval: Duration) {
    let (mut unanswered, mut is_another) = (0, false);
    let mut turns = tokio::time::interval(interval);
    turns.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        turns.tick().await;
        if core.breaker.mode(core.elapsed()) != SharedMode::Local {
            continue;
        }
        if !core.link.is_open() {
            let Ok(report) = core.link.connect(&core.protocol).await else {
                continue;
            };
            let mut known = core.server_id.lock();
            is_another |= *known != report.server_id;
            *known = report.server_id;
        }
        // A Redis that answers but accepts no changes, for instance without free memory, would fail each decision.
        let asked = core.link.call(core.protocol.trial());
        match tokio::time::timeout(core.timeout, asked).await {
            Ok(Ok(_)) => {
                unanswered = 0;
                core.breaker
                    .close(core.elapsed(), std::mem::take(&mut is_another));
            }
            Ok(Err((CallError::Lost, number))) => core.note_loss(number),
            Ok(Err((CallError::Failed, _))) => {}
            Err(_) => unanswered += 1,
        }
        // If the other end disappears silently, a connection may stay silent for a quarter of an hour.
        if unanswered == SILENT_PROBES {
            unanswered = 0;
            core.link.close_any();
            core.breaker.note_loss();
        }
    }
}
