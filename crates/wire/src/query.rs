//! Query strings: strict decoding, typed reading, and the query of the next page.

use std::collections::BTreeSet;
use std::fmt;

use crate::error::clip;
use crate::options::{Options, terms};
use crate::percent::{self, Fault};

/// The largest page size a request may ask for; the smallest is 1.
pub const LIMIT_MAX: u16 = 100;

/// What is wrong with a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Problem {
    /// A `%` without two hexadecimal digits.
    Percent,
    /// Not UTF-8 after decoding.
    Utf8,
    /// Holds a NUL.
    Nul,
    /// Given more than once.
    Twice,
    /// Not a whole number from 1 to 100.
    Limit,
    /// Neither true nor false.
    Flag,
}

/// A parameter that can't be read. `Display` is the message for the client, all are status 400.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueryError {
    /// The parameter's name, cut and escaped for an echo.
    pub param: String,
    /// What is wrong with it.
    pub problem: Problem,
}

impl QueryError {
    pub(crate) fn new(param: &str, problem: Problem) -> Self {
        Self {
            param: clip(param),
            problem,
        }
    }
}

impl fmt::Display for QueryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rule = match self.problem {
            Problem::Percent => "not valid percent-encoding",
            Problem::Utf8 => "not valid UTF-8",
            Problem::Nul => "must not contain NUL",
            Problem::Twice => "given twice",
            Problem::Limit => "must be 1 to 100",
            Problem::Flag => "must be true or false",
        };
        write!(f, "{}: {rule}", self.param)
    }
}

impl std::error::Error for QueryError {}

/// Decoded parameters in the order they were sent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Query {
    pairs: Vec<(String, String)>,
}

impl Query {
    /// Decodes a query string, without its `?`. `+` is a space and a name without `=` has an empty
    /// value.
    ///
    /// # Errors
    /// A bad `%`, a NUL or invalid UTF-8 anywhere, naming the parameter it is in.
    pub fn parse(raw: &str) -> Result<Self, QueryError> {
        Self::from_bytes(raw.as_bytes())
    }

    pub(crate) fn from_bytes(raw: &[u8]) -> Result<Self, QueryError> {
        let mut pairs = Vec::new();
        for part in raw.split(|b| *b == b'&').filter(|part| !part.is_empty()) {
            let mut halves = part.splitn(2, |b| *b == b'=');
            let (name, value) = (
                halves.next().unwrap_or_default(),
                halves.next().unwrap_or_default(),
            );
            let name = decode(name, &String::from_utf8_lossy(name))?;
            let value = decode(value, &name)?;
            pairs.push((name, value));
        }
        Ok(Self { pairs })
    }

    pub(crate) fn from_pairs(pairs: Vec<(String, String)>) -> Self {
        Self { pairs }
    }

    pub(crate) fn into_pairs(self) -> Vec<(String, String)> {
        self.pairs
    }

    /// The value of `name`, or `None` when it wasn't sent.
    ///
    /// # Errors
    /// When it was sent twice.
    pub fn get(&self, name: &str) -> Result<Option<&str>, QueryError> {
        let mut values = self.all(name);
        let first = values.next();
        if values.next().is_some() {
            return Err(QueryError::new(name, Problem::Twice));
        }
        Ok(first)
    }

    /// Every value of `name`, for the few parameters that may be repeated.
    pub fn all<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a str> {
        self.iter()
            .filter_map(move |(key, value)| (key == name).then_some(value))
    }

    /// All parameters, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.pairs
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Checks that no name is there twice, for endpoints where every parameter counts (RFC 6749
    /// section 3.1).
    ///
    /// # Errors
    /// The first name that repeats.
    pub fn distinct(&self) -> Result<(), QueryError> {
        let mut seen = BTreeSet::new();
        match self.iter().find(|(name, _)| !seen.insert(*name)) {
            Some((name, _)) => Err(QueryError::new(name, Problem::Twice)),
            None => Ok(()),
        }
    }

    /// Whether there are no parameters.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    /// The page size, a number from 1 to 100.
    ///
    /// # Errors
    /// When it was sent twice, or is anything but one to three ASCII digits in that range.
    pub fn limit(&self) -> Result<Option<u16>, QueryError> {
        self.get("limit")?
            .map(|text| {
                let digits =
                    (1..=3).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
                let value = if digits { text.parse().unwrap_or(0) } else { 0 };
                if (1..=LIMIT_MAX).contains(&value) {
                    Ok(value)
                } else {
                    Err(QueryError::new("limit", Problem::Limit))
                }
            })
            .transpose()
    }

    /// A boolean: `true`, `True` or `1`, `false`, `False` or `0`.
    ///
    /// # Errors
    /// When it was sent twice or is something else.
    pub fn flag(&self, name: &str) -> Result<Option<bool>, QueryError> {
        match self.get(name)? {
            None => Ok(None),
            Some("true" | "True" | "1") => Ok(Some(true)),
            Some("false" | "False" | "0") => Ok(Some(false)),
            Some(_) => Err(QueryError::new(name, Problem::Flag)),
        }
    }

    /// The output and paging options among the parameters: `opt_fields`, `opt_expand`, `opt_pretty`
    /// (which may have an empty value), `limit` and `offset`.
    ///
    /// # Errors
    /// When one of them was sent twice or can't be read.
    pub fn options(&self) -> Result<Options, QueryError> {
        let mut options = self.output_options()?;
        options.limit = self.limit()?;
        options.offset = self.get("offset")?.map(str::to_owned);
        Ok(options)
    }

    /// The `opt_*` parameters alone.
    pub(crate) fn output_options(&self) -> Result<Options, QueryError> {
        let pretty = match self.get("opt_pretty")? {
            Some("") => true,
            _ => self.flag("opt_pretty")?.unwrap_or(false),
        };
        Ok(Options {
            fields: self.get("opt_fields")?.map(terms),
            expand: self.get("opt_expand")?.map(terms),
            pretty,
            ..Options::default()
        })
    }

    /// The query of another page of the same listing: every parameter as it was sent, re-encoded and
    /// in order, but with this `limit`, if any, and `offset` at the end.
    #[must_use]
    pub fn rewrite(&self, limit: Option<u16>, offset: &str) -> String {
        let mut out = String::with_capacity(64 + offset.len());
        for (name, value) in self
            .iter()
            .filter(|(name, _)| *name != "limit" && *name != "offset")
        {
            percent::encode(&mut out, name);
            out.push('=');
            percent::encode(&mut out, value);
            out.push('&');
        }
        if let Some(limit) = limit {
            out.push_str("limit=");
            out.push_str(&limit.to_string());
            out.push('&');
        }
        out.push_str("offset=");
        percent::encode(&mut out, offset);
        out
    }
}

fn decode(raw: &[u8], param: &str) -> Result<String, QueryError> {
    percent::decode(raw, true).map_err(|fault| {
        let problem = match fault {
            Fault::Percent => Problem::Percent,
            Fault::Utf8 => Problem::Utf8,
            Fault::Nul => Problem::Nul,
        };
        QueryError::new(param, problem)
    })
}

#[cfg(test)]
mod tests;
