//! Reader of HAR 1.2.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;

use crate::api_address::divide;
use crate::har_place::{HarPlace, RecordingError};
use crate::recording::{
    API_BASE_PATH, FORM_TYPE, RecordedExchange, RecordedReply, RecordedRequest, Recording,
};

impl Recording {
    /// Reads the entries of a HAR 1.2 that are below `/api/1.0`, in the order of the file.
    ///
    /// # Errors
    /// Fails if the text is not JSON, or a field that is read is missing or of a wrong type; the error names its place.
    pub fn from_har(text: &str) -> Result<Self, RecordingError> {
        Self::from_har_below(text, API_BASE_PATH)
    }

    /// Reads the entries of a HAR 1.2 that are below a base path.
    ///
    /// # Errors
    /// Fails as [`Recording::from_har`] does, and if the base path is empty or does not begin with `/`.
    pub fn from_har_below(text: &str, base_path: &str) -> Result<Self, RecordingError> {
        let base = base_path.trim_end_matches('/');
        if !base.starts_with('/') || base.contains(['?', '#']) {
            return Err(RecordingError::BasePath(base_path.to_owned()));
        }
        // Some programs begin the file with a byte order mark.
        let text = text.trim_start_matches('\u{feff}');
        let har: Value =
            serde_json::from_str(text).map_err(|e| RecordingError::NotJson(e.to_string()))?;
        let mut recording = Self::new();
        for entry in HarPlace::root(&har)
            .field("log")?
            .field("entries")?
            .members()?
        {
            match read_entry(&entry, base)? {
                Some(exchange) => recording.push(exchange),
                None => recording.skip(),
            }
        }
        Ok(recording)
    }
}

/// Reads an entry; returns `None` if it is not used.
fn read_entry(entry: &HarPlace, base: &str) -> Result<Option<RecordedExchange>, RecordingError> {
    let request = entry.field("request")?;
    let Some((base, target)) = divide(request.field("url")?.text()?, base) else {
        return Ok(None);
    };
    let method = request.field("method")?;
    let name = method.text()?;
    if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_alphabetic()) {
        return Err(method.error(format!("`{name}` is no method; it must be one such as GET")));
    }
    let response = entry.field("response")?;
    let status = response.field("status")?.status()?;
    // `OPTIONS` is a preflight, which pages of other sites send first; a request that was cut off has no status.
    if name.eq_ignore_ascii_case("OPTIONS") || status == 0 {
        return Ok(None);
    }
    let (content_type, body) = read_request_body(&request)?;
    Ok(Some(RecordedExchange {
        started_at: entry.field("startedDateTime")?.text()?.to_owned(),
        base: base.to_owned(),
        request: RecordedRequest {
            method: name.to_ascii_uppercase(),
            target: target.to_owned(),
            content_type,
            body,
        },
        reply: RecordedReply {
            status,
            body: read_reply_body(&response)?,
        },
    }))
}

/// Reads the content type and the body of a request.
fn read_request_body(
    request: &HarPlace,
) -> Result<(Option<String>, Option<String>), RecordingError> {
    let mut content_type = None;
    if let Some(headers) = request.optional("headers")? {
        for header in headers.members()? {
            if header
                .field("name")?
                .text()?
                .eq_ignore_ascii_case("content-type")
            {
                content_type = Some(header.field("value")?.text()?.to_owned());
            }
        }
    }
    let Some(posted) = request.optional("postData")? else {
        return Ok((content_type, None));
    };
    if let Some(kind) = posted.optional("mimeType")? {
        let kind = kind.text()?;
        if content_type.is_none() && !kind.is_empty() {
            content_type = Some(kind.to_owned());
        }
    }
    let body = match (posted.optional("text")?, posted.optional("params")?) {
        (Some(text), _) => Some(text.text()?.to_owned()),
        (None, Some(params)) => Some(form_of(&params, content_type.as_deref())?),
        (None, None) => None,
    };
    Ok((content_type, body))
}

/// Returns the text of a form whose fields are listed one by one.
fn form_of(params: &HarPlace, content_type: Option<&str>) -> Result<String, RecordingError> {
    let is_form = content_type.is_none_or(|kind| kind.starts_with(FORM_TYPE));
    if !is_form {
        let problem = "has the fields of a form with files, which lack their bytes; `postData.text` must have the body";
        return Err(params.error(problem));
    }
    let mut pairs = Vec::new();
    for param in params.members()? {
        let value = param.optional("value")?;
        let value = value.map_or(Ok(""), |value| value.text())?;
        let coded = |text| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
        pairs.push(format!(
            "{}={}",
            coded(param.field("name")?.text()?),
            coded(value)
        ));
    }
    Ok(pairs.join("&"))
}

/// Reads the body of a reply: `None` if the file lacks it, empty if there was none.
fn read_reply_body(response: &HarPlace) -> Result<Option<String>, RecordingError> {
    let content = response.field("content")?;
    let Some(place) = content.optional("text")? else {
        let size = content.optional("size")?;
        return Ok(size.filter(HarPlace::is_zero).map(|_| String::new()));
    };
    let text = place.text()?;
    let Some(encoding) = content.optional("encoding")? else {
        return Ok(Some(text.to_owned()));
    };
    match encoding.text()? {
        "base64" => {
            let bytes = STANDARD.decode(text.trim());
            let bytes = bytes.map_err(|e| place.error(format!("is no base64: {e}")))?;
            Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
        }
        "" => Ok(Some(text.to_owned())),
        other => Err(encoding.error(format!(
            "`{other}` is not known; it must be base64 or absent"
        ))),
    }
}

#[cfg(test)]
mod tests;
