//! Extractor and responses for axum.

use axum_core::extract::FromRequestParts;
use axum_core::response::{IntoResponse, Response};
use http::request::Parts;
use http::{StatusCode, header};
use serde_core::Serialize;

use crate::error_reply::ErrorReply;
use crate::page::{Envelope, Page, PageParams};
use crate::page_tokens::{PageTokenError, SealError};
use crate::query_params::QueryError;

/// Parses the page parameters of a request. A handler with its own error format takes `Result<PageParams, QueryError>`.
impl<S: Sync, const DEFAULT: u16, const MOST: u16> FromRequestParts<S>
    for PageParams<DEFAULT, MOST>
{
    type Rejection = QueryError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, QueryError> {
        Self::parse(parts.uri.path(), parts.uri.query().unwrap_or_default())
    }
}

impl<T: Serialize> IntoResponse for Page<T> {
    fn into_response(self) -> Response {
        of_body(self.body())
    }
}

impl<T: Serialize> IntoResponse for Envelope<T> {
    fn into_response(self) -> Response {
        of_body(self.body())
    }
}

/// Sends the errors. The extensions of the response contain the reply, so that a layer can log its cause or write another body.
impl IntoResponse for ErrorReply {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status);
        let status = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = json(status, self.body());
        response.extensions_mut().insert(self);
        response
    }
}

impl IntoResponse for QueryError {
    fn into_response(self) -> Response {
        ErrorReply::from(self).into_response()
    }
}

impl IntoResponse for PageTokenError {
    fn into_response(self) -> Response {
        ErrorReply::from(self).into_response()
    }
}

impl IntoResponse for SealError {
    fn into_response(self) -> Response {
        ErrorReply::from(self).into_response()
    }
}

/// Returns the response with a body, or that of a server fault if the value can't be written as JSON.
fn of_body(body: Result<Vec<u8>, serde_json::Error>) -> Response {
    match body {
        Ok(body) => json(StatusCode::OK, body),
        Err(error) => ErrorReply::server_fault(error.to_string()).into_response(),
    }
}

fn json(status: StatusCode, body: Vec<u8>) -> Response {
    let kind = [(header::CONTENT_TYPE, "application/json; charset=UTF-8")];
    (status, kind, body).into_response()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use http::Request;

    use super::*;

    /// Runs a future that never waits.
    fn ready<F: Future>(future: F) -> F::Output {
        let future = pin!(future);
        match future.poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(output) => output,
            Poll::Pending => panic!("the future waits"),
        }
    }

    fn extracted(path: &str) -> Result<PageParams<2, 10>, QueryError> {
        let (mut parts, ()) = Request::get(path).body(()).unwrap().into_parts();
        ready(PageParams::from_request_parts(&mut parts, &()))
    }

    #[test]
    fn a_page_is_extracted_from_path_and_query() {
        let params = extracted("/people?limit=7&offset=o").unwrap();
        assert_eq!((params.limit, params.offset.as_deref()), (7, Some("o")));
        assert_eq!(extracted("/people").unwrap().limit, 2);
        assert_eq!(PageParams::parse("/people", "limit=7&offset=o"), Ok(params));
    }

    #[test]
    fn a_wrong_parameter_is_a_400_that_names_it() {
        let response = extracted("/people?limit=11").unwrap_err().into_response();
        assert_eq!(response.status(), 400);
        let reply = response.extensions().get::<ErrorReply>().unwrap();
        assert_eq!(reply.to_string(), "limit: must be 1 to 10");
        assert_eq!(
            response.headers()["content-type"],
            "application/json; charset=UTF-8"
        );
        assert_eq!(PageTokenError::Forged.into_response().status(), 400);
    }

    #[test]
    fn what_has_no_json_is_a_server_fault_with_its_cause_beside_it() {
        let no_json = Envelope(BTreeMap::from([((1, 2), 3)])).into_response();
        let page = Page::last(vec![BTreeMap::from([((1, 2), 3)])]).into_response();
        let seal = SealError::KeyTooLong(9_999).into_response();
        for response in [no_json, page, seal] {
            assert_eq!(response.status(), 500);
            assert!(
                response
                    .extensions()
                    .get::<ErrorReply>()
                    .unwrap()
                    .cause
                    .is_some()
            );
        }
        assert_eq!(Envelope("x").into_response().status(), 200);
        assert_eq!(
            ErrorReply::new(7, "no status").into_response().status(),
            500
        );
    }
}
