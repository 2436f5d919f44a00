//! Order of the requests to a world and of their effects: a request waits for the deliveries of earlier requests, unless a
//! receiver is slow, or itself waits for that very request.
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{AcqRel, Acquire};
use std::time::Duration;
use tokio::sync::watch;

/// Maximum time that a request waits for deliveries. A receiver that makes requests before it answers waits this long, once.
pub(super) const PATIENCE: Duration = Duration::from_millis(250);

/// Counts of the requests that have ended, and of those whose effects are complete.
pub(super) struct Settling {
    /// Number of requests that have ended.
    ended: AtomicU64,
    /// Number of ended requests when the world last settled.
    settled: watch::Sender<u64>,
    /// Number of ended requests whose effects a later request has stopped waiting for.
    given_up: AtomicU64,
}

impl Settling {
    pub(super) fn new() -> Self {
        Self {
            ended: AtomicU64::new(0),
            settled: watch::Sender::new(0),
            given_up: AtomicU64::new(0),
        }
    }

    /// Counts a request that has ended.
    pub(super) fn count_ended(&self) {
        self.ended.fetch_add(1, AcqRel);
    }

    /// Returns the number of requests that have ended.
    pub(super) fn ended(&self) -> u64 {
        self.ended.load(Acquire)
    }

    /// Records that everything is done that was due when this number of requests had ended.
    pub(super) fn note_settled(&self, ended: u64) {
        self.settled
            .send_modify(|settled| *settled = ended.max(*settled));
    }

    /// Waits for the effects of the ended requests, at most for `patience`, and not again for the same requests after giving
    /// up.
    pub(super) async fn wait(&self, patience: Duration) {
        let ended = self.ended();
        let mut settled = self.settled.subscribe();
        let given_up = self.given_up.load(Acquire);
        let at_hand = *settled.borrow_and_update();
        if at_hand >= ended || at_hand < given_up {
            return;
        }
        let all = settled.wait_for(|settled| *settled >= ended);
        if tokio::time::timeout(patience, all).await.is_err() {
            self.given_up.fetch_max(ended, AcqRel);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::pin::pin;
    use std::task::{Context, Waker};

    /// Returns true if a request that waits as long as it takes goes on at once.
    async fn goes_on(settling: &Settling) -> bool {
        let mut waits = pin!(settling.wait(Duration::MAX));
        std::future::poll_fn(|_| {
            let polled = waits.as_mut().poll(&mut Context::from_waker(Waker::noop()));
            std::task::Poll::Ready(polled.is_ready())
        })
        .await
    }

    #[tokio::test]
    async fn a_request_waits_for_what_the_former_ones_brought_about() {
        let settling = Settling::new();
        assert!(goes_on(&settling).await);
        settling.count_ended();
        assert!(!goes_on(&settling).await);
        settling.note_settled(1);
        assert!(goes_on(&settling).await);
    }

    #[tokio::test]
    async fn requests_of_a_receiver_that_has_not_answered_wait_once() {
        let settling = Settling::new();
        settling.count_ended();
        settling.wait(Duration::ZERO).await;
        // A request of the receiver ends before its answer.
        settling.count_ended();
        assert!(goes_on(&settling).await);
        settling.note_settled(2);
        settling.count_ended();
        assert!(!goes_on(&settling).await);
    }
}
