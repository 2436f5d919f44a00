//! Options of a new world, as a test sends them.
use crate::admin::fixture::Fixture;
use crate::config::{self, Config};
use anyhow::{Context, Result, bail};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::digest;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use workgraph_core::model::time::Time;

/// Content of a new world: a demo, a single user, a fixture, or a copy.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum WorldContent {
    /// Two workspaces and a small graph.
    Demo,
    /// One workspace with one user.
    Empty,
    /// People, apps and objects of a fixture.
    Fixture(Arc<WorldFixture>),
    /// The current content of the world with this id.
    CopyOf(String),
}

/// Fixture of a new world, and the digest of its document.
#[derive(Debug)]
pub(crate) struct WorldFixture {
    pub(crate) fixture: Fixture,
    /// Digest of its document: worlds with equal fixtures are copies of one template.
    pub(crate) digest: String,
}

impl WorldFixture {
    fn parse(document: Value) -> Result<Self> {
        let digest = digest::digest(&digest::SHA256, document.to_string().as_bytes());
        Ok(Self {
            fixture: Fixture::parse(document)?,
            digest: URL_SAFE_NO_PAD.encode(digest),
        })
    }
}

impl PartialEq for WorldFixture {
    fn eq(&self, other: &Self) -> bool {
        self.digest == other.digest
    }
}

impl Eq for WorldFixture {}

/// Options of a new world, parsed.
#[derive(Debug)]
pub(crate) struct WorldOptions {
    pub(crate) content: WorldContent,
    pub(crate) name: Option<String>,
    pub(crate) seed: Option<u64>,
    pub(crate) now: Option<SystemTime>,
    /// True if requests with unknown names are refused; `None` for the setting of the server.
    pub(crate) strict: Option<bool>,
    /// Settings that differ from the server's settings, in the form of `--set`.
    settings: Vec<(String, String)>,
}

/// Options in the form of a request.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct SentOptions {
    from: Option<String>,
    fixture: Option<Value>,
    name: Option<String>,
    seed: Option<u64>,
    now: Option<String>,
    strict: Option<bool>,
    #[serde(default)]
    settings: BTreeMap<String, Value>,
}

/// Sections of settings that all worlds share.
const SHARED_SECTIONS: [&str; 6] = ["http", "store", "archive", "bucket", "log", "shared_limits"];
/// Settings outside of these sections that all worlds share, or that name files and addresses of the machine.
const SHARED_SETTINGS: [&str; 8] = [
    "data",
    "listen",
    "public_url",
    "metrics_listen",
    "metrics_token",
    "node",
    "run_jobs",
    "audit.anchor",
];

/// Maximum length of the name of a world in characters.
const NAME_MAX: usize = 200;

impl WorldOptions {
    /// Reads the options in the body of a request; an empty body has none.
    ///
    /// # Errors
    /// Names the field that is wrong.
    pub(crate) fn parse(body: &[u8]) -> Result<Self> {
        let sent: SentOptions = match body {
            [] => SentOptions::default(),
            body => serde_json::from_slice(body)?,
        };
        let content = match sent.from.as_deref() {
            None if let Some(document) = sent.fixture => {
                WorldContent::Fixture(Arc::new(WorldFixture::parse(document)?))
            }
            Some(_) if sent.fixture.is_some() => {
                bail!("from: a world begins with a fixture or with another content, not with both")
            }
            None | Some("demo") => WorldContent::Demo,
            Some("empty") => WorldContent::Empty,
            Some(id) if id.starts_with('w') => WorldContent::CopyOf(id.to_owned()),
            Some(other) => bail!("from: `{other}` is none of demo, empty and the id of a world"),
        };
        if sent
            .name
            .as_ref()
            .is_some_and(|name| name.chars().count() > NAME_MAX)
        {
            bail!("name: longer than {NAME_MAX} characters");
        }
        let text_of = |(key, value): (String, Value)| match value {
            Value::String(text) => Ok((key, text)),
            Value::Number(_) | Value::Bool(_) => Ok((key, value.to_string())),
            _ => bail!("settings.{key}: must be a text, a number, or true or false"),
        };
        Ok(Self {
            content,
            name: sent.name,
            seed: sent.seed,
            strict: sent.strict,
            now: sent.now.map(|text| parse_time("now", &text)).transpose()?,
            settings: sent
                .settings
                .into_iter()
                .map(text_of)
                .collect::<Result<_>>()?,
        })
    }

    /// Returns true if a setting differs from the server's.
    pub(crate) fn has_settings(&self) -> bool {
        !self.settings.is_empty()
    }

    /// Applies the settings. Those of the process, which all worlds share, are refused.
    ///
    /// # Errors
    /// Names the setting that is wrong.
    pub(crate) fn apply(&self, config: &mut Config) -> Result<()> {
        for (key, value) in &self.settings {
            let section = key.split_once('.').map_or("", |(section, _)| section);
            if SHARED_SECTIONS.contains(&section) || SHARED_SETTINGS.contains(&key.as_str()) {
                bail!("settings.{key}: all worlds of a server share this setting");
            }
            config::set(config, key, value).context("settings")?;
        }
        Ok(())
    }
}

/// Reads a time in the format of the API.
///
/// # Errors
/// Names the field.
pub(crate) fn parse_time(field: &str, text: &str) -> Result<SystemTime> {
    let time = Time::parse(text);
    let time = time.with_context(|| {
        format!("{field}: must be a time such as 2026-03-01T09:30:00Z, not `{text}`")
    })?;
    Ok(time.to_system())
}

/// Reads a period in the format of the settings, or a number of seconds.
///
/// # Errors
/// Names the field.
pub(crate) fn parse_period(field: &str, value: &Value) -> Result<Duration> {
    use crate::config::setting::SettingValue;
    let text = match value {
        Value::Number(seconds) => {
            let seconds = seconds.as_f64().unwrap_or(-1.0);
            return Duration::try_from_secs_f64(seconds)
                .with_context(|| format!("{field}: must not be negative"));
        }
        Value::String(text) => text,
        _ => bail!("{field}: must be a number of seconds, or a period such as 90m"),
    };
    let mut period = Duration::ZERO;
    period.set(text).with_context(|| field.to_owned())?;
    Ok(period)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(body: &str) -> String {
        format!("{:#}", WorldOptions::parse(body.as_bytes()).unwrap_err())
    }

    #[test]
    fn options_are_read_and_what_is_wrong_is_named() {
        let none = WorldOptions::parse(b"").unwrap();
        assert_eq!((none.content, none.seed), (WorldContent::Demo, None));
        let body =
            r#"{"from":"w3","seed":5,"now":"2026-03-01T09:30:00Z","settings":{"limits.search":7}}"#;
        let all = WorldOptions::parse(body.as_bytes()).unwrap();
        assert_eq!(all.content, WorldContent::CopyOf("w3".to_owned()));
        let mut config = Config::default();
        all.apply(&mut config).unwrap();
        assert_eq!(config.limits.search_per_minute, 7);
        assert!(refused(r#"{"from":"x"}"#).starts_with("from:"));
        assert!(refused(r#"{"form":"demo"}"#).contains("form"));
        assert!(refused(r#"{"now":"today"}"#).starts_with("now:"));
        assert!(
            refused(r#"{"settings":{"limits.search":[]}}"#).starts_with("settings.limits.search:")
        );
        let shared = WorldOptions::parse(br#"{"settings":{"http.cors":true}}"#).unwrap();
        let error = shared.apply(&mut config).unwrap_err().to_string();
        assert!(error.starts_with("settings.http.cors:"), "{error}");
    }

    #[test]
    fn a_period_is_a_number_of_seconds_or_has_a_unit() {
        let of =
            |value: Value| parse_period("advance", &value).map_err(|error| format!("{error:#}"));
        assert_eq!(of("25h".into()), Ok(Duration::from_secs(90_000)));
        assert_eq!(of(1.5.into()), Ok(Duration::from_millis(1_500)));
        for wrong in [Value::from("soon"), Value::from(-1), Value::Null] {
            assert!(of(wrong).unwrap_err().starts_with("advance:"));
        }
    }
}
