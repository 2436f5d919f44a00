//! Filters of searches: query parameters of a few kinds, each with its condition on matches.
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
    /// Accepts matches that have all words of the filter.
    Words,
    /// Accepts matches that have this subtype.
    Subtype,
    /// Accepts matches that have links to the nodes of the filter.
    Links(SearchLink, Quantifier),
    /// Accepts matches whose day (for an instant, its day in UTC) compares in this way with the day of the filter.
    Day(IndexColumn, Comparison),
    /// Accepts matches whose instant compares in this way with the instant of the filter.
    Instant(IndexColumn, Comparison),
    /// Accepts matches that meet the condition for true or for false; `None` if all nodes meet it.
    Flag(fn(bool) -> Option<Clause<usize>>),
}

/// Number of the named nodes to which a match is linked.
#[derive(Clone, Copy)]
pub(super) enum Quantifier {
    /// Matches that are linked to at least one of them.
    Any,
    /// Matches that are linked to each of them.
    All,
    /// Matches that are linked to none of them.
    Not,
}

/// Comparison of a match with the value of a filter.
#[derive(Clone, Copy)]
pub(super) enum Comparison {
    /// Matches whose field has this value.
    Is,
    /// Matches whose field has a smaller value.
    Before,
    /// Matches whose field has a greater value.
    After,
}

const fn filter(name: &'static str, ty: InputType, kind: FilterKind, doc: &'static str) -> Filter {
    Filter {
        def: InputDef::new(InputPlace::Query, name, ty, doc),
        kind,
    }
}

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
