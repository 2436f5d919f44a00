//! Queries and forms as lists of names and values.
use workgraph_auth::Param;
use workgraph_wire::query_params::QueryParams;

use crate::portal_request::PortalRequest;

/// Media type of forms.
const FORM: &str = "application/x-www-form-urlencoded";

/// Decodes a query or the body of a form.
///
/// # Errors
/// Describes a broken escape, a NUL, or text that is not UTF-8.
pub(crate) fn decode(text: &str) -> Result<Vec<Param>, String> {
    let query = QueryParams::parse(text).map_err(|e| e.to_string())?;
    let own = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
    Ok(query.iter().map(own).collect())
}

/// Decodes the form in a request.
///
/// # Errors
/// Describes a body that is not a form, or cannot be decoded.
pub(crate) fn read(request: &PortalRequest) -> Result<Vec<Param>, String> {
    let kind = request.content_type.as_deref().unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    if !kind.eq_ignore_ascii_case(FORM) {
        return Err(format!("The body must be a form ({FORM})."));
    }
    let text = std::str::from_utf8(&request.body).map_err(|_| "The form is not valid UTF-8.")?;
    decode(text)
}

/// Returns the value of a field that occurs once in a form of this server; empty if it is missing.
pub(crate) fn one<'a>(form: &'a [Param], name: &str) -> &'a str {
    let mut found = form.iter().filter(|(n, _)| n == name);
    match (found.next(), found.next()) {
        (Some((_, value)), None) => value,
        _ => "",
    }
}
