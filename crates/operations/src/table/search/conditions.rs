//! Conditions of a search, parsed from its filters.
use super::custom::{CustomFieldFilter, CustomStatusFilter};
use super::filter::{Comparison, Filter, FilterKind, Quantifier};
use crate::operation::ReferencedNode;
use crate::operation::inputs::{InputDef, InputReader, one_of, parse_gid};
use std::borrow::Cow;
use workgraph_core::domain_error::DomainError;
use workgraph_core::model::registry::Type;
use workgraph_core::model::resources::custom_type::OPTION_OF;
use workgraph_core::model::resources::task;
use workgraph_core::model::time::Date;
use workgraph_core::model::validate::split;
use workgraph_core::search::{Clause, IndexColumn, SearchLink, WORDS_MAX, WordQuery};
use workgraph_core::storage::NodeRef;

/// The word for no value, or for no link.
const NULL: &str = "null";
/// Maximum number of names in one list.
const NAMES_MAX: usize = 100;
const DAY: i64 = 86_400_000;

/// Conditions that a request sets on matches.
#[derive(Default)]
pub(super) struct Conditions {
    /// The nodes that conditions name.
    pub(super) nodes: Vec<ReferencedNode>,
    /// The conditions; they name nodes by index.
    pub(super) clauses: Vec<Clause<usize>>,
}

/// Projects and sections of all parameters; a match is in one of them.
#[derive(Default)]
struct Containers {
    links: Vec<(SearchLink, usize)>,
    /// True if a match may also be in no project.
    or_no_project: bool,
}

impl Conditions {
    /// Reads the filters of a table.
    pub(super) fn read(
        filters: &'static [Filter],
        inputs: &InputReader<'_>,
    ) -> Result<Self, DomainError> {
        let mut conditions = Self::default();
        let mut containers = Containers::default();
        for Filter { def, kind } in filters {
            let text = match kind {
                FilterKind::Links(..) => inputs.table_list(def),
                _ => inputs.table_text(def)?.map(Cow::Borrowed),
            };
            let Some(text) = text.as_deref() else {
                continue;
            };
            match *kind {
                FilterKind::Words => conditions.words(def, text)?,
                FilterKind::Subtype => conditions.subtype(def, text)?,
                FilterKind::Day(column, comparison) => {
                    conditions.day(def, text, column, comparison)?;
                }
                FilterKind::Instant(column, comparison) => {
                    conditions.instant(def, text, inputs, column, comparison)?;
                }
                FilterKind::Flag(condition) => {
                    let on = inputs.query_flag(def)?;
                    conditions.clauses.extend(on.and_then(condition));
                }
                FilterKind::Links(link, quantifier) => {
                    let (pairs, or_none) = conditions.named(def, text, inputs, link)?;
                    let contained = matches!(link, SearchLink::Project | SearchLink::Section);
                    match quantifier {
                        Quantifier::Any if contained => {
                            containers.links.extend(pairs);
                            containers.or_no_project |= or_none;
                        }
                        Quantifier::Any => {
                            let any = any_of(pairs, or_none.then_some(link));
                            conditions.clauses.extend(any);
                        }
                        Quantifier::All => {
                            let all = (!pairs.is_empty()).then_some(Clause::All(pairs));
                            let none = or_none.then_some(Clause::Linked(link, false));
                            conditions.clauses.extend(all.into_iter().chain(none));
                        }
                        Quantifier::Not => {
                            let none = (!pairs.is_empty()).then_some(Clause::None(pairs));
                            let some = or_none.then_some(Clause::Linked(link, true));
                            conditions.clauses.extend(none.into_iter().chain(some));
                        }
                    }
                }
            }
        }
        let no_project = containers.or_no_project.then_some(SearchLink::Project);
        conditions
            .clauses
            .extend(any_of(containers.links, no_project));
        Ok(conditions)
    }

    /// Adds conditions on custom fields.
    pub(super) fn add_custom_fields(&mut self, filters: Vec<CustomFieldFilter>) {
        for filter in filters {
            let node = NodeRef::Gid(filter.field);
            let field = self.name(filter.parameter, node, &[Type::CustomField]);
            self.clauses.push(Clause::Value(field, filter.predicate));
        }
    }

    /// Adds conditions on the status of a custom type.
    pub(super) fn add_custom_statuses(&mut self, filters: Vec<CustomStatusFilter>) {
        for filter in filters {
            let CustomStatusFilter {
                parameter,
                custom_type,
                status,
            } = filter;
            let of = NodeRef::Gid(custom_type);
            self.name(parameter.clone(), of, &[Type::CustomType]);
            let status = NodeRef::Gid(status);
            let status = self.name(parameter, status, &[Type::CustomTypeStatusOption]);
            if let Some(status) = self.nodes.last_mut() {
                status.linked_to = Some((OPTION_OF.def.name, custom_type));
            }
            let link = (SearchLink::CustomStatus, status);
            self.clauses.push(Clause::Any(vec![link]));
        }
    }

    /// Adds a node that must exist and be visible; returns its index.
    fn name(&mut self, parameter: String, node: NodeRef, types: &'static [Type]) -> usize {
        self.nodes.push(ReferencedNode {
            parameter,
            node,
            types,
            linked_to: None,
        });
        self.nodes.len() - 1
    }

    /// Reads a list of nodes that matches are linked to. Returns the links, and true if the list contains `null`.
    fn named(
        &mut self,
        input: &'static InputDef,
        text: &str,
        inputs: &InputReader<'_>,
        link: SearchLink,
    ) -> Result<(Vec<(SearchLink, usize)>, bool), DomainError> {
        let mut texts = split(text);
        let given = texts.len();
        if given > NAMES_MAX {
            return Err(DomainError::field(
                input.name,
                format_args!("At most {NAMES_MAX} may be named"),
            ));
        }
        texts.retain(|text| text != NULL);
        let mut pairs = Vec::with_capacity(texts.len());
        for text in &texts {
            let node = match input.types() {
                [Type::User] => inputs.query_user(input.name, text)?,
                _ => NodeRef::Gid(parse_gid(input.name, text)?),
            };
            pairs.push((link, self.name(input.name.to_owned(), node, input.types())));
        }
        Ok((pairs, texts.len() < given))
    }

    fn words(&mut self, input: &InputDef, text: &str) -> Result<(), DomainError> {
        let words = WordQuery::new(text, false, false);
        if words.words.len() > WORDS_MAX {
            return Err(DomainError::field(
                input.name,
                format_args!("At most {WORDS_MAX} different words are looked for"),
            ));
        }
        self.clauses.push(Clause::Words(words));
        Ok(())
    }

    /// Reads a condition on the day in a column: on that day, before or after it, or without a value (null). Instants belong
    /// to their day in UTC.
    fn day(
        &mut self,
        input: &InputDef,
        text: &str,
        column: IndexColumn,
        comparison: Comparison,
    ) -> Result<(), DomainError> {
        if text == NULL {
            self.clauses.push(Clause::Lacks(column));
            return Ok(());
        }
        let day = Date::parse(text).map_err(|e| DomainError::field(input.name, e))?;
        let start = day.start().millis();
        let range = match comparison {
            Comparison::Is => start..=start + DAY - 1,
            Comparison::Before => i64::MIN..=start - 1,
            Comparison::After => start + DAY..=i64::MAX,
        };
        self.clauses.push(Clause::Within(column, range));
        Ok(())
    }

    /// Reads a comparison of matches with an instant.
    fn instant(
        &mut self,
        input: &InputDef,
        text: &str,
        inputs: &InputReader<'_>,
        column: IndexColumn,
        comparison: Comparison,
    ) -> Result<(), DomainError> {
        // The column also has the days of tasks that are due on a day.
        let has_days = column == IndexColumn::Due;
        if has_days {
            self.clauses.push(Clause::DueAtInstant(text != NULL));
        }
        if text == NULL {
            self.clauses
                .extend((!has_days).then_some(Clause::Lacks(column)));
        } else if let Some(at) = inputs.query_time(input)? {
            let at = at.millis();
            let range = match comparison {
                Comparison::Is => at..=at,
                Comparison::Before => i64::MIN..=at - 1,
                Comparison::After => at + 1..=i64::MAX,
            };
            self.clauses.push(Clause::Within(column, range));
        }
        Ok(())
    }

    fn subtype(&mut self, input: &InputDef, text: &str) -> Result<(), DomainError> {
        let word = one_of(input, text)?;
        self.clauses.push(
            match task::SUBTYPES.iter().position(|known| *known == word) {
                Some(0) => Clause::Lacks(IndexColumn::Subtype),
                Some(at) => {
                    let at = i64::try_from(at).unwrap_or(i64::MAX);
                    Clause::Within(IndexColumn::Subtype, at..=at)
                }
                // A custom type has a name of its own, and no node has that name.
                None => Clause::Never,
            },
        );
        Ok(())
    }
}

/// Returns the condition that a node is linked to one of these, or has no link of the kind `nothing`.
fn any_of(pairs: Vec<(SearchLink, usize)>, nothing: Option<SearchLink>) -> Option<Clause<usize>> {
    let Some(by) = nothing else {
        return (!pairs.is_empty()).then_some(Clause::Any(pairs));
    };
    let nothing = Clause::Linked(by, false);
    Some(if pairs.is_empty() {
        nothing
    } else {
        Clause::Either(vec![Clause::Any(pairs), nothing])
    })
}
