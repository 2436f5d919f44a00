//! Authorization requests that a world received, so that a test can judge what its app asks for.
use crate::stand_in::request_log::{LoggedRequest, shorten};
use parking_lot::Mutex;
use std::collections::VecDeque;
use workgraph_portal::{AUTHORIZE, SIGNED_IN};
use workgraph_wire::query_params::QueryParams;

/// Number of the last requests that are kept.
const KEPT: usize = 1_000;

/// Authorization request of an app.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct LoggedAuthorization {
    pub(crate) client_id: String,
    pub(crate) scope: String,
    pub(crate) state: String,
    /// True if it has a PKCE challenge that does not reveal the verifier.
    pub(crate) has_challenge: bool,
}

impl LoggedAuthorization {
    /// Reads the query of a request.
    pub(crate) fn of_query(query: &str) -> Self {
        let sent = QueryParams::parse(query);
        let text = |wanted: &str| {
            let mut pairs = sent.iter().flat_map(QueryParams::iter);
            let found = pairs.find(|(name, _)| *name == wanted);
            let mut value = found.map(|(_, value)| value.to_owned()).unwrap_or_default();
            shorten(&mut value);
            value
        };
        Self {
            client_id: text("client_id"),
            scope: text("scope"),
            state: text("state"),
            has_challenge: text("code_challenge_method") == "S256"
                && !text("code_challenge").is_empty(),
        }
    }
}

/// The last authorization requests of one world. A browser repeats the request after the sign-in; the repetition is not
/// counted.
#[derive(Default)]
pub(crate) struct AuthorizationLog(Mutex<VecDeque<LoggedAuthorization>>);

impl AuthorizationLog {
    /// Records a request to the world, if it is an authorization request.
    pub(crate) fn note(&self, request: &LoggedRequest) {
        if let Some((AUTHORIZE, query)) = request.path.split_once('?')
            && request.method == "GET"
        {
            // The part that a browser adds after the sign-in does not belong to the request.
            self.add(query.split(SIGNED_IN).next().unwrap_or(query));
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

    /// Returns the requests, oldest first.
    pub(crate) fn all(&self) -> Vec<LoggedAuthorization> {
        self.0.lock().iter().cloned().collect()
    }
}
