//! The table of settings: keys, and the reading and showing of values of each type.
use crate::config::Config;
use std::time::Duration;
use workgraph_auth::IssuerInResponses;
use workgraph_limits::{Limit, PerLimit};

/// Row of a setting: its key, true if it is a secret, and the field that holds it.
pub(crate) struct SettingDefinition(
    pub(crate) &'static str,
    pub(crate) bool,
    pub(crate) fn(&mut Config) -> &mut dyn SettingValue,
);

/// Every setting. Those without a dot come first, as TOML wants it.
pub(crate) static SETTINGS: &[SettingDefinition] = &[
    SettingDefinition("data", false, |c| &mut c.data),
    SettingDefinition("listen", false, |c| &mut c.listen),
    SettingDefinition("public_url", false, |c| &mut c.public_url),
    SettingDefinition("metrics_listen", false, |c| &mut c.metrics_listen),
    SettingDefinition("metrics_token", true, |c| &mut c.metrics_token),
    SettingDefinition("node", false, |c| &mut c.node),
    SettingDefinition("run_jobs", false, |c| &mut c.run_jobs),
    SettingDefinition("unpaginated_max", false, |c| &mut c.api.unpaginated_max),
    SettingDefinition("walk_cap", false, |c| &mut c.api.walk_cap),
    SettingDefinition("set_cap", false, |c| &mut c.api.set_cap),
    SettingDefinition("offset_lifetime", false, |c| &mut c.api.offset_lifetime),
    SettingDefinition("sync_lifetime", false, |c| &mut c.api.sync_lifetime),
    SettingDefinition("journal_retention", false, |c| &mut c.api.journal_retention),
    SettingDefinition("audit_retention", false, |c| &mut c.api.audit_retention),
    SettingDefinition("hide_forbidden", false, |c| &mut c.api.hide_forbidden),
    SettingDefinition("body_max", false, |c| &mut c.api.body_max),
    SettingDefinition("depth_max", false, |c| &mut c.api.depth_max),
    SettingDefinition("reply_max", false, |c| &mut c.api.reply_max),
    SettingDefinition("limits.standard_free", false, |c| {
        &mut c.limits.standard.free
    }),
    SettingDefinition("limits.standard_paid", false, |c| {
        &mut c.limits.standard.paid
    }),
    SettingDefinition("limits.standard_floor_percent", false, |c| {
        &mut c.limits.standard.floor_percent
    }),
    SettingDefinition("limits.search", false, |c| &mut c.limits.search_per_minute),
    SettingDefinition("limits.concurrent_reads", false, |c| {
        &mut c.limits.concurrent_reads
    }),
    SettingDefinition("limits.concurrent_writes", false, |c| {
        &mut c.limits.concurrent_writes
    }),
    SettingDefinition("limits.shadow", false, |c| &mut c.limits.shadow),
    SettingDefinition("limits.jobs", false, |c| &mut c.api.jobs_per_user_max),
    SettingDefinition("limits.user_multiple", false, |c| &mut c.api.user_multiple),
    SettingDefinition("limits.cost", false, |c| &mut c.limits.cost_per_minute),
    SettingDefinition("limits.cost_ceiling", false, |c| &mut c.limits.cost_ceiling),
    SettingDefinition("oauth.loopback_redirects", false, |c| {
        &mut c.oauth.loopback_redirects
    }),
    SettingDefinition("oauth.issuer_in_responses", false, |c| {
        &mut c.oauth.issuer_in_responses
    }),
    SettingDefinition("oauth.oob_without_pkce", false, |c| {
        &mut c.oauth.oob_without_pkce
    }),
    SettingDefinition("oauth.token_info_per_minute", false, |c| {
        &mut c.oauth.token_info_per_minute
    }),
    SettingDefinition("oauth.failures_per_minute", false, |c| {
        &mut c.oauth.failures_per_minute
    }),
    SettingDefinition("oauth.account_failures_per_minute", false, |c| {
        &mut c.oauth.account_failures_per_minute
    }),
    SettingDefinition("oauth.key_lifetime", false, |c| &mut c.oauth.key_lifetime),
    SettingDefinition("oauth.remember", false, |c| &mut c.oauth.remember),
    SettingDefinition("http.header_timeout", false, |c| &mut c.http.header_timeout),
    SettingDefinition("http.body_timeout", false, |c| &mut c.http.body_timeout),
    SettingDefinition("http.idle_timeout", false, |c| &mut c.http.idle_timeout),
    SettingDefinition("http.request_timeout", false, |c| {
        &mut c.http.request_timeout
    }),
    SettingDefinition("http.drain_timeout", false, |c| &mut c.http.drain_timeout),
    SettingDefinition("http.connections", false, |c| &mut c.http.connections),
    SettingDefinition("http.connections_per_ip", false, |c| {
        &mut c.http.connections_per_ip
    }),
    SettingDefinition("http.streams", false, |c| &mut c.http.streams),
    SettingDefinition("http.cors", false, |c| &mut c.http.cors),
    SettingDefinition("http.trusted_proxies", false, |c| {
        &mut c.http.trusted_proxies
    }),
    SettingDefinition("http.hsts", false, |c| &mut c.http.hsts),
    SettingDefinition("store.read_timeout", false, |c| &mut c.store.read_timeout),
    SettingDefinition("store.long_reads", false, |c| &mut c.store.long_reads),
    SettingDefinition("log.format", false, |c| &mut c.log.format),
    SettingDefinition("log.level", false, |c| &mut c.log.level),
    SettingDefinition("log.requests", false, |c| &mut c.log.requests),
    SettingDefinition("webhooks.allow_loopback", false, |c| {
        &mut c.webhooks.allow_loopback
    }),
    SettingDefinition("webhooks.allow_http", false, |c| &mut c.webhooks.allow_http),
    SettingDefinition("webhooks.allow_networks", false, |c| {
        &mut c.webhooks.allow_networks
    }),
    SettingDefinition("webhooks.event_ids", false, |c| &mut c.webhooks.event_ids),
    SettingDefinition("webhooks.log_retention", false, |c| {
        &mut c.webhooks.log_retention
    }),
    SettingDefinition("webhooks.workers", false, |c| &mut c.webhooks.workers),
    SettingDefinition("audit.anchor", false, |c| &mut c.audit.anchor),
    SettingDefinition("audit.rows", false, |c| &mut c.audit.rows),
    SettingDefinition("admin.name", false, |c| &mut c.admin.name),
    SettingDefinition("admin.email", false, |c| &mut c.admin.email),
    SettingDefinition("admin.password", true, |c| &mut c.admin.password),
    SettingDefinition("admin.workspace", false, |c| &mut c.admin.workspace),
    SettingDefinition("admin.domains", false, |c| &mut c.admin.domains),
];

/// Type of value that a setting can have.
pub(crate) trait SettingValue {
    /// Sets the value from its text.
    fn set(&mut self, text: &str) -> Result<(), String>;
    /// Returns the value in TOML.
    fn show(&self) -> String;
}

macro_rules! plain {
    ($($ty:ty: $what:literal),*) => {$(
        impl SettingValue for $ty {
            fn set(&mut self, text: &str) -> Result<(), String> {
                *self = text.parse().map_err(|_| format!(concat!("must be ", $what, ", not `{}`"), text))?;
                Ok(())
            }
            fn show(&self) -> String {
                self.to_string()
            }
        }
    )*};
}
plain!(u8: "a small number", u32: "a number", usize: "a number", bool: "true or false");

impl SettingValue for String {
    fn set(&mut self, text: &str) -> Result<(), String> {
        text.clone_into(self);
        Ok(())
    }
    fn show(&self) -> String {
        toml::Value::String(self.clone()).to_string()
    }
}

impl SettingValue for IssuerInResponses {
    fn set(&mut self, text: &str) -> Result<(), String> {
        *self = Self::parse(text).ok_or_else(|| {
            let names = Self::ALL.map(|(name, _)| name).join(", ");
            format!("must be one of {names}, not `{text}`")
        })?;
        Ok(())
    }
    fn show(&self) -> String {
        format!("\"{}\"", self.name())
    }
}

/// A limit that `off` switches off.
impl SettingValue for Option<u32> {
    fn set(&mut self, text: &str) -> Result<(), String> {
        *self = match text {
            "off" => None,
            _ => Some(
                text.parse()
                    .map_err(|_| format!("must be a number or off, not `{text}`"))?,
            ),
        };
        Ok(())
    }
    fn show(&self) -> String {
        self.map_or_else(|| "\"off\"".to_owned(), |n| n.to_string())
    }
}

/// Limits, by their names with commas between them.
impl SettingValue for PerLimit<bool> {
    fn set(&mut self, text: &str) -> Result<(), String> {
        let mut named = Self::default();
        for name in text.split(',').map(str::trim).filter(|n| !n.is_empty()) {
            let limit = Limit::ALL.into_iter().find(|limit| limit.name() == name);
            *named.of_mut(limit.ok_or_else(|| {
                let names = Limit::ALL.map(Limit::name).join(", ");
                format!("must be some of {names}, not `{name}`")
            })?) = true;
        }
        *self = named;
        Ok(())
    }
    fn show(&self) -> String {
        let on = Limit::ALL.into_iter().filter(|limit| *self.of(*limit));
        let names: Vec<&str> = on.map(Limit::name).collect();
        format!("\"{}\"", names.join(","))
    }
}

impl SettingValue for Duration {
    fn set(&mut self, text: &str) -> Result<(), String> {
        let wrong = || format!("must be a time such as 30s, 10m, 24h or 7d, not `{text}`");
        let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let number: u64 = digits.parse().map_err(|_| wrong())?;
        let unit = match text.get(digits.len()..) {
            Some("" | "s") => 1,
            Some("m") => 60,
            Some("h") => 3_600,
            Some("d") => 86_400,
            _ => return Err(wrong()),
        };
        *self = Self::from_secs(
            number
                .checked_mul(unit)
                .filter(|s| *s <= 100 * 365 * 86_400)
                .ok_or_else(wrong)?,
        );
        Ok(())
    }
    fn show(&self) -> String {
        format!("\"{}s\"", self.as_secs())
    }
}
