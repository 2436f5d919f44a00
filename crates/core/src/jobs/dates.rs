//! Moving dates: by how many days a copy is later, and what a weekend does to that.
use crate::graph::View;
use crate::node::Node;
use crate::resources::task;
use crate::time::{Date, Time};
use serde::{Deserialize, Serialize};

const DAY_MS: i64 = 86_400_000;

/// How the dates of copies differ from those of their originals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Shift {
    /// Days later; earlier if negative.
    pub days: i32,
    /// A day that would fall on a weekend is the Monday after it.
    pub skip_weekends: bool,
}

/// The day that some dates are to begin or end with, in days since 1970-01-01.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Anchor {
    /// The first of all days.
    Start(i32),
    /// The last due day.
    Due(i32),
}

/// The first and the last day of what was looked at so far, in days since 1970-01-01.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Span {
    /// The first start or due day.
    pub first: Option<i32>,
    /// The last due day.
    pub last: Option<i32>,
}

impl Shift {
    /// A day as it is in the copy; days out of the range of dates stay as they are.
    #[must_use]
    pub fn day(self, day: Date) -> Date {
        let moved = day.add_days(self.days).unwrap_or(day);
        if !self.skip_weekends {
            return moved;
        }
        // 1970-01-01 was a Thursday: 5 and 6 are Saturday and Sunday.
        let over = match (moved.days() + 3).rem_euclid(7) {
            5 => 2,
            6 => 1,
            _ => 0,
        };
        moved.add_days(over).unwrap_or(moved)
    }

    /// An instant as it is in the copy: another day at the same time of day.
    #[must_use]
    pub fn time(self, time: Time) -> Time {
        let day = Date::of(time);
        let days = i64::from(self.day(day).days()) - i64::from(day.days());
        time.add_millis(days * DAY_MS)
    }
}

impl Span {
    /// Takes a task's days in.
    pub fn add(&mut self, node: &Node) {
        let due = node.get(task::DUE_ON).map(Date::days);
        let start = node.get(task::START_ON).map(Date::days).or(due);
        self.first = match (self.first, start) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        self.last = self.last.max(due);
    }

    /// Takes the days of all rows in.
    pub fn add_rows(&mut self, view: &View) {
        for node in view.rows.gids.iter().filter_map(|g| view.node(*g)) {
            self.add(node);
        }
    }

    /// How far the days must move so that they begin or end with the anchor.
    #[must_use]
    pub fn shift_to(self, anchor: Anchor) -> i32 {
        match anchor {
            Anchor::Start(day) => self.first.map_or(0, |first| day.saturating_sub(first)),
            Anchor::Due(day) => self.last.map_or(0, |last| day.saturating_sub(last)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn day(text: &str) -> Date {
        Date::parse(text).unwrap()
    }

    #[test]
    fn days_move_and_pass_over_weekends_if_told_to() {
        let shift = |days, skip_weekends| Shift {
            days,
            skip_weekends,
        };
        // 2031-01-03 is a Friday.
        for (days, skip, moved) in [
            (0, true, "2031-01-03"),
            (1, false, "2031-01-04"),
            (1, true, "2031-01-06"),
            (2, true, "2031-01-06"),
            (3, true, "2031-01-06"),
            (-5, true, "2030-12-30"),
        ] {
            assert_eq!(shift(days, skip).day(day("2031-01-03")), day(moved));
        }
        let at = Time::parse("2031-01-03T10:30:00Z").unwrap();
        assert_eq!(
            shift(1, true).time(at).to_string(),
            "2031-01-06T10:30:00.000Z"
        );
        assert_eq!(shift(i32::MAX, false).day(Date::MAX), Date::MAX);
    }

    #[test]
    fn a_span_moves_to_its_anchor() {
        let span = Span {
            first: Some(10),
            last: Some(20),
        };
        assert_eq!(span.shift_to(Anchor::Start(17)), 7);
        assert_eq!(span.shift_to(Anchor::Due(17)), -3);
        assert_eq!(Span::default().shift_to(Anchor::Due(17)), 0);
    }
}
