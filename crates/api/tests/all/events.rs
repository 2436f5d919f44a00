//! The events API against the journal: the joined polls are the log, for pieces of any size.
use crate::world::{Answer, KINDS, Kind, World};
use serde_json::{Value, json};
use workgraph_core::Gid;
use workgraph_testkit::SeededBytes;

/// Returns the properties of an event that distinguish it.
fn shape(user: &Value, resource: &Value, action: &Value, parent: &Value, change: &Value) -> String {
    format!("{user} {resource} {action} {parent} {change}")
}

/// Returns the events that the journal has for a node after a commit.
fn log(world: &World, at: &str, after: u64) -> Vec<String> {
    let at = Gid::parse(at).unwrap();
    let text = |gid: Option<Gid>| gid.map_or(Value::Null, |g| g.to_string().into());
    let mut all = Vec::new();
    for event in world.events(after) {
        for fact in event
            .change_records
            .iter()
            .filter(|f| event.is_heard_at(f, at))
        {
            let Some(said) = event.render(fact) else {
                continue;
            };
            let change = said.change.map_or(Value::Null, |c| c.field.into());
            let parent = text(said.parent);
            let subject = text(Some(fact.gid));
            let action = Value::from(said.action);
            all.push(shape(
                &text(event.actor),
                &subject,
                &action,
                &parent,
                &change,
            ));
        }
    }
    all
}

fn shown(answer: &Answer) -> Vec<String> {
    let events = answer.json["data"].as_array().unwrap();
    let event = |e: &Value| {
        let (user, resource) = (&e["user"]["gid"], &e["resource"]["gid"]);
        shape(
            user,
            resource,
            &e["action"],
            &e["parent"]["gid"],
            &e["change"]["field"],
        )
    };
    events.iter().map(event).collect()
}

/// Does random work on a few tasks: a number chooses the action.
fn work(world: &World, tasks: &mut Vec<String>, random: &SeededBytes) {
    let garden = world.gid("garden").to_string();
    let mut bytes = [0; 4];
    random.fill(&mut bytes);
    let [what, user, which, n] = bytes;
    let token = ["ada", "mel"][usize::from(user % 2)];
    let task = tasks.get(usize::from(which) % tasks.len().max(1)).cloned();
    match (what % 8, task) {
        (0 | 1, _) | (_, None) => {
            let data = json!({"name": format!("task {n}"), "projects": [garden]});
            tasks.push(world.post(token, "/tasks", data).gid());
        }
        (2, Some(task)) => {
            let data = json!({"name": format!("under {n}")});
            let made = world.post(token, &format!("/tasks/{task}/subtasks"), data);
            if made.status == 201 {
                tasks.push(made.gid());
            }
        }
        (3, Some(task)) => {
            let data = json!({"text": format!("comment {n}")});
            world.post(token, &format!("/tasks/{task}/stories"), data);
        }
        (4, Some(task)) => {
            let data = json!({"name": format!("renamed {n}"), "completed": n % 2 == 0});
            world.call(token, "PUT", &format!("/tasks/{task}"), &data);
        }
        (5, Some(task)) => {
            let data = json!({"followers": [world.gid("moe").to_string()]});
            let act = if n % 2 == 0 {
                "addFollowers"
            } else {
                "removeFollowers"
            };
            world.post(token, &format!("/tasks/{task}/{act}"), data);
        }
        (6, Some(task)) => {
            let act = if n % 2 == 0 {
                "addProject"
            } else {
                "removeProject"
            };
            world.post(
                token,
                &format!("/tasks/{task}/{act}"),
                json!({"project": garden}),
            );
        }
        (_, Some(task)) => {
            if n % 4 == 0 {
                world.call(token, "DELETE", &format!("/tasks/{task}"), &Value::Null);
                tasks.retain(|t| *t != task);
            } else {
                let data =
                    json!({"workspace": world.gid("orchid").to_string(), "name": "elsewhere"});
                world.post(token, "/tasks", data);
            }
        }
    }
}

/// Works and polls by turns, as a user who sees everything; `next` picks the token to go on with.
fn polls_equal_the_log(kind: Kind, seed: u64, next: fn(&Answer, &str) -> String) -> bool {
    let world = World::new(kind);
    let random = SeededBytes::new(seed);
    let garden = world.gid("garden").to_string();
    let target = format!("/events?resource={garden}");
    let start = world.events(0).len() as u64;
    let first = world.get("robot", &target);
    assert_eq!(first.status, 412, "{}", first.text);
    let mut sync = first.json["sync"].as_str().unwrap().to_owned();
    let (mut heard, mut tasks) = (Vec::new(), Vec::new());
    for round in 0..12 {
        // Sometimes there are more events than one call returns.
        for _ in 0..if round % 5 == 4 { 120 } else { 7 } {
            work(&world, &mut tasks, &random);
        }
        loop {
            let page = world.get("robot", &format!("{target}&sync={sync}"));
            assert_eq!(page.status, 200, "{}", page.text);
            assert!(page.json["data"].as_array().unwrap().len() <= 100);
            let again = world.get("robot", &format!("{target}&sync={sync}"));
            assert_eq!(shown(&again), shown(&page), "the same token tells the same");
            heard.extend(shown(&page));
            sync = next(&page, &sync);
            if page.json["has_more"] == false {
                break;
            }
        }
    }
    assert!(heard.len() > 300, "too little happened: {}", heard.len());
    heard == log(&world, &garden, start)
}

/// S61.
#[test]
fn polls_joined_are_the_commit_log() {
    let next = |page: &Answer, _: &str| page.json["sync"].as_str().unwrap().to_owned();
    for kind in KINDS {
        for seed in 1..=3 {
            assert!(polls_equal_the_log(kind, seed, next), "{kind:?} {seed}");
        }
    }
}

#[test]
fn a_poller_that_goes_on_with_an_old_token_hears_things_twice() {
    let stale = |page: &Answer, before: &str| {
        let next = page.json["sync"].as_str().unwrap();
        let more = page.json["has_more"] == true;
        if more { next } else { before }.to_owned()
    };
    assert!(
        !polls_equal_the_log(Kind::Memory, 1, stale),
        "the twin fails"
    );
}

#[test]
fn what_is_older_than_the_journal_is_412() {
    for kind in KINDS {
        let world = World::new(kind);
        let garden = world.gid("garden").to_string();
        let target = format!("/events?resource={garden}");
        let sync = world.get("ada", &target).json["sync"].clone();
        for n in 0..3 {
            world.advance(60);
            world.post(
                "ada",
                "/tasks",
                json!({"name": format!("{n}"), "projects": [garden]}),
            );
        }
        let poll = || world.get("ada", &format!("{target}&sync={}", sync.as_str().unwrap()));
        assert_eq!(poll().status, 200);
        world.advance(60);
        world.prune(120);
        let after = poll();
        assert_eq!(after.status, 412, "{}", after.text);
        let fresh = after.json["sync"].as_str().unwrap();
        assert_eq!(
            world.get("ada", &format!("{target}&sync={fresh}")).status,
            200
        );
    }
}

#[test]
fn a_project_of_its_own_hears_nothing_of_others() {
    let world = World::new(Kind::Sqlite);
    let target = format!("/events?resource={}", world.gid("moss"));
    let sync = world.get("ada", &target).json["sync"].clone();
    let garden = world.gid("garden").to_string();
    world.post("ada", "/tasks", json!({"name": "x", "projects": [garden]}));
    let page = world.get("ada", &format!("{target}&sync={}", sync.as_str().unwrap()));
    assert_eq!(
        (page.status, page.json["data"].as_array().unwrap().len()),
        (200, 0)
    );
    assert_eq!(page.json["has_more"], false);
}

#[test]
fn a_comment_is_told_though_its_task_was_deleted_before_the_poll() {
    for kind in KINDS {
        let world = World::new(kind);
        let garden = world.gid("garden").to_string();
        let target = format!("/events?resource={garden}");
        let sync = world.get("mel", &target).json["sync"].clone();
        let data = json!({"name": "x", "projects": [garden]});
        let task = world.post("mel", "/tasks", data).gid();
        let comment = world.post(
            "mel",
            &format!("/tasks/{task}/stories"),
            json!({"text": "heard?"}),
        );
        world.call("mel", "DELETE", &format!("/tasks/{task}"), &Value::Null);
        let page = world.get("mel", &format!("{target}&sync={}", sync.as_str().unwrap()));
        let events = page.json["data"].as_array().unwrap();
        let event = events
            .iter()
            .find(|e| e["resource"]["gid"] == comment.gid());
        assert_eq!(event.unwrap()["action"], "added", "{}", page.text);
    }
}

/// Returns the events that a target received of the deletion of an object.
fn deletions(world: &World, path: &str, gid: &str) -> Vec<Value> {
    world.deliver();
    let got = world.receiver.got(path);
    let events = got.iter().flat_map(|delivery| delivery.events.clone());
    let of_deletion =
        |event: &Value| event["resource"]["gid"] == *gid && event["action"] == "deleted";
    events.filter(of_deletion).collect()
}

#[test]
fn a_guest_hears_of_the_deletion_of_what_the_guest_saw_and_of_nothing_else() {
    for kind in KINDS {
        let world = World::new(kind);
        let filters = json!([{"resource_type": "project", "action": "deleted"}]);
        world.hook("gus", "orchid", "/echo/gus", filters.clone());
        world.hook("mel", "orchid", "/echo/mel", filters);
        world.hook("gus", "garden", "/echo/garden", Value::Null);
        let (garden, moss) = (
            world.gid("garden").to_string(),
            world.gid("moss").to_string(),
        );
        let data = json!({"name": "x", "projects": [garden]});
        let task = world.post("ada", "/tasks", data).gid();
        world.call("ada", "DELETE", &format!("/tasks/{task}"), &Value::Null);
        world.call("ada", "DELETE", &format!("/projects/{moss}"), &Value::Null);
        assert_eq!(deletions(&world, "/echo/gus", &moss), Vec::<Value>::new());
        assert_eq!(deletions(&world, "/echo/mel", &moss).len(), 1);
        assert_eq!(deletions(&world, "/echo/garden", &task).len(), 1);
        world.call(
            "ada",
            "DELETE",
            &format!("/projects/{garden}"),
            &Value::Null,
        );
        assert_eq!(deletions(&world, "/echo/garden", &garden).len(), 1);
    }
}

#[test]
fn a_viewer_of_a_project_hears_nothing_of_the_deletion_of_its_budget() {
    for kind in KINDS {
        let world = World::new(kind);
        world.hook("gus", "garden", "/echo/gus", Value::Null);
        world.hook("ada", "garden", "/echo/ada", Value::Null);
        let garden = world.gid("garden").to_string();
        let budget = json!({"parent": garden, "budget_type": "time"});
        let budget = world.post("ada", "/budgets", budget);
        let budget = budget.gid();
        world.call("ada", "DELETE", &format!("/budgets/{budget}"), &Value::Null);
        assert_eq!(deletions(&world, "/echo/gus", &budget), Vec::<Value>::new());
        assert_eq!(deletions(&world, "/echo/ada", &budget).len(), 1);
    }
}

#[test]
fn a_deleted_object_has_its_gid_and_types_in_an_event_whatever_the_client_names() {
    for kind in KINDS {
        let world = World::new(kind);
        let garden = world.gid("garden").to_string();
        let fields = "resource.name,resource.notes,resource.html_notes,resource.completed,resource.followers,\
            resource.resource_subtype,resource.resource_type,resource.permalink_url,resource.workspace";
        let target = format!("/events?resource={garden}&opt_fields={fields}");
        let sync = world.get("mel", &target).json["sync"].clone();
        let data = json!({"name": "x", "notes": "secret", "projects": [garden]});
        let task = world.post("mel", "/tasks", data).gid();
        world.call("mel", "DELETE", &format!("/tasks/{task}"), &Value::Null);
        let page = world.get("mel", &format!("{target}&sync={}", sync.as_str().unwrap()));
        let events = page.json["data"].as_array().unwrap().iter();
        let of_task: Vec<&Value> = events
            .filter(|event| event["resource"]["gid"] == *task)
            .collect();
        assert!(of_task.len() > 1, "{}", page.text);
        for event in of_task {
            let expected = json!({
                "gid": task, "resource_type": "task", "resource_subtype": "default_task",
            });
            assert_eq!(event["resource"], expected, "{}", page.text);
        }
    }
}
