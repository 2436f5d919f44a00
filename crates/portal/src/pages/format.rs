//! Short texts: times and counts in readable form.
use std::time::SystemTime;

use maud::{Markup, html};
use workgraph_core::model::time::{Date, Time};

const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];

/// Formats a date in UTC: `21 Nov 2026`.
pub(super) fn day(at: SystemTime) -> Markup {
    let date = Date::of(Time::from_system(at));
    let (year, month, day) = date.year_month_day();
    let month = usize::try_from(month).unwrap_or(1).saturating_sub(1);
    let month = MONTHS.get(month).copied().unwrap_or_default();
    html! { time datetime=(date) { (day) " " (month) " " (year) } }
}

/// Formats a time in UTC, to the minute: `21 Nov 2026, 09:30 UTC`.
pub(super) fn moment(at: SystemTime) -> Markup {
    let text = Time::from_system(at).to_string();
    // A time is written as 2026-11-21T09:30:00.000Z.
    let minute = text.get(11..16).unwrap_or_default();
    html! { (day(at)) ", " (minute) " UTC" }
}

/// Formats a date, or returns `none` if there is none.
pub(super) fn day_or(at: Option<SystemTime>, none: &str) -> Markup {
    match at {
        Some(at) => day(at),
        None => html! { (none) },
    }
}

/// Formats a count: `1 scope`, `2 scopes`.
pub(super) fn count(n: usize, one: &str) -> String {
    let s = if n == 1 { "" } else { "s" };
    format!("{n} {one}{s}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, UNIX_EPOCH};

    #[test]
    fn days_and_counts_read_well() {
        let at = UNIX_EPOCH + Duration::from_secs(1_795_219_200);
        assert_eq!(
            day(at).into_string(),
            r#"<time datetime="2026-11-21">21 Nov 2026</time>"#
        );
        assert!(moment(at).into_string().ends_with("</time>, 00:00 UTC"));
        assert_eq!(day_or(None, "never").into_string(), "never");
        assert_eq!(
            (count(1, "app"), count(0, "app")),
            ("1 app".to_owned(), "0 apps".to_owned())
        );
    }
}
