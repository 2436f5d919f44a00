//! Answer that is awaited even after its caller has left.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use crate::connection::CallResult;
use crate::protocol::{AdmissionReply, Settlement, read_admission};
use crate::settlements::SettlementQueue;

/// Time for which an answer is still awaited when nobody needs it.
const LATE_ANSWER: Duration = Duration::from_secs(10);

/// Answer to a request. If it is dropped before the answer arrives, because that takes too long or the client has
/// left, the slots that the request finally gets are freed.
pub(crate) struct AwaitedAnswer {
    call: Option<Pin<Box<dyn Future<Output = CallResult> + Send>>>,
    /// End of the request; its deadline is in milliseconds from its admission.
    ended: Settlement,
    queue: SettlementQueue,
}

impl AwaitedAnswer {
    pub(crate) fn new(
        call: impl Future<Output = CallResult> + Send + 'static,
        ended: Settlement,
        queue: SettlementQueue,
    ) -> Self {
        Self {
            call: Some(Box::pin(call)),
            ended,
            queue,
        }
    }
}

impl Future for AwaitedAnswer {
    type Output = CallResult;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<CallResult> {
        let Some(call) = &mut self.call else {
            return Poll::Pending;
        };
        let polled = call.as_mut().poll(context);
        if polled.is_ready() {
            self.call = None;
        }
        polled
    }
}

impl Drop for AwaitedAnswer {
    fn drop(&mut self) {
        let (Some(call), Ok(runtime)) = (self.call.take(), tokio::runtime::Handle::try_current())
        else {
            return;
        };
        let (mut ended, queue) = (std::mem::take(&mut self.ended), self.queue.clone());
        runtime.spawn(async move {
            let answer = tokio::time::timeout(LATE_ANSWER, call).await;
            if let Ok(Ok(reply)) = answer
                && let Some(AdmissionReply::Admitted { at, .. }) = read_admission(&reply)
            {
                ended.deadline = ended.deadline.saturating_add(at);
                queue.push(ended);
            }
        });
    }
}
