//! Where long work goes on, so that it holds up nobody: a few threads of their own, on which tokens, jobs and webhooks
//! take turns.
//!
//! All work begins on the thread that serves its connection, where most of it is done at once. What takes more steps
//! than it may there asks to be taken away ([`Interrupt::poll_allowed`]); its future is then polled here, once, and goes
//! back if it has to wait for anything else. So nothing but computing takes place here, and what waits for its turn
//! takes no thread.
//!
//! [`Interrupt::poll_allowed`]: workgraph_core::Interrupt::poll_allowed
mod allowance;
mod queue;
mod watch;

pub(crate) use self::watch::Watch;

use self::allowance::Allowances;
use self::queue::FairQueue;
use crate::edge::Boxed;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::ptr;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tokio::runtime::Handle;

/// How many pieces of work in one lane may wait for their turn before more of it are refused.
const LANE_MAX: usize = 64;
/// How many pieces of work in all lanes may wait before more of any are refused.
const WAITING_MAX: usize = 8_192;

/// The lanes of long work, which take turns.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Lane {
    /// The requests with one token, by a hash of it.
    Token(u64),
    /// The steps of one job, by its gid.
    Job(u64),
    /// The deliveries of one webhook, by its gid.
    Webhook(u64),
}

/// The threads for long work. They end with it.
#[derive(Debug)]
pub(crate) struct Offload {
    shared: Arc<Shared>,
    allowances: Allowances,
    /// The lanes that work took, in the order it began.
    #[cfg(test)]
    lanes: Mutex<Vec<Lane>>,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    /// Told when there is something to do.
    ready: Condvar,
    runtime: Handle,
    timeout: Duration,
}

#[derive(Debug, Default)]
struct State {
    queue: FairQueue<Lane, Arc<dyn Run>>,
    closed: bool,
}

/// Something that waits for its turn.
trait Run: std::fmt::Debug + Send + Sync {
    fn run(&self, shared: &Shared);
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does what there is to do until the end.
    fn work(&self) {
        let _entered = self.runtime.enter();
        give_way();
        let mut state = self.lock();
        while !state.closed {
            let Some(next) = state.queue.pop() else {
                state = self
                    .ready
                    .wait(state)
                    .unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            drop(state);
            next.run(self);
            drop(next);
            state = self.lock();
        }
    }
}

/// Lets the threads that serve connections go before the calling one where they need the same processor. It still gets
/// a tenth of it, so that long work ends.
fn give_way() {
    #[cfg(target_os = "linux")]
    {
        const NICENESS: i32 = 10;
        let thread = rustix::thread::gettid();
        // Of one thread, though it is named like a process.
        if let Err(error) = rustix::process::setpriority_process(Some(thread), NICENESS) {
            tracing::debug!(%error, "threads for long work run at the usual priority");
        }
    }
}

impl Drop for Offload {
    fn drop(&mut self) {
        self.shared.lock().closed = true;
        self.shared.ready.notify_all();
    }
}

impl Offload {
    /// Starts so many threads; 0 means one less than there are cores, and one at least. Work on them is stopped after
    /// the timeout.
    ///
    /// # Errors
    /// When the machine gives no threads.
    pub(crate) fn start(workers: usize, timeout: Duration) -> Result<Arc<Self>, String> {
        let cores = std::thread::available_parallelism().map_or(2, usize::from);
        let workers = match workers {
            0 => cores.saturating_sub(1).max(1),
            workers => workers,
        };
        let shared = Arc::new(Shared {
            state: Mutex::default(),
            ready: Condvar::new(),
            runtime: Handle::current(),
            timeout,
        });
        let offload = Self {
            shared,
            allowances: Allowances::new(),
            #[cfg(test)]
            lanes: Mutex::default(),
        };
        for number in 0..workers {
            let shared = Arc::clone(&offload.shared);
            let thread = std::thread::Builder::new().name(format!("long-{number}"));
            let started = thread.spawn(move || shared.work());
            started.map_err(|e| format!("there is no thread for long work: {e}"))?;
        }
        Ok(Arc::new(offload))
    }

    /// Does some work of a lane, under a watch.
    ///
    /// `refused` says what it gives if too much is waiting; work without it is never refused.
    pub(crate) fn offloaded<T: Send + 'static>(
        self: &Arc<Self>,
        lane: Lane,
        refused: Option<fn() -> T>,
        work: impl FnOnce(Arc<Watch>) -> Boxed<T>,
    ) -> Offloaded<T> {
        #[cfg(test)]
        self.lanes
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(lane);
        let watch = Arc::new(Watch::new(self.allowances.of(lane)));
        Offloaded {
            stage: Stage::Here(work(Arc::clone(&watch))),
            offload: Arc::clone(self),
            watch,
            lane,
            refused,
        }
    }

    /// The lanes that work took until now.
    #[cfg(test)]
    pub(crate) fn lanes(&self) -> Vec<Lane> {
        self.lanes
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Puts something into the queue; false if its lane is full, or all of it.
    fn push(&self, lane: Lane, bounded: bool, next: Arc<dyn Run>) -> bool {
        let mut state = self.shared.lock();
        let queue = &mut state.queue;
        if bounded && (queue.len_of(lane) >= LANE_MAX || queue.len() >= WAITING_MAX) {
            return false;
        }
        queue.push(lane, next);
        drop(state);
        self.shared.ready.notify_one();
        true
    }

    /// Takes something out of the queue that nobody wants any more, so that it does not count as waiting.
    fn remove<T>(&self, lane: Lane, away: &Arc<Away<T>>) {
        let is_meant = |next: &Arc<dyn Run>| ptr::addr_eq(Arc::as_ptr(next), Arc::as_ptr(away));
        let removed = self.shared.lock().queue.remove(lane, is_meant);
        drop(removed);
    }
}

/// Work that is taken away when it turns out to be long. To drop it is to abandon the work.
pub(crate) struct Offloaded<T: Send + 'static> {
    stage: Stage<T>,
    offload: Arc<Offload>,
    watch: Arc<Watch>,
    lane: Lane,
    refused: Option<fn() -> T>,
}

enum Stage<T> {
    /// It is polled where it began.
    Here(Boxed<T>),
    /// It waits for its turn, or has it.
    Away(Arc<Away<T>>),
    Over,
}

/// Work that was taken away, in the hands of whoever needs it.
struct Away<T> {
    state: Mutex<Turn<T>>,
    watch: Arc<Watch>,
}

/// How far it is.
enum Turn<T> {
    Waits(Boxed<T>, Waker),
    Runs(Waker),
    Done(T),
    /// It has to wait for something else.
    Pending(Boxed<T>),
    Panicked(Box<dyn Any + Send>),
    /// Nobody wants it any more, or has it already.
    Gone,
}

impl<T> std::fmt::Debug for Away<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Away").finish_non_exhaustive()
    }
}

impl<T> Away<T> {
    fn lock(&self) -> MutexGuard<'_, Turn<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn replace(&self, turn: Turn<T>) -> Turn<T> {
        std::mem::replace(&mut *self.lock(), turn)
    }
}

impl<T: Send + 'static> Run for Away<T> {
    fn run(&self, shared: &Shared) {
        let (mut future, waker) = {
            let mut turn = self.lock();
            match std::mem::replace(&mut *turn, Turn::Gone) {
                Turn::Waits(future, waker) => {
                    *turn = Turn::Runs(waker.clone());
                    (future, waker)
                }
                // It was abandoned while it waited.
                _ => return,
            }
        };
        self.watch.leave(shared.timeout);
        let mut cx = Context::from_waker(&waker);
        let polled = catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(&mut cx)));
        self.watch.come_back();
        let turn = match polled {
            Ok(Poll::Ready(done)) => Turn::Done(done),
            Ok(Poll::Pending) => Turn::Pending(future),
            Err(panic) => Turn::Panicked(panic),
        };
        let mut state = self.lock();
        match std::mem::replace(&mut *state, Turn::Gone) {
            Turn::Runs(waker) => {
                *state = turn;
                drop(state);
                waker.wake();
            }
            _ => {
                // It was abandoned meanwhile; what it comes to is dropped without the lock.
                drop(state);
                drop(turn);
            }
        }
    }
}

impl<T: Send + 'static> Offloaded<T> {
    /// The watch over it.
    pub(crate) fn watch(&self) -> Arc<Watch> {
        Arc::clone(&self.watch)
    }

    /// Has it polled elsewhere; gives what it ends with if it is refused.
    fn leave(&mut self, future: Boxed<T>, waker: &Waker) -> Option<T> {
        self.offload.allowances.used_up(self.lane);
        let away = Arc::new(Away {
            state: Mutex::new(Turn::Waits(future, waker.clone())),
            watch: Arc::clone(&self.watch),
        });
        let next = Arc::clone(&away) as Arc<dyn Run>;
        if let Some(refused) = self.refused
            && !self.offload.push(self.lane, true, Arc::clone(&next))
        {
            return Some(refused());
        }
        if self.refused.is_none() {
            self.offload.push(self.lane, false, next);
        }
        self.watch.set_away(true);
        self.stage = Stage::Away(away);
        None
    }
}

// What is inside is pinned by itself.
impl<T: Send + 'static> Unpin for Offloaded<T> {}

impl<T: Send + 'static> Future for Offloaded<T> {
    type Output = T;
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        loop {
            match std::mem::replace(&mut self.stage, Stage::Over) {
                Stage::Here(mut future) => match future.as_mut().poll(cx) {
                    Poll::Ready(done) => {
                        self.offload.allowances.sufficed(self.lane);
                        return Poll::Ready(done);
                    }
                    Poll::Pending if self.watch.asks() => match self.leave(future, cx.waker()) {
                        Some(refused) => return Poll::Ready(refused),
                        None => return Poll::Pending,
                    },
                    Poll::Pending => {
                        self.stage = Stage::Here(future);
                        return Poll::Pending;
                    }
                },
                Stage::Away(away) => {
                    let mut state = away.lock();
                    match std::mem::replace(&mut *state, Turn::Gone) {
                        Turn::Done(done) => return Poll::Ready(done),
                        Turn::Panicked(panic) => {
                            drop(state);
                            resume_unwind(panic);
                        }
                        // Whatever woke it meanwhile: it is polled here once more.
                        Turn::Pending(future) => {
                            self.watch.set_away(false);
                            self.stage = Stage::Here(future);
                        }
                        Turn::Waits(future, _) => {
                            *state = Turn::Waits(future, cx.waker().clone());
                            drop(state);
                            self.stage = Stage::Away(away);
                            return Poll::Pending;
                        }
                        Turn::Runs(_) => {
                            *state = Turn::Runs(cx.waker().clone());
                            drop(state);
                            self.stage = Stage::Away(away);
                            return Poll::Pending;
                        }
                        Turn::Gone => return Poll::Pending,
                    }
                }
                Stage::Over => return Poll::Pending,
            }
        }
    }
}

impl<T: Send + 'static> Drop for Offloaded<T> {
    fn drop(&mut self) {
        if let Stage::Away(away) = &self.stage {
            self.watch.abandon();
            let turn = away.replace(Turn::Gone);
            if matches!(turn, Turn::Waits(..)) {
                self.offload.remove(self.lane, away);
            }
            // What waits for its turn is dropped now, with all it holds.
            drop(turn);
        }
    }
}

#[cfg(test)]
mod tests;
