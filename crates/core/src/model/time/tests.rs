//! Tests of instants and days, compared with jiff in its range.
use super::*;
use proptest::prelude::*;

fn times() -> impl Strategy<Value = Time> {
    (Time::MIN.0..=Time::MAX.0).prop_map(Time)
}

fn dates() -> impl Strategy<Value = Date> {
    (FIRST_DAY..=LAST_DAY).prop_map(Date)
}

#[test]
fn the_edges_of_the_range() {
    assert_eq!(Time::MIN.to_string(), "0001-01-01T00:00:00.000Z");
    assert_eq!(Time::MAX.to_string(), "9999-12-31T23:59:59.999Z");
    assert_eq!(Date::MIN.to_string(), "0001-01-01");
    assert_eq!(Date::MAX.to_string(), "9999-12-31");
    assert_eq!(Date::MAX.add_days(1), None);
    assert_eq!(Date::MIN.add_days(-1), None);
    assert_eq!(Time::from_millis(i64::MAX), Time::MAX);
    assert_eq!(Time::from_millis(i64::MIN), Time::MIN);
}

#[test]
fn times_are_read() {
    let cases = [
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01T00:00:00.1Z", 100),
        ("1970-01-01T00:00:00.0019Z", 1),
        ("1970-01-01T02:00:00+02:00", 0),
        ("1970-01-01T02:00:00.000+0200", 0),
        ("1969-12-31T23:30:00-00:30", 0),
        ("1969-12-31T23:59:59.999z", -1),
        ("1970-01-01 00:00:01Z", 1_000),
        ("1969-12-31T23:59:60Z", -1_000),
        ("2012-02-22T02:06:58.158Z", 1_329_876_418_158),
        // Parts that clients leave out are zero.
        ("1970-01-01T00:00:01", 1_000),
        ("1970-01-01T00:00:01.123456", 1_123),
        ("1970-01-01 00:01", 60_000),
        ("1970-01-01T00:01Z", 60_000),
        ("1970-01-01T02:01+02:00", 60_000),
        ("1970-01-02", DAY_MILLIS),
        // A zone whose + was not encoded in the query.
        ("1970-01-01T02:00:00 02:00", 0),
        ("1970-01-01T02:00:00.5 0200", 500),
        ("1970-01-01 02:00 02:00", 0),
    ];
    for (text, millis) in cases {
        assert_eq!(Time::parse(text).map(Time::millis), Ok(millis), "{text}");
    }
}

#[test]
fn what_is_not_a_time_is_refused() {
    for text in [
        "",
        "now",
        "2026-02-30T00:00:00Z",
        "2026-01-01T24:00:00Z",
        "2026-01-01T00:60:00Z",
        "2026-01-01T00:00:61Z",
        "2026-01-01T00:00:00 ",
        "2026-01-01T00:00:00  02:00",
        "2026-01-01T00:00:00 UTC",
        "2026-01-01T00",
        "2026-01-01T00Z",
        "2026-01-01T",
        "2026-01-01T00:00.5Z",
        "2026-01-01T00:00:0Z",
        "2026-01-01T00:00:00.Z",
        "2026-01-01T00:00:00.1234567890Z",
        "2026-01-01T00:00:00+24:00",
        "2026-01-01T00:00:00+2:00",
        "2026-01-01T00:00:00Zx",
        "0001-01-01T00:00:00+01:00",
        "0000-01-01T00:00:00Z",
        "２026-01-01T00:00:00Z",
        "2026-01-0é:00:00:00Z",
    ] {
        assert!(Time::parse(text).is_err(), "{text}");
    }
    let error = Time::parse("soon").unwrap_err().to_string();
    assert!(
        error.starts_with("Date-time must be in ISO-8601 (yyyy-mm-ddThh:mm:ss"),
        "{error}"
    );
    assert!(error.ends_with("not: soon"), "{error}");
}

#[test]
fn what_is_not_a_date_is_refused() {
    for text in [
        "",
        "2026-02-30",
        "2025-02-29",
        "1900-02-29",
        "2026-13-01",
        "2026-00-01",
        "2026-01-00",
        "0000-01-01",
        "2026-1-1",
        "20260101",
        "2026-01-01T25:00:00Z",
        "2026-01-01 soon",
        " 2026-01-01",
        "+026-01-01",
        "-001-01-01",
        "2026/01/01",
        "10000-01-01",
    ] {
        assert!(Date::parse(text).is_err(), "{text}");
    }
    assert_eq!(
        Date::parse("2026-02-30").unwrap_err().to_string(),
        "Date must be in ISO-8601 (yyyy-mm-dd) format, not: 2026-02-30"
    );
    assert!(Date::parse("2024-02-29").is_ok() && Date::parse("2000-02-29").is_ok());
}

#[test]
fn the_date_of_a_date_and_time_is_the_one_that_is_written() {
    let day = Date::new(2031, 1, 1).unwrap();
    for text in [
        "2031-01-01",
        "2031-01-01T00:00:00",
        "2031-01-01T00:00:00+02:00",
        "2031-01-01 23:30:00.000-05:00",
        "2031-01-01T10:00Z",
    ] {
        assert_eq!(Date::parse(text), Ok(day), "{text}");
    }
    assert_eq!(Moment::parse("2031-01-01"), Ok(Moment::Day(day)));
    let noon = day.start().add_millis(DAY_MILLIS / 2);
    assert_eq!(Moment::parse("2031-01-01T12:00"), Ok(Moment::Instant(noon)));
}

#[test]
fn every_day_equals_jiff() {
    let mut day = jiff::civil::date(1, 1, 1);
    for days in FIRST_DAY..=LAST_DAY {
        let (y, m, d) = Date(days).year_month_day();
        assert_eq!(
            (
                i32::from(day.year()),
                i32::from(day.month()),
                i32::from(day.day())
            ),
            (y, m, d)
        );
        assert_eq!(
            Date::new(y, m.unsigned_abs(), d.unsigned_abs()),
            Some(Date(days))
        );
        if days < LAST_DAY {
            day = day.tomorrow().unwrap();
        }
    }
}

proptest! {
    #[test]
    fn a_time_is_read_back_from_its_text(time in times()) {
        prop_assert_eq!(Time::parse(&time.to_string()), Ok(time));
        let mut bytes = Vec::new();
        time.write_to(&mut bytes);
        prop_assert_eq!(bytes, time.to_string().into_bytes());
    }

    #[test]
    fn a_time_is_written_as_jiff_does(time in times()) {
        // jiff ends a little before the end of the year 9999.
        if let Ok(stamp) = jiff::Timestamp::from_millisecond(time.0) {
            prop_assert_eq!(format!("{stamp:.3}"), time.to_string());
        }
    }

    #[test]
    fn a_time_in_a_zone_is_read_as_jiff_does(
        time in (Time::MIN.0 + 2 * DAY_MILLIS..=Time::MAX.0 - 3 * DAY_MILLIS).prop_map(Time),
        hours in 0..24, minutes in 0..60, east in any::<bool>(),
    ) {
        let text = time.to_string().replace('Z', &format!("{}{hours:02}:{minutes:02}", if east { '+' } else { '-' }));
        let stamp: jiff::Timestamp = text.parse().unwrap();
        prop_assert_eq!(Time::parse(&text).map(Time::millis), Ok(stamp.as_millisecond()));
    }

    #[test]
    fn the_plus_of_a_zone_may_be_a_blank(time in times(), hours in 0..24, minutes in 0..60) {
        let zoned = time.to_string().replace('Z', &format!("+{hours:02}:{minutes:02}"));
        prop_assert_eq!(Time::parse(&zoned.replace('+', " ")).ok(), Time::parse(&zoned).ok());
    }

    #[test]
    fn a_time_without_a_zone_is_read_as_jiff_reads_one_of_utc(time in times(), cut in 16_usize..=23, blank in any::<bool>()) {
        // Cut only before or after the seconds and the fraction.
        let cut = if cut < 19 { 16 } else if cut < 21 { 19 } else { cut };
        let text = time.to_string().chars().take(cut).collect::<String>();
        let text = if blank { text.replace('T', " ") } else { text };
        let civil: jiff::civil::DateTime = text.parse().unwrap();
        let utc = civil.to_zoned(jiff::tz::TimeZone::UTC);
        if let Ok(utc) = utc {
            prop_assert_eq!(Time::parse(&text).map(Time::millis), Ok(utc.timestamp().as_millisecond()));
        }
        prop_assert_eq!(Date::parse(&text), Ok(Date::of(time)));
    }

    #[test]
    fn a_time_survives_the_system_clock(time in times()) {
        prop_assert_eq!(Time::from_system(time.to_system()), time);
    }

    #[test]
    fn times_sort_like_their_text(a in times(), b in times()) {
        prop_assert_eq!(a.cmp(&b), a.to_string().cmp(&b.to_string()));
        prop_assert_eq!(Date::of(a).cmp(&Date::of(b)), Date::of(a).to_string().cmp(&Date::of(b).to_string()));
    }

    #[test]
    fn a_date_is_read_back_from_its_text(date in dates(), days in -800_000..800_000) {
        prop_assert_eq!(Date::parse(&date.to_string()), Ok(date));
        prop_assert_eq!(Date::of(date.start()), date);
        prop_assert_eq!(Date::of(date.start().add_millis(DAY_MILLIS - 1)), date);
        if let Some(other) = date.add_days(days) {
            prop_assert_eq!(other.add_days(-days), Some(date));
        }
    }

    #[test]
    fn arbitrary_text_never_panics(text in any::<String>(), near in "[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9:.Z+-]{0,20}") {
        for text in [&text, &near] {
            let _ = (Time::parse(text), Date::parse(text));
            if let (Ok(ours), Ok(theirs)) = (Time::parse(text), text.parse::<jiff::Timestamp>()) {
                prop_assert_eq!(ours.0, theirs.as_nanosecond().div_euclid(1_000_000) as i64);
            }
        }
    }
}
