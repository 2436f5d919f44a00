//! The reference pages of the API at [`paths::REFERENCE`], made from its OpenAPI document.
//!
//! There is a page for each tag, one for records that no tag's operations return, and an overview with all operations.
//! They are the same for all users, generated once, and complete without script. The only script searches, and sends
//! requests with a token from its user or from the browser's session; the content security policy of the pages names it
//! by its hash, and lets it connect to this server only.
//!
//! [`paths::REFERENCE`]: crate::pages::paths::REFERENCE
mod file;
mod operation;
mod overview;
mod schema;
mod tag_page;
mod view;

use std::collections::BTreeMap;

use serde_json::Value;
use workgraph_api::{ApiResponse, RequestRefusal};

use crate::common_responses::failure;
use crate::pages::paths;
use file::PageBuilder;
pub use file::{ReferenceFile, ReferenceRequest, Representation};
use view::DocumentView;

/// Name of the operation in logs and metrics.
pub const OPERATION: &str = "reference";

/// The script of the pages.
const SCRIPT: &str = include_str!("reference/reference.js");

/// All files of the reference, ready to send.
#[derive(Debug)]
pub struct ReferenceSite {
    files: BTreeMap<String, ReferenceFile>,
}

impl ReferenceSite {
    /// Generates the pages of an OpenAPI document, which takes some tens of milliseconds.
    #[must_use]
    pub fn new(document: &Value) -> Self {
        let view = DocumentView::new(document);
        let builder = PageBuilder::new(&view, SCRIPT);
        let mut files = BTreeMap::new();
        files.insert(
            paths::REFERENCE.to_owned(),
            builder.page(overview::content(&view)),
        );
        for tag in view.tags() {
            files.insert(
                tag.path.clone(),
                builder.page(tag_page::content(&view, tag)),
            );
        }
        let records = tag_page::other_records(&view);
        files.insert(paths::REFERENCE_RECORDS.to_owned(), builder.page(records));
        files.insert(paths::REFERENCE_SCRIPT.to_owned(), builder.script());
        Self { files }
    }

    /// Returns true if a path is below the path of the reference.
    #[must_use]
    pub fn is_below(path: &str) -> bool {
        let below = path.strip_prefix(paths::REFERENCE);
        below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    /// Returns the files with their paths.
    pub fn files(&self) -> impl Iterator<Item = (&str, &ReferenceFile)> {
        self.files.iter().map(|(path, file)| (path.as_str(), file))
    }

    /// Answers a GET with a file, with 304 if the client already has it, or with 404.
    #[must_use]
    pub fn answer(&self, request: ReferenceRequest<'_>) -> ApiResponse {
        let mut reply = match self.files.get(request.path) {
            Some(file) => file.answer(request),
            None => failure(
                RequestRefusal::NoRoute,
                404,
                "Not found",
                "The reference has no such page.",
            ),
        };
        reply.operation = OPERATION;
        reply
    }
}
