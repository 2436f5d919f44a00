//! Settings: their names, and how file, environment and flags give them values.
use crate::cli::Flags;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Every setting, in force.
#[derive(Clone, Debug)]
pub(crate) struct Config {
    pub(crate) data: String,
    pub(crate) listen: String,
    pub(crate) public_url: String,
    pub(crate) node: u32,
    pub(crate) metrics_listen: String,
    pub(crate) api: workgraph_api::Settings,
    pub(crate) limits: workgraph_limits::Settings,
    /// Jobs a user may run at the same time, of which there are none yet.
    pub(crate) jobs: u32,
    pub(crate) http: Http,
    pub(crate) log: Log,
    pub(crate) admin: Admin,
}

/// Bounds of the HTTP edge.
#[derive(Clone, Debug)]
pub(crate) struct Http {
    pub(crate) header_timeout: Duration,
    pub(crate) body_timeout: Duration,
    pub(crate) idle_timeout: Duration,
    pub(crate) request_timeout: Duration,
    pub(crate) drain_timeout: Duration,
    pub(crate) connections: usize,
    pub(crate) connections_per_ip: usize,
    pub(crate) streams: u32,
    pub(crate) cors: bool,
}

/// What is logged, and how.
#[derive(Clone, Debug)]
pub(crate) struct Log {
    pub(crate) format: String,
    pub(crate) level: String,
    pub(crate) requests: bool,
}

/// The admin that the first start makes.
#[derive(Clone, Debug)]
pub(crate) struct Admin {
    pub(crate) name: String,
    pub(crate) email: String,
    pub(crate) password: String,
    pub(crate) workspace: String,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            data: "./workgraph-data".to_owned(),
            listen: "127.0.0.1:8080".to_owned(),
            public_url: String::new(),
            node: 0,
            metrics_listen: String::new(),
            api: workgraph_api::Settings::default(),
            limits: workgraph_limits::Settings::default(),
            jobs: 5,
            http: Http {
                header_timeout: Duration::from_secs(10),
                body_timeout: Duration::from_secs(30),
                idle_timeout: Duration::from_secs(75),
                request_timeout: Duration::from_secs(30),
                drain_timeout: Duration::from_secs(30),
                connections: 10_000,
                connections_per_ip: 256,
                streams: 128,
                cors: false,
            },
            log: Log { format: "auto".to_owned(), level: "info".to_owned(), requests: true },
            admin: Admin {
                name: "Admin".to_owned(),
                email: "admin@example.com".to_owned(),
                password: String::new(),
                workspace: "Workspace".to_owned(),
            },
        }
    }
}

impl Config {
    /// The data folder.
    pub(crate) fn folder(&self) -> &Path {
        Path::new(&self.data)
    }
    /// The database file.
    pub(crate) fn database(&self) -> PathBuf {
        self.folder().join("workgraph.db")
    }
}

/// A setting: its key, whether it is a secret, and where it is kept.
struct Setting(&'static str, bool, fn(&mut Config) -> &mut dyn Value);

/// Every setting. Those without a dot come first, as TOML wants it.
static SETTINGS: &[Setting] = &[
    Setting("data", false, |c| &mut c.data),
    Setting("listen", false, |c| &mut c.listen),
    Setting("public_url", false, |c| &mut c.public_url),
    Setting("metrics_listen", false, |c| &mut c.metrics_listen),
    Setting("node", false, |c| &mut c.node),
    Setting("unpaginated_max", false, |c| &mut c.api.unpaginated_max),
    Setting("walk_cap", false, |c| &mut c.api.walk_cap),
    Setting("set_cap", false, |c| &mut c.api.set_cap),
    Setting("offset_lifetime", false, |c| &mut c.api.offset_lifetime),
    Setting("hide_forbidden", false, |c| &mut c.api.hide_forbidden),
    Setting("body_max", false, |c| &mut c.api.body_max),
    Setting("depth_max", false, |c| &mut c.api.depth_max),
    Setting("limits.standard_free", false, |c| &mut c.limits.standard.free),
    Setting("limits.standard_paid", false, |c| &mut c.limits.standard.paid),
    Setting("limits.standard_floor_percent", false, |c| &mut c.limits.standard.floor_percent),
    Setting("limits.search", false, |c| &mut c.limits.search_per_minute),
    Setting("limits.concurrent_reads", false, |c| &mut c.limits.concurrent_reads),
    Setting("limits.concurrent_writes", false, |c| &mut c.limits.concurrent_writes),
    Setting("limits.jobs", false, |c| &mut c.jobs),
    Setting("limits.cost", false, |c| &mut c.limits.cost_per_minute),
    Setting("limits.cost_ceiling", false, |c| &mut c.limits.cost_ceiling),
    Setting("http.header_timeout", false, |c| &mut c.http.header_timeout),
    Setting("http.body_timeout", false, |c| &mut c.http.body_timeout),
    Setting("http.idle_timeout", false, |c| &mut c.http.idle_timeout),
    Setting("http.request_timeout", false, |c| &mut c.http.request_timeout),
    Setting("http.drain_timeout", false, |c| &mut c.http.drain_timeout),
    Setting("http.connections", false, |c| &mut c.http.connections),
    Setting("http.connections_per_ip", false, |c| &mut c.http.connections_per_ip),
    Setting("http.streams", false, |c| &mut c.http.streams),
    Setting("http.cors", false, |c| &mut c.http.cors),
    Setting("log.format", false, |c| &mut c.log.format),
    Setting("log.level", false, |c| &mut c.log.level),
    Setting("log.requests", false, |c| &mut c.log.requests),
    Setting("admin.name", false, |c| &mut c.admin.name),
    Setting("admin.email", false, |c| &mut c.admin.email),
    Setting("admin.password", true, |c| &mut c.admin.password),
    Setting("admin.workspace", false, |c| &mut c.admin.workspace),
];

/// What a setting can be.
trait Value {
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

/// A limit that `off` switches off.
impl Value for Option<u32> {
    fn set(&mut self, text: &str) -> Result<(), String> {
        *self = match text {
            "off" => None,
            _ => Some(text.parse().map_err(|_| format!("must be a number or off, not `{text}`"))?),
        };
        Ok(())
    }
    fn show(&self) -> String {
        self.map_or_else(|| "\"off\"".to_owned(), |n| n.to_string())
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
        *self = Self::from_secs(number.checked_mul(unit).filter(|s| *s <= 100 * 365 * 86_400).ok_or_else(wrong)?);
        Ok(())
    }
    fn show(&self) -> String {
        format!("\"{}s\"", self.as_secs())
    }
}

/// The settings that file, environment and flags lead to.
///
/// # Errors
/// Names the setting that is unknown or has a value it can't have.
pub(crate) fn load(flags: &Flags, environment: impl Iterator<Item = (String, String)>) -> Result<Config, String> {
    let mut config = Config::default();
    if let Some(path) = &flags.config {
        let text = std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
        let table: toml::Table = text.parse().map_err(|e| format!("{}: {e}", path.display()))?;
        from_table(&mut config, "", &table).map_err(|e| format!("{}: {e}", path.display()))?;
    }
    for (name, value) in environment {
        let Some(rest) = name.strip_prefix("WORKGRAPH_") else { continue };
        // The first is a flag's; the next two are set by Kubernetes for a service of this name; the last are a test's own.
        if rest == "CONFIG" || ["PORT", "SERVICE_", "BIN", "TEST_"].iter().any(|p| rest.starts_with(p)) {
            continue;
        }
        let row = SETTINGS.iter().find(|s| s.0.replace('.', "_").eq_ignore_ascii_case(rest));
        let row = row.ok_or_else(|| format!("{name}: there is no such setting"))?;
        (row.2)(&mut config).set(&value).map_err(|e| format!("{name}: {e}"))?;
    }
    for pair in &flags.set {
        let (key, value) = pair.split_once('=').ok_or_else(|| format!("--set {pair}: KEY=VALUE is expected"))?;
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

fn set(config: &mut Config, key: &str, value: &str) -> Result<(), String> {
    let row = SETTINGS.iter().find(|s| s.0 == key).ok_or_else(|| format!("{key}: there is no such setting"))?;
    (row.2)(config).set(value).map_err(|e| format!("{key}: {e}"))
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

/// What one setting's type can't say.
fn check(config: &mut Config) -> Result<(), String> {
    if !["auto", "text", "json"].contains(&config.log.format.as_str()) {
        return Err(format!("log.format: must be auto, text or json, not `{}`", config.log.format));
    }
    if config.node > 31 {
        return Err("node: must be 0 to 31".to_owned());
    }
    if config.limits.standard.floor_percent > 100 {
        return Err("limits.standard_floor_percent: must be 0 to 100".to_owned());
    }
    let url = config.public_url.trim_end_matches('/').to_owned();
    let host = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
    if !url.is_empty() && !host.is_some_and(|h| !h.is_empty() && !h.contains(['@', '?', '#', ' ', '"', '\\'])) {
        return Err("public_url: must be an http or https address without user, query and fragment".to_owned());
    }
    config.public_url = url;
    config.limits.deadline = config.http.request_timeout;
    Ok(())
}

/// The settings as a TOML file, secrets left out.
pub(crate) fn print(config: &Config) -> String {
    let mut config = config.clone();
    let (mut out, mut section) = (String::new(), "");
    for Setting(key, secret, field) in SETTINGS {
        let (above, name) = key.split_once('.').unwrap_or(("", key));
        if above != section {
            section = above;
            out.push_str(&format!("\n[{section}]\n"));
        }
        let shown = field(&mut config).show();
        let shown = if *secret && shown != "\"\"" { "\"(not shown)\"".to_owned() } else { shown };
        out.push_str(&format!("{name} = {shown}\n"));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load_with(file: &str, env: &[(&str, &str)], set: &[&str]) -> Result<Config, String> {
        let folder = std::env::temp_dir().join(format!("workgraph-config-{}-{:?}", std::process::id(), std::thread::current().id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("c.toml");
        std::fs::write(&path, file).unwrap();
        let flags = Flags { config: Some(path), set: set.iter().map(|s| (*s).to_owned()).collect(), ..Flags::default() };
        let out = load(&flags, env.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())));
        std::fs::remove_dir_all(&folder).unwrap();
        out
    }

    #[test]
    fn flags_win_over_the_environment_and_that_over_the_file() {
        let file = "listen = \"a:1\"\nnode = 3\n[limits]\nstandard_paid = 1\nsearch = 1\ncost = \"off\"\n";
        let env = [("WORKGRAPH_LIMITS_STANDARD_PAID", "2"), ("WORKGRAPH_LIMITS_SEARCH", "2"), ("PATH", "x")];
        let config = load_with(file, &env, &["limits.search=3", "offset_lifetime=2h"]).unwrap();
        assert_eq!((config.listen.as_str(), config.node), ("a:1", 3));
        assert_eq!((config.limits.standard.paid, config.limits.search_per_minute), (2, 3));
        assert_eq!((config.limits.cost_per_minute, config.api.offset_lifetime.as_secs()), (None, 7200));
    }

    #[test]
    fn unknown_settings_and_bad_values_are_refused_by_name() {
        for (file, env, set, says) in [
            ("lisen = \"a\"", None, None, "lisen: there is no such setting"),
            ("[limits]\nfoo = 1", None, None, "limits.foo: there is no such"),
            ("listen = [1]", None, None, "listen: must be a text"),
            ("", Some(("WORKGRAPH_LIMIT_SEARCH", "1")), None, "WORKGRAPH_LIMIT_SEARCH: there is no such"),
            ("", Some(("WORKGRAPH_LIMITS_SEARCH", "-1")), None, "must be a number, not `-1`"),
            ("", None, Some("node=32"), "node: must be 0 to 31"),
            ("", None, Some("node"), "KEY=VALUE"),
            ("", None, Some("http.idle_timeout=9y"), "must be a time"),
            ("", None, Some("public_url=https://u@h"), "public_url: must"),
            ("", None, Some("log.format=xml"), "log.format: must"),
        ] {
            let error = load_with(file, env.as_slice(), set.as_slice()).unwrap_err();
            assert!(error.contains(says), "{error} does not say {says}");
        }
        assert!(load_with("", &[("WORKGRAPH_PORT", "tcp://1"), ("WORKGRAPH_SERVICE_HOST", "h")], &[]).is_ok());
    }

    #[test]
    fn what_is_printed_reads_back_and_has_no_secret() {
        let config = load_with("", &[], &["admin.password=hush", "public_url=https://h/", "limits.cost=off", "admin.name=a\"b"]).unwrap();
        let text = print(&config);
        assert!(!text.contains("hush") && text.contains("password = \"(not shown)\""), "{text}");
        let again = load_with(&text, &[], &["admin.password=hush"]).unwrap();
        assert_eq!(print(&again), text);
        assert_eq!((again.public_url.as_str(), again.admin.name.as_str()), ("https://h", "a\"b"));
    }
}
