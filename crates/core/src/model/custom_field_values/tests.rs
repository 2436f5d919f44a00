//! Tests of the display values and search keys of custom fields.
use super::*;
use crate::model::draft::Draft;
use crate::model::registry::Type;

fn look(set: impl FnOnce(&mut Draft)) -> DisplayFormat {
    let mut draft = Draft::new(Type::CustomField, Gid::new(7).unwrap(), None);
    draft.set(custom_field::SUBTYPE, "number");
    set(&mut draft);
    DisplayFormat::of(&draft.finish())
}

fn format(name: &str, precision: i64, more: impl FnOnce(&mut Draft)) -> DisplayFormat {
    look(|d| {
        d.set(custom_field::FORMAT, name);
        d.set(custom_field::PRECISION, precision);
        more(d);
    })
}

#[test]
fn numbers_are_shown_as_the_definition_says() {
    let plain = |precision| format("none", precision, |_| {});
    let money = |code: &str| {
        let code = code.to_owned();
        format("currency", 2, move |d| {
            d.set(custom_field::CURRENCY, code.as_str())
        })
    };
    let label = |position: &str| {
        let position = position.to_owned();
        format("custom", 1, move |d| {
            d.set(custom_field::LABEL, "pts");
            d.set(custom_field::LABEL_POSITION, position.as_str());
        })
    };
    for (look, number, shown) in [
        (plain(0), "12.5", "13"),
        (plain(0), "7.0", "7"),
        (plain(2), "12.5", "12.50"),
        (plain(2), "1.005", "1.01"),
        (plain(2), "-1.005", "-1.01"),
        (plain(1), "0.25", "0.3"),
        (plain(1), "-0.04", "0.0"),
        (plain(0), "-0.5", "-1"),
        (plain(0), "0.0", "0"),
        (plain(6), "0.0000004", "0.000000"),
        (plain(0), "1e21", "1000000000000000000000"),
        (money("EUR"), "12.5", "€12.50"),
        (money("USD"), "-3.0", "-$3.00"),
        (money("CHF"), "-3.0", "CHF -3.00"),
        (format("percentage", 0, |_| {}), "0.25", "25%"),
        (format("percentage", 1, |_| {}), "0.251", "25.1%"),
        (format("identifier", 3, |_| {}), "12.0", "12"),
        (label("prefix"), "2.0", "pts 2.0"),
        (label("suffix"), "-2.0", "-2.0 pts"),
        (format("duration", 0, |_| {}), "90.0", "1h 30m"),
        (format("duration", 0, |_| {}), "120.0", "2h"),
        (format("duration", 0, |_| {}), "-5.0", "-5m"),
        (format("duration", 0, |_| {}), "0.0", "0m"),
        (format("duration", 2, |_| {}), "89.5", "1h 30m"),
        (plain(0), "76561198275305775", "76561198275305775"),
        (plain(2), "98.126", "98.13"),
        (plain(2), "-0.00", "0.00"),
        (
            plain(1),
            "12345678901234567890.25",
            "12345678901234567890.3",
        ),
        (format("percentage", 1, |_| {}), "-0.0005", "-0.1%"),
        (format("percentage", 2, |_| {}), "12", "1200.00%"),
    ] {
        assert_eq!(look.numbers.show(number), shown, "{look:?}");
    }
}

fn shown(kind: CustomFieldType, value: Option<&str>) -> String {
    let mut look = look(|_| {});
    look.kind = kind;
    let title = |gid: Gid| match gid.get() {
        1 => Some("\"A \\\"b\\\"\""),
        2 => Some("\"C\""),
        _ => None,
    };
    let mut out = Vec::new();
    display(&look, value, title, &mut out);
    String::from_utf8(out).unwrap()
}

#[test]
fn every_type_is_shown_as_one_string_or_null() {
    for (kind, value, expected) in [
        (
            CustomFieldType::Text,
            Some("\"a \\\"b\\\"\""),
            "\"a \\\"b\\\"\"",
        ),
        (CustomFieldType::Enum, Some("\"2\""), "\"C\""),
        (
            CustomFieldType::MultiEnum,
            Some("[\"1\",\"2\"]"),
            "\"A \\\"b\\\", C\"",
        ),
        (CustomFieldType::People, Some("[\"2\",\"9\"]"), "\"C\""),
        (CustomFieldType::Reference, Some("[\"9\"]"), "null"),
        (
            CustomFieldType::Date,
            Some("{\"date\":\"2031-07-08\",\"date_time\":null}"),
            "\"2031-07-08\"",
        ),
        (
            CustomFieldType::Date,
            Some("{\"date\":\"2031-07-08\",\"date_time\":\"2031-07-08T09:00:00.000Z\"}"),
            "\"2031-07-08T09:00:00.000Z\"",
        ),
        (CustomFieldType::Number, None, "null"),
        (CustomFieldType::Text, None, "null"),
        (CustomFieldType::Enum, None, "null"),
    ] {
        assert_eq!(shown(kind, value), expected, "{kind:?} {value:?}");
    }
}

#[test]
fn keys_are_what_search_compares() {
    let gid = |n| IndexKey::gid(Gid::new(n).unwrap());
    assert_eq!(
        keys(CustomFieldType::Text, "\"Ab\\\"C\""),
        [IndexKey::text("ab\"c")]
    );
    assert_eq!(
        keys(CustomFieldType::Number, "-2.5"),
        [IndexKey::Number(-2.5)]
    );
    assert_eq!(keys(CustomFieldType::Enum, "\"12\""), [gid(12)]);
    assert_eq!(
        keys(CustomFieldType::People, "[\"12\",\"34\"]"),
        [gid(12), gid(34)]
    );
    let day = "{\"date\":\"1970-01-02\",\"date_time\":null}";
    assert_eq!(
        keys(CustomFieldType::Date, day),
        [IndexKey::Number(86_400_000.0)]
    );
    let instant = "{\"date\":\"1970-01-02\",\"date_time\":\"1970-01-02T00:00:01.000Z\"}";
    assert_eq!(
        keys(CustomFieldType::Date, instant),
        [IndexKey::Number(86_401_000.0)]
    );
}
