//! The limits while the server runs: what the configuration says, and what `admin limits` changed since.
//!
//! Changes are kept in `limits.json` in the data folder and go before file, environment and flags. A reload of the
//! configuration leaves them.
use crate::config::{self, Config};
use crate::folder::write_private;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use workgraph_api::Api;
use workgraph_api::limits::{Own, Quotas};

/// A value that takes a change back.
pub(crate) const DEFAULT: &str = "default";

/// Names and values, as they were given.
type Pairs = BTreeMap<String, String>;

/// What was changed, as the file has it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Changed {
    /// Settings of the section `limits`, without its name.
    #[serde(default)]
    settings: Pairs,
    /// Figures of apps, by number.
    #[serde(default)]
    apps: BTreeMap<u64, Pairs>,
    /// Figures of tokens, by the number of the record.
    #[serde(default)]
    tokens: BTreeMap<u64, Pairs>,
}

/// Whose figures a command is about.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Whose {
    /// Everybody's: settings.
    All,
    /// An app's.
    App(u64),
    /// A token's.
    Token(u64),
}

/// Where the limits are changed.
#[derive(Debug)]
pub(crate) struct Desk {
    path: PathBuf,
    held: Mutex<Held>,
}

#[derive(Debug)]
struct Held {
    /// The configuration without the changes.
    config: Config,
    changed: Changed,
}

impl Desk {
    /// Reads what was changed before.
    ///
    /// # Errors
    /// When the file can't be read, or says what can't be.
    pub(crate) fn open(config: &Config) -> Result<Self, String> {
        let path = config.folder().join("limits.json");
        let changed = read(&path)?;
        let held = Held {
            config: config.clone(),
            changed,
        };
        held.changed_config()
            .and_then(|_| held.quotas())
            .map_err(|e| format!("{}: {e}", path.display()))?;
        Ok(Self {
            path,
            held: Mutex::new(held),
        })
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        // It is replaced as a whole, so it is whole.
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts everything in force.
    ///
    /// # Errors
    /// When something can't be, which [`open`](Self::open) and [`change`](Self::change) prevent.
    pub(crate) fn apply(&self, api: &Api) -> Result<(), String> {
        self.held().apply(api)
    }

    /// Takes the limits of another configuration; what was changed by command stays.
    ///
    /// # Errors
    /// When the two don't go together. Nothing is changed then.
    pub(crate) fn reload(&self, config: &Config, api: &Api) -> Result<(), String> {
        let mut held = self.held();
        let mut next = Held {
            config: held.config.clone(),
            changed: held.changed.clone(),
        };
        // Requests in flight end at the deadline they were admitted with, which no reload changes.
        next.config.limits = config.limits;
        next.config.api.jobs = config.api.jobs;
        next.config.api.user_multiple = config.api.user_multiple;
        next.config.limits.deadline = held.config.limits.deadline;
        next.apply(api)?;
        *held = next;
        Ok(())
    }

    /// Changes figures, keeps that, and puts it in force.
    ///
    /// # Errors
    /// Names what is no such figure or no value for one, or says why it can't be kept. Nothing is changed then.
    pub(crate) fn change(
        &self,
        whose: Whose,
        pairs: &[String],
        api: &Api,
    ) -> Result<Value, String> {
        let mut held = self.held();
        let mut next = Held {
            config: held.config.clone(),
            changed: held.changed.clone(),
        };
        let changed = match whose {
            Whose::All => &mut next.changed.settings,
            Whose::App(id) => next.changed.apps.entry(id).or_default(),
            Whose::Token(id) => next.changed.tokens.entry(id).or_default(),
        };
        for pair in pairs {
            let (name, value) = pair
                .split_once('=')
                .ok_or_else(|| format!("{pair}: NAME=VALUE is expected"))?;
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
            let text = serde_json::to_vec_pretty(&next.changed).map_err(|e| e.to_string())?;
            write_private(&self.path, &text)?;
            next.apply(api)?;
            *held = next;
        }
        held.shown(whose)
    }
}

impl Held {
    fn apply(&self, api: &Api) -> Result<(), String> {
        let (config, quotas) = (self.changed_config()?, self.quotas()?);
        api.limiter().set(config.limits);
        api.set_jobs(config.api.jobs);
        api.set_user_multiple(config.api.user_multiple);
        api.set_quotas(quotas);
        Ok(())
    }

    /// The configuration in force.
    fn changed_config(&self) -> Result<Config, String> {
        let mut config = self.config.clone();
        for (name, value) in &self.changed.settings {
            config::set(&mut config, &format!("limits.{name}"), value)?;
        }
        config::check(&mut config)?;
        Ok(config)
    }

    fn quotas(&self) -> Result<Quotas, String> {
        let all = |of: &BTreeMap<u64, Pairs>| {
            of.iter()
                .map(|(id, pairs)| Ok((*id, own(pairs)?)))
                .collect::<Result<_, String>>()
        };
        Ok(Quotas {
            apps: all(&self.changed.apps)?,
            tokens: all(&self.changed.tokens)?,
        })
    }

    fn shown(&self, whose: Whose) -> Result<Value, String> {
        let pairs = |pairs: Option<&Pairs>| json!(pairs.cloned().unwrap_or_default());
        Ok(match whose {
            Whose::App(id) => json!({"app": id, "own": pairs(self.changed.apps.get(&id))}),
            Whose::Token(id) => json!({"token": id, "own": pairs(self.changed.tokens.get(&id))}),
            Whose::All => json!({
                "settings": config::section(&mut self.changed_config()?, "limits"),
                "changed": self.changed.settings,
                "apps": self.changed.apps,
                "tokens": self.changed.tokens,
            }),
        })
    }
}

fn read(path: &Path) -> Result<Changed, String> {
    let say = |e: &dyn std::fmt::Display| format!("{}: {e}", path.display());
    match std::fs::read(path) {
        Ok(bytes) => serde_json::from_slice(&bytes).map_err(|e| say(&e)),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(Changed::default()),
        Err(e) => Err(say(&e)),
    }
}

/// The figures of an app or a token.
fn own(pairs: &Pairs) -> Result<Own, String> {
    let mut own = Own::default();
    for (name, value) in pairs {
        let place = match name.as_str() {
            "standard" => &mut own.standard,
            "search" => &mut own.search,
            "concurrent_reads" => &mut own.concurrent_reads,
            "concurrent_writes" => &mut own.concurrent_writes,
            "cost" => &mut own.cost,
            _ => {
                return Err(format!(
                    "{name}: must be standard, search, concurrent_reads, concurrent_writes or cost"
                ));
            }
        };
        let number = value.parse();
        *place = Some(number.map_err(|_| format!("{name}: must be a number, not `{value}`"))?);
    }
    Ok(own)
}
