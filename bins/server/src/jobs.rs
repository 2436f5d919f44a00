//! The workers that carry out jobs, each one job at a time.
use crate::metrics::Metrics;
use crate::offload::{Lane, Offload};
use crate::seams::pause;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;
use workgraph_api::runner::{Gone, Taken};
use workgraph_api::{Api, Clock};
use workgraph_core::jobs::Held;

/// How many jobs go on at the same time.
const WORKERS: usize = 2;
/// How long a worker waits after a failure of the store.
const PAUSE: Duration = Duration::from_secs(1);
/// How long a worker sleeps at most when nothing is to do.
const NAP: Duration = Duration::from_secs(10);

/// How long a worker has for the step that it is in when the server stops.
const LAST_STEP: Duration = Duration::from_secs(5);

/// The workers, while the server runs.
pub(crate) struct Workers {
    stop: watch::Sender<bool>,
    tasks: Vec<JoinHandle<()>>,
}

impl Workers {
    /// Lets every worker end the step it is in and give its job back.
    pub(crate) async fn stop(self) {
        // Without workers nobody listens.
        let _none = self.stop.send(true);
        for task in self.tasks {
            if tokio::time::timeout(LAST_STEP, task).await.is_err() {
                tracing::warn!("a job was left in the middle of a step");
            }
        }
    }
}

/// Takes back what the process before this one held, and starts the workers.
///
/// # Errors
/// When the store fails.
pub(crate) async fn start(
    api: &Arc<Api>,
    clock: &Arc<dyn Clock>,
    metrics: &Arc<Metrics>,
    offload: &Arc<Offload>,
) -> Result<Workers, String> {
    // This process alone has the store, so whoever held a lease is dead.
    api.take_back().await?;
    let bell = Arc::new(Notify::new());
    let ring = Arc::clone(&bell);
    api.on_job(move || ring.notify_one());
    let (stop, stopped) = watch::channel(false);
    let mut tasks = Vec::with_capacity(WORKERS);
    for _ in 0..WORKERS {
        let worker = Worker {
            api: Arc::clone(api),
            clock: Arc::clone(clock),
            metrics: Arc::clone(metrics),
            bell: Arc::clone(&bell),
            offload: Arc::clone(offload),
            stopped: stopped.clone(),
        };
        tasks.push(tokio::spawn(async move { worker.run().await }));
    }
    Ok(Workers { stop, tasks })
}

struct Worker {
    api: Arc<Api>,
    clock: Arc<dyn Clock>,
    metrics: Arc<Metrics>,
    bell: Arc<Notify>,
    offload: Arc<Offload>,
    stopped: watch::Receiver<bool>,
}

impl Worker {
    async fn run(mut self) {
        while !*self.stopped.borrow() {
            match self.api.take_up().await {
                Ok(Taken::Job(held)) => self.carry_out(*held).await,
                Ok(Taken::Later(at)) => {
                    let until =
                        at.and_then(|t| t.to_system().duration_since(self.clock.now()).ok());
                    let nap = until.map_or(NAP, |wait| wait.clamp(Duration::from_millis(1), NAP));
                    // Whichever it is, there may be something to do now.
                    tokio::select! {
                        _ = tokio::time::timeout(nap, self.bell.notified()) => {}
                        _ = self.stopped.wait_for(|stopped| *stopped) => {}
                    }
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
        let stopped = self.stopped.clone();
        let gid = held.gid().get();
        self.metrics.jobs.running.fetch_add(1, Relaxed);
        let task = tokio::spawn(async move {
            let mut held = Box::new(held);
            loop {
                metrics.jobs.steps.fetch_add(1, Relaxed);
                let runner = Arc::clone(&api);
                let step = offload.offloaded(Lane::Job(gid), None, |watch| {
                    Box::pin(async move {
                        let gone = runner.go_on_under(&held, Some(watch)).await;
                        (gone, held)
                    })
                });
                let (gone, before) = step.await;
                match gone {
                    Ok(Gone::On(next)) => held = next,
                    Ok(Gone::Ended(done)) => {
                        let ends = &metrics.jobs.ended;
                        let counter = if done { &ends[0] } else { &ends[1] };
                        counter.fetch_add(1, Relaxed);
                        return Ok(());
                    }
                    Ok(Gone::Lost) => return Ok::<(), String>(()),
                    Err(why) => {
                        // The store failed, not the step. If it fails again, the job counts as tried.
                        api.give_back(&before, false).await?;
                        return Err(why);
                    }
                }
                if *stopped.borrow() {
                    return api.give_back(&held, true).await;
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
