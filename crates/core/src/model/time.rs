//! Instants and days: the text form that the API reads and writes for `*_at` and `*_on` fields.
//!
//! Both types stay within the years 1 to 9999, so their text always has the same width and sorts like the value. The
//! module reads no clock.
use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use thiserror::Error;

const DAY_MILLIS: i64 = 86_400_000;
/// 0001-01-01 as days since the Unix epoch.
const FIRST_DAY: i32 = -719_162;
/// 9999-12-31 as days since the Unix epoch.
const LAST_DAY: i32 = 2_932_896;

/// An instant: milliseconds since the Unix epoch, in the years 1 to 9999 (UTC).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(i64);

/// A calendar day in the years 1 to 9999.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Date(i32);

/// A day or an instant: the text of a date alone, or of a date and a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// A date alone.
    Day(Date),
    /// A date and a time.
    Instant(Time),
}

impl Moment {
    /// Reads `YYYY-MM-DD`, or a text that [`Time::parse`] reads.
    ///
    /// # Errors
    /// Returns an error if the text is anything else, or outside the years 1 to 9999.
    pub fn parse(text: &str) -> Result<Self, TimeError> {
        let (day, time) = read(text).ok_or_else(|| TimeError::Time(shorten(text)))?;
        Ok(time.map_or(Self::Day(day), Self::Instant))
    }
}

/// A value that is not a date or a time; the message gives the valid form.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TimeError {
    /// Not a date; holds the (shortened) value.
    #[error("Date must be in ISO-8601 (yyyy-mm-dd) format, not: {0}")]
    Date(String),
    /// Not a date and time; holds the (shortened) value.
    #[error(
        "Date-time must be in ISO-8601 (yyyy-mm-ddThh:mm:ss.fffZ, or with a zone offset like +02:00) format, not: {0}"
    )]
    Time(String),
}

impl Time {
    /// The first millisecond of the year 1.
    pub const MIN: Self = Self(FIRST_DAY as i64 * DAY_MILLIS);
    /// The last millisecond of the year 9999.
    pub const MAX: Self = Self((LAST_DAY as i64 + 1) * DAY_MILLIS - 1);

    /// Returns the instant this many milliseconds after the Unix epoch, clamped to `MIN..=MAX`.
    #[must_use]
    pub const fn from_millis(millis: i64) -> Self {
        if millis < Self::MIN.0 {
            Self::MIN
        } else if millis > Self::MAX.0 {
            Self::MAX
        } else {
            Self(millis)
        }
    }

    /// Returns the milliseconds since the Unix epoch.
    #[must_use]
    pub const fn millis(self) -> i64 {
        self.0
    }

    /// Returns the instant of a system time, rounded down to a millisecond.
    #[must_use]
    pub fn from_system(time: SystemTime) -> Self {
        match time.duration_since(UNIX_EPOCH) {
            Ok(after) => Self::from_millis(i64::try_from(after.as_millis()).unwrap_or(i64::MAX)),
            Err(before) => {
                let millis = before.duration().as_nanos().div_ceil(1_000_000);
                Self::from_millis(i64::try_from(millis).map_or(i64::MIN, |n| -n))
            }
        }
    }

    /// Returns this instant as a system time.
    #[must_use]
    pub fn to_system(self) -> SystemTime {
        let distance = Duration::from_millis(self.0.unsigned_abs());
        let shifted = if self.0 >= 0 {
            UNIX_EPOCH.checked_add(distance)
        } else {
            UNIX_EPOCH.checked_sub(distance)
        };
        shifted.unwrap_or(UNIX_EPOCH)
    }

    /// Returns this instant moved by some milliseconds, clamped to `MIN..=MAX`.
    #[must_use]
    pub const fn add_millis(self, millis: i64) -> Self {
        Self::from_millis(self.0.saturating_add(millis))
    }

    /// Reads an RFC 3339 date and time; fractions are cut to milliseconds. Missing parts are read as zero: the seconds, the zone
    /// (UTC; `Z`, `+02:00` and `+0200` are zones), and the whole time after a date alone. A blank may replace the `T`, and the
    /// `+` of a zone, since a `+` that is not encoded in a query is decoded as a blank.
    ///
    /// # Errors
    /// Returns an error if the text is anything else, or outside the years 1 to 9999.
    pub fn parse(text: &str) -> Result<Self, TimeError> {
        let (day, time) = read(text).ok_or_else(|| TimeError::Time(shorten(text)))?;
        Ok(time.unwrap_or_else(|| day.start()))
    }

    /// Appends `YYYY-MM-DDTHH:mm:ss.fffZ`.
    pub fn write_to(self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.text());
    }

    fn text(self) -> [u8; 24] {
        let [y1, y2, y3, y4, _, m1, m2, _, d1, d2] = Date::of(self).text();
        let ms = self.0.rem_euclid(DAY_MILLIS);
        let [h1, h2] = two(ms / 3_600_000);
        let [i1, i2] = two(ms / 60_000 % 60);
        let [s1, s2] = two(ms / 1_000 % 60);
        let [_, f1, f2, f3] = four(ms % 1_000);
        [
            y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2, b'T', h1, h2, b':', i1, i2, b':', s1, s2,
            b'.', f1, f2, f3, b'Z',
        ]
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(std::str::from_utf8(&self.text()).map_err(|_| fmt::Error)?)
    }
}

impl Date {
    /// The first day of the year 1.
    pub const MIN: Self = Self(FIRST_DAY);
    /// The last day of the year 9999.
    pub const MAX: Self = Self(LAST_DAY);

    /// Returns the day of a year, month (1 to 12) and day of the month (1 to 31), if there is one.
    #[must_use]
    pub fn new(year: i32, month: u32, day: u32) -> Option<Self> {
        if !(1..=9999).contains(&year) || !(1..=days_in_month(year, month)?).contains(&day) {
            return None;
        }
        let (month, day) = (i32::try_from(month).ok()?, i32::try_from(day).ok()?);
        // Count from 0000-03-01, so that the leap day is the last of its year.
        let year = if month <= 2 { year - 1 } else { year };
        let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
        Some(Self(
            365 * year + year / 4 - year / 100 + year / 400 + day_of_year - 719_468,
        ))
    }

    /// Returns the day this many days after 1970-01-01, if it is in range.
    #[must_use]
    pub const fn from_days(days: i32) -> Option<Self> {
        if days < FIRST_DAY || days > LAST_DAY {
            None
        } else {
            Some(Self(days))
        }
    }

    /// Returns the days since 1970-01-01.
    #[must_use]
    pub const fn days(self) -> i32 {
        self.0
    }

    /// Returns the UTC day of an instant.
    #[must_use]
    pub fn of(time: Time) -> Self {
        Self(i32::try_from(time.0.div_euclid(DAY_MILLIS)).unwrap_or(LAST_DAY))
    }

    /// Returns midnight UTC, the first instant of the day.
    #[must_use]
    pub fn start(self) -> Time {
        Time(i64::from(self.0) * DAY_MILLIS)
    }

    /// Returns the day this many days later (earlier if negative), if it is in range.
    #[must_use]
    pub fn add_days(self, days: i32) -> Option<Self> {
        Self::from_days(self.0.checked_add(days)?)
    }

    /// Reads `YYYY-MM-DD`; the day must exist. From a date and time, as [`Time::parse`] reads them, it takes the date as written,
    /// in any zone.
    ///
    /// # Errors
    /// Returns an error if the text is anything else.
    pub fn parse(text: &str) -> Result<Self, TimeError> {
        let (day, _) = read(text).ok_or_else(|| TimeError::Date(shorten(text)))?;
        Ok(day)
    }

    /// Returns year, month (1 to 12) and day of the month (1 to 31).
    #[must_use]
    pub fn year_month_day(self) -> (i32, i32, i32) {
        let days = self.0 + 719_468;
        let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
        let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year + year / 4 - year / 100);
        let shifted = (5 * of_year + 2) / 153;
        let day = of_year - (153 * shifted + 2) / 5 + 1;
        let month = if shifted < 10 {
            shifted + 3
        } else {
            shifted - 9
        };
        (era * 400 + year + i32::from(month <= 2), month, day)
    }

    /// Appends `YYYY-MM-DD`.
    pub fn write_to(self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.text());
    }

    fn text(self) -> [u8; 10] {
        let (year, month, day) = self.year_month_day();
        let [y1, y2, y3, y4] = four(i64::from(year));
        let [m1, m2] = two(i64::from(month));
        let [d1, d2] = two(i64::from(day));
        [y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2]
    }
}

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(std::str::from_utf8(&self.text()).map_err(|_| fmt::Error)?)
    }
}

fn days_in_month(year: i32, month: u32) -> Option<u32> {
    Some(match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        _ => return None,
    })
}

/// Returns the two decimal digits of a number below 100.
fn two(n: i64) -> [u8; 2] {
    [digit(n / 10), digit(n)]
}

/// Returns the four decimal digits of a number below 10 000.
fn four(n: i64) -> [u8; 4] {
    [digit(n / 1_000), digit(n / 100), digit(n / 10), digit(n)]
}

fn digit(n: i64) -> u8 {
    b'0' + u8::try_from(n.rem_euclid(10)).unwrap_or(0)
}

fn shorten(text: &str) -> String {
    text.chars().take(64).collect()
}

/// Returns the number with these digits, or `None` if one is not a digit.
fn number(digits: &[u8]) -> Option<u32> {
    digits.iter().try_fold(0u32, |n, d| {
        d.is_ascii_digit()
            .then(|| n.checked_mul(10)?.checked_add(u32::from(d - b'0')))?
    })
}

fn parse_date(text: &[u8]) -> Option<Date> {
    let &[y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2] = text else {
        return None;
    };
    let year = i32::try_from(number(&[y1, y2, y3, y4])?).ok()?;
    Date::new(year, number(&[m1, m2])?, number(&[d1, d2])?)
}

/// Reads the date as written, and the instant if there is a time.
fn read(text: &str) -> Option<(Date, Option<Time>)> {
    let (date, rest) = text.as_bytes().split_at_checked(10)?;
    let date = parse_date(date)?;
    if rest.is_empty() {
        return Some((date, None));
    }
    let (&[b'T' | b't' | b' ', h1, h2, b':', m1, m2], rest) = rest.split_first_chunk::<6>()? else {
        return None;
    };
    let (second, (millis, zone)) = match rest {
        [b':', s1, s2, b'.', rest @ ..] => (number(&[*s1, *s2])?, fraction(rest)?),
        [b':', s1, s2, rest @ ..] => (number(&[*s1, *s2])?, (0, rest)),
        _ => (0, (0, rest)),
    };
    let (hour, minute) = (number(&[h1, h2])?, number(&[m1, m2])?);
    if hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    // A leap second counts as the second before it.
    let seconds = i64::from(hour * 3_600 + minute * 60 + second.min(59));
    let local = date.start().0 + seconds * 1_000 + millis;
    let utc = local - zone_minutes(zone)? * 60_000;
    let time = (Time::MIN.0..=Time::MAX.0).contains(&utc);
    time.then_some((date, Some(Time(utc))))
}

/// Reads 1 to 9 digits after the decimal point; returns milliseconds (the rest is cut off) and the text after the
/// digits.
fn fraction(text: &[u8]) -> Option<(i64, &[u8])> {
    let count = text.iter().take_while(|b| b.is_ascii_digit()).count();
    let (digits, rest) = text.split_at_checked(count)?;
    if !(1..=9).contains(&count) {
        return None;
    }
    let mut three = [b'0'; 3];
    three
        .iter_mut()
        .zip(digits)
        .for_each(|(to, from)| *to = *from);
    Some((i64::from(number(&three)?), rest))
}

/// Reads the offset of a zone in minutes east of UTC; 0 without a zone.
fn zone_minutes(zone: &[u8]) -> Option<i64> {
    let (sign, h1, h2, m1, m2) = match *zone {
        [] | [b'Z' | b'z'] => return Some(0),
        [sign @ (b'+' | b'-' | b' '), h1, h2, b':', m1, m2] => (sign, h1, h2, m1, m2),
        [sign @ (b'+' | b'-' | b' '), h1, h2, m1, m2] => (sign, h1, h2, m1, m2),
        _ => return None,
    };
    let (hours, minutes) = (number(&[h1, h2])?, number(&[m1, m2])?);
    if hours > 23 || minutes > 59 {
        return None;
    }
    let east = i64::from(hours * 60 + minutes);
    Some(if sign == b'-' { -east } else { east })
}

#[cfg(test)]
mod tests;
