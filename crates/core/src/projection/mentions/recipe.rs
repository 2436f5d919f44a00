//! The rich texts of recipes: those of a task and of its subtasks.
use serde_json::{Map, Value};
use workgraph_richtext::RichText;

/// Key of the rich text of a task, with the key of its plain form.
const RICH: &str = "html_description";
const PLAIN: &str = "description";
/// Key of the subtasks of a task.
const BELOW: &str = "subtasks";

/// Returns the rich texts in a recipe, which is stored as JSON; none if it can't be read.
pub(super) fn texts(recipe: &str) -> Vec<String> {
    let mut texts = Vec::new();
    let mut recipe = serde_json::from_str(recipe).unwrap_or_default();
    each(&mut recipe, &mut |task| {
        let html = task.get(RICH).and_then(Value::as_str);
        texts.extend(html.map(str::to_owned));
    });
    texts
}

/// Returns a recipe with the rich texts that `read` returns in place of its own, and their plain forms. Texts for which
/// `read` returns `None` stay.
pub(super) fn with_texts(recipe: &str, read: &mut dyn FnMut(&str) -> Option<RichText>) -> String {
    let mut recipe = serde_json::from_str(recipe).unwrap_or_default();
    each(&mut recipe, &mut |task| {
        let html = task.get(RICH).and_then(Value::as_str);
        let Some(rich) = html.and_then(&mut *read) else {
            return;
        };
        for (key, text) in [(RICH, rich.html), (PLAIN, rich.text)] {
            if let Some(stored) = task.get_mut(key) {
                *stored = Value::String(text);
            }
        }
    });
    recipe.to_string()
}

/// Visits each task of a recipe.
fn each(recipe: &mut Value, visit: &mut dyn FnMut(&mut Map<String, Value>)) {
    let Some(task) = recipe.as_object_mut() else {
        return;
    };
    visit(task);
    let below = task.get_mut(BELOW).and_then(Value::as_array_mut);
    for task in below.into_iter().flatten() {
        each(task, visit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn texts_of_all_tasks_are_read_and_written_and_nothing_else_is() {
        let recipe = json!({"name": "a", "html_description": "A", "description": "a", "subtasks": [
            {"html_description": "B"}, "no task", {"subtasks": [{"description": "c", "html_description": "C"}]}]});
        assert_eq!(texts(&recipe.to_string()), ["A", "B", "C"]);
        let written = with_texts(&recipe.to_string(), &mut |html| {
            (html != "B").then(|| RichText {
                html: format!("{html}!"),
                text: html.to_lowercase() + "!",
            })
        });
        let wanted = json!({"name": "a", "html_description": "A!", "description": "a!", "subtasks": [
            {"html_description": "B"}, "no task", {"subtasks": [{"description": "c!", "html_description": "C!"}]}]});
        assert_eq!(written, wanted.to_string());
        assert!(texts("{").is_empty());
    }
}
