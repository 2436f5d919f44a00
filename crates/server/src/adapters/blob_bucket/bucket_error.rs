//! Errors of a bucket as those of the port.
use anyhow::Error;
use workgraph_api::ports::blob_store::BlobStoreError;

/// Returns what makes an error of the port from one of a request.
pub(super) fn failed(what: &'static str) -> impl Fn(Error) -> BlobStoreError {
    move |error| BlobStoreError(format!("{what}: {error:#}"))
}
