//! Tokens in queries: shipped sign-in libraries ask for the profile by `GET /users/me?access_token=...`.
use crate::request::Request;
use crate::route::Match;
use workgraph_wire::Query;

/// The parameter.
const NAME: &str = "access_token";

/// Moves the token of a query into the header, where it may be in the query; a header that is there stays,
/// whatever it says. The token is not part of the query any more, so nothing that stores queries stores it.
///
/// None: nothing is to be moved.
pub(crate) fn into_header(request: &Request, found: &Match) -> Option<Request> {
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
    let query = Query::of_request(&request.query).unwrap_or_default();
    let token = query.get(NAME).ok().flatten();
    let rest = request.query.split('&').filter(|part| !named(part));
    let mut moved = Request {
        query: rest.collect::<Vec<_>>().join("&"),
        ..request.clone()
    };
    if let (Some(token), true) = (token, moved.authorization.is_empty()) {
        moved.authorization.push(format!("Bearer {token}"));
    }
    Some(moved)
}
