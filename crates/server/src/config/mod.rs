//! Settings: their values from file, environment and flags.
use crate::config::flags::Flags;
pub(crate) use crate::config::schema::BucketConfig;
pub use crate::config::schema::Config;
use crate::config::schema::settings;
use crate::config::setting::Setting;
use anyhow::{Context, Error, Result, anyhow, bail};
use std::collections::BTreeMap;
use std::path::Path;
use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

pub(crate) mod exposure;
pub(crate) mod flags;

pub(crate) mod schema;
pub(crate) mod setting;
#[cfg(test)]
mod tests;
pub(crate) mod trusted_proxies;
pub(crate) mod web_url;

/// Prefixes of environment variables that are not settings: one belongs to a flag, Kubernetes sets some for a service of
/// this name, and this project's tests use some.
const NOT_SETTINGS: &[&str] = &[
    "CONFIG", "PORT", "SERVICE_", "TEST_", "BIN", "SKIP_", "CASES", "CLIENTS", "KILL_", "LAW_",
    "REQUIRE",
];

/// Applies file, environment and flags to the given defaults, and returns the settings.
///
/// # Errors
/// Names the setting that is unknown or has an invalid value, and the line of the file or the variable.
pub fn load(
    mut config: Config,
    flags: &Flags,
    environment: impl Iterator<Item = (String, String)>,
) -> Result<Config> {
    if let Some(path) = &flags.config {
        let named = || path.display().to_string();
        let text = std::fs::read_to_string(path).with_context(named)?;
        let table = DeTable::parse(&text).with_context(named)?;
        set_table(&mut config, "", table.get_ref()).map_err(|(start, error)| {
            let line = text.bytes().take(start).filter(|b| *b == b'\n').count() + 1;
            error.context(format!("{}:{line}", path.display()))
        })?;
    }
    for (name, value) in environment {
        let Some(rest) = name.strip_prefix("WORKGRAPH_") else {
            continue;
        };
        if NOT_SETTINGS.iter().any(|start| rest.starts_with(start)) {
            continue;
        }
        let variable = |key: &str| key.replace('.', "_").to_ascii_uppercase();
        find(&rest.to_ascii_uppercase(), "WORKGRAPH_", variable)
            .and_then(|setting| setting.set(&mut config, &value))
            .context(name)?;
    }
    for pair in &flags.set {
        let (key, value) = pair
            .split_once('=')
            .with_context(|| format!("--set {pair}: KEY=VALUE is expected"))?;
        set(&mut config, key, value).map_err(|error| anyhow!("--set {error:#}"))?;
    }
    for (key, value) in flags.settings() {
        // Usually an unset shell variable. An empty store address selects the folder, even if a variable has an address.
        if value.is_empty() && key != "store.url" {
            let flag = key.rsplit('.').next().unwrap_or(key).replace('_', "-");
            anyhow::bail!(
                "the flag for {key} (--{flag}) is empty: give it a value, or leave it out"
            );
        }
        set(&mut config, key, value)?;
    }
    config.limits.deadline = config.http.request_timeout;
    Ok(config)
}

/// Returns the setting with a name. `name_of` turns keys into names, which follow `prefix`.
///
/// # Errors
/// Says that there is none, and suggests one with a similar name.
fn find(
    name: &str,
    prefix: &str,
    name_of: impl Fn(&str) -> String,
) -> Result<&'static Setting<Config>> {
    if let Some(setting) = settings().find(|setting| name_of(setting.key) == name) {
        return Ok(setting);
    }
    let distance = |setting: &Setting<Config>| {
        let known = name_of(setting.key);
        let without_section = name_of(setting.section_and_name().1);
        let missing_section = strsim::osa_distance(name, &without_section);
        (
            strsim::osa_distance(name, &known).min(missing_section),
            known,
        )
    };
    let nearest = settings().map(distance).min();
    match nearest {
        Some((distance, known)) if distance * 4 <= name.len() => {
            bail!("there is no such setting; is {prefix}{known} meant?")
        }
        _ => bail!("there is no such setting"),
    }
}

/// Sets the value of a setting.
///
/// # Errors
/// Fails if the setting does not exist, or the value is invalid.
pub(crate) fn set(config: &mut Config, key: &str, value: &str) -> Result<()> {
    find(key, "", str::to_owned)
        .and_then(|setting| setting.set(config, value))
        .with_context(|| key.to_owned())
}

/// Sets the data folder.
///
/// # Errors
/// Fails if its name is not UTF-8.
pub(crate) fn set_folder(config: &mut Config, folder: &Path) -> Result<()> {
    let folder = folder.to_str();
    let folder = folder.context("the name of the data folder is not UTF-8")?;
    set(config, "data", folder)
}

/// Sets the values of a list setting, which contain no spaces.
///
/// # Errors
/// Fails if the setting does not exist or is not a list, or a value is invalid.
fn set_list(config: &mut Config, key: &str, values: &DeArray<'_>) -> Result<()> {
    let setting = find(key, "", str::to_owned).with_context(|| key.to_owned())?;
    if !(setting.field)(config).is_list() {
        bail!("{key}: must be a text, a number, or true or false, not a list");
    }
    let text = |value: &Spanned<DeValue<'_>>| match value.get_ref() {
        DeValue::String(text) => Ok(text.clone().into_owned()),
        _ => Err(anyhow!("{key}: must be a list of texts")),
    };
    let texts: Vec<String> = values.iter().map(text).collect::<Result<_>>()?;
    set(config, key, &texts.join(" "))
}

/// Sets settings from a table of the file.
///
/// # Errors
/// Says what is wrong, and at which byte.
fn set_table(config: &mut Config, above: &str, table: &DeTable<'_>) -> Result<(), (usize, Error)> {
    for (name, value) in table {
        let key = format!("{above}{}", name.get_ref());
        let integer = match value.get_ref() {
            DeValue::Integer(n) => i64::from_str_radix(n.as_str(), n.radix()).ok(),
            _ => None,
        };
        let outcome = match (value.get_ref(), integer) {
            (DeValue::Table(inner), _) => {
                set_table(config, &format!("{key}."), inner)?;
                continue;
            }
            (DeValue::String(text), _) => set(config, &key, text),
            (DeValue::Boolean(value), _) => set(config, &key, &value.to_string()),
            (_, Some(number)) => set(config, &key, &number.to_string()),
            (DeValue::Array(values), _) => set_list(config, &key, values),
            _ => Err(anyhow!("{key}: must be a text, a number, or true or false")),
        };
        outcome.map_err(|e| (name.span().start, e))?;
    }
    Ok(())
}

/// Returns the settings of a section by name, with their values as text.
pub(crate) fn section(config: &mut Config, section: &str) -> BTreeMap<&'static str, String> {
    let rows = settings().filter(|s| s.section_and_name().0 == section);
    rows.map(|s| (s.section_and_name().1, s.text(config)))
        .collect()
}

/// Returns the settings as a TOML file, without secrets.
pub(crate) fn print(config: &Config) -> String {
    let mut config = config.clone();
    let (mut out, mut current) = (String::new(), "");
    for setting in settings() {
        let (section, name) = setting.section_and_name();
        if section != current {
            current = section;
            out.push_str(&format!("\n[{section}]\n"));
        }
        let mut text = setting.text(&mut config);
        if setting.is_secret && !text.is_empty() {
            text = "(not shown)".to_owned();
        }
        out.push_str(&format!("{name} = {}\n", toml_value(&text)));
    }
    out
}

/// Returns a value in TOML: numbers and booleans bare, all others as strings.
fn toml_value(text: &str) -> String {
    let bare =
        text.parse().is_ok_and(|n: i64| n.to_string() == text) || text.parse::<bool>().is_ok();
    if bare {
        return text.to_owned();
    }
    // A TOML string has the form of a JSON string, but one more character must be escaped.
    serde_json::Value::from(text)
        .to_string()
        .replace('\u{7f}', "\\u007F")
}
