//! The sign-in page, and the users.

use axum::extract::{Form, Query, State};
use axum::http::StatusCode;
use axum::response::{Html, IntoResponse as _, Response, Result};
use axum::{Router, routing::get};
use serde::Deserialize;
use workgraph_auth::{AuthStoreError, OAuthServer, UserDirectory, UserInfo};

/// Users of the service; a table of yours.
pub(crate) struct Users;

impl Users {
    pub(crate) const IDS: [u64; 1] = [7];

    /// Returns the user with this name and password. In earnest a hash is compared, such as argon2's.
    fn find(name: &str, password: &str) -> Option<u64> {
        (name == "ada" && password == "lovelace").then_some(7)
    }
}

#[async_trait::async_trait]
impl UserDirectory for Users {
    async fn user_info(&self, id: u64) -> Result<Option<UserInfo>, AuthStoreError> {
        Ok((id == 7).then(|| UserInfo::new(id, "Ada", "ada@example.com")))
    }
}

/// Address to go on to after the sign-in.
#[derive(Deserialize)]
struct Next {
    #[serde(default)]
    next: String,
}

#[derive(Deserialize)]
struct SignIn {
    name: String,
    password: String,
    #[serde(default)]
    next: String,
}

pub(crate) fn routes() -> Router<OAuthServer> {
    Router::new().route("/sign-in", get(page).post(sign_in))
}

async fn page(Query(Next { next }): Query<Next>) -> Html<String> {
    form(&next)
}

fn form(next: &str) -> Html<String> {
    // The text goes into an attribute, so the signs that could end it are replaced.
    let next = next.replace('&', "&amp;").replace('"', "&quot;");
    Html(format!(
        "<!doctype html><title>Sign in</title><form method=post>\
         <input name=name autocomplete=username aria-label=Name>\
         <input name=password type=password autocomplete=current-password aria-label=Password>\
         <input type=hidden name=next value=\"{next}\"><button>Sign in</button></form>"
    ))
}

async fn sign_in(State(oauth): State<OAuthServer>, Form(sent): Form<SignIn>) -> Result<Response> {
    match Users::find(&sent.name, &sent.password) {
        Some(user) => Ok(oauth.sign_in(user, &sent.next).await?),
        None => Ok((StatusCode::UNAUTHORIZED, form(&sent.next)).into_response()),
    }
}
