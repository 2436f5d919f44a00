//! Records of projects and people: briefs, time periods, days out of office, allocations and rates.
use crate::world::{Kind, World};
use serde_json::{Value, json};

fn gid(world: &World, name: &str) -> String {
    world.gid(name).to_string()
}

/// S158.
#[test]
fn a_project_has_one_brief_and_names_it() {
    let world = World::new(Kind::Memory);
    let project = gid(&world, "garden");
    let named = || {
        let record = world.get("ada", &format!("/projects/{project}"));
        record.json["data"]["project_brief"]["gid"].clone()
    };
    let at = format!("/projects/{project}/project_briefs");
    assert_eq!(named(), Value::Null);
    assert_eq!(world.post("gus", &at, json!({"title": "No"})).status, 403);
    let brief = world.post("moe", &at, json!({"title": "Yes"})).gid();
    assert_eq!(named(), json!(brief));
    assert_eq!(world.post("ada", &at, json!({"title": "Two"})).status, 400);
    let record = format!("/project_briefs/{brief}");
    assert_eq!(world.get("gus", &record).status, 200);
    let data = json!({"text": "Plain"});
    assert_eq!(world.call("gus", "PUT", &record, &data).status, 403);
    assert_eq!(
        world.call("gus", "DELETE", &record, &Value::Null).status,
        403
    );
    assert_eq!(world.call("moe", "PUT", &record, &data).status, 200);
    assert_eq!(
        world.call("moe", "DELETE", &record, &Value::Null).status,
        200
    );
    assert_eq!(named(), Value::Null);
    assert_eq!(
        world.post("ada", &at, json!({"title": "Again"})).status,
        201
    );
}

/// S159.
#[test]
fn time_periods_are_a_tree_that_all_workspaces_share() {
    let world = World::new(Kind::Sqlite);
    let list = |who: &str, workspace: &str| {
        let at = format!(
            "/time_periods?workspace={}&start_on=2026-01-01&end_on=2026-12-31&opt_fields=period,parent.period",
            world.gid(workspace)
        );
        world.get(who, &at)
    };
    let periods = list("ada", "orchid");
    assert_eq!(list("bob", "basalt").json, periods.json);
    assert_eq!(list("ada", "basalt").status, 403);
    let items = periods.json["data"].as_array().unwrap();
    let tree: Vec<(&str, Option<&str>)> = items
        .iter()
        .map(|item| {
            let parent = item["parent"]["period"].as_str();
            (item["period"].as_str().unwrap(), parent)
        })
        .collect();
    let (year, first, second) = (Some("FY"), Some("H1"), Some("H2"));
    let expected = [
        ("FY", None),
        ("H1", year),
        ("Q1", first),
        ("Q2", first),
        ("H2", year),
        ("Q3", second),
        ("Q4", second),
    ];
    assert_eq!(tree, expected);
    for gid in periods.gids() {
        assert_eq!(world.get("gus", &format!("/time_periods/{gid}")).gid(), gid);
    }
}

/// S160.
#[test]
fn vacation_dates_are_those_of_the_first_entry_that_is_not_over() {
    let world = World::new(Kind::Memory);
    let seat = format!(
        "/workspace_memberships/{}?opt_fields=vacation_dates",
        world.gid("mel_seat")
    );
    let dates = || {
        let dates = world.get("ada", &seat).json["data"]["vacation_dates"].clone();
        dates["start_on"].as_str().map(str::to_owned)
    };
    let add = |start: &str, end: &str| {
        let data = json!({"workspace": gid(&world, "orchid"), "user": "me",
            "start_date": start, "end_date": end});
        format!(
            "/ooo_entries/{}",
            world.post("mel", "/ooo_entries", data).gid()
        )
    };
    assert_eq!(dates(), None);
    add("2026-01-01", "2026-01-14");
    assert_eq!(dates(), None, "it is over");
    let late = add("2026-03-02", "2026-03-06");
    let early = add("2026-02-02", "2026-02-06");
    assert_eq!(dates().as_deref(), Some("2026-02-02"));
    let later = json!({"start_date": "2026-04-06", "end_date": "2026-04-10"});
    assert_eq!(world.call("mel", "PUT", &early, &later).status, 200);
    assert_eq!(dates().as_deref(), Some("2026-03-02"));
    assert_eq!(world.call("moe", "PUT", &late, &later).status, 403);
    assert_eq!(world.call("ada", "DELETE", &late, &Value::Null).status, 200);
    assert_eq!(dates().as_deref(), Some("2026-04-06"));
    assert_eq!(
        world.call("mel", "DELETE", &early, &Value::Null).status,
        200
    );
    assert_eq!(dates(), None);
}

/// S161.
#[test]
fn rates_are_for_the_admins_of_a_project() {
    let world = World::new(Kind::Memory);
    let (project, mel) = (gid(&world, "garden"), gid(&world, "mel"));
    let rate = json!({"parent": project, "resource": mel, "rate": 80});
    assert_eq!(world.post("moe", "/rates", rate.clone()).status, 403);
    let made = format!("/rates/{}", world.post("ada", "/rates", rate.clone()).gid());
    assert_eq!(world.post("ada", "/rates", rate.clone()).status, 400);
    let list = format!("/rates?parent={project}");
    assert_eq!(world.get("moe", &made).status, 403);
    assert_eq!(world.get("moe", &list).gids().len(), 0);
    assert_eq!(world.get("ada", &list).gids().len(), 1);
    assert_eq!(world.call("ada", "DELETE", &made, &Value::Null).status, 200);
    assert_eq!(world.post("ada", "/rates", rate).status, 201);

    let days = json!({"parent": project, "assignee": mel, "start_date": "2026-02-02",
        "end_date": "2026-02-06"});
    assert_eq!(world.post("gus", "/allocations", days.clone()).status, 403);
    let made = world.post("moe", "/allocations", days.clone()).gid();
    let made = format!("/allocations/{made}");
    assert_eq!(world.get("gus", &made).status, 200);
    assert_eq!(world.call("gus", "PUT", &made, &days).status, 403);
    let moved = json!({"parent": gid(&world, "moss")});
    assert_eq!(world.call("moe", "PUT", &made, &moved).status, 403);
    assert_eq!(world.call("ada", "PUT", &made, &moved).status, 200);
    assert_eq!(world.get("gus", &made).status, 403);
}
