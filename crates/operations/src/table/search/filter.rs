//! Filters of searches: query parameters of a few kinds, each with the condition that it sets on matches.
use crate::operation::inputs::{InputDef, InputPlace, InputType};
use workgraph_core::model::registry::Type;
use workgraph_core::search::{Clause, IndexColumn, SearchLink, WORDS_MAX};

/// Filter of a search: its declaration, and its kind of condition.
pub(super) struct Filter {
    pub(super) def: InputDef,
    pub(super) kind: FilterKind,
}

/// The kind of condition that a filter sets on matches.
#[derive(Clone, Copy)]
pub(super) enum FilterKind {
    /// They have all of its words.
    Words,
    /// They have this subtype.
    Subtype,
    /// They have links to its nodes.
    Links(SearchLink, Quantifier),
    /// They have a day, or an instant of a day in UTC, that compares so with its day.
    Day(IndexColumn, Comparison),
    /// They have an instant that compares so with its instant.
    Instant(IndexColumn, Comparison),
    /// The condition for true and for false; `None` if all nodes meet it.
    Flag(fn(bool) -> Option<Clause<usize>>),
}

/// Number of the named nodes to which a match is linked.
#[derive(Clone, Copy)]
pub(super) enum Quantifier {
    /// At least one.
    Any,
    /// Each of them.
    All,
    /// None of them.
    Not,
}

/// Comparison of a match with the value of a filter.
#[derive(Clone, Copy)]
pub(super) enum Comparison {
    /// It has that value.
    Is,
    /// It has a smaller value.
    Before,
    /// It has a greater value.
    After,
}

const fn filter(name: &'static str, ty: InputType, kind: FilterKind, doc: &'static str) -> Filter {
    Filter {
        def: InputDef::new(InputPlace::Query, name, ty, doc),
        kind,
    }
}

/// A filter by words.
pub(super) const fn words(name: &'static str, doc: &'static str) -> Filter {
    filter(name, InputType::Terms(WORDS_MAX), FilterKind::Words, doc)
}

/// A filter by subtype, one of these words.
pub(super) const fn subtype(
    name: &'static str,
    words: &'static [&'static str],
    doc: &'static str,
) -> Filter {
    filter(name, InputType::Word(words), FilterKind::Subtype, doc)
}

/// A filter by links to nodes of these types; `null` in its list means no link.
pub(super) const fn links(
    name: &'static str,
    types: &'static [Type],
    link: SearchLink,
    quantifier: Quantifier,
    doc: &'static str,
) -> Filter {
    let kind = FilterKind::Links(link, quantifier);
    filter(name, InputType::Nodes(types), kind, doc).nullable()
}

/// A filter by a day; `null` means no value.
pub(super) const fn day(
    name: &'static str,
    column: IndexColumn,
    comparison: Comparison,
    doc: &'static str,
) -> Filter {
    let kind = FilterKind::Day(column, comparison);
    filter(name, InputType::Day, kind, doc).nullable()
}

/// A filter by an instant; `null` means no value.
pub(super) const fn instant(
    name: &'static str,
    column: IndexColumn,
    comparison: Comparison,
    doc: &'static str,
) -> Filter {
    let kind = FilterKind::Instant(column, comparison);
    filter(name, InputType::Instant, kind, doc).nullable()
}

/// A filter by a property that nodes have or lack.
pub(super) const fn flag(
    name: &'static str,
    condition: fn(bool) -> Option<Clause<usize>>,
    doc: &'static str,
) -> Filter {
    filter(name, InputType::Flag, FilterKind::Flag(condition), doc)
}

impl Filter {
    const fn nullable(mut self) -> Self {
        self.def.nullable = true;
        self
    }
}
