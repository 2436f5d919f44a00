//! Conversion of errors of a bucket to errors of the blob store.
use anyhow::Error;
use workgraph_api::ports::blob_store::BlobStoreError;

/// Returns a function that converts an error of a request to an error of the port.
pub(super) fn failed(what: &'static str) -> impl Fn(Error) -> BlobStoreError {
    move |error| BlobStoreError(format!("{what}: {error:#}"))
}
