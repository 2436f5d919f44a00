//! Typed inputs: each parameter and body field of an operation is declared once, and read once for each request.
//!
//! # Declaration
//! An [`Input`] is a constant: name, place, type with its bounds, a sentence of documentation, and the function that
//! parses it. Its [`InputDef`] is the part without the type of the value, for tables and documents.
//!
//! ```text
//! const FOLLOWERS: Input<Vec<Named<NodeRef>>> = Input::users("followers", "Users who follow the tag from the start.");
//! ```
//!
//! # Inputs of an operation
//! A struct holds the inputs of one operation. [`OperationInput::INPUTS`] lists their declarations, and [`OperationInput::read`]
//! reads each of them from the [`InputReader`]. A test runs `read` with a recording reader, and compares the recorded inputs with
//! `INPUTS`. Required inputs, the filters of lists and the documents are computed from `INPUTS`; rows of the table do not name
//! inputs again.
//!
//! # Rows
//! The handler of a row is a pair of functions that take the struct:
//!
//! ```text
//! create("createTag", "/tags", Type::Tag, &Steps::new(create_tag_needs, create_tag))
//! ```
//!
//! The executor has the inputs read once ([`Prepare::prepare`]), before the first load. The result lives as long as the request:
//! a decision that is repeated after a conflict does not read the inputs again. Lists and searches need no second step, so they
//! are read and described at once, without an allocation ([`Described`]).
//!
//! # Order of errors
//! Errors of the request as a whole come first: the form of the query and body, then missing required inputs. `read` reports
//! errors in the order in which it reads. An error that only a caller with access may see is kept in a [`Deferred`], and reported
//! when the decision takes the value.
//!
//! # Nodes
//! An input that names a node is a [`Named`]: the reference with its declaration. One function of the request context finds the
//! node of any of them; the declaration has the accepted types, and the place determines the error (404 for a path, 400
//! elsewhere). An input may be in the body of one row and in the path of another ([`Input::or_in_path`]).
//!
//! # Fields of records
//! The fields of a record are declared by its type in the registry. A struct has them as one member, read by
//! [`Input::new_record`], [`Input::changed_record`] or [`Input::updated_record`].
//!
//! [`Prepare::prepare`]: crate::operation::steps::Prepare::prepare
//! [`Described`]: crate::operation::steps::Described
mod kinds;
pub mod path;
mod raw;
mod reader;
mod values;

pub use kinds::{one_of, unknown_word};
pub use raw::{PathParameters, RawInputs, UploadedFile, parse_gid, parse_user_ref};
pub use reader::InputReader;
pub use values::{Deferred, Named, RecordUpdate};

use workgraph_core::domain_error::DomainError;
use workgraph_core::model::registry::Type;

/// The part of a request that contains an input.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InputPlace {
    /// A parameter in the path.
    Path,
    /// A parameter in the query.
    Query,
    /// A field of the body's `data`.
    Body,
}

/// Type of an input's value, with its bounds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum InputType {
    /// A gid of a node of one of these types, or of any type if the list is empty; for users also an e-mail address or `me`.
    Node(&'static [Type]),
    /// Several nodes of these types: an array, or text separated by commas.
    Nodes(&'static [Type]),
    /// A text of at most this many characters.
    Text(u32),
    /// A text of at most this many different words to search for.
    Terms(usize),
    /// One of these words.
    Word(&'static [&'static str]),
    /// Several of these words: an array, or text separated by commas.
    Words(&'static [&'static str]),
    /// True or false.
    Flag,
    /// A whole number between two bounds, both included.
    Number(i64, i64),
    /// A number between two bounds, both included.
    Decimal(i64, i64),
    /// A day, as in `2026-01-31`.
    Day,
    /// An instant, as in `2026-01-31T12:00:00Z`; `now` is accepted, too.
    Instant,
    /// A text from an earlier response.
    Token,
    /// A JSON object or array with its own parts; the documentation names them.
    Structure,
    /// A file, as a part of a `multipart/form-data` body.
    File,
    /// The fields of a record, as its type declares them.
    Record(RecordFields),
}

/// The fields of a record that a body may have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RecordFields {
    /// The type of the record.
    pub ty: Type,
    /// True if the record is created, so that fields that are writable only then are included.
    pub creating: bool,
    /// Fields that must be given.
    pub required: &'static [&'static str],
}

/// The declaration of an input, without the type of its value.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct InputDef {
    /// The name in the request. The fields of a record have the name `data`. The name of a family of parameters has placeholders
    /// in braces.
    pub name: &'static str,
    /// The part of the request that contains it.
    pub place: InputPlace,
    /// True if a request without it is an error.
    pub required: bool,
    /// True if null is accepted as a value.
    pub nullable: bool,
    /// Type of the value, with its bounds.
    pub ty: InputType,
    /// One sentence: the meaning of the input.
    pub doc: &'static str,
    /// The path parameter that replaces it in rows with that parameter. The replacement may have an alternative, too.
    pub path_alternative: Option<&'static InputDef>,
}

impl InputDef {
    /// Returns the declaration of an input. A path parameter is required.
    #[must_use]
    pub const fn new(
        place: InputPlace,
        name: &'static str,
        ty: InputType,
        doc: &'static str,
    ) -> Self {
        Self {
            name,
            place,
            required: matches!(place, InputPlace::Path),
            nullable: false,
            ty,
            doc,
            path_alternative: None,
        }
    }

    /// Returns true if the name has placeholders, as in `custom_fields.{custom_field_gid}.{test}`: it covers many parameters.
    #[must_use]
    pub fn is_family(&self) -> bool {
        self.name.contains('{')
    }

    /// Returns the types of the nodes that the input may name.
    #[must_use]
    pub const fn types(&self) -> &'static [Type] {
        match self.ty {
            InputType::Node(types) | InputType::Nodes(types) => types,
            _ => &[],
        }
    }

    /// Returns the names of the body fields that a request must have for this input.
    #[must_use]
    pub const fn required_fields(&'static self) -> &'static [&'static str] {
        match (self.place, self.ty) {
            (InputPlace::Body, InputType::Record(record)) => record.required,
            (InputPlace::Body, _) if self.required && self.path_alternative.is_none() => {
                std::slice::from_ref(&self.name)
            }
            _ => &[],
        }
    }
}

/// The function that parses an input; `None` if the request does not have it.
pub type ParseInput<T> = fn(&'static InputDef, &InputReader<'_>) -> Result<Option<T>, DomainError>;

/// An input: its declaration, and the parser of its value.
#[derive(Debug)]
pub struct Input<T: 'static> {
    /// Declaration without the type of the value.
    pub def: InputDef,
    parse: ParseInput<T>,
}

impl<T> Input<T> {
    /// Returns an input with its own parser.
    #[must_use]
    pub const fn parsed(
        place: InputPlace,
        name: &'static str,
        ty: InputType,
        parse: ParseInput<T>,
        doc: &'static str,
    ) -> Self {
        Self {
            def: InputDef::new(place, name, ty, doc),
            parse,
        }
    }

    /// Makes a request without the input an error.
    #[must_use]
    pub const fn required(mut self) -> Self {
        self.def.required = true;
        self
    }

    /// Accepts null as a value.
    #[must_use]
    pub const fn nullable(mut self) -> Self {
        self.def.nullable = true;
        self
    }
}

/// Inputs of an operation: a struct with one member for each.
pub trait OperationInput: Sized + Send + Sync + 'static {
    /// The declarations of all inputs that [`read`](Self::read) reads.
    const INPUTS: &'static [&'static InputDef];

    /// Reads the inputs of a request.
    ///
    /// # Errors
    /// Fails with the first input that is missing or malformed.
    fn read(inputs: &InputReader<'_>) -> Result<Self, DomainError>;
}

/// The inputs of an operation without inputs.
impl OperationInput for () {
    const INPUTS: &'static [&'static InputDef] = &[];
    fn read(_: &InputReader<'_>) -> Result<Self, DomainError> {
        Ok(())
    }
}
