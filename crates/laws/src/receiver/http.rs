//! A webhook receiver behind HTTP.

use std::time::Duration;

use super::subject::{Delivery, ReceiverReply, ReceiverSubject, SECRET_HEADER};
use crate::SubjectError;
use crate::http_client::{HttpClient, HttpRequest};

/// Timeout of an answer; a law requires it within 10 s.
const TIMEOUT: Duration = Duration::from_secs(20);

/// Receiver behind HTTP, called at its address.
#[derive(Debug)]
pub struct HttpReceiver {
    url: String,
    client: HttpClient,
}

impl HttpReceiver {
    /// Makes a subject of the receiver at an address.
    #[must_use]
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            client: HttpClient::new(TIMEOUT),
        }
    }

    fn request(&self, delivery: &Delivery) -> HttpRequest {
        let mut headers = delivery.headers.clone();
        headers.push(("Content-Type".to_owned(), "application/json".to_owned()));
        let (method, url) = ("POST".to_owned(), self.url.clone());
        HttpRequest {
            method,
            url,
            headers,
            body: Some(delivery.body.clone()),
        }
    }
}

impl ReceiverSubject for HttpReceiver {
    fn name(&self) -> String {
        self.url.clone()
    }

    fn post(&mut self, delivery: &Delivery) -> Result<ReceiverReply, SubjectError> {
        let reply = self.client.send(&self.request(delivery))?;
        let secret = reply
            .headers
            .get(SECRET_HEADER)
            .and_then(|value| value.to_str().ok());
        Ok(ReceiverReply {
            status: reply.status,
            secret: secret.map(str::to_owned),
            took: reply.took,
        })
    }

    fn line(&self, delivery: &Delivery) -> String {
        self.request(delivery).curl()
    }
}
