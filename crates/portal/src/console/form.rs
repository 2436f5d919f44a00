//! Reading the fields of a form.
use workgraph_auth::client::check_name;
use workgraph_auth::{Pair, ScopeSet};

use crate::pages::Problem;

/// The fields of a form. A field that is not there counts as empty; the first of two counts.
#[derive(Clone, Copy)]
pub(super) struct Form<'a>(pub(super) &'a [Pair]);

impl<'a> Form<'a> {
    pub(super) fn one(self, name: &str) -> &'a str {
        let mut found = self.0.iter().filter(|(n, _)| n == name);
        found.next().map_or("", |(_, value)| value.as_str())
    }

    pub(super) fn all(self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let found = self.0.iter().filter(move |(n, _)| n == name);
        found.map(|(_, value)| value.as_str())
    }

    /// The choice between full permissions and scopes.
    pub(super) fn permissions(self, problems: &mut Vec<Problem>) -> ScopeSet {
        match self.one("permissions") {
            "full" => return ScopeSet::full(),
            "scopes" => {}
            _ => problems.push(Problem::new("scopes", "Choose full permissions or scopes.")),
        }
        let names: Vec<&str> = self.all("scope").collect();
        match ScopeSet::parse(&names.join(" ")) {
            Ok(set) if set.is_full() => {
                problems.push(Problem::new("scopes", "Choose scopes from the list."));
                ScopeSet::empty()
            }
            Ok(set) => {
                if set.iter().next().is_none() && problems.is_empty() {
                    problems.push(Problem::new(
                        "scopes",
                        "Choose at least one scope, or full permissions.",
                    ));
                }
                set
            }
            Err(why) => {
                problems.push(Problem::new(
                    "scopes",
                    format!("Choose scopes from the list: {why}."),
                ));
                ScopeSet::empty()
            }
        }
    }

    /// A short line of text that people will see.
    pub(super) fn line(
        self,
        name: &'static str,
        what: &str,
        problems: &mut Vec<Problem>,
    ) -> String {
        let text = self.one(name);
        match check_name(text) {
            Ok(text) => text.to_owned(),
            Err(why) => {
                use workgraph_auth::client::NameError;
                problems.push(Problem::new(
                    name,
                    match why {
                        NameError::Empty => format!("Enter {what}."),
                        NameError::Long => format!("Enter {what} of at most 100 characters."),
                        NameError::Characters => {
                            format!("Enter {what} without invisible characters.")
                        }
                    },
                ));
                text.chars().take(200).collect()
            }
        }
    }
}
