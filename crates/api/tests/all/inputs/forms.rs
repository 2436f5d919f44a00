//! Forms: brackets in the names of fields, and null in a form.
use super::{read, task, world, written};
use crate::world::{Answer, World};
use bytes::Bytes;
use serde_json::{Value, json};

/// Sends a form.
fn form(world: &World, method: &str, target: &str, body: &str) -> Answer {
    form_by(world, "ada", method, target, body)
}

fn form_by(world: &World, token: &str, method: &str, target: &str, body: &str) -> Answer {
    let mut request = world.request(token, method, target, String::new());
    request.content_type = Some("application/x-www-form-urlencoded".to_owned());
    request.body = Bytes::from(body.to_owned());
    world.send(request)
}

fn sent(world: &World, method: &str, target: &str, body: &str) -> Value {
    let mut answer = form(world, method, target, body);
    assert!(answer.status < 300, "{target} {body}: {}", answer.text);
    answer.json["data"].take()
}

fn gids(list: &Value) -> Vec<&str> {
    let items = list.as_array().unwrap().iter();
    items.filter_map(|item| item["gid"].as_str()).collect()
}

/// S131. Lists, records, and lists of records.
#[test]
fn brackets_in_the_names_of_a_form_are_read() {
    let world = world();
    let gid = |name: &str| world.gid(name).to_string();
    let (ada, mel, moe) = (gid("ada"), gid("mel"), gid("moe"));
    let (garden, moss, vigor, lush) = (gid("garden"), gid("moss"), gid("vigor"), gid("lush"));
    let made = sent(
        &world,
        "POST",
        "/tasks",
        &format!(
            "name=Bracketed&projects[0]={garden}&followers[0]={mel}&followers%5B1%5D={moe}\
             &opt_fields[]=followers&opt_fields[]=projects"
        ),
    );
    assert_eq!(gids(&made["followers"]), [&*ada, &*mel, &*moe]);
    assert_eq!(gids(&made["projects"]), [&*garden]);
    let task = made["gid"].as_str().unwrap();
    // Data of an app, in parts.
    let app = "ada[tasks:read,tasks:write]";
    let data = "external[gid]=ours&external[data]=x&opt_fields=external";
    let kept = form_by(&world, app, "PUT", &format!("/tasks/{task}"), data);
    let external = json!({"gid": "ours", "data": "x"});
    assert_eq!(kept.json["data"]["external"], external, "{}", kept.text);
    let removed = format!("/tasks/{task}/removeFollowers?opt_fields=followers");
    let left = sent(
        &world,
        "POST",
        &removed,
        &format!("followers[]={mel}&followers[]={moe}"),
    );
    assert_eq!(gids(&left["followers"]), [&*ada]);
    // Values of custom fields, by the gid of the field.
    let body = format!("name=Valued&projects[]={moss}&custom_fields[{vigor}]={lush}");
    let valued = sent(&world, "POST", "/tasks", &body);
    assert_eq!(valued["custom_fields"][0]["enum_value"]["gid"], lush);
    let target = format!("/tasks/{}", valued["gid"].as_str().unwrap());
    let cleared = sent(&world, "PUT", &target, &format!("custom_fields[{vigor}]="));
    assert_eq!(cleared["custom_fields"][0]["enum_value"], Value::Null);
    // A webhook keeps its filters.
    let hook = sent(
        &world,
        "POST",
        "/webhooks",
        &format!(
            "resource={garden}&target=https%3A%2F%2Fexample.com%2Fhook&filters[0][resource_type]=task\
             &filters[0][action]=changed&filters[0][fields][]=due_on"
        ),
    );
    assert_eq!(hook["filters"][0]["resource_type"], "task", "{hook}");
    assert_eq!(hook["filters"][0]["action"], "changed");
    assert_eq!(hook["filters"][0]["fields"], json!(["due_on"]));
    // Wrapped like JSON.
    let wrapped = format!("data[name]=Wrapped&data[projects][]={garden}");
    assert_eq!(sent(&world, "POST", "/tasks", &wrapped)["name"], "Wrapped");
}

/// S131. A form that cannot be read changes nothing.
#[test]
fn brackets_that_say_nothing_clear_are_refused() {
    let world = world();
    let water = format!("/tasks/{}", world.gid("water"));
    let before = world.events(0).len();
    for (body, message) in [
        ("name=x&followers[=1", "followers[: brackets must be name[]"),
        ("followers[0]x=1", "followers[0]x: brackets must be"),
        ("[0]=1", "[0]: brackets must be"),
        ("a[][b]=1", "a[][b]: brackets must be"),
        (
            "a[1][2][3][4][5][6]=1",
            "a[1][2][3][4][5][6]: brackets must be",
        ),
        ("name=x&name[0]=1", "name[0]: given in two ways"),
        ("name[0]=x&name[a]=1", "name[a]: given in two ways"),
        ("name[0]=x&name[0]=y", "name[0]: given twice"),
        ("name[0]=x", "name: Not a string: [\"x\"]"),
        (
            "custom_fields[1][[]=1",
            "custom_fields[1][[]: brackets must be",
        ),
    ] {
        let answer = form(&world, "PUT", &water, body);
        assert_eq!(answer.status, 400, "{body}: {}", answer.text);
        assert!(
            answer.message().starts_with(message),
            "{body}: {}",
            answer.text
        );
    }
    let deep = format!("a{}=1", "[0]".repeat(10_000));
    assert_eq!(form(&world, "PUT", &water, &deep).status, 400);
    let wide: String = (0..5_000).map(|at| format!("followers[{at}]=1&")).collect();
    assert_eq!(form(&world, "POST", "/tasks", &wide).status, 413);
    assert_eq!(world.events(0).len(), before);
}

/// S132.
#[test]
fn a_form_clears_what_takes_no_text_by_null_or_nothing() {
    let world = world();
    let gid = |name: &str| world.gid(name).to_string();
    for empty in ["", "null"] {
        let on = task(
            &world,
            json!({"name": "Full", "assignee": gid("mel"), "due_on": "2031-01-02", "notes": "x"}),
        );
        let target = format!("/tasks/{on}");
        let body = format!("assignee={empty}&due_on={empty}&notes={empty}");
        let shown = sent(&world, "PUT", &target, &body);
        assert_eq!(shown["assignee"], Value::Null, "{empty}");
        assert_eq!(shown["due_on"], Value::Null, "{empty}");
        // A text field keeps the text.
        assert_eq!(shown["notes"], empty);
        let parent = json!({"parent": gid("water")});
        written(&world, "POST", &format!("{target}/setParent"), &parent);
        let loose = sent(
            &world,
            "POST",
            &format!("{target}/setParent"),
            &format!("parent={empty}"),
        );
        assert_eq!(loose["parent"], Value::Null);
        // The end of a list is next to null.
        let place = format!("project={}&insert_after={empty}", gid("garden"));
        sent(&world, "POST", &format!("{target}/addProject"), &place);
        let listed = read(&world, &format!("/projects/{}/tasks", gid("garden"))).gids();
        assert_eq!(listed.first(), Some(&on), "{empty}");
        let kept = form(&world, "PUT", &target, &format!("completed={empty}"));
        assert!(
            kept.message().starts_with("completed: Cannot be null"),
            "{}",
            kept.text
        );
    }
}
