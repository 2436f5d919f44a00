//! Accessors for the fields of a form.
use workgraph_api::SCOPES;
use workgraph_auth::{Param, ScopeSet};

use super::entry_checks::{check_line, check_scopes};
use crate::pages::FormProblem;

/// Fields of a form. A missing field counts as empty; of duplicates, the first counts.
#[derive(Clone, Copy)]
pub(super) struct FormFields<'a>(pub(super) &'a [Param]);

impl<'a> FormFields<'a> {
    pub(super) fn one(self, name: &str) -> &'a str {
        let mut found = self.0.iter().filter(|(n, _)| n == name);
        found.next().map_or("", |(_, value)| value.as_str())
    }

    pub(super) fn all(self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let found = self.0.iter().filter(move |(n, _)| n == name);
        found.map(|(_, value)| value.as_str())
    }

    /// Reads the choice between full permissions and scopes.
    pub(super) fn permissions(self, problems: &mut Vec<FormProblem>) -> ScopeSet {
        match self.one("permissions") {
            "full" => return ScopeSet::full(),
            "scopes" => {}
            _ => problems.push(FormProblem::new(
                "scopes",
                "Choose full permissions or scopes.",
            )),
        }
        let names: Vec<&str> = self.all("scope").collect();
        match SCOPES.parse(&names.join(" ")) {
            Ok(set) if set.is_full() => {
                problems.push(FormProblem::new("scopes", "Choose scopes from the list."));
                ScopeSet::empty()
            }
            Ok(set) => {
                if let (Err(reason), true) = (check_scopes(set), problems.is_empty()) {
                    problems.push(FormProblem::new("scopes", reason));
                }
                set
            }
            Err(reason) => {
                problems.push(FormProblem::new(
                    "scopes",
                    format!("Choose scopes from the list: {reason}."),
                ));
                ScopeSet::empty()
            }
        }
    }

    /// Reads a short line of text that pages display.
    pub(super) fn line(
        self,
        name: &'static str,
        what: &str,
        problems: &mut Vec<FormProblem>,
    ) -> String {
        let text = self.one(name);
        match check_line(text, what) {
            Ok(text) => text.to_owned(),
            Err(reason) => {
                problems.push(FormProblem::new(name, reason));
                text.chars().take(200).collect()
            }
        }
    }
}
