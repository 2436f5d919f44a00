//! Filters: each pair of a type and an action that something happens to be is delivered to whom it was subscribed for.
use super::*;
use workgraph_core::model::resources::resource;
use workgraph_webhooks::event_filter::ACTIONS;

/// Resource of a webhook, a type, and the actions on that type that the test brings about.
const HEARD: &[(&str, &str, &[&str])] = &[
    ("garden", "project", &["changed", "deleted"]),
    (
        "garden",
        "task",
        &["added", "changed", "removed", "deleted"],
    ),
    (
        "garden",
        "story",
        &["added", "changed", "removed", "deleted"],
    ),
    ("garden", "section", &["added", "changed", "deleted"]),
    ("garden", "attachment", &["added", "deleted"]),
    (
        "garden",
        "project_membership",
        &["added", "changed", "removed"],
    ),
    (
        "garden",
        "custom_field_setting",
        &["added", "changed", "deleted"],
    ),
    ("garden", "status_update", &["added", "deleted"]),
    ("garden", "project_brief", &["added", "changed", "deleted"]),
    (
        "garden",
        "time_tracking_entry",
        &["added", "changed", "deleted"],
    ),
    ("water", "task", &["added", "changed", "removed", "deleted"]),
    (
        "water",
        "story",
        &["added", "changed", "removed", "deleted"],
    ),
    ("gardeners", "team", &["changed"]),
    ("gardeners", "project", &["added", "changed", "deleted"]),
    ("gardeners", "team_membership", &["added", "removed"]),
    ("gardeners", "user", &["added", "removed"]),
    (
        "works",
        "portfolio",
        &["added", "changed", "removed", "deleted"],
    ),
    ("works", "project", &["added", "removed"]),
    (
        "works",
        "portfolio_membership",
        &["added", "changed", "removed"],
    ),
    ("orchid", "workspace", &["changed"]),
    ("orchid", "workspace_membership", &["added", "removed"]),
    ("orchid", "team", &["added", "changed"]),
    ("orchid", "team_membership", &["added", "removed"]),
    (
        "orchid",
        "project",
        &["added", "changed", "removed", "deleted"],
    ),
    ("orchid", "project_membership", &["added", "removed"]),
    (
        "orchid",
        "portfolio",
        &["added", "changed", "removed", "deleted"],
    ),
    ("orchid", "portfolio_membership", &["added", "removed"]),
    ("orchid", "tag", &["added", "changed", "deleted"]),
    ("orchid", "custom_field", &["added", "changed", "deleted"]),
    (
        "orchid",
        "custom_field_membership",
        &["added", "changed", "removed"],
    ),
    ("orchid", "goal", &["added", "changed", "deleted"]),
    (
        "orchid",
        "goal_membership",
        &["added", "changed", "removed"],
    ),
    (
        "orchid",
        "goal_relationship",
        &["added", "changed", "deleted"],
    ),
    ("orchid", "section", &["added", "changed", "deleted"]),
    ("orchid", "attachment", &["added", "deleted"]),
    ("orchid", "status_update", &["added", "deleted"]),
    ("orchid", "ooo_entry", &["added", "changed", "deleted"]),
    ("orchid", "allocation", &["added", "changed", "deleted"]),
    ("orchid", "role", &["added", "changed", "deleted"]),
];

/// A way to write as ada that must succeed.
struct Ada<'w>(&'w World);

impl Ada<'_> {
    fn write(&self, method: &str, path: &str, data: Value) -> String {
        let done = self.0.call("ada", method, path, &data);
        assert!(done.status < 300, "{method} {path}: {}", done.text);
        done.json["data"]["gid"].as_str().unwrap_or("").to_owned()
    }

    /// Makes a record, and returns its path.
    fn make(&self, path: &str, data: Value) -> String {
        let kind = path.rsplit('/').next().unwrap();
        format!("/{kind}/{}", self.write("POST", path, data))
    }

    fn change(&self, path: &str, data: Value) {
        self.write("PUT", path, data);
    }

    fn delete(&self, path: &str) {
        self.write("DELETE", path, Value::Null);
    }

    /// Makes, changes and deletes a record.
    fn live_and_die(&self, path: &str, made: Value, changed: Value) {
        let record = self.make(path, made);
        if !changed.is_null() {
            self.change(&record, changed);
        }
        self.delete(&record);
    }

    /// Lets moe into what is shared, changes his level and lets him go.
    fn share_for_a_while(&self, parent: &str, level: &str) {
        let asked = json!({"parent": parent, "member": self.gid("moe")});
        let changed = json!({"access_level": level});
        self.live_and_die("/memberships", asked, changed);
    }

    fn gid(&self, name: &str) -> String {
        self.0.gid(name).to_string()
    }
}

/// Does everything that [`HEARD`] lists, but for the ends of what webhooks are on.
fn everything_happens(world: &World) {
    let ada = Ada(world);
    let [orchid, garden, water, works, gardeners] =
        ["orchid", "garden", "water", "works", "gardeners"].map(|name| ada.gid(name));
    let rename = || json!({"name": "Other"});
    let (in_garden, in_water) = (format!("/projects/{garden}"), format!("/tasks/{water}"));
    ada.change(
        &format!("/workspaces/{orchid}"),
        json!({"name": "Orchid 2"}),
    );
    ada.change(&in_garden, json!({"notes": "Green"}));
    ada.change(&in_water, json!({"due_on": "2026-02-02"}));

    let dig = ada.make("/tasks", json!({"name": "Dig", "projects": [garden]}));
    let gone = ada.make(&format!("{in_water}/subtasks"), json!({"name": "Drip"}));
    let moved = ada.make(&format!("{in_water}/subtasks"), json!({"name": "Splash"}));
    let moved = moved.replace("/subtasks", "/tasks");
    ada.write(
        "POST",
        &format!("{moved}/setParent"),
        json!({"parent": null}),
    );
    ada.delete(&gone.replace("/subtasks", "/tasks"));
    ada.write(
        "POST",
        &format!("{dig}/removeProject"),
        json!({"project": garden}),
    );

    let said = json!({"text": "Ready"});
    ada.live_and_die(
        &format!("{in_water}/stories"),
        said,
        json!({"text": "Done"}),
    );
    let file = json!({"parent": water, "resource_subtype": "external", "name": "Plan",
        "url": "https://files.test/2"});
    ada.live_and_die("/attachments", file, Value::Null);
    let minutes = json!({"duration_minutes": 5, "entered_on": "2026-01-15"});
    let spent = format!("{in_water}/time_tracking_entries");
    ada.live_and_die(&spent, minutes, json!({"duration_minutes": 6}));
    ada.live_and_die(
        &format!("{in_garden}/sections"),
        rename(),
        json!({"name": "More"}),
    );

    ada.share_for_a_while(&garden, "viewer");
    let vigor = json!({"custom_field": ada.gid("vigor"), "is_important": false});
    ada.write(
        "POST",
        &format!("{in_garden}/addCustomFieldSetting"),
        vigor.clone(),
    );
    let vigor = json!({"custom_field": ada.gid("vigor"), "is_important": true});
    ada.write(
        "POST",
        &format!("{in_garden}/addCustomFieldSetting"),
        vigor.clone(),
    );
    ada.write(
        "POST",
        &format!("{in_garden}/removeCustomFieldSetting"),
        vigor,
    );
    let status = json!({"parent": garden, "status_type": "on_track", "text": "Well"});
    ada.live_and_die("/status_updates", status, Value::Null);
    let brief = json!({"title": "Plan", "text": "Dig"});
    ada.live_and_die(
        &format!("{in_garden}/project_briefs"),
        brief,
        json!({"title": "Plans"}),
    );

    let team = ada.make("/teams", json!({"name": "Weeders", "organization": orchid}));
    ada.change(&team, rename());
    ada.change(
        &format!("/teams/{gardeners}"),
        json!({"description": "All"}),
    );
    let moe = json!({"user": ada.gid("moe")});
    ada.write("POST", &format!("/teams/{gardeners}/addUser"), moe.clone());
    ada.write("POST", &format!("/teams/{gardeners}/removeUser"), moe);

    let project = ada.make("/projects", json!({"name": "Pond", "team": gardeners}));
    let item = json!({"item": project.replace("/projects/", "")});
    ada.write(
        "POST",
        &format!("/portfolios/{works}/addItem"),
        item.clone(),
    );
    ada.write("POST", &format!("/portfolios/{works}/removeItem"), item);
    ada.change(&project, rename());
    ada.delete(&project);
    let portfolio = ada.make("/portfolios", json!({"name": "Ponds", "workspace": orchid}));
    let item = json!({"item": portfolio.replace("/portfolios/", "")});
    ada.write(
        "POST",
        &format!("/portfolios/{works}/addItem"),
        item.clone(),
    );
    ada.change(&portfolio, rename());
    ada.write("POST", &format!("/portfolios/{works}/removeItem"), item);
    ada.delete(&portfolio);
    ada.share_for_a_while(&works, "editor");

    let in_orchid = || json!({"name": "Dry", "workspace": orchid});
    ada.live_and_die("/tags", in_orchid(), rename());
    let field = ada.make(
        "/custom_fields",
        json!({"name": "Soil", "workspace": orchid, "resource_subtype": "enum",
            "enum_options": [{"name": "Clay"}]}),
    );
    let option = ada.make(&format!("{field}/enum_options"), json!({"name": "Sand"}));
    ada.change(&option, json!({"name": "Peat"}));
    ada.share_for_a_while(&field.replace("/custom_fields/", ""), "admin");
    ada.change(&field, rename());
    ada.delete(&field);
    let goal = ada.make("/goals", in_orchid());
    let part = ada.make("/goals", in_orchid());
    let supports = json!({"supporting_resource": part.replace("/goals/", ""),
        "contribution_weight": 1});
    let edge = ada.write(
        "POST",
        &format!("{goal}/addSupportingRelationship"),
        supports.clone(),
    );
    ada.change(
        &format!("/goal_relationships/{edge}"),
        json!({"contribution_weight": 0}),
    );
    ada.write(
        "POST",
        &format!("{goal}/removeSupportingRelationship"),
        supports,
    );
    ada.share_for_a_while(&goal.replace("/goals/", ""), "editor");
    ada.change(&goal, rename());
    ada.delete(&goal);
    let away = json!({"user": ada.gid("ada"), "workspace": orchid, "start_date": "2026-02-02",
        "end_date": "2026-02-04"});
    ada.live_and_die("/ooo_entries", away, json!({"end_date": "2026-02-05"}));
    let busy = json!({"parent": garden, "assignee": ada.gid("mel"), "start_date": "2026-02-02",
        "end_date": "2026-02-04", "effort": {"type": "percent", "value": 50}});
    ada.live_and_die("/allocations", busy, json!({"end_date": "2026-02-05"}));
    let role = json!({"name": "Keeper", "workspace": orchid, "description": "Keeps", "base_role_type": "member"});
    ada.live_and_die("/roles", role, rename());

    let newcomer = json!({"user": "new@orchid.test"});
    ada.write("POST", &format!("/workspaces/{orchid}/addUser"), newcomer);
    let gone = json!({"user": ada.gid("moe")});
    ada.write("POST", &format!("/workspaces/{orchid}/removeUser"), gone);
}

/// Ends what webhooks are on.
fn everything_ends(world: &World) {
    let ada = Ada(world);
    for (kind, name) in [
        ("tasks", "water"),
        ("projects", "garden"),
        ("portfolios", "works"),
    ] {
        ada.delete(&format!("/{kind}/{}", ada.gid(name)));
        world.deliver();
    }
}

#[test]
fn every_pair_of_type_and_action_is_delivered_to_whom_it_was_subscribed_for() {
    let world = World::new(Kind::Memory);
    let path = |at: &str, ty: &str, action: &str| format!("/echo/{at}/{ty}/{action}");
    let pairs = HEARD
        .iter()
        .flat_map(|(at, ty, actions)| actions.iter().map(move |action| (*at, *ty, *action)));
    for (at, ty, action) in pairs.clone() {
        let filter = json!([{"resource_type": ty, "action": action}]);
        world.hook("ada", at, &path(at, ty, action), filter);
    }
    world.deliver();
    world.receiver.forget();
    everything_happens(&world);
    world.deliver();
    everything_ends(&world);
    let mut silent = Vec::new();
    for (at, ty, action) in pairs {
        let got = world.receiver.got(&path(at, ty, action));
        let events: Vec<&Value> = got.iter().flat_map(|g| &g.events).collect();
        if events.is_empty() {
            silent.push((at, ty, action));
        }
        for event in events {
            let ends = matches!(ty, "story") || ty.ends_with("_membership");
            let called = if ends && action == "deleted" {
                "removed"
            } else {
                action
            };
            assert_eq!(
                (&event["action"], &event["resource"]["resource_type"]),
                (&json!(called), &json!(ty))
            );
            if called == "removed" {
                assert!(event["parent"]["gid"].is_string(), "{event}");
            }
        }
    }
    assert_eq!(silent, [], "subscribed, and never delivered");
}

#[test]
fn of_an_unknown_type_or_action_in_a_filter_the_right_one_is_suggested() {
    let world = World::new(Kind::Memory);
    let ask = |filter: Value| {
        let data = json!({"resource": world.gid("garden").to_string(), "filters": [filter],
            "target": "https://hooks.test/echo/a"});
        world.post("ada", "/webhooks", data)
    };
    let types = HEARD.iter().map(|(_, ty, _)| *ty);
    let actions = ACTIONS.iter().copied();
    let wrong = types
        .map(|ty| ("resource_type", ty))
        .chain(actions.map(|action| ("action", action)));
    for (part, right) in wrong {
        // The last two letters change places.
        let (start, end) = right.split_at(right.len() - 2);
        let misspelt: String = start.chars().chain(end.chars().rev()).collect();
        let filter = match part {
            "action" => json!({"resource_type": "task", "action": misspelt}),
            _ => json!({"resource_type": misspelt}),
        };
        let refused = ask(filter);
        let said = format!(
            "filters: [0]: {part}: Not a recognized value: {misspelt}. Did you mean {right}?"
        );
        assert_eq!(refused.status, 400, "{}", refused.text);
        assert!(refused.message().starts_with(&said), "{}", refused.text);
    }
    let refused = ask(json!({"resource_type": "zebra"}));
    assert!(
        refused
            .message()
            .contains("It must be one of workspace, user, team"),
        "{}",
        refused.text
    );
}

#[test]
fn filters_on_types_without_events_are_refused_and_nothing_else() {
    let world = World::new(Kind::Memory);
    for ty in Type::ALL {
        let name = resource(*ty).name;
        let data = json!({"resource": world.gid("garden").to_string(),
            "filters": [{"resource_type": name}], "target": "https://hooks.test/echo/a"});
        let answer = world.post("ada", "/webhooks", data);
        let expected = if ty.has_events() { 201 } else { 400 };
        assert_eq!(answer.status, expected, "{name}: {}", answer.text);
    }
    for (_, heard, _) in HEARD {
        let of_name = Type::ALL.iter().find(|ty| resource(**ty).name == *heard);
        assert!(of_name.unwrap().has_events(), "{heard}");
    }
    for silent in [Type::ProjectStatus, Type::RuleTrigger, Type::TimePeriod] {
        assert!(!silent.has_events(), "{silent:?}");
    }
}
