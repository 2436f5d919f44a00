//! The names of `opt_fields`, read into a tree.
use crate::domain_error::DomainError;
use std::collections::BTreeMap;

/// Maximum depth of a path in `opt_fields`.
pub const DEPTH_MAX: usize = 8;
/// Maximum number of paths in `opt_fields`, after groups are expanded.
pub const PATHS_MAX: usize = 400;

/// The paths of `opt_fields` as a tree: every path starts at the root.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldPaths {
    pub(super) children: BTreeMap<String, FieldPaths>,
}

impl FieldPaths {
    /// Reads `opt_fields`: comma-separated dotted paths; a term may be a group `(a|b)`, and `this.` at the start of a
    /// path is dropped. Empty items, and names that no field can have, are ignored like all unknown names.
    ///
    /// # Errors
    /// Returns an error if the parentheses of a group are ambiguous, a path is too deep, or there are too many.
    pub fn parse(text: &str) -> Result<Self, DomainError> {
        let mut names = Self::default();
        let mut room = PATHS_MAX;
        let mut depth = 0usize;
        let mut start = 0;
        let ends = text
            .char_indices()
            .filter(|(_, c)| matches!(c, ',' | '(' | ')'))
            .chain([(text.len(), ',')]);
        for (at, c) in ends {
            match c {
                '(' => depth += 1,
                ')' => {
                    depth = depth
                        .checked_sub(1)
                        .ok_or_else(|| unreadable("a `)` without its `(`"))?
                }
                _ if depth == 0 => {
                    names.add_path(text.get(start..at).unwrap_or_default().trim(), &mut room)?;
                    start = at + 1;
                }
                _ => {}
            }
        }
        if depth > 0 {
            return Err(unreadable("a `(` without its `)`"));
        }
        Ok(names)
    }

    fn add_path(&mut self, path: &str, room: &mut usize) -> Result<(), DomainError> {
        let path = path.strip_prefix("this.").unwrap_or(path);
        let mut terms = Vec::new();
        let mut rest = path;
        loop {
            let (term, after) = if let Some(group) = rest.strip_prefix('(') {
                let (inner, after) = group
                    .split_once(')')
                    .ok_or_else(|| unreadable("a `(` without its `)`"))?;
                let names = inner.split(['|', ',']).map(str::trim);
                (names.collect::<Vec<_>>(), after)
            } else {
                let end = rest.find('.').unwrap_or(rest.len());
                let (term, after) = rest.split_at(end);
                (vec![term.trim()], after)
            };
            if term.iter().any(|t| t.contains(['(', ')'])) {
                return Err(unreadable("a group that is not a whole term"));
            }
            terms.push(term.into_iter().filter(|t| is_name(t)).collect::<Vec<_>>());
            if terms.len() > DEPTH_MAX {
                return Err(DomainError::field(
                    "opt_fields",
                    format_args!(
                        "A path is too deep; at most {DEPTH_MAX} names may be joined by dots"
                    ),
                ));
            }
            match after.strip_prefix('.') {
                Some(next) => rest = next,
                None if after.is_empty() => break,
                None => return Err(unreadable("a group that is not a whole term")),
            }
        }
        if terms.iter().any(Vec::is_empty) {
            return Ok(());
        }
        self.insert(&terms, room)
    }

    fn insert(&mut self, terms: &[Vec<&str>], room: &mut usize) -> Result<(), DomainError> {
        let Some((first, rest)) = terms.split_first() else {
            return Ok(());
        };
        for name in first {
            if rest.is_empty() {
                *room = room.checked_sub(1).ok_or_else(|| {
                    DomainError::field(
                        "opt_fields",
                        format_args!("Too many fields; at most {PATHS_MAX} may be named"),
                    )
                })?;
            }
            self.children
                .entry((*name).to_owned())
                .or_default()
                .insert(rest, room)?;
        }
        Ok(())
    }
}

pub(super) fn is_name(term: &str) -> bool {
    !term.is_empty()
        && term.len() <= 128
        && term
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'))
}

fn unreadable(what: &str) -> DomainError {
    DomainError::field(
        "opt_fields",
        format_args!(
            "Not a list of field names: there is {what}; use names joined by dots and separated by commas"
        ),
    )
}
