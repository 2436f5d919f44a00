//! The body of a request: passed with it, or received once the request is authorized.
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
    /// Returns the body of a request: the one passed with it, or the one that a source delivers.
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

    /// Returns the bytes received so far.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the source. From now on, its bytes count against a user's memory.
    ///
    /// # Errors
    /// Fails if too many bytes are held for the user already.
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

    /// Receives the whole body. Returns true if it had to wait for the client.
    ///
    /// # Errors
    /// Fails if the body is larger than `most` bytes, breaks off or comes too late, or too many bytes are held for its
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

/// Returns the next piece of a body, and records whether it had to wait for the client.
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
