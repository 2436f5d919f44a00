//! A blocking HTTP client for all subjects, and its requests as curl commands.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use ureq::Agent;
use ureq::http::{HeaderMap, Request};

use crate::SubjectError;

/// Maximum number of bytes read from a reply body.
const REPLY_MAX: u64 = 64 << 20;

/// A request that was sent or will be.
#[derive(Clone, Debug)]
pub(crate) struct HttpRequest {
    pub(crate) method: String,
    pub(crate) url: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Option<Vec<u8>>,
}

/// Reply of the subject to an HTTP request.
#[derive(Clone, Debug)]
pub(crate) struct HttpReply {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
    pub(crate) took: Duration,
}

/// Blocking client that follows no redirects.
#[derive(Debug)]
pub(crate) struct HttpClient(Agent);

impl HttpClient {
    pub(crate) fn new(timeout: Duration) -> Self {
        let config = Agent::config_builder()
            .timeout_global(Some(timeout))
            .http_status_as_error(false)
            .max_redirects(0)
            // Servers close idle connections, some after a few seconds.
            .max_idle_age(Duration::from_secs(1))
            .build();
        Self(config.into())
    }

    /// Sends a request.
    ///
    /// # Errors
    /// Fails if no reply arrives; replies with any status count.
    #[expect(
        clippy::disallowed_methods,
        reason = "how long an answer takes is what a law is about"
    )]
    pub(crate) fn send(&self, request: &HttpRequest) -> Result<HttpReply, SubjectError> {
        let failed = |error: &dyn std::fmt::Display| {
            SubjectError(format!("{} {}: {error}", request.method, request.url))
        };
        let mut builder = Request::builder()
            .method(request.method.as_str())
            .uri(&request.url);
        for (name, value) in &request.headers {
            builder = builder.header(name, value);
        }
        let begun = Instant::now();
        let reply = match &request.body {
            Some(body) => {
                let request = builder.body(body.clone()).map_err(|error| failed(&error))?;
                self.0.run(request)
            }
            None => self
                .0
                .run(builder.body(()).map_err(|error| failed(&error))?),
        };
        let mut reply = reply.map_err(|error| failed(&error))?;
        let body = reply
            .body_mut()
            .with_config()
            .limit(REPLY_MAX)
            .read_to_vec();
        Ok(HttpReply {
            status: reply.status().as_u16(),
            headers: reply.headers().clone(),
            body: body.map_err(|error| failed(&error))?,
            took: begun.elapsed(),
        })
    }
}

impl HttpRequest {
    /// Parses `METHOD URL`.
    pub(crate) fn parse(line: &str) -> Result<Self, SubjectError> {
        let (method, url) = line.split_once(' ').ok_or_else(|| {
            SubjectError(format!(
                "{line:?} is no request; write it as \"GET http://127.0.0.1:3000/items\""
            ))
        })?;
        let (method, url) = (method.to_owned(), url.trim().to_owned());
        Ok(Self {
            method,
            url,
            headers: Vec::new(),
            body: None,
        })
    }

    /// Returns a curl command that sends the same request.
    pub(crate) fn curl(&self) -> String {
        let mut text = String::from("curl -si");
        if self.method != "GET" {
            let _ = write!(text, " -X {}", self.method);
        }
        for (name, value) in &self.headers {
            let _ = write!(text, " -H {}", Quoted(&format!("{name}: {value}")));
        }
        if let Some(body) = &self.body {
            let _ = write!(
                text,
                " --data-binary {}",
                Quoted(&String::from_utf8_lossy(body))
            );
        }
        let _ = write!(text, " {}", Quoted(&self.url));
        text
    }
}

/// Text in single quotes for a shell.
struct Quoted<'a>(&'a str);

impl std::fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "'{}'", self.0.replace('\'', "'\\''"))
    }
}
