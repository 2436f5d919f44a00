//! The paths of `opt_expand`, parsed into an automaton whose positions are the names.
use super::DEPTH_MAX;
use crate::domain_error::DomainError;
use std::collections::BTreeSet;

/// Maximum number of names in `opt_expand`.
const NAMES_MAX: usize = 100;

/// The paths of `opt_expand`. A path leads from the record to a part that is sent as a full record. Each state of the
/// automaton is the set of names that a path through the fields may have matched last.
#[derive(Clone, Debug)]
pub struct ExpandPaths {
    names: Vec<String>,
    /// Names that may follow each name.
    following: Vec<BTreeSet<usize>>,
    whole: Part,
}

/// A state: the names that may have been matched last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PathState {
    next: BTreeSet<usize>,
    pub(super) is_expanded: bool,
}

impl PathState {
    /// Returns true if no path ends here or continues from here.
    pub(super) fn is_dead(&self) -> bool {
        self.next.is_empty() && !self.is_expanded
    }
}

/// Part of a path, with the names at which it may begin and end.
#[derive(Clone, Debug, Default)]
struct Part {
    /// True if it matches the record itself.
    is_nullable: bool,
    first: BTreeSet<usize>,
    last: BTreeSet<usize>,
    /// Number of names on its longest path, each repetition counted once.
    depth: usize,
}

impl ExpandPaths {
    /// Reads `opt_expand`: paths separated by commas, each of names joined by dots. `this` and an empty name mean the record
    /// itself, `(a|b)` are alternatives, and `+` repeats the preceding part. Empty items, and names that no field can have, are
    /// ignored like all unknown names.
    ///
    /// # Errors
    /// Returns an error if parentheses are unbalanced, a path is too deep, or there are too many names.
    pub fn parse(text: &str) -> Result<Self, DomainError> {
        let mut reader = PathReader {
            rest: text,
            nesting: 0,
            paths: Self {
                names: Vec::new(),
                following: Vec::new(),
                whole: Part::default(),
            },
        };
        let whole = reader.alternatives()?;
        if !reader.rest.is_empty() {
            return Err(unreadable("a `)` without its `(`"));
        }
        reader.paths.whole = whole;
        Ok(reader.paths)
    }

    /// Returns the state of the record itself.
    pub(super) fn start(&self) -> PathState {
        PathState {
            next: self.whole.first.clone(),
            is_expanded: self.whole.is_nullable,
        }
    }

    /// Returns the state after a field.
    pub(super) fn step(&self, state: &PathState, field: &str) -> PathState {
        let is_field = |at: &&usize| self.names.get(**at).is_some_and(|name| name == field);
        let matched: Vec<usize> = state.next.iter().filter(is_field).copied().collect();
        let following = |at: &usize| self.following.get(*at).into_iter().flatten().copied();
        PathState {
            next: matched.iter().flat_map(following).collect(),
            is_expanded: matched.iter().any(|at| self.whole.last.contains(at)),
        }
    }

    fn add_name(&mut self, name: &str) -> Result<Part, DomainError> {
        let at = self.names.len();
        if at == NAMES_MAX {
            return Err(DomainError::field(
                "opt_expand",
                format_args!("Too many names; at most {NAMES_MAX} may be given"),
            ));
        }
        self.names.push(name.to_owned());
        self.following.push(BTreeSet::new());
        Ok(Part {
            is_nullable: false,
            first: BTreeSet::from([at]),
            last: BTreeSet::from([at]),
            depth: 1,
        })
    }

    /// Lets the names that begin one part follow the names that end another part.
    fn join(&mut self, ends: &BTreeSet<usize>, begins: &BTreeSet<usize>) {
        for at in ends {
            if let Some(following) = self.following.get_mut(*at) {
                following.extend(begins);
            }
        }
    }
}

struct PathReader<'t> {
    rest: &'t str,
    nesting: usize,
    paths: ExpandPaths,
}

impl PathReader<'_> {
    fn take(&mut self, sign: char) -> bool {
        let after = self.rest.strip_prefix(sign);
        self.rest = after.unwrap_or(self.rest);
        after.is_some()
    }

    /// Reads alternatives up to a `)` or the end.
    fn alternatives(&mut self) -> Result<Part, DomainError> {
        let mut whole = Part::default();
        loop {
            if let Some(path) = self.path()? {
                whole.is_nullable |= path.is_nullable;
                whole.first.extend(path.first);
                whole.last.extend(path.last);
                whole.depth = whole.depth.max(path.depth);
            }
            if !self.take('|') && !self.take(',') {
                return Ok(whole);
            }
        }
    }

    /// Reads one path; `None` if it is empty or contains an invalid name.
    fn path(&mut self) -> Result<Option<Part>, DomainError> {
        let mut path: Option<Part> = None;
        let mut is_dropped = false;
        loop {
            let term = self.term()?;
            let is_last = !self.take('.');
            let term = match term {
                Term::Part(part) => part,
                Term::Unknown => {
                    is_dropped = true;
                    Part::default()
                }
                // A dot without a name means the record itself.
                Term::Empty if path.is_some() || !is_last => Part {
                    is_nullable: true,
                    ..Part::default()
                },
                Term::Empty => return Ok(None),
            };
            let joined = match path.take() {
                None => term,
                Some(before) => self.sequence(before, term),
            };
            if joined.depth > DEPTH_MAX {
                return Err(DomainError::field(
                    "opt_expand",
                    format_args!(
                        "A path is too deep; at most {DEPTH_MAX} names may be joined by dots"
                    ),
                ));
            }
            if is_last {
                return Ok((!is_dropped).then_some(joined));
            }
            path = Some(joined);
        }
    }

    fn sequence(&mut self, mut before: Part, mut after: Part) -> Part {
        self.paths.join(&before.last, &after.first);
        if before.is_nullable {
            before.first.extend(&after.first);
        }
        if after.is_nullable {
            after.last.extend(&before.last);
        }
        Part {
            is_nullable: before.is_nullable && after.is_nullable,
            first: before.first,
            last: after.last,
            depth: before.depth + after.depth,
        }
    }

    fn term(&mut self) -> Result<Term, DomainError> {
        // A repetition sign with nothing before it is a blank that a form has encoded.
        self.rest = self.rest.trim_start_matches([' ', '+']);
        let term = if self.take('(') {
            self.nesting += 1;
            if self.nesting > DEPTH_MAX {
                return Err(unreadable("a group in too many others"));
            }
            let part = self.alternatives()?;
            if !self.take(')') {
                return Err(unreadable("a `(` without its `)`"));
            }
            self.nesting -= 1;
            Term::Part(part)
        } else {
            let end = self.rest.find(['.', ',', '|', '(', ')', '+']);
            let (name, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
            self.rest = rest;
            match name.trim() {
                "" => Term::Empty,
                "this" => Term::Part(Part {
                    is_nullable: true,
                    ..Part::default()
                }),
                name if super::field_paths::is_name(name) => Term::Part(self.paths.add_name(name)?),
                _ => Term::Unknown,
            }
        };
        let is_repeated = self.rest.starts_with('+');
        self.rest = self.rest.trim_start_matches([' ', '+']);
        if !self.rest.is_empty() && !self.rest.starts_with(['.', ',', '|', ')']) {
            return Err(unreadable("a group that is not a whole term"));
        }
        if is_repeated && let Term::Part(part) = &term {
            self.paths.join(&part.last, &part.first);
        }
        Ok(term)
    }
}

enum Term {
    Part(Part),
    Empty,
    Unknown,
}

fn unreadable(what: &str) -> DomainError {
    DomainError::field(
        "opt_expand",
        format_args!(
            "Not a list of paths: there is {what}; use names joined by dots and separated by commas, as in \
             (this|subtasks+)"
        ),
    )
}
