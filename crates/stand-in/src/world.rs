//! A world: the data, the time and the faults of one test.
use crate::control_client::{ControlClient, StandInError};
use crate::inbox::Inbox;
use crate::world_address::{WorldAddress, items, list, member, parse_method, text};
use crate::world_clock::WorldClock;
use crate::world_controls::{WorldFaults, WorldLimits};
use serde_json::{Map, Value, json};
use ureq::http::Method;

/// World of a stand-in. If a thread panics while it holds a world, the address of the world's page is printed.
///
/// If a thread panics while it holds a world, the address of the world's page is printed.
#[derive(Debug)]
pub struct World {
    server_url: String,
    address: WorldAddress,
    /// JSON record of the world, as the stand-in returned it.
    json: Value,
}

impl World {
    pub(crate) fn new(
        server_url: String,
        client: ControlClient,
        json: Value,
    ) -> Result<Self, StandInError> {
        let address = WorldAddress::read(client, &server_url, &json)?;
        Ok(Self {
            server_url,
            address,
            json,
        })
    }

    /// Returns the id, such as `w7`.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.address.id
    }

    /// Returns the seed that all random bytes are derived from.
    #[must_use]
    pub const fn seed(&self) -> u64 {
        self.address.seed
    }

    /// Returns the address of the API, for the client under test.
    #[must_use]
    pub fn base_url(&self) -> &str {
        &self.address.base_url
    }

    /// Returns the address of the authorization server. All other addresses of the world are below it.
    #[must_use]
    pub fn auth_url(&self) -> &str {
        &self.address.auth_url
    }

    /// Returns the personal access token of the first user, for the client under test; empty if the world shows none.
    #[must_use]
    pub fn token(&self) -> &str {
        &self.address.token
    }

    /// Returns the page that shows the world in a browser.
    #[must_use]
    pub fn page(&self) -> String {
        format!("{}/-/stand-in", self.address.auth_url)
    }

    /// Returns the record of the world, as of its creation: `users`, `workspaces`, `teams`, `apps` and more.
    #[must_use]
    pub const fn json(&self) -> &Value {
        &self.json
    }

    /// Returns the gid of the fixture's object with a name; `None` if no object has it, or several do.
    #[must_use]
    pub fn gid(&self, name: &str) -> Option<&str> {
        self.json.get("names")?.get(name)?.as_str()
    }

    /// Sends a control request to this world, such as `GET` and `clock`, and returns the `data` of the reply.
    ///
    /// # Errors
    /// Fails if the stand-in refuses it.
    pub async fn control(
        &self,
        method: &str,
        path: &str,
        body: Option<Value>,
    ) -> Result<Value, StandInError> {
        self.address.control(method, path, body).await
    }

    /// Sends a request to the API as the first user, and returns the `data` of the reply; for setting up a test.
    ///
    /// # Errors
    /// Fails if the API refuses it.
    pub async fn api(
        &self,
        method: &str,
        path: &str,
        data: Option<Value>,
    ) -> Result<Value, StandInError> {
        let url = format!("{}{path}", self.address.base_url);
        let line = (parse_method(method, &url)?, &*url);
        self.address
            .client
            .api(line, self.token(), data.as_ref())
            .await
    }

    /// Returns the controls of the clock.
    #[must_use]
    pub const fn clock(&self) -> WorldClock<'_> {
        WorldClock(&self.address)
    }

    /// Returns the controls of the limits.
    #[must_use]
    pub const fn limits(&self) -> WorldLimits<'_> {
        WorldLimits(&self.address)
    }

    /// Returns the handle of the world's faults, which adds, lists, releases and ends them.
    #[must_use]
    pub const fn faults(&self) -> WorldFaults<'_> {
        WorldFaults(&self.address)
    }

    /// Returns the receiver of webhooks with a name.
    #[must_use]
    pub const fn inbox<'w>(&'w self, name: &'w str) -> Inbox<'w> {
        Inbox {
            world: &self.address,
            name,
        }
    }

    /// Returns the requests that the world received and that match: `operation`, `method`, `path`, `status`.
    ///
    /// # Errors
    /// Fails if the pattern is wrong.
    pub async fn requests(&self, pattern: &[(&str, &str)]) -> Result<Vec<Value>, StandInError> {
        let pairs = pattern
            .iter()
            .map(|(name, value)| format!("{name}={value}"));
        let query = pairs.collect::<Vec<_>>().join("&");
        Ok(items(
            self.control("GET", &format!("requests?{query}"), None)
                .await?,
        ))
    }

    /// Checks that as many requests match a pattern as its `count`, `at_least` or `at_most` say; at least one by default.
    ///
    /// # Errors
    /// Fails with the requests that nearly match if that does not hold.
    pub async fn verify(&self, pattern: Value) -> Result<(), StandInError> {
        let found = self
            .control("POST", "requests/verify", Some(pattern.clone()))
            .await?;
        if member(&found, "holds") == true {
            return Ok(());
        }
        let near = list(&found, "near_misses").map(|one| {
            let (method, path) = (text(one, "method"), text(one, "path"));
            format!("\n  {method} {path}: {}", member(one, "status"))
        });
        Err(StandInError::NotHeld(format!(
            "{} requests match {pattern}; those that nearly do:{}",
            member(&found, "count"),
            near.collect::<String>()
        )))
    }

    /// Returns the grade of the world's clients by these rules, or by all rules if none are given.
    ///
    /// # Errors
    /// Fails if a rule is broken; the error says what broke it.
    pub async fn grade(&self, rules: &[&str]) -> Result<Value, StandInError> {
        let grade = self.show_grade(rules).await?;
        let broken = list(&grade, "rules").filter(|rule| member(rule, "verdict") == "broken");
        let broken: String = broken
            .map(|rule| format!("\n  {}: {}", text(rule, "rule"), text(rule, "why")))
            .collect();
        match broken.is_empty() {
            true => Ok(grade),
            false => Err(StandInError::NotHeld(format!(
                "the client breaks rules:{broken}"
            ))),
        }
    }

    /// Returns the grade of the world's clients by these rules, or by all rules if none are given, even if a rule is broken.
    ///
    /// # Errors
    /// Fails if a rule does not exist.
    pub async fn show_grade(&self, rules: &[&str]) -> Result<Value, StandInError> {
        let path = format!("grade?format=json{}", query_of(rules));
        self.control("GET", &path, None).await
    }

    /// Returns the grade of the world's clients by these rules, or by all rules if none are given, as JUnit XML, which
    /// continuous integration services read.
    ///
    /// # Errors
    /// Fails if a rule does not exist.
    pub async fn junit(&self, rules: &[&str]) -> Result<String, StandInError> {
        let url = format!(
            "{}/-/grade?format=junit{}",
            self.address.auth_url,
            query_of(rules)
        );
        let bytes = self
            .address
            .client
            .bytes(Method::GET, &url, None, None)
            .await?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Returns tokens of an app for a user without a browser. `options` may contain `app`, `user` and `scopes`; the first
    /// app and the first user are the default.
    ///
    /// # Errors
    /// Fails if the authorization server refuses the grant.
    pub async fn grant(&self, options: Value) -> Result<Value, StandInError> {
        let mut sent = match options {
            Value::Object(options) => options,
            _ => Map::new(),
        };
        let first = self.json.pointer("/apps/0/name").cloned();
        sent.entry("app").or_insert(first.unwrap_or_default());
        self.control("POST", "oauth/grant", Some(sent.into())).await
    }

    /// Makes the decision of a user, `allow` or `deny`, about an authorization request: `url` is the address that the app
    /// sends the browser to. Returns the address that the browser would be redirected to.
    ///
    /// # Errors
    /// Fails if the authorization server shows an error instead.
    pub async fn authorize(
        &self,
        url: &str,
        user: Option<&str>,
        decision: &str,
    ) -> Result<String, StandInError> {
        let sent = json!({ "authorize": url, "user": user, "decision": decision });
        let reply = self.control("POST", "oauth/grant", Some(sent)).await?;
        Ok(text(&reply, "redirect"))
    }

    /// Returns the requests to the API of the world with their replies, as an HTTP archive (HAR 1.2).
    ///
    /// # Errors
    /// Fails if the stand-in does not answer.
    pub async fn recording(&self) -> Result<Value, StandInError> {
        self.control("GET", "recording", None).await
    }

    /// Returns a fixture that makes an equal world.
    ///
    /// # Errors
    /// Fails if the world has too many tasks.
    pub async fn fixture(&self) -> Result<Value, StandInError> {
        self.control("GET", "fixture", None).await
    }

    /// Resets the world to its start, with the same time, data and tokens.
    ///
    /// # Errors
    /// Fails for the world at the root.
    pub async fn reset(&self) -> Result<(), StandInError> {
        self.control("POST", "reset", Some(json!({}))).await?;
        Ok(())
    }

    /// Deletes the world with its data.
    ///
    /// # Errors
    /// Fails for the world at the root.
    pub async fn delete(self) -> Result<(), StandInError> {
        let url = format!("{}/-/worlds/{}", self.server_url, self.address.id);
        self.address
            .client
            .control(Method::DELETE, &url, None)
            .await?;
        Ok(())
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!(
                "the world of this test: {} (seed {})",
                self.page(),
                self.address.seed
            );
        }
    }
}

/// Returns the query parameter that names rules; it is empty for all rules.
fn query_of(rules: &[&str]) -> String {
    match rules {
        [] => String::new(),
        rules => format!("&rules={}", rules.join(",")),
    }
}
