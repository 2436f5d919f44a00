//! The OpenAPI document as text, and the reference pages made from it.
use hyper::header;
use hyper::http::request::Parts;
use serde_json::Value;
use tokio::sync::OnceCell;
use tokio::task::{JoinError, spawn_blocking};
use workgraph_api::ApiResponse;
use workgraph_operations::TABLES;
use workgraph_operations::openapi::DocumentInfo;
use workgraph_portal::reference::{ReferenceFile, ReferenceRequest, ReferenceSite};

/// Returns the document of a server at a URL without a path; an empty URL means this server at any address.
fn document(root_url: &str) -> Value {
    let info = DocumentInfo {
        root_url,
        version: env!("CARGO_PKG_VERSION"),
    };
    workgraph_operations::openapi::document(TABLES, info)
}

/// Returns the text of that document.
pub(crate) fn text(root_url: &str) -> String {
    document(root_url).to_string()
}

/// The document and the reference pages, each generated when it is first requested, outside of connection threads.
#[derive(Debug)]
pub(crate) struct ApiDescription {
    root_url: String,
    file: OnceCell<ReferenceFile>,
    reference: OnceCell<ReferenceSite>,
}

impl ApiDescription {
    /// Returns the description of a server at a URL without a path.
    pub(crate) fn new(root_url: &str) -> Self {
        Self {
            root_url: root_url.to_owned(),
            file: OnceCell::new(),
            reference: OnceCell::new(),
        }
    }

    /// Answers a GET of the document. Fails if it could not be generated.
    pub(crate) async fn document(&self, head: &Parts) -> Result<ApiResponse, JoinError> {
        let root_url = self.root_url.clone();
        let make = move || ReferenceFile::json(text(&root_url).into_bytes());
        let made = self.file.get_or_try_init(|| spawn_blocking(make));
        Ok(made.await?.answer(request_of(head)))
    }

    /// Answers a GET below the path of the reference. Fails if it could not be generated.
    pub(crate) async fn reference(&self, head: &Parts) -> Result<ApiResponse, JoinError> {
        let root_url = self.root_url.clone();
        let made = self
            .reference
            .get_or_try_init(|| spawn_blocking(move || ReferenceSite::new(&document(&root_url))));
        Ok(made.await?.answer(request_of(head)))
    }
}

/// Returns a request for a file of the description.
fn request_of(head: &Parts) -> ReferenceRequest<'_> {
    let value = |name| head.headers.get(name)?.to_str().ok();
    ReferenceRequest {
        path: head.uri.path(),
        accept_encoding: value(header::ACCEPT_ENCODING),
        if_none_match: value(header::IF_NONE_MATCH),
    }
}
