//! Meaning of a field of a body, by its name.

/// Meaning of a field, as far as the comparison needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FieldKind {
    /// Identifier of an object.
    Identifier,
    /// Token of a page or of a synchronisation: new in each reply.
    Token,
    /// Address that the server makes.
    Link,
    /// Text that is different on each server and that no later request contains, such as a phrase or a secret.
    Incidental,
    /// Time of day with a date.
    Time,
    /// Day without a time.
    Day,
    /// Rich text, in which only links are compared as identifiers.
    RichText,
    /// Text that a person wrote; nothing in it counts as an identifier.
    FreeText,
    /// Any other field.
    Plain,
}

/// Name of the field of a reply that has the secret of a new webhook.
pub(crate) const HOOK_SECRET: &str = "X-Hook-Secret";

/// Returns the meaning of the field with a name.
pub(crate) fn kind_of(name: &str) -> FieldKind {
    let ends = |ends: &[&str]| ends.iter().any(|end| name.ends_with(end));
    match name {
        "offset" | "sync" => FieldKind::Token,
        "uri" | "path" | "location" | "Location" => FieldKind::Link,
        "phrase" | "help" | HOOK_SECRET => FieldKind::Incidental,
        "next_attempt_after" => FieldKind::Time,
        "name" | "notes" | "text" | "query" => FieldKind::FreeText,
        "gid" => FieldKind::Identifier,
        _ if ends(&["_gid"]) => FieldKind::Identifier,
        _ if ends(&["_url"]) || name.starts_with("image_") => FieldKind::Link,
        _ if ends(&["_at", "_timestamp"]) => FieldKind::Time,
        _ if ends(&["_on"]) => FieldKind::Day,
        _ if name.starts_with("html_") => FieldKind::RichText,
        _ => FieldKind::Plain,
    }
}

/// Returns the form of a time (RFC 3339) or a day: its text with 0 in place of each digit. `None` if the text is neither.
pub(crate) fn form_of_time(text: &str) -> Option<String> {
    let zero = |c: char| if c.is_ascii_digit() { '0' } else { c };
    let form: String = text.chars().map(zero).collect();
    let rest = form.strip_prefix("0000-00-00")?;
    let is_day = rest.is_empty();
    let is_time = rest.strip_prefix("T00:00:00").is_some_and(|rest| {
        let zone = rest
            .strip_prefix('.')
            .map_or(rest, |fraction| fraction.trim_start_matches('0'));
        matches!(zone, "Z" | "+00:00" | "-00:00")
    });
    (is_day || is_time).then_some(form)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_what_fields_mean() {
        for (name, kind) in [
            ("gid", FieldKind::Identifier),
            ("parent_gid", FieldKind::Identifier),
            ("sync", FieldKind::Token),
            ("permalink_url", FieldKind::Link),
            ("image_21x21", FieldKind::Link),
            ("created_at", FieldKind::Time),
            ("due_on", FieldKind::Day),
            ("html_notes", FieldKind::RichText),
            ("resource_type", FieldKind::Plain),
        ] {
            assert_eq!(kind_of(name), kind, "{name}");
        }
    }

    #[test]
    fn times_and_days_have_a_form() {
        for (text, form) in [
            ("2026-03-01", Some("0000-00-00")),
            ("2026-03-01T09:30:00.125Z", Some("0000-00-00T00:00:00.000Z")),
            (
                "2026-03-01T09:30:00+01:00",
                Some("0000-00-00T00:00:00+00:00"),
            ),
            ("2026-03-01T09:30", None),
            ("2026-03-01 09:30:00Z", None),
            ("soon", None),
        ] {
            assert_eq!(form_of_time(text).as_deref(), form, "{text}");
        }
    }
}
