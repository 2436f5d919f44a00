//! The service through its router: a sign-in, a token, pages of invoices, and what stops those who ask too much.
#![cfg(test)]

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, SystemTime};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::ConnectInfo;
use axum::http::{HeaderMap, Method, Request, StatusCode, header};
use invoices::Invoices;
use serde_json::Value;
use tower::ServiceExt as _;
use workgraph_wire::percent;

const CALLBACK: &str = "http://127.0.0.1:8420/callback";
const FORM: &str = "application/x-www-form-urlencoded";

/// Client at an address, with a cookie or a token.
struct Client {
    router: Router,
    address: [u8; 4],
    cookie: String,
    token: String,
}

struct Reply {
    status: StatusCode,
    headers: HeaderMap,
    body: String,
}

impl Client {
    async fn send(&self, method: Method, path: &str, body: String) -> Reply {
        let mut request = Request::builder().method(method).uri(path);
        if !body.is_empty() {
            request = request.header(header::CONTENT_TYPE, FORM);
        }
        if !self.cookie.is_empty() {
            request = request.header(header::COOKIE, &self.cookie);
        }
        if !self.token.is_empty() {
            let bearer = format!("Bearer {}", self.token);
            request = request.header(header::AUTHORIZATION, bearer);
        }
        let address = ConnectInfo(SocketAddr::from((self.address, 50_000)));
        let request = request.extension(address).body(Body::from(body)).unwrap();
        let response = self.router.clone().oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let body = to_bytes(body, 1 << 20).await.unwrap();
        Reply {
            status: parts.status,
            headers: parts.headers,
            body: String::from_utf8(body.to_vec()).unwrap(),
        }
    }

    async fn get(&self, path: &str) -> Reply {
        self.send(Method::GET, path, String::new()).await
    }
}

impl Reply {
    fn header(&self, name: &str) -> &str {
        let value = self.headers.get(name);
        value.map_or("", |value| value.to_str().unwrap())
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    /// Returns the value of a hidden field.
    fn field(&self, name: &str) -> &str {
        let (_, rest) = self.body.split_once(&format!("name=\"{name}\"")).unwrap();
        let (_, rest) = rest.split_once("value=\"").unwrap();
        rest.split_once('"').unwrap().0
    }
}

/// Returns the time of the tests, which stands still.
fn clock() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000)
}

/// Returns bytes that are other ones each time.
fn random() -> Result<[u8; 32], String> {
    static NEXT: AtomicU8 = AtomicU8::new(1);
    Ok([NEXT.fetch_add(1, Ordering::Relaxed); 32])
}

/// Returns a client, and the id and the secret of an app.
async fn start() -> (Client, String, String) {
    let service = Invoices::new("http://127.0.0.1:8420", clock, random)
        .await
        .unwrap();
    let (app, secret) = service.register_app("Bookkeeper", CALLBACK).await.unwrap();
    let client = Client {
        router: service.router(),
        address: [192, 0, 2, 1],
        cookie: String::new(),
        token: String::new(),
    };
    (client, app.client_id(), secret.expose().to_owned())
}

#[tokio::test]
async fn a_user_lets_an_app_read_the_invoices_page_by_page_until_a_limit_stops_it() {
    let (mut client, id, secret) = start().await;
    assert_eq!(client.get("/invoices").await.status, 401);

    // The user signs in and agrees.
    let password = "name=ada&password=lovelace".to_owned();
    let signed_in = client.send(Method::POST, "/sign-in", password).await;
    assert_eq!(signed_in.status, 303, "{}", signed_in.body);
    let cookie = signed_in.header("set-cookie").split(';').next().unwrap();
    client.cookie = cookie.to_owned();
    let authorize = "/-/oauth_authorize";
    let query = format!(
        "response_type=code&state=af0ifjsldkj&scope=invoices:read&client_id={id}&redirect_uri={CALLBACK}"
    );
    let consent = client.get(&format!("{authorize}?{query}")).await;
    assert_eq!(consent.status, 200, "{}", consent.header("location"));
    let ticket = consent.field("ticket");
    let request = percent::encode_component(&query);
    let answer = format!("request={request}&ticket={ticket}&decision=allow");
    let agreed = client.send(Method::POST, authorize, answer).await;
    assert_eq!(agreed.status, 303, "{}", agreed.body);
    let (_, code) = agreed.header("location").split_once("code=").unwrap();

    // The app gets a token for the code.
    client.cookie.clear();
    let form = format!(
        "grant_type=authorization_code&client_id={id}&client_secret={secret}&redirect_uri={CALLBACK}&code={code}"
    );
    let tokens = client.send(Method::POST, "/-/oauth_token", form).await;
    assert_eq!(tokens.status, 200, "{}", tokens.body);
    client.token = tokens.json()["access_token"].as_str().unwrap().to_owned();

    // Three pages, and a token of another list.
    let mut path = "/invoices?limit=100".to_owned();
    let mut rows = Vec::new();
    for next in [true, true, false] {
        let page = client.get(&path).await;
        assert!(page.header("ratelimit").contains("\"burst\""));
        let page = page.json();
        rows.extend(page["data"].as_array().unwrap().clone());
        assert_eq!(page["next_page"].is_object(), next);
        if next {
            let offset = page["next_page"]["offset"].as_str().unwrap();
            path = format!("/invoices?limit=100&offset={offset}");
        }
    }
    let numbers: Vec<_> = rows.iter().filter_map(Value::as_u64).collect();
    assert_eq!(numbers, (1..=250).rev().collect::<Vec<_>>());
    assert_eq!(client.get("/invoices?offset=me").await.status, 400);

    // Ten in ten seconds.
    for _ in 0..6 {
        assert_eq!(client.get("/invoices").await.status, 200);
    }
    let refused = client.get("/invoices").await;
    assert_eq!(refused.status, 429);
    let wait: u64 = refused.header("retry-after").parse().unwrap();
    assert_eq!(wait, 10);
    let message = refused.json()["errors"][0]["message"]
        .as_str()
        .unwrap()
        .to_owned();
    assert_eq!(
        message,
        format!("the burst quota is used up, retry after {wait} s")
    );
    assert_eq!(
        refused.header("content-type"),
        "application/json; charset=UTF-8"
    );
}

#[tokio::test]
async fn an_address_that_guesses_secrets_or_passwords_is_stopped_and_no_other() {
    let (mut client, id, secret) = start().await;
    let guess = |secret: &str| {
        format!(
            "grant_type=authorization_code&client_id={id}&client_secret={secret}&redirect_uri={CALLBACK}&code=none"
        )
    };
    for n in 0..12 {
        let (path, body) = match n % 2 {
            0 => ("/-/oauth_token", guess("wrong")),
            _ => ("/sign-in", "name=ada&password=wrong".to_owned()),
        };
        let reply = client.send(Method::POST, path, body).await;
        assert_eq!(reply.status, if n < 10 { 401 } else { 429 });
    }
    // The right secret does not help here any more, and does elsewhere.
    let right = client
        .send(Method::POST, "/-/oauth_token", guess(&secret))
        .await;
    assert_eq!(right.status, 429, "{}", right.body);
    client.address = [192, 0, 2, 2];
    let right = client
        .send(Method::POST, "/-/oauth_token", guess(&secret))
        .await;
    assert_eq!(right.status, 400, "{}", right.body);
    assert_eq!(right.json()["error"], "invalid_grant");
}
