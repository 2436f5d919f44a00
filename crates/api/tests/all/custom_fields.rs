//! Custom fields: reads give the written values, the index finds them; limits and races.
mod numbers;
mod rules;

use crate::races::{post, race};
use crate::world::{KINDS, Kind, World};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The types, in the order of the fields that [`Garden::new`] makes.
const TYPES: [&str; 7] = [
    "text",
    "number",
    "enum",
    "multi_enum",
    "date",
    "people",
    "reference",
];

/// A project with a field of each type, and a task in it.
struct Garden {
    world: World,
    fields: Vec<String>,
    options: BTreeMap<String, Vec<String>>,
    task: String,
}

fn field(world: &World, data: Value) -> Value {
    let mut data = data;
    data["workspace"] = json!(world.gid("orchid").to_string());
    let made = world.post("ada", "/custom_fields", data);
    assert_eq!(made.status, 201, "{}", made.text);
    made.json["data"].clone()
}

fn gid(value: &Value) -> String {
    value["gid"].as_str().unwrap().to_owned()
}

fn on_garden(world: &World, field: &str) -> u16 {
    let to = format!("/projects/{}/addCustomFieldSetting", world.gid("garden"));
    world
        .post("ada", &to, json!({"custom_field": field}))
        .status
}

impl Garden {
    fn new(kind: Kind) -> Self {
        let world = World::new(kind);
        let mut fields = Vec::new();
        let mut options = BTreeMap::new();
        for kind in TYPES {
            let mut data = json!({"name": format!("A {kind}"), "resource_subtype": kind});
            if kind.contains("enum") {
                data["enum_options"] = json!([{"name": "x"}, {"name": "y"}, {"name": "z"}]);
            }
            if kind == "number" {
                data["precision"] = json!(6);
            }
            if kind == "reference" {
                data["input_restrictions"] = json!(["task", "project"]);
            }
            let made = field(&world, data);
            let all = made["enum_options"].as_array();
            options.insert(
                kind.to_owned(),
                all.map(|o| o.iter().map(gid).collect()).unwrap_or_default(),
            );
            assert_eq!(on_garden(&world, &gid(&made)), 200);
            fields.push(gid(&made));
        }
        let task = world.gid("water").to_string();
        Self {
            world,
            fields,
            options,
            task,
        }
    }

    /// Returns the value of a type that a choice of numbers stands for.
    fn value(&self, kind: &str, seed: &Seed) -> Value {
        let pick = |from: &[String]| -> Vec<String> {
            let of = |n: &usize| from[n % from.len()].clone();
            let mut all: Vec<String> = Vec::new();
            for gid in seed.picks.iter().map(of) {
                if !all.contains(&gid) {
                    all.push(gid);
                }
            }
            all
        };
        let names = |names: &[&str]| -> Vec<String> {
            let gid = |name: &&str| self.world.gid(name).to_string();
            pick(&names.iter().map(gid).collect::<Vec<_>>())
        };
        match kind {
            "text" => json!(seed.text),
            "number" => shown(seed.number),
            "enum" => json!(pick(&self.options["enum"])[0]),
            "multi_enum" => json!(pick(&self.options["multi_enum"])),
            "date" if seed.picks.len().is_multiple_of(2) => {
                json!({"date": seed.day, "date_time": null})
            }
            "date" => json!({"date": seed.day, "date_time": format!("{}T10:00:00.000Z", seed.day)}),
            "people" => json!(names(&["ada", "mel", "moe", "vic"])),
            _ => json!(names(&["rake", "garden", "mint"])),
        }
    }

    fn write(&self, values: &BTreeMap<String, Value>) {
        let data = json!({"custom_fields": values});
        let at = format!("/tasks/{}", self.task);
        let answer = self.world.call("ada", "PUT", &at, &data);
        assert_eq!(answer.status, 200, "{}", answer.text);
    }

    /// Returns the values as they are read, in the form in which they are written.
    fn read(&self) -> BTreeMap<String, Value> {
        let at = format!("/tasks/{}?opt_fields=custom_fields", self.task);
        let answer = self.world.get("ada", &at);
        let items = answer.json["data"]["custom_fields"].as_array().unwrap();
        let order: Vec<String> = items.iter().map(gid).collect();
        assert_eq!(order, self.fields, "in the order of the settings");
        let list = |value: &Value| -> Value {
            match value.as_array().unwrap().as_slice() {
                [] => Value::Null,
                all => all.iter().map(gid).collect(),
            }
        };
        let form = |item: &Value| {
            let kind = item["resource_subtype"].as_str().unwrap();
            let value = match kind {
                "enum" => item["enum_value"].get("gid").cloned().unwrap_or_default(),
                "multi_enum" => list(&item["multi_enum_values"]),
                "people" | "reference" => list(&item[format!("{kind}_value")]),
                plain => item[format!("{plain}_value")].clone(),
            };
            let shown = item["display_value"].is_string();
            assert_eq!(shown, !value.is_null(), "shown exactly if there: {item}");
            (gid(item), value)
        };
        items.iter().map(form).collect()
    }
}

#[derive(Clone, Debug)]
struct Seed {
    text: String,
    number: f64,
    picks: Vec<usize>,
    day: String,
}

prop_compose! {
    fn seed()(
        text in "[ -~äß→🌵]{1,40}",
        number in prop_oneof![any::<i32>().prop_map(|n| f64::from(n) / 64.0), Just(1e300), Just(0.1)],
        picks in proptest::collection::vec(0usize..4, 1..4),
        day in 0i32..20_000,
    ) -> Seed {
        let day = workgraph_core::model::time::Date::from_days(day).unwrap().to_string();
        Seed { text, number, picks, day }
    }
}

/// One write: for some fields a value, or null.
type Step = Vec<(usize, Option<Seed>)>;

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let one = (0..TYPES.len(), proptest::option::weighted(0.7, seed()));
    proptest::collection::vec(proptest::collection::vec(one, 1..5), 1..6)
}

/// An error in a model of the values; the property must notice each.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Flaw {
    None,
    NullKeeps,
    AbsentClears,
    FirstWins,
}

/// After any writes, the reply and the index have exactly the last written values.
fn what_is_written_is_read(garden: &Garden, steps: &[Step], flaw: Flaw) -> Result<(), String> {
    let clear = garden.fields.iter().map(|f| (f.clone(), Value::Null));
    let mut model: BTreeMap<String, Value> = clear.collect();
    garden.write(&model);
    for step in steps {
        let mut values = BTreeMap::new();
        for (at, seed) in step {
            let value = seed
                .as_ref()
                .map_or(Value::Null, |s| garden.value(TYPES[*at], s));
            values.insert(garden.fields[*at].clone(), value);
        }
        garden.write(&values);
        if flaw == Flaw::AbsentClears {
            model.values_mut().for_each(|v| *v = Value::Null);
        }
        for (field, value) in values {
            let expected = model.get_mut(&field).unwrap();
            let keeps = (flaw == Flaw::NullKeeps && value.is_null())
                || (flaw == Flaw::FirstWins && !expected.is_null());
            if !keeps {
                *expected = value;
            }
        }
        let read = garden.read();
        if read != model {
            return Err(format!("read {read:?}, not {model:?}"));
        }
    }
    match garden.world.problems() {
        none if none.is_empty() => Ok(()),
        problems => Err(problems.join("; ")),
    }
}

/// Returns a number as replies show it: a whole one has no decimals.
fn shown(number: f64) -> Value {
    match number as i64 {
        whole if whole as f64 == number && whole.abs() < 1 << 53 => json!(whole),
        _ => json!(number),
    }
}

fn cases(count: u32) -> ProptestConfig {
    let more = std::env::var("WORKGRAPH_CASES").ok();
    let more = more.and_then(|n| n.parse::<u32>().ok()).unwrap_or(1);
    ProptestConfig {
        cases: count * more,
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

#[test]
fn values_of_every_type_are_read_as_they_were_written_and_indexed() {
    for kind in [Kind::Memory, Kind::Sqlite] {
        let garden = Garden::new(kind);
        proptest!(cases(24), |(steps in steps())| {
            let kept = what_is_written_is_read(&garden, &steps, Flaw::None);
            prop_assert!(kept.is_ok(), "{kept:?}");
        });
    }
}

#[test]
fn a_model_that_writes_otherwise_is_noticed() {
    let garden = Garden::new(Kind::Memory);
    let seed = |text: &str| Seed {
        text: text.to_owned(),
        number: 1.5,
        picks: vec![1],
        day: "2031-07-08".to_owned(),
    };
    let steps = vec![
        vec![(0, Some(seed("a"))), (1, Some(seed("a")))],
        vec![(0, Some(seed("b")))],
        vec![(1, None)],
    ];
    assert_eq!(what_is_written_is_read(&garden, &steps, Flaw::None), Ok(()));
    for flaw in [Flaw::NullKeeps, Flaw::AbsentClears, Flaw::FirstWins] {
        let noticed = what_is_written_is_read(&garden, &steps, flaw).is_err();
        assert!(noticed, "{flaw:?}");
    }
}
