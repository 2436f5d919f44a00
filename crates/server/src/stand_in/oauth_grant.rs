//! Grants without a browser: a test makes the decisions that the sign-in and consent pages would ask a user for.
use crate::admin::bootstrap_file::AppEntry;
use crate::stand_in::oauth_traffic::note_code;
use crate::stand_in::seeded_entropy::in_stream;
use crate::stand_in::test_world::TestWorld;
use crate::stand_in::world_beginning::WorldBeginning;
use anyhow::{Context, Result, bail};
use bytes::Bytes;
use serde::Deserialize;
use serde_json::{Value, json};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::atomic::Ordering::Relaxed;
use workgraph_core::Gid;
use workgraph_portal::{AUTHORIZE, PortalRequest};
use workgraph_wire::percent::encode_component;
use workgraph_wire::query_params::QueryParams;

/// Path of the token endpoint.
const TOKEN: &str = "/-/oauth_token";
/// State of the authorization requests that the stand-in makes itself.
const STATE: &str = "without-a-browser";

/// Grant in a request: with `authorize`, the decision about an authorization request, otherwise tokens for an app.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SentGrant {
    /// Address that the app sends the browser to, or its query.
    authorize: Option<String>,
    /// Name or client id of the app.
    app: Option<String>,
    client_secret: Option<String>,
    redirect_uri: Option<String>,
    scopes: Option<Vec<String>>,
    /// Gid, address or name of the user; the first user if it is left out.
    user: Option<String>,
    /// Decision of the user: `allow` or `deny`.
    decision: Option<String>,
}

/// App that tokens are requested for.
struct GrantedApp {
    client_id: String,
    secret: String,
    redirect: String,
    /// Scopes that it may ask for; empty if they are unknown, or the app has full permissions.
    scopes: String,
}

/// Carries out a grant. Its random bytes come from a separate stream, so that it does not change the random bytes of other
/// requests.
///
/// # Errors
/// Says which field is wrong, or why the authorization server refused.
pub(super) async fn grant(test_world: &TestWorld, body: &[u8]) -> Result<Value> {
    let sent: SentGrant = serde_json::from_slice(body)?;
    let user = find_user(test_world, sent.user.as_deref()).await?;
    let is_allowed = match sent.decision.as_deref() {
        None | Some("allow") => true,
        Some("deny") => false,
        Some(other) => bail!("decision: `{other}` is neither allow nor deny"),
    };
    let stream = format!("grant {}", test_world.grants.fetch_add(1, Relaxed));
    if let Some(address) = &sent.authorize {
        if sent.app.is_some() || sent.scopes.is_some() || sent.client_secret.is_some() {
            bail!("authorize: the address has the app and its scopes; leave out the others");
        }
        let query = address
            .split_once('?')
            .map_or(&**address, |(_, query)| query);
        test_world.authorizations.add(query);
        let decided = in_stream(stream, decide(test_world, user, is_allowed, query)).await?;
        note_code(&decided, &test_world.given);
        return Ok(json!({ "redirect": decided }));
    }
    let app = find_app(test_world, &sent)?;
    let scopes = sent.scopes.as_ref().map(|scopes| scopes.join(" "));
    let scopes = scopes.unwrap_or_else(|| app.scopes.clone());
    let granted = in_stream(stream, async {
        let query = authorization_query(&app, &scopes);
        let address = decide(test_world, user, is_allowed, &query).await?;
        redeem(test_world, &app, &address).await
    });
    let tokens = granted.await?;
    if let Some(token) = tokens.get("access_token").and_then(Value::as_str) {
        test_world.given.add(token);
    }
    if let Some(token) = tokens.get("refresh_token").and_then(Value::as_str) {
        test_world.given.add(token);
    }
    Ok(tokens)
}

/// Returns the user that a text names: a user that the world began with, or any user by gid or address.
async fn find_user(test_world: &TestWorld, text: Option<&str>) -> Result<Gid> {
    let bootstrap = test_world.beginning.as_ref().map(WorldBeginning::bootstrap);
    let first = bootstrap.as_ref().map(|bootstrap| &*bootstrap.users);
    let mut users = first.unwrap_or_default().iter();
    let found = match text {
        None => users.next(),
        Some(text) => {
            users.find(|user| user.gid == text || user.email == text || user.name == text)
        }
    };
    if let Some(user) = found {
        return Gid::parse(&user.gid).context("the world has a user without a gid");
    }
    let text = text.context("user: the world was made without users")?;
    if let Some(gid) = Gid::parse(text) {
        return Ok(gid);
    }
    let login = test_world.world.storage.oauth.login(text).await?;
    let gid = login.and_then(|(account, _)| Gid::new(account.user));
    gid.with_context(|| format!("user: nobody here has the gid, address or name `{text}`"))
}

/// Returns the app of a grant. The request must contain its secret, unless the world began with the app.
fn find_app(test_world: &TestWorld, sent: &SentGrant) -> Result<GrantedApp> {
    let named = sent.app.as_deref();
    let named = named.context("one of app and authorize is needed")?;
    let bootstrap = test_world.beginning.as_ref().map(WorldBeginning::bootstrap);
    let apps = bootstrap.as_ref().map(|bootstrap| &*bootstrap.apps);
    let mut apps = apps.unwrap_or_default().iter();
    let known = apps.find(|app| app.client_id == named || app.name == named);
    let of_known = |field: fn(&AppEntry) -> &String| known.map(field).cloned();
    let secret = sent.client_secret.clone();
    let redirect = sent.redirect_uri.clone();
    Ok(GrantedApp {
        client_id: of_known(|app| &app.client_id).unwrap_or_else(|| named.to_owned()),
        secret: secret.or_else(|| of_known(|app| &app.client_secret)).with_context(|| {
            format!("client_secret: the world was not made with the app `{named}`, so its secret is needed")
        })?,
        // An app with full permissions can't list scopes.
        scopes: known
            .filter(|app| !app.full_permissions)
            .map(|app| app.scopes.clone())
            .unwrap_or_default(),
        redirect: redirect
            .or_else(|| of_known(|app| &app.redirect_uri))
            .context("redirect_uri: needed for an app with which the world was not made")?,
    })
}

/// Returns the query of an authorization request for a code.
fn authorization_query(app: &GrantedApp, scopes: &str) -> String {
    let mut pairs = vec![
        ("response_type", "code"),
        ("client_id", &app.client_id),
        ("redirect_uri", &app.redirect),
        ("state", STATE),
    ];
    if !scopes.is_empty() {
        pairs.push(("scope", scopes));
    }
    encoded(&pairs)
}

/// Returns pairs in the form of a query or a form.
fn encoded(pairs: &[(&str, &str)]) -> String {
    let pairs = pairs
        .iter()
        .map(|(name, value)| format!("{name}={}", encode_component(value)));
    pairs.collect::<Vec<_>>().join("&")
}

/// Decides about an authorization request for a user. Returns the address that a browser would be redirected to.
async fn decide(
    test_world: &TestWorld,
    user: Gid,
    is_allowed: bool,
    query: &str,
) -> Result<String> {
    let request = portal_request("GET", AUTHORIZE, query, Bytes::new());
    let portal = &test_world.world.portal;
    let decided = portal.decide_for(user.get(), is_allowed, &request).await;
    let decided = decided.context("user: it does not exist, or is disabled")?;
    let location = decided.header("Location").map(str::to_owned);
    location.with_context(|| {
        let text = String::from_utf8_lossy(&decided.body);
        match decided.header("Content-Type") {
            Some(kind) if kind.starts_with("text/plain") => format!("authorize: {}", text.trim()),
            _ => "authorize: the answer is a page in place of a redirect, as with the response mode form_post; use a browser"
                .to_owned(),
        }
    })
}

/// Exchanges the code in a redirect for tokens at the token endpoint.
async fn redeem(test_world: &TestWorld, app: &GrantedApp, address: &str) -> Result<Value> {
    let query = address.split_once('?').map_or("", |(_, query)| query);
    let answer = QueryParams::parse(query)?;
    let Some((_, code)) = answer.iter().find(|(name, _)| *name == "code") else {
        bail!("the authorization was refused: {address}");
    };
    let form = encoded(&[
        ("grant_type", "authorization_code"),
        ("client_id", &app.client_id),
        ("client_secret", &app.secret),
        ("redirect_uri", &app.redirect),
        ("code", code),
    ]);
    let request = portal_request("POST", TOKEN, "", form.into());
    let portal = &test_world.world.portal;
    let route = portal.route("POST", TOKEN);
    let answer = portal.answer(route.context(TOKEN)?, &request).await;
    let tokens: Value = serde_json::from_slice(&answer.body)?;
    if answer.status != 200 {
        bail!("the token endpoint refused: {tokens}");
    }
    Ok(tokens)
}

/// Returns a request from the test itself.
fn portal_request(method: &str, path: &str, query: &str, body: Bytes) -> PortalRequest {
    PortalRequest {
        method: method.to_owned(),
        path: path.to_owned(),
        query: query.to_owned(),
        authorization: Vec::new(),
        content_type: (!body.is_empty()).then(|| "application/x-www-form-urlencoded".to_owned()),
        cookies: Vec::new(),
        origin: None,
        referer: None,
        fetch_site: None,
        fetch_dest: None,
        address: IpAddr::V4(Ipv4Addr::LOCALHOST),
        user_agent: None,
        base_url: None,
        request_id: None,
        body,
    }
}
