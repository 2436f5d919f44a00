//! Query strings: strict decoding, typed access, and the query of the next page.

use std::collections::BTreeMap;
use std::fmt;

use crate::messages::clip;
use crate::percent::{self, PercentError};
use crate::request_options::{LIMIT_MAX, RequestOptions, some, terms};

/// Kind of error of a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueryProblem {
    /// A `%` without two hexadecimal digits.
    Percent,
    /// Not UTF-8 after decoding.
    Utf8,
    /// Contains a NUL.
    Nul,
    /// Given more than once.
    Repeated,
    /// Not a whole number from 1 to this maximum.
    Limit(u16),
    /// Neither true nor false.
    Flag,
    /// Brackets in its name that can't be read.
    Brackets,
    /// Its name is used both for a value and for a list, or for other conflicting forms.
    Conflicting,
}

impl fmt::Display for QueryProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Percent => "not valid percent-encoding",
            Self::Utf8 => "not valid UTF-8",
            Self::Nul => "must not contain NUL",
            Self::Repeated => "given twice",
            Self::Limit(most) => return write!(f, "must be 1 to {most}"),
            Self::Flag => "must be true or false",
            Self::Brackets => "brackets must be name[], name[0] or name[part], at most 5 of them",
            Self::Conflicting => {
                "given in two ways; use one of name=, name[]=, name[0]= and name[part]="
            }
        })
    }
}

impl std::error::Error for QueryProblem {}

/// Error of a parameter that can't be read. `Display` is the message for the client; all are status 400.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueryError {
    /// The parameter's name, cut and escaped for an echo.
    pub param: String,
    /// The kind of error.
    pub problem: QueryProblem,
}

impl fmt::Display for QueryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.param, self.problem)
    }
}

impl std::error::Error for QueryError {}

impl QueryError {
    pub(crate) fn new(param: &str, problem: QueryProblem) -> Self {
        Self {
            param: clip(param),
            problem,
        }
    }
}

/// Decoded parameters in the order they were sent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct QueryParams {
    pairs: Vec<(String, String)>,
}

impl QueryParams {
    /// Decodes a query string, without its `?`. `+` is a space, except in `opt_expand`, and a name without `=` has an empty
    /// value.
    ///
    /// # Errors
    /// Fails for a bad `%`, a NUL or invalid UTF-8 anywhere, with the name of the parameter.
    pub fn parse(raw: &str) -> Result<Self, QueryError> {
        Self::from_bytes(raw.as_bytes())
    }

    /// Decodes the query of an API request, as [`parse`](Self::parse) does. Some clients send parameters
    /// without a value as empty text: these count as absent, except `opt_pretty`, which needs no value.
    ///
    /// # Errors
    /// Fails as [`parse`](Self::parse) does.
    pub fn of_request(raw: &str) -> Result<Self, QueryError> {
        let mut query = Self::parse(raw)?;
        query
            .pairs
            .retain(|(name, value)| !value.is_empty() || name == "opt_pretty");
        Ok(query)
    }

    /// Joins the items of each list, as in `name[]=1&name[]=2` or `name[0]=1&name[1]=2`, into one
    /// parameter, separated by commas.
    #[must_use]
    pub fn with_lists(mut self) -> Self {
        if !self.pairs.iter().any(|(name, _)| name.ends_with(']')) {
            return self;
        }
        let mut pairs: Vec<(String, String)> = Vec::with_capacity(self.pairs.len());
        let mut lists = BTreeMap::new();
        for (name, value) in std::mem::take(&mut self.pairs) {
            let Some(list) = list_of(&name) else {
                pairs.push((name, value));
                continue;
            };
            let at = *lists.entry(list.to_owned()).or_insert(pairs.len());
            match pairs.get_mut(at) {
                Some((_, all)) => {
                    all.push(',');
                    all.push_str(&value);
                }
                None => pairs.push((list.to_owned(), value)),
            }
        }
        self.pairs = pairs;
        self
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
            // In paths to expand, `+` is a separate character.
            let is_expand = name == "opt_expand" || list_of(&name) == Some("opt_expand");
            let value = decode_value(value, &name, !is_expand)?;
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

    /// Returns the value of `name`, or `None` if it wasn't sent.
    ///
    /// # Errors
    /// Fails if it was sent twice.
    pub fn get(&self, name: &str) -> Result<Option<&str>, QueryError> {
        let mut values = self.all(name);
        let first = values.next();
        if values.next().is_some() {
            return Err(QueryError::new(name, QueryProblem::Repeated));
        }
        Ok(first)
    }

    /// Returns every value of `name`, for the few parameters that may be repeated.
    pub fn all<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a str> {
        self.iter()
            .filter_map(move |(key, value)| (key == name).then_some(value))
    }

    /// Returns all parameters, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.pairs
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Replaces each value for which `with`, given name and value, returns another one.
    ///
    /// # Errors
    /// Returns the first error of the function.
    pub fn replace<E>(
        &mut self,
        mut with: impl FnMut(&str, &str) -> Result<Option<String>, E>,
    ) -> Result<(), E> {
        for (name, value) in &mut self.pairs {
            if let Some(other) = with(name, value)? {
                *value = other;
            }
        }
        Ok(())
    }

    /// Returns true if there are no parameters.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    /// Returns the page size, a number from 1 to 100.
    ///
    /// # Errors
    /// Fails if it was sent twice, or is not one to three ASCII digits in that range.
    pub fn limit(&self) -> Result<Option<u16>, QueryError> {
        self.limit_within(LIMIT_MAX)
    }

    /// Returns the page size, a number from 1 to `most`.
    ///
    /// # Errors
    /// Fails if it was sent twice, or is not a number in that range in ASCII digits, with at most as many digits as `most`.
    pub fn limit_within(&self, most: u16) -> Result<Option<u16>, QueryError> {
        let Some(text) = self.get("limit")? else {
            return Ok(None);
        };
        let digits = text.bytes().all(|byte| byte.is_ascii_digit());
        let short = text.len() <= most.to_string().len();
        let limit = text.parse().ok().filter(|_| digits && short);
        let limit = limit.filter(|limit| (1..=most).contains(limit));
        let wrong = || QueryError::new("limit", QueryProblem::Limit(most));
        limit.ok_or_else(wrong).map(Some)
    }

    /// Parses a boolean: `true`, `yes` or `1`, `false`, `no` or `0`, in any case.
    ///
    /// # Errors
    /// Fails if it was sent twice or is something else.
    pub fn flag(&self, name: &str) -> Result<Option<bool>, QueryError> {
        let Some(text) = self.get(name)? else {
            return Ok(None);
        };
        let is = |word: &&str| text.eq_ignore_ascii_case(word);
        if ["true", "yes", "1"].iter().any(is) {
            return Ok(Some(true));
        }
        if ["false", "no", "0"].iter().any(is) {
            return Ok(Some(false));
        }
        Err(QueryError::new(name, QueryProblem::Flag))
    }

    /// Parses the output and paging options in the parameters: `opt_fields`, `opt_expand`, `opt_pretty`
    /// (which may have an empty value), `limit` and `offset`. The first two are lists, so they may be repeated.
    ///
    /// # Errors
    /// Fails if one of them was sent twice or can't be read.
    pub fn options(&self) -> Result<RequestOptions, QueryError> {
        let mut options = self.output_options()?;
        options.limit = self.limit()?;
        options.offset = self.get("offset")?.map(str::to_owned);
        Ok(options)
    }

    /// Parses only the `opt_*` parameters.
    pub(crate) fn output_options(&self) -> Result<RequestOptions, QueryError> {
        let pretty = match self.get("opt_pretty")? {
            Some("") => true,
            _ => self.flag("opt_pretty")?.unwrap_or(false),
        };
        Ok(RequestOptions {
            fields: self.listed("opt_fields"),
            expand: self.listed("opt_expand"),
            pretty,
            ..RequestOptions::default()
        })
    }

    /// Returns the terms of a list of paths, from all parameters of its name; `None` if there is no term.
    fn listed(&self, list: &str) -> Option<Vec<String>> {
        let named = |name: &str| name == list || list_of(name) == Some(list);
        let sent = self.iter().filter(|(name, _)| named(name));
        some(sent.flat_map(|(_, value)| terms(value)))
    }

    /// Returns the query for another page of the same listing: every parameter as it was sent, re-encoded and
    /// in order, but with this `limit`, if any, and `offset` at the end.
    #[must_use]
    pub fn next_page_query(&self, limit: Option<u16>, offset: &str) -> String {
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

/// Returns the list that a parameter is an item of: `name` for `name[]` and `name[0]`.
fn list_of(name: &str) -> Option<&str> {
    let (list, at) = name.strip_suffix(']')?.rsplit_once('[')?;
    let plain = !list.is_empty() && !list.contains(['[', ']']);
    (plain && at.bytes().all(|b| b.is_ascii_digit())).then_some(list)
}

fn decode(raw: &[u8], param: &str) -> Result<String, QueryError> {
    decode_value(raw, param, true)
}

fn decode_value(raw: &[u8], param: &str, plus: bool) -> Result<String, QueryError> {
    percent::decode(raw, plus).map_err(|fault| {
        let problem = match fault {
            PercentError::Percent => QueryProblem::Percent,
            PercentError::Utf8 => QueryProblem::Utf8,
            PercentError::Nul => QueryProblem::Nul,
        };
        QueryError::new(param, problem)
    })
}

#[cfg(test)]
mod tests;
