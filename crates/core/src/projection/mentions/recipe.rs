//! The rich texts of recipes, for a task and its subtasks.
use crate::model::exact_json::RawMembers;
use crate::model::node::json_string;
use serde_json::value::RawValue;
use workgraph_richtext::RichText;

/// Key of the rich text of a task, with the key of its plain form.
const RICH: &str = "html_description";
const PLAIN: &str = "description";
/// Key of the subtasks of a task.
const BELOW: &str = "subtasks";

/// Returns the rich texts in a recipe, which is stored as JSON; none if it can't be read.
pub(super) fn texts(recipe: &str) -> Vec<String> {
    let mut texts = Vec::new();
    // Nothing is written: a recipe that can't be read has no texts.
    let _unchanged = rewritten(recipe, &mut |html| {
        texts.push(html.to_owned());
        None
    });
    texts
}

/// Returns a recipe whose rich texts, and their plain forms, are replaced by the texts that `read` returns. Texts for which
/// `read` returns `None` stay as they are, and so does everything else, including each digit of a number.
pub(super) fn with_texts(recipe: &str, read: &mut dyn FnMut(&str) -> Option<RichText>) -> String {
    rewritten(recipe, read).unwrap_or_else(|_| "null".to_owned())
}

/// Returns the part of a recipe about a task with other rich texts; other values stay.
fn rewritten(
    part: &str,
    read: &mut dyn FnMut(&str) -> Option<RichText>,
) -> serde_json::Result<String> {
    let raw: &RawValue = serde_json::from_str(part)?;
    if !raw.get().starts_with('{') {
        return Ok(raw.get().to_owned());
    }
    let RawMembers(task) = serde_json::from_str(raw.get())?;
    let own = task.iter().find(|(name, _)| name == RICH);
    let own = own.and_then(|(_, html)| serde_json::from_str::<String>(html.get()).ok());
    let rich = own.and_then(|html| read(&html));
    let mut written = Vec::new();
    for (name, value) in task {
        let value = match (name.as_str(), &rich) {
            (RICH, Some(rich)) => json_string(&rich.html),
            (PLAIN, Some(rich)) => json_string(&rich.text),
            (BELOW, _) if value.get().starts_with('[') => {
                let below: Vec<&RawValue> = serde_json::from_str(value.get())?;
                let below = below.into_iter().map(|task| rewritten(task.get(), read));
                let below: Vec<String> = below.collect::<serde_json::Result<_>>()?;
                format!("[{}]", below.join(","))
            }
            _ => value.get().to_owned(),
        };
        written.push(format!("{}:{value}", json_string(&name)));
    }
    Ok(format!("{{{}}}", written.join(",")))
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
        let numbers =
            r#"{"html_description":"A","custom_fields":[{"number_value":12345678901234567.5}]}"#;
        assert_eq!(with_texts(numbers, &mut |_| None), numbers);
    }
}
