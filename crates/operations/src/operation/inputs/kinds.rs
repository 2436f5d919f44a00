//! Kinds of inputs: constructors with their parsers.
use super::{
    Deferred, Input, InputDef, InputPlace, InputReader, InputType, Named, RecordFields,
    RecordUpdate, UploadedFile, parse_gid,
};
use serde_json::Value;
use workgraph_core::Gid;
use workgraph_core::domain_error::DomainError;
use workgraph_core::model::decimal::Decimal;
use workgraph_core::model::registry::Type;
use workgraph_core::model::resources::resource;
use workgraph_core::model::time::{Date, Time};
use workgraph_core::model::validate;
use workgraph_core::model::validate::{CheckedInputs, clip};
use workgraph_core::storage::{NodeRef, RowFilter};

impl Input<Named<Gid>> {
    /// Returns an input for the gid of a node of one of these types. An empty text in a body counts as absent.
    #[must_use]
    pub const fn gid(
        place: InputPlace,
        name: &'static str,
        types: &'static [Type],
        doc: &'static str,
    ) -> Self {
        Self::parsed(place, name, InputType::Node(types), read_gid, doc)
    }

    /// Takes the node from the path in rows that have this path parameter.
    #[must_use]
    pub const fn or_in_path(mut self, path: &'static InputDef) -> Self {
        self.def.path_alternative = Some(path);
        self
    }
}

fn read_gid(
    input: &'static InputDef,
    inputs: &InputReader<'_>,
) -> Result<Option<Named<Gid>>, DomainError> {
    let declared = input;
    let input = inputs.place_of(declared);
    let gid = match input.place {
        InputPlace::Path => {
            let noun = input.types().first();
            let noun = noun.map_or(input.name, |ty| resource(*ty).noun);
            inputs.path_text(input).map(|text| parse_gid(noun, text))
        }
        InputPlace::Query => inputs
            .query_text(input)?
            .map(|text| parse_gid(input.name, text)),
        InputPlace::Body => {
            let value = inputs.body_value(input);
            let value = value.filter(|value| value.as_str() != Some(""));
            value.map(|value| parse_gid(input.name, &validate::reference(input.name, value)?))
        }
    };
    let gid = gid.transpose()?;
    if input.place == InputPlace::Path && declared.place == InputPlace::Body {
        inputs.require_repeated(declared, gid)?;
    }
    Ok(gid.map(|node| Named { input, node }))
}

impl Input<Named<NodeRef>> {
    /// Returns an input for a user: a gid, an e-mail address or `me`.
    #[must_use]
    pub const fn user(place: InputPlace, name: &'static str, doc: &'static str) -> Self {
        Self::user_or(place, name, &[Type::User], doc)
    }

    /// Returns an input for a user or a node of other types.
    #[must_use]
    pub const fn user_or(
        place: InputPlace,
        name: &'static str,
        types: &'static [Type],
        doc: &'static str,
    ) -> Self {
        Self::parsed(place, name, InputType::Node(types), read_user, doc)
    }
}

impl Input<Named<NodeRef>> {
    /// Returns an input for a node of one of these types; a user may also be an e-mail address or `me`.
    #[must_use]
    pub const fn node(
        place: InputPlace,
        name: &'static str,
        types: &'static [Type],
        doc: &'static str,
    ) -> Self {
        let parse = match types {
            [Type::User, ..] => read_user,
            _ => |input, inputs: &InputReader<'_>| {
                let named = read_gid(input, inputs)?;
                Ok(named.map(|Named { input, node }| Named {
                    input,
                    node: NodeRef::Gid(node),
                }))
            },
        };
        Self::parsed(place, name, InputType::Node(types), parse, doc)
    }
}

fn read_user(
    input: &'static InputDef,
    inputs: &InputReader<'_>,
) -> Result<Option<Named<NodeRef>>, DomainError> {
    let user = match input.place {
        InputPlace::Path => inputs
            .path_text(input)
            .map(|text| inputs.user("user", text)),
        InputPlace::Query => inputs
            .query_text(input)?
            .map(|text| inputs.query_user(input.name, text)),
        InputPlace::Body => inputs
            .body_value(input)
            .map(|value| inputs.user(input.name, &validate::reference(input.name, value)?)),
    };
    Ok(user.transpose()?.map(|node| Named { input, node }))
}

impl Input<Vec<Named<NodeRef>>> {
    /// Returns an input for several users, each as a gid, an e-mail address or `me`.
    #[must_use]
    pub const fn users(name: &'static str, doc: &'static str) -> Self {
        const USERS: InputType = InputType::Nodes(&[Type::User]);
        Self::parsed(InputPlace::Body, name, USERS, read_users, doc)
    }
}

fn read_users(
    input: &'static InputDef,
    inputs: &InputReader<'_>,
) -> Result<Option<Vec<Named<NodeRef>>>, DomainError> {
    let Some(value) = inputs.body_value(input) else {
        return Ok(None);
    };
    let named = |text: &String| {
        let node = inputs.user(input.name, text)?;
        Ok(Named { input, node })
    };
    let texts = validate::references(input.name, value)?;
    texts.iter().map(named).collect::<Result<_, _>>().map(Some)
}

impl Input<Vec<Named<Gid>>> {
    /// Returns an input for the gids of several nodes of these types.
    #[must_use]
    pub const fn gids(name: &'static str, types: &'static [Type], doc: &'static str) -> Self {
        let ty = InputType::Nodes(types);
        Self::parsed(InputPlace::Body, name, ty, read_gids, doc)
    }
}

fn read_gids(
    input: &'static InputDef,
    inputs: &InputReader<'_>,
) -> Result<Option<Vec<Named<Gid>>>, DomainError> {
    let Some(value) = inputs.body_value(input) else {
        return Ok(None);
    };
    let named = |(i, text): (usize, &String)| {
        let node = parse_gid(&format!("{}: [{i}]", input.name), text)?;
        Ok(Named { input, node })
    };
    let texts = validate::references(input.name, value)?;
    let gids = texts.iter().enumerate().map(named);
    gids.collect::<Result<_, _>>().map(Some)
}

impl Input<String> {
    /// Returns an input for a text in the body, of at most this many characters.
    #[must_use]
    pub const fn text(name: &'static str, max: u32, doc: &'static str) -> Self {
        Self::parsed(
            InputPlace::Body,
            name,
            InputType::Text(max),
            |input, inputs| {
                let max = match input.ty {
                    InputType::Text(max) => max,
                    _ => u32::MAX,
                };
                let value = inputs.body_value(input);
                let text = value.map(|value| validate::text(input.name, value, max));
                text.transpose()
            },
            doc,
        )
    }
}

impl Input<Decimal> {
    /// Returns an input for a number in the body, between two bounds.
    #[must_use]
    pub const fn decimal(name: &'static str, (least, most): (i64, i64), doc: &'static str) -> Self {
        let ty = InputType::Decimal(least, most);
        Self::parsed(InputPlace::Body, name, ty, read_decimal, doc)
    }
}

impl Input<i64> {
    /// Returns an input for a whole number in the body, between two bounds.
    #[must_use]
    pub const fn whole(name: &'static str, (least, most): (i64, i64), doc: &'static str) -> Self {
        let ty = InputType::Number(least, most);
        Self::parsed(InputPlace::Body, name, ty, read_whole, doc)
    }
}

/// Reads a number with all of its digits, as JSON or as form text.
fn read_decimal(
    input: &'static InputDef,
    inputs: &InputReader<'_>,
) -> Result<Option<Decimal>, DomainError> {
    let (Some(value), InputType::Decimal(least, most)) = (inputs.body_value(input), input.ty)
    else {
        return Ok(None);
    };
    let bounds = Decimal::from(least)..=Decimal::from(most);
    let number = validate::decimal(value).filter(|number| bounds.contains(number));
    number
        .map(Some)
        .ok_or_else(|| outside(input, "number", (least, most), value))
}

/// Reads a whole number, as JSON or as form text.
fn read_whole(
    input: &'static InputDef,
    inputs: &InputReader<'_>,
) -> Result<Option<i64>, DomainError> {
    let Some(value) = inputs.body_value(input) else {
        return Ok(None);
    };
    let InputType::Number(least, most) = input.ty else {
        return Ok(None);
    };
    let number = match value {
        Value::Number(number) => number.as_i64(),
        Value::String(text) => serde_json::from_str(text).ok(),
        _ => None,
    };
    let within = number.filter(|number| (least..=most).contains(number));
    within
        .map(Some)
        .ok_or_else(|| outside(input, "whole number", (least, most), value))
}

/// Returns the error of a value that is not a number between two bounds.
fn outside(input: &InputDef, noun: &str, (least, most): (i64, i64), value: &Value) -> DomainError {
    let shown = validate::shown(value);
    let reason = format_args!("Not a {noun} from {least} to {most}: {shown}");
    DomainError::field(input.name, reason)
}

impl Input<UploadedFile> {
    /// Returns an input for the file in a `multipart/form-data` body. Its row takes files
    /// ([`Operation::takes_file`](crate::operation::Operation::takes_file)).
    #[must_use]
    pub const fn file(name: &'static str, doc: &'static str) -> Self {
        Self::parsed(
            InputPlace::Body,
            name,
            InputType::File,
            |input, inputs| match inputs.file() {
                None if inputs.body_value(input).is_some() => Err(DomainError::field(
                    input.name,
                    "Not a file; send it as a part of a multipart/form-data body, with a file name",
                )),
                file => Ok(file.cloned()),
            },
            doc,
        )
    }
}

impl Input<bool> {
    /// Returns an input for a flag in query or body.
    #[must_use]
    pub const fn flag(place: InputPlace, name: &'static str, doc: &'static str) -> Self {
        Self::parsed(
            place,
            name,
            InputType::Flag,
            |input, inputs| match input.place {
                InputPlace::Body => {
                    let value = inputs.body_value(input);
                    let flag = value.map(|value| validate::flag(input.name, value));
                    flag.transpose()
                }
                InputPlace::Path | InputPlace::Query => inputs.query_flag(input),
            },
            doc,
        )
    }
}

impl Input<Time> {
    /// Returns an input for an instant in the query.
    #[must_use]
    pub const fn instant(name: &'static str, doc: &'static str) -> Self {
        Self::parsed(
            InputPlace::Query,
            name,
            InputType::Instant,
            |input, inputs| inputs.query_time(input),
            doc,
        )
    }
}

impl Input<Date> {
    /// Returns an input for a day in the query.
    #[must_use]
    pub const fn day(name: &'static str, doc: &'static str) -> Self {
        Self::parsed(
            InputPlace::Query,
            name,
            InputType::Day,
            |input, inputs| inputs.query_day(input),
            doc,
        )
    }
}

impl Input<&'static str> {
    /// Returns an input for one of some words in query or body.
    #[must_use]
    pub const fn word(
        place: InputPlace,
        name: &'static str,
        words: &'static [&'static str],
        doc: &'static str,
    ) -> Self {
        Self::parsed(place, name, InputType::Word(words), read_word, doc)
    }
}

fn read_word(
    input: &'static InputDef,
    inputs: &InputReader<'_>,
) -> Result<Option<&'static str>, DomainError> {
    let text = match (input.place, inputs.body_value(input)) {
        (InputPlace::Body, Some(value)) => Some(validate::string(input.name, value)?),
        (InputPlace::Body, None) => None,
        _ => inputs.text(input)?,
    };
    text.map(|text| one_of(input, text)).transpose()
}

impl Input<Vec<&'static str>> {
    /// Returns an input for several of some words in the body.
    #[must_use]
    pub const fn words(
        name: &'static str,
        words: &'static [&'static str],
        doc: &'static str,
    ) -> Self {
        let ty = InputType::Words(words);
        Self::parsed(InputPlace::Body, name, ty, read_words, doc)
    }
}

fn read_words(
    input: &'static InputDef,
    inputs: &InputReader<'_>,
) -> Result<Option<Vec<&'static str>>, DomainError> {
    let Some(value) = inputs.body_value(input) else {
        return Ok(None);
    };
    let texts = validate::references(input.name, value)?;
    let words = texts.iter().map(|text| one_of(input, text));
    words.collect::<Result<_, _>>().map(Some)
}

/// Returns the word of an input's type that a text equals.
///
/// # Errors
/// Fails if it equals none of them; the error names all.
pub fn one_of(input: &InputDef, text: &str) -> Result<&'static str, DomainError> {
    let words = match input.ty {
        InputType::Word(words) | InputType::Words(words) => words,
        _ => &[],
    };
    let known = words.iter().find(|word| **word == text);
    known
        .copied()
        .ok_or_else(|| unknown_word(input.name, text, words))
}

/// Returns the error of a text that is not one of the words.
#[must_use]
pub fn unknown_word(field: &str, text: &str, words: &[&str]) -> DomainError {
    let (shown, words) = (clip(text), words.join(", "));
    let reason = format_args!("Not a recognized value: {shown}; it is one of {words}");
    DomainError::field(field, reason)
}

impl Input<RowFilter> {
    /// Returns a query parameter that filters the rows of a list.
    #[must_use]
    pub const fn filter(
        name: &'static str,
        ty: InputType,
        parse: super::ParseInput<RowFilter>,
        doc: &'static str,
    ) -> Self {
        Self::parsed(InputPlace::Query, name, ty, parse, doc)
    }
}

/// Returns the type of the fields of a record.
const fn record(ty: Type, creating: bool, required: &'static [&'static str]) -> InputType {
    InputType::Record(RecordFields {
        ty,
        creating,
        required,
    })
}

/// The name of the fields of a record in tables.
const DATA: &str = "data";

fn read_record(
    input: &'static InputDef,
    inputs: &InputReader<'_>,
) -> Result<Option<CheckedInputs>, DomainError> {
    let InputType::Record(record) = input.ty else {
        return Ok(None);
    };
    validate::check_inputs(resource(record.ty), inputs.data(), record.creating).map(Some)
}

impl Input<CheckedInputs> {
    /// Returns the input for the fields of a record that is created. These fields are required.
    #[must_use]
    pub const fn new_record(
        ty: Type,
        required: &'static [&'static str],
        doc: &'static str,
    ) -> Self {
        let ty = record(ty, true, required);
        Self::parsed(InputPlace::Body, DATA, ty, read_record, doc)
    }

    /// Returns the input for the fields of a record that is changed.
    #[must_use]
    pub const fn changed_record(ty: Type, doc: &'static str) -> Self {
        let ty = record(ty, false, &[]);
        Self::parsed(InputPlace::Body, DATA, ty, read_record, doc)
    }
}

impl Input<RecordUpdate> {
    /// Returns the input for the fields of a record that is changed; fields that never change may repeat their value.
    #[must_use]
    pub const fn updated_record(ty: Type, doc: &'static str) -> Self {
        let ty = record(ty, false, &[]);
        let parse: super::ParseInput<RecordUpdate> = |input, inputs| {
            let InputType::Record(record) = input.ty else {
                return Ok(None);
            };
            Ok(Some(RecordUpdate::read(record.ty, inputs.data())))
        };
        Self::parsed(InputPlace::Body, DATA, ty, parse, doc)
    }
}

impl InputReader<'_> {
    /// Returns the value of a required input, with its error deferred.
    pub fn deferred<T>(&self, input: &'static Input<T>) -> Deferred<T> {
        Deferred::new(self.required(input))
    }

    /// Returns the value of an input, or `None` if the request does not have it, with its error deferred.
    pub fn deferred_optional<T>(&self, input: &'static Input<T>) -> Deferred<Option<T>> {
        Deferred::new(self.optional(input))
    }

    /// Returns the node that a path parameter names.
    ///
    /// # Errors
    /// Fails if the path does not have the parameter, or it is malformed.
    pub fn node_of_path(&self, input: &'static InputDef) -> Result<Named<NodeRef>, DomainError> {
        let node = if input.types() == [Type::User] {
            read_user(input, self)?
        } else {
            read_gid(input, self)?.map(|named| Named {
                input,
                node: NodeRef::Gid(named.node),
            })
        };
        node.ok_or_else(|| DomainError::missing(input.name))
    }
}
