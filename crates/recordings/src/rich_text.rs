//! Identifiers in rich text: only in tags.

use crate::identifier_mapping::IdentifierMapping;

/// Returns a rich text with the identifiers in its tags replaced.
pub(crate) fn translate_tags(text: &str, mapping: &IdentifierMapping) -> String {
    in_tags(text, |tag| mapping.translate(tag))
}

/// Returns a rich text without the addresses of objects that are linked by gid; each server has its own.
pub(crate) fn without_object_links(text: &str) -> String {
    in_tags(text, |tag| {
        let Some((before, link)) = tag.split_once("href=\"") else {
            return tag.to_owned();
        };
        match link.split_once('"') {
            Some((_, after)) if tag.contains("data-asana-gid") => {
                format!("{before}href=\"\"{after}")
            }
            _ => tag.to_owned(),
        }
    })
}

fn in_tags(text: &str, change: impl Fn(&str) -> String) -> String {
    let mut changed = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('<') {
        changed.push_str(before);
        changed.push('<');
        let end = after.find(['<', '>']).unwrap_or(0);
        let is_tag = after.get(end..).is_some_and(|rest| rest.starts_with('>'));
        let (tag, next) = after.split_at(if is_tag { end } else { 0 });
        changed.push_str(&change(tag));
        rest = next;
    }
    changed.push_str(rest);
    changed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_tags_are_changed() {
        let mut mapping = IdentifierMapping::default();
        mapping.learn_identifier("12", "77");
        let text = "<body>12 <a data-asana-gid=\"12\"/> < 12</body>";
        let changed = "<body>12 <a data-asana-gid=\"77\"/> < 12</body>";
        assert_eq!(translate_tags(text, &mapping), changed);
        assert_eq!(translate_tags("12 <", &mapping), "12 <");
    }

    #[test]
    fn links_of_people_stay() {
        let text =
            "<a href=\"https://a/0/12\" data-asana-gid=\"12\">x</a><a href=\"https://b\">y</a>";
        let kept = "<a href=\"\" data-asana-gid=\"12\">x</a><a href=\"https://b\">y</a>";
        assert_eq!(without_object_links(text), kept);
    }
}
