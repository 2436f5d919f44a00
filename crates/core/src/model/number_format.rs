//! Forms in which numbers are kept and shown: decimals, units, durations.
use crate::model::decimal::Decimal;
use std::borrow::Cow;

/// Format of a number: its decimals, the texts around it, and whether it is a duration.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct NumberFormat {
    /// Number of decimals shown.
    pub precision: u32,
    /// Number of places that the decimal point moves to the right when a number is shown: two for percentages.
    pub shift: u32,
    /// Text before the number.
    pub before: String,
    /// Text after the number.
    pub after: String,
    /// True if the number is in minutes, shown as hours and minutes.
    pub duration: bool,
}

impl NumberFormat {
    /// Adds the parts of a currency or a percentage.
    pub fn set_unit(&mut self, unit: &str, currency: Option<&str>) {
        match unit {
            "currency" => self.before = sign(currency),
            "percentage" => {
                self.shift = 2;
                self.after.push('%');
            }
            _ => {}
        }
    }

    /// Returns the number of decimals that a number keeps: all that are shown. Durations are whole minutes.
    #[must_use]
    pub const fn decimals(&self) -> u32 {
        if self.duration {
            return 0;
        }
        self.precision + self.shift
    }

    /// Returns a stored number, rounded to the decimals that it keeps. Numbers are usually rounded when they are written,
    /// but numbers from earlier versions, or from before a change of the format, may have more decimals.
    #[must_use]
    pub fn kept<'n>(&self, stored: &'n str) -> Cow<'n, str> {
        let decimals = stored.split_once('.').map_or(0, |(_, part)| part.len());
        let plain = stored.bytes().all(|b| !matches!(b, b'e' | b'E'));
        if plain && decimals <= self.decimals() as usize {
            return Cow::Borrowed(stored);
        }
        let number = Decimal::parse(stored).unwrap_or_default();
        Cow::Owned(number.rounded(self.decimals()).to_string())
    }

    /// Returns a stored number in its display form.
    #[must_use]
    pub fn show(&self, stored: &str) -> String {
        let kept = self.kept(stored);
        if self.duration {
            return duration(&kept);
        }
        let (negative, digits) = match kept.strip_prefix('-') {
            Some(digits) => (digits.bytes().any(|b| matches!(b, b'1'..=b'9')), digits),
            None => (false, &*kept),
        };
        let minus = if negative { "-" } else { "" };
        let digits = self.digits(digits);
        if self.before.ends_with(' ') {
            return format!("{}{minus}{digits}{}", self.before, self.after);
        }
        format!("{minus}{}{digits}{}", self.before, self.after)
    }

    /// Returns the digits of a number without its sign, with the point moved and the decimals that are shown.
    fn digits(&self, kept: &str) -> String {
        let (whole, part) = kept.split_once('.').unwrap_or((kept, ""));
        let decimals = self.decimals() as usize;
        let all = format!("{whole}{part:0<decimals$}");
        let (whole, part) = all
            .split_at_checked(all.len().saturating_sub(self.precision as usize))
            .unwrap_or((&all, ""));
        let whole = match whole.trim_start_matches('0') {
            "" => "0",
            whole => whole,
        };
        if part.is_empty() {
            return whole.to_owned();
        }
        format!("{whole}.{part}")
    }
}

/// Returns whole minutes as hours and minutes.
fn duration(minutes: &str) -> String {
    let unsigned = minutes.strip_prefix('-').unwrap_or(minutes);
    let Ok(minutes_total) = unsigned.parse::<u128>() else {
        return format!("{minutes}m");
    };
    let minus = if minutes_total > 0 && minutes.starts_with('-') {
        "-"
    } else {
        ""
    };
    let (hours, rest) = (minutes_total / 60, minutes_total % 60);
    match (hours > 0, rest > 0) {
        (true, true) => format!("{minus}{hours}h {rest}m"),
        (true, false) => format!("{minus}{hours}h"),
        _ => format!("{minus}{rest}m"),
    }
}

/// Returns the text before an amount of a currency: the currency's sign, or its code.
fn sign(code: Option<&str>) -> String {
    match code.unwrap_or("") {
        "USD" => "$".to_owned(),
        "EUR" => "€".to_owned(),
        "GBP" => "£".to_owned(),
        "JPY" => "¥".to_owned(),
        "INR" => "₹".to_owned(),
        "" => String::new(),
        other => format!("{other} "),
    }
}
