//! A limited endpoint behind HTTP.

use std::time::{Duration, Instant};

use serde::Deserialize;

use super::subject::{LimiterAbility, LimiterAnswer, LimiterProfile, LimiterSetup, LimiterSubject};
use crate::SubjectError;
use crate::http_client::{HttpClient, HttpRequest};

/// Timeout of one reply.
const TIMEOUT: Duration = Duration::from_secs(30);

/// An endpoint that answers 429 with `Retry-After` when a limit is used up.
#[derive(Debug)]
pub struct HttpLimiter {
    profile: LimiterProfile,
    settings: Settings,
    client: HttpClient,
    /// Number of limiters started; part of each key, so that keys are new.
    runs: u64,
    /// Real time and virtual time at the start, if no request sets the clock.
    begun: Option<(Instant, u64)>,
    clock: Option<u64>,
    /// Milliseconds by which this limiter's times are ahead of its scenario: the endpoint's clock never goes back.
    shift: Option<u64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    /// `METHOD URL` of the limited request; `{key}` is the key.
    request: String,
    /// Headers of the request; `{key}` is the key.
    #[serde(default)]
    headers: toml::Table,
    quota: u32,
    window_ms: u64,
    /// `METHOD URL` that sets the clock; `{now_ms}` is the time. Without it, real time is used.
    clock: Option<String>,
    tolerance_ms: Option<u64>,
    /// Random prefix of every key; each run against the same server needs a different one.
    key_prefix: Option<String>,
}

impl HttpLimiter {
    /// Parses a configuration (TOML): `request`, `headers`, `quota`, `window_ms`, and optionally `clock`, `tolerance_ms`
    /// and `key_prefix`.
    ///
    /// # Errors
    /// Fails if the text is not a valid configuration.
    pub fn from_toml(text: &str) -> Result<Self, SubjectError> {
        let settings: Settings = toml::from_str(text)
            .map_err(|error| SubjectError(format!("the configuration: {error}")))?;
        let mut profile = LimiterProfile::new(settings.request.clone(), &[LimiterAbility::Quota]);
        profile.fixed = Some((settings.window_ms, settings.quota));
        profile.wait_unit_ms = 1_000;
        profile.tolerance_ms = match settings.clock {
            Some(_) => 0,
            None => settings.tolerance_ms.unwrap_or(50).max(1),
        };
        let client = HttpClient::new(TIMEOUT);
        Ok(Self {
            profile,
            settings,
            client,
            runs: 0,
            begun: None,
            clock: None,
            shift: None,
        })
    }

    /// Advances the clock of the endpoint to a time: by its request, or by waiting.
    #[expect(
        clippy::disallowed_methods,
        reason = "an endpoint without a clock to set lives in real time"
    )]
    fn move_clock(&mut self, now: u64) -> Result<(), SubjectError> {
        let Some(clock) = &self.settings.clock else {
            let (begun, start) = *self.begun.get_or_insert((Instant::now(), now));
            let due = begun + Duration::from_millis(now.saturating_sub(start));
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            return Ok(());
        };
        let last = self
            .clock
            .map(|last| last.saturating_add(self.settings.window_ms));
        let shift = self
            .shift
            .get_or_insert_with(|| last.map_or(0, |last| last.saturating_sub(now)));
        let now = now.saturating_add(*shift);
        if self.clock == Some(now) {
            return Ok(());
        }
        let request = HttpRequest::parse(&clock.replace("{now_ms}", &now.to_string()))?;
        let reply = self.client.send(&request)?;
        if reply.status >= 300 {
            return Err(SubjectError(format!(
                "{} answers {}",
                request.url, reply.status
            )));
        }
        self.clock = Some(now);
        Ok(())
    }
}

impl LimiterSubject for HttpLimiter {
    fn profile(&self) -> &LimiterProfile {
        &self.profile
    }

    fn start(&mut self, _setup: &LimiterSetup) -> Result<(), SubjectError> {
        self.runs += 1;
        self.begun = None;
        self.shift = None;
        Ok(())
    }

    fn admit(&mut self, key: &str, _weight: u32, now: u64) -> Result<LimiterAnswer, SubjectError> {
        self.move_clock(now)?;
        let prefix = self.settings.key_prefix.as_deref().unwrap_or("laws");
        let key = format!("{prefix}-{}-{key}", self.runs);
        let mut request = HttpRequest::parse(&self.settings.request.replace("{key}", &key))?;
        for (name, value) in &self.settings.headers {
            let value = value
                .as_str()
                .ok_or_else(|| SubjectError(format!("the header {name} is no text")))?;
            request
                .headers
                .push((name.clone(), value.replace("{key}", &key)));
        }
        let reply = self.client.send(&request)?;
        match reply.status {
            200..300 => Ok(LimiterAnswer::Admitted { ticket: 0 }),
            429 => {
                let stated = reply
                    .headers
                    .get("retry-after")
                    .and_then(|value| value.to_str().ok());
                let seconds: u64 = match stated {
                    Some(text) => text.trim().parse().map_err(|_| {
                        SubjectError(format!("the Retry-After {text:?} is no number of seconds"))
                    })?,
                    None => 0,
                };
                Ok(LimiterAnswer::Refused {
                    wait_ms: seconds.saturating_mul(1_000),
                })
            }
            other => Err(SubjectError(format!(
                "{} answers {other}, neither 2xx nor 429",
                request.curl()
            ))),
        }
    }

    fn finish(&mut self, _ticket: u64) -> Result<(), SubjectError> {
        Ok(())
    }

    fn settle(&mut self, _ticket: u64, _cost: u32, _now: u64) -> Result<(), SubjectError> {
        Ok(())
    }

    fn set_quota(&mut self, _quota: u32) -> Result<(), SubjectError> {
        Ok(())
    }

    fn sweep(&mut self, _now: u64) -> Result<(), SubjectError> {
        Ok(())
    }
}
