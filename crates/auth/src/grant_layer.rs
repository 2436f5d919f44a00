//! Layer that verifies the bearer tokens of requests, for tower services over HTTP.
use std::future::Future;
use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll};

use http::{Request, Response};
use tower_layer::Layer;
use tower_service::Service;

use crate::token_verifier::{GrantError, TokenVerifier};
use crate::tokens::grant::Grant;

/// Layer that passes on requests with a valid bearer token, with the [`Grant`] in their extensions.
///
/// The layer answers all other requests itself: 401 without a valid token, 400 with two tokens or a malformed one, 403
/// without a required scope, each with `WWW-Authenticate` (RFC 6750 section 3), and 503 if the look-up of the token failed.
/// The body is empty; the extensions of the response contain the [`GrantError`], for the log or for another body.
///
/// ```
/// # use std::sync::Arc;
/// # use workgraph_auth::{GrantLayer, MemoryTokenStore, TokenVerifier};
/// # fn clock() -> std::time::SystemTime { std::time::SystemTime::UNIX_EPOCH }
/// let verifier = TokenVerifier::new(Arc::new(MemoryTokenStore::new()), clock); // a look-up of yours
/// let layer = GrantLayer::new(verifier).require("invoices:read");
/// # let _layer = layer;
/// ```
#[derive(Clone, Debug)]
pub struct GrantLayer {
    verifier: TokenVerifier,
    required: Vec<&'static str>,
}

impl GrantLayer {
    /// Makes a layer that uses this verifier.
    #[must_use]
    pub const fn new(verifier: TokenVerifier) -> Self {
        Self {
            verifier,
            required: Vec::new(),
        }
    }

    /// Requires a scope for every request, in addition to those required before.
    #[must_use]
    pub fn require(mut self, scope: &'static str) -> Self {
        self.required.push(scope);
        self
    }

    /// Returns the rights of a request with these headers.
    async fn check(&self, headers: &http::HeaderMap) -> Result<Grant, GrantError> {
        let grant = self.verifier.verify_headers(headers).await?;
        for scope in &self.required {
            grant.require(scope)?;
        }
        Ok(grant)
    }
}

impl<S> Layer<S> for GrantLayer {
    type Service = Granted<S>;

    fn layer(&self, inner: S) -> Granted<S> {
        let layer = self.clone();
        Granted { inner, layer }
    }
}

/// Service behind a [`GrantLayer`].
#[derive(Clone, Debug)]
pub struct Granted<S> {
    inner: S,
    layer: GrantLayer,
}

impl<S, A, B> Service<Request<A>> for Granted<S>
where
    S: Service<Request<A>, Response = Response<B>> + Clone + Send + 'static,
    S::Future: Send,
    A: Send + 'static,
    B: Default,
{
    type Response = Response<B>;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Response<B>, S::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<A>) -> Self::Future {
        // The service that was polled ready takes the request; the clone is polled for the next one.
        let clone = self.inner.clone();
        let mut inner = mem::replace(&mut self.inner, clone);
        let layer = self.layer.clone();
        Box::pin(async move {
            let (mut parts, body) = request.into_parts();
            match layer.check(&parts.headers).await {
                Ok(grant) => {
                    parts.extensions.insert(grant);
                    inner.call(Request::from_parts(parts, body)).await
                }
                Err(error) => {
                    let mut response = Response::new(B::default());
                    error.write_to(&mut response);
                    Ok(response)
                }
            }
        })
    }
}
