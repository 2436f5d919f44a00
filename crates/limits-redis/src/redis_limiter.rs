//! `RedisLimiter`: the public type, its connection and its tasks.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU32, AtomicU64};
use std::time::{Duration, Instant, SystemTime};

use parking_lot::Mutex;
use tokio::task::AbortHandle;
use workgraph_limits::shared_limiter::{
    AttemptOutcome, AttemptReceipt, SharedAnswer, SharedAttempt, SharedCounts, SharedMode,
};
use workgraph_limits::{
    AdmissionRequest, DigestLimiter, LimitExceeded, LimitKey, LimiterState, LocalLimits, Permit,
    SharedLimiter, SharedRequest,
};

use crate::account_state;
use crate::breaker::{Breaker, CAUTION_MS};
use crate::connect_error::ConnectError;
use crate::connection::RedisLink;
use crate::functions;
use crate::limiter_core::{LimiterCore, probe, send_ends};
use crate::part_refusals::PartRefusals;
use crate::protocol::{AdmissionReply, Protocol, Settlement, read_admission};
use crate::settings::RedisLimiterSettings;
use crate::settlements::SettlementQueue;

/// Limiter of several processes, in Redis or Valkey.
///
/// It requires a Tokio runtime, on which it keeps its connection until it is dropped.
#[derive(Debug)]
pub struct RedisLimiter {
    core: Arc<LimiterCore>,
    tasks: [AbortHandle; 2],
}

impl RedisLimiter {
    /// Connects to Redis, loads the functions and tries them. Also returns warnings. For a minute after the first process
    /// connected to this Redis, each process must also agree with its part of each quota: another Redis with more counts may
    /// have been used before. Callers that know better set that time with [`be_cautious_for`](Self::be_cautious_for).
    ///
    /// # Errors
    /// Fails with a [`ConnectError`] that says what to do.
    pub async fn connect(
        settings: &RedisLimiterSettings,
    ) -> Result<(Self, Vec<&'static str>), ConnectError> {
        Self::connect_with(settings, CAUTION_MS).await
    }

    pub(crate) async fn connect_with(
        settings: &RedisLimiterSettings,
        caution_ms: u64,
    ) -> Result<(Self, Vec<&'static str>), ConnectError> {
        let functions = functions::current();
        let trusted = settings.root_certificates.as_deref();
        let link = RedisLink::new(&settings.url, trusted, functions, settings.connect_timeout)?;
        let protocol = Protocol::new(&settings.prefix, functions);
        let report = link.connect(&protocol).await?;
        let knows_for = milliseconds(report.knows_for);
        let breaker = Breaker::new(caution_ms);
        breaker.be_cautious_until(caution_ms.saturating_sub(knows_for));
        let (queue, ends) = SettlementQueue::new();
        let core = Arc::new(LimiterCore {
            link,
            protocol,
            breaker,
            queue,
            timeout: settings.timeout,
            local_time: settings.local_time,
            processes: AtomicU32::new(settings.processes.max(1)),
            started: now(),
            given_time: AtomicU64::new(0),
            shared: AtomicU64::new(0),
            local: AtomicU64::new(0),
            failures: AtomicU64::new(0),
            server_id: Mutex::new(report.server_id),
            part_refusals: PartRefusals::default(),
        });
        let sending = tokio::spawn(send_ends(Arc::clone(&core), ends));
        let probing = tokio::spawn(probe(Arc::clone(&core), settings.probe_interval));
        let tasks = [sending.abort_handle(), probing.abort_handle()];
        Ok((Self { core, tasks }, report.warnings))
    }

    /// Sets the number of processes that divide each quota when they decide alone.
    pub fn set_processes(&self, processes: u32) {
        self.core.processes.store(processes.max(1), Relaxed);
    }

    /// Sets how long from now on this process must also agree with its part of each quota, for callers that remember the
    /// previous Redis ([`KnownServer`](crate::KnownServer)).
    pub fn be_cautious_for(&self, time: Duration) {
        let until = self.core.elapsed().saturating_add(milliseconds(time));
        self.core.breaker.be_cautious_until(until);
    }

    /// Returns the name of the data in the Redis of the last connection. It changes when that Redis was restarted,
    /// replaced, or emptied before the connection was made.
    #[must_use]
    pub fn server_id(&self) -> String {
        self.core.server_id.lock().clone()
    }

    /// Returns the address of Redis, without user and password.
    #[must_use]
    pub fn server(&self) -> &str {
        self.core.link.server()
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the breaker measures the time of its own calls; decisions are made at the time of Redis"
)]
fn now() -> Instant {
    Instant::now()
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

impl Drop for RedisLimiter {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
    }
}

impl SharedLimiter for RedisLimiter {
    fn admit<'a>(
        &'a self,
        request: &'a SharedRequest<'a>,
        local: LocalLimits<'a>,
        now: SystemTime,
    ) -> SharedAnswer<'a, Result<Permit, LimitExceeded>> {
        Box::pin(self.core.admit(request, local, now))
    }

    fn attempt(&self, attempt: SharedAttempt) -> SharedAnswer<'_, Option<AttemptOutcome>> {
        Box::pin(async move {
            if self.mode() == SharedMode::Local {
                return None;
            }
            let call = self.core.protocol.attempt(&attempt, None);
            let reply = self.core.ask(self.core.link.call(call)).await?;
            Some(match read_admission(&reply)? {
                AdmissionReply::Admitted { at, .. } => Ok(AttemptReceipt { counted_at: at }),
                AdmissionReply::Refused { wait_ms, .. } => Err(wait_ms),
            })
        })
    }

    fn take_back(&self, key: &LimitKey, receipt: AttemptReceipt) {
        self.core.queue.push(Settlement {
            key: *key,
            undone: 1,
            undone_at: receipt.counted_at,
            ..Settlement::default()
        });
    }

    fn state<'a>(
        &'a self,
        request: AdmissionRequest<'a, LimitKey>,
        local: &'a DigestLimiter,
        now: SystemTime,
    ) -> SharedAnswer<'a, LimiterState> {
        Box::pin(async move {
            let own = local.state(&request, now);
            if self.mode() == SharedMode::Local {
                return own;
            }
            let call = self.core.protocol.state(request.key(), self.core.time(now));
            match self.core.ask(self.core.link.call(call)).await {
                Some(reply) => account_state::read(&reply, &local.figures(&request), own),
                None => own,
            }
        })
    }

    fn mode(&self) -> SharedMode {
        self.core.breaker.mode(self.core.elapsed())
    }

    fn processes(&self) -> u32 {
        self.core.processes.load(Relaxed)
    }

    fn admits_nearly_nothing(&self) -> bool {
        self.core.part_refusals.are_nearly_all(self.core.elapsed())
    }

    fn counts(&self) -> SharedCounts {
        let count = |count: &AtomicU64| count.load(Relaxed);
        SharedCounts {
            shared: count(&self.core.shared),
            local: count(&self.core.local),
            failures: count(&self.core.failures),
        }
    }
}
