//! Uploads: a `multipart/form-data` body becomes fields and a stored file.
use super::file_names;
use super::paced_body::{HeadersTooLarge, PacedBody, ReadAhead};
use super::pending_uploads::PendingUpload;
use super::upload_room::UploadRoom;
use crate::error::ApiError;
use crate::ports::blob_store::{BlobStoreError, BlobWriter};
use crate::ports::body_source::{BodyReadError, BodySource};
use crate::received_body::RequestBody;
use crate::request::ApiRequest;
use crate::router::RouteMatch;
use crate::state::Api;
use bytes::Bytes;
use multer::{Constraints, Field, Multipart, SizeLimit};
use serde_json::{Map, Value};
use std::error::Error;
use workgraph_auth::Grant;
use workgraph_core::Gid;
use workgraph_core::domain_error::DomainError;
use workgraph_core::model::validate::clip;
use workgraph_operations::operation::inputs::UploadedFile;

/// Media type of uploads.
const MULTIPART: &str = "multipart/form-data";
/// Name of the part with the file.
const FILE: &str = "file";
/// Name of the part with the object that the file is attached to.
const PARENT: &str = "parent";
/// Maximum number of parts of a body.
const PARTS_MAX: usize = 64;
/// Maximum bytes of the boundaries and headers of a body.
const FRAMING_MAX: u64 = 256 << 10;

/// Content of an upload that has arrived completely.
#[derive(Debug)]
pub(crate) struct ReceivedUpload {
    /// The fields of the body, as texts.
    pub(crate) fields: Map<String, Value>,
    /// The uploaded file; `None` if the body has only fields.
    pub(crate) file: Option<UploadedFile>,
    _pending: Option<PendingUpload>,
}

/// Returns true if the body of a request has the media type of uploads.
pub(crate) fn is_multipart(request: &ApiRequest) -> bool {
    let kind = request.content_type.as_deref().unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    kind.eq_ignore_ascii_case(MULTIPART)
}

impl Api {
    /// Returns true if a request is an upload: its file is passed on as it arrives, which may take long.
    #[must_use]
    pub fn is_upload(&self, request: &ApiRequest) -> bool {
        let takes_file = |found: RouteMatch| found.operation.takes_file;
        is_multipart(request)
            && self
                .router
                .match_route(request.method, &request.path)
                .is_ok_and(takes_file)
    }

    /// Reads the body of an upload, and stores its file.
    ///
    /// # Errors
    /// Fails when the body is malformed, too large or breaks off, or the file cannot be stored. No file remains then.
    pub(crate) async fn receive_upload(
        &self,
        request: &ApiRequest,
        body: &mut RequestBody<'_>,
        grant: &Grant,
        found: &RouteMatch,
    ) -> Result<ReceivedUpload, ApiError> {
        let Some(body) = body.source_for(grant.user)? else {
            return Err(ApiError::Body(BodyReadError::Broken));
        };
        let parent = found.parameters.first();
        let parent = parent.and_then(|(_, text)| Gid::parse(text));
        let mut room = UploadRoom::of(self, grant, parent).await?;
        // The rest of the body, without the file, may take this much.
        let text_max = u64::try_from(self.settings.body_max).unwrap_or(u64::MAX);
        let beside = text_max.saturating_add(FRAMING_MAX);
        room.require(body.announced().saturating_sub(beside))
            .await?;
        let mut reception = Reception {
            api: self,
            fields: Map::new(),
            text_left: self.settings.body_max,
            file: None,
            pending: None,
            room,
        };
        match reception.receive(request, body).await {
            Ok(()) => Ok(ReceivedUpload {
                fields: reception.fields,
                file: reception.file,
                _pending: reception.pending,
            }),
            Err(error) => {
                if let Some(pending) = &reception.pending {
                    self.discard_file(pending.file()).await;
                }
                Err(error)
            }
        }
    }

    /// Removes the file of an upload whose request failed, unless an attachment owns it anyway.
    pub(crate) async fn discard_upload(&self, upload: &ReceivedUpload) {
        if let Some(file) = &upload.file {
            self.discard_file(file.gid).await;
        }
    }
}

/// Parts of a body that have arrived so far.
struct Reception<'a> {
    api: &'a Api,
    fields: Map<String, Value>,
    /// Bytes left for further fields.
    text_left: usize,
    file: Option<UploadedFile>,
    pending: Option<PendingUpload>,
    room: UploadRoom<'a>,
}

impl Reception<'_> {
    async fn receive(
        &mut self,
        request: &ApiRequest,
        body: &mut dyn BodySource,
    ) -> Result<(), ApiError> {
        let kind = request.content_type.as_deref().unwrap_or_default();
        let boundary = multer::parse_boundary(kind).map_err(|_| {
            DomainError::invalid(
                "Content-Type: multipart/form-data needs a boundary, as in `boundary=...`",
            )
        })?;
        let settings = &self.api.settings;
        let text_max = u64::try_from(settings.body_max).unwrap_or(u64::MAX);
        let whole = settings.upload_max.saturating_add(text_max);
        let limit = SizeLimit::new().whole_stream(whole.saturating_add(FRAMING_MAX));
        let (paced, read_ahead) = PacedBody::new(&mut *body);
        let mut parts =
            Multipart::with_constraints(paced, boundary, Constraints::new().size_limit(limit));
        let mut count = 0;
        while let Some(part) = self.next_part(&mut parts, &read_ahead).await? {
            count += 1;
            if count > PARTS_MAX {
                let message = format!("The body has more than {PARTS_MAX} parts");
                return Err(DomainError::invalid(message).into());
            }
            let name = part.name().unwrap_or_default().to_owned();
            match name.as_str() {
                "" => {
                    let message = "A part has no name; its Content-Disposition needs one";
                    return Err(DomainError::invalid(message).into());
                }
                FILE if sent_name(&part).is_some() => {
                    self.store(part, &read_ahead).await?;
                }
                _ if sent_name(&part).is_some() => {
                    let reason = "A file is sent in the part `file`";
                    return Err(DomainError::field(&clip(&name), reason).into());
                }
                _ => self.read_text(name, part, &read_ahead).await?,
            }
        }
        drop(parts);
        finish_body(body).await
    }

    async fn next_part<'p>(
        &self,
        parts: &mut Multipart<'p>,
        read_ahead: &ReadAhead,
    ) -> Result<Option<Field<'p>>, ApiError> {
        let part = read_ahead.next(parts.next_field()).await;
        part.map_err(|error| self.malformed(&error))
    }

    /// Reads a field of the form as text.
    async fn read_text(
        &mut self,
        name: String,
        mut part: Field<'_>,
        read_ahead: &ReadAhead,
    ) -> Result<(), ApiError> {
        let mut bytes = Vec::new();
        while let Some(piece) = self.next_piece(&mut part, read_ahead).await? {
            self.text_left = match self.text_left.checked_sub(piece.len()) {
                Some(left) => left,
                None => return Err(ApiError::TooLarge),
            };
            bytes.extend_from_slice(&piece);
        }
        let shown = clip(&name);
        let text = String::from_utf8(bytes)
            .map_err(|_| DomainError::field(&shown, "The text is not valid UTF-8"))?;
        if self.fields.insert(name, Value::String(text)).is_some() {
            return Err(DomainError::field(&shown, "Given twice; send it once").into());
        }
        Ok(())
    }

    /// Stores the file of the form as it arrives.
    async fn store(&mut self, mut part: Field<'_>, read_ahead: &ReadAhead) -> Result<(), ApiError> {
        if self.file.is_some() {
            let reason = "More than one file; send each in a request of its own";
            return Err(DomainError::field(FILE, reason).into());
        }
        let name = sent_name(&part);
        let gid = self.api.confirmed_gid()?;
        let parent = self.fields.get(PARENT).and_then(Value::as_str);
        if let Some(parent) = parent.and_then(Gid::parse) {
            self.room.be_within(parent).await?;
        }
        // Nothing is created for a file that has no room.
        let first = self.next_piece_with_room(&mut part, read_ahead).await?;
        // From here on no sweep treats the file as orphaned.
        self.pending = Some(self.api.pending_uploads.add(gid));
        let store = self.api.blob_store().map_err(failed)?;
        let created = store.create(gid).await;
        let size = match created {
            Ok(writer) => {
                let copied = self.copy(&mut part, first, writer, read_ahead);
                copied.await?
            }
            Err(error) => return Err(self.room.write_failure(failed(error)).await),
        };
        self.file = Some(UploadedFile {
            gid,
            name: name.as_deref().and_then(file_names::cleaned),
            size,
        });
        Ok(())
    }

    async fn copy(
        &mut self,
        part: &mut Field<'_>,
        mut next: Option<Bytes>,
        mut writer: Box<dyn BlobWriter>,
        read_ahead: &ReadAhead,
    ) -> Result<u64, ApiError> {
        let mut size = 0u64;
        while let Some(piece) = next {
            size = size.saturating_add(length(&piece));
            if let Err(error) = writer.write(piece).await {
                return Err(self.room.write_failure(failed(error)).await);
            }
            next = self.next_piece_with_room(part, read_ahead).await?;
        }
        match writer.finish().await {
            Ok(()) => Ok(size),
            Err(error) => Err(self.room.write_failure(failed(error)).await),
        }
    }

    /// Returns the next piece of the file, after reserving room for it.
    async fn next_piece_with_room(
        &mut self,
        part: &mut Field<'_>,
        read_ahead: &ReadAhead,
    ) -> Result<Option<Bytes>, ApiError> {
        let piece = self.next_piece(part, read_ahead).await?;
        if let Some(piece) = &piece {
            self.room.take(length(piece)).await?;
        }
        Ok(piece)
    }

    async fn next_piece(
        &self,
        part: &mut Field<'_>,
        read_ahead: &ReadAhead,
    ) -> Result<Option<Bytes>, ApiError> {
        let piece = read_ahead.next(part.chunk()).await;
        piece.map_err(|error| self.malformed(&error))
    }

    /// Returns the error of a body that cannot be read.
    fn malformed(&self, error: &multer::Error) -> ApiError {
        let message = match error {
            multer::Error::StreamReadFailed(source) => {
                return read_failure(&**source);
            }
            multer::Error::StreamSizeExceeded { .. } | multer::Error::FieldSizeExceeded { .. } => {
                return ApiError::FileTooLarge(self.api.settings.upload_max);
            }
            multer::Error::IncompleteFieldData { .. } | multer::Error::IncompleteStream => {
                "The multipart body does not end with its closing boundary"
            }
            multer::Error::IncompleteHeaders
            | multer::Error::ReadHeaderFailed(_)
            | multer::Error::DecodeHeaderName { .. }
            | multer::Error::DecodeHeaderValue { .. } => {
                "The headers of a part of the multipart body cannot be read"
            }
            other => return ApiError::Server(format!("an upload cannot be read: {other}")),
        };
        DomainError::invalid(message).into()
    }
}

/// Returns the error of a body that did not arrive.
fn read_failure(source: &(dyn Error + Send + Sync + 'static)) -> ApiError {
    if source.is::<HeadersTooLarge>() {
        let message = "The headers of a part of the multipart body are too large";
        return DomainError::invalid(message).into();
    }
    match source.downcast_ref::<BodyReadError>() {
        Some(error) => ApiError::Body(*error),
        None => ApiError::Body(BodyReadError::Broken),
    }
}

fn length(piece: &Bytes) -> u64 {
    u64::try_from(piece.len()).unwrap_or(u64::MAX)
}

fn failed(error: BlobStoreError) -> ApiError {
    ApiError::Server(format!("the file of an upload was not stored: {error}"))
}

/// Reads the rest after the last part, so that the connection can be reused.
async fn finish_body(body: &mut dyn BodySource) -> Result<(), ApiError> {
    let mut left = FRAMING_MAX;
    while let Some(piece) = std::future::poll_fn(|cx| body.poll_bytes(cx)).await {
        let length = piece.map_err(ApiError::Body)?.len();
        let length = u64::try_from(length).unwrap_or(u64::MAX);
        left = left.checked_sub(length).ok_or_else(|| {
            DomainError::invalid("The multipart body goes on after its closing boundary")
        })?;
    }
    Ok(())
}

/// Returns the name of the file in a part as it was sent; `None` if the part is not a file.
fn sent_name(part: &Field<'_>) -> Option<String> {
    let header = part.headers().get("content-disposition")?;
    file_names::in_disposition(header.as_bytes())
}
