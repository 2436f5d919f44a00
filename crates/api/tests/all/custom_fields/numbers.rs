//! Numbers: what is shown, kept, searched and summed is one decimal number, rounded when it is written.
use super::*;
use crate::world::Answer;

/// A task with a number field of a precision and a format.
struct Scale {
    world: World,
    field: String,
    task: String,
}

impl Scale {
    fn new(kind: Kind, precision: u32, format: &str) -> Self {
        let world = World::new(kind);
        let data = json!({"name": "Weight", "resource_subtype": "number", "precision": precision, "format": format});
        let field = gid(&field(&world, data));
        assert_eq!(on_garden(&world, &field), 200);
        let task = world.gid("water").to_string();
        Self { world, field, task }
    }

    /// Writes a number as it stands, which is JSON.
    fn write(&self, number: &str) -> Answer {
        let body = format!(
            r#"{{"data":{{"custom_fields":{{"{}":{number}}}}}}}"#,
            self.field
        );
        let to = format!("/tasks/{}", self.task);
        self.world.send(self.world.request("ada", "PUT", &to, body))
    }

    /// Returns the number of the task, with the digits of the reply, and its text for people.
    fn read(&self) -> (String, String) {
        let fields = "custom_fields.number_value,custom_fields.display_value";
        let reply = self
            .world
            .get("ada", &format!("/tasks/{}?opt_fields={fields}", self.task));
        let part = |name: &str| {
            let rest = reply.text.split_once(&format!("\"{name}\":"))?.1;
            Some(rest.split([',', '}']).next()?.to_owned())
        };
        let shown = part("display_value").unwrap();
        (
            part("number_value").unwrap(),
            shown.trim_matches('"').to_owned(),
        )
    }

    /// Returns true if a search with a test of the number finds the task.
    fn finds(&self, test: &str, number: &str) -> bool {
        let orchid = self.world.gid("orchid");
        let number = number.replace('+', "%2B");
        let target = format!(
            "/workspaces/{orchid}/tasks/search?custom_fields.{}.{test}={number}",
            self.field
        );
        let found = self.world.get("ada", &target);
        assert_eq!(found.status, 200, "{target}: {}", found.text);
        found.gids().contains(&self.task)
    }

    fn set(&self, change: Value) {
        let to = format!("/custom_fields/{}", self.field);
        let reply = self.world.call("ada", "PUT", &to, &change);
        assert_eq!(reply.status, 200, "{}", reply.text);
    }

    fn commits(&self) -> usize {
        self.world.events(0).len()
    }
}

#[test]
fn a_number_is_rounded_to_the_precision_of_its_field_when_it_is_written() {
    for kind in KINDS {
        for (precision, format, sent, kept, shown) in [
            (2, "none", "98.126", "98.13", "98.13"),
            (2, "none", "\"98.125\"", "98.13", "98.13"),
            (2, "none", "-98.125", "-98.13", "-98.13"),
            (
                0,
                "none",
                "76561198275305775",
                "76561198275305775",
                "76561198275305775",
            ),
            (0, "none", "12.5", "13", "13"),
            (
                6,
                "none",
                "123456789012345678.1234565",
                "123456789012345678.123457",
                "123456789012345678.123457",
            ),
            (1, "percentage", "0.12345", "0.123", "12.3%"),
            (2, "none", "1.0e1", "10", "10.00"),
            (3, "duration", "89.5", "90", "1h 30m"),
        ] {
            let scale = Scale::new(kind, precision, format);
            let reply = scale.write(sent);
            assert_eq!(reply.status, 200, "{sent}: {}", reply.text);
            assert_eq!(scale.read(), (kept.to_owned(), shown.to_owned()), "{sent}");
            assert!(scale.finds("value", kept), "{kept}");
            let before = scale.commits();
            assert_eq!(
                (scale.write(sent).status, scale.write(kept).status),
                (200, 200)
            );
            assert_eq!(scale.commits(), before, "{sent}: nothing has changed");
        }
    }
}

#[test]
fn numbers_that_differ_in_their_last_digit_are_found_apart() {
    for kind in KINDS {
        let scale = Scale::new(kind, 0, "none");
        scale.write("76561198275305775");
        for (test, number, found) in [
            ("value", "76561198275305775", true),
            ("value", "76561198275305776", false),
            ("value", "76561198275305774", false),
            ("greater_than", "76561198275305774", true),
            ("greater_than", "76561198275305775", false),
            ("less_than", "76561198275305776", true),
            ("less_than", "76561198275305775", false),
            ("value", "7.6561198275305775e+16", true),
            ("is_set", "true", true),
        ] {
            assert_eq!(scale.finds(test, number), found, "{test} {number}");
        }
    }
}

#[test]
fn a_number_counts_as_it_is_shown_after_its_field_has_another_precision() {
    for kind in KINDS {
        let scale = Scale::new(kind, 3, "none");
        scale.write("98.126");
        for (precision, kept, shown, other) in [
            (2, "98.13", "98.13", "98.126"),
            (0, "98", "98", "98.13"),
            (3, "98.126", "98.126", "98"),
            (5, "98.126", "98.12600", "98.13"),
        ] {
            scale.set(json!({ "precision": precision }));
            assert_eq!(scale.read(), (kept.to_owned(), shown.to_owned()));
            assert!(
                scale.finds("value", kept) && !scale.finds("value", other),
                "{precision}"
            );
            assert!(
                !scale.finds("less_than", kept) && !scale.finds("greater_than", kept),
                "{precision}"
            );
            let before = scale.commits();
            assert_eq!(scale.write(kept).status, 200);
            assert_eq!(scale.commits(), before, "{precision}: nothing has changed");
        }
    }
}

#[test]
fn what_is_no_number_or_too_large_is_refused() {
    let scale = Scale::new(Kind::Memory, 2, "none");
    let long = "9".repeat(500);
    for wrong in [
        "1e308",
        "\"1,5\"",
        "\"0x1\"",
        "\"NaN\"",
        "true",
        "[1]",
        &format!("\"{long}\""),
        &long,
    ] {
        let reply = scale.write(wrong);
        assert_eq!(reply.status, 400, "{wrong}: {}", reply.text);
    }
}

/// Returns a decimal number as whole units of a power of ten, rounded.
fn rounded(digits: i64, scale: u32, precision: u32) -> String {
    use workgraph_core::model::decimal::Decimal;
    Decimal::new(digits, scale).rounded(precision).to_string()
}

#[test]
fn what_is_shown_is_kept_and_found() {
    for kind in KINDS {
        let scales = [0, 2, 6].map(|precision| (precision, Scale::new(kind, precision, "none")));
        proptest!(cases(32), |(digits in any::<i64>(), places in 0u32..20, at in 0usize..3)| {
            let (precision, scale) = &scales[at];
            let exact = rounded(digits, places, 20);
            prop_assert_eq!(scale.write(&exact).status, 200);
            let (kept, shown) = scale.read();
            prop_assert_eq!(&kept, &rounded(digits, places, *precision));
            let (whole, part) = shown.split_once('.').unwrap_or((&shown, ""));
            prop_assert_eq!(part.len(), *precision as usize);
            let plain = if part.is_empty() { whole.to_owned() } else {
                shown.trim_end_matches('0').trim_end_matches('.').to_owned()
            };
            prop_assert_eq!(&kept, &plain);
            prop_assert!(scale.finds("value", &kept));
            prop_assert!(!scale.finds("less_than", &kept) && !scale.finds("greater_than", &kept));
            if kept != exact {
                prop_assert!(!scale.finds("value", &exact));
            }
        });
    }
}

#[test]
fn the_cost_of_a_budget_is_summed_in_decimals() {
    let world = World::new(Kind::Memory);
    let garden = world.gid("garden").to_string();
    let send = |to: &str, body: String| {
        let reply = world.send(world.request("ada", "POST", to, body));
        assert!(reply.status < 300, "{to}: {}", reply.text);
        reply
    };
    let rate = "1234567890123456.35";
    let ada = world.gid("ada");
    let body = format!(r#"{{"data":{{"parent":"{garden}","resource":"{ada}","rate":{rate}}}}}"#);
    assert!(
        send("/rates", body)
            .text
            .contains(&format!("\"rate\":{rate}"))
    );
    let body = format!(
        r#"{{"data":{{"parent":"{garden}","budget_type":"cost","total":{{"enabled":true,"value":98765432109876543.21}}}}}}"#
    );
    let budget = send("/budgets", body);
    let entry = json!({"data": {"duration_minutes": 90, "entered_on": "2026-03-02", "attributable_to": garden}});
    send(
        &format!("/tasks/{}/time_tracking_entries", world.gid("rake")),
        entry.to_string(),
    );
    let read = world.get("ada", &format!("/budgets/{}", budget.gid())).text;
    // One hour and a half: 1851851835185184.525.
    assert!(read.contains("\"value\":1851851835185184.53"), "{read}");
    assert!(read.contains("\"value\":98765432109876543.21"), "{read}");
}
