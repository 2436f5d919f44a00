//! Form components: fields with labels, hints and problems, and the summary of problems.
use maud::{Markup, Render, html};
use workgraph_api::SCOPES;
use workgraph_auth::ScopeSet;
use workgraph_auth::tokens::scope::FULL_ACCESS_DESCRIPTION;

/// Problem with one field of a rejected form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormProblem {
    /// Id of the field; the summary links to it.
    pub field: &'static str,
    /// Text that says what is wrong and what would be correct.
    pub text: String,
}

impl FormProblem {
    /// Returns a problem with a field.
    #[must_use]
    pub fn new(field: &'static str, text: impl Into<String>) -> Self {
        Self {
            field,
            text: text.into(),
        }
    }
}

/// Returns the summary of the problems of a form, each linked to its field.
pub(super) fn summary(problems: &[FormProblem]) -> Markup {
    html! {
        @if !problems.is_empty() {
            div.problems role="alert" aria-labelledby="problems" {
                h2 #problems { "Please check what you entered" }
                ul {
                    @for problem in problems {
                        li { a href={ "#" (problem.field) } { (problem.text) } }
                    }
                }
            }
        }
    }
}

/// Field with its label, hint and problem.
pub(super) struct FormField<'a> {
    id: &'static str,
    pub(super) label: &'a str,
    hint: Option<&'a str>,
    problems: &'a [FormProblem],
}

impl<'a> FormField<'a> {
    pub(super) fn new(id: &'static str, label: &'a str, problems: &'a [FormProblem]) -> Self {
        Self {
            id,
            label,
            hint: None,
            problems,
        }
    }

    /// Sets the text between the field's name and its input.
    pub(super) fn hint(self, hint: &'a str) -> Self {
        Self {
            hint: Some(hint),
            ..self
        }
    }

    fn problem(&self) -> Option<&str> {
        let mut own = self
            .problems
            .iter()
            .filter(|problem| problem.field == self.id);
        own.next().map(|problem| problem.text.as_str())
    }

    /// Returns the ids of the elements that describe the field.
    pub(super) fn described(&self) -> Option<String> {
        let hint = self.hint.map(|_| format!("{}-hint", self.id));
        let wrong = self.problem().map(|_| format!("{}-wrong", self.id));
        let all: Vec<String> = hint.into_iter().chain(wrong).collect();
        (!all.is_empty()).then(|| all.join(" "))
    }

    pub(super) fn invalid(&self) -> Option<&'static str> {
        self.problem().map(|_| "true")
    }

    /// Returns the hint and the problem, which are shown between a field's name and its input.
    pub(super) fn says(&self) -> Markup {
        html! {
            @if let Some(hint) = self.hint {
                p.hint id={ (self.id) "-hint" } { (hint) }
            }
            @if let Some(problem) = self.problem() {
                p.wrong id={ (self.id) "-wrong" } { (problem) }
            }
        }
    }

    /// Returns label, hint and problem around an input.
    pub(super) fn around(&self, input: &Markup) -> Markup {
        html! {
            div.field {
                label for=(self.id) { (self.label) }
                (self.says())
                (input)
            }
        }
    }

    /// Returns the input for a line of text.
    pub(super) fn line(&self, kind: &str, value: &str, complete: &str, most: usize) -> Markup {
        self.around(&html! {
            input type=(kind) id=(self.id) name=(self.id) value=(value) autocomplete=(complete)
                maxlength=(most) required aria-describedby=[self.described()] aria-invalid=[self.invalid()];
        })
    }

    /// Returns the input for a line of text that may be empty.
    pub(super) fn optional_line(&self, value: &str, most: usize) -> Markup {
        self.around(&html! {
            input type="text" id=(self.id) name=(self.id) value=(value) autocomplete="off"
                maxlength=(most) aria-describedby=[self.described()] aria-invalid=[self.invalid()];
        })
    }

    /// Returns the input for one of several choices: each has its value, its label, and true if it is chosen.
    pub(super) fn choice<W: Render>(
        &self,
        choices: impl Iterator<Item = (u64, W, bool)>,
    ) -> Markup {
        self.around(&html! {
            select id=(self.id) name=(self.id) aria-invalid=[self.invalid()] aria-describedby=[self.described()] {
                @for (value, words, chosen) in choices {
                    option value=(value) selected[chosen] { (words) }
                }
            }
        })
    }
}

/// Returns the input for full permissions or a list of scopes. The style sheet hides the list if full permissions are
/// chosen.
pub(super) fn permissions(
    scopes: ScopeSet,
    legend: &str,
    full: &str,
    only: &str,
    problems: &[FormProblem],
) -> Markup {
    let field = FormField::new("scopes", legend, problems);
    let all = scopes.is_full();
    html! {
        fieldset #scopes tabindex="-1" aria-describedby=[field.described()] {
            legend { (legend) }
            (field.says())
            div.tick {
                input.all #full type="radio" name="permissions" value="full" checked[all];
                label for="full" { "Full permissions" small { (FULL_ACCESS_DESCRIPTION) ". " (full) } }
            }
            div.tick {
                input #only type="radio" name="permissions" value="scopes" checked[!all];
                label for="only" { "Only these scopes" small { (only) } }
            }
            div.grid {
                @for scope in SCOPES.iter() {
                    div.tick {
                        input id={ "s-" (scope.name) } type="checkbox" name="scope" value=(scope.name)
                            checked[!all && scopes.allows(scope.name)];
                        label for={ "s-" (scope.name) } { (scope.description) small { code { (scope.name) } } }
                    }
                }
            }
        }
    }
}
