//! Request bodies: reads them whole, within bounds, or passes those of uploads on as they arrive.
use bytes::Bytes;
use hyper::body::{Body, Incoming};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::{Timeout, timeout};
use workgraph_api::ports::body_source::{BodyReadError, BodySource};
use workgraph_wire::messages;

/// Bytes of a body that is too large which are still read, so that the client gets to read the answer.
const DRAIN_MAX: usize = 8 << 20;
const DRAIN_TIME: Duration = Duration::from_secs(2);

/// Refusal of a body: a status and a message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BodyError(pub(crate) u16, pub(crate) &'static str);

/// Returns the whole body, or a refusal if it is too large or breaks off.
pub(crate) async fn collect(
    mut body: Incoming,
    most: usize,
    awaits: bool,
) -> Result<Bytes, BodyError> {
    let too_large = || BodyError(413, messages::BODY_TOO_LARGE);
    let announced = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
    if announced > most && (awaits || announced > DRAIN_MAX) {
        return Err(too_large());
    }
    let mut whole: Vec<u8> = Vec::new();
    let mut first = Bytes::new();
    while let Some(data) = next(&mut body).await? {
        if announced > most || first.len() + whole.len() + data.len() > most {
            drain(&mut body).await;
            return Err(too_large());
        }
        if first.is_empty() && whole.is_empty() {
            first = data;
        } else {
            if whole.is_empty() {
                whole.reserve(announced.min(most).max(first.len() + data.len()));
                whole.extend_from_slice(&std::mem::take(&mut first));
            }
            whole.extend_from_slice(&data);
        }
    }
    Ok(if whole.is_empty() {
        first
    } else {
        whole.into()
    })
}

/// Returns the next piece of a body.
async fn next(body: &mut Incoming) -> Result<Option<Bytes>, BodyError> {
    loop {
        match std::future::poll_fn(|cx| Pin::new(&mut *body).poll_frame(cx)).await {
            None => return Ok(None),
            Some(Err(_)) => return Err(BodyError(400, "The request body is broken")),
            Some(Ok(frame)) => {
                if let Ok(data) = frame.into_data() {
                    return Ok(Some(data));
                }
            }
        }
    }
}

/// Reads the rest of a body, within bounds. The answer is the same, whether all of it comes or not.
async fn drain(body: &mut Incoming) {
    let mut spilt = 0;
    let spill = async {
        while let Ok(Some(data)) = next(body).await {
            spilt += data.len();
            if spilt > DRAIN_MAX {
                break;
            }
        }
    };
    let _ = tokio::time::timeout(DRAIN_TIME, spill).await;
}

/// Future that ends after a time.
type Alarm = Pin<Box<Timeout<std::future::Pending<()>>>>;

fn alarm(time: Duration) -> Alarm {
    Box::pin(timeout(time, std::future::pending()))
}

/// Body of an upload, which is passed on as it arrives.
pub(crate) struct UploadBody {
    body: Incoming,
    /// Longest time between two pieces.
    pause_max: Duration,
    /// End of the present pause, if the client pauses.
    pause: Option<Alarm>,
    /// End of the time for the whole body.
    deadline: Alarm,
    has_ended: Arc<AtomicBool>,
}

impl UploadBody {
    /// Returns a body that must arrive in a time, without longer pauses.
    pub(crate) fn new(body: Incoming, pause_max: Duration, time_max: Duration) -> Self {
        Self {
            body,
            pause_max,
            pause: None,
            deadline: alarm(time_max),
            has_ended: Arc::default(),
        }
    }

    /// Returns a flag that becomes true when all of the body was read.
    pub(crate) fn has_ended(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.has_ended)
    }

    /// Reads what is left, so that a client that sends before it reads gets to read the answer.
    pub(crate) async fn drain(&mut self) {
        if !self.has_ended.load(Relaxed) {
            drain(&mut self.body).await;
        }
    }

    /// Returns true if the client is too slow; otherwise the task is woken when it will be.
    fn is_late(&mut self, cx: &mut Context<'_>) -> bool {
        let pause_max = self.pause_max;
        let pause = self.pause.get_or_insert_with(|| alarm(pause_max));
        pause.as_mut().poll(cx).is_ready() || self.deadline.as_mut().poll(cx).is_ready()
    }
}

impl BodySource for UploadBody {
    fn poll_bytes(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyReadError>>> {
        loop {
            match Pin::new(&mut self.body).poll_frame(cx) {
                Poll::Ready(None) => {
                    self.has_ended.store(true, Relaxed);
                    return Poll::Ready(None);
                }
                Poll::Ready(Some(Err(_))) => {
                    return Poll::Ready(Some(Err(BodyReadError::Broken)));
                }
                Poll::Ready(Some(Ok(frame))) => {
                    self.pause = None;
                    if let Ok(data) = frame.into_data() {
                        return Poll::Ready(Some(Ok(data)));
                    }
                }
                Poll::Pending if self.is_late(cx) => {
                    return Poll::Ready(Some(Err(BodyReadError::TimedOut)));
                }
                Poll::Pending => return Poll::Pending,
            }
        }
    }
}
