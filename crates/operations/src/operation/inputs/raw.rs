//! The inputs of a request before they are typed.
use serde_json::{Map, Value};
use workgraph_core::Gid;
use workgraph_core::domain_error::DomainError;
use workgraph_core::model::email_address::normalize_address;
use workgraph_core::model::time::Time;
use workgraph_core::model::validate::clip;
use workgraph_core::storage::NodeRef;
use workgraph_wire::QueryParams;

/// Names and values of path parameters, in path order.
pub type PathParameters = [(&'static str, String)];

/// A file that was uploaded with a request and is stored, but belongs to no node yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UploadedFile {
    /// The gid under which the file is stored. The attachment will have the same gid.
    pub gid: Gid,
    /// The name that the client gave the file.
    pub name: Option<String>,
    /// The size of the file in bytes.
    pub size: u64,
}

/// The inputs of a request: path parameters, query and body, decoded but not typed.
#[derive(Debug)]
pub struct RawInputs<'a> {
    /// Names and values of the path parameters.
    pub parameters: &'a PathParameters,
    /// The decoded query parameters.
    pub query: QueryParams,
    /// The `data` of the body.
    pub data: Map<String, Value>,
    /// The uploaded file; `None` if the body has none.
    pub file: Option<UploadedFile>,
    /// The user that `me` names.
    pub me: Gid,
    /// The time at which the request is decided.
    pub now: Time,
}

/// Parses a gid. `field` is the name for errors.
///
/// # Errors
/// Fails if the text is not a gid.
pub fn parse_gid(field: &str, text: &str) -> Result<Gid, DomainError> {
    Gid::parse(text).ok_or_else(|| {
        DomainError::field(field, format_args!("Not a recognized ID: {}", clip(text)))
    })
}

/// Parses a user given as gid, e-mail address or `me`. `field` is the name for errors, `me` the caller.
///
/// # Errors
/// Fails if it is none of these.
pub fn parse_user_ref(field: &str, text: &str, me: Gid) -> Result<NodeRef, DomainError> {
    if text == "me" {
        return Ok(NodeRef::Gid(me));
    }
    if let Some(gid) = Gid::parse(text) {
        return Ok(NodeRef::Gid(gid));
    }
    if text.contains('@') && text.len() <= 320 {
        return Ok(NodeRef::Address(normalize_address(text)));
    }
    Err(DomainError::field(
        field,
        format_args!("Not an email, GID, or \"me\": {}", clip(text)),
    ))
}
