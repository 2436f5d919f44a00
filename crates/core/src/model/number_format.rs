//! Forms in which numbers are shown: decimals, units, durations.

/// Form in which a number is shown.
#[derive(Clone, PartialEq, Debug)]
pub struct NumberFormat {
    /// Number of decimals shown.
    pub precision: usize,
    /// Factor by which a number is multiplied before it is shown.
    pub factor: f64,
    /// Text before the number.
    pub before: String,
    /// Text after the number.
    pub after: String,
    /// True if the number is in minutes, shown as hours and minutes.
    pub duration: bool,
}

impl Default for NumberFormat {
    fn default() -> Self {
        Self {
            precision: 0,
            factor: 1.0,
            before: String::new(),
            after: String::new(),
            duration: false,
        }
    }
}

impl NumberFormat {
    /// Adds the parts of a currency or a percentage.
    pub fn set_unit(&mut self, unit: &str, currency: Option<&str>) {
        match unit {
            "currency" => self.before = sign(currency),
            "percentage" => {
                self.factor = 100.0;
                self.after.push('%');
            }
            _ => {}
        }
    }

    /// Returns a number in its display form.
    #[must_use]
    pub fn show(&self, number: f64) -> String {
        if self.duration {
            let minutes = number.abs().round();
            let (hours, rest) = ((minutes / 60.0).floor(), minutes % 60.0);
            let minus = if number < 0.0 && minutes > 0.0 {
                "-"
            } else {
                ""
            };
            return match (hours > 0.0, rest > 0.0) {
                (true, true) => format!("{minus}{hours}h {rest}m"),
                (true, false) => format!("{minus}{hours}h"),
                _ => format!("{minus}{rest}m"),
            };
        }
        let shown = rounded(number * self.factor, self.precision);
        let (minus, digits) = match shown.strip_prefix('-') {
            Some(digits) => ("-", digits),
            None => ("", shown.as_str()),
        };
        if self.before.ends_with(' ') {
            return format!("{}{minus}{digits}{}", self.before, self.after);
        }
        format!("{minus}{}{digits}{}", self.before, self.after)
    }
}

/// Returns a number with this many decimals; halves are rounded away from zero.
fn rounded(number: f64, precision: usize) -> String {
    let mut shown = format!("{number:.precision$}");
    let scaled = number.abs() * 10f64.powi(i32::try_from(precision).unwrap_or(0));
    if (scaled.fract() - 0.5).abs() < 1e-6 {
        // The decimal digits decide about a half, not the nearest binary number: 1.005 is shown as 1.01.
        let typed = number.to_string();
        let half = typed.strip_suffix('5').filter(|rest| {
            let decimals = rest.split_once('.').map(|(_, decimals)| decimals.len());
            decimals == Some(precision)
        });
        if let Some(up) = half.and_then(|rest| format!("{rest}6").parse::<f64>().ok()) {
            shown = format!("{up:.precision$}");
        }
    }
    match shown.strip_prefix('-') {
        Some(zero) if zero.bytes().all(|b| matches!(b, b'0' | b'.')) => zero.to_owned(),
        _ => shown,
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
