//! The API as a service of tower: requests, bodies and permits.
use crate::world::{Kind, World};
use axum::body::{Body, Bytes, to_bytes};
use axum::http::{Request, Response};
use std::sync::Arc;
use tower::ServiceExt as _;
use workgraph_api::http_service::{ApiBody, ApiService, ClientAddress};
use workgraph_api::{Refusal, RequestRefusal, service};
use workgraph_auth::conformance::block_on;
use wrong_bodies::{broken, never_read};

/// Bodies that arrive wrongly.
mod wrong_bodies {
    use super::{Body, Bytes};
    use futures_util::stream::{once, poll_fn};

    /// Body whose reader would fail the test.
    pub(super) fn never_read() -> Body {
        Body::from_stream(poll_fn(
            |_| -> std::task::Poll<Option<Result<Bytes, String>>> { panic!("the body is read") },
        ))
    }

    /// Body that breaks off.
    pub(super) fn broken() -> Body {
        let error = Err::<Bytes, _>(std::io::Error::other("the client is gone"));
        Body::from_stream(once(std::future::ready(error)))
    }
}

/// Service over a world in memory, the token of Ada, and another world that is the same.
fn api() -> (ApiService, String, World) {
    let world = World::new(Kind::Memory);
    let ada = format!("Bearer {}", world.text("ada"));
    let other = World::new(Kind::Memory);
    (service(Arc::new(world.api)), ada, other)
}

fn sent(service: &ApiService, request: Request<Body>) -> Response<ApiBody> {
    block_on(service.clone().oneshot(request)).unwrap()
}

fn get(path: &str, token: &str) -> Request<Body> {
    let request = Request::get(path).header("Authorization", token);
    request.body(Body::empty()).unwrap()
}

fn post(token: &str, body: Body) -> Request<Body> {
    let request = Request::post("/tasks")
        .header("Authorization", token)
        .header("Content-Type", "application/json");
    request.body(body).unwrap()
}

fn bytes(response: Response<ApiBody>) -> Bytes {
    block_on(to_bytes(Body::new(response.into_body()), 1 << 20)).unwrap()
}

#[test]
fn a_reply_is_that_of_the_api_as_json_that_nobody_keeps() {
    let (service, ada, other) = api();
    let path = "/users/me?opt_fields=name,email";
    let response = sent(&service, get(path, &ada));
    assert_eq!(response.status(), 200);
    let headers = response.headers();
    assert_eq!(headers["content-type"], "application/json; charset=UTF-8");
    assert_eq!(headers["cache-control"], "private, no-store");
    assert_eq!(bytes(response), other.get("ada", path).text);
}

#[test]
fn whole_paths_are_those_below_the_base_alone() {
    let (service, ada, _) = api();
    let whole = service.clone().below("/api/1.0/");
    for (path, status) in [
        ("/api/1.0/users/me", 200),
        ("/users/me", 404),
        ("/api/1.0users/me", 404),
        ("/api/1.0", 404),
        ("/", 404),
    ] {
        assert_eq!(sent(&whole, get(path, &ada)).status(), status, "{path}");
    }
    let response = sent(&service, get("/nothing", &ada));
    assert_eq!(response.status(), 404);
    assert!(!bytes(response).is_empty());
}

#[test]
fn a_body_is_read_for_a_valid_token_and_within_its_size() {
    let (service, ada, other) = api();
    let refused = sent(&service, post("Bearer me", never_read()));
    assert_eq!(refused.status(), 401);
    let why = refused.extensions().get::<Refusal>().unwrap();
    assert_ne!(why.reason, RequestRefusal::Other.into());
    let large = vec![b' '; other.api.settings().body_max + 1];
    assert_eq!(sent(&service, post(&ada, Body::from(large))).status(), 413);
    assert_eq!(sent(&service, post(&ada, broken())).status(), 400);
    let body = format!(
        r#"{{"data":{{"name":"Prune","workspace":"{}"}}}}"#,
        other.gid("orchid")
    );
    let mut request = post(&ada, Body::from(body));
    let address = ClientAddress([127, 0, 0, 1].into());
    request.extensions_mut().insert(address);
    let made = sent(&service, request);
    assert_eq!(made.status(), 201);
}

#[test]
fn a_permit_is_held_until_the_bytes_of_the_reply_are_dropped() {
    let (service, ada, _) = api();
    let ask = || sent(&service, get("/users/me", &ada));
    let mut open: Vec<Bytes> = Vec::new();
    while open.len() < 200 {
        let response = ask();
        if response.status() == 429 {
            break;
        }
        open.push(bytes(response));
    }
    assert_eq!(open.len(), 50, "the limit of concurrent reads");
    open.pop();
    assert_eq!(ask().status(), 200);
}
