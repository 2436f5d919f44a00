//! The limits while the server runs: the configured ones, as changed by `admin limits`.
//!
//! Changes are stored in `limits.json` in the data folder, or in the database that nodes share, and override file,
//! environment and flags. Reloading the configuration keeps them.
use crate::adapters::private_values::PrivateValues;
use crate::config::{self, Config};
use anyhow::{Context, Result, anyhow, bail};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::borrow::Cow;
use std::collections::BTreeMap;
use workgraph_api::Api;
use workgraph_api::limits::limit_overrides::{LimitOverride, LimitOverrides};

/// Value that reverts a change.
pub(crate) const DEFAULT: &str = "default";

/// Names and values as entered.
type NamedFigures = BTreeMap<String, String>;

/// Changes in their stored form.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredLimitChanges {
    /// Settings of the section `limits`, without its name.
    #[serde(default)]
    settings: NamedFigures,
    /// Values for apps, by app number.
    #[serde(default)]
    apps: BTreeMap<u64, NamedFigures>,
    /// Values for tokens, by the number of the token record.
    #[serde(default)]
    tokens: BTreeMap<u64, NamedFigures>,
}

/// Scope of the values that a command changes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum LimitScope {
    /// The settings, for all tokens.
    All,
    /// The values of one app.
    App(u64),
    /// The values of one token.
    Token(u64),
}

/// Limits with the changes that commands made while the server runs.
pub(crate) struct RuntimeLimits {
    values: PrivateValues,
    /// Lock held while a change is made and stored.
    changing: tokio::sync::Mutex<()>,
    state: Mutex<RuntimeLimitsState>,
}

/// Name of the stored value that contains the changes.
const NAME: &str = "limits";

#[derive(Debug)]
struct RuntimeLimitsState {
    /// Configuration without the changes.
    config: Config,
    changed: StoredLimitChanges,
    /// Version of the stored changes.
    version: Option<u64>,
}

impl RuntimeLimits {
    /// Reads the changes made by earlier commands.
    ///
    /// # Errors
    /// Fails if the file can't be read, or has values that can't be applied.
    pub(crate) async fn open(config: &Config, values: PrivateValues) -> Result<Self> {
        let (changed, version) = read(&values).await?;
        let state = RuntimeLimitsState {
            config: config.clone(),
            changed,
            version,
        };
        state
            .changed_config()
            .and_then(|_| state.quotas())
            .with_context(|| values.describe(NAME))?;
        Ok(Self {
            values,
            changing: tokio::sync::Mutex::default(),
            state: Mutex::new(state),
        })
    }

    /// Applies changes that another node has made since the last call.
    ///
    /// # Errors
    /// Fails if the changes can't be read or applied.
    pub(crate) async fn refresh(&self, api: &Api) -> Result<()> {
        let _alone = self.changing.lock().await;
        let (changed, version) = read(&self.values).await?;
        let mut state = self.state.lock();
        if state.version == version {
            return Ok(());
        }
        let next = RuntimeLimitsState {
            config: state.config.clone(),
            changed,
            version,
        };
        next.apply(api)?;
        *state = next;
        tracing::info!("limits that another node has changed are in force");
        Ok(())
    }

    /// Applies the settings and the overrides of apps and tokens.
    ///
    /// # Errors
    /// Fails if a value can't be applied, which [`open`](Self::open) and [`change`](Self::change) prevent.
    pub(crate) fn apply(&self, api: &Api) -> Result<()> {
        self.state.lock().apply(api)
    }

    /// Replaces the limits with the limits of another configuration; changes by command are kept.
    ///
    /// # Errors
    /// Fails if the two are incompatible. Nothing is changed then.
    pub(crate) fn reload(&self, config: &Config, api: &Api) -> Result<()> {
        let mut state = self.state.lock();
        let mut next = RuntimeLimitsState {
            config: state.config.clone(),
            changed: state.changed.clone(),
            version: state.version,
        };
        for (name, value) in config::section(&mut config.clone(), "limits") {
            config::set(&mut next.config, &format!("limits.{name}"), &value)?;
        }
        next.apply(api)?;
        *state = next;
        Ok(())
    }

    /// Changes values, stores the change, and applies it.
    ///
    /// # Errors
    /// Names the unknown limit or the invalid value, or says why the change can't be stored. Nothing is changed then.
    pub(crate) async fn change(
        &self,
        whose: LimitScope,
        pairs: &[String],
        api: &Api,
    ) -> Result<Value> {
        let _alone = self.changing.lock().await;
        let config = self.state.lock().config.clone();
        let (changed, version) = read(&self.values).await?;
        let mut next = RuntimeLimitsState {
            config,
            changed,
            version,
        };
        let changed = match whose {
            LimitScope::All => &mut next.changed.settings,
            LimitScope::App(id) => next.changed.apps.entry(id).or_default(),
            LimitScope::Token(id) => next.changed.tokens.entry(id).or_default(),
        };
        for pair in pairs {
            let (name, value) = pair
                .split_once('=')
                .with_context(|| format!("{pair}: NAME=VALUE is expected"))?;
            if value == DEFAULT {
                changed.remove(name);
            } else {
                changed.insert(name.to_owned(), value.to_owned());
            }
        }
        next.changed.apps.retain(|_, pairs| !pairs.is_empty());
        next.changed.tokens.retain(|_, pairs| !pairs.is_empty());
        if !pairs.is_empty() {
            next.changed_config()?;
            next.quotas()?;
            let text = serde_json::to_string_pretty(&next.changed)?;
            if !self.values.replace(NAME, next.version, &text).await? {
                bail!("another node changes the limits just now; try again");
            }
            next.version = next.version.map(|version| version + 1);
            next.apply(api)?;
        }
        let answer = next.json(whose);
        *self.state.lock() = next;
        answer
    }
}

impl RuntimeLimitsState {
    fn apply(&self, api: &Api) -> Result<()> {
        let (config, quotas) = (self.changed_config()?, self.quotas()?);
        api.set_token_limits(config.limits);
        api.set_jobs_per_user_max(config.api.jobs_per_user_max);
        api.set_user_multiple(config.api.user_multiple);
        api.set_limit_overrides(quotas);
        Ok(())
    }

    /// Returns the configuration with the changes.
    fn changed_config(&self) -> Result<Cow<'_, Config>> {
        let mut config = Cow::Borrowed(&self.config);
        for (name, value) in &self.changed.settings {
            config::set(config.to_mut(), &format!("limits.{name}"), value)?;
        }
        Ok(config)
    }

    fn quotas(&self) -> Result<LimitOverrides> {
        let all = |of: &BTreeMap<u64, NamedFigures>| {
            of.iter()
                .map(|(id, pairs)| Ok((*id, parse_override(pairs)?)))
                .collect::<Result<_>>()
        };
        Ok(LimitOverrides {
            apps: all(&self.changed.apps)?,
            tokens: all(&self.changed.tokens)?,
        })
    }

    fn json(&self, whose: LimitScope) -> Result<Value> {
        let pairs = |pairs: Option<&NamedFigures>| json!(pairs.cloned().unwrap_or_default());
        Ok(match whose {
            LimitScope::App(id) => json!({"app": id, "own": pairs(self.changed.apps.get(&id))}),
            LimitScope::Token(id) => {
                json!({"token": id, "own": pairs(self.changed.tokens.get(&id))})
            }
            LimitScope::All => json!({
                "settings": config::section(self.changed_config()?.to_mut(), "limits"),
                "changed": self.changed.settings,
                "apps": self.changed.apps,
                "tokens": self.changed.tokens,
            }),
        })
    }
}

/// Returns the stored changes, with their version.
async fn read(values: &PrivateValues) -> Result<(StoredLimitChanges, Option<u64>)> {
    match values.read(NAME).await? {
        Some(value) => {
            let changes = serde_json::from_str(&value.text);
            let changes = changes.with_context(|| values.describe(NAME))?;
            Ok((changes, value.version))
        }
        None => Ok((StoredLimitChanges::default(), None)),
    }
}

/// Returns the overrides of an app or a token.
fn parse_override(pairs: &NamedFigures) -> Result<LimitOverride> {
    let mut own = LimitOverride::default();
    for (name, value) in pairs {
        let quota = match name.as_str() {
            "standard" => &mut own.standard,
            "search" => &mut own.search,
            "concurrent_reads" => &mut own.concurrent_reads,
            "concurrent_writes" => &mut own.concurrent_writes,
            "cost" => &mut own.cost,
            _ => {
                bail!(
                    "{name}: must be standard, search, concurrent_reads, concurrent_writes or cost"
                );
            }
        };
        let number = value.parse();
        *quota = Some(number.map_err(|_| anyhow!("{name}: must be a number, not `{value}`"))?);
    }
    Ok(own)
}
