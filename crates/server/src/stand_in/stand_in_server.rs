//! Handler of a stand-in's requests: finds the world of each request, and the faults that a test asked for.
use crate::http::connection_context::{ConnectionContext, token_text};
use crate::http::own_address::{AtTheRoot, BASE};
use crate::http::request_body::ClientBody;
use crate::http::request_service::{
    RequestHandler, ResponseFuture, handle_request, handle_request_with,
};
use crate::http::response_body::ResponseBody;
use crate::http::routed_response::RoutedResponse;
use crate::stand_in::control;
use crate::stand_in::fault_action::Cut;
use crate::stand_in::oauth_traffic::{hints, note_given};
use crate::stand_in::request_log::LoggedRequest;
use crate::stand_in::test_world::TestWorld;
use crate::stand_in::test_worlds::{TestWorlds, WORLDS};
use hyper::header::{AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, DATE, HeaderValue, USER_AGENT};
use hyper::http::uri::PathAndQuery;
use hyper::{Request, Response, Uri};
use std::pin::Pin;
use std::sync::Arc;
use workgraph_api::{Clock, ConnectionTokenCache, RequestRefusal};
use workgraph_auth::SecretDigest;
use workgraph_wire::messages;

/// Handler of the requests of a stand-in.
pub(crate) struct StandIn(pub(crate) TestWorlds);

impl StandIn {
    async fn answer(
        self: Arc<Self>,
        peer: Arc<ConnectionContext>,
        mut request: Request<ClientBody>,
    ) -> Response<ResponseBody> {
        let (test_world, peer) = match self.enter(&peer, &mut request).await {
            Ok(entered) => entered,
            Err(NoWorld) => {
                return handle_request_with(&peer, request, async |_, _| {
                    RoutedResponse::refuse(RequestRefusal::NoRoute, 404, messages::NO_ROUTE)
                })
                .await;
            }
        };
        if control::is_control(&request) {
            let (stand_in, client) = (Arc::clone(&self), peer.connection.ip());
            return handle_request_with(&peer, request, async move |head, body| {
                let worlds = &stand_in.0;
                // In memory of its own, which a request of the API does not need.
                let answer = control::respond(worlds, &test_world, (client, &head), body);
                let answer: Pin<Box<dyn Future<Output = _> + Send + '_>> = Box::pin(answer);
                let answer = answer.await;
                worlds.note_first_write(&test_world);
                answer
            })
            .await;
        }
        if let Err(error) = test_world.timeline.finish_former().await {
            tracing::error!(
                reason = format!("{error:#}"),
                "what requests brought about failed"
            );
        }
        let mut logged = logged_request(&test_world, &request);
        test_world.authorizations.note(&logged);
        let connection = Arc::clone(&peer.connection);
        let now = test_world.clock.now();
        let Ok(mut response) = handle_request(peer, request).await;
        self.0.note_first_write(&test_world);
        if let Ok(date) = HeaderValue::try_from(httpdate::fmt_http_date(now)) {
            response.headers_mut().insert(DATE, date);
        }
        note_given(&logged.path, &response, &test_world.given);
        test_world.timeline.request_ended();
        let text = |name: &str| {
            response
                .headers()
                .get(name)?
                .to_str()
                .ok()
                .map(str::to_owned)
        };
        logged.status = response.status().as_u16();
        logged.retry_after = text("retry-after");
        logged.read_reply(response.body().bytes());
        let request_id = text("x-request-id").unwrap_or_default();
        logged.keep(test_world.notes.take(&request_id), response.body().bytes());
        let cut = test_world.faults.take_cut(&request_id);
        logged.is_cut = cut.is_some();
        test_world.requests.push(logged);
        match cut {
            None => response,
            Some(Cut::Half) => response.map(ResponseBody::broken_off),
            Some(Cut::Before | Cut::AfterCommit) => {
                drop(response);
                connection.abort();
                std::future::pending().await
            }
        }
    }

    /// Returns the world of a request, by its path or its token, and the connection as a request to that world sees it.
    /// Removes the world's path from the path of the request.
    async fn enter(
        &self,
        peer: &Arc<ConnectionContext>,
        request: &mut Request<ClientBody>,
    ) -> Result<(Arc<TestWorld>, Arc<ConnectionContext>), NoWorld> {
        let test_world = match split_path(request.uri()) {
            Some((id, rest)) => {
                let test_world = self.0.find(&id).ok_or(NoWorld)?;
                let mut parts = request.uri().clone().into_parts();
                parts.path_and_query = Some(rest);
                *request.uri_mut() = Uri::from_parts(parts).map_err(|_| NoWorld)?;
                test_world
            }
            None => {
                let test_world = match bearer_token(request) {
                    Some(token) => self.0.of_token(token),
                    None => self.0.of_hints(&hints(request).await),
                };
                request.extensions_mut().insert(AtTheRoot);
                test_world
            }
        };
        if Arc::ptr_eq(&test_world, &self.0.root_world) {
            return Ok((test_world, Arc::clone(peer)));
        }
        self.0.note_use(&test_world);
        let inside = ConnectionContext {
            process: Arc::clone(&self.0.process),
            world: Arc::clone(&test_world.world),
            connection: Arc::clone(&peer.connection),
            token_cache: ConnectionTokenCache::default(),
        };
        Ok((test_world, Arc::new(inside)))
    }
}

/// Returns the log entry of a request, without its outcome.
fn logged_request(test_world: &TestWorld, request: &Request<ClientBody>) -> LoggedRequest {
    let (method, path) = (request.method().as_str(), request.uri().path());
    let sent = request
        .uri()
        .path_and_query()
        .map_or(path, PathAndQuery::as_str);
    let now = test_world.clock.now();
    let mut logged = LoggedRequest::new(now, method.to_owned(), sent.to_owned());
    let api = &test_world.world.api;
    let below = path.strip_prefix(BASE);
    logged.operation = below
        .and_then(|below| api.operation_name(method, below))
        .unwrap_or_default();
    let text = |name| request.headers().get(name)?.to_str().ok();
    logged.user_agent = text(USER_AGENT).map(str::to_owned);
    logged.content_type = text(CONTENT_TYPE).map(str::to_owned);
    logged.token = bearer_token(request).map(SecretDigest::of);
    let length = text(CONTENT_LENGTH).and_then(|length| length.parse().ok());
    logged.length = length.unwrap_or_default();
    logged.after = test_world.requests.ended();
    logged
}

fn bearer_token(request: &Request<ClientBody>) -> Option<&str> {
    let header = request.headers().get(AUTHORIZATION)?.to_str().ok()?;
    token_text(header)
}

/// Error of a path that names a world that does not exist.
struct NoWorld;

/// Returns the number of the world in a path, and the path in that world with the query.
fn split_path(uri: &Uri) -> Option<(String, PathAndQuery)> {
    let rest = uri.path_and_query()?.as_str().strip_prefix(WORLDS)?;
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (number, inside) = rest.split_at(end);
    let inside = match inside {
        "" => "/".to_owned(),
        query if query.starts_with('?') => format!("/{query}"),
        inside => inside.to_owned(),
    };
    Some((number.to_owned(), inside.parse().ok()?))
}

impl RequestHandler for StandIn {
    fn handle(
        self: Arc<Self>,
        peer: Arc<ConnectionContext>,
        request: Request<ClientBody>,
    ) -> ResponseFuture {
        ResponseFuture::Pending(Box::pin(self.answer(peer, request)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_of_a_world_is_removed_and_the_query_stays() {
        let split = |path: &str| {
            let (id, inside) = split_path(&path.parse().unwrap())?;
            Some((id, inside.to_string()))
        };
        let some = |id: &str, inside: &str| Some((id.to_owned(), inside.to_owned()));
        assert_eq!(split("/api/1.0/tasks"), None);
        assert_eq!(
            split("/w/7/api/1.0/tasks?limit=2"),
            some("7", "/api/1.0/tasks?limit=2")
        );
        assert_eq!(split("/w/7"), some("7", "/"));
        assert_eq!(split("/w/7?a=b"), some("7", "/?a=b"));
        assert_eq!(split("/w/"), some("", "/"));
    }
}
