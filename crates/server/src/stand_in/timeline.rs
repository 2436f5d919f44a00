//! Timeline of a test world: jobs, deliveries of webhooks, and signatures of the audit log, as its clock moves.
//!
//! Nothing is polled: the next due act follows from the state of the world. Values that are only computed when somebody
//! asks, such as the expiry of a token or the count of a limit, are not acts, and not part of the timeline.
use crate::http::world::World;
use crate::stand_in::delivery_faults::DeliveryFaults;
use crate::stand_in::seeded_entropy::in_stream;
use crate::stand_in::settling::{PATIENCE, Settling};
use crate::stand_in::timeline_defect::TimelineDefect;
use crate::stand_in::virtual_clock::VirtualClock;
use crate::workers::audit_signer::AuditSigner;
use crate::workers::webhook_worker::prune_journal;
use crate::world_start::maintenance::clean_up;
use anyhow::{Result, bail};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::sync::{Mutex, Notify};
use workgraph_api::Clock;
use workgraph_api::job_runner::{JobProgress, NextJob};
use workgraph_core::model::time::Time;

/// Maximum number of acts at one instant: a receiver that answers every delivery with a change would never let a world settle.
const ACTS_MAX: usize = 10_000;
/// Interval between full hours, at which new rows of the audit log are signed.
const HOUR: Duration = Duration::from_secs(3600);
/// Interval between the checks of a timeline with the defect [`TimelineDefect::Polled`].
const TICK: Duration = Duration::from_secs(60);
/// Maximum sleep while the clock runs: the due acts may have changed without a commit.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Act that was due.
pub(crate) struct Happened {
    at: SystemTime,
    act: Act,
}

enum Act {
    /// A job ran to its end.
    Job {
        gid: u64,
        kind: &'static str,
        succeeded: bool,
    },
    /// An attempt to deliver events to a webhook.
    Delivery {
        webhook: u64,
    },
    /// A delivery that a fault had kept back.
    LateDelivery,
    AuditSigned,
}

impl Happened {
    pub(crate) fn json(&self) -> Value {
        let mut row = match &self.act {
            Act::Job {
                gid,
                kind,
                succeeded,
            } => {
                json!({"what": "job", "job": gid.to_string(), "kind": kind, "succeeded": succeeded})
            }
            Act::Delivery { webhook } => {
                json!({"what": "delivery", "webhook": webhook.to_string()})
            }
            Act::LateDelivery => json!({"what": "late_delivery"}),
            Act::AuditSigned => json!({"what": "audit_signed"}),
        };
        if let Some(row) = row.as_object_mut() {
            row.insert("at".to_owned(), time_text(self.at).into());
        }
        row
    }
}

/// Next due act, with its time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct NextDue {
    pub(crate) at: SystemTime,
    pub(crate) what: &'static str,
}

/// Returns a time as replies show it.
pub(crate) fn time_text(time: SystemTime) -> String {
    Time::from_system(time).to_string()
}

/// Timeline of one world: its clock, and the acts that are due.
pub(crate) struct Timeline {
    world: Arc<World>,
    clock: Arc<VirtualClock>,
    audit_signer: Arc<AuditSigner>,
    /// Time for which records of the authorization server are kept after their end.
    remember: Duration,
    deliveries: Arc<DeliveryFaults>,
    /// Lock held while jobs run, with the result of their last run. Requests wait for it.
    jobs: Mutex<JobsSeen>,
    /// Lock held while the clock moves or due acts happen, with the time at which the audit log is signed next.
    turn: Mutex<Option<SystemTime>>,
    /// Notified when a request has ended, and when the clock was changed.
    changed: Notify,
    settling: Settling,
    defect: Option<TimelineDefect>,
}

/// Result of a run of all jobs.
#[derive(Default)]
struct JobsSeen {
    /// Version of the store before the run.
    version: Option<u64>,
    /// Time from which the next job may run.
    next: Option<SystemTime>,
}

impl Timeline {
    /// Returns the timeline of a world with this clock. Nothing else may run jobs or deliver events of this world.
    ///
    /// # Errors
    /// Fails if the store fails.
    pub(crate) async fn new(
        world: Arc<World>,
        clock: Arc<VirtualClock>,
        audit_signer: Arc<AuditSigner>,
        deliveries: Arc<DeliveryFaults>,
        remember: Duration,
    ) -> Result<Self> {
        world.api.release_dead_leases().await?;
        Ok(Self {
            world,
            clock,
            audit_signer,
            deliveries,
            remember,
            jobs: Mutex::default(),
            turn: Mutex::default(),
            changed: Notify::new(),
            settling: Settling::new(),
            defect: TimelineDefect::of_environment(),
        })
    }

    /// Carries out acts as they become due, until the task is aborted.
    pub(crate) async fn follow(self: Arc<Self>) {
        loop {
            // In memory of its own, which is free again while the world waits.
            let next = match Box::pin(self.settle()).await {
                Ok((_, next)) => next,
                Err(error) => {
                    tracing::error!(reason = format!("{error:#}"), "a world does not settle");
                    None
                }
            };
            let nap = match (self.clock.is_running(), next) {
                (false, _) => Duration::MAX,
                (true, None) => LOOK_EVERY,
                (true, Some(next)) => {
                    let left = next.at.duration_since(self.clock.now()).unwrap_or_default();
                    left.clamp(Duration::from_millis(1), LOOK_EVERY)
                }
            };
            // After each wake-up something may be due.
            let _ = tokio::time::timeout(nap, self.changed.notified()).await;
        }
    }

    /// Starts the effects of a request whose reply is complete: a reply never shows what happens after it.
    pub(crate) fn request_ended(&self) {
        self.settling.count_ended();
        self.changed.notify_one();
    }

    /// Starts or stops the clock.
    pub(crate) fn set_running(&self, is_running: bool) {
        self.clock.set_running(is_running);
        self.changed.notify_one();
    }

    /// Completes the effects of earlier requests: waits for deliveries, and runs the jobs that may run now. A request sees
    /// the world only afterwards, so that the order is always the same.
    ///
    /// # Errors
    /// Fails if the store fails.
    pub(crate) async fn finish_former(&self) -> Result<()> {
        self.settling.wait(PATIENCE).await;
        self.run_jobs(&mut Vec::new()).await.map(drop)
    }

    /// Carries out all acts that are due now. Returns them, and the next due act.
    ///
    /// # Errors
    /// Fails if the store fails, or there is no end to the acts at this instant.
    pub(crate) async fn settle(&self) -> Result<(Vec<Happened>, Option<NextDue>)> {
        let mut turn = self.turn.lock().await;
        let mut happened = Vec::new();
        let ended = self.settling.ended();
        let next = self.run_due(&mut turn, &mut happened).await;
        self.settling.note_settled(ended);
        Ok((happened, next?))
    }

    /// Moves the clock to a time, from one due act to the next. Returns the acts that happened, and the next due one.
    ///
    /// # Errors
    /// Fails as [`settle`](Self::settle) does; the clock then stays at the time of the failure.
    pub(crate) async fn advance_to(
        &self,
        target: SystemTime,
    ) -> Result<(Vec<Happened>, Option<NextDue>)> {
        let mut turn = self.turn.lock().await;
        let mut happened = Vec::new();
        loop {
            let next = self.run_due(&mut turn, &mut happened).await?;
            let tick = next_full(TICK, self.clock.now());
            match next {
                _ if self.defect == Some(TimelineDefect::Polled) && tick < target => {
                    self.clock.move_to(tick);
                }
                Some(next) if next.at <= target && next.at > self.clock.now() => {
                    self.clock.move_to(next.at);
                }
                _ if self.clock.now() >= target => {
                    self.clean_up().await;
                    return Ok((happened, next));
                }
                _ => self.clock.move_to(target),
            }
        }
    }

    /// Returns true if no due act is in progress.
    pub(crate) fn is_settled(&self) -> bool {
        self.turn.try_lock().is_ok()
    }

    /// Removes old data, as the hourly maintenance of other servers does.
    async fn clean_up(&self) {
        let api = &self.world.api;
        if let Err(error) = api.flush_token_usage().await {
            let reason = error.to_string();
            tracing::warn!(
                reason,
                "the times of last use of tokens could not be written"
            );
        }
        api.sweep_limits();
        prune_journal(api).await;
        clean_up(&self.world, self.remember).await;
    }

    fn next_delivery(&self) -> Option<SystemTime> {
        let next = self.world.api.next_delivery();
        next.filter(|_| self.defect != Some(TimelineDefect::NoDeliveries))
    }

    /// Carries out all acts that are due now, jobs before deliveries. Returns the next due act.
    async fn run_due(
        &self,
        signing: &mut Option<SystemTime>,
        happened: &mut Vec<Happened>,
    ) -> Result<Option<NextDue>> {
        let api = &self.world.api;
        let first = happened.len();
        let next_job = loop {
            let next_job = self.run_jobs(happened).await?;
            api.scan_commits().await?;
            let at = self.clock.now();
            let is_left_out = self.defect == Some(TimelineDefect::NoDeliveries);
            let attempt = (!is_left_out).then(|| api.take_delivery());
            let Some(attempt) = attempt.flatten() else {
                if self.deliveries.send_due().await {
                    let act = Act::LateDelivery;
                    happened.push(Happened { at, act });
                    continue;
                }
                break next_job;
            };
            let webhook = attempt.webhook();
            let stream = format!("delivery {webhook} {}", time_text(at));
            in_stream(stream, api.deliver(&attempt)).await?;
            happened.push(Happened {
                at,
                act: Act::Delivery { webhook },
            });
            if happened.len() - first > ACTS_MAX {
                bail!(
                    "more than {ACTS_MAX} jobs and deliveries at one instant: each delivery seems to make a change that is delivered again"
                );
            }
        };
        self.sign(signing, happened).await?;
        let due = |at: Option<SystemTime>, what| {
            let at = whole_millisecond(at?);
            Some(NextDue { at, what })
        };
        let all = [
            due(next_job, "job"),
            due(self.next_delivery(), "delivery"),
            due(self.deliveries.next_due(), "late_delivery"),
            due(*signing, "audit_signed"),
        ];
        Ok(all.into_iter().flatten().min())
    }

    /// Signs the audit log if that is due, and determines when it is due next: at the next full hour after a new row.
    async fn sign(
        &self,
        signing: &mut Option<SystemTime>,
        happened: &mut Vec<Happened>,
    ) -> Result<()> {
        let now = self.clock.now();
        if signing.is_some_and(|at| at <= now) {
            self.audit_signer.run_once(true).await;
            *signing = None;
            happened.push(Happened {
                at: now,
                act: Act::AuditSigned,
            });
        }
        if signing.is_none() && self.audit_signer.has_unsigned_rows().await? {
            *signing = Some(next_full(HOUR, now));
        }
        Ok(())
    }

    /// Runs the jobs that may run now, one after the other. Returns the time from which the next one may run.
    async fn run_jobs(&self, happened: &mut Vec<Happened>) -> Result<Option<SystemTime>> {
        let api = &self.world.api;
        let mut seen = self.jobs.lock().await;
        let version = api.version();
        let now = self.clock.now();
        if version.is_some() && seen.version == version && seen.next.is_none_or(|at| at > now) {
            return Ok(seen.next);
        }
        loop {
            let version = api.version();
            let mut leased_job = match api.lease_next_job().await? {
                NextJob::Job(leased_job) => leased_job,
                NextJob::Later(next) => {
                    seen.version = version;
                    seen.next = next.map(Time::to_system);
                    return Ok(seen.next);
                }
            };
            let (gid, kind) = (leased_job.gid().get(), leased_job.record.kind.name());
            let succeeded = loop {
                let stream = format!("job {gid}");
                match in_stream(stream, api.run_job_step(&leased_job)).await? {
                    JobProgress::Continues(next) => leased_job = next,
                    JobProgress::Ended(succeeded) => break succeeded,
                    JobProgress::LeaseLost => break false,
                }
            };
            happened.push(Happened {
                at: now,
                act: Act::Job {
                    gid,
                    kind,
                    succeeded,
                },
            });
        }
    }
}

/// Returns a time rounded up to the milliseconds that replies show, so that a clock that is set to the shown time reaches
/// it.
fn whole_millisecond(time: SystemTime) -> SystemTime {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    let nanoseconds = since.subsec_nanos() % 1_000_000;
    let missing = (1_000_000 - nanoseconds) % 1_000_000;
    time.checked_add(Duration::from_nanos(missing.into()))
        .unwrap_or(time)
}

/// Returns the next full hour, or another full period, after a time.
fn next_full(period: Duration, time: SystemTime) -> SystemTime {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    let periods = since.as_secs() / period.as_secs();
    let next = periods.saturating_add(1).saturating_mul(period.as_secs());
    UNIX_EPOCH
        .checked_add(Duration::from_secs(next))
        .unwrap_or(time)
}
