//! The inputs of a request before they are typed.
use super::path;
use serde_json::{Map, Value};
use workgraph_core::Gid;
use workgraph_core::domain_error::DomainError;
use workgraph_core::model::email_address::normalize_address;
use workgraph_core::model::registry::Type;
use workgraph_core::model::resources::resource;
use workgraph_core::model::time::Time;
use workgraph_core::model::validate;
use workgraph_core::model::validate::{CheckedInputs, clip};
use workgraph_core::storage::NodeRef;
use workgraph_wire::QueryParams;

/// Names and values of path parameters, in path order.
pub type PathParameters = [(&'static str, String)];

/// A file that came with a request and is stored, but belongs to no node yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UploadedFile {
    /// The gid under which it is stored, for the attachment that it becomes.
    pub gid: Gid,
    /// The name that the client gave it, if it gave one.
    pub name: Option<String>,
    /// Its bytes.
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
    /// The file in the body.
    pub file: Option<UploadedFile>,
    /// The user whom `me` means.
    pub me: Gid,
    /// The time at which the request is decided.
    pub now: Time,
}

impl RawInputs<'_> {
    /// Returns the text of a path parameter.
    #[must_use]
    pub fn parameter(&self, name: &str) -> &str {
        self.parameters
            .iter()
            .find(|(n, _)| *n == name)
            .map_or("", |(_, v)| v)
    }

    /// Returns the reference to the node that a path parameter names.
    ///
    /// # Errors
    /// Fails when the parameter is not an identifier.
    pub fn path_ref(&self, name: &str) -> Result<NodeRef, DomainError> {
        let text = self.parameter(name);
        match path::declaration(name).and_then(|input| input.types().first()) {
            Some(Type::User) => self.parse_user_ref("user", text),
            Some(ty) => parse_gid(resource(*ty).noun, text).map(NodeRef::Gid),
            None => parse_gid(name, text).map(NodeRef::Gid),
        }
    }

    /// Parses a user given as gid, e-mail address or `me`.
    ///
    /// # Errors
    /// Fails when it is none of these.
    pub fn parse_user_ref(&self, field: &str, text: &str) -> Result<NodeRef, DomainError> {
        if text == "me" {
            return Ok(NodeRef::Gid(self.me));
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

    /// Returns the value of a query parameter, or `None` if it is absent.
    ///
    /// # Errors
    /// Fails when it is given twice.
    pub fn query(&self, name: &str) -> Result<Option<&str>, DomainError> {
        self.query
            .get(name)
            .map_err(|e| DomainError::invalid(e.to_string()))
    }

    /// Returns the gid in a query parameter.
    ///
    /// # Errors
    /// Fails when it is given twice, or not a gid.
    pub fn query_gid(&self, name: &str) -> Result<Option<Gid>, DomainError> {
        self.query(name)?
            .map(|text| parse_gid(name, text))
            .transpose()
    }

    /// Returns the instant in a query parameter. `now` is the first instant at which nothing has happened yet.
    ///
    /// # Errors
    /// Fails when it is given twice, or not an instant.
    pub fn query_time(&self, name: &str) -> Result<Option<Time>, DomainError> {
        match self.query(name)? {
            None => Ok(None),
            Some("now") => Ok(Some(Time::from_millis(self.now.millis() + 1))),
            Some(text) => Time::parse(text)
                .map(Some)
                .map_err(|e| DomainError::field(name, e)),
        }
    }

    /// Returns a body field; null counts as absent.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&Value> {
        self.data.get(name).filter(|v| !v.is_null())
    }

    /// Returns true if the body has the field, null or not.
    #[must_use]
    pub fn has_field(&self, name: &str) -> bool {
        self.data.contains_key(name)
    }

    /// Returns a body field that must be there.
    ///
    /// # Errors
    /// Fails when the field is absent or null.
    pub fn required(&self, name: &str) -> Result<&Value, DomainError> {
        self.field(name).ok_or_else(|| DomainError::missing(name))
    }

    /// Returns the gid in a body field; an empty text counts as absent, as null does.
    ///
    /// # Errors
    /// Fails when it is there but not a gid.
    pub fn body_gid(&self, name: &str) -> Result<Option<Gid>, DomainError> {
        self.field(name)
            .filter(|value| value.as_str() != Some(""))
            .map(|v| parse_gid(name, &validate::reference(name, v)?))
            .transpose()
    }

    /// Returns the gid in a body field that must be there.
    ///
    /// # Errors
    /// Fails when it is missing or not a gid.
    pub fn required_gid(&self, name: &str) -> Result<Gid, DomainError> {
        self.body_gid(name)?
            .ok_or_else(|| DomainError::missing(name))
    }

    /// Returns the users in a body field: an array, or text separated by commas.
    ///
    /// # Errors
    /// Fails when it is neither, or an item does not name a user.
    pub fn users(&self, name: &str) -> Result<Vec<NodeRef>, DomainError> {
        self.text_list(name)?
            .iter()
            .map(|text| self.parse_user_ref(name, text))
            .collect()
    }

    /// Returns the texts in a body field: an array, or text separated by commas.
    ///
    /// # Errors
    /// Fails when the field is neither of them.
    pub fn text_list(&self, name: &str) -> Result<Vec<String>, DomainError> {
        self.field(name)
            .map_or_else(|| Ok(Vec::new()), |value| validate::references(name, value))
    }

    /// Checks the body and returns it as fields of a type.
    ///
    /// # Errors
    /// Fails when a value is not valid for its field.
    pub fn inputs(&self, ty: Type, creating: bool) -> Result<CheckedInputs, DomainError> {
        validate::check_inputs(resource(ty), &self.data, creating)
    }
}

/// Parses a gid.
///
/// # Errors
/// Fails when the text is not a gid.
pub fn parse_gid(field: &str, text: &str) -> Result<Gid, DomainError> {
    Gid::parse(text).ok_or_else(|| {
        DomainError::field(field, format_args!("Not a recognized ID: {}", clip(text)))
    })
}
