//! Tokens in queries: common sign-in libraries request the profile with `GET /users/me?access_token=...`.
use crate::request::ApiRequest;
use crate::router::RouteMatch;
use workgraph_wire::QueryParams;

/// Name of the query parameter.
const NAME: &str = "access_token";

/// Moves the token from the query into the header, if the operation allows it in the query. An existing header stays,
/// valid or not. The token is removed from the query, so it is not stored with it.
///
/// Returns `None` if there is nothing to move.
pub(crate) fn into_header(request: &ApiRequest, found: &RouteMatch) -> Option<ApiRequest> {
    if !found.operation.query_token || request.query.is_empty() {
        return None;
    }
    if found.parameters.iter().any(|(_, value)| value != "me") {
        return None;
    }
    let named = |part: &&str| part.split('=').next() == Some(NAME);
    if !request.query.split('&').any(|part| named(&part)) {
        return None;
    }
    let query = QueryParams::of_request(&request.query).unwrap_or_default();
    let token = query.get(NAME).ok().flatten();
    let rest = request.query.split('&').filter(|part| !named(part));
    let mut moved = ApiRequest {
        query: rest.collect::<Vec<_>>().join("&"),
        ..request.clone()
    };
    if let (Some(token), true) = (token, moved.authorization.is_empty()) {
        moved.authorization.push(format!("Bearer {token}"));
    }
    Some(moved)
}
