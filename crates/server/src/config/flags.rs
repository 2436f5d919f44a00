//! Flags that change settings.
use crate::config::schema::settings;
use clap::Args;
use std::path::PathBuf;

/// Flags that every command takes; `--help` lists them and `-h` does not. They win over the environment, which wins over the file.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Settings")]
pub struct Flags {
    /// Read settings from this TOML file.
    #[arg(
        long,
        global = true,
        hide_short_help = true,
        env = "WORKGRAPH_CONFIG",
        value_name = "FILE"
    )]
    pub config: Option<PathBuf>,
    /// Value of the setting `data`.
    #[arg(long, global = true, hide_short_help = true, value_name = "DIR", help = help("data"))]
    pub data: Option<String>,
    /// Value of the setting `listen`.
    #[arg(long, global = true, hide_short_help = true, value_name = "ADDRESS", help = help("listen"))]
    pub listen: Option<String>,
    /// Value of the setting `public_url`.
    #[arg(long, global = true, hide_short_help = true, value_name = "URL", help = help("public_url"))]
    pub public_url: Option<String>,
    /// Value of the setting `shared_limits.url`.
    #[arg(long, global = true, hide_short_help = true, value_name = "URL", help = help("shared_limits.url"))]
    pub limits: Option<String>,
    /// Value of the setting `store.url`.
    #[arg(long, global = true, hide_short_help = true, value_name = "URL", help = help("store.url"))]
    pub store: Option<String>,
    /// Value of the setting `store.shared_files`.
    #[arg(long, global = true, hide_short_help = true, value_name = "DIR", help = help("store.shared_files"))]
    pub shared_files: Option<String>,
    /// Value of the setting `store.allow_unsafe`.
    #[arg(long, global = true, hide_short_help = true, help = help("store.allow_unsafe"))]
    pub allow_unsafe_store: bool,
    /// Any setting, as in `--set limits.search=120`; `config print` names them all.
    #[arg(
        long = "set",
        global = true,
        hide_short_help = true,
        value_name = "KEY=VALUE"
    )]
    pub set: Vec<String>,
    /// Write no line per request.
    #[arg(long, global = true, hide_short_help = true)]
    pub quiet: bool,
    /// Value of the setting `log.format`.
    #[arg(long, global = true, hide_short_help = true, value_name = "FORMAT", help = help("log.format"))]
    pub log_format: Option<String>,
}

impl Flags {
    /// Returns the given settings that have their own flags.
    pub(crate) fn settings(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let given = [
            ("data", self.data.as_deref()),
            ("listen", self.listen.as_deref()),
            ("public_url", self.public_url.as_deref()),
            ("shared_limits.url", self.limits.as_deref()),
            ("store.url", self.store.as_deref()),
            ("store.shared_files", self.shared_files.as_deref()),
            (
                "store.allow_unsafe",
                self.allow_unsafe_store.then_some("true"),
            ),
            ("log.format", self.log_format.as_deref()),
            ("log.requests", self.quiet.then_some("false")),
        ];
        given
            .into_iter()
            .filter_map(|(key, value)| Some((key, value?)))
    }
}

/// Returns the help of a flag that is a setting: its documentation and its default.
fn help(key: &str) -> String {
    let setting = settings().find(|setting| setting.key == key);
    let documented = setting.map(|setting| setting.documentation_and_default());
    let (documentation, default) = documented.unwrap_or_default();
    let documentation = documentation.trim_end_matches('.');
    if default.is_empty() {
        return documentation.to_owned();
    }
    format!("{documentation} [default: {default}]")
}
