//! Grade of a client: the rules for good clients of the API, and whether the requests of a world keep them.
use crate::stand_in::client_history::ClientHistory;
use crate::stand_in::rule_outcome::RuleOutcome;
use crate::stand_in::{receiver_rules, request_rules};
use anyhow::{Result, bail};
use serde_json::{Value, json};

/// Rule that a good client keeps.
pub(crate) struct ClientRule {
    /// Name of the rule, which never changes.
    pub(crate) name: &'static str,
    /// Text that says what a good client does, and why.
    pub(crate) text: &'static str,
    pub(crate) judge: fn(&ClientHistory) -> RuleOutcome,
}

/// Rules for good clients.
pub(crate) const RULES: [ClientRule; 12] = [
    ClientRule {
        name: "retry-after",
        text: "After a 429 the same request is not sent before the time in Retry-After.",
        judge: request_rules::retry_after,
    },
    ClientRule {
        name: "no-early-requests",
        text: "While a stated wait runs, no other request of the token is refused, too: each lengthens the next wait.",
        judge: request_rules::no_early_requests,
    },
    ClientRule {
        name: "no-retry-of-refusals",
        text: "What was refused with another 4xx is not sent again as it was: it would be refused again.",
        judge: request_rules::no_retry_of_refusals,
    },
    ClientRule {
        name: "pages-by-next-page",
        text: "A list is read on until no next_page is left.",
        judge: request_rules::pages_by_next_page,
    },
    ClientRule {
        name: "no-invented-offsets",
        text: "An offset is one from a next_page: it is sealed, and no number.",
        judge: request_rules::no_invented_offsets,
    },
    ClientRule {
        name: "keeps-sync-tokens",
        text: "Each request for events has the last sync token of its resource, that of a 412 included.",
        judge: request_rules::keeps_sync_tokens,
    },
    ClientRule {
        name: "looks-before-repeating",
        text: "After a create whose outcome is not known, the client looks before it sends the same again: the object may exist.",
        judge: request_rules::looks_before_repeating,
    },
    ClientRule {
        name: "answers-deliveries-in-time",
        text: "A delivery is answered within 10 seconds; the work comes after the answer.",
        judge: receiver_rules::answers_in_time,
    },
    ClientRule {
        name: "verifies-signatures",
        text: "A delivery with a wrong signature is refused.",
        judge: receiver_rules::verifies_signatures,
    },
    ClientRule {
        name: "keeps-the-first-secret",
        text: "A second handshake from a stranger does not replace the secret.",
        judge: receiver_rules::keeps_the_first_secret,
    },
    ClientRule {
        name: "pkce-and-state",
        text: "An authorization request has a challenge of PKCE (S256), and a state of its own (RFC 9700 section 2.1).",
        judge: receiver_rules::pkce_and_state,
    },
    ClientRule {
        name: "no-more-scopes-than-used",
        text: "An app asks for the scopes that its requests need, and no others.",
        judge: receiver_rules::no_more_scopes_than_used,
    },
];

/// Rules, each with the verdict on the clients.
pub(crate) struct ClientGrade(Vec<(&'static ClientRule, RuleOutcome)>);

impl ClientGrade {
    /// Judges a history by the rules with these names, separated by commas, or by all rules if `names` is `None`.
    ///
    /// # Errors
    /// Fails if a rule does not exist.
    pub(crate) fn of(history: &ClientHistory, names: Option<&str>) -> Result<Self> {
        let wanted: Vec<&str> = names
            .map(|names| names.split(',').collect())
            .unwrap_or_default();
        if let Some(unknown) = wanted
            .iter()
            .find(|name| !RULES.iter().any(|rule| rule.name == **name))
        {
            let all: Vec<&str> = RULES.iter().map(|rule| rule.name).collect();
            bail!("rules: `{unknown}` is none of {}", all.join(", "));
        }
        let rules = RULES.iter();
        let rules = rules.filter(|rule| wanted.is_empty() || wanted.contains(&rule.name));
        Ok(Self(
            rules.map(|rule| (rule, (rule.judge)(history))).collect(),
        ))
    }

    /// Formats the grade as JSON.
    pub(crate) fn json(&self) -> Value {
        let rows = self.0.iter().map(|(rule, verdict)| {
            let (word, why) = match verdict {
                RuleOutcome::Holds => ("holds", None),
                RuleOutcome::Broken(why) => ("broken", Some(&**why)),
                RuleOutcome::Skipped(why) => ("skipped", Some(*why)),
            };
            json!({ "rule": rule.name, "text": rule.text, "verdict": word, "why": why })
        });
        let rows: Vec<Value> = rows.collect();
        let is_broken = |(_, verdict): &(_, RuleOutcome)| matches!(verdict, RuleOutcome::Broken(_));
        json!({ "holds": !self.0.iter().any(is_broken), "rules": rows })
    }

    /// Returns the grade as JUnit XML, which continuous integration services display.
    pub(crate) fn junit(&self) -> String {
        let count = |is_counted: fn(&RuleOutcome) -> bool| {
            let verdicts = self.0.iter().map(|(_, verdict)| verdict);
            verdicts.filter(|verdict| is_counted(verdict)).count()
        };
        let mut out = format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"client\" tests=\"{}\" failures=\"{}\" skipped=\"{}\">\n",
            self.0.len(),
            count(|verdict| matches!(verdict, RuleOutcome::Broken(_))),
            count(|verdict| matches!(verdict, RuleOutcome::Skipped(_))),
        );
        for (rule, verdict) in &self.0 {
            let inner = match verdict {
                RuleOutcome::Holds => String::new(),
                RuleOutcome::Broken(why) => {
                    format!(
                        "<failure message=\"{}\">{}</failure>",
                        escaped(rule.text),
                        escaped(why)
                    )
                }
                RuleOutcome::Skipped(why) => format!("<skipped message=\"{}\"/>", escaped(why)),
            };
            out += &format!(
                "  <testcase classname=\"workgraph\" name=\"{}\">{inner}</testcase>\n",
                rule.name
            );
        }
        out += "</testsuite>\n";
        out
    }
}

/// Escapes the characters that XML reserves.
fn escaped(text: &str) -> String {
    quick_xml::escape::escape(text).into_owned()
}

#[cfg(test)]
#[path = "client_grade_tests.rs"]
mod tests;
