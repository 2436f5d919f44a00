//! Layer for [tower](https://docs.rs/tower-service) services over HTTP, with the feature `tower`: for axum, hyper or
//! tonic.

use std::fmt;
use std::future::Future;
use std::hash::{BuildHasher, Hash};
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::SystemTime;

use http::header::{HeaderName, HeaderValue, RETRY_AFTER};
use http::{HeaderMap, Request, Response, StatusCode};
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;
use tower_layer::Layer;
use tower_service::Service;

use crate::admission_request::AdmissionRequest;
use crate::concurrency::Permit;
use crate::headers::RateLimitHeaders;
use crate::limit_exceeded::LimitExceeded;
use crate::limiter::Limiter;
use crate::steady_clock::SteadyClock;

/// Weight of a request, if it is not 1: an extension that an outer service adds to the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestWeight(pub u32);

/// Cost of a request in credits: an extension that the service adds to its response. Without it nothing is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestCost(pub u32);

/// Source of the current time.
type Clock = Arc<dyn Fn() -> SystemTime + Send + Sync>;

/// Layer that admits each request by the limits of its key.
///
/// A refused request is answered with 429 and an empty body, `Retry-After` with a sufficient wait, and
/// the fields `RateLimit` and `RateLimit-Policy`; the service does not see it. The extensions of the response contain the
/// [`LimitExceeded`], so that an outer service can add a body. An admitted request holds its permit until
/// the last byte of the response is taken from its body, or the body is dropped; a client that leaves before there is a
/// response also frees it.
///
/// ```
/// use std::time::Duration;
/// use workgraph_limits::tower::RateLimitLayer;
/// use workgraph_limits::{Limiter, PerTime};
///
/// let limits = Limiter::builder()
///     .window("burst", 100.per(Duration::from_secs(10)))
///     .concurrent(20)
///     .build();
/// let layer = RateLimitLayer::new(limits, |request: &http::Request<String>| {
///     let token = request.headers().get("authorization");
///     token.map(|token| token.as_bytes().to_vec())
/// });
/// # let _layer = layer;
/// ```
pub struct RateLimitLayer<K, F, B, S = std::collections::hash_map::RandomState> {
    limits: Arc<Limiter<K, S>>,
    key_of: F,
    clock: Clock,
    tells_limits: bool,
    request_body: PhantomData<fn(B)>,
}

impl<K, F, B, S> RateLimitLayer<K, F, B, S>
where
    F: Fn(&Request<B>) -> K,
{
    /// Makes a layer from a limiter and a function that returns the key of a request: its token, its user, its address.
    /// Requests without any of these share a common key, such as `None`.
    pub fn new(limits: impl Into<Arc<Limiter<K, S>>>, key_of: F) -> Self {
        let clock = SteadyClock::new();
        Self {
            limits: limits.into(),
            key_of,
            clock: Arc::new(move || clock.now()),
            tells_limits: false,
            request_body: PhantomData,
        }
    }

    /// Replaces the clock, by default a [`SteadyClock`].
    #[must_use]
    pub fn with_clock(mut self, clock: impl Fn() -> SystemTime + Send + Sync + 'static) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    /// Adds `RateLimit` and `RateLimit-Policy` to the responses of admitted requests, too.
    #[must_use]
    pub fn with_limit_headers(mut self) -> Self {
        self.tells_limits = true;
        self
    }
}

impl<K, F: Clone, B, S> Clone for RateLimitLayer<K, F, B, S> {
    fn clone(&self) -> Self {
        Self {
            limits: Arc::clone(&self.limits),
            key_of: self.key_of.clone(),
            clock: Arc::clone(&self.clock),
            tells_limits: self.tells_limits,
            request_body: PhantomData,
        }
    }
}

impl<K, F, B, S> fmt::Debug for RateLimitLayer<K, F, B, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RateLimitLayer")
            .field("tells_limits", &self.tells_limits)
            .finish_non_exhaustive()
    }
}

impl<I, K, F: Clone, B, S> Layer<I> for RateLimitLayer<K, F, B, S> {
    type Service = RateLimited<I, K, F, B, S>;

    fn layer(&self, inner: I) -> Self::Service {
        let layer = self.clone();
        RateLimited { inner, layer }
    }
}

/// Service behind the limits of a [`RateLimitLayer`].
#[derive(Debug)]
pub struct RateLimited<I, K, F, B, S = std::collections::hash_map::RandomState> {
    inner: I,
    layer: RateLimitLayer<K, F, B, S>,
}

impl<I: Clone, K, F: Clone, B, S> Clone for RateLimited<I, K, F, B, S> {
    fn clone(&self) -> Self {
        Self {
            inner: self.inner.clone(),
            layer: self.layer.clone(),
        }
    }
}

impl<I, K, F, A, B, S> Service<Request<A>> for RateLimited<I, K, F, A, S>
where
    I: Service<Request<A>, Response = Response<B>>,
    K: Hash + Eq + Clone,
    F: Fn(&Request<A>) -> K,
    B: Default,
    S: BuildHasher,
{
    type Response = Response<PermitBody<B, K>>;
    type Error = I::Error;
    type Future = AdmittedFuture<I::Future, B, K>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), I::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<A>) -> Self::Future {
        let layer = &self.layer;
        let (key, now) = ((layer.key_of)(&request), (layer.clock)());
        let weight = request.extensions().get::<RequestWeight>();
        let asked = AdmissionRequest::new(&key).weight(weight.map_or(1, |weight| weight.0));
        let admitted = layer.limits.admit_request(&asked, now);
        let headers = (layer.tells_limits || admitted.is_err())
            .then(|| RateLimitHeaders::of(&layer.limits.state(&asked, now)));
        let clock = Arc::clone(&layer.clock);
        match admitted {
            Ok(permit) => AdmittedFuture {
                future: Some(self.inner.call(request)),
                permit: Some(permit),
                headers,
                clock,
                refused: None,
            },
            Err(refusal) => AdmittedFuture {
                future: None,
                permit: None,
                headers: None,
                clock,
                refused: Some(refused(refusal, headers)),
            },
        }
    }
}

/// Returns the response to a refused request.
fn refused<B: Default, K>(
    refusal: LimitExceeded,
    headers: Option<RateLimitHeaders>,
) -> Response<PermitBody<B, K>> {
    let (body, permit) = (B::default(), None);
    let mut response = Response::new(PermitBody { body, permit });
    *response.status_mut() = StatusCode::TOO_MANY_REQUESTS;
    let wait = HeaderValue::from(refusal.retry_after);
    response.headers_mut().insert(RETRY_AFTER, wait);
    tell_limits(headers, response.headers_mut());
    response.extensions_mut().insert(refusal);
    response
}

/// Adds the header fields with the limits.
fn tell_limits(limits: Option<RateLimitHeaders>, headers: &mut HeaderMap) {
    let Some(limits) = limits.filter(|limits| !limits.policy.is_empty()) else {
        return;
    };
    for (name, value) in [
        ("ratelimit-policy", limits.policy),
        ("ratelimit", limits.limits),
    ] {
        // Names of limits are quoted using only printable characters.
        if let Ok(value) = HeaderValue::try_from(value) {
            headers.insert(HeaderName::from_static(name), value);
        }
    }
}

pin_project! {
    /// Future response to a request that was admitted or refused.
    pub struct AdmittedFuture<F, B, K> {
        // Future of the service, if the request is admitted.
        #[pin]
        future: Option<F>,
        // Permit, until a body holds it.
        permit: Option<Permit<K>>,
        // Limits to send.
        headers: Option<RateLimitHeaders>,
        // Clock for the time of the settlement.
        clock: Clock,
        // Response to a refused request, until it is taken.
        refused: Option<Response<PermitBody<B, K>>>,
    }
}

impl<F, B, K> fmt::Debug for AdmittedFuture<F, B, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AdmittedFuture").finish_non_exhaustive()
    }
}

impl<F, B, K, E> Future for AdmittedFuture<F, B, K>
where
    F: Future<Output = Result<Response<B>, E>>,
{
    type Output = Result<Response<PermitBody<B, K>>, E>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let Some(future) = this.future.as_pin_mut() else {
            return match this.refused.take() {
                Some(response) => Poll::Ready(Ok(response)),
                None => Poll::Pending,
            };
        };
        let outcome = ready!(future.poll(context));
        let mut permit = this.permit.take();
        let mut response = outcome?;
        let cost = response.extensions().get::<RequestCost>();
        if let (Some(RequestCost(cost)), Some(permit)) = (cost, &mut permit) {
            permit.settle(*cost, (this.clock)());
        }
        tell_limits(this.headers.take(), response.headers_mut());
        Poll::Ready(Ok(response.map(|body| PermitBody { body, permit })))
    }
}

pin_project! {
    /// Body of a response with the permit of its request: the slots are freed when the last byte is taken, or the body
    /// is dropped.
    pub struct PermitBody<B, K> {
        #[pin]
        body: B,
        permit: Option<Permit<K>>,
    }
}

impl<B: fmt::Debug, K> fmt::Debug for PermitBody<B, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PermitBody")
            .field("body", &self.body)
            .field("has_permit", &self.permit.is_some())
            .finish()
    }
}

impl<B: Body, K> Body for PermitBody<B, K> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        let mut this = self.project();
        let frame = ready!(this.body.as_mut().poll_frame(context));
        if !matches!(frame, Some(Ok(_))) || this.body.is_end_stream() {
            *this.permit = None;
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
