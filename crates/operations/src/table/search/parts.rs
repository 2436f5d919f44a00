//! The parts of a search, as its parameters are read.
use crate::operation::SearchRequest;
use crate::request_context::RequestContext;
use workgraph_core::domain_error::DomainError;
use workgraph_core::model::registry::Type;
use workgraph_core::model::resources::task;
use workgraph_core::model::time::Date;
use workgraph_core::model::validate::{clip, split};
use workgraph_core::search::{
    Clause, IndexColumn, Search, SearchEffort, SearchLink, SearchQuery, SortOrder,
};
use workgraph_core::storage::{NodeRef, ReadQuery};

/// The most matches of one request, and their number if the request has no `limit`.
pub(super) const MOST: usize = 100;
/// The word for no value, or for no link.
pub(super) const NULL: &str = "null";
/// The most names in one list.
const NAMES_MAX: usize = 100;
const DAY: i64 = 86_400_000;

/// The clauses and references that were read so far.
pub(super) struct SearchBuilder<'p, 'c> {
    pub(super) call: &'p RequestContext<'c>,
    want: ReadQuery,
    workspace: usize,
    clauses: Vec<Clause<usize>>,
    named: Vec<(String, NodeRef, &'static [Type])>,
    /// Projects and sections; a match is in one of them.
    containers: Vec<(SearchLink, usize)>,
    /// True if a match may also be in no project.
    or_no_project: bool,
}

impl<'p, 'c> SearchBuilder<'p, 'c> {
    pub(super) fn new(call: &'p RequestContext<'c>) -> Result<Self, DomainError> {
        let mut want = call.read_query();
        let place = want.add_ref(call.path_ref("workspace_gid")?);
        Ok(Self {
            call,
            want,
            workspace: place,
            clauses: Vec::new(),
            named: Vec::new(),
            containers: Vec::new(),
            or_no_project: false,
        })
    }

    pub(super) fn push(&mut self, clause: Clause<usize>) {
        self.clauses.push(clause);
    }

    pub(super) fn finish(
        mut self,
        ty: Type,
        order: SortOrder,
        ascending: bool,
        limit: usize,
    ) -> SearchRequest {
        let unplaced = self.or_no_project.then_some(SearchLink::Project);
        self.clauses.extend(any_of(self.containers, unplaced));
        let has_words = self.clauses.iter().any(|c| matches!(c, Clause::Words(_)));
        let order = match order {
            // Without words all matches are equally relevant.
            SortOrder::Relevance if !has_words => SortOrder::Column(IndexColumn::Modified),
            order => order,
        };
        let query = SearchQuery {
            ty,
            clauses: self.clauses,
            order,
            ascending,
        };
        self.want.search = Some(Search {
            workspace: self.workspace,
            queries: vec![query],
            limit,
            cap: self.call.settings.candidates(),
            effort: SearchEffort::USUAL,
        });
        SearchRequest {
            query: self.want,
            referenced: self.named,
            ty,
        }
    }

    /// Adds a node that must exist and be visible; returns its index.
    pub(super) fn name(&mut self, field: String, name: NodeRef, types: &'static [Type]) -> usize {
        let at = self.want.add_ref(name.clone());
        self.named.push((field, name, types));
        at
    }

    /// Reads a list of nodes that matches are linked to. It may contain `null` for no link.
    pub(super) fn links(
        &mut self,
        name: &str,
        how: &str,
        text: &str,
        by: SearchLink,
        types: &'static [Type],
    ) -> Result<(), DomainError> {
        let mut texts = split(text);
        if texts.len() > NAMES_MAX {
            return Err(DomainError::field(
                name,
                format_args!("At most {NAMES_MAX} may be named"),
            ));
        }
        let named = texts.len();
        texts.retain(|text| text != NULL);
        let nothing = texts.len() < named;
        let mut pairs = Vec::new();
        for text in &texts {
            let of = match types {
                [Type::User] => self.call.parse_user_ref(name, text)?,
                _ => NodeRef::Gid(crate::request_context::parse_gid(name, text)?),
            };
            pairs.push((by, self.name(name.to_owned(), of, types)));
        }
        if types.is_empty() {
            // No node has that type: each name is unknown, and every node is linked to none.
            return Ok(());
        }
        match how {
            "not" | "all" => {
                let linked = how == "not";
                let list = if linked { Clause::None } else { Clause::All };
                self.clauses
                    .extend((!pairs.is_empty()).then(|| list(pairs)));
                self.clauses
                    .extend(nothing.then_some(Clause::Linked(by, linked)));
            }
            _ if matches!(by, SearchLink::Project | SearchLink::Section) => {
                self.containers.append(&mut pairs);
                self.or_no_project |= nothing;
            }
            _ => self.clauses.extend(any_of(pairs, nothing.then_some(by))),
        }
        Ok(())
    }

    /// Reads a day, or a comparison of matches with it. Instants belong to their day in UTC.
    pub(super) fn day(
        &mut self,
        name: &str,
        how: &str,
        text: &str,
        column: IndexColumn,
    ) -> Result<(), DomainError> {
        if text == NULL {
            self.push(Clause::Lacks(column));
            return Ok(());
        }
        let day = Date::parse(text).map_err(|e| DomainError::field(name, e))?;
        let start = day.start().millis();
        self.push(Clause::Within(
            column,
            match how {
                "before" => i64::MIN..=start - 1,
                "after" => start + DAY..=i64::MAX,
                _ => start..=start + DAY - 1,
            },
        ));
        Ok(())
    }

    /// Reads a comparison of matches with an instant.
    pub(super) fn instant(
        &mut self,
        name: &str,
        how: &str,
        text: &str,
        column: IndexColumn,
    ) -> Result<(), DomainError> {
        if text == NULL {
            self.push(Clause::Lacks(column));
        } else if let Some(at) = self.call.query_time(name)? {
            let at = at.millis();
            let range = match how {
                "before" => i64::MIN..=at - 1,
                _ => at + 1..=i64::MAX,
            };
            self.push(Clause::Within(column, range));
        }
        Ok(())
    }

    pub(super) fn subtype(&mut self, name: &str, text: &str) -> Result<(), DomainError> {
        let clause = match task::SUBTYPES.iter().position(|known| *known == text) {
            Some(0) => Clause::Lacks(IndexColumn::Subtype),
            Some(at) => {
                let at = i64::try_from(at).unwrap_or(i64::MAX);
                Clause::Within(IndexColumn::Subtype, at..=at)
            }
            // A custom type has a name of its own, and no node has one.
            None if text == "custom" => Clause::Never,
            None => {
                return Err(not_one_of(
                    name,
                    text,
                    &format!("{}, custom", task::SUBTYPES.join(", ")),
                ));
            }
        };
        self.push(clause);
        Ok(())
    }

    pub(super) fn flag(&mut self, name: &str) -> Result<(), DomainError> {
        let Some(on) = flag(self.call, name)? else {
            return Ok(());
        };
        match name {
            "completed" => self.push(Clause::Completed(on)),
            "is_blocked" => self.push(Clause::Blocked(on)),
            "is_blocking" => self.push(Clause::Blocking(on)),
            "is_subtask" if on => self.push(Clause::Within(IndexColumn::Subtask, 1..=1)),
            "is_subtask" => self.push(Clause::Lacks(IndexColumn::Subtask)),
            // No node is an attachment, so no task has one.
            "has_attachment" if on => self.push(Clause::Never),
            _ => {}
        }
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

/// Reads a flag among the parameters.
pub(super) fn flag(call: &RequestContext<'_>, name: &str) -> Result<Option<bool>, DomainError> {
    call.query
        .flag(name)
        .map_err(|e| DomainError::invalid(e.to_string()))
}

/// Returns the error for a word that is not one of the known ones.
pub(super) fn not_one_of(name: &str, text: &str, known: &str) -> DomainError {
    DomainError::field(
        name,
        format_args!(
            "Not a recognized value: {}; it is one of {known}",
            clip(text)
        ),
    )
}
