//! The table of settings: keys, and how values of each type are read and shown.
use crate::config::Config;
use std::time::Duration;
use workgraph_auth::IssuerInResponses;
use workgraph_limits::{Each, Limit};

/// A setting: its key, whether it is a secret, and where it is kept.
pub(crate) struct Setting(
    pub(crate) &'static str,
    pub(crate) bool,
    pub(crate) fn(&mut Config) -> &mut dyn Value,
);

/// Every setting. Those without a dot come first, as TOML wants it.
pub(crate) static SETTINGS: &[Setting] = &[
    Setting("data", false, |c| &mut c.data),
    Setting("listen", false, |c| &mut c.listen),
    Setting("public_url", false, |c| &mut c.public_url),
    Setting("metrics_listen", false, |c| &mut c.metrics_listen),
    Setting("metrics_token", true, |c| &mut c.metrics_token),
    Setting("node", false, |c| &mut c.node),
    Setting("run_jobs", false, |c| &mut c.run_jobs),
    Setting("unpaginated_max", false, |c| &mut c.api.unpaginated_max),
    Setting("walk_cap", false, |c| &mut c.api.walk_cap),
    Setting("set_cap", false, |c| &mut c.api.set_cap),
    Setting("offset_lifetime", false, |c| &mut c.api.offset_lifetime),
    Setting("sync_lifetime", false, |c| &mut c.api.sync_lifetime),
    Setting("journal_retention", false, |c| &mut c.api.journal_retention),
    Setting("audit_retention", false, |c| &mut c.api.audit_retention),
    Setting("hide_forbidden", false, |c| &mut c.api.hide_forbidden),
    Setting("body_max", false, |c| &mut c.api.body_max),
    Setting("depth_max", false, |c| &mut c.api.depth_max),
    Setting("reply_max", false, |c| &mut c.api.reply_max),
    Setting("limits.standard_free", false, |c| {
        &mut c.limits.standard.free
    }),
    Setting("limits.standard_paid", false, |c| {
        &mut c.limits.standard.paid
    }),
    Setting("limits.standard_floor_percent", false, |c| {
        &mut c.limits.standard.floor_percent
    }),
    Setting("limits.search", false, |c| &mut c.limits.search_per_minute),
    Setting("limits.concurrent_reads", false, |c| {
        &mut c.limits.concurrent_reads
    }),
    Setting("limits.concurrent_writes", false, |c| {
        &mut c.limits.concurrent_writes
    }),
    Setting("limits.shadow", false, |c| &mut c.limits.shadow),
    Setting("limits.jobs", false, |c| &mut c.api.jobs),
    Setting("limits.user_multiple", false, |c| &mut c.api.user_multiple),
    Setting("limits.cost", false, |c| &mut c.limits.cost_per_minute),
    Setting("limits.cost_ceiling", false, |c| &mut c.limits.cost_ceiling),
    Setting("oauth.loopback_redirects", false, |c| {
        &mut c.oauth.loopback_redirects
    }),
    Setting("oauth.issuer_in_responses", false, |c| {
        &mut c.oauth.issuer_in_responses
    }),
    Setting("oauth.oob_without_pkce", false, |c| {
        &mut c.oauth.oob_without_pkce
    }),
    Setting("oauth.token_info_per_minute", false, |c| {
        &mut c.oauth.token_info_per_minute
    }),
    Setting("oauth.failures_per_minute", false, |c| {
        &mut c.oauth.failures_per_minute
    }),
    Setting("oauth.account_failures_per_minute", false, |c| {
        &mut c.oauth.account_failures_per_minute
    }),
    Setting("oauth.key_lifetime", false, |c| &mut c.oauth.key_lifetime),
    Setting("oauth.remember", false, |c| &mut c.oauth.remember),
    Setting("http.header_timeout", false, |c| &mut c.http.header_timeout),
    Setting("http.body_timeout", false, |c| &mut c.http.body_timeout),
    Setting("http.idle_timeout", false, |c| &mut c.http.idle_timeout),
    Setting("http.request_timeout", false, |c| {
        &mut c.http.request_timeout
    }),
    Setting("http.drain_timeout", false, |c| &mut c.http.drain_timeout),
    Setting("http.connections", false, |c| &mut c.http.connections),
    Setting("http.connections_per_ip", false, |c| {
        &mut c.http.connections_per_ip
    }),
    Setting("http.streams", false, |c| &mut c.http.streams),
    Setting("http.cors", false, |c| &mut c.http.cors),
    Setting("http.trusted_proxies", false, |c| {
        &mut c.http.trusted_proxies
    }),
    Setting("http.hsts", false, |c| &mut c.http.hsts),
    Setting("store.read_timeout", false, |c| &mut c.store.read_timeout),
    Setting("store.long_reads", false, |c| &mut c.store.long_reads),
    Setting("log.format", false, |c| &mut c.log.format),
    Setting("log.level", false, |c| &mut c.log.level),
    Setting("log.requests", false, |c| &mut c.log.requests),
    Setting("webhooks.allow_loopback", false, |c| {
        &mut c.webhooks.allow_loopback
    }),
    Setting("webhooks.allow_http", false, |c| &mut c.webhooks.allow_http),
    Setting("webhooks.allow_networks", false, |c| {
        &mut c.webhooks.allow_networks
    }),
    Setting("webhooks.event_ids", false, |c| &mut c.webhooks.event_ids),
    Setting("webhooks.log_retention", false, |c| {
        &mut c.webhooks.log_retention
    }),
    Setting("webhooks.workers", false, |c| &mut c.webhooks.workers),
    Setting("audit.anchor", false, |c| &mut c.audit.anchor),
    Setting("audit.rows", false, |c| &mut c.audit.rows),
    Setting("admin.name", false, |c| &mut c.admin.name),
    Setting("admin.email", false, |c| &mut c.admin.email),
    Setting("admin.password", true, |c| &mut c.admin.password),
    Setting("admin.workspace", false, |c| &mut c.admin.workspace),
    Setting("admin.domains", false, |c| &mut c.admin.domains),
];

/// What a setting can be.
pub(crate) trait Value {
    /// Takes the value that a text means.
    fn set(&mut self, text: &str) -> Result<(), String>;
    /// The value in TOML.
    fn show(&self) -> String;
}

macro_rules! plain {
    ($($ty:ty: $what:literal),*) => {$(
        impl Value for $ty {
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

impl Value for String {
    fn set(&mut self, text: &str) -> Result<(), String> {
        text.clone_into(self);
        Ok(())
    }
    fn show(&self) -> String {
        toml::Value::String(self.clone()).to_string()
    }
}

impl Value for IssuerInResponses {
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
impl Value for Option<u32> {
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
impl Value for Each<bool> {
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

impl Value for Duration {
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
