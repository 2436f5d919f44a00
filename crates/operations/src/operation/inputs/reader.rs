//! The reader of inputs, from which a struct of inputs gets its values.
use super::{Input, InputDef, InputPlace, RawInputs, UploadedFile, parse_user_ref};
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::cell::RefCell;
use workgraph_core::Gid;
use workgraph_core::domain_error::DomainError;
use workgraph_core::model::time::{Date, Time};
use workgraph_core::model::validate;
use workgraph_core::storage::NodeRef;

/// Reader of the inputs of one request.
#[derive(Clone, Copy, Debug)]
pub struct InputReader<'a> {
    raw: &'a RawInputs<'a>,
    requested: Option<&'a RefCell<Vec<&'static InputDef>>>,
}

impl<'a> InputReader<'a> {
    /// Returns a reader of these inputs.
    #[must_use]
    pub const fn new(raw: &'a RawInputs<'a>) -> Self {
        Self {
            raw,
            requested: None,
        }
    }

    /// Returns a reader that also records each input that is read.
    #[must_use]
    pub const fn recording(
        raw: &'a RawInputs<'a>,
        requested: &'a RefCell<Vec<&'static InputDef>>,
    ) -> Self {
        Self {
            raw,
            requested: Some(requested),
        }
    }

    /// Returns the value of an input, or `None` if the request does not have it.
    ///
    /// # Errors
    /// Fails if the value is malformed.
    pub fn optional<T>(&self, input: &'static Input<T>) -> Result<Option<T>, DomainError> {
        self.record(&input.def);
        (input.parse)(&input.def, self)
    }

    /// Returns the value of a required input.
    ///
    /// # Errors
    /// Fails if the value is missing or malformed.
    pub fn required<T>(&self, input: &'static Input<T>) -> Result<T, DomainError> {
        self.optional(input)?
            .ok_or_else(|| DomainError::missing(input.def.name))
    }

    /// Returns the value of an input, or the default of its type, such as an empty list, if the request does not have it.
    ///
    /// # Errors
    /// Fails if the value is malformed.
    pub fn or_default<T: Default>(&self, input: &'static Input<T>) -> Result<T, DomainError> {
        Ok(self.optional(input)?.unwrap_or_default())
    }

    /// Records that an input was read.
    pub(crate) fn record(&self, input: &'static InputDef) {
        if let Some(requested) = self.requested {
            requested.borrow_mut().push(input);
        }
    }

    /// Returns the text of a path parameter, or `None` if the path of the request does not have it.
    pub(crate) fn path_text(&self, input: &InputDef) -> Option<&'a str> {
        let parameters = self.raw.parameters.iter();
        let mut named = parameters.filter(|(name, _)| *name == input.name);
        named.next().map(|(_, text)| text.as_str())
    }

    /// Returns the text of a query parameter.
    ///
    /// # Errors
    /// Fails if it is given twice.
    pub(crate) fn query_text(&self, input: &InputDef) -> Result<Option<&'a str>, DomainError> {
        self.parameter(input.name)
    }

    /// Returns the text of the query parameter with this name.
    fn parameter(&self, name: &str) -> Result<Option<&'a str>, DomainError> {
        let text = self.raw.query.get(name);
        text.map_err(|e| DomainError::invalid(e.to_string()))
    }

    /// Returns the text of a query parameter from a table whose entries have no parser.
    ///
    /// # Errors
    /// Fails if it is given twice.
    pub(crate) fn table_text(
        &self,
        input: &'static InputDef,
    ) -> Result<Option<&'a str>, DomainError> {
        self.record(input);
        self.query_text(input)
    }

    /// Returns the comma-separated items of a query parameter that is a list; repeated parameters add their items.
    pub(crate) fn table_list(&self, input: &'static InputDef) -> Option<Cow<'a, str>> {
        self.record(input);
        let mut texts = self.raw.query.all(input.name);
        let first = texts.next()?;
        Some(texts.fold(Cow::Borrowed(first), |all, text| {
            Cow::Owned(format!("{all},{text}"))
        }))
    }

    /// Parses a user in a query, as [`user`](Self::user) does. In an address that the client did not encode, `+` has become a
    /// blank; no address contains one.
    ///
    /// # Errors
    /// Fails if it is none of these.
    pub(crate) fn query_user(&self, field: &str, text: &str) -> Result<NodeRef, DomainError> {
        let text = text.trim();
        match text.split_once('@') {
            Some((local, _)) if local.contains(' ') => self.user(field, &text.replace(' ', "+")),
            _ => self.user(field, text),
        }
    }

    /// Returns the names and texts of all query parameters, for families of them.
    pub(crate) fn query_pairs(&self) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.raw.query.iter()
    }

    /// Checks that a query parameter of a family is given once.
    ///
    /// # Errors
    /// Fails if it is given twice.
    pub(crate) fn require_once(&self, parameter: &str) -> Result<(), DomainError> {
        self.parameter(parameter).map(drop)
    }

    /// Returns true if the request is for a further page.
    pub(crate) fn has_offset(&self) -> bool {
        self.query_pairs().any(|(name, _)| name == "offset")
    }

    /// Returns a body field. Null counts as absent.
    pub(crate) fn body_value(&self, input: &InputDef) -> Option<&'a Value> {
        let value = self.raw.data.get(input.name);
        value.filter(|value| !value.is_null())
    }

    /// Checks that the body does not have these fields, which the contract knows, but which the operation does not write.
    /// Null counts as absent.
    ///
    /// # Errors
    /// Fails if the body has one of them.
    pub(crate) fn refuse(&self, names: &[&str]) -> Result<(), DomainError> {
        let has = |name: &&&str| {
            self.raw
                .data
                .get(**name)
                .is_some_and(|value| !value.is_null())
        };
        match names.iter().find(has) {
            Some(name) => Err(DomainError::unwritable(name)),
            None => Ok(()),
        }
    }

    /// Checks that a body field is not null, for inputs that change a value and can't remove it.
    ///
    /// # Errors
    /// Fails if it is null.
    pub(crate) fn refuse_null(&self, input: &InputDef) -> Result<(), DomainError> {
        if self.has_field(input) && self.body_value(input).is_none() {
            let reason = "Cannot be null; leave the property out to keep it";
            return Err(DomainError::field(input.name, reason));
        }
        Ok(())
    }

    /// Checks that the body, if it has an input that is in the path, too, names the same node.
    ///
    /// # Errors
    /// Fails if it names another one.
    pub(crate) fn require_repeated(
        &self,
        input: &InputDef,
        in_path: Option<Gid>,
    ) -> Result<(), DomainError> {
        let value = self.body_value(input);
        let Some(value) = value.filter(|value| value.as_str() != Some("")) else {
            return Ok(());
        };
        let given = validate::reference(input.name, value)?;
        if Gid::parse(&given) == in_path {
            return Ok(());
        }
        let given = validate::clip(&given);
        let reason = format_args!("Contradicts the path: {given}; leave it out");
        Err(DomainError::field(input.name, reason))
    }

    /// Returns the uploaded file, if the body has one.
    pub(crate) fn file(&self) -> Option<&'a UploadedFile> {
        self.raw.file.as_ref()
    }

    /// Returns true if the body has the field, null or not.
    pub(crate) fn has_field(&self, input: &InputDef) -> bool {
        self.raw.data.contains_key(input.name)
    }

    /// Returns the `data` of the body, for fields of records.
    pub(crate) fn data(&self) -> &'a Map<String, Value> {
        &self.raw.data
    }

    /// Returns the instant in a query parameter. `now` is the next millisecond, before which everything so far has happened.
    ///
    /// # Errors
    /// Fails if it is given twice, or is not an instant.
    pub(crate) fn query_time(&self, input: &InputDef) -> Result<Option<Time>, DomainError> {
        match self.query_text(input)? {
            None => Ok(None),
            Some("now") => Ok(Some(Time::from_millis(self.raw.now.millis() + 1))),
            Some(text) => {
                let time = Time::parse(text);
                time.map(Some)
                    .map_err(|e| DomainError::field(input.name, e))
            }
        }
    }

    /// Returns the day in a query parameter.
    ///
    /// # Errors
    /// Fails if it is given twice, or is not a day.
    pub(crate) fn query_day(&self, input: &InputDef) -> Result<Option<Date>, DomainError> {
        let day = self.query_text(input)?.map(Date::parse);
        day.transpose()
            .map_err(|e| DomainError::field(input.name, e))
    }

    /// Returns a flag in a query parameter.
    ///
    /// # Errors
    /// Fails if it is given twice, or is neither true nor false.
    pub(crate) fn query_flag(&self, input: &InputDef) -> Result<Option<bool>, DomainError> {
        let flag = self.raw.query.flag(input.name);
        flag.map_err(|e| DomainError::invalid(e.to_string()))
    }

    /// Parses a user given as gid, e-mail address or `me`. `field` is the name for errors.
    ///
    /// # Errors
    /// Fails if it is none of these.
    pub(crate) fn user(&self, field: &str, text: &str) -> Result<NodeRef, DomainError> {
        parse_user_ref(field, text, self.raw.me)
    }

    /// Returns the declaration of an input in this request: its own, or the declaration of the path parameter that replaces
    /// it.
    pub(crate) fn place_of(&self, input: &'static InputDef) -> &'static InputDef {
        let mut paths = std::iter::successors(input.path_alternative, |path| path.path_alternative);
        paths
            .find(|path| self.path_text(path).is_some())
            .unwrap_or(input)
    }

    /// Returns the text of an input in the path or query.
    ///
    /// # Errors
    /// Fails if a query parameter is given twice.
    pub(crate) fn text(&self, input: &InputDef) -> Result<Option<&'a str>, DomainError> {
        match input.place {
            InputPlace::Path => Ok(self.path_text(input)),
            InputPlace::Query => self.query_text(input),
            InputPlace::Body => Ok(None),
        }
    }
}
