//! Inputs of writes outside the body: in the query, or in the path of an old route.
use super::{read, task, world, written};
use serde_json::{Value, json};

/// S134. The query gives inputs that the body lacks, and never replaces those of the body.
#[test]
fn inputs_of_a_write_may_stand_in_its_query() {
    let world = world();
    let gid = |name: &str| world.gid(name).to_string();
    let data = json!({"name": "Beside", "team": gid("gardeners")});
    let made = written(
        &world,
        "POST",
        "/projects?color=dark-red&due_on=2031-01-02&notes=Some+words",
        &data,
    );
    assert_eq!(made["color"], "dark-red");
    assert_eq!(made["due_on"], "2031-01-02");
    assert_eq!(made["notes"], "Some words");
    let project = format!("/projects/{}", made["gid"].as_str().unwrap());
    let both = written(
        &world,
        "PUT",
        &format!("{project}?color=dark-blue&notes=y&due_on=null"),
        &json!({"notes": "z"}),
    );
    assert_eq!(
        (&both["color"], &both["notes"]),
        (&json!("dark-blue"), &json!("z"))
    );
    assert_eq!(both["due_on"], Value::Null);
    // There is no body at all.
    let task = task(&world, json!({"name": "Open"}));
    let done = world.call(
        "ada",
        "PUT",
        &format!("/tasks/{task}?completed=true&opt_fields=completed"),
        &Value::Null,
    );
    assert_eq!(
        (done.status, &done.json["data"]["completed"]),
        (200, &json!(true))
    );
    let follow = format!("/tasks/{task}/addFollowers?followers[]={}", gid("mel"));
    let followed = world.call("ada", "POST", &follow, &Value::Null);
    assert_eq!(followed.status, 200, "{}", followed.text);
    let tag = world.call(
        "ada",
        "POST",
        &format!("/tasks/{task}/addTag?tag={}", gid("thirsty")),
        &Value::Null,
    );
    assert_eq!(tag.status, 200, "{}", tag.text);
    let wrong = world.call("ada", "PUT", &format!("{project}?due_on=soon"), &json!({}));
    assert!(
        wrong.message().starts_with("due_on: Date must be"),
        "{}",
        wrong.text
    );
    let open = world.call("ada", "PUT", &format!("{project}?followers[=1"), &json!({}));
    assert_eq!(open.status, 200, "no input of an update: {}", open.text);
}

/// S134. Parameters that are no input of the operation, and its own parameters, stay in the query.
#[test]
fn other_parameters_of_a_write_are_no_inputs() {
    let world = world();
    let water = format!("/tasks/{}", world.gid("water"));
    let before = world.events(0).len();
    for query in [
        "opt_fields=name&opt_pretty",
        "workspace=1",
        "limit=5&nonsense=1",
        "gid=5&created_at=x&num_likes=3",
        "name=",
    ] {
        let answer = world.call("ada", "PUT", &format!("{water}?{query}"), &json!({}));
        assert_eq!(answer.status, 200, "{query}: {}", answer.text);
    }
    assert_eq!(world.events(0).len(), before);
    let none = world.call(
        "ada",
        "PUT",
        &format!("{water}?opt_fields=name"),
        &Value::Null,
    );
    assert_eq!(none.message(), "data: Missing input");
}

/// S135. Old clients make a task in this way.
#[test]
fn a_task_is_made_in_the_workspace_of_the_path() {
    let world = world();
    let path = format!("/workspaces/{}/tasks", world.gid("orchid"));
    let made = written(&world, "POST", &path, &json!({"name": "Old way"}));
    assert_eq!(made["workspace"]["gid"], world.gid("orchid").to_string());
    let target = format!("/tasks/{}", made["gid"].as_str().unwrap());
    assert_eq!(read(&world, &target).json["data"]["name"], "Old way");
    let placed = json!({"name": "Placed", "projects": [world.gid("garden").to_string()]});
    assert_eq!(
        written(&world, "POST", &path, &placed)["projects"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    let foreign = format!("/workspaces/{}/tasks", world.gid("basalt"));
    assert_eq!(
        world.post("ada", &foreign, json!({"name": "x"})).status,
        403
    );
    assert_eq!(
        world
            .post("ada", "/workspaces/999/tasks", json!({"name": "x"}))
            .status,
        404
    );
    assert_eq!(
        world
            .post("ada", "/workspaces/x/tasks", json!({"name": "x"}))
            .status,
        400
    );
}

/// S135. Old clients put a task into a user's own list in this way: the task becomes theirs.
#[test]
fn a_task_is_put_into_the_callers_own_list() {
    let world = world();
    let list = format!("/user_task_lists/{}/tasks", world.gid("ada_list"));
    let mine = || read(&world, &list).gids();
    let put = |data: Value| world.post("ada", &format!("{list}/insert"), data);
    let on = task(
        &world,
        json!({"name": "Anybody's", "assignee": world.gid("mel").to_string()}),
    );
    let other = task(&world, json!({"name": "Another"}));
    let done = put(json!({"task": on}));
    assert_eq!((done.status, done.text.as_str()), (200, "{\"data\":{}}"));
    assert_eq!(mine().first(), Some(&on));
    let shown = read(&world, &format!("/tasks/{on}")).json["data"].take();
    assert_eq!(shown["assignee"]["gid"], world.gid("ada").to_string());
    let stories = read(&world, &format!("/tasks/{on}/stories")).text;
    assert!(stories.contains("\"assigned\""), "{stories}");
    // Beside another task, and then moved without a position.
    assert_eq!(put(json!({"task": other, "insert_after": on})).status, 200);
    assert_eq!(mine()[..2], [on.clone(), other.clone()]);
    let before = read(&world, &format!("/tasks/{on}/stories")).gids().len();
    assert_eq!(put(json!({"task": on, "insert_after": other})).status, 200);
    assert_eq!(mine()[..2], [other.clone(), on.clone()]);
    assert_eq!(
        read(&world, &format!("/tasks/{on}/stories")).gids().len(),
        before
    );
    let foreign = world.gid("blast").to_string();
    for (data, status) in [
        (json!({}), 400),
        (json!({"task": on, "insert_after": on}), 400),
        (
            json!({"task": on, "insert_before": world.gid("water").to_string()}),
            400,
        ),
        (json!({"task": foreign}), 403),
        (json!({"task": "999999"}), 400),
    ] {
        assert_eq!(put(data.clone()).status, status, "{data}");
    }
    // A user cannot put a task into the list of another user.
    let theirs = format!("/user_task_lists/{}/tasks/insert", world.gid("mel_list"));
    assert_eq!(world.post("ada", &theirs, json!({"task": on})).status, 403);
    assert_eq!(
        world
            .post(
                "ada",
                "/user_task_lists/999/tasks/insert",
                json!({"task": on})
            )
            .status,
        404
    );
}
