//! tower_governor: the layer around a service, with a header as the key and the wait in `Retry-After`.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::Body;
use governor::middleware::NoOpMiddleware;
use http::{Request, Response};
use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};
use tower::{Layer as _, ServiceExt as _, service_fn};
use tower_governor::governor::GovernorConfigBuilder;
use tower_governor::key_extractor::KeyExtractor;
use tower_governor::{GovernorError, GovernorLayer};

#[derive(Clone)]
pub struct HeaderKey;

impl KeyExtractor for HeaderKey {
    type Key = String;

    fn extract<T>(&self, request: &Request<T>) -> Result<String, GovernorError> {
        let key = request
            .headers()
            .get("x-key")
            .ok_or(GovernorError::UnableToExtractKey)?;
        Ok(key.to_str().unwrap().to_owned())
    }
}

type ForgetfulMiddleware = NoOpMiddleware<governor::clock::QuantaInstant>;

pub struct TowerGovernor {
    runtime: Runtime,
    layer: Option<GovernorLayer<HeaderKey, ForgetfulMiddleware, Body>>,
}

impl TowerGovernor {
    pub fn new() -> Self {
        Self {
            runtime: Builder::new_current_thread().build().unwrap(),
            layer: None,
        }
    }
}

impl crate::Subject for TowerGovernor {
    fn hello(&self) -> Value {
        json!({"name": "tower_governor", "has": ["quota"], "wait": "s"})
    }

    fn start(&mut self, window_ms: u64, quota: u32, _: u64) {
        let mut config = GovernorConfigBuilder::default().key_extractor(HeaderKey);
        config
            .period(Duration::from_millis(window_ms) / quota)
            .burst_size(quota);
        self.layer = Some(GovernorLayer::new(config.finish().unwrap()));
    }

    fn admit(&mut self, key: &str, _: u32, _: u64) -> Result<(), Value> {
        let inner = service_fn(async |_| Ok::<_, Infallible>(Response::new(Body::empty())));
        let service = self.layer.as_ref().unwrap().layer(inner);
        let request = Request::get("/")
            .header("x-key", key)
            .body(Body::empty())
            .unwrap();
        let response = self.runtime.block_on(service.oneshot(request)).unwrap();
        match response.headers().get("retry-after") {
            None => Ok(()),
            Some(seconds) => {
                Err(json!({"retry_after": seconds.to_str().unwrap().parse::<u64>().unwrap()}))
            }
        }
    }
}
