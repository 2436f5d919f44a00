//! The parts of a search, as its parameters are read.
use crate::call::Call;
use crate::operation::Sought;
use workgraph_core::check::{clip, split};
use workgraph_core::fault::Fault;
use workgraph_core::graph::{Ref, Want};
use workgraph_core::registry::Type;
use workgraph_core::resources::task;
use workgraph_core::search::{By, Clause, Column, Effort, Order, Query, Search};
use workgraph_core::time::Date;

/// The most matches of one request, and how many it gets if it does not say.
pub(super) const MOST: usize = 100;
/// The word for having no value, or being linked to nothing.
pub(super) const NULL: &str = "null";
/// The most names in one list.
const NAMES_MAX: usize = 100;
const DAY: i64 = 86_400_000;

/// What was read so far.
pub(super) struct Parts<'p, 'c> {
    pub(super) call: &'p Call<'c>,
    want: Want,
    place: usize,
    clauses: Vec<Clause<usize>>,
    named: Vec<(String, Ref, &'static [Type])>,
    /// Projects and sections of which any is enough.
    places: Vec<(By, usize)>,
    /// To be in no project is enough, too.
    unplaced: bool,
}

impl<'p, 'c> Parts<'p, 'c> {
    pub(super) fn new(call: &'p Call<'c>) -> Result<Self, Fault> {
        let mut want = call.want();
        let place = want.add(call.path("workspace_gid")?);
        Ok(Self {
            call,
            want,
            place,
            clauses: Vec::new(),
            named: Vec::new(),
            places: Vec::new(),
            unplaced: false,
        })
    }

    pub(super) fn push(&mut self, clause: Clause<usize>) {
        self.clauses.push(clause);
    }

    pub(super) fn finish(
        mut self,
        ty: Type,
        order: Order,
        ascending: bool,
        limit: usize,
    ) -> Sought {
        let unplaced = self.unplaced.then_some(By::Project);
        self.clauses.extend(any_of(self.places, unplaced));
        let has_words = self.clauses.iter().any(|c| matches!(c, Clause::Words(_)));
        let order = match order {
            // Without words all are equally relevant.
            Order::Relevance if !has_words => Order::Column(Column::Modified),
            order => order,
        };
        let query = Query {
            ty,
            clauses: self.clauses,
            order,
            ascending,
        };
        self.want.search = Some(Search {
            place: self.place,
            queries: vec![query],
            limit,
            cap: self.call.settings.candidates(),
            effort: Effort::USUAL,
        });
        Sought {
            want: self.want,
            named: self.named,
            ty,
        }
    }

    /// Adds something that must exist and be seen; gives its index.
    pub(super) fn name(&mut self, field: String, name: Ref, types: &'static [Type]) -> usize {
        let at = self.want.add(name.clone());
        self.named.push((field, name, types));
        at
    }

    /// Reads a list of nodes that matches are linked to; among them `null` for nothing.
    pub(super) fn links(
        &mut self,
        name: &str,
        how: &str,
        text: &str,
        by: By,
        types: &'static [Type],
    ) -> Result<(), Fault> {
        let mut texts = split(text);
        if texts.len() > NAMES_MAX {
            return Err(Fault::field(
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
                [Type::User] => self.call.user(name, text)?,
                _ => Ref::Gid(crate::call::gid(name, text)?),
            };
            pairs.push((by, self.name(name.to_owned(), of, types)));
        }
        if types.is_empty() {
            // Nothing is of that type: what is named is unknown, and everything is linked to nothing.
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
            _ if matches!(by, By::Project | By::Section) => {
                self.places.append(&mut pairs);
                self.unplaced |= nothing;
            }
            _ => self.clauses.extend(any_of(pairs, nothing.then_some(by))),
        }
        Ok(())
    }

    /// A day, or how matches lie to it. Instants are of the day in UTC that they are on.
    pub(super) fn day(
        &mut self,
        name: &str,
        how: &str,
        text: &str,
        column: Column,
    ) -> Result<(), Fault> {
        if text == NULL {
            self.push(Clause::Lacks(column));
            return Ok(());
        }
        let day = Date::parse(text).map_err(|e| Fault::field(name, e))?;
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

    /// How matches lie to an instant.
    pub(super) fn instant(
        &mut self,
        name: &str,
        how: &str,
        text: &str,
        column: Column,
    ) -> Result<(), Fault> {
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

    pub(super) fn subtype(&mut self, name: &str, text: &str) -> Result<(), Fault> {
        let clause = match task::SUBTYPES.iter().position(|known| *known == text) {
            Some(0) => Clause::Lacks(Column::Subtype),
            Some(at) => {
                let at = i64::try_from(at).unwrap_or(i64::MAX);
                Clause::Within(Column::Subtype, at..=at)
            }
            // A custom type has a name of its own, and nothing has one.
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

    pub(super) fn flag(&mut self, name: &str) -> Result<(), Fault> {
        let Some(on) = flag(self.call, name)? else {
            return Ok(());
        };
        match name {
            "completed" => self.push(Clause::Done(on)),
            "is_blocked" => self.push(Clause::Blocked(on)),
            "is_blocking" => self.push(Clause::Blocking(on)),
            "is_subtask" if on => self.push(Clause::Within(Column::Sub, 1..=1)),
            "is_subtask" => self.push(Clause::Lacks(Column::Sub)),
            // Nothing is an attachment, so no task has one.
            "has_attachment" if on => self.push(Clause::Never),
            _ => {}
        }
        Ok(())
    }
}

/// Returns the condition that something is linked to one of these, or in some way to nothing at all.
fn any_of(pairs: Vec<(By, usize)>, nothing: Option<By>) -> Option<Clause<usize>> {
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

/// A flag among the parameters.
pub(super) fn flag(call: &Call<'_>, name: &str) -> Result<Option<bool>, Fault> {
    call.query
        .flag(name)
        .map_err(|e| Fault::invalid(e.to_string()))
}

/// A word that is none of those that are known.
pub(super) fn not_one_of(name: &str, text: &str, known: &str) -> Fault {
    Fault::field(
        name,
        format_args!(
            "Not a recognized value: {}; it is one of {known}",
            clip(text)
        ),
    )
}
