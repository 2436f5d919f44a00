//! Decimal numbers: exact values of the numbers that clients write. They never become binary fractions on the way from text to
//! text, so what was written comes back.
use bigdecimal::num_bigint::BigInt;
use bigdecimal::{BigDecimal, RoundingMode};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;
use std::fmt;

/// Maximum number of characters of a number's text.
const TEXT_MAX: usize = 400;
/// Exponent of the bound: numbers are below 10 to this power, and a number below the inverse of the bound counts as zero.
const MAGNITUDE_MAX: i64 = 308;

/// A decimal number with all of its digits, below 10^308.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Decimal(BigDecimal);

impl Decimal {
    /// Reads a number: digits with a point, perhaps a sign and an exponent. Returns `None` for other text, and for a number
    /// that is too large.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        if text.len() > TEXT_MAX {
            return None;
        }
        let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let negative = mantissa.starts_with('-');
        let unsigned = mantissa.strip_prefix(['-', '+']).unwrap_or(mantissa);
        let (whole, part) = unsigned.split_once('.').unwrap_or((unsigned, ""));
        let digits = format!("{whole}{part}");
        if digits.is_empty() || !is_digits(&digits) {
            return None;
        }
        let unsigned = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
        if unsigned.is_empty() || !is_digits(unsigned) {
            return None;
        }
        let exponent: i64 = match unsigned.parse::<i32>() {
            Ok(size) if exponent.starts_with('-') => -i64::from(size),
            Ok(size) => size.into(),
            Err(_) if exponent.starts_with('-') => i32::MIN.into(),
            Err(_) => i32::MAX.into(),
        };
        let significant = digits.trim_start_matches('0');
        let length = |text: &str| i64::try_from(text.len()).unwrap_or(i64::MAX);
        // The number is below 10 to this power.
        let magnitude = length(significant) - length(part) + exponent;
        if significant.is_empty() || magnitude < -MAGNITUDE_MAX {
            return Some(Self::default());
        }
        if magnitude > MAGNITUDE_MAX {
            return None;
        }
        let number: BigInt = significant.parse().ok()?;
        let number = if negative { -number } else { number };
        let number = BigDecimal::new(number, length(part) - exponent);
        Some(Self(number.normalized()))
    }

    /// Returns `digits` divided by 10 to the power of `decimals`.
    #[must_use]
    pub fn new(digits: i64, decimals: u32) -> Self {
        Self(BigDecimal::new(digits.into(), decimals.into()).normalized())
    }

    /// Returns the nearest number with at most this many decimals; a half is rounded away from zero.
    #[must_use]
    pub fn rounded(&self, decimals: u32) -> Self {
        let rounded = self
            .0
            .with_scale_round(decimals.into(), RoundingMode::HalfUp);
        Self(rounded.normalized())
    }

    /// Returns the nearest binary number of 64 bits. It is used for parts of a distance and the order of an index; it never
    /// becomes text.
    #[must_use]
    pub fn nearest_f64(&self) -> f64 {
        self.to_string().parse().unwrap_or_default()
    }

    /// Returns the sum of both numbers.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        Self(&self.0 + &other.0)
    }

    /// Returns this number minus the other one.
    #[must_use]
    pub fn minus(&self, other: &Self) -> Self {
        Self(&self.0 - &other.0)
    }

    /// Returns the product of both numbers.
    #[must_use]
    pub fn times(&self, other: &Self) -> Self {
        Self(&self.0 * &other.0)
    }

    /// Returns the quotient with at most this many decimals; a half is rounded away from zero. A number divided by zero is zero.
    #[must_use]
    pub fn divided(&self, by: i64, decimals: u32) -> Self {
        if by == 0 {
            return Self::default();
        }
        // Computes with whole numbers, so that the quotient is rounded once: twice the remainder decides.
        let (digits, scale) = self.0.as_bigint_and_exponent();
        let (up, down) = match i64::from(decimals) - scale {
            more @ 0.. => (more, 0),
            less => (0, -less),
        };
        let power =
            |exponent: i64| BigInt::from(10).pow(u32::try_from(exponent).unwrap_or(u32::MAX));
        let (dividend, divisor) = (digits * power(up), BigInt::from(by) * power(down));
        let (quotient, rest) = (&dividend / &divisor, &dividend % &divisor);
        let away = rest.magnitude() * 2u32 >= *divisor.magnitude();
        let away = away && rest != BigInt::default();
        let negative = (dividend < BigInt::default()) != (divisor < BigInt::default());
        let step = BigInt::from(match (away, negative) {
            (false, _) => 0,
            (true, false) => 1,
            (true, true) => -1,
        });
        Self(BigDecimal::new(quotient + step, decimals.into()).normalized())
    }

    /// Returns true if the number is below zero.
    #[must_use]
    pub fn is_negative(&self) -> bool {
        *self < Self::default()
    }

    /// Returns the nearest whole number that fits 64 bits.
    #[must_use]
    pub fn nearest_i64(&self) -> i64 {
        let text = self.rounded(0).to_string();
        let bound = if self.is_negative() {
            i64::MIN
        } else {
            i64::MAX
        };
        text.parse().unwrap_or(bound)
    }
}

fn is_digits(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_digit())
}

impl From<i64> for Decimal {
    fn from(number: i64) -> Self {
        Self(number.into())
    }
}

impl fmt::Display for Decimal {
    /// Writes the number as JSON: all of its digits, no exponent, no zeros at the end of its decimals.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.normalized().to_plain_string())
    }
}

/// Serializes to a JSON number with all of its digits; only into JSON text.
impl Serialize for Decimal {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let raw = RawValue::from_string(self.to_string());
        raw.map_err(serde::ser::Error::custom)?
            .serialize(serializer)
    }
}

/// Deserializes from a JSON number with all of its digits; only from JSON text.
impl<'de> Deserialize<'de> for Decimal {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = <&RawValue>::deserialize(deserializer)?;
        Self::parse(raw.get()).ok_or_else(|| D::Error::custom("not a number"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use proptest::test_runner::TestRunner;

    fn decimal(text: &str) -> Decimal {
        Decimal::parse(text).unwrap()
    }

    #[test]
    fn numbers_come_back_as_they_were_written() {
        for (text, shown) in [
            ("76561198275305775", "76561198275305775"),
            ("98.126", "98.126"),
            ("-0.10", "-0.1"),
            ("-0", "0"),
            ("1e3", "1000"),
            ("12.5E-1", "1.25"),
            (".5", "0.5"),
            ("+5.", "5"),
            ("1e-999999999999", "0"),
            ("0e999999999999", "0"),
            ("0.30000000000000004", "0.30000000000000004"),
            (
                "123456789012345678901234567890.000000000000000001",
                "123456789012345678901234567890.000000000000000001",
            ),
        ] {
            assert_eq!(decimal(text).to_string(), shown, "{text}");
        }
        let long = "9".repeat(TEXT_MAX + 1);
        for text in [
            "", ".", "-", "e5", "1e", "1e+", "1_000", "0x10", "NaN", "inf", "1e308", "--1", " 1",
            "1-2", "1.-2", &long,
        ] {
            assert_eq!(Decimal::parse(text), None, "{text}");
        }
    }

    #[test]
    fn halves_are_rounded_away_from_zero() {
        for (text, decimals, shown) in [
            ("98.126", 2, "98.13"),
            ("98.125", 2, "98.13"),
            ("-98.125", 2, "-98.13"),
            ("98.1249999999999999999999", 2, "98.12"),
            ("1.005", 2, "1.01"),
            ("-0.4", 0, "0"),
            ("-0.5", 0, "-1"),
            ("0.999", 2, "1"),
            ("7", 6, "7"),
        ] {
            assert_eq!(decimal(text).rounded(decimals).to_string(), shown, "{text}");
        }
        for (number, by, decimals, shown) in [
            ("1", 3, 2, "0.33"),
            ("2", 3, 2, "0.67"),
            ("-2", 3, 2, "-0.67"),
            ("0.01", 2, 2, "0.01"),
            ("-0.01", 2, 2, "-0.01"),
            ("0.009", 2, 2, "0"),
            ("1e30", 4, 0, "250000000000000000000000000000"),
            ("5", 0, 2, "0"),
        ] {
            assert_eq!(
                decimal(number).divided(by, decimals).to_string(),
                shown,
                "{number} / {by}"
            );
        }
    }

    #[test]
    fn a_number_keeps_its_digits_in_json() {
        let text = "[12345678901234567890.123456789,null]";
        let read: Vec<Option<Decimal>> = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&read).unwrap(), text);
        assert!(serde_json::from_str::<Decimal>("\"5\"").is_err());
    }

    /// Arithmetic of decimals, for the laws that it must obey.
    struct Arithmetic {
        parse: fn(&str) -> Option<Decimal>,
        rounded: fn(&Decimal, u32) -> Decimal,
        plus: fn(&Decimal, &Decimal) -> Decimal,
        times: fn(&Decimal, &Decimal) -> Decimal,
    }

    const OURS: Arithmetic = Arithmetic {
        parse: Decimal::parse,
        rounded: Decimal::rounded,
        plus: Decimal::plus,
        times: Decimal::times,
    };

    /// Returns the name of a law that an arithmetic breaks on numbers of whole digits and a scale, checked by whole numbers of
    /// 128 bits.
    fn broken_law(
        arithmetic: &Arithmetic,
        (a, b): (i64, i64),
        scale: u32,
        to: u32,
    ) -> Option<&'static str> {
        let text = |digits: i128, scale: u32| {
            let sign = if digits < 0 { "-" } else { "" };
            let padded = format!("{:0>1$}", digits.unsigned_abs(), scale as usize + 1);
            let (whole, part) = padded.split_at(padded.len() - scale as usize);
            Decimal::parse(&format!("{sign}{whole}.{part}0")).unwrap()
        };
        let (x, y) = (text(a.into(), scale), text(b.into(), scale));
        let power = 10i128.pow(scale.saturating_sub(to));
        let (wide, sign) = (i128::from(a), i128::from(a.signum()));
        let rounded = (wide.abs() + power / 2) / power * sign;
        let laws = [
            (
                "text",
                (arithmetic.parse)(&x.to_string()) == Some(x.clone()),
            ),
            (
                "rounded",
                (arithmetic.rounded)(&x, to) == text(rounded, to.min(scale)),
            ),
            (
                "plus",
                (arithmetic.plus)(&x, &y) == text(wide + i128::from(b), scale),
            ),
            (
                "times",
                (arithmetic.times)(&x, &y) == text(wide * i128::from(b), 2 * scale),
            ),
        ];
        laws.into_iter()
            .find(|(_, holds)| !holds)
            .map(|(name, _)| name)
    }

    /// Returns numbers on which a law is tested: many have more digits than a double keeps, and many end in a half.
    fn cases() -> impl Strategy<Value = ((i64, i64), u32, u32)> {
        let digits = || {
            prop_oneof![
                any::<i64>(),
                any::<i32>().prop_map(|n| i64::from(n) * 10 + 5)
            ]
        };
        ((digits(), digits()), 0u32..9, 0u32..9)
    }

    #[test]
    fn a_twin_that_calculates_with_doubles_is_found() {
        fn double(number: f64) -> Decimal {
            Decimal::parse(&format!("{number}")).unwrap_or_default()
        }
        let twins = [
            (
                "text",
                Arithmetic {
                    parse: |text| text.parse().ok().map(double),
                    ..OURS
                },
            ),
            (
                "rounded",
                Arithmetic {
                    rounded: |number, to| {
                        let power = 10f64.powi(to.cast_signed());
                        double((number.nearest_f64() * power).round() / power)
                    },
                    ..OURS
                },
            ),
            (
                "plus",
                Arithmetic {
                    plus: |a, b| double(a.nearest_f64() + b.nearest_f64()),
                    ..OURS
                },
            ),
            (
                "times",
                Arithmetic {
                    times: |a, b| double(a.nearest_f64() * b.nearest_f64()),
                    ..OURS
                },
            ),
        ];
        for (law, twin) in twins {
            let mut runner = TestRunner::deterministic();
            let found = runner.run(&cases(), |(pair, scale, to)| {
                prop_assert_ne!(broken_law(&twin, pair, scale, to), Some(law));
                Ok(())
            });
            assert!(found.is_err(), "{law}");
        }
    }

    proptest! {
        #[test]
        fn decimals_obey_the_laws_of_whole_numbers((pair, scale, to) in cases()) {
            prop_assert_eq!(broken_law(&OURS, pair, scale, to), None);
        }

        #[test]
        fn decimals_are_as_exact_as_whole_numbers(a in any::<i32>(), b in any::<i32>(), scale in 0u32..9, to in 0u32..9) {
            let (x, y) = (Decimal::new(a.into(), scale), Decimal::new(b.into(), scale));
            prop_assert_eq!(x.cmp(&y), a.cmp(&b));
            prop_assert_eq!(x.plus(&y), Decimal::new(i64::from(a) + i64::from(b), scale));
            prop_assert_eq!(x.minus(&y).plus(&y), x.clone());
            prop_assert_eq!(x.times(&y), Decimal::new(i64::from(a) * i64::from(b), 2 * scale));
            prop_assert_eq!(x.divided(1, to), x.rounded(to));
            prop_assert_eq!(Decimal::parse(&x.to_string()), Some(x.clone()));
            let power = 10i64.pow(scale.saturating_sub(to));
            let rounded = (i64::from(a).abs() + power / 2) / power * i64::from(a).signum();
            prop_assert_eq!(x.rounded(to), Decimal::new(rounded, to.min(scale)));
        }
    }
}
