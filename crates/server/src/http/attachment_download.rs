//! Downloads of attachment files, complete or in part (RFC 9110, section 14).
use crate::http::connection_context::ConnectionContext;
use crate::http::download::Download;
use crate::http::routed_response::RoutedResponse;
use hyper::Method;
use hyper::header;
use hyper::http::request::Parts;
use workgraph_api::features::attachments::AttachmentDownload;
use workgraph_api::{ApiResponse, RequestRefusal};
use workgraph_wire::messages;

/// Path below which the files are served.
pub(crate) const PATH: &str = "/-/attachments/";

/// Content security policy for a file that a browser shows: nothing but showing it is allowed.
const CONTENT_SECURITY_POLICY: &str = "sandbox; default-src 'none'; style-src 'unsafe-inline'";

/// Part of a file that a request asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum FilePart {
    Whole,
    /// The first byte and the number of bytes.
    Range(u64, u64),
    Unsatisfiable,
}

/// Returns the file, if the address of the request contains a valid ticket.
pub(crate) async fn respond(peer: &ConnectionContext, head: &Parts) -> RoutedResponse {
    let is_head = head.method == Method::HEAD;
    if head.method != Method::GET && !is_head {
        return RoutedResponse::refuse(RequestRefusal::NoRoute, 404, messages::NO_ROUTE);
    }
    let path = head.uri.path().strip_prefix(PATH).unwrap_or_default();
    let query = head.uri.query().unwrap_or_default();
    let admitted = match peer.world.api.admit_attachment_download(path, query) {
        Ok(admitted) => admitted,
        Err(reason) => return refuse(RequestRefusal::TicketInvalid, 403, &reason.to_string()),
    };
    // Addresses are valid for minutes: a file that was deleted since, or is no longer shared, is not sent.
    match peer.world.api.can_still_see(&admitted).await {
        Ok(true) => send(peer, head, &admitted).await,
        Ok(false) => refuse(RequestRefusal::FileGone, 404, "The file is no longer there"),
        Err(reason) => unreadable(&admitted, &reason.to_string()),
    }
}

fn refuse(reason: RequestRefusal, status: u16, text: &str) -> RoutedResponse {
    RoutedResponse::of(ApiResponse::refusal(reason, status, text))
}

/// Returns the reply to a download when there is no free slot.
pub(crate) fn busy() -> RoutedResponse {
    let mut busy = refuse(
        RequestRefusal::TooManyDownloads,
        503,
        "Too many files are being sent; try again later",
    );
    busy.reply.headers.push(("Retry-After", "10".to_owned()));
    busy
}

async fn send(
    peer: &ConnectionContext,
    head: &Parts,
    download: &AttachmentDownload,
) -> RoutedResponse {
    let network = peer.client_network(head);
    let Some(slot) = peer.process.downloads.take(network, download.viewer.user) else {
        return busy();
    };
    let tag = format!("\"{}\"", download.file);
    let store = match peer.world.api.blob_store() {
        Ok(store) => store,
        Err(reason) => return unreadable(download, &reason.to_string()),
    };
    let (mut file, size) = match store.open(download.file, 0).await {
        Ok(Some(opened)) => opened,
        Ok(None) => return refuse(RequestRefusal::FileGone, 404, "The file is no longer there"),
        Err(reason) => return unreadable(download, &reason.to_string()),
    };
    let part = requested_part(head, size, &tag);
    let (status, start, length) = match part {
        FilePart::Whole => (200, 0, size),
        FilePart::Range(start, length) => (206, start, length),
        FilePart::Unsatisfiable => {
            let mut refusal = refuse(
                RequestRefusal::RangeUnsatisfiable,
                416,
                "Range: the file does not have these bytes",
            );
            let range = format!("bytes */{size}");
            refusal.reply.headers.push(("Content-Range", range));
            return refusal;
        }
    };
    if start > 0 {
        file = match store.open(download.file, start).await {
            Ok(Some((file, _))) => file,
            Ok(None) => {
                return refuse(RequestRefusal::FileGone, 404, "The file is no longer there");
            }
            Err(reason) => return unreadable(download, &reason.to_string()),
        };
    }
    let mut reply = ApiResponse::json(status, Vec::new())
        .with("Content-Disposition", download.content_disposition.clone())
        .with("Content-Security-Policy", CONTENT_SECURITY_POLICY)
        .with("Accept-Ranges", "bytes")
        .with("ETag", tag);
    if status == 206 {
        let last = start + length.saturating_sub(1);
        reply = reply.with("Content-Range", format!("bytes {start}-{last}/{size}"));
    }
    let is_head = head.method == Method::HEAD;
    if is_head {
        reply = reply.with("Content-Length", length.to_string());
    }
    let patience = peer.process.http.request_timeout;
    let sent = (!is_head).then(|| {
        Box::new(Download::new(
            file,
            length,
            slot,
            &peer.connection,
            patience,
        ))
    });
    RoutedResponse {
        media_type: download.media_type,
        file: sent,
        ..RoutedResponse::of(reply)
    }
}

fn unreadable(download: &AttachmentDownload, reason: &str) -> RoutedResponse {
    let file = download.file.get();
    tracing::error!(file, reason, "a file can't be sent");
    refuse(
        RequestRefusal::FileUnreadable,
        503,
        "The file can't be read",
    )
}

/// Returns the part of a file that a request asks for. Multiple ranges, and ranges of another version of the file, are
/// answered with the complete file.
fn requested_part(head: &Parts, size: u64, tag: &str) -> FilePart {
    let value = |name| head.headers.get(name).and_then(|v| v.to_str().ok());
    let is_other = value(&header::IF_RANGE).is_some_and(|known| known != tag);
    let range = value(&header::RANGE).filter(|_| !is_other);
    range
        .and_then(|text| parse_range(text, size))
        .unwrap_or(FilePart::Whole)
}

/// Reads a header with one range of bytes; `None` if it is anything else.
fn parse_range(text: &str, size: u64) -> Option<FilePart> {
    let digits = |text: &str| {
        let all = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        all.then(|| text.parse().unwrap_or(u64::MAX))
    };
    let (first, last) = text.trim().strip_prefix("bytes=")?.split_once('-')?;
    let (start, end) = match (first.trim(), last.trim()) {
        ("", suffix) => (size.saturating_sub(digits(suffix)?), size),
        (first, "") => (digits(first)?, size),
        (first, last) => {
            let (first, last) = (digits(first)?, digits(last)?);
            if last < first {
                return None;
            }
            (first, last.saturating_add(1).min(size))
        }
    };
    Some(if start < end {
        FilePart::Range(start, end - start)
    } else {
        FilePart::Unsatisfiable
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_part_of_the_file_or_an_error() {
        use FilePart::{Range, Unsatisfiable};
        for (text, part) in [
            ("bytes=0-0", Some(Range(0, 1))),
            ("bytes=2-4", Some(Range(2, 3))),
            ("bytes=2-99999999999999999999999", Some(Range(2, 8))),
            ("bytes=9-", Some(Range(9, 1))),
            ("bytes=-3", Some(Range(7, 3))),
            ("bytes=-99", Some(Range(0, 10))),
            ("bytes=10-", Some(Unsatisfiable)),
            ("bytes=-0", Some(Unsatisfiable)),
            ("bytes=4-2", None),
            ("bytes=0-1,4-5", None),
            ("bytes=+1-2", None),
            ("bytes=-", None),
            ("lines=1-2", None),
        ] {
            assert_eq!(parse_range(text, 10), part, "{text}");
        }
        assert_eq!(parse_range("bytes=0-", 0), Some(Unsatisfiable));
    }
}
