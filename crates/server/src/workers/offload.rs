//! The threads for long work, which keep it from delaying short work. Users take turns on them, and within a user's turns,
//! the user's tokens, jobs and webhooks take turns.
//!
//! All work begins on the thread that serves its connection, where most of it completes immediately. Work that takes more
//! steps than allowed there asks to be moved ([`Interrupt::poll_allowed`]); its future is then polled here, once, and
//! moves back if it has to wait for anything else. So these threads only compute, and work that waits for its turn
//! occupies no thread.
//!
//! [`Interrupt::poll_allowed`]: workgraph_core::Interrupt::poll_allowed
mod fair_queue;
mod flow;
mod step_allowance;
mod work_interrupt;

pub(crate) use self::flow::{FlowOwner, OffloadFlow};
pub(crate) use self::work_interrupt::WorkInterrupt;

use self::fair_queue::OwnerQueue;
use self::step_allowance::StepAllowances;
use anyhow::{Context as _, Result};
use parking_lot::{Condvar, Mutex};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::ptr;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tokio::runtime::Handle;

/// Number of pieces of work in one flow that may wait for their turn before further ones are refused.
const FLOW_MAX: usize = 64;
/// Number of pieces of work in all flows of one owner that may wait before further ones are refused.
const OWNER_MAX: usize = 512;
/// Number of pieces of work in all flows that may wait before any further ones are refused.
const WAITING_MAX: usize = 8_192;

/// Boxed future. It is boxed where it is created, so that the futures around it need no space for it.
pub(crate) type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// Threads for long work. They end when this is dropped.
#[derive(Debug)]
pub(crate) struct Offload {
    shared: Arc<OffloadShared>,
    allowances: Arc<StepAllowances>,
    /// Flows that work used, in the order in which it began.
    #[cfg(test)]
    flows: Mutex<Vec<OffloadFlow>>,
}

#[derive(Debug)]
struct OffloadShared {
    state: Mutex<OffloadState>,
    /// Notified when the queue has a task.
    ready: Condvar,
    runtime: Handle,
    timeout: Duration,
}

#[derive(Debug, Default)]
struct OffloadState {
    queue: OwnerQueue<FlowOwner, OffloadFlow, Arc<dyn QueuedTask>>,
    closed: bool,
}

/// Task that waits for its turn.
trait QueuedTask: std::fmt::Debug + Send + Sync {
    fn run(&self, shared: &OffloadShared);
}

impl OffloadShared {
    /// Runs queued tasks until the end of the server.
    fn work(&self) {
        let _entered = self.runtime.enter();
        lower_priority();
        let mut state = self.state.lock();
        while !state.closed {
            let Some(next) = state.queue.pop() else {
                self.ready.wait(&mut state);
                continue;
            };
            drop(state);
            next.run(self);
            drop(next);
            state = self.state.lock();
        }
    }
}

/// Gives the calling thread a lower priority than the threads that serve connections. It still gets a tenth of a
/// processor that both need, so that long work ends.
fn lower_priority() {
    #[cfg(target_os = "linux")]
    {
        const NICENESS: i32 = 10;
        let thread = rustix::thread::gettid();
        // The call sets the priority of one thread, although its name says process.
        if let Err(error) = rustix::process::setpriority_process(Some(thread), NICENESS) {
            tracing::debug!(%error, "threads for long work run at the usual priority");
        }
    }
}

impl Drop for Offload {
    fn drop(&mut self) {
        self.shared.state.lock().closed = true;
        self.shared.ready.notify_all();
    }
}

impl Offload {
    /// Starts the given number of threads; 0 means one less than there are cores, but at least one. Work on them is
    /// stopped after the timeout.
    ///
    /// # Errors
    /// Fails if no thread can be started.
    pub(crate) fn start(workers: usize, timeout: Duration) -> Result<Arc<Self>> {
        let cores = std::thread::available_parallelism().map_or(2, usize::from);
        let workers = match workers {
            0 => cores.saturating_sub(1).max(1),
            workers => workers,
        };
        let shared = Arc::new(OffloadShared {
            state: Mutex::default(),
            ready: Condvar::new(),
            runtime: Handle::current(),
            timeout,
        });
        let offload = Self {
            shared,
            allowances: Arc::new(StepAllowances::new()),
            #[cfg(test)]
            flows: Mutex::default(),
        };
        for number in 0..workers {
            let shared = Arc::clone(&offload.shared);
            let thread = std::thread::Builder::new().name(format!("long-{number}"));
            let started = thread.spawn(move || shared.work());
            started.context("no thread for long work can be started")?;
        }
        Ok(Arc::new(offload))
    }

    /// Runs work of a flow, under an interrupt.
    ///
    /// `refused` creates the result if too much work is waiting; without it, the work is never refused.
    pub(crate) fn offloaded<T: Send + 'static>(
        self: &Arc<Self>,
        flow: OffloadFlow,
        refused: Option<fn() -> T>,
        work: impl FnOnce(Arc<WorkInterrupt>) -> BoxFuture<T>,
    ) -> Offloaded<T> {
        #[cfg(test)]
        self.flows.lock().push(flow);
        let watch = Arc::new(WorkInterrupt::new(flow, &self.allowances));
        Offloaded {
            stage: OffloadStage::Inline(work(Arc::clone(&watch))),
            offload: Arc::clone(self),
            watch,
            flow,
            refused,
        }
    }

    /// Returns the flows that work has used so far.
    #[cfg(test)]
    pub(crate) fn flows(&self) -> Vec<OffloadFlow> {
        self.flows.lock().clone()
    }

    /// Adds a task to the queue. Returns false if its flow, its owner's flows, or the whole queue is full.
    fn push(
        &self,
        (owner, flow): (FlowOwner, OffloadFlow),
        bounded: bool,
        next: Arc<dyn QueuedTask>,
    ) -> bool {
        let mut state = self.shared.state.lock();
        let queue = &mut state.queue;
        let is_full = queue.len_of(owner, flow) >= FLOW_MAX
            || queue.len_of_owner(owner) >= OWNER_MAX
            || queue.len() >= WAITING_MAX;
        if bounded && is_full {
            return false;
        }
        queue.push(owner, flow, next);
        drop(state);
        self.shared.ready.notify_one();
        true
    }

    /// Removes an abandoned task from the queue, so that it no longer counts as waiting.
    fn remove<T>(&self, flow: OffloadFlow, away: &Arc<OffloadedTask<T>>) {
        let owner = away.watch.owner();
        let is_meant =
            |next: &Arc<dyn QueuedTask>| ptr::addr_eq(Arc::as_ptr(next), Arc::as_ptr(away));
        let removed = self.shared.state.lock().queue.remove(owner, flow, is_meant);
        drop(removed);
    }
}

/// Work that is moved when it turns out to be long. Dropping it abandons the work.
pub(crate) struct Offloaded<T: Send + 'static> {
    stage: OffloadStage<T>,
    offload: Arc<Offload>,
    watch: Arc<WorkInterrupt>,
    flow: OffloadFlow,
    refused: Option<fn() -> T>,
}

enum OffloadStage<T> {
    /// The work is polled where it began.
    Inline(BoxFuture<T>),
    /// The work waits for its turn on the threads for long work, or runs there.
    Queued(Arc<OffloadedTask<T>>),
    Finished,
}

/// Moved work, shared by its owner and the queue.
struct OffloadedTask<T> {
    state: Mutex<TaskState<T>>,
    watch: Arc<WorkInterrupt>,
}

/// State of work that was moved to these threads.
enum TaskState<T> {
    Waits(BoxFuture<T>, Waker),
    Runs(Waker),
    Done(T),
    /// The work has to wait for something else.
    Pending(BoxFuture<T>),
    Panicked(Box<dyn Any + Send>),
    /// The work was abandoned, or its owner already has the result.
    Abandoned,
}

impl<T> std::fmt::Debug for OffloadedTask<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OffloadedTask").finish_non_exhaustive()
    }
}

impl<T> OffloadedTask<T> {
    fn replace(&self, turn: TaskState<T>) -> TaskState<T> {
        std::mem::replace(&mut *self.state.lock(), turn)
    }
}

impl<T: Send + 'static> QueuedTask for OffloadedTask<T> {
    fn run(&self, shared: &OffloadShared) {
        let (mut future, waker) = {
            let mut turn = self.state.lock();
            match std::mem::replace(&mut *turn, TaskState::Abandoned) {
                TaskState::Waits(future, waker) => {
                    *turn = TaskState::Runs(waker.clone());
                    (future, waker)
                }
                // The work was abandoned while it waited.
                _ => return,
            }
        };
        self.watch.leave(shared.timeout);
        let mut cx = Context::from_waker(&waker);
        let polled = catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(&mut cx)));
        self.watch.come_back();
        let turn = match polled {
            Ok(Poll::Ready(done)) => TaskState::Done(done),
            Ok(Poll::Pending) => TaskState::Pending(future),
            Err(panic) => TaskState::Panicked(panic),
        };
        let mut state = self.state.lock();
        match std::mem::replace(&mut *state, TaskState::Abandoned) {
            TaskState::Runs(waker) => {
                *state = turn;
                drop(state);
                waker.wake();
            }
            _ => {
                // The work was abandoned in between; its result is dropped without the lock.
                drop(state);
                drop(turn);
            }
        }
    }
}

impl<T: Send + 'static> Offloaded<T> {
    pub(crate) fn watch(&self) -> Arc<WorkInterrupt> {
        Arc::clone(&self.watch)
    }

    /// Adds the work to the queue. Returns the result of a refusal, if it is refused.
    fn move_to_queue(&mut self, future: BoxFuture<T>, waker: &Waker) -> Option<T> {
        self.watch.used_up();
        let away = Arc::new(OffloadedTask {
            state: Mutex::new(TaskState::Waits(future, waker.clone())),
            watch: Arc::clone(&self.watch),
        });
        let next = Arc::clone(&away) as Arc<dyn QueuedTask>;
        let turn = (self.watch.owner(), self.flow);
        if let Some(refused) = self.refused
            && !self.offload.push(turn, true, Arc::clone(&next))
        {
            return Some(refused());
        }
        if self.refused.is_none() {
            self.offload.push(turn, false, next);
        }
        self.watch.set_away(true);
        self.stage = OffloadStage::Queued(away);
        None
    }
}

// The inner future is pinned separately.
impl<T: Send + 'static> Unpin for Offloaded<T> {}

impl<T: Send + 'static> Future for Offloaded<T> {
    type Output = T;
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        loop {
            match std::mem::replace(&mut self.stage, OffloadStage::Finished) {
                OffloadStage::Inline(mut future) => match future.as_mut().poll(cx) {
                    Poll::Ready(done) => {
                        self.watch.sufficed();
                        return Poll::Ready(done);
                    }
                    Poll::Pending if self.watch.wants_offload() => {
                        match self.move_to_queue(future, cx.waker()) {
                            Some(refused) => return Poll::Ready(refused),
                            None => return Poll::Pending,
                        }
                    }
                    Poll::Pending => {
                        self.stage = OffloadStage::Inline(future);
                        return Poll::Pending;
                    }
                },
                OffloadStage::Queued(away) => {
                    let mut state = away.state.lock();
                    match std::mem::replace(&mut *state, TaskState::Abandoned) {
                        TaskState::Done(done) => return Poll::Ready(done),
                        TaskState::Panicked(panic) => {
                            drop(state);
                            resume_unwind(panic);
                        }
                        // After each wake-up it is polled here once more.
                        TaskState::Pending(future) => {
                            self.watch.set_away(false);
                            self.stage = OffloadStage::Inline(future);
                        }
                        TaskState::Waits(future, _) => {
                            *state = TaskState::Waits(future, cx.waker().clone());
                            drop(state);
                            self.stage = OffloadStage::Queued(away);
                            return Poll::Pending;
                        }
                        TaskState::Runs(_) => {
                            *state = TaskState::Runs(cx.waker().clone());
                            drop(state);
                            self.stage = OffloadStage::Queued(away);
                            return Poll::Pending;
                        }
                        TaskState::Abandoned => return Poll::Pending,
                    }
                }
                OffloadStage::Finished => return Poll::Pending,
            }
        }
    }
}

impl<T: Send + 'static> Drop for Offloaded<T> {
    fn drop(&mut self) {
        if let OffloadStage::Queued(away) = &self.stage {
            self.watch.abandon();
            let turn = away.replace(TaskState::Abandoned);
            if matches!(turn, TaskState::Waits(..)) {
                self.offload.remove(self.flow, away);
            }
            // A task that waits for its turn is dropped now, with everything it holds.
            drop(turn);
        }
    }
}

#[cfg(test)]
mod tests;
