//! Requests to the authorization server whose content identifies their world, and the tokens and codes in its replies.
use crate::http::request_body::ClientBody;
use crate::http::response_body::ResponseBody;
use crate::stand_in::given_secrets::GivenSecrets;
use bytes::{Bytes, BytesMut};
use http_body_util::{BodyExt, Either, Full};
use hyper::header::{CONTENT_TYPE, LOCATION};
use hyper::{Method, Request, Response};
use serde_json::Value;
use std::time::Duration;
use workgraph_wire::form_body::FORM_BYTES;
use workgraph_wire::query_params::QueryParams;

/// Beginning of the paths of the authorization server.
const ENDPOINTS: &str = "/-/oauth_";
/// Fields of a form whose values a world has issued.
const GIVEN: [&str; 3] = ["refresh_token", "code", "token"];
/// Fields of a token endpoint's reply whose values later requests may contain.
const TOKENS: [&str; 2] = ["access_token", "refresh_token"];
/// Time within which a form has to arrive.
const PATIENCE: Duration = Duration::from_secs(30);

/// Parts of a request to the authorization server that identify its world.
#[derive(Default, PartialEq, Eq, Debug)]
pub(crate) struct WorldHints {
    /// Token or code.
    pub(crate) given: Option<String>,
    pub(crate) client_id: Option<String>,
}

/// Reads the parts of a request to the authorization server that identify its world. To do so, reads the form of a POST, and
/// puts it back.
pub(crate) async fn hints(request: &mut Request<ClientBody>) -> WorldHints {
    if !request.uri().path().starts_with(ENDPOINTS) {
        return WorldHints::default();
    }
    if *request.method() != Method::POST {
        return hints_of(request.uri().query().unwrap_or_default());
    }
    let form = request.headers().get(CONTENT_TYPE);
    if !form.is_some_and(|kind| {
        kind.as_bytes()
            .starts_with(b"application/x-www-form-urlencoded")
    }) {
        return WorldHints::default();
    }
    let read = read(request.body_mut()).await;
    let found = hints_of(&String::from_utf8_lossy(&read));
    *request.body_mut() = Either::Right(Full::new(read));
    found
}

/// Reads a body a little further than the longest valid form, so that a longer one is still refused for its length.
async fn read(body: &mut ClientBody) -> Bytes {
    let mut whole = BytesMut::new();
    let reading = async {
        while let Some(Ok(frame)) = body.frame().await {
            if let Ok(data) = frame.into_data() {
                whole.extend_from_slice(&data);
            }
            if whole.len() > FORM_BYTES {
                break;
            }
        }
    };
    // The authorization server judges only the bytes that have arrived by then.
    let _late = tokio::time::timeout(PATIENCE, reading).await;
    whole.freeze()
}

fn hints_of(pairs: &str) -> WorldHints {
    let Ok(pairs) = QueryParams::parse(pairs) else {
        return WorldHints::default();
    };
    let value = |name: &str| pairs.all(name).next().map(str::to_owned);
    WorldHints {
        given: GIVEN.into_iter().find_map(value),
        client_id: value("client_id"),
    }
}

/// Records the tokens and the code in a reply of the authorization server.
pub(crate) fn note_given(path: &str, reply: &Response<ResponseBody>, given: &GivenSecrets) {
    if !path.starts_with(ENDPOINTS) {
        return;
    }
    if let Some(location) = reply.headers().get(LOCATION)
        && let Ok(location) = location.to_str()
    {
        note_code(location, given);
    }
    let body: Value = serde_json::from_slice(reply.body().bytes()).unwrap_or_default();
    for token in TOKENS {
        if let Some(token) = body.get(token).and_then(Value::as_str) {
            given.add(token);
        }
    }
}

/// Records the code in the URL that a browser is redirected to.
pub(crate) fn note_code(location: &str, given: &GivenSecrets) {
    let query = location.split_once('?').map_or("", |(_, query)| query);
    let query = query.split('#').next().unwrap_or_default();
    if let Ok(pairs) = QueryParams::parse(query)
        && let Some(code) = pairs.all("code").next()
    {
        given.add(code);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_names_its_world_by_what_that_gave_and_by_its_app() {
        let hints = hints_of("grant_type=refresh_token&client_id=12&refresh_token=r%2F1");
        assert_eq!(hints.given.as_deref(), Some("r/1"));
        assert_eq!(hints.client_id.as_deref(), Some("12"));
        assert_eq!(hints_of("token=t").given.as_deref(), Some("t"));
        assert_eq!(hints_of("%zz"), WorldHints::default());
    }

    #[test]
    fn the_code_of_a_redirect_is_noted() {
        let given = GivenSecrets::default();
        note_code("https://a.test/callback?state=1&code=c%2B1#x", &given);
        note_code("https://a.test/callback?error=access_denied", &given);
        assert!(given.contains("c+1"));
    }
}
