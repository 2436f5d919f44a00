//! The rich texts of recipes: that of a task, and those of all that is below it.
use crate::rich::Rich;
use serde_json::{Map, Value};

/// Where a task of a recipe has its rich text, and the plain form of it.
const RICH: &str = "html_description";
const PLAIN: &str = "description";
/// Where it has what is below it.
const BELOW: &str = "subtasks";

/// The rich texts in a recipe, which is stored as JSON; none if it can't be read.
pub(super) fn texts(recipe: &str) -> Vec<String> {
    let mut texts = Vec::new();
    let mut recipe = serde_json::from_str(recipe).unwrap_or_default();
    each(&mut recipe, &mut |task| {
        let html = task.get(RICH).and_then(Value::as_str);
        texts.extend(html.map(str::to_owned));
    });
    texts
}

/// A recipe with the rich texts that `read` gives in place of its own, and the plain forms of those. What it gives
/// nothing for stays.
pub(super) fn with_texts(recipe: &str, read: &mut dyn FnMut(&str) -> Option<Rich>) -> String {
    let mut recipe = serde_json::from_str(recipe).unwrap_or_default();
    each(&mut recipe, &mut |task| {
        let html = task.get(RICH).and_then(Value::as_str);
        let Some(rich) = html.and_then(|html| read(html)) else {
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
            (html != "B").then(|| Rich {
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
