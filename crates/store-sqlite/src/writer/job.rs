//! What waits for the writer: work, its outcome, and who asked.
use crate::session::Session;
use crate::tokens::TokenChange;
use std::panic::{AssertUnwindSafe, catch_unwind};
use tokio::sync::oneshot;
use workgraph_auth::store::StoreError as TokenError;
use workgraph_core::graph::{Changes, Committed, StoreError};

/// One thing to write.
pub(super) enum Job {
    Graph(Task<Changes, Committed, StoreError>),
    Token(Task<TokenChange, bool, TokenError>),
    Other(Box<dyn Work>),
}

/// Work that is told by what it does, of whatever outcome.
pub(super) trait Work: Send {
    /// Does it; true if what it wrote is to be kept.
    fn run(&mut self, session: &mut Session<'_>) -> bool;
    /// Why it failed.
    fn failure(&self) -> Option<String>;
    /// Gives the outcome to whoever waits, or the failure of the whole batch.
    fn answer(self: Box<Self>, failure: Option<&str>);
}

impl<W, T> Work for Task<W, T, TokenError>
where
    W: Fn(&mut Session<'_>) -> Result<T, TokenError> + Send,
    T: Send,
{
    fn run(&mut self, session: &mut Session<'_>) -> bool {
        let done = attempt(|| (self.work)(session));
        self.settle(done.unwrap_or_else(|| Err(TokenError::Unavailable(PANICKED.into()))))
    }
    fn failure(&self) -> Option<String> {
        Task::failure(self)
    }
    fn answer(self: Box<Self>, failure: Option<&str>) {
        let otherwise = failure.map_or(Ok(()), |why| Err(TokenError::Unavailable(why.into())));
        Task::answer(*self, otherwise);
    }
}

/// What to do, what came of it, and who waits for that.
pub(super) struct Task<W, T, E> {
    work: W,
    outcome: Option<Result<T, E>>,
    reply: oneshot::Sender<Result<T, E>>,
}

impl<W, T, E> Task<W, T, E> {
    pub(super) fn new(work: W) -> (Self, oneshot::Receiver<Result<T, E>>) {
        let (reply, answer) = oneshot::channel();
        (
            Self {
                work,
                outcome: None,
                reply,
            },
            answer,
        )
    }
    fn settle(&mut self, outcome: Result<T, E>) -> bool {
        self.outcome.insert(outcome).is_ok()
    }
    fn failure(&self) -> Option<String>
    where
        E: std::fmt::Display,
    {
        self.outcome.as_ref()?.as_ref().err().map(E::to_string)
    }
    fn answer(self, otherwise: Result<(), E>) {
        let outcome = match (otherwise, self.outcome) {
            (Ok(()), Some(outcome)) => outcome,
            (Err(error), _) => Err(error),
            (Ok(()), None) => return,
        };
        // Whoever asked may be gone; what was written stays.
        let _ = self.reply.send(outcome);
    }
}

impl Job {
    /// Does the work; true if what it wrote is to be kept. A panic is a failure of this job alone.
    pub(super) fn run(&mut self, session: &mut Session<'_>) -> bool {
        match self {
            Self::Graph(task) => {
                let done = attempt(|| workgraph_core::apply::apply(session, &task.work));
                task.settle(done.unwrap_or_else(|| Err(StoreError::Failed(PANICKED.into()))))
            }
            Self::Token(task) => {
                let done = attempt(|| task.work.apply(session));
                task.settle(done.unwrap_or_else(|| Err(TokenError::Unavailable(PANICKED.into()))))
            }
            Self::Other(work) => work.run(session),
        }
    }
    /// Why it failed.
    pub(super) fn failure(&self) -> String {
        let why = match self {
            Self::Graph(task) => task.failure(),
            Self::Token(task) => task.failure(),
            Self::Other(work) => work.failure(),
        };
        why.unwrap_or_default()
    }
    /// Gives the outcome to whoever waits, or the failure of the whole batch.
    pub(super) fn answer(self, failure: Option<&str>) {
        match self {
            Self::Graph(task) => {
                task.answer(failure.map_or(Ok(()), |why| Err(StoreError::Failed(why.into()))))
            }
            Self::Token(task) => {
                task.answer(failure.map_or(Ok(()), |why| Err(TokenError::Unavailable(why.into()))))
            }
            Self::Other(work) => work.answer(failure),
        }
    }
}

const PANICKED: &str = "a change set panicked";

pub(super) fn attempt<T>(work: impl FnOnce() -> T) -> Option<T> {
    // What the work left half done is undone: with its savepoint, or with the batch, which is begun anew.
    catch_unwind(AssertUnwindSafe(work)).ok()
}
