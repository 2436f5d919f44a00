//! The workers that run jobs, each one job at a time.
use crate::adapters::system_clock::pause;
use crate::metrics::Metrics;
use crate::workers::offload::{Offload, OffloadFlow};
use anyhow::{Context, Error, Result};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;
use tracing::Instrument;
use workgraph_api::job_runner::{JobProgress, NextJob};
use workgraph_api::{Api, Clock};
use workgraph_core::jobs::LeasedJob;

/// Number of jobs that run at the same time.
const WORKERS: usize = 2;
/// Wait of a worker after a store failure.
const PAUSE: Duration = Duration::from_secs(1);
/// Maximum sleep of a worker without a job.
const SLEEP_MAX: Duration = Duration::from_secs(10);
/// Maximum sleep if other nodes also start jobs, about which this process is not notified.
const SHARED_SLEEP_MAX: Duration = Duration::from_secs(1);

/// Time limit for a worker's current step when the server stops.
const LAST_STEP: Duration = Duration::from_secs(5);

/// Workers of a running server.
pub(crate) struct JobWorkers {
    stop: watch::Sender<bool>,
    tasks: Vec<JoinHandle<()>>,
}

impl JobWorkers {
    /// Lets every worker finish its current step and release its job.
    pub(crate) async fn stop(self) {
        // Without workers the channel has no receivers.
        let _none = self.stop.send(true);
        for task in self.tasks {
            if tokio::time::timeout(LAST_STEP, task).await.is_err() {
                tracing::warn!("a job was left in the middle of a step");
            }
        }
    }
}

/// Releases the leases of the previous process, if this process has the store to itself, and starts the workers.
///
/// # Errors
/// Fails if the store fails.
pub(crate) async fn start(
    api: &Arc<Api>,
    clock: &Arc<dyn Clock>,
    metrics: &Arc<Metrics>,
    offload: &Arc<Offload>,
    is_shared: bool,
) -> Result<JobWorkers> {
    // A process that has the store to itself knows that the owners of all leases are dead. Otherwise leases must expire.
    if !is_shared {
        let released = api.release_dead_leases().await;
        released.context("the jobs of the process before this one can't be released")?;
    }
    let sleep_max = if is_shared {
        SHARED_SLEEP_MAX
    } else {
        SLEEP_MAX
    };
    let wake = Arc::new(Notify::new());
    let ring = Arc::clone(&wake);
    api.set_job_notifier(move || ring.notify_one());
    let (stop, stopped) = watch::channel(false);
    let mut tasks = Vec::with_capacity(WORKERS);
    for _ in 0..WORKERS {
        let worker = JobWorker {
            api: Arc::clone(api),
            clock: Arc::clone(clock),
            metrics: Arc::clone(metrics),
            wake: Arc::clone(&wake),
            offload: Arc::clone(offload),
            sleep_max,
            stopped: stopped.clone(),
        };
        tasks.push(tokio::spawn(async move { worker.run().await }));
    }
    Ok(JobWorkers { stop, tasks })
}

struct JobWorker {
    api: Arc<Api>,
    clock: Arc<dyn Clock>,
    metrics: Arc<Metrics>,
    wake: Arc<Notify>,
    offload: Arc<Offload>,
    /// Maximum sleep without a job.
    sleep_max: Duration,
    stopped: watch::Receiver<bool>,
}

impl JobWorker {
    async fn run(mut self) {
        while !*self.stopped.borrow() {
            match self.api.lease_next_job().await {
                Ok(NextJob::Job(leased_job)) => self.carry_out(*leased_job).await,
                Ok(NextJob::Later(at)) => {
                    let until =
                        at.and_then(|t| t.to_system().duration_since(self.clock.now()).ok());
                    let sleep_max = until.map_or(self.sleep_max, |wait| {
                        wait.clamp(Duration::from_millis(1), self.sleep_max)
                    });
                    // Each of these events may bring a job.
                    tokio::select! {
                        _ = tokio::time::timeout(sleep_max, self.wake.notified()) => {}
                        _ = self.stopped.wait_for(|stopped| *stopped) => {}
                    }
                }
                Err(error) => {
                    tracing::error!(reason = error.to_string(), "no job can be taken up");
                    pause(PAUSE).await;
                }
            }
        }
    }

    /// Runs a job to its end. A panic ends a separate task; the job is claimed again when its lease ends, until
    /// its deadline.
    async fn carry_out(&self, leased_job: LeasedJob) {
        let (api, metrics) = (Arc::clone(&self.api), Arc::clone(&self.metrics));
        let offload = Arc::clone(&self.offload);
        let stopped = self.stopped.clone();
        let gid = leased_job.gid().get();
        self.metrics.jobs.running.fetch_add(1, Relaxed);
        let task = tokio::spawn(async move {
            let mut leased_job = Box::new(leased_job);
            loop {
                metrics.jobs.steps.fetch_add(1, Relaxed);
                let runner = Arc::clone(&api);
                let step = offload.offloaded(OffloadFlow::Job(gid), None, |watch| {
                    let span = tracing::error_span!("job_step", job = gid);
                    let step = async move {
                        let gone = runner
                            .run_job_step_interruptible(&leased_job, Some(watch))
                            .await;
                        (gone, leased_job)
                    };
                    Box::pin(step.instrument(span))
                });
                let (gone, before) = step.await;
                match gone {
                    Ok(JobProgress::Continues(next)) => leased_job = next,
                    Ok(JobProgress::Ended(_) | JobProgress::LeaseLost) => return Ok(()),
                    Err(error) => {
                        // The store failed, not the step. If it fails again, the claim counts as an attempt.
                        let failed = Error::new(error);
                        return match api.release_job(&before, false).await {
                            Ok(()) => Err(failed),
                            Err(error) => Err(failed.context(format!(
                                "the job can't be released ({error}) after its step failed"
                            ))),
                        };
                    }
                }
                if *stopped.borrow() {
                    let released = api.release_job(&leased_job, true).await;
                    return released.context("the job can't be released");
                }
                // Lets others have their turn during a long job.
                tokio::task::yield_now().await;
            }
        });
        match task.await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                tracing::error!(job = gid, reason = format!("{error:#}"), "a job stopped");
            }
            Err(panic) => tracing::error!(job = gid, reason = panic.to_string(), "a job stopped"),
        }
        self.metrics.jobs.running.fetch_sub(1, Relaxed);
    }
}
