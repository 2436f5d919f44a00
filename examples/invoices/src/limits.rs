//! Limits of clients: requests with each token, wrong guesses from each address.

use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, SystemTime};

use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::http::{Request, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use workgraph_auth::Grant;
use workgraph_limits::tower::{RateLimitLayer, RequestCost};
use workgraph_limits::{LimitExceeded, Limiter, PerTime as _};
use workgraph_wire::ErrorReply;

/// Key of a token: it is one that was verified, so a client can't choose it.
type TokenKey = Option<[u8; 16]>;
type Address = Option<IpAddr>;
type KeyOf<K> = fn(&Request<Body>) -> K;
type Clock = fn() -> SystemTime;

/// Limits of each token. They come after the `GrantLayer`, which has put the grant into the request.
pub(crate) fn of_tokens(clock: Clock) -> RateLimitLayer<TokenKey, KeyOf<TokenKey>, Body> {
    let limits = Limiter::builder()
        .window("burst", 10.per(Duration::from_secs(10)))
        .window("day", 10_000.per_day())
        .concurrent(5)
        .build();
    let key: KeyOf<TokenKey> = |request| {
        let grant = request.extensions().get::<Grant>();
        grant.map(|grant| grant.limit_key)
    };
    let layer = RateLimitLayer::new(limits, key).with_clock(clock);
    layer.with_limit_headers()
}

/// Limit of guesses from an address: passwords and client secrets. What costs is a guess that was wrong
/// ([`charge_for_a_guess`]), so that apps which know their secret ask for tokens as often as they like. Those that ask
/// at the same time see the same credits; the second limit says how many these are.
pub(crate) fn of_guesses(clock: Clock) -> RateLimitLayer<Address, KeyOf<Address>, Body> {
    let limits = Limiter::builder()
        .cost(10.per_minute())
        .concurrent(5)
        .build();
    let key: KeyOf<Address> = |request| {
        // Behind a proxy of yours: the address that it names.
        let address = request.extensions().get::<ConnectInfo<SocketAddr>>();
        address.map(|ConnectInfo(address)| address.ip())
    };
    RateLimitLayer::new(limits, key).with_clock(clock)
}

/// Charges the address for an answer that says the guess was wrong.
pub(crate) async fn charge_for_a_guess(mut response: Response) -> Response {
    if response.status() == StatusCode::UNAUTHORIZED {
        response.extensions_mut().insert(RequestCost(1));
    }
    response
}

/// Gives a refusal of the limits a body, in the form of all errors of this service.
pub(crate) async fn explain(response: Response) -> Response {
    let Some(refusal) = response.extensions().get::<LimitExceeded>() else {
        return response;
    };
    let explained = ErrorReply::new(429, format!("{refusal}")).into_response();
    let (mut parts, _) = response.into_parts();
    let (told, body) = explained.into_parts();
    parts.headers.remove(header::CONTENT_LENGTH);
    parts.headers.extend(told.headers);
    Response::from_parts(parts, body)
}
