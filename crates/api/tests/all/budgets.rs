//! Budgets: their figures follow from the time of a project, its allocations and its rates.
use crate::world::{KINDS, Kind, World};
use serde_json::{Value, json};

/// Returns the budget's estimate and actual figure.
fn figures(world: &World, budget: &str) -> [f64; 2] {
    let record = world.get("ada", budget).json["data"].clone();
    ["estimate", "actual"].map(|figure| record[figure]["value"].as_f64().unwrap())
}

/// Returns the sums of the minutes of a project's entries, of ada's and of moe's: those that are billable, and all.
fn sums(world: &World, project: &str) -> [[f64; 2]; 2] {
    let fields = "duration_minutes,billable_status,created_by.name";
    let of = format!("/time_tracking_entries?attributable_to={project}&opt_fields={fields}");
    let entries = world.get("ada", &of).json["data"]
        .as_array()
        .unwrap()
        .clone();
    ["Ada", "Moe"].map(|user| {
        let own = entries.iter().filter(|entry| {
            let name = entry["created_by"]["name"].as_str().unwrap();
            name.starts_with(user)
        });
        let minutes = |entry: &Value| entry["duration_minutes"].as_f64().unwrap();
        let billable = own
            .clone()
            .filter(|entry| entry["billable_status"] == "billable");
        [billable.map(minutes).sum(), own.map(minutes).sum()]
    })
}

/// S260.
#[test]
fn the_figures_of_a_budget_are_those_of_its_time() {
    for kind in KINDS {
        let world = World::new(kind);
        let [garden, moss, rake] =
            ["garden", "moss", "rake"].map(|name| world.gid(name).to_string());
        let send = |user: &str, method: &str, to: &str, data: Value| {
            let reply = world.call(user, method, to, &data);
            assert!(reply.status < 300, "{method} {to}: {:?}", reply.json);
            reply
        };
        let budget = |project: &str, of: &str, actual: Value, source: &str| {
            let data = json!({"parent": project, "budget_type": of, "actual": actual,
                "estimate": {"source": source}});
            format!("/budgets/{}", send("ada", "POST", "/budgets", data).gid())
        };
        let of_time = budget(&garden, "time", json!({}), "capacity_plans");
        let billed = json!({"billable_status_filter": "billable"});
        let at = format!("/tasks/{rake}/time_tracking_entries");
        let (mut entries, mut of_cost, mut rate): (Vec<String>, _, _) = (Vec::new(), None, 0.0);
        for step in 0..30_usize {
            let first = entries.first().cloned().unwrap_or_default();
            let user = if step % 2 == 0 { "ada" } else { "moe" };
            let billing = ["billable", "nonBillable", "notApplicable"][step % 3];
            match step % 10 {
                4 => drop(send("ada", "PUT", &first, json!({"attributable_to": moss}))),
                5 => {
                    let data = json!({"attributable_to": garden, "billable_status": "billable"});
                    send("ada", "PUT", &first, data);
                }
                6 => drop(send("ada", "PUT", &first, json!({"duration_minutes": 90}))),
                7 => {
                    send("ada", "DELETE", &first, Value::Null);
                    entries.remove(0);
                }
                8 if of_cost.is_none() => {
                    let data = json!({"parent": garden, "resource": world.gid("moe").to_string(),
                        "rate": 45.5});
                    send("ada", "POST", "/rates", data);
                    // It counts what was tracked before.
                    of_cost = Some(budget(&garden, "cost", billed.clone(), "capacity_plans"));
                    rate = 45.5;
                }
                _ => {
                    let data = json!({"duration_minutes": step + 7, "billable_status": billing});
                    let entry = send(user, "POST", &at, data).gid();
                    entries.push(format!("/time_tracking_entries/{entry}"));
                }
            }
            let [ada, moe] = sums(&world, &garden);
            assert_eq!(figures(&world, &of_time), [0.0, ada[1] + moe[1]], "{step}");
            if let Some(of_cost) = &of_cost {
                let cost = (moe[0] / 60.0 * rate * 100.0).round() / 100.0;
                assert_eq!(figures(&world, of_cost), [0.0, cost], "after step {step}");
            }
        }
        let of_cost = of_cost.unwrap();
        assert!(figures(&world, &of_cost)[1] > 0.0);
        let filter = json!({"actual": {"billable_status_filter": "any"}});
        send("ada", "PUT", &of_cost, filter);
        let [_, moe] = sums(&world, &garden);
        let cost = (moe[1] / 60.0 * rate * 100.0).round() / 100.0;
        assert_eq!(figures(&world, &of_cost)[1], cost);

        let days = json!({"parent": garden, "assignee": world.gid("moe").to_string(),
            "start_date": "2026-03-02", "end_date": "2026-03-06",
            "effort": {"type": "hours", "value": 10}});
        let days = send("ada", "POST", "/allocations", days).gid();
        let days = format!("/allocations/{days}");
        assert_eq!(figures(&world, &of_time)[0], 600.0);
        assert_eq!(figures(&world, &of_cost)[0], 455.0);
        send("ada", "PUT", &days, json!({"end_date": "2026-03-03"}));
        assert_eq!(figures(&world, &of_time)[0], 240.0);
        send("ada", "PUT", &days, json!({"parent": moss}));
        assert_eq!(figures(&world, &of_time)[0], 0.0);
        send("ada", "PUT", &days, json!({"parent": garden}));
        let list = world.get("ada", &format!("/rates?parent={garden}")).gids();
        send("ada", "DELETE", &format!("/rates/{}", list[0]), Value::Null);
        assert_eq!(figures(&world, &of_cost), [0.0, 0.0]);
        send("ada", "DELETE", &days, Value::Null);
        assert_eq!(figures(&world, &of_time)[0], 0.0);
    }
}

/// S261.
#[test]
fn budgets_are_for_the_admins_of_a_project_and_one_of_each_type() {
    let world = World::new(Kind::Memory);
    let project = world.gid("garden").to_string();
    let data = |of: &str| json!({"parent": project, "budget_type": of});
    assert_eq!(world.post("moe", "/budgets", data("time")).status, 403);
    let made = world.post("ada", "/budgets", data("time")).gid();
    let made = format!("/budgets/{made}");
    assert_eq!(world.post("ada", "/budgets", data("time")).status, 400);
    assert_eq!(world.post("ada", "/budgets", data("cost")).status, 201);
    let list = format!("/budgets?parent={project}");
    assert_eq!(world.get("moe", &made).status, 403);
    assert_eq!(world.get("moe", &list).gids().len(), 0);
    assert_eq!(world.get("ada", &list).gids().len(), 2);
    assert_eq!(world.call("ada", "DELETE", &made, &Value::Null).status, 200);
    assert_eq!(world.post("ada", "/budgets", data("time")).status, 201);
    assert_eq!(world.get("ada", &list).gids().len(), 2);
}

#[test]
fn time_on_an_own_task_counts_to_no_project_that_its_author_only_sees() {
    for kind in KINDS {
        let world = World::new(kind);
        let garden = world.gid("garden").to_string();
        let send = |user: &str, method: &str, to: &str, data: Value| {
            let reply = world.call(user, method, to, &data);
            assert!(reply.status < 300, "{method} {to}: {:?}", reply.json);
            reply
        };
        let data = json!({"name": "Moss", "team": team(&world),
            "privacy_setting": "private"});
        let project = send("ada", "POST", "/projects", data).gid();
        let member = json!({"parent": project, "member": world.gid("moe").to_string(),
            "access_level": "viewer"});
        send("ada", "POST", "/memberships", member);
        let data = json!({"parent": project, "budget_type": "time"});
        let budget = format!("/budgets/{}", send("ada", "POST", "/budgets", data).gid());
        let own = json!({"name": "Own", "projects": [garden]});
        let own = send("moe", "POST", "/tasks", own).gid();
        let at = format!("/tasks/{own}/time_tracking_entries");
        let time = |attributed: &str| {
            json!({"duration_minutes": 60, "entered_on": "2026-01-05",
                "attributable_to": attributed})
        };
        assert_eq!(world.post("moe", &at, time(&project)).status, 403);
        let entry = send("moe", "POST", &at, time(&garden)).gid();
        let entry = format!("/time_tracking_entries/{entry}");
        let moved = json!({ "attributable_to": project });
        assert_eq!(world.call("moe", "PUT", &entry, &moved).status, 403);
        // Nor does the task go there.
        let add = format!("/tasks/{own}/addProject");
        let data = json!({ "project": project });
        assert_eq!(world.post("moe", &add, data).status, 403);
        assert_eq!(figures(&world, &budget)[1], 0.0);
        // Who changes the project may.
        send("ada", "PUT", &entry, moved);
        assert_eq!(figures(&world, &budget)[1], 60.0);
    }
}

/// Makes a team of ada; returns its gid.
fn team(world: &World) -> String {
    let data = json!({"name": "Diggers", "organization": world.gid("orchid").to_string()});
    let made = world.post("ada", "/teams", data);
    assert_eq!(made.status, 201, "{}", made.text);
    made.gid()
}
