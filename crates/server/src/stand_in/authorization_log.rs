//! Authorization requests that a world received, so that a test can judge what its app asks for.
use crate::stand_in::request_log::{LoggedRequest, shorten};
use parking_lot::Mutex;
use std::collections::VecDeque;
use workgraph_wire::percent;

/// Path of the authorization endpoint.
pub(crate) const AUTHORIZE: &str = "/-/oauth_authorize";
/// Number of the last requests that are kept.
const KEPT: usize = 1_000;

/// Authorization request of an app.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct LoggedAuthorization {
    pub(crate) client_id: String,
    pub(crate) scope: String,
    pub(crate) state: String,
    /// True if it has a challenge of PKCE whose verifier can't be read from it.
    pub(crate) has_challenge: bool,
}

impl LoggedAuthorization {
    /// Reads the query of a request.
    pub(crate) fn of_query(query: &str) -> Self {
        let mut read = Self::default();
        let mut method = String::new();
        let mut challenge = String::new();
        for (name, value) in query.split('&').filter_map(|pair| pair.split_once('=')) {
            let mut value = percent::decode(value.as_bytes(), true).unwrap_or_default();
            shorten(&mut value);
            match name {
                "client_id" => read.client_id = value,
                "scope" => read.scope = value,
                "state" => read.state = value,
                "code_challenge_method" => method = value,
                "code_challenge" => challenge = value,
                _ => {}
            }
        }
        read.has_challenge = method == "S256" && !challenge.is_empty();
        read
    }
}

/// The last authorization requests of one world. A browser that signs in sends the same one again, which counts once.
#[derive(Default)]
pub(crate) struct AuthorizationLog(Mutex<VecDeque<LoggedAuthorization>>);

impl AuthorizationLog {
    /// Notes a request to the world, if it is an authorization request.
    pub(crate) fn note(&self, request: &LoggedRequest) {
        if let Some((AUTHORIZE, query)) = request.path.split_once('?')
            && request.method == "GET"
        {
            // What a browser adds after the sign-in is no part of the request.
            self.add(query.split("&signed_in=").next().unwrap_or(query));
        }
    }

    /// Adds the request with this query.
    pub(crate) fn add(&self, query: &str) {
        let mut kept = self.0.lock();
        let added = LoggedAuthorization::of_query(query);
        if kept.back() == Some(&added) {
            return;
        }
        if kept.len() == KEPT {
            kept.pop_front();
        }
        kept.push_back(added);
    }

    /// Returns the requests, the first one first.
    pub(crate) fn all(&self) -> Vec<LoggedAuthorization> {
        self.0.lock().iter().cloned().collect()
    }
}
