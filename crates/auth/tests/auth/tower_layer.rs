//! The layer that lets requests with a good token through.
use std::convert::Infallible;
use std::sync::Arc;
use std::time::SystemTime;

use axum::http::{Request, Response};
use tower::{Layer as _, ServiceExt as _, service_fn};
use workgraph_auth::conformance::{SCOPES, block_on};
use workgraph_auth::{
    Account, Grant, GrantError, GrantLayer, MemoryTokenStore, Tier, TokenKind, TokenRecord,
    TokenRefusal, TokenStore, TokenVerifier, mint_token,
};

use crate::{at, random};

fn clock() -> SystemTime {
    at(1)
}

/// Answers with the user of the request.
async fn who(request: Request<String>) -> Result<Response<String>, Infallible> {
    let grant = request.extensions().get::<Grant>();
    let user = grant.map_or_else(String::new, |grant| grant.user.to_string());
    Ok(Response::new(format!("{user} says {}", request.body())))
}

/// Sends a request with these `Authorization` headers to a service that needs the scope `tasks:read`.
fn sent(store: &Arc<MemoryTokenStore>, authorization: &[&str]) -> Response<String> {
    let layer = GrantLayer::new(TokenVerifier::new(store.clone(), clock)).require("tasks:read");
    let mut request = Request::new("hello".to_owned());
    for value in authorization {
        request
            .headers_mut()
            .append("authorization", value.parse().unwrap());
    }
    block_on(layer.layer(service_fn(who)).oneshot(request)).unwrap()
}

#[test]
fn a_layer_passes_requests_with_their_grant_and_refuses_others_with_a_challenge() {
    let store = Arc::new(MemoryTokenStore::new());
    block_on(store.put_account(Account::new(12, Tier::DEFAULT), None)).unwrap();
    let bearer = |id: u64, scopes: &str| {
        let (secret, digest) = mint_token(TokenKind::Personal, &random(id));
        let record = TokenRecord {
            scopes: SCOPES.parse(scopes).unwrap(),
            ..TokenRecord::personal(id, digest, 12, at(0))
        };
        block_on(store.insert_token(record)).unwrap();
        format!("Bearer {}", secret.expose())
    };
    let (reads, writes) = (bearer(1, "tasks:read"), bearer(2, "tasks:write"));
    let (reads, writes) = (reads.as_str(), writes.as_str());
    let passed = sent(&store, &[reads]);
    assert_eq!(
        (passed.status().as_u16(), passed.body().as_str()),
        (200, "12 says hello")
    );
    assert!(passed.headers().get("www-authenticate").is_none());

    let scope = "Bearer error=\"insufficient_scope\", scope=\"tasks:read\"";
    let malformed = "Bearer error=\"invalid_request\"";
    for (headers, status, challenge) in [
        (&[][..], 401, "Bearer"),
        (&["Basic eA=="][..], 401, "Bearer"),
        (&["Bearer"][..], 400, malformed),
        (&[reads, reads][..], 400, malformed),
        (&["Bearer wgp_x"][..], 401, "Bearer error=\"invalid_token\""),
        (&[writes][..], 403, scope),
    ] {
        let refused = sent(&store, headers);
        assert_eq!(refused.status(), status, "{headers:?}");
        assert_eq!(refused.headers()["www-authenticate"], challenge);
        assert_eq!(refused.body(), "");
    }
    block_on(store.revoke(1, at(0))).unwrap();
    let dead = sent(&store, &[reads]);
    let why = dead.extensions().get::<GrantError>().unwrap();
    assert_eq!(*why, GrantError::Token(TokenRefusal::Revoked));
}

/// Without the layer the handler verifies by the state of the router.
#[cfg(feature = "axum")]
#[test]
fn a_handler_takes_the_grant_of_the_layer() {
    use axum::{Router, body::Body, routing::get};

    async fn user(grant: Grant) -> String {
        grant.user.to_string()
    }

    let verified = Arc::new(MemoryTokenStore::new());
    block_on(verified.put_account(Account::new(12, Tier::DEFAULT), None)).unwrap();
    let (secret, digest) = mint_token(TokenKind::Personal, &random(1));
    block_on(verified.insert_token(TokenRecord::personal(1, digest, 12, at(0)))).unwrap();
    let empty = TokenVerifier::new(Arc::new(MemoryTokenStore::new()), clock);
    let routes = Router::new().route("/", get(user)).with_state(empty);
    let ask = |app: Router| {
        let bearer = format!("Bearer {}", secret.expose());
        let request = axum::http::Request::get("/").header("Authorization", bearer);
        let request = request.body(Body::empty()).unwrap();
        block_on(app.oneshot(request)).unwrap().status().as_u16()
    };
    assert_eq!(
        ask(routes.clone()),
        401,
        "the handler verifies by a store without the token"
    );
    let layer = GrantLayer::new(TokenVerifier::new(verified, clock));
    assert_eq!(ask(routes.layer(layer)), 200);
}
