//! The endpoints that apps' servers post forms to: token, revocation, introspection.
use std::time::SystemTime;

use workgraph_api::Reply;
use workgraph_auth::{Endpoints, Form, Fresh, TokenError};

use crate::form;
use crate::guard::network;
use crate::portal::{Broken, Portal};
use crate::request::{Request, failure};
use crate::route::{Route, To};

const CLIENTS: &str = "client";
const TOKEN_INFO: &str = "token_info";

impl Portal {
    pub(crate) async fn endpoint(&self, to: To, request: &Request, now: SystemTime) -> Reply {
        let quota = self.settings.token_info_per_minute;
        if to == To::TokenInfo
            && let Err(wait) =
                self.throttle
                    .admit(TOKEN_INFO, &network(request.address), quota, now)
        {
            return too_many(wait);
        }
        let reply = match self.exchange(to, request, now).await {
            Ok(reply) => reply,
            Err(broken) => {
                let phrase = self.log(&broken);
                return told(&error(
                    500,
                    "server_error",
                    &format!("Something broke here: {phrase}"),
                ));
            }
        };
        // Whoever guesses secrets is slowed down; whoever has the right one never meets this.
        let quota = self.settings.failures_per_minute;
        if reply.status == 401
            && let Err(wait) = self
                .throttle
                .admit(CLIENTS, &network(request.address), quota, now)
        {
            return too_many(wait);
        }
        told(&reply)
    }

    async fn exchange(
        &self,
        to: To,
        request: &Request,
        now: SystemTime,
    ) -> Result<workgraph_auth::Reply, Broken> {
        let invalid = |why: String| Ok(TokenError::InvalidRequest(why).reply());
        if !request.query.is_empty() {
            return invalid("Parameters belong into the body, not into the query.".to_owned());
        }
        let pairs = match form::read(request) {
            Ok(pairs) => pairs,
            Err(why) => return invalid(why),
        };
        let headers: Vec<&str> = request.authorization.iter().map(String::as_str).collect();
        let form = Form {
            pairs: &pairs,
            authorization: &headers,
        };
        let mut endpoints = Endpoints {
            store: &*self.store,
            people: &*self.people,
            issuer: &self.settings.base_url,
            signer: None,
        };
        Ok(match to {
            To::Revoke => endpoints.revoke(&form, now).await?,
            To::TokenInfo => endpoints.token_info(&form, now).await?,
            _ => {
                let fresh = Fresh {
                    access_id: self.number(),
                    access: self.random()?,
                    refresh_id: self.number(),
                    refresh: self.random()?,
                };
                // Only the exchange of a code brings an id_token, so a refresh waits for no key.
                let by_code = !form::one(&pairs, "code").is_empty();
                let ring = if by_code {
                    Some(self.ring().await?)
                } else {
                    None
                };
                endpoints.signer = ring.as_ref().and_then(|ring| ring.signer(now));
                endpoints.token(&form, &fresh, now).await?
            }
        })
    }
}

fn told(reply: &workgraph_auth::Reply) -> Reply {
    let mut out = Reply::json(reply.status, reply.body.clone().into_bytes());
    for (name, value) in reply.headers() {
        out = out.with(name, value);
    }
    out
}

/// An error in the form of RFC 6749, which those of `TokenError` are in, too.
fn error(status: u16, code: &str, why: &str) -> workgraph_auth::Reply {
    // Nothing in these texts needs escaping.
    let body = format!(r#"{{"error":"{code}","error_description":"{why}"}}"#);
    workgraph_auth::Reply::new(status, body)
}

fn too_many(wait: u64) -> Reply {
    let why = format!("Too many requests from this address. Retry after {wait} seconds.");
    told(&error(429, "temporarily_unavailable", &why)).with("Retry-After", wait.to_string())
}

impl Portal {
    /// The reply to a form that the transport did not take: too large, or not all there. `why` is
    /// our own text.
    #[must_use]
    pub fn refused(&self, route: Route, status: u16, why: &str) -> Reply {
        let mut reply = match route.to {
            To::Token | To::Revoke | To::TokenInfo => told(&error(status, "invalid_request", why)),
            _ => failure(status, "This form was not taken", why),
        };
        reply.operation = route.name;
        reply
    }
}
