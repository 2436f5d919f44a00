//! The tower layer: what it refuses, what it tells, and how long it holds a permit.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test ends where it fails"
)]

use std::convert::Infallible;
use std::future::{Future, Ready, ready};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, UNIX_EPOCH};

use http::{Request, Response};
use http_body::{Body, Frame};
use tower_layer::Layer;
use tower_service::Service;
use workgraph_limits::tower::{PermitBody, RateLimitLayer, RequestCost, RequestWeight};
use workgraph_limits::{AdmissionRequest, LimitExceeded, Limiter, PerTime};

/// Body of so many frames.
#[derive(Default)]
struct Frames(u32);

impl Body for Frames {
    type Data = &'static [u8];
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<&'static [u8]>, Infallible>>> {
        let Some(left) = self.0.checked_sub(1) else {
            return Poll::Ready(None);
        };
        self.0 = left;
        Poll::Ready(Some(Ok(Frame::data(b"x"))))
    }

    fn is_end_stream(&self) -> bool {
        self.0 == 0
    }
}

/// Service that answers with three frames, which cost what the request says.
#[derive(Clone)]
struct Answers;

impl Service<Request<u32>> for Answers {
    type Response = Response<Frames>;
    type Error = Infallible;
    type Future = Ready<Result<Response<Frames>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<u32>) -> Self::Future {
        let mut response = Response::new(Frames(3));
        let cost = RequestCost(*request.body());
        response.extensions_mut().insert(cost);
        ready(Ok(response))
    }
}

fn take<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(done) => done,
        Poll::Pending => panic!("it waits"),
    }
}

type Answer = Response<PermitBody<Frames, String>>;

fn next_frame(answer: &mut Answer) -> bool {
    let mut context = Context::from_waker(Waker::noop());
    let frame = Pin::new(answer.body_mut()).poll_frame(&mut context);
    matches!(frame, Poll::Ready(Some(Ok(_))))
}

fn header<'a>(answer: &'a Answer, name: &str) -> Option<&'a str> {
    answer
        .headers()
        .get(name)
        .map(|value| value.to_str().unwrap())
}

fn key_of(request: &Request<u32>) -> String {
    let key = request.headers().get("key");
    key.map_or(String::new(), |key| key.to_str().unwrap().to_owned())
}

fn request(key: &str, cost: u32) -> Request<u32> {
    Request::get("/").header("key", key).body(cost).unwrap()
}

#[test]
fn a_request_beyond_a_limit_is_answered_with_the_wait_that_is_enough() {
    let limits: Limiter<String> = Limiter::builder()
        .window("burst", 2.per(Duration::from_secs(10)))
        .window("day", 100.per_day())
        .build();
    let time = Arc::new(AtomicU64::new(1_800_000_000_000));
    let clock = Arc::clone(&time);
    let layer = RateLimitLayer::new(limits, key_of)
        .with_clock(move || UNIX_EPOCH + Duration::from_millis(clock.load(Relaxed)));
    let mut service = layer.layer(Answers);
    for _ in 0..2 {
        let answer = take(service.call(request("a", 0))).unwrap();
        assert_eq!((answer.status().as_u16(), answer.headers().len()), (200, 0));
    }
    time.fetch_add(3_500, Relaxed);
    let refused = take(service.call(request("a", 0))).unwrap();
    assert_eq!(refused.status().as_u16(), 429);
    assert_eq!(header(&refused, "retry-after"), Some("7"));
    assert_eq!(
        header(&refused, "ratelimit-policy"),
        Some("\"burst\";q=2;w=10, \"day\";q=100;w=86400")
    );
    assert_eq!(
        header(&refused, "ratelimit"),
        Some("\"burst\";r=0;t=10, \"day\";r=97;t=86400")
    );
    assert!(refused.body().is_end_stream());
    let refusal = refused.extensions().get::<LimitExceeded>().unwrap();
    assert_eq!(
        (refusal.limit.name(), refusal.retry_after),
        ("burst", 7),
        "a body of one's own can say what refused"
    );
    let other = take(service.call(request("b", 0))).unwrap();
    assert_eq!(
        other.status().as_u16(),
        200,
        "keys have limits of their own"
    );
    time.fetch_add(7_000, Relaxed);
    let admitted = take(service.call(request("a", 0))).unwrap();
    assert_eq!(admitted.status().as_u16(), 200);
}

#[test]
fn a_permit_is_held_until_the_last_byte_or_the_end_of_the_body() {
    let limits: Arc<Limiter<String>> = Arc::new(Limiter::builder().concurrent(1).build());
    let layer = RateLimitLayer::new(Arc::clone(&limits), key_of).with_limit_headers();
    let mut service = layer.layer(Answers);
    let key = "a".to_owned();
    let running = || {
        let state = limits.state(&AdmissionRequest::new(&key), UNIX_EPOCH);
        state.concurrent[0].running
    };
    let mut first = take(service.call(request("a", 0))).unwrap();
    assert_eq!(
        header(&first, "ratelimit-policy"),
        Some("\"concurrent\";q=1;qu=\"concurrent-requests\"")
    );
    assert!(next_frame(&mut first) && next_frame(&mut first));
    assert_eq!(running(), 1);
    assert_eq!(take(service.call(request("a", 0))).unwrap().status(), 429);
    assert!(next_frame(&mut first));
    assert_eq!(running(), 0, "that was the last byte");
    let second = take(service.call(request("a", 0))).unwrap();
    assert_eq!((second.status().as_u16(), running()), (200, 1));
    drop(second);
    assert_eq!(running(), 0, "the client has left");
    let third = service.call(request("a", 0));
    assert_eq!(running(), 1);
    drop(third);
    assert_eq!(running(), 0, "before there was an answer");
}

#[test]
fn weights_and_costs_are_those_of_the_request_and_of_its_answer() {
    let limits: Arc<Limiter<String>> = Arc::new(
        Limiter::builder()
            .window("minute", 10.per_minute())
            .cost(50.per_minute())
            .build(),
    );
    let mut service = RateLimitLayer::new(Arc::clone(&limits), key_of).layer(Answers);
    let mut heavy = request("a", 30);
    heavy.extensions_mut().insert(RequestWeight(7));
    assert_eq!(take(service.call(heavy)).unwrap().status(), 200);
    assert_eq!(take(service.call(request("a", 30))).unwrap().status(), 200);
    let refused = take(service.call(request("a", 0))).unwrap();
    assert_eq!(refused.status(), 429, "the credits are used up");
    let key = "a".to_owned();
    let left = limits.remaining(&AdmissionRequest::new(&key));
    let (weight, quota) = left.windows[0];
    assert_eq!((weight, quota), (1, 10), "the attempt counts, too");
}
