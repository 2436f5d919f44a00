//! A call that continues for a time after its client is gone, and whose panic affects nothing else.
use crate::workers::offload::{BoxFuture, WorkInterrupt};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::time::Instant;

/// Future that turns a panic into `None`, and that continues without its owner for a time after it first had to wait.
pub(crate) struct DetachOnDrop<T: Send + 'static> {
    future: Option<BoxFuture<T>>,
    watch: Option<Arc<WorkInterrupt>>,
    timeout: Duration,
    /// Time until which the future may continue without its owner; set once it had to wait.
    deadline: Option<Instant>,
}

impl<T: Send + 'static> DetachOnDrop<T> {
    pub(crate) fn new(
        future: BoxFuture<T>,
        watch: Option<Arc<WorkInterrupt>>,
        timeout: Duration,
    ) -> Self {
        Self {
            future: Some(future),
            watch,
            timeout,
            deadline: None,
        }
    }

    /// Drops the future, regardless of its state.
    pub(crate) fn end(&mut self) {
        self.future = None;
    }
}

impl<T: Send + 'static> Future for DetachOnDrop<T> {
    type Output = Option<T>;
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(future) = self.future.as_mut() else {
            return Poll::Ready(None);
        };
        let polled = catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(cx)));
        if matches!(polled, Ok(Poll::Pending)) {
            let timeout = self.timeout;
            self.deadline
                .get_or_insert_with(|| Instant::now() + timeout);
        } else {
            self.future = None;
        }
        match polled {
            Ok(polled) => polled.map(Some),
            Err(_) => Poll::Ready(None),
        }
    }
}

impl<T: Send + 'static> Drop for DetachOnDrop<T> {
    fn drop(&mut self) {
        if let (Some(watch), Some(_)) = (&self.watch, &self.future) {
            watch.abandon();
            if watch.is_away() {
                // Dropping the future stops it.
                return;
            }
        }
        if let (Some(future), Ok(runtime)) = (self.future.take(), Handle::try_current()) {
            let deadline = self.deadline;
            let deadline = deadline.unwrap_or_else(|| Instant::now() + self.timeout);
            runtime.spawn(tokio::time::timeout_at(deadline, future));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_in_a_call_is_caught() {
        let timeout = Duration::from_secs(60);
        assert_eq!(
            DetachOnDrop::new(Box::pin(async { 7 }), None, timeout).await,
            Some(7)
        );
        let broken = async {
            if std::hint::black_box(true) {
                panic!("on purpose");
            }
        };
        assert_eq!(
            DetachOnDrop::new(Box::pin(broken), None, timeout).await,
            None
        );
    }

    /// S88.
    #[tokio::test]
    async fn a_call_goes_on_when_its_client_is_gone_but_not_beyond_its_deadline() {
        let (go, sender_gone) = tokio::sync::oneshot::channel::<()>();
        let (done, over) = tokio::sync::oneshot::channel();
        let call = async move {
            sender_gone.await.unwrap();
            done.send(()).unwrap();
        };
        let mut call = DetachOnDrop::new(Box::pin(call), None, Duration::from_secs(60));
        assert!(futures_poll(&mut call).await.is_pending());
        drop(call);
        go.send(()).unwrap();
        over.await.unwrap();

        let (keep_open, freed) = tokio::sync::oneshot::channel::<()>();
        let hang = async move {
            let _held = keep_open;
            std::future::pending::<()>().await;
        };
        drop(DetachOnDrop::new(Box::pin(hang), None, Duration::ZERO));
        assert!(freed.await.is_err(), "what it held is free");
    }

    /// Polls a future once.
    async fn futures_poll<F: Future + Unpin>(future: &mut F) -> Poll<F::Output> {
        std::future::poll_fn(|cx| Poll::Ready(Pin::new(&mut *future).poll(cx))).await
    }
}
