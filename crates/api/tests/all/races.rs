//! Two requests at once: both decide from the same state, and their commits follow one another.
mod any_few;
mod many;

use crate::world::{KINDS, Kind, World};
use serde_json::{Value, json};
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use workgraph_auth::{Account, Tier};

/// A request for a race: token, method, target and data.
pub(crate) type Racer<'a> = (&'a str, &'a str, String, Value);

/// Runs two requests against each other; returns their statuses.
pub(crate) fn race(world: &World, a: Racer<'_>, b: Racer<'_>) -> [u16; 2] {
    let request = |(token, method, target, data): Racer<'_>| {
        let body = json!({ "data": data }).to_string();
        world.request(token, method, &target, body)
    };
    let (a, b) = (request(a), request(b));
    world.hesitate(true);
    let (a, b) = world.run(async {
        let mut a = std::pin::pin!(world.api.handle(&a));
        let mut b = std::pin::pin!(world.api.handle(&b));
        tokio::join!(a.as_mut(), b.as_mut())
    });
    world.hesitate(false);
    for reply in [&a, &b] {
        let text = String::from_utf8_lossy(&reply.body);
        assert!(reply.status < 500, "{}: {text}", reply.operation);
    }
    [a.status, b.status]
}

pub(crate) fn post<'a>(target: String, data: Value) -> Racer<'a> {
    ("ada", "POST", target, data)
}

#[test]
fn two_edits_of_different_fields_are_both_kept() {
    let world = World::new(Kind::Memory);
    let at = format!("/tasks/{}", world.gid("water"));
    let done = race(
        &world,
        ("ada", "PUT", at.clone(), json!({"name": "First"})),
        ("mel", "PUT", at.clone(), json!({"notes": "Second"})),
    );
    assert_eq!(done, [200, 200]);
    let read = world
        .get("ada", &format!("{at}?opt_fields=name,notes"))
        .json;
    assert_eq!(
        (&read["data"]["name"], &read["data"]["notes"]),
        (&json!("First"), &json!("Second"))
    );
}

#[test]
fn two_tasks_do_not_become_each_others_subtask() {
    let world = World::new(Kind::Memory);
    let (a, b) = (
        world.gid("water").to_string(),
        world.gid("rake").to_string(),
    );
    race(
        &world,
        post(format!("/tasks/{a}/setParent"), json!({"parent": b})),
        post(format!("/tasks/{b}/setParent"), json!({"parent": a})),
    );
    let parent = |task: &str| {
        world
            .get("ada", &format!("/tasks/{task}?opt_fields=parent"))
            .json["data"]["parent"]
            .clone()
    };
    assert!(parent(&a).is_null() || parent(&b).is_null(), "a circle");
}

#[test]
fn two_moves_into_one_project_leave_a_task_in_one_section() {
    let world = World::new(Kind::Memory);
    let (on, garden) = (
        world.gid("loose").to_string(),
        world.gid("garden").to_string(),
    );
    let put = |section: &str| {
        let data = json!({"project": garden, "section": world.gid(section).to_string()});
        post(format!("/tasks/{on}/addProject"), data)
    };
    assert_eq!(race(&world, put("beds"), put("paths")), [200, 200]);
    let listed = world
        .get("ada", &format!("/projects/{garden}/tasks"))
        .gids();
    assert_eq!(
        listed.iter().filter(|g| **g == on).count(),
        1,
        "twice in the project"
    );
}

#[test]
fn the_last_two_sections_are_not_both_deleted() {
    let world = World::new(Kind::Memory);
    let garden = world.gid("garden").to_string();
    for task in ["water", "rake"] {
        let at = format!("/tasks/{}/removeProject", world.gid(task));
        assert_eq!(
            world.post("ada", &at, json!({"project": garden})).status,
            200
        );
    }
    let gone = |section: &str| {
        (
            "ada",
            "DELETE",
            format!("/sections/{}", world.gid(section)),
            json!({}),
        )
    };
    let mut done = race(&world, gone("beds"), gone("paths"));
    done.sort_unstable();
    assert_eq!(done, [200, 400]);
}

#[test]
fn a_section_is_not_deleted_under_a_task_that_goes_into_it() {
    let world = World::new(Kind::Memory);
    let made = world.post(
        "ada",
        &format!("/projects/{}/sections", world.gid("garden")),
        json!({"name": "New"}),
    );
    let section = made.gid();
    let rake = world.gid("rake").to_string();
    race(
        &world,
        ("ada", "DELETE", format!("/sections/{section}"), json!({})),
        post(
            format!("/sections/{section}/addTask"),
            json!({"task": rake}),
        ),
    );
    let listed = world
        .get("ada", &format!("/projects/{}/tasks", world.gid("garden")))
        .gids();
    assert!(listed.contains(&rake), "the task is lost to its project");
}

#[test]
fn two_tasks_do_not_wait_for_each_other() {
    let world = World::new(Kind::Memory);
    let (a, b) = (
        world.gid("loose").to_string(),
        world.gid("rake").to_string(),
    );
    race(
        &world,
        post(
            format!("/tasks/{a}/addDependencies"),
            json!({"dependencies": [b]}),
        ),
        post(
            format!("/tasks/{b}/addDependencies"),
            json!({"dependencies": [a]}),
        ),
    );
    let count = |task: &str| {
        world
            .get("ada", &format!("/tasks/{task}/dependencies"))
            .gids()
            .len()
    };
    assert_eq!(count(&a) + count(&b), 1);
}

#[test]
fn joining_twice_at_once_makes_one_membership() {
    let world = World::new(Kind::Memory);
    let moe = world.gid("moe").to_string();
    let team = world.gid("gardeners").to_string();
    let moss = world.gid("moss").to_string();
    for (target, data, list) in [
        (
            format!("/teams/{team}/addUser"),
            json!({"user": moe}),
            format!("/teams/{team}/team_memberships"),
        ),
        (
            "/memberships".to_owned(),
            json!({"parent": moss, "member": moe}),
            format!("/memberships?parent={moss}"),
        ),
        (
            format!("/workspaces/{}/addUser", world.gid("orchid")),
            json!({"user": "twin@orchid.test"}),
            format!("/workspaces/{}/workspace_memberships", world.gid("orchid")),
        ),
    ] {
        let before = world.get("ada", &list).gids().len();
        let events = world.events(0).len();
        let done = race(
            &world,
            post(target.clone(), data.clone()),
            post(target.clone(), data),
        );
        assert!(done.iter().all(|s| *s < 300), "{target}: {done:?}");
        assert_eq!(world.get("ada", &list).gids().len(), before + 1, "{target}");
        assert_eq!(
            world.events(0).len(),
            events + 1,
            "{target}: a second one was made"
        );
    }
}

#[test]
fn a_subtask_does_not_outlive_its_parent() {
    let world = World::new(Kind::Memory);
    let water = world.gid("water");
    let done = race(
        &world,
        post(format!("/tasks/{water}/subtasks"), json!({"name": "Late"})),
        ("ada", "DELETE", format!("/tasks/{water}"), json!({})),
    );
    assert_eq!(done[1], 200);
    let late = world.events(0).iter().any(|e| {
        e.change_records
            .iter()
            .any(|f| f.gid > world.gid("blast_note") && f.ty == workgraph_core::Type::Task)
    });
    if done[0] == 201 {
        assert!(late);
    }
    let listed = world.get("ada", &format!("/tasks/{water}/subtasks"));
    assert_eq!(listed.status, 404);
}

#[test]
fn likes_of_two_users_are_both_kept() {
    let world = World::new(Kind::Memory);
    let at = format!("/tasks/{}", world.gid("water"));
    race(
        &world,
        ("ada", "PUT", at.clone(), json!({"liked": true})),
        ("mel", "PUT", at.clone(), json!({"liked": true})),
    );
    let read = world.get("ada", &format!("{at}?opt_fields=num_likes")).json;
    assert_eq!(read["data"]["num_likes"], 2);
}

#[test]
fn a_tier_from_seats_of_yesterday_does_not_stay() {
    for kind in KINDS {
        let world = World::new(kind);
        let mel = world.gid("mel");
        let path = format!("/workspaces/{}/removeUser", world.gid("orchid"));
        let body = json!({"data": {"user": mel.to_string()}}).to_string();
        let removal = world.request("ada", "POST", &path, body);
        world.hesitate(true);
        let account = world.run(async {
            let mut refresh = pin!(world.api.refresh_account(mel));
            let looked = poll_fn(|cx| Poll::Ready(refresh.as_mut().poll(cx))).await;
            assert!(looked.is_pending(), "it has read the paid seat");
            world.hesitate(false);
            assert_eq!(world.api.handle(&removal).await.status, 200);
            let now = world.now();
            world
                .oauth
                .set_disabled(mel.get(), true, now)
                .await
                .unwrap();
            refresh.await.unwrap();
            world.oauth.account(mel.get()).await.unwrap()
        });
        let expected = Account {
            disabled: true,
            ..Account::new(mel.get(), Tier::DEFAULT)
        };
        assert_eq!(account, Some(expected));
    }
}

/// Returns the number of stories of a task, and of its events since a sync token.
fn told(world: &World, task: &str, sync: &str) -> (usize, usize) {
    let stories = world.get("ada", &format!("/tasks/{task}/stories"));
    let events = world.get("ada", &format!("/events?resource={task}&sync={sync}"));
    let told = events.json["data"].as_array().unwrap();
    // A story is an event of its task, too: the changes of the task are counted.
    let changes = told.iter().filter(|event| event["type"] == "task");
    (stories.gids().len(), changes.count())
}

#[test]
fn two_equal_writes_at_the_same_moment_are_told_once() {
    for kind in KINDS {
        let world = World::new(kind);
        let task = world.gid("rake").to_string();
        let gid = |name: &str| world.gid(name).to_string();
        let at = |action: &str| format!("/tasks/{task}/{action}");
        let writes = [
            (
                "POST",
                at("addFollowers"),
                json!({"followers": [gid("vic")]}),
            ),
            (
                "POST",
                at("removeFollowers"),
                json!({"followers": [gid("vic")]}),
            ),
            ("POST", at("addTag"), json!({"tag": gid("thirsty")})),
            ("POST", at("removeTag"), json!({"tag": gid("thirsty")})),
            (
                "POST",
                at("addDependencies"),
                json!({"dependencies": [gid("loose")]}),
            ),
            (
                "POST",
                at("removeDependencies"),
                json!({"dependencies": [gid("loose")]}),
            ),
            ("PUT", format!("/tasks/{task}"), json!({"liked": true})),
            ("PUT", format!("/tasks/{task}"), json!({"liked": false})),
        ];
        for (method, target, data) in writes {
            let first = world.get("ada", &format!("/events?resource={task}"));
            let sync = first.json["sync"].as_str().unwrap().to_owned();
            let (stories, _) = told(&world, &task, &sync);
            let write = || ("ada", method, target.clone(), data.clone());
            assert_eq!(race(&world, write(), write()), [200, 200], "{target}");
            let (after, changes) = told(&world, &task, &sync);
            assert!(
                after - stories <= 1,
                "{target} {data}: {} stories",
                after - stories
            );
            assert_eq!(changes, 1, "{target} {data}");
        }
    }
}

#[test]
fn tasks_do_not_wait_for_each_other_in_a_ring_that_several_requests_close() {
    let world = World::new(Kind::Memory);
    let new = |name: &str| {
        let data = json!({"name": name, "projects": [world.gid("garden").to_string()]});
        world.post("ada", "/tasks", data).gid()
    };
    let tasks: Vec<String> = ["a", "b", "c", "d"].map(new).to_vec();
    let waits = |from: usize, to: usize| {
        let at = format!("/tasks/{}/addDependencies", tasks[from]);
        post(at, json!({"dependencies": [tasks[to]]}))
    };
    for (from, to) in [(0, 1), (2, 3)] {
        let (token, _, target, data) = waits(from, to);
        assert_eq!(world.post(token, &target, data).status, 200);
    }
    let mut done = race(&world, waits(1, 2), waits(3, 0));
    done.sort_unstable();
    assert_eq!(done, [200, 400]);
}

/// Writes that follow each other; each has an effect that is seen, and a second one has none.
fn writes_of_edges(world: &World) -> Vec<(&'static str, String, Value)> {
    let gid = |name: &str| world.gid(name).to_string();
    let task = |action: &str| format!("/tasks/{}/{action}", gid("rake"));
    let project = |action: &str| format!("/projects/{}/{action}", gid("garden"));
    let field = json!({"custom_field": gid("vigor"), "is_important": false});
    let loose = json!({"dependents": [gid("loose")]});
    let moe = json!({"members": [gid("moe")]});
    let followers = json!({"followers": [gid("moe")]});
    let posts = [
        (task("addProject"), json!({"project": gid("herbs")})),
        (task("removeProject"), json!({"project": gid("herbs")})),
        (task("addDependents"), loose.clone()),
        (task("removeDependents"), loose),
        (task("setParent"), json!({"parent": gid("loose")})),
        (project("addMembers"), moe.clone()),
        (project("removeMembers"), moe),
        (project("addFollowers"), followers.clone()),
        (project("removeFollowers"), followers),
        (project("addCustomFieldSetting"), field),
    ];
    let posts = posts.map(|(target, data)| ("POST", target, data));
    posts.into_iter().collect()
}

/// Returns the types and actions of the changes after a commit, in an order of their own.
fn changes_after(world: &World, seq: u64) -> Vec<String> {
    let entries = world.events(seq);
    let records = entries.iter().flat_map(|entry| &entry.change_records);
    let mut shown: Vec<String> = records
        .map(|record| format!("{:?} {:?}", record.ty, record.action))
        // What a request makes has another gid in each world; those of the worlds themselves are short.
        .map(|shown| {
            let words = shown.split_inclusive(|c: char| !c.is_ascii_digit());
            words.filter(|word| word.len() < 10).collect()
        })
        .collect();
    shown.sort_unstable();
    shown
}

#[test]
fn two_equal_writes_of_an_edge_leave_the_changes_that_one_leaves() {
    for kind in KINDS {
        let (alone, raced) = (World::new(kind), World::new(kind));
        let last = |world: &World| world.events(0).last().map_or(0, |entry| entry.seq);
        for (one, two) in writes_of_edges(&alone)
            .into_iter()
            .zip(writes_of_edges(&raced))
        {
            let (method, target, data) = one;
            let before = (last(&alone), last(&raced));
            let request =
                alone.request("ada", method, &target, json!({ "data": data }).to_string());
            let answer = alone.run(alone.api.handle(&request));
            assert!(answer.status < 300, "{target}: {}", answer.status);
            let (method, target, data) = two;
            let write = || ("ada", method, target.clone(), data.clone());
            let statuses = race(&raced, write(), write());
            assert!(statuses.contains(&answer.status), "{target}: {statuses:?}");
            let expected = changes_after(&alone, before.0);
            assert!(!expected.is_empty(), "{target}: nothing is told");
            assert_eq!(changes_after(&raced, before.1), expected, "{target}");
        }
    }
}
