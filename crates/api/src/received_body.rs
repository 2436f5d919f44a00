//! The body of a request: given with it, or received once the request is authorized.
use crate::error::ApiError;
use crate::ports::body_source::{BodyReadError, BodySource};
use crate::request::ApiRequest;
use bytes::{Bytes, BytesMut};
use std::future::poll_fn;
use std::task::Poll;

/// Body of a request, received or not.
pub(crate) struct RequestBody<'b> {
    source: Option<&'b mut dyn BodySource>,
    bytes: Bytes,
}

impl<'b> RequestBody<'b> {
    /// Returns the body of a request: the one given with it, or what a source delivers.
    pub(crate) fn new(request: &ApiRequest, source: Option<&'b mut dyn BodySource>) -> Self {
        Self {
            source,
            bytes: request.body.clone(),
        }
    }

    /// Returns true if the body comes from a source.
    pub(crate) const fn has_source(&self) -> bool {
        self.source.is_some()
    }

    /// Returns the bytes that were received.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the source, on the account of a user from now on.
    ///
    /// # Errors
    /// Fails if too many bytes are kept for the user already.
    pub(crate) fn source_for(
        &mut self,
        user: u64,
    ) -> Result<Option<&mut (dyn BodySource + 'b)>, ApiError> {
        match self.source.as_deref_mut() {
            None => Ok(None),
            Some(source) => {
                source.keep_for(user).map_err(ApiError::Body)?;
                Ok(Some(source))
            }
        }
    }

    /// Receives all of the body. Returns true if the client had to be waited for.
    ///
    /// # Errors
    /// Fails if the body is larger than `most` bytes, breaks off or comes too late, or too many bytes are kept for its
    /// user.
    pub(crate) async fn receive(&mut self, user: u64, most: usize) -> Result<bool, ApiError> {
        let Some(source) = self.source_for(user)? else {
            return Ok(false);
        };
        let announced = usize::try_from(source.announced()).unwrap_or(usize::MAX);
        if announced > most {
            return Err(ApiError::TooLarge);
        }
        let (mut first, mut whole) = (Bytes::new(), BytesMut::new());
        let mut has_waited = false;
        while let Some(piece) = next(source, &mut has_waited).await {
            let piece = piece.map_err(ApiError::Body)?;
            let length = first.len() + whole.len() + piece.len();
            if length > most {
                return Err(ApiError::TooLarge);
            }
            if first.is_empty() && whole.is_empty() {
                first = piece;
                continue;
            }
            if whole.is_empty() {
                whole.reserve(announced.max(length));
                whole.extend_from_slice(&std::mem::take(&mut first));
            }
            whole.extend_from_slice(&piece);
        }
        self.bytes = if whole.is_empty() {
            first
        } else {
            whole.freeze()
        };
        Ok(has_waited)
    }
}

/// Returns the next piece of a body, and notes if the client had to be waited for.
async fn next(
    source: &mut dyn BodySource,
    has_waited: &mut bool,
) -> Option<Result<Bytes, BodyReadError>> {
    poll_fn(|cx| {
        let polled = source.poll_bytes(cx);
        *has_waited |= matches!(polled, Poll::Pending);
        polled
    })
    .await
}
