//! Settings: their names, and their values from file, environment and flags.
use crate::cli::Flags;
use crate::config::schema::{SETTINGS, SettingDefinition};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;
use workgraph_auth::{IssuerInResponses, LoopbackPolicy};

/// All settings, with the values in force.
#[derive(Clone, Debug)]
pub(crate) struct Config {
    pub(crate) data: String,
    pub(crate) listen: String,
    pub(crate) public_url: String,
    pub(crate) node: u32,
    pub(crate) metrics_listen: String,
    /// Bearer token with which the main listener shows metrics.
    pub(crate) metrics_token: String,
    /// True if jobs are carried out; else they wait.
    pub(crate) run_jobs: bool,
    pub(crate) api: workgraph_api::ApiSettings,
    pub(crate) limits: workgraph_limits::LimiterSettings,
    pub(crate) oauth: OAuthConfig,
    pub(crate) http: HttpConfig,
    pub(crate) store: StoreConfig,
    pub(crate) log: LogConfig,
    pub(crate) webhooks: WebhookConfig,
    pub(crate) admin: AdminConfig,
    pub(crate) audit: AuditConfig,
}

/// Settings of the signing of the audit log.
#[derive(Clone, Debug)]
pub(crate) struct AuditConfig {
    /// File that checkpoints are appended to; `audit-anchors` in the data folder if none is named.
    pub(crate) anchor: String,
    /// Rows after which a checkpoint is signed; one is signed every hour besides.
    pub(crate) rows: u32,
}

/// Targets that webhooks may have, and settings of the deliveries.
#[derive(Clone, Debug)]
pub(crate) struct WebhookConfig {
    /// True if targets on this machine are allowed, with http or https.
    pub(crate) allow_loopback: bool,
    /// True if targets with http are allowed.
    pub(crate) allow_http: bool,
    /// Allowed networks that are not public, as in `10.1.0.0/16`, separated by commas.
    pub(crate) allow_networks: String,
    /// True if the stable ids of events are sent as a header.
    pub(crate) event_ids: bool,
    /// Time for which the log of deliveries is kept.
    pub(crate) log_retention: Duration,
    /// Targets that are sent to at the same time.
    pub(crate) workers: u32,
}

impl WebhookConfig {
    /// Returns the networks that are allowed.
    ///
    /// # Errors
    /// Names what is no network.
    pub(crate) fn networks(&self) -> Result<Vec<workgraph_webhooks::target_policy::IpNet>, String> {
        let texts = self.allow_networks.split(',').map(str::trim);
        let read = |text: &str| {
            workgraph_webhooks::target_policy::parse_network(text).ok_or_else(|| {
                format!(
                    "webhooks.allow_networks: must be networks such as 10.1.0.0/16, not `{text}`"
                )
            })
        };
        texts.filter(|t| !t.is_empty()).map(read).collect()
    }
}

/// Settings of the authorization server.
#[derive(Clone, Debug)]
pub(crate) struct OAuthConfig {
    /// True if apps may have `http` redirect URLs on this machine. A demo allows it.
    pub(crate) loopback_redirects: bool,
    /// Requests whose answers name the issuer.
    pub(crate) issuer_in_responses: IssuerInResponses,
    /// True if apps with an `https` URL besides may have codes shown on a page without a challenge. A demo allows it.
    pub(crate) oob_without_pkce: bool,
    pub(crate) token_info_per_minute: Option<u32>,
    pub(crate) failures_per_minute: Option<u32>,
    /// Most failed sign-ins a minute into one account, from browsers that are not known for it.
    pub(crate) account_failures_per_minute: Option<u32>,
    /// Age of a signing key at which another is made.
    pub(crate) key_lifetime: Duration,
    /// Time for which records that have ended are kept: spent codes, above all, whose replay must be noticed.
    pub(crate) remember: Duration,
}

/// Bounds of HTTP connections, requests and responses.
#[derive(Clone, Debug)]
pub(crate) struct HttpConfig {
    pub(crate) header_timeout: Duration,
    pub(crate) body_timeout: Duration,
    pub(crate) idle_timeout: Duration,
    pub(crate) request_timeout: Duration,
    pub(crate) drain_timeout: Duration,
    pub(crate) connections: usize,
    pub(crate) connections_per_ip: usize,
    pub(crate) streams: u32,
    pub(crate) cors: bool,
    pub(crate) trusted_proxies: crate::config::trusted_proxies::TrustedProxies,
    /// Time for which browsers are told to come by https alone; with zero the header is not sent.
    pub(crate) hsts: Duration,
}

/// Settings of reads from the store.
#[derive(Clone, Debug)]
pub(crate) struct StoreConfig {
    /// Longest time that a read may take.
    pub(crate) read_timeout: Duration,
    /// Long reads that go on at the same time; 0 means one less than there are cores, and one at least.
    pub(crate) long_reads: usize,
}

/// Settings of the log.
#[derive(Clone, Debug)]
pub(crate) struct LogConfig {
    pub(crate) format: String,
    pub(crate) level: String,
    pub(crate) requests: bool,
}

/// Admin that the first start makes, with the workspace.
#[derive(Clone, Debug)]
pub(crate) struct AdminConfig {
    pub(crate) name: String,
    pub(crate) email: String,
    pub(crate) password: String,
    pub(crate) workspace: String,
    /// E-mail domains tied to the workspace, with blanks or commas between them.
    pub(crate) domains: String,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            data: "./workgraph-data".to_owned(),
            listen: "127.0.0.1:8080".to_owned(),
            public_url: String::new(),
            node: 0,
            metrics_listen: String::new(),
            metrics_token: String::new(),
            run_jobs: true,
            api: workgraph_api::ApiSettings::default(),
            limits: workgraph_limits::LimiterSettings::default(),
            oauth: OAuthConfig {
                loopback_redirects: false,
                issuer_in_responses: IssuerInResponses::default(),
                oob_without_pkce: false,
                token_info_per_minute: Some(60),
                failures_per_minute: Some(60),
                account_failures_per_minute: Some(20),
                key_lifetime: Duration::from_secs(90 * 86_400),
                remember: Duration::from_secs(7 * 86_400),
            },
            http: HttpConfig {
                header_timeout: Duration::from_secs(10),
                body_timeout: Duration::from_secs(30),
                idle_timeout: Duration::from_secs(75),
                request_timeout: Duration::from_secs(30),
                drain_timeout: Duration::from_secs(30),
                connections: 10_000,
                connections_per_ip: 256,
                streams: 128,
                cors: false,
                trusted_proxies: crate::config::trusted_proxies::TrustedProxies::default(),
                hsts: Duration::from_secs(180 * 86_400),
            },
            store: StoreConfig {
                read_timeout: Duration::from_secs(5),
                long_reads: 0,
            },
            log: LogConfig {
                format: "auto".to_owned(),
                level: "info".to_owned(),
                requests: false,
            },
            webhooks: WebhookConfig {
                allow_loopback: false,
                allow_http: false,
                allow_networks: String::new(),
                event_ids: false,
                log_retention: Duration::from_secs(30 * 24 * 3600),
                workers: 64,
            },
            audit: AuditConfig {
                anchor: String::new(),
                rows: 1_000,
            },
            admin: AdminConfig {
                name: "Admin".to_owned(),
                email: "admin@example.com".to_owned(),
                password: String::new(),
                workspace: "Workspace".to_owned(),
                domains: String::new(),
            },
        }
    }
}

impl OAuthConfig {
    /// Returns the setting of loopback redirects as the policy of registration.
    pub(crate) fn loopback(&self) -> LoopbackPolicy {
        if self.loopback_redirects {
            LoopbackPolicy::Allowed
        } else {
            LoopbackPolicy::Refused
        }
    }
}

impl Config {
    /// Returns the data folder.
    pub(crate) fn folder(&self) -> &Path {
        Path::new(&self.data)
    }
}

/// Least value of `reply_max` in bytes: a page of the default records fits.
const RESPONSE_MAX_FLOOR: usize = 1 << 20;

/// Beginnings of names in the environment that are no settings: that of a flag; those that Kubernetes sets for a
/// service of this name; and those of this project's own tests.
const NOT_SETTINGS: &[&str] = &[
    "CONFIG", "PORT", "SERVICE_", "TEST_", "BIN", "SKIP_", "CASES", "CLIENTS", "KILL_", "LAW_",
];

/// Returns the settings that file, environment and flags lead to.
///
/// # Errors
/// Names the setting that is unknown or has a value it can't have.
pub(crate) fn load(
    flags: &Flags,
    environment: impl Iterator<Item = (String, String)>,
) -> Result<Config, String> {
    let mut config = Config::default();
    if let Some(path) = &flags.config {
        let text = std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
        let table: toml::Table = text
            .parse()
            .map_err(|e| format!("{}: {e}", path.display()))?;
        from_table(&mut config, "", &table).map_err(|e| format!("{}: {e}", path.display()))?;
    }
    for (name, value) in environment {
        let Some(rest) = name.strip_prefix("WORKGRAPH_") else {
            continue;
        };
        if NOT_SETTINGS.iter().any(|start| rest.starts_with(start)) {
            continue;
        }
        let row = SETTINGS
            .iter()
            .find(|s| s.0.replace('.', "_").eq_ignore_ascii_case(rest));
        let row = row.ok_or_else(|| format!("{name}: there is no such setting"))?;
        (row.2)(&mut config)
            .set(&value)
            .map_err(|e| format!("{name}: {e}"))?;
    }
    for pair in &flags.set {
        let (key, value) = pair
            .split_once('=')
            .ok_or_else(|| format!("--set {pair}: KEY=VALUE is expected"))?;
        set(&mut config, key, value).map_err(|e| format!("--set {e}"))?;
    }
    let quiet = flags.quiet.then(|| "false".to_owned());
    let given = [
        ("data", &flags.data),
        ("listen", &flags.listen),
        ("public_url", &flags.public_url),
        ("log.format", &flags.log_format),
        ("log.requests", &quiet),
    ];
    for (key, value) in given {
        if let Some(value) = value {
            set(&mut config, key, value)?;
        }
    }
    check(&mut config)?;
    Ok(config)
}

/// Gives a setting a value.
///
/// # Errors
/// Fails if there is no such setting, or it can't have the value.
pub(crate) fn set(config: &mut Config, key: &str, value: &str) -> Result<(), String> {
    let row = SETTINGS
        .iter()
        .find(|s| s.0 == key)
        .ok_or_else(|| format!("{key}: there is no such setting"))?;
    (row.2)(config)
        .set(value)
        .map_err(|e| format!("{key}: {e}"))
}

fn from_table(config: &mut Config, above: &str, table: &toml::Table) -> Result<(), String> {
    for (name, value) in table {
        let key = format!("{above}{name}");
        let text = match value {
            toml::Value::Table(inner) => {
                from_table(config, &format!("{key}."), inner)?;
                continue;
            }
            toml::Value::String(text) => text.clone(),
            toml::Value::Integer(_) | toml::Value::Boolean(_) => value.to_string(),
            _ => return Err(format!("{key}: must be a text, a number, or true or false")),
        };
        set(config, &key, &text)?;
    }
    Ok(())
}

/// Checks rules that the type of one setting can't express.
///
/// # Errors
/// Names the setting.
pub(crate) fn check(config: &mut Config) -> Result<(), String> {
    if !["auto", "text", "json"].contains(&config.log.format.as_str()) {
        return Err(format!(
            "log.format: must be auto, text or json, not `{}`",
            config.log.format
        ));
    }
    config.webhooks.networks()?;
    let http = &config.http;
    for (name, none) in [
        ("header_timeout", http.header_timeout.is_zero()),
        ("body_timeout", http.body_timeout.is_zero()),
        ("idle_timeout", http.idle_timeout.is_zero()),
        ("request_timeout", http.request_timeout.is_zero()),
        ("connections", http.connections == 0),
        ("connections_per_ip", http.connections_per_ip == 0),
        ("streams", http.streams == 0),
    ] {
        if none {
            return Err(format!("http.{name}: must be more than 0"));
        }
    }
    if config.store.read_timeout.is_zero() {
        return Err("store.read_timeout: must be more than 0".to_owned());
    }
    if config.node > 30 {
        return Err("node: must be 0 to 30".to_owned());
    }
    if config.api.reply_max < RESPONSE_MAX_FLOOR {
        return Err(format!("reply_max: must be {RESPONSE_MAX_FLOOR} or more"));
    }
    if config.api.jobs_per_user_max == 0 {
        return Err("limits.jobs: must be more than 0".to_owned());
    }
    if config.limits.standard.floor_percent > 100 {
        return Err("limits.standard_floor_percent: must be 0 to 100".to_owned());
    }
    let url = config.public_url.trim_end_matches('/').to_owned();
    let host = url
        .strip_prefix("https://")
        .or_else(|| url.strip_prefix("http://"));
    if !url.is_empty()
        && !host.is_some_and(|h| !h.is_empty() && !h.contains(['@', '?', '#', ' ', '"', '\\']))
    {
        return Err(
            "public_url: must be an http or https address without user, query and fragment"
                .to_owned(),
        );
    }
    config.public_url = url;
    if config.oauth.key_lifetime < Duration::from_secs(86_400) {
        return Err("oauth.key_lifetime: must be a day at least".to_owned());
    }
    if config.oauth.remember < Duration::from_secs(86_400) {
        return Err("oauth.remember: must be a day at least".to_owned());
    }
    config.limits.deadline = config.http.request_timeout;
    Ok(())
}

/// Returns the settings of a section, by name, as they are shown.
pub(crate) fn section(config: &mut Config, section: &str) -> BTreeMap<&'static str, String> {
    let rows = SETTINGS
        .iter()
        .filter_map(|SettingDefinition(key, _, field)| {
            let (above, name) = key.split_once('.')?;
            (above == section).then(|| (name, field(config).show().trim_matches('"').to_owned()))
        });
    rows.collect()
}

/// Returns the settings as a TOML file, secrets left out.
pub(crate) fn print(config: &Config) -> String {
    let mut config = config.clone();
    let (mut out, mut section) = (String::new(), "");
    for SettingDefinition(key, secret, field) in SETTINGS {
        let (above, name) = key.split_once('.').unwrap_or(("", key));
        if above != section {
            section = above;
            out.push_str(&format!("\n[{section}]\n"));
        }
        let shown = field(&mut config).show();
        let shown = if *secret && shown != "\"\"" {
            "\"(not shown)\"".to_owned()
        } else {
            shown
        };
        out.push_str(&format!("{name} = {shown}\n"));
    }
    out
}

pub(crate) mod exposure;
pub(crate) mod schema;
#[cfg(test)]
mod tests;
pub(crate) mod trusted_proxies;
