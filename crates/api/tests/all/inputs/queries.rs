//! Queries: names of fields, dates, empty parameters, lists, paths.
use super::{read, task, world, written};
use crate::world::Answer;
use serde_json::{Value, json};

/// S126. Wherever names can be given. Only a list that names nothing at all counts as absent.
#[test]
fn names_of_fields_are_read_whatever_stands_between_them() {
    let world = world();
    let water = format!("/tasks/{}", world.gid("water"));
    let keys = |answer: &Answer| -> Vec<String> {
        let record = answer.json["data"].as_object().unwrap();
        record.keys().cloned().collect()
    };
    let default = keys(&read(&world, &water));
    for (query, named) in [
        ("opt_fields=,gid,name,completed", true),
        ("opt_fields=name,,completed,", true),
        ("opt_fields=*,name,completed", true),
        ("opt_fields=name&opt_fields=completed", true),
        ("opt_fields[]=name&opt_fields[]=completed", true),
        ("opt_fields=&opt_fields=name,completed", true),
        ("opt_fields=", false),
        ("opt_fields=,", false),
        ("opt_fields", false),
    ] {
        let shown = keys(&read(&world, &format!("{water}?{query}")));
        let expected = vec!["completed", "gid", "name"];
        let mut sorted = shown.clone();
        sorted.sort();
        assert!(
            if named {
                sorted == expected
            } else {
                shown == default
            },
            "{query}: {shown:?}"
        );
    }
    // Names that no record has are ignored, and do not make the reply show everything.
    for unknown in ["*", "nope", "*,nope,"] {
        let shown = keys(&read(&world, &format!("{water}?opt_fields={unknown}")));
        assert_eq!(shown, ["gid"], "{unknown}");
    }
    // In bodies, beside the data or among it, and in the actions of a batch.
    let send = |body: Value| -> Answer {
        let answer = world.send(world.request("ada", "PUT", &water, body.to_string()));
        assert_eq!(answer.status, 200, "{body}: {}", answer.text);
        answer
    };
    for body in [
        json!({"data": {}, "options": {"fields": ["", "name"]}}),
        json!({"data": {}, "options": {"opt_fields": ",name"}}),
        json!({"data": {"opt_fields": "name,"}}),
        json!({"data": {"opt_fields": ["name"]}}),
    ] {
        assert_eq!(keys(&send(body.clone())), ["gid", "name"], "{body}");
    }
    let actions = json!({"actions": [
        {"relative_path": water, "method": "get", "data": {"opt_fields": ",name"}},
        {"relative_path": water, "method": "put", "data": {"opt_fields": ",name"}},
        {"relative_path": water, "method": "get", "options": {"fields": ["name", ""]}},
    ]});
    let batch = world.post("ada", "/batch", actions);
    for outcome in batch.json["data"].as_array().unwrap() {
        let record = outcome["body"]["data"].as_object();
        let names: Vec<_> = record
            .unwrap_or_else(|| panic!("{outcome}"))
            .keys()
            .collect();
        assert_eq!(names, ["gid", "name"], "{outcome}");
    }
}

/// The forms of one instant, 2031-01-02T10:30 in UTC.
const INSTANTS: [&str; 8] = [
    "2031-01-02T10:30:00.000Z",
    "2031-01-02T10:30:00",
    "2031-01-02T10:30:00.000000",
    "2031-01-02T10:30",
    "2031-01-02T10:30Z",
    "2031-01-02 10:30:00",
    "2031-01-02T12:30:00+02:00",
    "2031-01-02T12:30:00 02:00",
];

/// S127. In bodies.
#[test]
fn dates_and_times_of_bodies_are_read_as_clients_write_them() {
    let world = world();
    for text in INSTANTS {
        let gid = task(&world, json!({"name": "Timed", "due_at": text}));
        let shown = read(&world, &format!("/tasks/{gid}")).json["data"].take();
        assert_eq!(shown["due_at"], "2031-01-02T10:30:00.000Z", "{text}");
        let gid = task(&world, json!({"name": "Dated", "due_on": text}));
        let shown = read(&world, &format!("/tasks/{gid}")).json["data"].take();
        assert_eq!(shown["due_on"], "2031-01-02", "{text}");
        assert_eq!(shown["due_at"], Value::Null, "{text}");
    }
    // A date is its first instant, as in a query.
    let gid = task(&world, json!({"name": "Day", "due_at": "2031-01-02"}));
    let shown = read(&world, &format!("/tasks/{gid}")).json["data"].take();
    assert_eq!(shown["due_at"], "2031-01-02T00:00:00.000Z");
    // The date is the one that is written, not the one it is in UTC.
    let project = format!("/projects/{}", world.gid("garden"));
    let data = json!({"due_on": "2031-01-02T00:00:00+02:00"});
    let shown = written(&world, "PUT", &project, &data);
    assert_eq!(shown["due_on"], "2031-01-02");
    for wrong in [
        "2031-01-02T",
        "2031-01-02T25:00",
        "2031-02-30T10:30:00Z",
        "02/01/2031",
    ] {
        let data = json!({"due_on": wrong});
        let answer = world.call("ada", "PUT", &project, &data);
        let said = "due_on: Date must be in ISO-8601 (yyyy-mm-dd) format, not: ";
        assert_eq!(answer.status, 400, "{wrong}");
        assert_eq!(answer.message(), format!("{said}{wrong}"));
    }
}

/// S127. In lists, searches and the audit log.
#[test]
fn dates_and_times_of_queries_are_read_as_clients_write_them() {
    let world = world();
    let gid = |name: &str| world.gid(name).to_string();
    let due = task(
        &world,
        json!({"name": "Due", "due_at": "2031-01-02T10:30:00Z"}),
    );
    let same = |target: &str, token: &str, forms: &[&str]| {
        let all: Vec<String> = forms
            .iter()
            .map(|form| {
                let form = form.replace('+', "%2B").replace(' ', "+");
                let answer = world.get(token, &target.replace('@', &form));
                assert_eq!(answer.status, 200, "{target} {form}: {}", answer.text);
                answer.text
            })
            .collect();
        assert!(all.windows(2).all(|w| w[0] == w[1]), "{target}");
        all[0].clone()
    };
    let (project, orchid) = (gid("garden"), gid("orchid"));
    let search = format!("/workspaces/{orchid}/tasks/search");
    for target in [
        format!("/tasks?project={project}&modified_since=@"),
        format!("/projects/{project}/tasks?completed_since=@"),
        format!("{search}?created_at.before=@"),
    ] {
        same(&target, "ada", &INSTANTS);
    }
    let log = format!("/workspaces/{orchid}/audit_log_events?start_at=@");
    same(&log, "robot", &INSTANTS);
    // The instant itself is on neither side; a date means a whole day.
    let on_time = same(&format!("{search}?due_at.after=@"), "ada", &INSTANTS);
    assert!(!on_time.contains(&due), "{on_time}");
    let day = ["2031-01-02", "2031-01-02T23:00:00Z", "2031-01-02 23:00"];
    let on_day = same(&format!("{search}?due_on=@"), "ada", &day);
    assert!(on_day.contains(&due), "{on_day}");
    let after = same(&format!("{search}?due_on.after=@"), "ada", &day);
    assert!(!after.contains(&due), "{after}");
}

/// S129.
#[test]
fn empty_parameters_are_absent_and_lists_may_stand_in_brackets() {
    let world = world();
    let gid = |name: &str| world.gid(name).to_string();
    let (orchid, garden) = (gid("orchid"), gid("garden"));
    let same = |one: String, other: String| {
        let (one, other) = (read(&world, &one).text, read(&world, &other).text);
        assert_eq!(one, other);
    };
    let projects = format!("/workspaces/{orchid}/projects");
    same(
        format!("{projects}?archived=&limit=&offset=&opt_fields="),
        projects,
    );
    let tasks = format!("/tasks?project={garden}");
    same(
        format!("{tasks}&section=&assignee=&workspace=&completed_since=&modified_since="),
        tasks,
    );
    let search = format!("/workspaces/{orchid}/tasks/search");
    let tags = format!("{},{}", gid("thirsty"), gid("water"));
    let (one, other) = tags.split_once(',').unwrap();
    same(
        format!("{search}?completed=&tags.any[]={one}&sort_ascending="),
        format!("{search}?tags.any={one}"),
    );
    let bad = world.get(
        "ada",
        &format!("{search}?tags.any[]={one}&tags.any[]={other}"),
    );
    assert_eq!(bad.message(), format!("tags.any: Unknown object: {other}"));
    for word in ["TRUE", "yes", "1", "True"] {
        same(
            format!("{search}?completed={word}"),
            format!("{search}?completed=true"),
        );
    }
    let required = world.get("ada", "/webhooks?workspace=");
    assert_eq!(required.message(), "workspace: Missing input");
}

/// S129. In every row, and in a batch.
#[test]
fn a_slash_at_the_end_of_a_path_says_nothing() {
    let world = world();
    let water = format!("/tasks/{}", world.gid("water"));
    let plain = read(&world, &water);
    assert_eq!(read(&world, &format!("{water}/")).text, plain.text);
    let put = written(&world, "PUT", &format!("{water}/?opt_pretty"), &json!({}));
    assert_eq!(put["gid"], plain.gid());
    let pages = format!("/projects/{}/tasks/?limit=1", world.gid("garden"));
    let next = read(&world, &pages).json["next_page"].take();
    let path = next["path"].as_str().unwrap();
    assert_eq!(read(&world, path).gids().len(), 1, "{path}");
    let actions: Vec<Value> = [
        water.clone(),
        format!("{water}/"),
        water.trim_start_matches('/').to_owned(),
    ]
    .iter()
    .map(|path| json!({"relative_path": path, "method": "get"}))
    .collect();
    let batch = world.post("ada", "/batch", json!({ "actions": actions }));
    let statuses = statuses(&batch);
    assert_eq!(statuses, [200, 200, 200], "{}", batch.text);
    assert_eq!(world.get("ada", &format!("{water}//")).status, 404);
}

fn statuses(batch: &Answer) -> Vec<u64> {
    let outcomes = batch.json["data"].as_array().unwrap().iter();
    outcomes.filter_map(|o| o["status_code"].as_u64()).collect()
}

/// S138. As GET /tasks does.
#[test]
fn lists_of_a_containers_tasks_are_filtered_by_when_they_were_modified() {
    let world = world();
    let gid = |name: &str| world.gid(name).to_string();
    world.advance(3600);
    let before = workgraph_core::model::time::Time::from_system(world.now());
    world.advance(60);
    let changed = task(&world, json!({"name": "New", "assignee": "me"}));
    let tag = json!({"tag": gid("thirsty")});
    let tagged = world.post("ada", &format!("/tasks/{changed}/addTag"), tag);
    assert_eq!(tagged.status, 200, "{}", tagged.text);
    let section = format!("/sections/{}", gid("beds"));
    written(
        &world,
        "POST",
        &format!("{section}/addTask"),
        &json!({"task": changed}),
    );
    for list in [
        format!("/projects/{}/tasks", gid("garden")),
        format!("{section}/tasks"),
        format!("/tags/{}/tasks", gid("thirsty")),
        format!("/user_task_lists/{}/tasks", gid("ada_list")),
    ] {
        assert!(read(&world, &list).gids().contains(&changed), "{list}");
        let since = |at: String| read(&world, &format!("{list}?modified_since={at}")).gids();
        assert_eq!(
            since(before.to_string()),
            std::slice::from_ref(&changed),
            "{list}"
        );
        let later = before.add_millis(3_600_000);
        assert_eq!(since(later.to_string()), Vec::<String>::new(), "{list}");
    }
}

/// In an address that a client sent as it is, `+` stands for itself: no address has a blank.
#[test]
fn a_plus_in_an_address_need_not_be_encoded() {
    let world = world();
    let orchid = world.gid("orchid").to_string();
    let added = world.post(
        "ada",
        &format!("/workspaces/{orchid}/addUser"),
        json!({"user": "pat+work@orchid.test"}),
    );
    assert_eq!(added.status, 200, "{}", added.text);
    let pat = added.gid();
    let goal = world.gid("orchid_goal").to_string();
    let task = task(
        &world,
        json!({"name": "Pat's", "workspace": orchid, "assignee": pat}),
    );
    for (target, parameter, found) in [
        (
            format!("/tasks?workspace={orchid}"),
            "assignee",
            Some(&task),
        ),
        (
            format!("/workspaces/{orchid}/tasks/search?sort_by=created_at"),
            "assignee.any",
            Some(&task),
        ),
        (
            format!("/workspaces/{orchid}/tasks/search?sort_by=created_at"),
            "created_by.any",
            None,
        ),
        (
            format!("/workspaces/{orchid}/tasks/search?sort_by=created_at"),
            "followers.any",
            None,
        ),
        (
            format!("/workspaces/{orchid}/projects/search?sort_by=created_at"),
            "owner.any",
            None,
        ),
        (
            format!("/team_memberships?workspace={orchid}"),
            "user",
            None,
        ),
        (
            format!("/portfolio_memberships?workspace={orchid}"),
            "user",
            None,
        ),
        (format!("/memberships?parent={goal}"), "member", None),
        (
            format!("/time_tracking_entries?workspace={orchid}"),
            "user",
            None,
        ),
        (format!("/ooo_entries?workspace={orchid}"), "user", None),
    ] {
        let ask = |address: &str| world.get("ada", &format!("{target}&{parameter}={address}"));
        let (plain, encoded) = (ask("pat+work@orchid.test"), ask("pat%2Bwork%40orchid.test"));
        let named = format!("{target} {parameter}: {}", plain.text);
        assert_eq!(
            (plain.status, &plain.text),
            (encoded.status, &encoded.text),
            "{named}"
        );
        if let Some(task) = found {
            assert!(plain.gids().contains(task), "{named}");
        }
    }
    let path = world.get("ada", "/users/pat+work@orchid.test");
    assert_eq!((path.status, path.gid()), (200, pat));
}

#[test]
fn a_list_that_is_given_in_parts_is_one_list() {
    let world = world();
    let orchid = world.gid("orchid").to_string();
    let [thirsty, other] = ["Thirsty 2", "Dry"].map(|name| {
        let tag = json!({"name": name, "workspace": orchid});
        world.post("ada", "/tags", tag).gid()
    });
    let tasks = [&thirsty, &other].map(|tag| {
        task(
            &world,
            json!({"name": "Tagged", "workspace": orchid, "tags": [tag]}),
        )
    });
    let search = format!("/workspaces/{orchid}/tasks/search?sort_by=created_at");
    let both = read(&world, &format!("{search}&tags.any={thirsty},{other}")).gids();
    assert_eq!(both.len(), 2);
    for query in [
        format!("tags.any={thirsty}&tags.any={other}"),
        format!("tags.any[]={thirsty}&tags.any[]={other}"),
        format!("tags.any={other}&text=Tagged&tags.any={thirsty}"),
    ] {
        assert_eq!(
            read(&world, &format!("{search}&{query}")).gids(),
            both,
            "{query}"
        );
    }
    for (parameter, found) in [("tags.not", vec![]), ("tags.all", vec![])] {
        let query = format!("text=Tagged&{parameter}={thirsty}&{parameter}={other}");
        let found: Vec<String> = found;
        assert_eq!(
            read(&world, &format!("{search}&{query}")).gids(),
            found,
            "{query}"
        );
    }
    assert!(tasks.iter().all(|task| both.contains(task)));
}
