//! Tracked time: the sum that a task keeps, and who may change an entry.
use crate::world::{KINDS, Kind, World};
use serde_json::{Value, json};

/// Returns the sum that the task has, and the minutes of its entries.
fn sums(world: &World, task: &str) -> (Option<i64>, Vec<i64>) {
    let record = world.get(
        "ada",
        &format!("/tasks/{task}?opt_fields=actual_time_minutes"),
    );
    let entries = world.get(
        "ada",
        &format!("/tasks/{task}/time_tracking_entries?opt_fields=duration_minutes"),
    );
    let entries = entries.json["data"].as_array().unwrap().clone();
    let minutes = entries
        .iter()
        .map(|entry| entry["duration_minutes"].as_i64().unwrap());
    let sum = record.json["data"]["actual_time_minutes"].as_i64();
    (sum, minutes.collect())
}

/// S156.
#[test]
fn the_tracked_time_of_a_task_is_the_sum_of_its_entries() {
    for kind in KINDS {
        let world = World::new(kind);
        let task = world.gid("rake").to_string();
        let at = format!("/tasks/{task}/time_tracking_entries");
        let mut entries: Vec<String> = Vec::new();
        let mut seen = Vec::new();
        for step in 0..24_usize {
            match (step % 5, entries.first().cloned()) {
                (3, Some(entry)) => {
                    let data = json!({"duration_minutes": step});
                    let to = format!("/time_tracking_entries/{entry}");
                    assert_eq!(world.call("ada", "PUT", &to, &data).status, 200);
                }
                (4, Some(entry)) => {
                    let to = format!("/time_tracking_entries/{entry}");
                    assert_eq!(world.call("ada", "DELETE", &to, &Value::Null).status, 200);
                    entries.remove(0);
                }
                _ => {
                    let data = json!({"duration_minutes": step + 1});
                    entries.push(world.post("ada", &at, data).gid());
                }
            }
            let (sum, minutes) = sums(&world, &task);
            assert_eq!(minutes.len(), entries.len());
            assert_eq!(sum, Some(minutes.iter().sum()), "after step {step}");
            seen.push(sum);
        }
        seen.dedup();
        assert!(seen.len() > 10, "{seen:?}");
        for entry in entries {
            let to = format!("/time_tracking_entries/{entry}");
            assert_eq!(world.call("ada", "DELETE", &to, &Value::Null).status, 200);
        }
        assert_eq!(sums(&world, &task), (None, Vec::new()));
    }
}

/// S157.
#[test]
fn an_entry_is_changed_by_its_user_and_by_admins() {
    let world = World::new(Kind::Memory);
    let at = format!("/tasks/{}/time_tracking_entries", world.gid("rake"));
    let data = json!({"duration_minutes": 10});
    let of = |who: &str| world.post(who, &at, data.clone());
    // Gus may only comment in the project, and vic may only view.
    assert_eq!(of("gus").status, 403);
    assert_eq!(of("vic").status, 403);
    let entry = format!("/time_tracking_entries/{}", of("moe").gid());
    let change = |who: &str, method: &str| world.call(who, method, &entry, &data).status;
    for who in ["mel", "gus", "vic"] {
        assert_eq!(world.get(who, &entry).status, 200, "{who}");
        assert_eq!(change(who, "PUT"), 403, "{who}");
        assert_eq!(change(who, "DELETE"), 403, "{who}");
    }
    for who in ["moe", "ada"] {
        assert_eq!(change(who, "PUT"), 200, "{who}");
    }
    assert_eq!(world.get("bob", &entry).status, 403);
    assert_eq!(change("moe", "DELETE"), 200);
}

#[test]
fn an_entry_is_an_event_of_its_task_and_project() {
    let world = World::new(Kind::Memory);
    let (task, project) = (world.gid("water"), world.gid("garden"));
    let polls = [task, project].map(|gid| {
        let poll = format!("/events?resource={gid}");
        let sync = world.get("ada", &poll).json["sync"].clone();
        format!("{poll}&sync={}", sync.as_str().unwrap())
    });
    let at = format!("/tasks/{task}/time_tracking_entries");
    let entry = world.post("ada", &at, json!({"duration_minutes": 5})).gid();
    for poll in polls {
        let events = world.get("ada", &poll);
        let events = events.json["data"].as_array().unwrap().clone();
        let added = events
            .iter()
            .find(|event| event["resource"]["gid"] == *entry);
        let added = added.unwrap_or_else(|| panic!("{poll}: {events:?}"));
        assert_eq!(added["action"], "added");
        assert_eq!(added["parent"]["gid"], task.to_string());
        let changed = events.iter().any(|event| {
            event["resource"]["gid"] == task.to_string()
                && event["change"]["field"] == "actual_time_minutes"
        });
        assert!(changed, "{events:?}");
    }
}

/// S264.
#[test]
fn the_entries_of_a_portfolio_are_those_of_its_projects() {
    for kind in KINDS {
        let world = World::new(kind);
        let [orchid, garden, moss, rake, ada] =
            ["orchid", "garden", "moss", "rake", "ada"].map(|name| world.gid(name).to_string());
        let add = |user: &str, project: Option<&str>| {
            let data = json!({"duration_minutes": 10, "attributable_to": project});
            let at = format!("/tasks/{rake}/time_tracking_entries");
            world.post(user, &at, data).gid()
        };
        let own = add("ada", Some(&garden));
        let other = add("moe", Some(&garden));
        add("ada", None);
        let late = add("ada", Some(&moss));
        let data = json!({"workspace": orchid, "name": "Spring"});
        let portfolio = world.post("ada", "/portfolios", data).gid();
        let list = |filter: &str| {
            let of = format!("/time_tracking_entries?portfolio={portfolio}{filter}");
            let mut gids = world.get("ada", &of).gids();
            gids.retain(|gid| [&own, &other, &late].contains(&gid));
            gids
        };
        assert_eq!(list("&limit=100"), Vec::<String>::new());
        for item in [&garden, &moss] {
            let to = format!("/portfolios/{portfolio}/addItem");
            assert_eq!(world.post("ada", &to, json!({ "item": item })).status, 200);
        }
        assert_eq!(list("&limit=100"), [&*own, &*other, &*late]);
        assert_eq!(list(&format!("&limit=100&user={ada}")), [&*own, &*late]);
        // Beside a narrower one, the portfolio keeps the entries of its projects.
        let narrow = format!("&limit=100&task={rake}");
        assert_eq!(list(&narrow), [&*own, &*other, &*late]);
        assert_eq!(list(&format!("&attributable_to={moss}")), [&*late]);
        let to = format!("/portfolios/{portfolio}/removeItem");
        assert_eq!(world.post("ada", &to, json!({ "item": moss })).status, 200);
        assert_eq!(list(&narrow), [&*own, &*other]);
        assert_eq!(
            list(&format!("&attributable_to={moss}")),
            Vec::<String>::new()
        );
    }
}
