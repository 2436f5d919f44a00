//! The OpenAPI document as text, and the reference pages made from it.
use crate::http::app_state::AppState;
use crate::http::routed_response::RoutedResponse;
use crate::http::routes::BASE;
use hyper::header;
use hyper::http::request::Parts;
use serde_json::Value;
use tokio::sync::OnceCell;
use tokio::task::{JoinError, spawn_blocking};
use workgraph_api::ApiResponse;
use workgraph_api::error::{ApiError, error_response};
use workgraph_operations::TABLES;
use workgraph_operations::openapi::DocumentInfo;
use workgraph_portal::reference::{ReferenceRequest, ReferenceSite};

/// Returns the document of a server at a URL without a path; an empty one is this server, wherever it is.
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

/// The document and the reference pages, each made when it is first asked for, aside from the threads of connections.
#[derive(Debug, Default)]
pub(crate) struct ApiDescription {
    text: OnceCell<Vec<u8>>,
    reference: OnceCell<ReferenceSite>,
}

impl ApiDescription {
    /// Answers a GET of the document.
    pub(crate) async fn document(&self, edge: &AppState) -> RoutedResponse {
        let root_url = root_url(edge);
        let made = self
            .text
            .get_or_try_init(|| spawn_blocking(move || text(&root_url).into_bytes()));
        match made.await {
            Ok(text) => RoutedResponse::of(ApiResponse::json(200, text.clone())),
            Err(panicked) => failure(edge, &panicked),
        }
    }

    /// Answers a GET below the path of the reference.
    pub(crate) async fn reference(&self, edge: &AppState, head: &Parts) -> RoutedResponse {
        let root_url = root_url(edge);
        let made = self
            .reference
            .get_or_try_init(|| spawn_blocking(move || ReferenceSite::new(&document(&root_url))));
        let site = match made.await {
            Ok(site) => site,
            Err(panicked) => return failure(edge, &panicked),
        };
        let value = |name| head.headers.get(name)?.to_str().ok();
        let mut reply = site.answer(ReferenceRequest {
            path: head.uri.path(),
            accept_encoding: value(header::ACCEPT_ENCODING),
            if_none_match: value(header::IF_NONE_MATCH),
        });
        let security = edge.transport_security.clone();
        reply
            .headers
            .extend(security.map(|value| ("Strict-Transport-Security", value)));
        RoutedResponse::of(reply)
    }
}

fn failure(edge: &AppState, panicked: &JoinError) -> RoutedResponse {
    let reason = ApiError::Server(panicked.to_string());
    RoutedResponse::of(error_response(&reason, &*edge.entropy))
}

fn root_url(edge: &AppState) -> String {
    let base_url = &edge.api.settings().base_url;
    base_url.strip_suffix(BASE).unwrap_or(base_url).to_owned()
}
