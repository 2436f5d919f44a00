//! Rate limits as a tower layer: a request is admitted or answered with 429 and the true `Retry-After`, and an admitted
//! one holds its permit until the response is dropped, body included. For hyper, wrap the service in hyper-util's
//! `TowerToHyperService`. `cargo run -p workgraph-server --example tower_layer`

use std::convert::Infallible;
use std::error::Error;
use std::future::{Ready, poll_fn, ready};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::task::{Context, Poll};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Bytes, Frame, SizeHint};
use hyper::header::{AUTHORIZATION, HeaderValue, RETRY_AFTER};
use hyper::{Method, Request, Response, StatusCode};
use ring::digest::{SHA256, digest};
use tower_layer::Layer;
use tower_service::Service;
use workgraph_limits::{
    AdmissionRequest, Limiter, LimiterSettings, Permit, RateQuota, RequestClass,
};

/// Layer whose services share one limiter.
#[derive(Clone)]
struct RateLimitLayer {
    limiter: Arc<Limiter>,
    /// Clock that never steps back: a server adds the time of a monotonic clock to its start.
    clock: fn() -> SystemTime,
}

impl<S> Layer<S> for RateLimitLayer {
    type Service = RateLimited<S>;

    fn layer(&self, inner: S) -> RateLimited<S> {
        let limits = self.clone();
        RateLimited { inner, limits }
    }
}

/// Service behind a limiter.
#[derive(Clone)]
struct RateLimited<S> {
    inner: S,
    limits: RateLimitLayer,
}

impl<S, A, B> Service<Request<A>> for RateLimited<S>
where
    S: Service<Request<A>, Response = Response<B>>,
    S::Future: Send + 'static,
    B: Default,
{
    type Response = Response<PermitBody<B>>;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, S::Error>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<A>) -> Self::Future {
        let now = (self.limits.clock)();
        match self.limits.limiter.admit(&admission(&request), now) {
            Ok(permit) => {
                let response = self.inner.call(request);
                // Until there is a body, the future has the permit: a client that leaves frees its slot.
                Box::pin(async move {
                    let _permit = Some(permit);
                    Ok(response.await?.map(|body| PermitBody { body, _permit }))
                })
            }
            Err(refusal) => Box::pin(async move {
                let (body, _permit) = (B::default(), None);
                let mut response = Response::new(PermitBody { body, _permit });
                *response.status_mut() = StatusCode::TOO_MANY_REQUESTS;
                let wait = HeaderValue::from(refusal.retry_after);
                response.headers_mut().insert(RETRY_AFTER, wait);
                Ok(response)
            }),
        }
    }
}

/// Returns the request as the limiter sees it: three a minute for each token. This is the part to adapt.
fn admission<A>(request: &Request<A>) -> AdmissionRequest {
    let token = request.headers().get(AUTHORIZATION);
    let digest = digest(&SHA256, token.map_or(b"".as_slice(), HeaderValue::as_bytes));
    AdmissionRequest {
        key: digest.as_ref().first_chunk().copied().unwrap_or_default(),
        class: match *request.method() {
            Method::GET | Method::HEAD => RequestClass::Read,
            _ => RequestClass::Write,
        },
        rate: RateQuota::Standard { quota: 3 },
        weight: 1,
    }
}

/// Body of a response, and the permit of its request: the slot is free again when the body is dropped.
struct PermitBody<B> {
    body: B,
    _permit: Option<Permit>,
}

impl<B: Body + Unpin> Body for PermitBody<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Service that says hello.
struct Hello;

impl Service<Request<()>> for Hello {
    type Response = Response<Full<Bytes>>;
    type Error = Infallible;
    type Future = Ready<Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<()>) -> Self::Future {
        ready(Ok(Response::new(Full::from("hello"))))
    }
}

/// Time of the example, in seconds since 1970; it passes only by hand.
static SECONDS: AtomicU64 = AtomicU64::new(1_800_000_000);

/// Makes a request and prints the answer.
async fn get(
    service: &mut RateLimited<Hello>,
    step: &str,
) -> Result<Response<PermitBody<Full<Bytes>>>, Box<dyn Error>> {
    let request = Request::get("/").header(AUTHORIZATION, "Bearer alice");
    poll_fn(|cx| service.poll_ready(cx)).await?;
    let response = service.call(request.body(())?).await?;
    let wait = response.headers().get(RETRY_AFTER);
    println!("{step}: {}, Retry-After: {wait:?}", response.status());
    Ok(response)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let limiter = Limiter::new(LimiterSettings {
        concurrent_reads: 1,
        ..LimiterSettings::default()
    });
    let layer = RateLimitLayer {
        limiter: Arc::new(limiter),
        clock: || UNIX_EPOCH + Duration::from_secs(SECONDS.load(Relaxed)),
    };
    let mut service = layer.layer(Hello);

    let first = get(&mut service, "first").await?;
    get(&mut service, "while the first response is kept").await?;
    first.into_body().collect().await?; // reads the body and drops it
    get(&mut service, "after the first").await?;
    SECONDS.fetch_add(10, Relaxed);
    let fourth = get(&mut service, "fourth in a minute").await?;
    let wait = fourth.headers().get(RETRY_AFTER).ok_or("not refused")?;
    SECONDS.fetch_add(wait.to_str()?.parse()?, Relaxed);
    let last = get(&mut service, "after the stated wait").await?;
    if last.status() != StatusCode::OK {
        return Err("the stated wait should be enough".into());
    }
    Ok(())
}
