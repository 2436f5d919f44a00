//! A setting, and the types of values that settings can have.
use anyhow::{Context, Result, anyhow, bail};
use std::fmt::Display;
use std::net::IpAddr;
use std::str::FromStr;
use std::time::Duration;
use workgraph_api::token_limits::{LIMITS, ShadowLimits};
use workgraph_auth::{IssuerInResponses, LoopbackPolicy};
use workgraph_limits::Limit;
use workgraph_webhooks::target_policy::{IpNet, parse_network};

/// Setting: a key, the field that holds its value, documentation, and bounds of the value.
///
/// `C` is the type that contains all values.
pub(crate) struct Setting<C> {
    /// Section and name, separated by a dot; just the name outside of sections.
    pub(crate) key: &'static str,
    /// True if the value must not be shown.
    pub(crate) is_secret: bool,
    /// Minimum of a number, or of a duration in seconds.
    pub(crate) least: u64,
    /// Maximum of a number.
    pub(crate) most: u64,
    pub(crate) documentation: &'static str,
    pub(crate) field: fn(&mut C) -> &mut dyn SettingValue,
}

impl<C: Default> Setting<C> {
    /// Returns a setting that allows every value of its type.
    pub(crate) const fn new(
        key: &'static str,
        documentation: &'static str,
        field: fn(&mut C) -> &mut dyn SettingValue,
    ) -> Self {
        Self {
            key,
            is_secret: false,
            least: 0,
            most: u64::MAX,
            documentation,
            field,
        }
    }

    /// Returns the section and the name; the section is empty outside of sections.
    pub(crate) fn section_and_name(&self) -> (&'static str, &'static str) {
        self.key.split_once('.').unwrap_or(("", self.key))
    }

    /// Returns the documentation, including the bounds, and the default as text.
    pub(crate) fn documentation_and_default(&self) -> (String, String) {
        let mut config = C::default();
        let value = (self.field)(&mut config);
        let bounds = self.bounds(value).map(|b| format!(" Must be {b}."));
        let documentation = self.documentation.trim().to_owned();
        (documentation + &bounds.unwrap_or_default(), value.text())
    }

    /// Returns the value as text in the format of [`set`](Self::set).
    pub(crate) fn text(&self, config: &mut C) -> String {
        (self.field)(config).text()
    }

    /// Sets the value.
    ///
    /// # Errors
    /// Describes valid values. The value may have changed.
    pub(crate) fn set(&self, config: &mut C, text: &str) -> Result<()> {
        let value = (self.field)(config);
        value.set(text)?;
        let allowed = |number| (self.least..=self.most).contains(&number);
        match self.bounds(value) {
            Some(bounds) if !value.number().is_none_or(allowed) => bail!("must be {bounds}"),
            _ => Ok(()),
        }
    }

    fn bounds(&self, value: &dyn SettingValue) -> Option<String> {
        let (least, most) = (value.figure(self.least), value.figure(self.most));
        match (self.least, self.most) {
            (0, u64::MAX) => None,
            (1, u64::MAX) => Some("more than 0".to_owned()),
            (_, u64::MAX) => Some(format!("{least} or more")),
            _ => Some(format!("{least} to {most}")),
        }
    }
}

/// Value that a setting can have, with its text form.
pub(crate) trait SettingValue {
    /// Sets the value from its text.
    ///
    /// # Errors
    /// Describes valid values.
    fn set(&mut self, text: &str) -> Result<()>;
    /// Returns the value as text in the format of [`set`](Self::set).
    fn text(&self) -> String;
    /// Returns the number that the bounds apply to, in seconds for a duration; `None` if the value has no bounds.
    fn number(&self) -> Option<u64> {
        None
    }
    /// Returns true if the value is a list: the file may have an array of strings instead of one string with spaces.
    fn is_list(&self) -> bool {
        false
    }
    /// Returns the text of a bound.
    fn figure(&self, bound: u64) -> String {
        bound.to_string()
    }
}

macro_rules! numbers {
    ($($type:ty: $name:literal),*) => {$(
        impl SettingValue for $type {
            fn set(&mut self, text: &str) -> Result<()> {
                *self = text.parse().map_err(|_| anyhow!(concat!("must be ", $name, ", not `{}`"), text))?;
                Ok(())
            }
            fn text(&self) -> String {
                self.to_string()
            }
            fn number(&self) -> Option<u64> {
                u64::try_from(*self).ok()
            }
        }
    )*};
}
numbers!(u8: "a number up to 255", u32: "a number", usize: "a number", u64: "a number");

impl SettingValue for String {
    fn set(&mut self, text: &str) -> Result<()> {
        text.clone_into(self);
        Ok(())
    }
    fn text(&self) -> String {
        self.clone()
    }
}

/// Type whose values have names.
pub(crate) trait NamedValues: Copy + PartialEq + 'static {
    /// All values with their names.
    const NAMES: &'static [(&'static str, Self)];
}

impl NamedValues for bool {
    const NAMES: &'static [(&'static str, Self)] = &[("true", true), ("false", false)];
}

impl NamedValues for LoopbackPolicy {
    const NAMES: &'static [(&'static str, Self)] =
        &[("true", Self::Allowed), ("false", Self::Refused)];
}

impl NamedValues for IssuerInResponses {
    const NAMES: &'static [(&'static str, Self)] = &Self::ALL;
}

/// Format of log lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LogFormat {
    /// Text on a terminal, JSON elsewhere.
    Auto,
    /// Text for people.
    Text,
    /// JSON.
    Json,
}

impl NamedValues for LogFormat {
    const NAMES: &'static [(&'static str, Self)] = &[
        ("auto", Self::Auto),
        ("text", Self::Text),
        ("json", Self::Json),
    ];
}

impl<T: NamedValues> SettingValue for T {
    fn set(&mut self, text: &str) -> Result<()> {
        let named = T::NAMES.iter().find(|(name, _)| *name == text);
        (_, *self) = *named.with_context(|| {
            let names: Vec<&str> = T::NAMES.iter().map(|(name, _)| *name).collect();
            format!("must be {}, not `{text}`", names.join(" or "))
        })?;
        Ok(())
    }
    fn text(&self) -> String {
        let named = T::NAMES.iter().find(|(_, value)| value == self);
        named.map_or_else(String::new, |(name, _)| (*name).to_owned())
    }
}

/// A limit or a quota that `off` switches off.
impl<N: Copy + FromStr + Display> SettingValue for Option<N>
where
    u64: From<N>,
{
    fn set(&mut self, text: &str) -> Result<()> {
        let wrong = |_| anyhow!("must be a number or off, not `{text}`");
        *self = match text {
            "off" => None,
            _ => Some(text.parse().map_err(wrong)?),
        };
        Ok(())
    }
    fn text(&self) -> String {
        self.map_or_else(|| "off".to_owned(), |number| number.to_string())
    }
    fn number(&self) -> Option<u64> {
        self.map(u64::from)
    }
}

/// Names of limits, separated by commas.
impl SettingValue for ShadowLimits {
    fn set(&mut self, text: &str) -> Result<()> {
        let mut named = Self::default();
        for name in text.split(',').map(str::trim).filter(|n| !n.is_empty()) {
            let limit = LIMITS.into_iter().find(|limit| limit.name() == name);
            named.add(limit.with_context(|| {
                let names = LIMITS.map(Limit::name).join(", ");
                format!("must be some of {names}, not `{name}`")
            })?);
        }
        *self = named;
        Ok(())
    }
    fn text(&self) -> String {
        let names: Vec<_> = self.iter().map(Limit::name).collect();
        names.join(",")
    }
}

/// Networks such as `10.1.0.0/16`, and single addresses, separated by spaces or commas.
impl SettingValue for Vec<IpNet> {
    fn is_list(&self) -> bool {
        true
    }
    fn set(&mut self, text: &str) -> Result<()> {
        let network = |word: &str| {
            let alone = word.parse().ok().map(|address: IpAddr| address.into());
            alone.or_else(|| parse_network(word)).with_context(|| {
                format!("must be networks such as 10.0.0.0/8 or ::1, not `{word}`")
            })
        };
        let words = text.split([' ', ',']).filter(|word| !word.is_empty());
        *self = words.map(network).collect::<Result<_>>()?;
        Ok(())
    }
    fn text(&self) -> String {
        let texts: Vec<String> = self.iter().map(IpNet::to_string).collect();
        texts.join(" ")
    }
}

/// Units of durations, largest first.
const UNITS: [(&str, u64); 4] = [("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1)];
/// Maximum duration in seconds: 100 years.
const TIME_MAX: u64 = 100 * 365 * 86_400;

/// A number of seconds, or one with a unit.
impl SettingValue for Duration {
    fn set(&mut self, text: &str) -> Result<()> {
        let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let unit = match text.get(digits.len()..) {
            Some("") => Some(1),
            unit => UNITS
                .into_iter()
                .find(|(name, _)| unit == Some(*name))
                .map(|(_, s)| s),
        };
        let number = digits.parse::<u64>().ok();
        let seconds = number.zip(unit).and_then(|(n, unit)| n.checked_mul(unit));
        *self = seconds
            .filter(|seconds| *seconds <= TIME_MAX)
            .map(Self::from_secs)
            .with_context(|| format!("must be a time such as 30s, 10m, 24h or 7d, not `{text}`"))?;
        Ok(())
    }
    fn text(&self) -> String {
        self.figure(self.as_secs())
    }
    fn number(&self) -> Option<u64> {
        Some(self.as_secs())
    }
    fn figure(&self, bound: u64) -> String {
        let whole = UNITS
            .into_iter()
            .find(|(_, s)| bound > 0 && bound.is_multiple_of(*s));
        whole.map_or_else(
            || "0s".to_owned(),
            |(name, s)| format!("{}{name}", bound / s),
        )
    }
}
