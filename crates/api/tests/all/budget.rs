//! Budgets in bytes: no reply, batch, list of events or file of an export grows beyond its bound, for any request.
mod exports;

pub(crate) use exports::{ask_for_export, reason};

use crate::world::{Answer, KINDS, Kind, World};
use serde_json::{Value, json};
use workgraph_api::ApiSettings;
use workgraph_api::reply_cost::BYTES_PER_CREDIT;
use workgraph_api::request::Method;
use workgraph_core::model::registry::{CustomFieldType, Type, rel};
use workgraph_core::model::resources::{resource, task};
use workgraph_core::plan;
use workgraph_core::plan::FieldPaths;
use workgraph_core::storage::{ListPosition, PageQuery, ReadQuery, RowFilter, ViewerKey};
use workgraph_core::{Gid, tasks_of_container};
use workgraph_operations::TABLES;
use workgraph_testkit::Fixture;

/// The most bytes that the envelope adds to the records of a reply.
const ENVELOPE: usize = 4 << 10;

fn bound(world: &World) -> usize {
    world.api.settings().reply_max + ENVELOPE
}

/// Adds thirty tasks that each wait for the same thirty others, and a project with twenty custom fields.
pub(crate) fn thicket(f: &mut Fixture, names: &mut std::collections::BTreeMap<String, Gid>) {
    let (orchid, ada) = (names["orchid"], names["ada"]);
    let project = f.project(orchid, "Thicket", ada);
    let section = f.section_in(project);
    let many = |f: &mut Fixture, name: &str| -> Vec<Gid> {
        let task = |n| f.task_in(section, &format!("{name} {n}"), ada);
        (0..30).map(task).collect()
    };
    let (waiting, blocking) = (many(f, "thorn"), many(f, "root"));
    for from in &waiting {
        for to in &blocking {
            f.link(*from, rel::DEPENDS, *to, ListPosition::Rank(0), None);
        }
    }
    for n in 0..20 {
        let (field, _) = f.custom_field(orchid, &format!("Hue {n}"), CustomFieldType::Text, &[]);
        f.field_on(field, project, orchid);
    }
    names.insert("thicket".to_owned(), project);
    names.insert("thorn".to_owned(), waiting[0]);
}

fn world(kind: Kind, reply_max: usize) -> World {
    let settings = ApiSettings {
        reply_max,
        ..ApiSettings::default()
    };
    World::build(kind, settings, thicket)
}

/// Returns a path that goes there and back until it has `depth` steps, and ends in gids.
pub(crate) fn path(there: &str, back: &str, depth: usize) -> String {
    let steps = [there, back].into_iter().cycle().take(depth);
    let steps: Vec<&str> = steps.chain(["gid"]).collect();
    let names = steps.join(".");
    let names: Vec<&str> = names.split('.').take(8).collect();
    names.join(".")
}

/// Sends a read and returns true if it succeeded. Otherwise the reply must be an error that says what to do.
fn answered(world: &World, target: &str) -> bool {
    let answer = world.get("ada", target);
    assert!(answer.text.len() <= bound(world), "{target}");
    match answer.status {
        200 => true,
        400 => {
            let message = answer.message();
            assert!(message.starts_with("opt_fields: "), "{target}: {message}");
            assert!(message.contains("name fewer fields or shorter paths"));
            false
        }
        other => panic!("{target}: {other}: {}", answer.text),
    }
}

/// S94.
#[test]
fn paths_that_multiply_are_answered_within_the_budget_or_refused() {
    for kind in KINDS {
        let world = world(kind, ApiSettings::default().reply_max);
        let [orchid, project, thorn] = ["orchid", "thicket", "thorn"].map(|n| world.gid(n));
        let sync = world.get("ada", &format!("/events?resource={thorn}"));
        let sync = sync.json["sync"].as_str().unwrap().to_owned();
        let put = world.call(
            "ada",
            "PUT",
            &format!("/tasks/{thorn}"),
            &json!({"name": "thorn"}),
        );
        assert_eq!(put.status, 200);
        let tasks = ("dependencies", "dependents");
        let fields = (
            "custom_field_settings.project",
            "custom_field_settings.project",
        );
        let members = ("projects.members", "workspace_memberships.user");
        let cases = [
            (format!("/tasks/{thorn}?"), tasks),
            (format!("/projects/{project}/tasks?limit=100&"), tasks),
            (format!("/projects/{project}/tasks?"), tasks),
            (
                format!("/workspaces/{orchid}/tasks/search?text=thorn&"),
                tasks,
            ),
            (
                format!("/workspaces/{orchid}/typeahead?resource_type=task&query=thorn&count=100&"),
                tasks,
            ),
            (
                format!("/events?resource={thorn}&sync={sync}&"),
                ("resource.dependencies", "dependents.dependencies"),
            ),
            (format!("/projects/{project}?"), fields),
            (format!("/projects?workspace={orchid}&"), fields),
            (format!("/projects/{project}/tasks?limit=100&"), members),
        ];
        for (target, (there, back)) in cases {
            let ok: Vec<bool> = (1..=8)
                .map(|depth| {
                    answered(
                        &world,
                        &format!("{target}opt_fields={}", path(there, back, depth)),
                    )
                })
                .collect();
            assert!(ok[0], "{target}: the first level is small");
            // Once a path is too long, longer ones are, too.
            assert!(ok.is_sorted_by(|a, b| a >= b), "{target}: {ok:?}");
            assert!(!ok[7] || there != tasks.0, "{target}: {ok:?}");
        }
    }
}

fn batch(world: &World, actions: Vec<Value>) -> Answer {
    world.post("ada", "/batch", json!({ "actions": actions }))
}

fn statuses(answer: &Answer) -> Vec<u64> {
    let outcomes = answer.json["data"].as_array().unwrap();
    outcomes
        .iter()
        .map(|o| o["status_code"].as_u64().unwrap())
        .collect()
}

/// S95.
#[test]
fn the_actions_of_a_batch_share_one_budget() {
    for kind in KINDS {
        let world = world(kind, 1 << 20);
        let thorn = world.gid("thorn");
        let read = |depth: usize| {
            let fields = path("dependencies", "dependents", depth);
            json!({"method": "get", "relative_path": format!("/tasks/{thorn}"), "options": {"fields": [fields]}})
        };
        let small = batch(&world, vec![read(2); 10]);
        assert_eq!(statuses(&small), [200; 10]);
        let large = batch(&world, [vec![read(3); 9], vec![read(1)]].concat());
        assert_eq!(
            statuses(&large)[..3],
            [200, 200, 400],
            "{:?}",
            statuses(&large)
        );
        assert_eq!(statuses(&large)[9], 200, "what is small still fits");
        assert!(large.text.len() <= bound(&world), "{}", large.text.len());
        let reason = &large.json["data"][2]["body"]["errors"][0]["message"];
        assert!(
            reason
                .as_str()
                .unwrap()
                .contains("larger than 1048576 bytes"),
            "{reason}"
        );
    }
}

/// S95. S96. The rest of the budget is read when a change is shown, not when it begins: as many changes as fit are
/// shown, and the others are made all the same.
#[test]
fn changes_of_a_batch_are_shown_as_far_as_its_budget_goes() {
    let size = |depth: usize| {
        let world = world(Kind::Memory, ApiSettings::default().reply_max);
        let at = format!("/tasks/{}?opt_fields=", world.gid("thorn"));
        let fields = path("dependencies", "dependents", depth);
        world.get("ada", &format!("{at}{fields}")).text.len()
    };
    // With three levels each record alone is larger than any of these budgets, so none is shown.
    for (depth, size) in [(2, size(2)), (3, size(3))] {
        for (budget, kind) in [64 << 10, 128 << 10, 256 << 10]
            .into_iter()
            .flat_map(|budget| KINDS.map(|kind| (budget, kind)))
        {
            let world = world(kind, budget);
            let at = format!("/projects/{}/tasks?limit=10", world.gid("thicket"));
            let thorns = world.get("ada", &at).gids();
            let write = |(number, gid): (usize, &String)| {
                let data = json!({"name": format!("bramble {number}")});
                let fields = [path("dependencies", "dependents", depth)];
                json!({"method": "put", "relative_path": format!("/tasks/{gid}"), "data": data,
                    "options": {"fields": fields}})
            };
            let done = batch(&world, thorns.iter().enumerate().map(write).collect());
            assert_eq!(statuses(&done), [200; 10]);
            let outcomes = done.json["data"].as_array().unwrap();
            let whole = outcomes.iter().zip(&thorns).filter(|(outcome, gid)| {
                let body = &outcome["body"];
                let stub = json!({"data": {"gid": gid, "resource_type": "task"}});
                let links = body["data"]["dependencies"].as_array().map_or(0, Vec::len);
                assert!(links == 30 || *body == stub, "{body}");
                links == 30
            });
            assert_eq!(whole.count(), (budget / size).min(10), "{budget} of {size}");
            assert!(done.text.len() <= bound(&world), "{}", done.text.len());
            for (number, gid) in thorns.iter().enumerate() {
                let now = world.get("ada", &format!("/tasks/{gid}?opt_fields=name"));
                assert_eq!(now.json["data"]["name"], format!("bramble {number}"));
            }
        }
    }
}

/// S96.
#[test]
fn a_change_whose_reply_would_be_too_large_is_made_and_shown_as_gid_and_type() {
    for kind in KINDS {
        let world = world(kind, 64 << 10);
        let thorn = world.gid("thorn");
        let fields = path("dependencies", "dependents", 6);
        let at = format!("/tasks/{thorn}?opt_fields={fields}");
        let put = world.call("ada", "PUT", &at, &json!({"name": "bramble"}));
        assert_eq!(put.status, 200, "{}", put.text);
        let shown = json!({"gid": thorn.to_string(), "resource_type": "task"});
        assert_eq!(put.json["data"], shown);
        let now = world.get("ada", &format!("/tasks/{thorn}"));
        assert_eq!(now.json["data"]["name"], "bramble");
        let data = json!({"name": "new", "projects": [world.gid("thicket").to_string()]});
        let fields = "projects.custom_field_settings.project.custom_field_settings.project.custom_field_settings.custom_field";
        let made = world.post("ada", &format!("/tasks?opt_fields={fields}"), data);
        assert_eq!(made.status, 201, "{}", made.text);
        let gid = made.gid();
        let mut headers = made.headers.iter();
        assert!(headers.any(|(name, value)| *name == "Location" && value.ends_with(&gid)));
        assert_eq!(
            made.json["data"],
            json!({"gid": gid, "resource_type": "task"})
        );
    }
}

/// S97.
#[test]
fn a_reply_costs_no_less_than_its_bytes_and_copies_cost_what_they_are_copies_of() {
    let world = world(Kind::Memory, ApiSettings::default().reply_max);
    let thorn = world.gid("thorn");
    let mut before = 0;
    for depth in 1..=4 {
        let fields = path("dependencies", "dependents", depth);
        let mut request = world.request(
            "ada",
            "GET",
            &format!("/tasks/{thorn}?opt_fields={fields}"),
            String::new(),
        );
        request.explain = true;
        let answer = world.send(request);
        let cost = answer
            .headers
            .iter()
            .find(|(name, _)| *name == "Workgraph-Cost");
        let cost: usize = cost.unwrap().1.parse().unwrap();
        if answer.status == 400 {
            assert_eq!(
                (depth, cost),
                (4, 2_048),
                "what is refused for its size was work, too"
            );
            continue;
        }
        assert!(cost * BYTES_PER_CREDIT as usize >= answer.text.len());
        let links: usize = (1..=depth as u32).map(|level| 30usize.pow(level)).sum();
        assert_eq!(
            cost,
            1 + 1 + links + depth,
            "each link as often as it was written"
        );
        assert!(cost > before);
        before = cost;
    }
    assert_eq!(before, 1 + 1 + 30 + 900 + 27_000 + 3);
}

/// S94.
#[test]
fn an_indented_reply_stays_within_the_budget_too() {
    let world = world(Kind::Memory, 1 << 20);
    let fields = path("dependencies", "dependents", 3);
    let at = format!("/tasks/{}?opt_fields={fields}", world.gid("thorn"));
    assert_eq!(world.get("ada", &at).status, 200);
    let pretty = world.get("ada", &format!("{at}&opt_pretty=true"));
    assert_eq!(pretty.status, 400);
    assert!(
        pretty
            .message()
            .starts_with("opt_pretty: The reply would be larger than 1048576 bytes")
    );
}

/// Returns a world with tasks so large that a page of them is more than may be read at once.
fn heavy() -> World {
    World::build(Kind::Memory, ApiSettings::default(), |f, names| {
        let project = f.project(names["orchid"], "Heavy", names["ada"]);
        let section = f.section_in(project);
        let notes = "heavy ".repeat(200_000);
        for n in 0..70 {
            let gid = f.node(Type::Task, Some(names["orchid"]), |draft, now| {
                draft.set(task::NAME, format!("stone {n}").as_str());
                draft.set(task::CREATED_AT, now);
                draft.set(task::MODIFIED_AT, now);
                draft.set(task::NOTES, notes.as_str());
            });
            f.link(
                gid,
                rel::SECTION,
                section,
                ListPosition::Last,
                Some(project),
            );
        }
        names.insert("heavy".to_owned(), project);
    })
}

/// S98.
#[test]
fn what_is_read_for_a_reply_is_bounded_and_fewer_objects_at_a_time_are_right() {
    let world = heavy();
    let project = world.gid("heavy");
    let list = |limit: usize, fields: &str| {
        world.get(
            "ada",
            &format!("/projects/{project}/tasks?limit={limit}&opt_fields={fields}"),
        )
    };
    let read = list(100, "completed");
    assert_eq!(read.status, 400);
    let start = "opt_fields: More than 67108864 bytes would have to be read";
    assert!(read.message().starts_with(start), "{}", read.message());
    assert_eq!(list(20, "completed").status, 200);
    let written = list(20, "notes");
    assert!(
        written
            .message()
            .starts_with("opt_fields: The reply would be larger than 8388608 bytes")
    );
    assert_eq!(list(5, "notes").status, 200);
    // Replies without opt_fields go on by themselves, in smaller pieces.
    let counts = world.get(
        "ada",
        &format!("/projects/{project}/task_counts?opt_fields=num_tasks"),
    );
    assert_eq!(counts.json["data"]["num_tasks"], 70, "{}", counts.text);
}

/// S98. The data of rows that are left out is dropped, edges included.
#[test]
fn rows_that_are_not_shown_take_nothing_of_what_may_be_read() {
    for kind in KINDS {
        let world = world(kind, ApiSettings::default().reply_max);
        let key = ViewerKey {
            user: world.gid("ada"),
            service: None,
        };
        let fields = FieldPaths::parse("dependencies").unwrap();
        let read = |filter: Option<RowFilter>, budget: usize| {
            let mut want = ReadQuery::of(key);
            let anchor = want.add_ref(world.gid("thicket"));
            let from = tasks_of_container(anchor, false);
            let mut page = PageQuery::of(from, true, 100);
            page.filters.extend(filter);
            want.page = Some(page);
            want.page_plan = Some(plan::resolve_fields(Type::Task, &fields).plan);
            want.budget = budget;
            let view = world.run(world.graph.load(&want));
            view.map(|view| view.rows.gids.len())
        };
        let none = || Some(RowFilter::InWorkspace(world.gid("basalt")));
        assert_eq!(read(None, 1 << 20).unwrap(), 60);
        assert!(read(None, 20 << 10).is_err(), "900 edges are more");
        assert_eq!(read(none(), 20 << 10).unwrap(), 0);
    }
}

#[test]
fn events_of_heavy_objects_come_in_smaller_pieces() {
    let world = heavy();
    let project = world.gid("heavy");
    let sync = world.get("ada", &format!("/events?resource={project}"));
    let mut sync = sync.json["sync"].as_str().unwrap().to_owned();
    let tasks = world
        .get("ada", &format!("/projects/{project}/tasks?limit=100"))
        .gids();
    for gid in &tasks {
        let put = world.call(
            "ada",
            "PUT",
            &format!("/tasks/{gid}?opt_fields=gid"),
            &json!({"completed": true}),
        );
        assert_eq!(put.status, 200, "{}", put.text);
    }
    let (mut heard, mut polls) = (Vec::new(), 0);
    loop {
        let poll = world.get("ada", &format!("/events?resource={project}&sync={sync}"));
        assert_eq!(poll.status, 200, "{}", poll.text);
        polls += 1;
        for event in poll.json["data"].as_array().unwrap() {
            if event["resource"]["resource_type"] == "task"
                && event["change"]["field"] == "completed"
            {
                heard.push(event["resource"]["gid"].as_str().unwrap().to_owned());
            }
        }
        poll.json["sync"].as_str().unwrap().clone_into(&mut sync);
        if poll.json["has_more"] == false {
            break;
        }
    }
    assert_eq!(heard, tasks);
    assert!(polls > 1);
}

#[test]
fn whatever_is_changed_has_a_type_to_be_shown() {
    let rows = TABLES.iter().copied().flatten();
    let changes = rows.filter(|row| row.method != Method::Get);
    for ty in changes.filter_map(|row| row.record()) {
        assert!(resource(ty).field("resource_type").is_some(), "{ty:?}");
    }
}
