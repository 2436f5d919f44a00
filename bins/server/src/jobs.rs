//! The workers that carry out jobs, each one job at a time.
use crate::metrics::Metrics;
use crate::offload::{BACKGROUND, Offload};
use crate::seams::pause;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use tokio::sync::Notify;
use workgraph_api::runner::{Gone, Taken};
use workgraph_api::{Api, Clock};
use workgraph_core::jobs::Held;

/// How many jobs go on at the same time.
const WORKERS: usize = 2;
/// How long a worker waits after a failure of the store.
const PAUSE: Duration = Duration::from_secs(1);
/// How long a worker sleeps at most when nothing is to do.
const NAP: Duration = Duration::from_secs(10);

/// Takes back what the process before this one held, and starts the workers.
///
/// # Errors
/// When the store fails.
pub(crate) async fn start(
    api: &Arc<Api>,
    clock: &Arc<dyn Clock>,
    metrics: &Arc<Metrics>,
    offload: &Arc<Offload>,
) -> Result<(), String> {
    // This process alone has the store, so whoever held a lease is dead.
    api.take_back().await?;
    let bell = Arc::new(Notify::new());
    let ring = Arc::clone(&bell);
    api.on_job(move || ring.notify_one());
    for _ in 0..WORKERS {
        let worker = Worker {
            api: Arc::clone(api),
            clock: Arc::clone(clock),
            metrics: Arc::clone(metrics),
            bell: Arc::clone(&bell),
            offload: Arc::clone(offload),
        };
        tokio::spawn(async move { worker.run().await });
    }
    Ok(())
}

struct Worker {
    api: Arc<Api>,
    clock: Arc<dyn Clock>,
    metrics: Arc<Metrics>,
    bell: Arc<Notify>,
    offload: Arc<Offload>,
}

impl Worker {
    async fn run(self) {
        loop {
            match self.api.take_up().await {
                Ok(Taken::Job(held)) => self.carry_out(*held).await,
                Ok(Taken::Later(at)) => {
                    let until =
                        at.and_then(|t| t.to_system().duration_since(self.clock.now()).ok());
                    let nap = until.map_or(NAP, |wait| wait.clamp(Duration::from_millis(1), NAP));
                    // Either way there may be something to do now.
                    let _ = tokio::time::timeout(nap, self.bell.notified()).await;
                }
                Err(why) => {
                    tracing::error!(why, "no job can be taken up");
                    pause(PAUSE).await;
                }
            }
        }
    }

    /// Carries a job to its end. A panic ends a task of its own; the job is taken up again when its
    /// lease ends, until its deadline.
    async fn carry_out(&self, held: Held) {
        let (api, metrics) = (Arc::clone(&self.api), Arc::clone(&self.metrics));
        let offload = Arc::clone(&self.offload);
        let gid = held.gid().get();
        self.metrics.jobs.running.fetch_add(1, Relaxed);
        let task = tokio::spawn(async move {
            let mut held = Box::new(held);
            loop {
                metrics.jobs.steps.fetch_add(1, Relaxed);
                let api = Arc::clone(&api);
                let step = offload.offloaded(BACKGROUND, None, |watch| {
                    Box::pin(async move { api.go_on_under(&held, Some(watch)).await })
                });
                match step.await? {
                    Gone::On(next) => held = next,
                    Gone::Ended(done) => {
                        let ends = &metrics.jobs.ended;
                        let counter = if done { &ends[0] } else { &ends[1] };
                        counter.fetch_add(1, Relaxed);
                        return Ok(());
                    }
                    Gone::Lost => return Ok::<(), String>(()),
                }
                // A long job lets others have their turn.
                tokio::task::yield_now().await;
            }
        });
        match task.await {
            Ok(Ok(())) => {}
            Ok(Err(why)) => tracing::error!(job = gid, why, "a job stopped"),
            Err(panic) => tracing::error!(job = gid, why = panic.to_string(), "a job stopped"),
        }
        self.metrics.jobs.running.fetch_sub(1, Relaxed);
    }
}
