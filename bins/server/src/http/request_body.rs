//! Request bodies: reads them whole, within bounds.
use bytes::Bytes;
use hyper::body::{Body, Incoming};
use std::pin::Pin;
use std::time::Duration;
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
            let mut spilt = 0;
            let spill = async {
                while let Ok(Some(data)) = next(&mut body).await {
                    spilt += data.len();
                    if spilt > DRAIN_MAX {
                        break;
                    }
                }
            };
            // The answer is the same, whether all of the body came or not.
            let _ = tokio::time::timeout(DRAIN_TIME, spill).await;
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
