//! Serves the API with a custom transport: a small hyper service on loopback, over a store in memory.
//! It creates a task with a plain HTTP request, and prints the reply.
//! Run it with `cargo run -p workgraph-server --example serve_with_hyper`.
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{AUTHORIZATION, CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, http};
use hyper_util::rt::{TokioIo, TokioTimer};
use ring::rand::{SecureRandom, SystemRandom};
use std::error::Error;
use std::sync::Arc;
use std::time::SystemTime;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use workgraph_api::ports::EntropyUnavailable;
use workgraph_api::request::Method;
use workgraph_api::{
    Api, ApiDependencies, ApiRequest, ApiResponse, ApiSettings, Clock, Entropy, RequestRefusal,
    TokenLimits,
};
use workgraph_auth::{Account, Tier, TokenKind, TokenRecord, TokenStore, mint_token};
use workgraph_core::GidGenerator;
use workgraph_core::access::Role;
use workgraph_core::storage::GraphStore;
use workgraph_limits::Permit;
use workgraph_testkit::{Fixture, MemoryStore};
use workgraph_wire::{KeyRing, messages};

/// Path of the API's base.
const BASE: &str = "/api/1.0";

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let store = Arc::new(MemoryStore::new());

    // A workspace with one user, who has an account and a token. The store gets only the digest of the token.
    let mut fixture = Fixture::default();
    let workspace = fixture.workspace("Orchard");
    let user = fixture.member(workspace, "Ada", Role::Member);
    store.commit(fixture.take()).await?;
    let account = Account::new(user.get(), Tier::new(1));
    store.put_account(account, None).await?;
    let mut random = [0; 32];
    Machine.fill(&mut random)?;
    let (token, digest) = mint_token(TokenKind::Personal, &random);
    let record = TokenRecord::personal(1, digest, user.get(), Machine.now());
    store.insert_token(record).await?;

    // Assemble the API from its parts. A program that keeps the data must also keep the key, which opens the page tokens
    // that clients have.
    Machine.fill(&mut random)?;
    let api = Api::new(ApiDependencies {
        graph: store.clone(),
        tokens: store,
        clock: Arc::new(Machine),
        entropy: Arc::new(Machine),
        settings: ApiSettings {
            base_url: format!("http://{address}{BASE}"),
            ..ApiSettings::default()
        },
        limits: TokenLimits::default(),
        keys: KeyRing::new(1, random),
        gid_generator: Arc::new(GidGenerator::new(0, None)),
    });
    tokio::spawn(serve(listener, Arc::new(api)));

    let body = format!(r#"{{"data":{{"name":"Prune the trees","workspace":"{workspace}"}}}}"#);
    let (token, length) = (token.expose(), body.len());
    let request = format!(
        "POST {BASE}/tasks?opt_pretty HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\
         Authorization: Bearer {token}\r\nContent-Type: application/json\r\n\
         Content-Length: {length}\r\n\r\n{body}"
    );
    let mut stream = TcpStream::connect(address).await?;
    stream.write_all(request.as_bytes()).await?;
    let mut reply = String::new();
    stream.read_to_string(&mut reply).await?;
    println!("{reply}");
    let created = reply.starts_with("HTTP/1.1 201 ");
    created.then_some(()).ok_or("no task was made".into())
}

/// Serves each connection in its own task, until the listener fails.
async fn serve(listener: TcpListener, api: Arc<Api>) {
    while let Ok((stream, _)) = listener.accept().await {
        let api = Arc::clone(&api);
        let service = service_fn(move |request| answer(Arc::clone(&api), request));
        // With a timer, hyper closes connections that send no head in time.
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .serve_connection(TokioIo::new(stream), service);
        tokio::spawn(connection);
    }
}

/// Passes hyper's request to the API, and returns the API's response as a response of hyper.
async fn answer(api: Arc<Api>, request: Request<Incoming>) -> http::Result<Response<Full<Bytes>>> {
    let (head, body) = request.into_parts();
    let text = |value: &HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    let path = head.uri.path().strip_prefix(BASE).unwrap_or_default();
    let mut reply = match Limited::new(body, api.settings().body_max).collect().await {
        Ok(body) => {
            let tokens = head.headers.get_all(AUTHORIZATION).iter();
            let request = ApiRequest {
                method: Method::parse(head.method.as_str()),
                path: path.to_owned(),
                query: head.uri.query().unwrap_or_default().to_owned(),
                authorization: tokens.map(text).collect(),
                content_type: head.headers.get(CONTENT_TYPE).map(text),
                body: body.to_bytes(),
                ..ApiRequest::default()
            };
            api.handle(&request).await
        }
        Err(_) => ApiResponse::refusal(RequestRefusal::BodyTooLarge, 413, messages::BODY_TOO_LARGE),
    };
    reply.complete(api.settings(), None);
    let mut response = Response::builder()
        .status(reply.status)
        .header(CONTENT_TYPE, "application/json; charset=UTF-8")
        .header(CACHE_CONTROL, "private, no-store");
    for (name, value) in reply.headers {
        response = response.header(name, value);
    }
    let body = Bytes::from_owner(ReplyBody(reply.body, reply.permit));
    response.body(Full::new(body))
}

/// Body of a reply with the permit of its request, which counts as running until hyper drops the body.
struct ReplyBody(Bytes, #[expect(dead_code)] Option<Permit>);

impl AsRef<[u8]> for ReplyBody {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

/// Services of the machine: the time of day, and random bytes.
struct Machine;

impl Clock for Machine {
    #[expect(clippy::disallowed_methods, reason = "time is read only here")]
    fn now(&self) -> SystemTime {
        SystemTime::now()
    }
}

impl Entropy for Machine {
    #[expect(clippy::disallowed_methods, reason = "the only source of randomness")]
    fn fill(&self, buffer: &mut [u8]) -> Result<(), EntropyUnavailable> {
        let filled = SystemRandom::new().fill(buffer);
        filled.map_err(|_| EntropyUnavailable)
    }
}
