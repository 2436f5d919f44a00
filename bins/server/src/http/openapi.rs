//! The OpenAPI document as text.
use workgraph_operations::TABLES;
use workgraph_operations::openapi::{DocumentInfo, document};

/// Returns the document of a server at a URL without a path; an empty one is this server, wherever it is.
pub(crate) fn text(root_url: &str) -> String {
    let info = DocumentInfo {
        root_url,
        version: env!("CARGO_PKG_VERSION"),
    };
    document(TABLES, info).to_string()
}
