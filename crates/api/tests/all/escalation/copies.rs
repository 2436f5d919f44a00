//! Copies: who may not make an object may not have it by a copy or by a template either.
use super::*;

/// An object that users try to make, and other ways to the same object.
struct Attempt {
    /// The object in words.
    named: &'static str,
    made: (String, Value),
    copied: Vec<(String, Value)>,
    /// A list that would show it.
    list: String,
}

fn attempts(world: &World) -> Vec<Attempt> {
    let gid = |name: &str| gid(world, name);
    let [
        orchid,
        garden,
        works,
        commons,
        gardeners,
        water,
        buds,
        weeding,
        plan,
    ] = [
        "orchid",
        "garden",
        "works",
        "commons",
        "gardeners",
        "water",
        "water_buds",
        "weeding",
        "plot_plan",
    ]
    .map(gid);
    let name = |more: Value| {
        let mut data = json!({"name": "Mine"});
        data.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        data
    };
    let duplicate =
        |kind: &str, of: &str, more: Value| (format!("/{kind}/{of}/duplicate"), name(more));
    let instantiate = |more: Value| {
        let dates = json!({"requested_dates": [], "public": false, "is_strict": false});
        let mut data = name(more);
        data.as_object_mut()
            .unwrap()
            .extend(dates.as_object().unwrap().clone());
        (
            format!("/project_templates/{plan}/instantiateProject"),
            data,
        )
    };
    vec![
        Attempt {
            named: "a portfolio",
            made: ("/portfolios".into(), name(json!({"workspace": orchid}))),
            copied: vec![
                duplicate("portfolios", &works, json!({})),
                duplicate(
                    "portfolios",
                    &works,
                    json!({"include": "members,permissions,child_projects"}),
                ),
            ],
            list: format!("/portfolios?workspace={orchid}&owner=me"),
        },
        Attempt {
            named: "a project of a public team",
            made: ("/projects".into(), name(json!({"team": commons}))),
            copied: vec![
                duplicate("projects", &garden, json!({})),
                duplicate(
                    "projects",
                    &garden,
                    json!({"include": "members,permissions,task_projects"}),
                ),
                instantiate(json!({})),
                instantiate(json!({"team": commons})),
            ],
            list: format!("/projects?workspace={orchid}&limit=100"),
        },
        Attempt {
            named: "a project of a team",
            made: ("/projects".into(), name(json!({"team": gardeners}))),
            copied: vec![
                duplicate("projects", &garden, json!({"team": gardeners})),
                instantiate(json!({"team": gardeners})),
            ],
            list: format!("/teams/{gardeners}/projects"),
        },
        Attempt {
            named: "a template in a team",
            made: ("/projects".into(), name(json!({"team": gardeners}))),
            copied: vec![(
                format!("/projects/{garden}/saveAsTemplate"),
                name(json!({"team": gardeners, "public": false})),
            )],
            list: format!("/teams/{gardeners}/project_templates"),
        },
        Attempt {
            named: "a task in a project",
            made: ("/tasks".into(), name(json!({"projects": [garden]}))),
            copied: vec![
                duplicate("tasks", &water, json!({"include": "projects"})),
                duplicate(
                    "tasks",
                    &water,
                    json!({"include": "projects,parent,subtasks,assignee,followers"}),
                ),
                (
                    format!("/task_templates/{weeding}/instantiateTask"),
                    name(json!({})),
                ),
            ],
            list: format!("/projects/{garden}/tasks"),
        },
        Attempt {
            named: "a subtask",
            made: (format!("/tasks/{water}/subtasks"), name(json!({}))),
            copied: vec![
                duplicate("tasks", &buds, json!({"include": "parent"})),
                duplicate("tasks", &buds, json!({"include": "parent,projects"})),
            ],
            list: format!("/tasks/{water}/subtasks"),
        },
    ]
}

/// Returns a world where everybody may look at the portfolio.
fn world_with_portfolio() -> World {
    let world = World::new(Kind::Memory);
    for (name, level) in [("gus", "editor"), ("vic", "viewer")] {
        let (works, member) = (gid(&world, "works"), gid(&world, name));
        let seat = json!({"parent": works, "member": member, "access_level": level});
        ok(world.post("ada", "/memberships", seat));
    }
    world
}

#[test]
fn who_may_not_make_an_object_has_none_by_a_copy_either() {
    let mut refused = 0;
    let count = attempts(&world_with_portfolio()).len();
    for at in 0..count {
        for reader in ["gus", "vic", "mel"] {
            let world = world_with_portfolio();
            let attempt = attempts(&world).swap_remove(at);
            let listed = || {
                let viewer = match attempt.named {
                    "a portfolio" => reader,
                    _ => "ada",
                };
                ok(world.get(viewer, &attempt.list)).gids()
            };
            let before = listed();
            let (path, data) = &attempt.made;
            let made = world.post(reader, path, data.clone());
            if made.status < 300 {
                continue;
            }
            assert!(matches!(made.status, 402 | 403), "{}", made.text);
            for (path, data) in &attempt.copied {
                let copied = world.post(reader, path, data.clone());
                world.work();
                let named = attempt.named;
                let said = copied.text;
                assert_eq!(
                    before,
                    listed(),
                    "{reader} has {named} by {path} {data}: {said}"
                );
                refused += 1;
            }
        }
    }
    assert!(refused > 12, "{refused}");
}
