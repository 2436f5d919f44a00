//! Date shifts: the number of days between the dates of originals and copies, and the treatment of weekends.
use crate::model::node::Node;
use crate::model::resources::task;
use crate::model::time::{Date, Time};
use crate::storage::ReadView;
use serde::{Deserialize, Serialize};

const DAY_MS: i64 = 86_400_000;

/// Difference between the dates of copies and the dates of their originals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct DateShift {
    /// Number of days that are added to the dates of copies; may be negative.
    pub days: i32,
    /// True if days that would fall on a weekend move to the Monday after it.
    pub skip_weekends: bool,
}

/// Day on which the dates of a copy should begin or end, in days since 1970-01-01.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum DateAnchor {
    /// First of all days.
    Start(i32),
    /// Last due day.
    Due(i32),
}

/// First and last day of the tasks read so far, in days since 1970-01-01.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct DateSpan {
    /// First start or due day.
    pub first: Option<i32>,
    /// Last due day.
    pub last: Option<i32>,
}

impl DateShift {
    /// Returns the day of the copy; days out of the range of dates do not move.
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

    /// Returns the instant of the copy: another day at the same time of day.
    #[must_use]
    pub fn time(self, time: Time) -> Time {
        let day = Date::of(time);
        let days = i64::from(self.day(day).days()) - i64::from(day.days());
        time.add_millis(days * DAY_MS)
    }
}

impl DateSpan {
    /// Adds the days of a task.
    pub fn add(&mut self, node: &Node) {
        let due = node.get(task::DUE_ON).map(Date::days);
        let start = node.get(task::START_ON).map(Date::days).or(due);
        self.first = match (self.first, start) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        self.last = self.last.max(due);
    }

    /// Adds the days of all rows of a page.
    pub fn add_rows(&mut self, view: &ReadView) {
        for node in view.rows.gids.iter().filter_map(|g| view.node(*g)) {
            self.add(node);
        }
    }

    /// Returns the number of days to move dates, so that they begin or end with the anchor.
    #[must_use]
    pub fn shift_to(self, anchor: DateAnchor) -> i32 {
        match anchor {
            DateAnchor::Start(day) => self.first.map_or(0, |first| day.saturating_sub(first)),
            DateAnchor::Due(day) => self.last.map_or(0, |last| day.saturating_sub(last)),
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
        let shift = |days, skip_weekends| DateShift {
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
        let span = DateSpan {
            first: Some(10),
            last: Some(20),
        };
        assert_eq!(span.shift_to(DateAnchor::Start(17)), 7);
        assert_eq!(span.shift_to(DateAnchor::Due(17)), -3);
        assert_eq!(DateSpan::default().shift_to(DateAnchor::Due(17)), 0);
    }
}
