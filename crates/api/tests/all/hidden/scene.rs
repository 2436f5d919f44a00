//! A shared project among hidden objects. Objects that only ada sees have names with HIDDEN, and those that guests do
//! not see have names with MEMBERS.
mod direct_commits;
mod records;

use self::direct_commits::{custom_types, task_template};
use self::records::{goals, project_records, records};
use crate::world::{Answer, Kind, World};
use serde_json::{Value, json};
use std::sync::OnceLock;
use workgraph_api::ApiSettings;
use workgraph_core::Gid;

/// Names that only ada may find.
pub(crate) const HIDDEN: &[&str] = &[
    "HIDDEN-team",
    "HIDDEN-project",
    "HIDDEN-project-section",
    "HIDDEN-other-project",
    "HIDDEN-task",
    "HIDDEN-subtask",
    "HIDDEN-loose",
    "HIDDEN-story",
    "HIDDEN-attachment",
    "HIDDEN-words",
    "HIDDEN-text",
    "HIDDEN-number",
    "HIDDEN-enum",
    "HIDDEN-option-enum",
    "HIDDEN-multi_enum",
    "HIDDEN-option-multi_enum",
    "HIDDEN-date",
    "HIDDEN-people",
    "HIDDEN-reference",
    "HIDDEN-value",
    "HIDDEN-copy",
    "HIDDEN-template",
    "HIDDEN-weeding",
    "HIDDEN-hook",
    "HIDDEN-status",
    "HIDDEN-time",
    "HIDDEN-portfolio",
    "HIDDEN-brief",
    "HIDDEN-type",
    "HIDDEN-role",
    "HIDDEN-duties",
    "HIDDEN-goal",
];

/// Names that guests may not find.
pub(crate) const MEMBERS: &[&str] = &[
    "MEMBERS-project",
    "MEMBERS-project-section",
    "MEMBERS-task",
    "MEMBERS-tag",
    "MEMBERS-nia",
    "members-nia@",
    "MEMBERS-text",
    "MEMBERS-option-enum",
    "MEMBERS-value",
    "MEMBERS-category",
    "MEMBERS-brief",
    "MEMBERS-type",
    "MEMBERS-goal",
];

/// Returns the world: ada writes on a task that moe and gus read, too, and names everything that she sees. In memory it
/// is built once and copied.
pub(crate) fn scene(kind: Kind) -> World {
    static BUILT: OnceLock<World> = OnceLock::new();
    match kind {
        Kind::Memory => BUILT
            .get_or_init(|| build(kind))
            .copy(ApiSettings::default(), 1),
        Kind::Sqlite | Kind::Waves => build(kind),
    }
}

fn build(kind: Kind) -> World {
    let mut world = World::new(kind);
    places(&mut world);
    fields(&mut world);
    things(&mut world);
    history(&world, "shared");
    portfolios(&mut world);
    texts(&mut world);
    jobs(&mut world);
    records(&mut world);
    project_records(&mut world);
    goals(&mut world);
    world
}

fn ok(answer: Answer) -> Answer {
    assert!(answer.status < 300, "{} {}", answer.status, answer.text);
    answer
}

/// Carries out an action as ada.
pub(super) fn does(world: &World, target: &str, data: Value) -> Answer {
    let answer = world.post("ada", target, data);
    assert!(answer.status < 300, "{target}: {}", answer.text);
    answer
}

/// Creates a node as ada, and stores it under a name.
fn makes(world: &mut World, name: &str, target: &str, data: Value) -> String {
    let made = does(world, target, data).gid();
    world
        .names
        .insert(name.to_owned(), Gid::parse(&made).unwrap());
    made
}

fn gid(world: &World, name: &str) -> String {
    world.gid(name).to_string()
}

fn places(world: &mut World) {
    let orchid = gid(world, "orchid");
    let team = json!({"name": "HIDDEN-team", "organization": orchid, "visibility": "secret"});
    makes(world, "h_team", "/teams", team);
    let team = json!({"name": "Open", "organization": orchid, "visibility": "public"});
    let open = makes(world, "open_team", "/teams", team);
    let project = |name: &str, privacy: &str| json!({"name": name, "workspace": orchid, "team": open, "privacy_setting": privacy});
    for (name, title, privacy) in [
        ("meadow", "Meadow", "public_to_workspace"),
        ("m_project", "MEMBERS-project", "public_to_workspace"),
        ("h_project", "HIDDEN-project", "private"),
        ("h_other", "HIDDEN-other-project", "private"),
    ] {
        let place = makes(world, name, "/projects", project(title, privacy));
        for nth in ["", "-second"] {
            let title = match title {
                "Meadow" => format!("Rows{nth}"),
                _ => format!("{title}-section{nth}"),
            };
            let at = format!("/projects/{place}/sections");
            makes(
                world,
                &format!("{name}_section{nth}"),
                &at,
                json!({ "name": title }),
            );
        }
    }
    let membership = json!({"parent": gid(world, "meadow"), "member": gid(world, "gus"), "access_level": "editor"});
    makes(world, "gus_in_meadow", "/memberships", membership);
    let membership = json!({"parent": gid(world, "h_project"), "member": gid(world, "mel"), "access_level": "viewer"});
    makes(world, "mel_in_h_project", "/memberships", membership);
    let nia = world.post(
        "ada",
        &format!("/workspaces/{orchid}/addUser"),
        json!({"user": "members-nia@orchid.test"}),
    );
    world
        .names
        .insert("nia".to_owned(), Gid::parse(&ok(nia).gid()).unwrap());
    world.rename_user(&gid(world, "nia"), "MEMBERS-nia");
}

/// The types of custom field, each with a value that only readers of the field may see.
pub(super) const TYPES: [&str; 7] = [
    "text",
    "number",
    "enum",
    "multi_enum",
    "date",
    "people",
    "reference",
];

fn fields(world: &mut World) {
    let (orchid, meadow) = (gid(world, "orchid"), gid(world, "meadow"));
    for (prefix, title, privacy) in [("h", "HIDDEN", "private"), ("m", "MEMBERS", "public")] {
        for kind in TYPES {
            let mut data = json!({"workspace": orchid, "name": format!("{title}-{kind}"),
                "resource_subtype": kind, "privacy_setting": privacy});
            if kind.contains("enum") {
                data["enum_options"] = json!([{"name": format!("{title}-option-{kind}")}]);
            }
            if kind == "reference" {
                data["input_restrictions"] = json!(["task", "project"]);
            }
            let made = does(world, "/custom_fields", data);
            let field = made.gid();
            let mut name = |name: &str, gid: &str| {
                world
                    .names
                    .insert(format!("{prefix}_{name}"), Gid::parse(gid).unwrap());
            };
            name(kind, &field);
            if let Some(option) = made.json["data"]["enum_options"][0]["gid"].as_str() {
                name(&format!("option_{kind}"), option);
            }
            let to = format!("/projects/{meadow}/addCustomFieldSetting");
            let set = does(world, &to, json!({ "custom_field": field }));
            if let Some(setting) = set.json["data"]["gid"].as_str() {
                let setting = Gid::parse(setting).unwrap();
                world
                    .names
                    .insert(format!("{prefix}_setting_{kind}"), setting);
            }
        }
    }
}

fn things(world: &mut World) {
    let orchid = gid(world, "orchid");
    let task = |name: &str, project: Value| json!({"name": name, "workspace": orchid, "projects": project});
    let (h, m) = (gid(world, "h_project"), gid(world, "m_project"));
    let meadow = gid(world, "meadow");
    makes(world, "h_task", "/tasks", task("HIDDEN-task", json!([h])));
    makes(world, "h_loose", "/tasks", task("HIDDEN-loose", json!([])));
    makes(world, "m_task", "/tasks", task("MEMBERS-task", json!([m])));
    makes(world, "shared", "/tasks", task("Shared", json!([meadow])));
    makes(world, "second", "/tasks", task("Second", json!([meadow])));
    let below = format!("/tasks/{}/subtasks", gid(world, "h_task"));
    makes(
        world,
        "h_subtask",
        &below,
        json!({"name": "HIDDEN-subtask"}),
    );
    // A task that all see, below one that they do not see.
    let child = makes(world, "child", &below, json!({"name": "Child"}));
    let to = format!("/tasks/{child}/addFollowers");
    let readers = json!([gid(world, "moe"), gid(world, "gus")]);
    does(world, &to, json!({ "followers": readers }));
    makes(
        world,
        "m_tag",
        "/tags",
        json!({"name": "Rainy", "workspace": orchid}),
    );
    makes(
        world,
        "g_tag",
        "/tags",
        json!({"name": "MEMBERS-tag", "workspace": orchid}),
    );
    makes(
        world,
        "s_tag",
        "/tags",
        json!({"name": "Sunny", "workspace": orchid}),
    );
    let on = format!("/tasks/{}/stories", gid(world, "h_task"));
    makes(world, "h_story", &on, json!({"text": "HIDDEN-story"}));
    for (name, task, title) in [
        ("h_attachment", "h_task", "HIDDEN-attachment"),
        ("s_attachment", "shared", "Sheet"),
    ] {
        let on = format!("/tasks/{}/attachments", gid(world, task));
        let link = json!({"resource_subtype": "external", "url": "https://files.test/1",
            "name": title});
        makes(world, name, &on, link);
    }
}

/// Makes a hidden portfolio, and one that all see, which has hidden items, too.
fn portfolios(world: &mut World) {
    let orchid = gid(world, "orchid");
    for (name, title, public) in [
        ("h_portfolio", "HIDDEN-portfolio", false),
        ("s_portfolio", "Shelf", true),
    ] {
        let data = json!({"workspace": orchid, "name": title, "public": public});
        makes(world, name, "/portfolios", data);
    }
    for (name, portfolio, member) in [
        ("mel_in_h_portfolio", "h_portfolio", "mel"),
        ("gus_in_s_portfolio", "s_portfolio", "gus"),
    ] {
        let data = json!({"parent": gid(world, portfolio), "member": gid(world, member)});
        makes(world, name, "/memberships", data);
    }
    let shelf = format!("/portfolios/{}", gid(world, "s_portfolio"));
    for item in ["meadow", "h_project", "h_portfolio"] {
        let data = json!({"item": gid(world, item)});
        does(world, &format!("{shelf}/addItem"), data);
    }
    let settings = world.get("ada", &format!("{shelf}/project_portfolio_settings"));
    for (name, setting) in ["meadow_in_s_portfolio", "h_in_s_portfolio"]
        .into_iter()
        .zip(ok(settings).gids())
    {
        world
            .names
            .insert(name.to_owned(), Gid::parse(&setting).unwrap());
    }
}

/// Makes all changes of a task that write a story and name another object.
pub(crate) fn history(world: &World, task: &str) {
    let task = format!("/tasks/{}", gid(world, task));
    let act = |what: &str, data: Value| does(world, &format!("{task}/{what}"), data);
    for (project, last) in [
        ("h_project", "h_project_section"),
        ("m_project", "m_project_section"),
        ("h_other", ""),
    ] {
        let place = gid(world, project);
        act("addProject", json!({ "project": place }));
        if last.is_empty() {
            act("removeProject", json!({ "project": place }));
        } else {
            act(
                "addProject",
                json!({"project": place, "section": gid(world, last)}),
            );
        }
    }
    act("addTag", json!({"tag": gid(world, "s_tag")}));
    act("addTag", json!({"tag": gid(world, "m_tag")}));
    act("removeTag", json!({"tag": gid(world, "m_tag")}));
    act(
        "addDependencies",
        json!({"dependencies": [gid(world, "h_task"), gid(world, "child")]}),
    );
    act(
        "addDependents",
        json!({"dependents": [gid(world, "h_loose")]}),
    );
    act("addFollowers", json!({"followers": [gid(world, "mel")]}));
    for prefix in ["h", "m"] {
        for kind in TYPES {
            let field = gid(world, &format!("{prefix}_{kind}"));
            let set = |value: Value| {
                let data = json!({"custom_fields": {&field: value}});
                ok(world.call("ada", "PUT", &task, &data));
            };
            let option = || gid(world, &format!("{prefix}_option_{kind}"));
            let title = if prefix == "h" { "HIDDEN" } else { "MEMBERS" };
            set(match kind {
                "text" => json!(format!("{title}-value")),
                "number" => json!(if prefix == "h" { 4_711_815 } else { 5 }),
                "enum" => json!(option()),
                "multi_enum" => json!([option()]),
                "date" => json!({"date": if prefix == "h" { "2071-07-08" } else { "2031-07-08" }}),
                "people" => json!([gid(world, "mel")]),
                _ => json!([gid(world, "h_task"), gid(world, "child")]),
            });
            if prefix == "h" {
                let back = if matches!(kind, "enum" | "number" | "text") {
                    Value::Null
                } else {
                    json!([])
                };
                if !matches!(kind, "date") {
                    set(back);
                }
            }
        }
    }
}

/// Returns links to all hidden objects, as ada sees them.
fn links(world: &World) -> String {
    let names = [
        "h_task",
        "h_project",
        "h_loose",
        "h_team",
        "h_subtask",
        "h_text",
        "m_task",
        "m_project",
        "nia",
        "g_tag",
        "h_project_section",
    ];
    let all = names.iter().map(|name| {
        let gid = gid(world, name);
        format!(
            "<li><a data-asana-gid=\"{gid}\" data-asana-project=\"{}\"/></li>",
            world.gid("h_project")
        )
    });
    let chosen = format!(
        "<a data-asana-gid=\"{}\" data-asana-dynamic=\"false\">HIDDEN-words</a>",
        gid(world, "h_task")
    );
    format!(
        "<body>Seen <ul>{}</ul>{chosen}</body>",
        all.collect::<String>()
    )
}

fn texts(world: &mut World) {
    let html = links(world);
    for name in ["shared", "h_task"] {
        let at = format!("/tasks/{}", gid(world, name));
        ok(world.call("ada", "PUT", &at, &json!({ "html_notes": html })));
    }
    let at = format!("/projects/{}", gid(world, "meadow"));
    ok(world.call("ada", "PUT", &at, &json!({ "html_notes": html })));
    let on = format!("/tasks/{}/stories", gid(world, "shared"));
    makes(world, "comment", &on, json!({ "html_text": html }));
    for (name, on, title) in [
        ("h_status", "h_project", "HIDDEN-status"),
        ("h_portfolio_status", "h_portfolio", "HIDDEN-status"),
        ("s_status", "meadow", "Well"),
    ] {
        let data = json!({"parent": gid(world, on), "title": title, "html_text": html,
            "status_type": "at_risk"});
        makes(world, name, "/status_updates", data);
    }
    let at = format!("/teams/{}", gid(world, "open_team"));
    ok(world.call("ada", "PUT", &at, &json!({ "html_description": html })));
}

fn jobs(world: &mut World) {
    let job = format!("/projects/{}/duplicate", gid(world, "h_project"));
    makes(world, "h_job", &job, json!({"name": "HIDDEN-copy"}));
    for (name, of, title, public) in [
        ("h_template", "h_project", "HIDDEN-template", false),
        ("s_template", "meadow", "Plan", true),
    ] {
        let at = format!("/projects/{}/saveAsTemplate", gid(world, of));
        let data = json!({"name": title, "public": public, "team": gid(world, "open_team")});
        let job = does(world, &at, data);
        let made = job.json["data"]["new_project_template"]["gid"]
            .as_str()
            .unwrap();
        world
            .names
            .insert(name.to_owned(), Gid::parse(made).unwrap());
    }
    world.work();
    exports(world);
    task_template(world);
    custom_types(world);
    let hook = json!({"resource": gid(world, "h_project"), "target": "https://hooks.test/echo/HIDDEN-hook"});
    makes(world, "h_hook", "/webhooks", hook);
}

/// Makes exports of ada's, and gives a user a membership in a custom field.
fn exports(world: &mut World) {
    let parts = json!([{"resource_type": "team"}]);
    for (name, target, data) in [
        (
            "h_graph",
            "graph",
            json!({"parent": gid(world, "h_project")}),
        ),
        (
            "h_resources",
            "resource",
            json!({"workspace": gid(world, "orchid"), "export_request_parameters": parts}),
        ),
    ] {
        let job = does(world, &format!("/exports/{target}"), data);
        world.work();
        let job = world.get("ada", &format!("/jobs/{}", job.gid()));
        let made = job.json["data"][format!("new_{target}_export")]["gid"].as_str();
        let made = Gid::parse(made.unwrap()).unwrap();
        world.names.insert(name.to_owned(), made);
    }
    let membership = json!({"parent": gid(world, "h_text"), "member": gid(world, "mel"), "access_level": "user"});
    makes(world, "mel_in_h_text", "/memberships", membership);
}
