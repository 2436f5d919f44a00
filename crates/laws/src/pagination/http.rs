//! A list behind HTTP, described by a configuration.

use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

use super::subject::{ListProfile, PageReply, PageRequest, PageUser, PagedList};
use crate::SubjectError;
use crate::http_client::{HttpClient, HttpReply, HttpRequest};

/// Timeout of one reply.
const TIMEOUT: Duration = Duration::from_secs(30);

/// List behind HTTP, whose pages are fetched by URL.
#[derive(Debug)]
pub struct HttpList {
    profile: ListProfile,
    settings: Settings,
    client: HttpClient,
    steps: Vec<String>,
    changes: u64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    /// `METHOD URL` with `{limit}` and `{cursor}`; without a value the parameter is left out.
    list: String,
    /// JSON pointer to the rows, and in a row to its identifier.
    items: String,
    id: String,
    /// JSON pointer to the next cursor.
    next: Option<String>,
    /// JSON pointer to the address of the next page.
    next_url: Option<String>,
    /// The address of the next page is in a `Link` header (RFC 8288).
    #[serde(default)]
    link_header: bool,
    #[serde(default)]
    headers: toml::Table,
    other_headers: Option<toml::Table>,
    create: Option<Write>,
    delete: Option<String>,
    change: Option<Write>,
    #[serde(default = "hundred")]
    max_limit: u32,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Write {
    request: String,
    body: String,
    id: Option<String>,
}

fn hundred() -> u32 {
    100
}

impl HttpList {
    /// Reads a configuration (TOML).
    ///
    /// # Errors
    /// Fails if the text is not a valid configuration; the error names the wrong entry.
    pub fn from_toml(text: &str) -> Result<Self, SubjectError> {
        let settings: Settings = toml::from_str(text)
            .map_err(|error| SubjectError(format!("the configuration: {error}")))?;
        let ways = [
            settings.next.is_some(),
            settings.next_url.is_some(),
            settings.link_header,
        ];
        if ways.iter().filter(|way| **way).count() != 1 {
            return Err(SubjectError::new(
                "the configuration wants exactly one of next, next_url and link_header",
            ));
        }
        for part in ["{limit}", "{cursor}"] {
            if !settings.list.contains(part) {
                return Err(SubjectError(format!("the request in `list` has no {part}")));
            }
        }
        if settings
            .create
            .as_ref()
            .is_some_and(|create| create.id.is_none())
        {
            return Err(SubjectError::new(
                "`create` wants `id`, a JSON pointer to the identifier of the new row",
            ));
        }
        let profile = ListProfile {
            name: settings.list.clone(),
            max_limit: settings.max_limit,
            creates: settings.create.is_some(),
            deletes: settings.delete.is_some(),
            changes: settings.change.is_some(),
            second_user: settings.other_headers.is_some(),
        };
        let client = HttpClient::new(TIMEOUT);
        Ok(Self {
            profile,
            settings,
            client,
            steps: Vec::new(),
            changes: 0,
        })
    }

    fn send(
        &mut self,
        mut request: HttpRequest,
        user: PageUser,
    ) -> Result<HttpReply, SubjectError> {
        let headers = match user {
            PageUser::First => &self.settings.headers,
            PageUser::Second => self
                .settings
                .other_headers
                .as_ref()
                .unwrap_or(&self.settings.headers),
        };
        for (name, value) in headers {
            let value = value
                .as_str()
                .ok_or_else(|| SubjectError(format!("the header {name} is no text")))?;
            request.headers.push((name.clone(), value.to_owned()));
        }
        if request.body.is_some()
            && !request
                .headers
                .iter()
                .any(|(name, _)| name.eq_ignore_ascii_case("content-type"))
        {
            request
                .headers
                .push(("Content-Type".to_owned(), "application/json".to_owned()));
        }
        let reply = self.client.send(&request);
        let status = reply
            .as_ref()
            .map_or_else(ToString::to_string, |reply| reply.status.to_string());
        self.steps.push(format!("{}  # {status}", request.curl()));
        reply
    }

    /// Returns the request of a page: the template with its parameters filled in, without parameters that have no value.
    fn page_request(&self, page: &PageRequest) -> Result<HttpRequest, SubjectError> {
        let mut request = HttpRequest::parse(&self.settings.list)?;
        let (path, query) = request.url.split_once('?').unwrap_or((&request.url, ""));
        let limit = page.limit.as_deref().map(encoded);
        let cursor = page.cursor.as_deref().map(|cursor| match page.encode_all {
            true => cursor.bytes().map(|byte| format!("%{byte:02X}")).collect(),
            false => encoded(cursor),
        });
        let kept = query.split('&').filter_map(|pair| {
            let pair = match (pair.contains("{limit}"), &limit) {
                (true, None) => return None,
                (true, Some(limit)) => pair.replace("{limit}", limit),
                (false, _) => pair.to_owned(),
            };
            match (pair.contains("{cursor}"), &cursor) {
                (true, None) => None,
                (true, Some(cursor)) => Some(pair.replace("{cursor}", cursor)),
                (false, _) => Some(pair),
            }
        });
        let query = kept.collect::<Vec<_>>().join("&");
        request.url = if query.is_empty() {
            path.to_owned()
        } else {
            format!("{path}?{query}")
        };
        Ok(request)
    }

    /// Returns the cursor of the next page, if any.
    fn next_cursor(&self, reply: &HttpReply, body: &Value) -> Result<Option<String>, SubjectError> {
        let text = |pointer: &str| match body.pointer(pointer) {
            None | Some(Value::Null) => None,
            Some(Value::String(text)) => (!text.is_empty()).then(|| text.clone()),
            Some(other) => Some(other.to_string()),
        };
        if let Some(next) = &self.settings.next {
            return Ok(text(next));
        }
        let url = match &self.settings.next_url {
            Some(pointer) => text(pointer),
            None => {
                let links = reply
                    .headers
                    .get_all("link")
                    .iter()
                    .filter_map(|value| value.to_str().ok());
                next_link(links)
            }
        };
        let Some(url) = url else { return Ok(None) };
        let name = self
            .settings
            .list
            .split(['?', '&'])
            .find_map(|pair| pair.strip_suffix("={cursor}"));
        let name =
            name.ok_or_else(|| SubjectError::new("`list` has no parameter that is just {cursor}"))?;
        let query = url.split_once('?').map_or("", |(_, query)| query);
        let value = query
            .split('&')
            .find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='));
        let value = value.ok_or_else(|| {
            SubjectError(format!("the next address {url} has no parameter {name}"))
        })?;
        Ok(Some(decoded(value)))
    }
}

impl PagedList for HttpList {
    fn profile(&self) -> &ListProfile {
        &self.profile
    }

    fn page(&mut self, request: &PageRequest) -> Result<PageReply, SubjectError> {
        let sent = self.page_request(request)?;
        let reply = self.send(sent, request.user)?;
        if !(200..300).contains(&reply.status) {
            return Ok(PageReply::Refused {
                status: reply.status,
            });
        }
        let body: Value = serde_json::from_slice(&reply.body)
            .map_err(|error| SubjectError(format!("a page is no JSON: {error}")))?;
        let items = body.pointer(&self.settings.items).and_then(Value::as_array);
        let items = items.ok_or_else(|| {
            SubjectError(format!("a page has no array at {}", self.settings.items))
        })?;
        let ids = items
            .iter()
            .map(|item| identifier(item, &self.settings.id))
            .collect::<Result<_, _>>()?;
        let next = self.next_cursor(&reply, &body)?;
        Ok(PageReply::Page { ids, next })
    }

    fn create(&mut self) -> Result<String, SubjectError> {
        let Some(create) = &self.settings.create else {
            return Err(SubjectError::new("the list is described without create"));
        };
        let mut request = HttpRequest::parse(&create.request)?;
        request.body = Some(create.body.clone().into_bytes());
        let pointer = create.id.clone().unwrap_or_default();
        let reply = self.send(request, PageUser::First)?;
        let body: Value = serde_json::from_slice(&reply.body).map_err(|error| {
            SubjectError(format!(
                "the answer {} to create is no JSON: {error}",
                reply.status
            ))
        })?;
        identifier(&body, &pointer)
    }

    fn delete(&mut self, id: &str) -> Result<(), SubjectError> {
        let Some(delete) = &self.settings.delete else {
            return Err(SubjectError::new("the list is described without delete"));
        };
        let request = HttpRequest::parse(&delete.replace("{id}", &encoded(id)))?;
        succeeded("delete", &self.send(request, PageUser::First)?)
    }

    fn change(&mut self, id: &str) -> Result<(), SubjectError> {
        self.changes += 1;
        let Some(change) = &self.settings.change else {
            return Err(SubjectError::new("the list is described without change"));
        };
        let mut request = HttpRequest::parse(&change.request.replace("{id}", &encoded(id)))?;
        request.body = Some(
            change
                .body
                .replace("{random}", &format!("row {}", self.changes))
                .into_bytes(),
        );
        succeeded("change", &self.send(request, PageUser::First)?)
    }

    fn take_steps(&mut self) -> Vec<String> {
        std::mem::take(&mut self.steps)
    }
}

fn succeeded(what: &str, reply: &HttpReply) -> Result<(), SubjectError> {
    match reply.status {
        200..300 => Ok(()),
        status => Err(SubjectError(format!("{what} is answered {status}"))),
    }
}

fn identifier(value: &Value, pointer: &str) -> Result<String, SubjectError> {
    match value.pointer(pointer) {
        Some(Value::String(text)) => Ok(text.clone()),
        Some(Value::Number(number)) => Ok(number.to_string()),
        _ => Err(SubjectError(format!(
            "{value} has no identifier at {pointer:?}"
        ))),
    }
}

/// Returns the address with `rel="next"` among the values of `Link` headers.
fn next_link<'a>(values: impl Iterator<Item = &'a str>) -> Option<String> {
    values.flat_map(|value| value.split(',')).find_map(|link| {
        let (address, parameters) = link.trim().strip_prefix('<')?.split_once('>')?;
        let is_next = parameters.split(';').any(|parameter| {
            parameter
                .trim()
                .strip_prefix("rel=")
                .is_some_and(|rel| rel.trim_matches('"') == "next")
        });
        is_next.then(|| address.to_owned())
    })
}

/// Returns a text for a query, with everything but unreserved characters percent-encoded (RFC 3986, 2.3).
fn encoded(text: &str) -> String {
    let encode = |byte: u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
            char::from(byte).to_string()
        }
        other => format!("%{other:02X}"),
    };
    text.bytes().map(encode).collect()
}

/// Reverts [`encoded`]; `+` is a space, and text that is not an escape is unchanged.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let escape = after
            .get(..2)
            .and_then(|digits| std::str::from_utf8(digits).ok());
        let byte = escape
            .filter(|_| first == b'%')
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match (byte, first) {
            (Some(byte), _) => {
                bytes.push(byte);
                rest = after.get(2..).unwrap_or_default();
            }
            (None, b'+') => {
                bytes.push(b' ');
                rest = after;
            }
            (None, other) => {
                bytes.push(other);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_header_names_the_next_address() {
        let value = "</items?page=1>; rel=\"prev\", </items?page=3>; rel=\"next\"";
        assert_eq!(
            next_link([value].into_iter()).as_deref(),
            Some("/items?page=3")
        );
    }

    #[test]
    fn percent_encoding_is_undone() {
        let text = "a b+c=%/ü";
        assert_eq!(decoded(&encoded(text)), text);
    }

    #[test]
    fn a_configuration_without_a_way_to_the_next_page_is_refused() {
        let text = "list = \"GET http://x/?limit={limit}&cursor={cursor}\"\nitems = \"/data\"\nid = \"/id\"";
        let refused = HttpList::from_toml(text).unwrap_err();
        assert!(
            refused.to_string().contains("exactly one of next"),
            "{refused}"
        );
    }
}
