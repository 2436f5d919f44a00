//! The request that the calling thread works on. Every log line written during that time contains its id.
//!
//! A span for each request would cost more than the rest of a short one, and nearly all requests write no line. So the
//! id is in a thread-local variable while a request is worked on, and is only read when a line is written. At the
//! level `debug` there is also a span with the details of the request.
use crate::log::request_id::RequestId;
use std::cell::Cell;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll};
use tracing::{Level, Span};

thread_local! {
    static CURRENT: Cell<Option<RequestId>> = const { Cell::new(None) };
}

/// Returns the id of the request that the calling thread works on.
pub(crate) fn current_request() -> Option<RequestId> {
    CURRENT.get()
}

/// Guard during which the calling thread works on a request. Scopes end in the reverse order of their start.
pub(crate) struct RequestScope {
    outer: Option<RequestId>,
    /// Makes a scope stay on its thread.
    _thread: PhantomData<*const ()>,
}

impl RequestScope {
    /// Starts the work on a request; on none if it is `None`.
    pub(crate) fn enter(request: Option<RequestId>) -> Self {
        Self {
            outer: CURRENT.replace(request),
            _thread: PhantomData,
        }
    }
}

impl Drop for RequestScope {
    fn drop(&mut self) {
        CURRENT.set(self.outer);
    }
}

pin_project_lite::pin_project! {
    /// Work on a request, on any thread that polls it. An `async fn` around the work would need its space twice, and
    /// would move it at the first poll.
    pub(crate) struct InRequest<F> {
        #[pin]
        future: F,
        request: Option<RequestId>,
        span: Span,
    }
}

impl<F: Future> Future for InRequest<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        let _scope = RequestScope::enter(*this.request);
        let _span = this.span.enter();
        this.future.poll(cx)
    }
}

/// Makes a future work on a request.
pub(crate) fn in_request<F: Future>(
    request: Option<RequestId>,
    span: Span,
    future: F,
) -> InRequest<F> {
    InRequest {
        future,
        request,
        span,
    }
}

/// Makes a future work on the caller's request, even when another task or thread polls it.
pub(crate) fn in_current_request<F: Future>(future: F) -> InRequest<F> {
    let span = if tracing::level_enabled!(Level::DEBUG) {
        Span::current()
    } else {
        Span::none()
    };
    in_request(current_request(), span, future)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::request_id::RequestIdSeed;
    use std::sync::Arc;
    use std::task::{Wake, Waker};
    use std::time::SystemTime;

    struct Nobody;

    impl Wake for Nobody {
        fn wake(self: Arc<Self>) {}
    }

    fn request(number: u64) -> Option<RequestId> {
        Some(RequestIdSeed([0; 10]).id(SystemTime::UNIX_EPOCH, 1, number))
    }

    #[test]
    fn scopes_are_nested_and_a_panic_ends_them() {
        let outer = RequestScope::enter(request(1));
        let inner = std::panic::catch_unwind(|| {
            let _inner = RequestScope::enter(request(2));
            assert_eq!(current_request(), request(2));
            panic!("on purpose");
        });
        assert!(inner.is_err());
        assert_eq!(current_request(), request(1));
        drop(outer);
        assert_eq!(current_request(), None);
    }

    #[test]
    fn a_future_keeps_its_request_on_other_threads_and_leaves_theirs_alone() {
        let begun = RequestScope::enter(request(7));
        let mut turns = 0;
        let work = std::future::poll_fn(move |_| {
            assert_eq!(current_request(), request(7));
            turns += 1;
            if turns < 2 {
                Poll::Pending
            } else {
                Poll::Ready(())
            }
        });
        let mut work = Box::pin(in_current_request(work));
        drop(begun);
        let waker = Waker::from(Arc::new(Nobody));
        assert!(
            work.as_mut()
                .poll(&mut Context::from_waker(&waker))
                .is_pending()
        );
        assert_eq!(current_request(), None);
        let elsewhere = std::thread::spawn(move || {
            let _other = RequestScope::enter(request(8));
            let done = work.as_mut().poll(&mut Context::from_waker(&waker));
            (done.is_ready(), current_request())
        });
        assert_eq!(elsewhere.join().unwrap(), (true, request(8)));
    }
}
