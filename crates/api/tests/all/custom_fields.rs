//! Custom fields: what is written is read, what is searched for is indexed, limits, and races.
use crate::races::{post, race};
use crate::world::{Kind, World};
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

    /// What a choice of numbers means as a value of a type.
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
            "number" => json!(seed.number),
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

    /// The values as they are read, in the form in which they are written.
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
        number in prop_oneof![any::<i32>().prop_map(f64::from), -1e12..1e12, Just(1e300), Just(0.1)],
        picks in proptest::collection::vec(0usize..4, 1..4),
        day in 0i32..20_000,
    ) -> Seed {
        let day = workgraph_core::time::Date::from_days(day).unwrap().to_string();
        Seed { text, number, picks, day }
    }
}

/// One write: for some fields a value, or null.
type Step = Vec<(usize, Option<Seed>)>;

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let one = (0..TYPES.len(), proptest::option::weighted(0.7, seed()));
    proptest::collection::vec(proptest::collection::vec(one, 1..5), 1..6)
}

/// How a model of the values may go wrong; the property must notice each.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Flaw {
    None,
    NullKeeps,
    AbsentClears,
    FirstWins,
}

/// After any writes, exactly what was written last is there, in the reply and in the index.
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
            let held = model.get_mut(&field).unwrap();
            let keeps = (flaw == Flaw::NullKeeps && value.is_null())
                || (flaw == Flaw::FirstWins && !held.is_null());
            if !keeps {
                *held = value;
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

#[test]
fn a_record_that_was_read_can_be_sent_back() {
    let garden = Garden::new(Kind::Memory);
    let seed = Seed {
        text: "a".to_owned(),
        number: -0.5,
        picks: vec![0, 2],
        day: "2031-07-08".to_owned(),
    };
    let all = TYPES.iter().zip(&garden.fields);
    garden.write(
        &all.map(|(kind, f)| (f.clone(), garden.value(kind, &seed)))
            .collect(),
    );
    let before = garden.read();
    let at = format!("/tasks/{}?opt_fields=custom_fields", garden.task);
    let items = garden.world.get("ada", &at).json["data"]["custom_fields"].clone();
    // What a client has in hand are objects: options and users with their gids.
    let back = items.as_array().unwrap().iter().map(|item| {
        let parts = ["text", "number", "date", "enum", "people", "reference"];
        let value = parts.iter().find_map(|p| item.get(format!("{p}_value")));
        let value = value.or_else(|| item.get("multi_enum_values")).unwrap();
        (gid(item), value.clone())
    });
    garden.write(&back.collect());
    assert_eq!(garden.read(), before);
}

#[test]
fn texts_are_at_most_1024_characters() {
    let garden = Garden::new(Kind::Memory);
    let at = format!("/tasks/{}", garden.task);
    for (length, status) in [(1024, 200), (1025, 400)] {
        let values = json!({"custom_fields": {&garden.fields[0]: "é".repeat(length)}});
        let answer = garden.world.call("ada", "PUT", &at, &values);
        assert_eq!(answer.status, status, "{length}: {}", answer.text);
    }
}

#[test]
fn a_field_has_at_most_500_options_disabled_ones_included() {
    let world = World::new(Kind::Memory);
    let options = |count: usize| -> Value {
        let option = |n| json!({"name": format!("o{n}"), "enabled": n % 2 == 0});
        (0..count).map(option).collect()
    };
    let orchid = world.gid("orchid").to_string();
    let data = json!({"workspace": orchid, "name": "Many", "resource_subtype": "enum", "enum_options": options(501)});
    let many = world.post("ada", "/custom_fields", data);
    assert_eq!(many.status, 400, "{}", many.text);
    assert!(many.message().contains("at most 500"), "{}", many.text);
    let data = json!({"name": "Enough", "resource_subtype": "enum", "enum_options": options(499)});
    let to = format!("/custom_fields/{}/enum_options", gid(&field(&world, data)));
    let add = || world.post("ada", &to, json!({"name": "more"}));
    assert_eq!((add().status, add().status), (201, 400));
}

#[test]
fn a_project_has_at_most_twenty_fields_whoever_adds_them_at_once() {
    for kind in [Kind::Memory, Kind::Sqlite] {
        let world = World::new(kind);
        let fields: Vec<String> = (0..21)
            .map(|n| {
                let data = json!({"name": format!("F{n}"), "resource_subtype": "text"});
                gid(&field(&world, data))
            })
            .collect();
        for field in &fields[..19] {
            assert_eq!(on_garden(&world, field), 200);
        }
        let to = format!("/projects/{}/addCustomFieldSetting", world.gid("garden"));
        let add = |field: &String| post(to.clone(), json!({"custom_field": field}));
        let mut done = race(&world, add(&fields[19]), add(&fields[20]));
        done.sort_unstable();
        assert_eq!(done, [200, 400]);
    }
}

#[test]
fn a_field_added_twice_at_once_has_one_setting() {
    let world = World::new(Kind::Memory);
    let made = gid(&field(
        &world,
        json!({"name": "F", "resource_subtype": "text"}),
    ));
    let garden = world.gid("garden");
    let to = format!("/projects/{garden}/addCustomFieldSetting");
    let add = || post(to.clone(), json!({"custom_field": made}));
    assert_eq!(race(&world, add(), add()), [200, 200]);
    let settings = format!("/projects/{garden}/custom_field_settings");
    assert_eq!(world.get("ada", &settings).gids().len(), 1);
}

#[test]
fn the_last_two_options_are_not_both_disabled() {
    let world = World::new(Kind::Memory);
    let off = |option: &str| {
        let at = format!("/enum_options/{}", world.gid(option));
        ("ada", "PUT", at, json!({"enabled": false}))
    };
    let mut done = race(&world, off("lush"), off("wilted"));
    done.sort_unstable();
    assert_eq!(done, [200, 400]);
}

#[test]
fn values_of_two_fields_written_at_once_are_both_kept() {
    let garden = Garden::new(Kind::Memory);
    let put = |at: usize, value: Value| {
        let data = json!({"custom_fields": {&garden.fields[at]: value}});
        ("ada", "PUT", format!("/tasks/{}", garden.task), data)
    };
    let done = race(&garden.world, put(0, json!("a")), put(1, json!(2)));
    assert_eq!(done, [200, 200]);
    let read = garden.read();
    assert_eq!(read[&garden.fields[0]], json!("a"));
    assert_eq!(read[&garden.fields[1]], json!(2));
}

#[test]
fn two_fields_do_not_take_one_name_at_once() {
    let world = World::new(Kind::Memory);
    let orchid = world.gid("orchid").to_string();
    let add = || {
        let data = json!({"workspace": orchid, "name": "Same", "resource_subtype": "text"});
        post("/custom_fields".to_owned(), data)
    };
    let mut done = race(&world, add(), add());
    done.sort_unstable();
    assert_eq!(done, [201, 400]);
}

#[test]
fn a_task_in_two_projects_has_a_field_of_both_once() {
    let garden = Garden::new(Kind::Memory);
    let world = &garden.world;
    let (moss, task) = (world.gid("moss"), &garden.task);
    let to = format!("/projects/{moss}/addCustomFieldSetting");
    let again = world.post("ada", &to, json!({"custom_field": garden.fields[1]}));
    assert_eq!(again.status, 200, "{}", again.text);
    let put = world.post(
        "ada",
        &format!("/tasks/{task}/addProject"),
        json!({"project": moss.to_string()}),
    );
    assert_eq!(put.status, 200, "{}", put.text);
    let mut expected = garden.fields.clone();
    expected.push(world.gid("vigor").to_string());
    let fields = |token: &str| -> Vec<String> {
        let read = world.get(
            token,
            &format!("/tasks/{task}?opt_fields=custom_fields.enabled"),
        );
        let items = read.json["data"]["custom_fields"].as_array().unwrap();
        assert!(items.iter().all(|i| i["enabled"] == true), "{}", read.text);
        items.iter().map(gid).collect()
    };
    assert_eq!(fields("ada"), expected);
    // The field shows to whoever sees the task; that Moss has it does not show.
    assert_eq!(fields("mel"), expected);
}

#[test]
fn changed_values_move_modified_at_and_are_in_the_journal() {
    let garden = Garden::new(Kind::Memory);
    let modified = || {
        let at = format!("/tasks/{}?opt_fields=modified_at", garden.task);
        garden.world.get("ada", &at).json["data"]["modified_at"].clone()
    };
    let before = modified();
    garden.world.advance(5);
    let after = garden.world.events(0).len() as u64;
    let values = BTreeMap::from([(garden.fields[0].clone(), json!("a"))]);
    garden.write(&values);
    assert_ne!(modified(), before);
    let written = garden.world.events(after);
    let facts = format!("{written:?}");
    assert!(facts.contains("field: \"custom_fields\""), "{facts}");
    garden.write(&values);
    let idle = garden.world.events(after + 1);
    assert!(idle.is_empty(), "the same again commits nothing");
}

#[test]
fn the_fields_of_a_task_list_are_the_assignees_own() {
    let garden = Garden::new(Kind::Sqlite);
    let world = &garden.world;
    let (list, task) = (world.gid("mel_list"), world.gid("rake"));
    let mood = field(world, json!({"name": "Mood", "resource_subtype": "text"}));
    let to = format!("/projects/{list}/addCustomFieldSetting");
    let add = |token: &str| world.post(token, &to, json!({"custom_field": gid(&mood)}));
    // Ada administers the workspace, and still it is Mel's list.
    assert_eq!((add("ada").status, add("mel").status), (403, 200));
    let settings = format!("/projects/{list}/custom_field_settings");
    assert_eq!(world.get("mel", &settings).gids().len(), 1);
    assert_eq!(world.get("ada", &settings).gids().len(), 0);

    let put = |token: &str, data: Value| {
        let at = format!("/tasks/{task}?opt_fields=custom_fields.enabled");
        world.call(token, "PUT", &at, &data)
    };
    let value = json!({"custom_fields": {gid(&mood): "fine"}});
    assert_eq!(put("mel", value.clone()).status, 400, "not in the list yet");
    let mine = json!({"assignee": world.gid("mel").to_string()});
    assert_eq!(put("ada", mine).status, 200);
    assert_eq!(
        (put("ada", value.clone()).status, put("mel", value).status),
        (400, 200)
    );
    let last = |token: &str, path: &str| -> Value {
        let read = world.get(token, path);
        let data = &read.json["data"];
        let one = if data.is_array() { &data[0] } else { data };
        one["custom_fields"].as_array().unwrap().last().unwrap()["enabled"].clone()
    };
    let one = format!("/tasks/{task}?opt_fields=custom_fields.enabled");
    let page = format!("/user_task_lists/{list}/tasks?opt_fields=custom_fields.enabled");
    assert_eq!(last("mel", &one), json!(true));
    assert_eq!(last("mel", &page), json!(true));
    assert_eq!(last("ada", &one), json!(false));
}

#[test]
fn copies_have_the_fields_and_values_of_their_originals() {
    let garden = Garden::new(Kind::Sqlite);
    let world = &garden.world;
    let values = BTreeMap::from([
        (garden.fields[0].clone(), json!("a")),
        (garden.fields[2].clone(), json!(garden.options["enum"][1])),
    ]);
    garden.write(&values);
    let job = |at: String, data: Value, made: &str| -> String {
        let job = world.post("ada", &at, data);
        assert_eq!(job.status, 201, "{}", job.text);
        world.work();
        let read = world.get(
            "ada",
            &format!("/jobs/{}?opt_fields=status,{made}", job.gid()),
        );
        assert_eq!(read.json["data"]["status"], "succeeded", "{}", read.text);
        gid(&read.json["data"][made])
    };
    let shown = |path: String| -> Vec<Value> {
        let read = world.get("ada", &path);
        let data = &read.json["data"];
        let one = if data.is_array() { &data[0] } else { data };
        one["custom_fields"].as_array().unwrap().clone()
    };
    let parts = "opt_fields=custom_fields.display_value,custom_fields.enabled";
    let original = shown(format!("/tasks/{}?{parts}", garden.task));
    let copy = json!({"name": "Again", "include": "projects"});
    let task = job(
        format!("/tasks/{}/duplicate", garden.task),
        copy,
        "new_task",
    );
    assert_eq!(shown(format!("/tasks/{task}?{parts}")), original);
    let alone = job(
        format!("/tasks/{}/duplicate", garden.task),
        json!({"name": "Alone"}),
        "new_task",
    );
    assert_eq!(
        shown(format!("/tasks/{alone}?{parts}")),
        Vec::<Value>::new()
    );
    let project = job(
        format!("/projects/{}/duplicate", world.gid("garden")),
        json!({"name": "Garden too", "team": world.gid("gardeners").to_string()}),
        "new_project",
    );
    assert_eq!(
        shown(format!("/projects/{project}/tasks?{parts}")),
        original
    );
    assert_eq!(world.problems(), Vec::<String>::new());
}

#[test]
fn an_event_names_the_field_whose_value_changed() {
    let garden = Garden::new(Kind::Memory);
    let world = &garden.world;
    let at = format!("/events?resource={}", garden.task);
    let sync = world.get("ada", &at).json["sync"]
        .as_str()
        .unwrap()
        .to_owned();
    garden.write(&BTreeMap::from([
        (garden.fields[0].clone(), json!("a")),
        (garden.fields[1].clone(), json!(1)),
    ]));
    let read = world.get("ada", &format!("{at}&sync={sync}"));
    let changes: Vec<&Value> = read.json["data"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|e| e["change"]["field"] == "custom_fields")
        .map(|e| &e["change"])
        .collect();
    let named: Vec<String> = changes.iter().map(|c| gid(&c["new_value"])).collect();
    assert_eq!(named, garden.fields[..2], "{}", read.text);
    assert!(
        changes.iter().all(|c| c["action"] == "changed"),
        "{}",
        read.text
    );
}
