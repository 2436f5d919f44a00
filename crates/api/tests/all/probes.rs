//! Coverage by computation: what must hold for every row of the operation table.
use crate::world::{Answer, BASALT_WORDS, Kind, ORCHID_WORDS, World, all_scopes_but, is_orchid};
use serde_json::{Map, Value, json};
use workgraph_api::operation::Operation;
use workgraph_api::operations::all;
use workgraph_api::request::Method;
use workgraph_api::{Request, Settings};
use workgraph_core::Gid;

/// One of the two tenants, as the probes use it.
#[derive(Clone, Copy)]
pub(crate) struct Tenant {
    admin: &'static str,
    workspace: &'static str,
    team: &'static str,
    member: &'static str,
    project: &'static str,
    section: &'static str,
    spare: &'static str,
    task: &'static str,
    other_task: &'static str,
    tag: &'static str,
    story: &'static str,
    list: &'static str,
    seat: &'static str,
    in_team: &'static str,
    in_project: &'static str,
    field: &'static str,
    option: &'static str,
    other_option: &'static str,
    job: &'static str,
    project_template: &'static str,
    task_template: &'static str,
}

pub(crate) const ORCHID: Tenant = Tenant {
    admin: "ada",
    workspace: "orchid",
    team: "gardeners",
    member: "mel",
    project: "garden",
    section: "beds",
    spare: "paths",
    task: "water",
    other_task: "rake",
    tag: "thirsty",
    story: "water_note",
    list: "ada_list",
    seat: "mel_seat",
    in_team: "mel_in_gardeners",
    in_project: "gus_in_garden",
    field: "vigor",
    option: "lush",
    other_option: "wilted",
    job: "ada_job",
    project_template: "plot_plan",
    task_template: "weeding",
};

const BASALT: Tenant = Tenant {
    admin: "bob",
    workspace: "basalt",
    team: "miners",
    member: "ben",
    project: "quarry",
    section: "pit",
    spare: "ramp",
    task: "blast",
    other_task: "haul",
    tag: "brittle",
    story: "blast_note",
    list: "bob_list",
    seat: "ben_seat",
    in_team: "ben_in_miners",
    in_project: "ben_in_quarry",
    field: "grain",
    option: "coarse",
    other_option: "vesicular",
    job: "bob_job",
    project_template: "dig_plan",
    task_template: "drilling",
};

/// The thing of a tenant that a path parameter names.
fn parameter(tenant: &Tenant, name: &str) -> &'static str {
    match name {
        "workspace_gid" => tenant.workspace,
        "user_gid" => tenant.member,
        "team_gid" => tenant.team,
        "workspace_membership_gid" => tenant.seat,
        "team_membership_gid" => tenant.in_team,
        "project_gid" => tenant.project,
        "membership_gid" | "project_membership_gid" => tenant.in_project,
        "section_gid" => tenant.section,
        "task_gid" => tenant.task,
        "tag_gid" => tenant.tag,
        "user_task_list_gid" => tenant.list,
        "story_gid" => tenant.story,
        // A webhook is made for each sample.
        "webhook_gid" => tenant.project,
        "custom_field_gid" => tenant.field,
        "enum_option_gid" => tenant.option,
        "job_gid" => tenant.job,
        "project_template_gid" => tenant.project_template,
        "task_template_gid" => tenant.task_template,
        other => panic!("no sample for {other}"),
    }
}

/// The names of a row's path parameters.
fn parameters(row: &Operation) -> Vec<&'static str> {
    let parts = row.path.split('/');
    parts
        .filter_map(|s| s.strip_prefix('{')?.strip_suffix('}'))
        .collect()
}

/// A request that fits a row: path, query, body.
#[derive(Clone)]
pub(crate) struct Sample {
    path: Vec<(&'static str, String)>,
    pub(crate) query: Vec<(&'static str, String)>,
    body: Map<String, Value>,
}

impl Sample {
    fn target(&self, row: &Operation) -> String {
        let mut path = row.path.to_owned();
        for (name, value) in &self.path {
            path = path.replace(&format!("{{{name}}}"), value);
        }
        let query: Vec<String> = self.query.iter().map(|(n, v)| format!("{n}={v}")).collect();
        if query.is_empty() {
            path
        } else {
            format!("{path}?{}", query.join("&"))
        }
    }

    pub(crate) fn send(&self, world: &World, token: &str, row: &Operation) -> Answer {
        let writes = matches!(row.method, Method::Post | Method::Put);
        let body = if writes {
            json!({ "data": self.body }).to_string()
        } else {
            String::new()
        };
        world.send(world.request(token, row.method.name(), &self.target(row), body))
    }
}

/// Who sends a row's sample: some rows are for service accounts alone.
pub(crate) fn sender(row: &Operation, admin: &'static str) -> &'static str {
    if row.id == "getWorkspaceEvents" {
        "robot"
    } else {
        admin
    }
}

/// A request of the row that its tenant's admin may make and that does something.
pub(crate) fn sample(world: &World, tenant: &Tenant, row: &Operation) -> Sample {
    let gid = |name: &str| world.gid(name).to_string();
    let mut path: Vec<(&'static str, String)> = parameters(row)
        .into_iter()
        .map(|name| (name, gid(parameter(tenant, name))))
        .collect();
    let mut query: Vec<(&'static str, String)> = row
        .query
        .iter()
        .map(|name| {
            let value = match *name {
                "resource_type" => "project".to_owned(),
                "workspace" | "organization" => gid(tenant.workspace),
                "project" => gid(tenant.project),
                other => panic!("{}: no sample for the parameter {other}", row.id),
            };
            (*name, value)
        })
        .collect();
    if row.id == "typeaheadForWorkspace" {
        // Required, but under either of two names.
        query.push(("resource_type", "project".to_owned()));
    }
    let mut body = Map::new();
    for name in row.body {
        let value = match *name {
            "user" | "member" => json!(gid(tenant.member)),
            "followers" | "members" => json!([gid(tenant.member)]),
            "name" => json!("Probe"),
            "organization" => json!(gid(tenant.workspace)),
            "parent" if row.id == "createMembership" => json!(gid(tenant.project)),
            "parent" | "task" => json!(gid(tenant.other_task)),
            "access_level" => json!("editor"),
            "public" => json!(false),
            "section" => json!(gid(tenant.section)),
            "project" => json!(gid(tenant.project)),
            "tag" => json!(gid(tenant.tag)),
            "resource" => json!(gid(tenant.project)),
            "target" => json!("https://hooks.test/echo/probe"),
            "actions" => json!([{"relative_path": "/users/me", "method": "get"}]),
            "dependencies" | "dependents" => json!([gid(tenant.other_task)]),
            "workspace" => json!(gid(tenant.workspace)),
            "resource_subtype" => json!("number"),
            "custom_field" => json!(gid(tenant.field)),
            "enum_option" => json!(gid(tenant.option)),
            other => panic!("{}: no sample for the field {other}", row.id),
        };
        body.insert((*name).to_owned(), value);
    }
    let mut put = |name: &str, value: Value| {
        body.insert(name.to_owned(), value);
    };
    // What the table does not say: one of several inputs, or who may do it.
    match row.id {
        "getUsers" | "getProjects" | "getTags" | "getProjectTemplates" => {
            query.push(("workspace", gid(tenant.workspace)))
        }
        "getTasks" | "getMemberships" => {
            let name = if row.id == "getTasks" {
                "project"
            } else {
                "parent"
            };
            query.push((name, gid(tenant.project)));
        }
        "getEvents" | "getWorkspaceEvents" => {
            // The first call gives the token that the sample has.
            let (token, target) = if row.id == "getEvents" {
                let on = gid(tenant.project);
                query.push(("resource", on.clone()));
                (tenant.admin, format!("/events?resource={on}"))
            } else {
                let of = gid(tenant.workspace);
                (
                    sender(row, tenant.admin),
                    format!("/workspaces/{of}/events"),
                )
            };
            let first = world.get(token, &target);
            if let Some(sync) = first.json["sync"].as_str() {
                query.push(("sync", sync.to_owned()));
            }
        }
        "getTeamMemberships" => query.push(("team", gid(tenant.team))),
        "updateUser" | "updateUserForWorkspace" | "getFavoritesForUser" => {
            for (name, value) in &mut path {
                if *name == "user_gid" {
                    *value = "me".to_owned();
                }
            }
            put("name", json!("Probe"));
        }
        "createProject" => {
            put("name", json!("Probe"));
            put("workspace", json!(gid(tenant.workspace)));
            put("team", json!(gid(tenant.team)));
        }
        "createProjectForWorkspace" => {
            put("name", json!("Probe"));
            put("team", json!(gid(tenant.team)));
        }
        "createProjectForTeam" => put("name", json!("Probe")),
        "createTask" => {
            put("name", json!("Probe"));
            put("projects", json!([gid(tenant.project)]));
        }
        "createTag" => {
            put("name", json!("Probe"));
            put("workspace", json!(gid(tenant.workspace)));
        }
        "createSubtaskForTask"
        | "createTagForWorkspace"
        | "updateTask"
        | "updateTag"
        | "updateProject"
        | "updateTeam"
        | "createCustomField"
        | "updateCustomField"
        | "createEnumOptionForCustomField"
        | "updateEnumOption"
        | "updateWorkspace" => put("name", json!("Probe")),
        "insertSectionForProject" => put("after_section", json!(gid(tenant.spare))),
        "insertEnumOptionForCustomField" => {
            put("after_enum_option", json!(gid(tenant.other_option)));
        }
        "createStoryForTask" => put("text", json!("Probe")),
        "updateStory" => put("is_pinned", json!(true)),
        "removeDependentsForTask" | "addDependentsForTask" => {
            put("dependents", json!([gid(tenant.other_task)]));
        }
        _ => {}
    }
    if row.path.contains("{webhook_gid}") {
        let data =
            json!({"resource": gid(tenant.project), "target": "https://hooks.test/echo/probe"});
        let made = world.post(tenant.admin, "/webhooks", data);
        path = vec![("webhook_gid", made.gid())];
    }
    if row.id == "deleteSection" {
        // Only an empty section can be deleted.
        let place = gid(tenant.project);
        let made = world.post(
            tenant.admin,
            &format!("/projects/{place}/sections"),
            json!({"name": "Empty"}),
        );
        path = vec![("section_gid", made.gid())];
    }
    if row.id == "removeCustomFieldSettingForProject" {
        let to = format!("/projects/{}/addCustomFieldSetting", gid(tenant.project));
        world.post(
            tenant.admin,
            &to,
            json!({"custom_field": gid(tenant.field)}),
        );
    }
    if row.id == "deleteStory" {
        let on = gid(tenant.task);
        let made = world.post(
            tenant.admin,
            &format!("/tasks/{on}/stories"),
            json!({"text": "Gone soon"}),
        );
        path = vec![("story_gid", made.gid())];
    }
    if row.id == "addDependentsForTask" {
        path = vec![("task_gid", gid(tenant.other_task))];
        let fresh = world.post(
            tenant.admin,
            "/tasks",
            json!({"workspace": gid(tenant.workspace), "name": "Waits"}),
        );
        body.insert("dependents".to_owned(), json!([fresh.gid()]));
    }
    Sample { path, query, body }
}

fn memory() -> World {
    World::new(Kind::Memory)
}

/// S01. S35. S58. S91.
#[test]
fn every_row_answers_its_sample() {
    for row in all() {
        let world = memory();
        let answer = sample(&world, &ORCHID, row).send(&world, sender(row, "ada"), row);
        assert!(
            answer.status < 300,
            "{}: {} {}",
            row.id,
            answer.status,
            answer.text
        );
        assert_eq!(answer.operation, row.id);
        let created = matches!(row.answer, workgraph_api::operation::Answer::Created(_));
        assert_eq!(answer.status == 201, created, "{}", row.id);
        let location = answer.headers.iter().find(|(n, _)| *n == "Location");
        assert_eq!(location.is_some(), created, "{}", row.id);
        if let Some((_, url)) = location {
            assert!(url.starts_with("https://work.test/api/1.0/"), "{url}");
            assert!(url.ends_with(&format!("/{}", answer.gid())), "{url}");
        }
    }
}

/// S36.
#[test]
fn every_location_can_be_read() {
    for row in all() {
        let world = memory();
        let answer = sample(&world, &ORCHID, row).send(&world, "ada", row);
        let Some((_, url)) = answer.headers.iter().find(|(n, _)| *n == "Location") else {
            continue;
        };
        if url.contains("/enum_options/") {
            // The catalogue has no operation that reads one option.
            continue;
        }
        let read = world.get("ada", url.strip_prefix(crate::world::BASE).unwrap());
        assert_eq!((read.status, read.gid()), (200, answer.gid()), "{}", row.id);
    }
}

/// B49. S44. S66. Every operation, to the header.
#[test]
fn without_a_token_every_row_is_401() {
    let world = memory();
    for row in all() {
        let answer = sample(&world, &ORCHID, row).send(&world, "-", row);
        assert_eq!(
            (answer.status, answer.message()),
            (401, "Not Authorized"),
            "{}",
            row.id
        );
        assert_eq!(answer.headers, [("WWW-Authenticate", "Bearer".to_owned())]);
    }
}

/// S71.
#[test]
fn another_method_on_a_known_path_is_404_before_authentication() {
    let world = memory();
    for row in all() {
        let sample = sample(&world, &ORCHID, row);
        for method in [
            "GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS", "TRACE", "get",
        ] {
            let known = all().any(|r| r.path == row.path && r.method.name() == method);
            if known {
                continue;
            }
            let target = sample.target(row);
            // A literal of another row may take the place of a parameter.
            let shadowed = all().any(|r| r.method.name() == method && same_shape(r.path, row.path));
            if shadowed {
                continue;
            }
            for token in ["-", "ada"] {
                let answer = world.send(world.request(token, method, &target, String::new()));
                assert_eq!(
                    (answer.status, answer.message()),
                    (404, "No matching route for request"),
                    "{method} {target}"
                );
            }
        }
    }
}

fn same_shape(a: &str, b: &str) -> bool {
    let part = |s: &str| {
        if s.starts_with('{') {
            "*".to_owned()
        } else {
            s.to_owned()
        }
    };
    a.split('/').map(part).eq(b.split('/').map(part))
}

/// B16. S60. S70. All other scopes together do not make up for the one that is needed.
#[test]
fn without_its_scope_every_row_is_403() {
    let world = memory();
    // A batch needs none; its actions need theirs.
    for row in all().filter(|r| r.id != "createBatchRequest") {
        let token = format!("ada[{}]", all_scopes_but(row.scope.unwrap_or("")));
        let answer = sample(&world, &ORCHID, row).send(&world, &token, row);
        assert_eq!(answer.status, 403, "{}: {}", row.id, answer.text);
        match row.scope {
            Some(scope) => assert!(
                answer.message().contains(scope),
                "{}: {}",
                row.id,
                answer.text
            ),
            None => assert!(
                answer.message().contains("full permissions"),
                "{}: {}",
                row.id,
                answer.text
            ),
        }
    }
}

/// S60.
#[test]
fn with_its_scope_alone_every_row_that_has_one_passes_authorization() {
    for row in all() {
        let Some(scope) = row.scope else { continue };
        let world = memory();
        let answer = sample(&world, &ORCHID, row).send(&world, &format!("ada[{scope}]"), row);
        if row.path.contains("{webhook_gid}") {
            // Authorized, but another app made the webhook.
            assert_eq!(answer.message(), "You do not have access to this webhook.");
            continue;
        }
        assert!(
            answer.status < 300,
            "{}: {} {}",
            row.id,
            answer.status,
            answer.text
        );
    }
}

/// S05.
#[test]
fn each_required_input_that_is_absent_is_400() {
    let world = memory();
    for row in all() {
        let whole = sample(&world, &ORCHID, row);
        for name in row.query {
            for value in [None, Some("")] {
                let mut part = whole.clone();
                part.query.retain(|(n, _)| n != name);
                part.query.extend(value.map(|v| (*name, v.to_owned())));
                expect_missing(&part.send(&world, "ada", row), row, name);
            }
        }
        for name in row.body {
            let mut part = whole.clone();
            part.body.remove(*name);
            expect_missing(&part.send(&world, "ada", row), row, name);
            if *name != "parent" {
                part.body.insert((*name).to_owned(), Value::Null);
                expect_missing(&part.send(&world, "ada", row), row, name);
            }
        }
    }
}

fn expect_missing(answer: &Answer, row: &Operation, name: &str) {
    assert_eq!(
        (answer.status, answer.message()),
        (400, format!("{name}: Missing input").as_str()),
        "{}",
        row.id
    );
}

/// S64. S71.
#[test]
fn each_unknown_path_id_is_404_and_each_malformed_one_400() {
    let world = memory();
    for row in all() {
        let whole = sample(&world, &ORCHID, row);
        for at in 0..whole.path.len() {
            let (name, _) = whole.path[at];
            let mut one = whole.clone();
            one.path[at].1 = "999999".to_owned();
            let answer = one.send(&world, "ada", row);
            // Favourites are the caller's own: other users are 403, known or not.
            let own = row.id == "getFavoritesForUser";
            assert_eq!(
                answer.status,
                if own { 403 } else { 404 },
                "{}: {}",
                row.id,
                answer.text
            );
            for bad in [
                "abc",
                "0",
                "-1",
                "01",
                "1.0",
                "9007199254740992",
                "1%00x",
                "%F0%9F%8C%B5",
            ] {
                one.path[at].1 = bad.to_owned();
                let answer = one.send(&world, "ada", row);
                let routed = !bad.contains("%00");
                let want = if routed { 400 } else { 404 };
                assert_eq!(
                    answer.status, want,
                    "{} {name}={bad}: {}",
                    row.id, answer.text
                );
            }
        }
    }
}

#[test]
fn an_id_of_another_type_in_the_path_is_404() {
    let world = memory();
    for row in all() {
        let whole = sample(&world, &ORCHID, row);
        for at in 0..whole.path.len() {
            for other in [
                "orchid",
                "mel",
                "garden",
                "beds",
                "water",
                "thirsty",
                "water_note",
                "gardeners",
                "mel_seat",
            ] {
                if parameter(&ORCHID, whole.path[at].0) == other
                    || (other == "mel" && whole.path[at].0 == "user_gid")
                    || row.id == "getFavoritesForUser"
                {
                    continue;
                }
                let mut one = whole.clone();
                one.path[at].1 = world.gid(other).to_string();
                let answer = one.send(&world, "ada", row);
                let fits = one.path[at].1 == whole.path[at].1
                    || (whole.path[at].0 == "section_gid" && other == "beds")
                    || (whole.path[at].0 == "story_gid" && other == "water_note")
                    || (whole.path[at].0 == "task_gid" && other == "water");
                if !fits {
                    assert_eq!(answer.status, 404, "{} {other}: {}", row.id, answer.text);
                }
            }
        }
    }
}

/// S68.
#[test]
fn premium_rows_are_402_in_a_free_workspace_and_only_those() {
    for row in all() {
        let world = memory();
        let answer = sample(&world, &BASALT, row).send(&world, "bob", row);
        if row.id == "createTeam" {
            // A plain workspace has no teams.
            assert_eq!(answer.status, 400, "{}", answer.text);
            continue;
        }
        if sender(row, "bob") != "bob" {
            assert_eq!(answer.status, 403, "{}", answer.text);
            continue;
        }
        if let Some(message) = row.premium {
            assert_eq!(
                (answer.status, answer.message()),
                (402, message),
                "{}",
                row.id
            );
        } else {
            assert!(
                answer.status < 300,
                "{}: {} {}",
                row.id,
                answer.status,
                answer.text
            );
        }
    }
}

/// Query parameters that can name something, for any row.
const QUERY_SLOTS: &[&str] = &[
    "resource",
    "workspace",
    "team",
    "user",
    "project",
    "section",
    "tag",
    "user_task_list",
    "assignee",
    "organization",
    "parent",
    "member",
];

/// Body fields that can name something, for any row.
const BODY_SLOTS: &[&str] = &[
    "workspace",
    "team",
    "organization",
    "user",
    "followers",
    "member",
    "members",
    "parent",
    "project",
    "projects",
    "memberships",
    "section",
    "task",
    "tag",
    "tags",
    "assignee",
    "assignee_section",
    "dependencies",
    "dependents",
    "insert_before",
    "insert_after",
    "before_section",
    "after_section",
    "owner",
    "html_notes",
    "html_text",
    "html_description",
    "custom_field",
    "custom_fields",
    "enum_option",
    "before_enum_option",
    "after_enum_option",
];

/// Forms in which a body field can name a gid.
fn forms(slot: &str, gid: &str) -> Vec<Value> {
    match slot {
        "memberships" => vec![
            json!([{"project": gid}]),
            json!([{"project": gid, "section": gid}]),
        ],
        "html_notes" | "html_text" | "html_description" => {
            vec![json!(format!("<body><a data-asana-gid=\"{gid}\"/></body>"))]
        }
        "followers" | "members" | "projects" | "tags" | "dependencies" | "dependents" => {
            vec![json!([gid]), json!(gid)]
        }
        "custom_fields" => vec![json!({gid: gid}), json!({gid: [gid]}), json!({gid: null})],
        _ => vec![json!(gid)],
    }
}

struct Walls {
    own: Tenant,
    own_is_orchid: bool,
    /// Names of the other tenant.
    words: &'static [&'static str],
    /// Things of the other tenant, one of each type and some more.
    foreign: &'static [&'static str],
}

const FROM_ORCHID: Walls = Walls {
    own: ORCHID,
    own_is_orchid: true,
    words: BASALT_WORDS,
    foreign: &[
        "basalt",
        "ben",
        "miners",
        "ben_seat",
        "ben_in_miners",
        "quarry",
        "ben_in_quarry",
        "pit",
        "blast",
        "brittle",
        "ben_list",
        "blast_note",
        "grain",
        "coarse",
        "grain_in_quarry",
    ],
};
const FROM_BASALT: Walls = Walls {
    own: BASALT,
    own_is_orchid: false,
    words: ORCHID_WORDS,
    foreign: &[
        "orchid",
        "mel",
        "commons",
        "mel_seat",
        "mel_in_gardeners",
        "garden",
        "gus_in_garden",
        "beds",
        "water",
        "thirsty",
        "mel_list",
        "water_note",
        "vigor",
        "lush",
        "vigor_in_moss",
    ],
};

impl Walls {
    /// No byte of the other tenant in the reply; what the caller sent may be repeated in an error.
    fn check(&self, world: &World, answer: &Answer, sent: &str, what: &str) {
        for word in self.words {
            assert!(
                !answer.text.contains(word),
                "{what}: leaks {word}: {}",
                answer.text
            );
        }
        for (name, gid) in &world.names {
            if is_orchid(name) == self.own_is_orchid {
                continue;
            }
            let gid = gid.to_string();
            if answer.status >= 400 && gid == sent {
                continue;
            }
            let leaks = answer.text.contains(&format!("\"{gid}\""))
                || answer.text.contains(&format!("/{gid}"));
            assert!(
                !leaks,
                "{what}: leaks {name}: {} {}",
                answer.status, answer.text
            );
        }
    }

    /// Nothing of the other tenant was changed, and nothing was tied to it.
    fn untouched(&self, world: &World, after: u64, what: &str) {
        let foreign: Vec<Gid> = world
            .names
            .iter()
            .filter(|(name, _)| is_orchid(name) != self.own_is_orchid)
            .map(|(_, gid)| *gid)
            .collect();
        for event in world.events(after) {
            for fact in event.facts {
                let text = format!("{fact:?}");
                assert!(!foreign.contains(&fact.gid), "{what}: changes {text}");
                use workgraph_core::graph::Action;
                let named = match fact.action {
                    Action::Added { parent } => parent,
                    Action::Removed { parent } => Some(parent),
                    Action::Changed { added, removed, .. } => added.or(removed),
                    Action::Deleted => None,
                };
                assert!(
                    named.is_none_or(|g| !foreign.contains(&g)),
                    "{what}: ties {text}"
                );
            }
        }
    }
}

/// B54. S69. Every identifier of every path, from both sides.
#[test]
fn no_byte_of_another_tenant_through_any_path() {
    for walls in [FROM_ORCHID, FROM_BASALT] {
        for row in all() {
            let world = memory();
            let whole = sample(&world, &walls.own, row);
            let start = world.events(0).len() as u64;
            for at in 0..whole.path.len() {
                for name in walls.foreign {
                    let mut one = whole.clone();
                    one.path[at].1 = world.gid(name).to_string();
                    let what = format!("{} {}={name}", row.id, whole.path[at].0);
                    let answer = one.send(&world, walls.own.admin, row);
                    let other = if walls.own_is_orchid {
                        &BASALT
                    } else {
                        &ORCHID
                    };
                    let fits = world.gid(parameter(other, whole.path[at].0)) == world.gid(name);
                    let fits = fits && whole.path[at].0 != "webhook_gid";
                    if fits || row.id == "getFavoritesForUser" {
                        assert_eq!(answer.status, 403, "{what}: {}", answer.text);
                    } else {
                        assert!(
                            matches!(answer.status, 403 | 404),
                            "{what}: {} {}",
                            answer.status,
                            answer.text
                        );
                    }
                    walls.check(&world, &answer, &one.path[at].1, &what);
                }
            }
            walls.untouched(&world, start, row.id);
        }
    }
}

/// B54. Every identifier of every query, from both sides.
#[test]
fn no_byte_of_another_tenant_through_any_query() {
    for walls in [FROM_ORCHID, FROM_BASALT] {
        for row in all().filter(|r| r.method == Method::Get) {
            let world = memory();
            let whole = sample(&world, &walls.own, row);
            for slot in QUERY_SLOTS {
                for name in walls.foreign {
                    let gid = world.gid(name).to_string();
                    for alone in [false, true] {
                        let mut one = whole.clone();
                        if alone {
                            // Without what else selects a list; then the answer may be a 400.
                            one.query.retain(|(n, _)| row.query.contains(n));
                        }
                        one.query.retain(|(n, _)| n != slot);
                        one.query.push((slot, gid.clone()));
                        if *slot == "assignee" {
                            one.query
                                .push(("workspace", world.gid(walls.own.workspace).to_string()));
                            one.query.retain(|(n, _)| !alone || *n != "project");
                        }
                        let what = format!("{} ?{slot}={name}", row.id);
                        let answer = one.send(&world, walls.own.admin, row);
                        // `next_page` repeats the query; these walks have no limit, so there is none.
                        walls.check(&world, &answer, &gid, &what);
                    }
                }
            }
        }
    }
}

#[test]
fn no_byte_of_basalt_reaches_orchid_through_any_body() {
    through_any_body(FROM_ORCHID);
}

#[test]
fn no_byte_of_orchid_reaches_basalt_through_any_body() {
    through_any_body(FROM_BASALT);
}

fn through_any_body(walls: Walls) {
    for row in all().filter(|r| matches!(r.method, Method::Post | Method::Put)) {
        let mut world = memory();
        let mut whole = sample(&world, &walls.own, row);
        let mut start = world.events(0).len() as u64;
        for slot in BODY_SLOTS {
            // A slot that takes foreign things of two types without a word is not read at all.
            let mut taken = 0;
            for name in walls.foreign {
                if taken == 2 {
                    break;
                }
                let gid = world.gid(name).to_string();
                for form in forms(slot, &gid) {
                    let mut one = whole.clone();
                    if slot.contains("before") {
                        one.body.remove("after_section");
                        one.body.remove("after_enum_option");
                    }
                    one.body.insert((*slot).to_owned(), form.clone());
                    let what = format!("{} {slot}={name}", row.id);
                    let answer = one.send(&world, walls.own.admin, row);
                    walls.check(&world, &answer, &gid, &what);
                    if row.body.contains(slot) {
                        assert!(answer.status >= 400, "{what}: {}", answer.text);
                    }
                    if answer.status < 300 {
                        taken += 1;
                        walls.untouched(&world, start, &what);
                        // Read again in full what was written.
                        if let Some(read) = answer.json["data"]["gid"].as_str() {
                            let kind = answer.json["data"]["resource_type"].as_str().unwrap_or("");
                            let path = match kind {
                                "task" => Some("tasks"),
                                "project" => Some("projects"),
                                "team" => Some("teams"),
                                "tag" => Some("tags"),
                                "story" => Some("stories"),
                                _ => None,
                            };
                            if let Some(path) = path {
                                let again = world.get(walls.own.admin, &format!("/{path}/{read}?opt_fields=html_notes,html_text,html_description,followers,projects,memberships,tags,owner,team,parent,assignee,workspace"));
                                walls.check(&world, &again, "", &what);
                            }
                        }
                        world = memory();
                        whole = sample(&world, &walls.own, row);
                        start = world.events(0).len() as u64;
                    }
                }
            }
        }
    }
}

#[test]
fn a_hidden_object_and_a_missing_one_look_the_same_when_hiding_is_on() {
    let settings = Settings {
        hide_forbidden: true,
        ..Settings::default()
    };
    let world = World::with(Kind::Memory, settings);
    for row in all().filter(|r| r.id != "getFavoritesForUser") {
        let whole = sample(&world, &ORCHID, row);
        for at in 0..whole.path.len() {
            let foreign = world.gid(parameter(&BASALT, whole.path[at].0)).to_string();
            let mut one = whole.clone();
            one.path[at].1.clone_from(&foreign);
            let hidden = one.send(&world, "ada", row);
            one.path[at].1 = "999999".to_owned();
            let missing = one.send(&world, "ada", row);
            assert_eq!((hidden.status, missing.status), (404, 404), "{}", row.id);
            assert_eq!(
                hidden.text.replace(&foreign, "X"),
                missing.text.replace("999999", "X"),
                "{}",
                row.id
            );
        }
    }
}

/// S71.
#[test]
fn a_route_is_decided_before_anything_else() {
    let world = memory();
    for target in [
        "/nothing",
        "/",
        "/tasks/1/2/3",
        "/tasks/1%2f2",
        "/tasks/..;/x",
        "/tasks//1",
        "/Tasks",
        "/tasks/",
    ] {
        for token in ["-", "ada"] {
            let answer = world.send(world.request(token, "GET", target, String::new()));
            assert_eq!(
                (answer.status, answer.message()),
                (404, "No matching route for request"),
                "{target}"
            );
        }
    }
}

/// B40. B50. B51. B52. S11. One header, one whole token, dead at its hour.
#[test]
fn a_token_must_be_whole_alone_and_alive() {
    let world = memory();
    let good = format!("Bearer {}", world.text("ada"));
    let send = |headers: &[&str]| {
        world.send(Request {
            method: "GET".to_owned(),
            path: "/users/me".to_owned(),
            authorization: headers.iter().map(|h| (*h).to_owned()).collect(),
            ..Request::default()
        })
    };
    assert_eq!(send(&[&good]).status, 200);
    assert_eq!(send(&[&good, &good]).status, 400);
    for bad in [
        "Basic YTpi".to_owned(),
        "Bearer".to_owned(),
        "Bearer ".to_owned(),
        format!("{good} x"),
        good[..good.len() - 1].to_owned(),
        format!("{good}="),
        format!("{good}A"),
        good.replace("Bearer ", "Bearer wgp_"),
    ] {
        assert_eq!(send(&[&bad]).status, 401, "{bad}");
    }
    // An access token is dead at 3600 seconds, not before.
    let token = "ada[users:read]";
    assert_eq!(world.get(token, "/users/me").status, 200);
    world.advance(3599);
    assert_eq!(world.get(token, "/users/me").status, 200);
    world.advance(1);
    let late = world.get(token, "/users/me");
    assert_eq!(late.status, 401);
    assert!(
        late.message().starts_with("The bearer token has expired."),
        "{}",
        late.text
    );
}

#[test]
fn a_token_tells_when_it_was_last_used() {
    for kind in [Kind::Memory, Kind::Sqlite] {
        let world = World::new(kind);
        let used = || world.last_used("ada");
        assert_eq!(used(), None);
        let first = world.now();
        assert_eq!(world.get("ada", "/users/me").status, 200);
        assert_eq!(used(), Some(first));
        // Roughly: another use soon after is not written.
        world.advance(599);
        world.get("ada", "/users/me");
        assert_eq!(used(), Some(first));
        world.advance(1);
        world.get("ada", "/users/me");
        assert_eq!(used(), Some(world.now()));
        assert_eq!(world.get("ben", "/users/me").status, 200);
        assert_eq!(used(), Some(world.now()));
    }
}

/// S03.
#[test]
fn every_error_is_an_envelope_with_help() {
    let world = memory();
    for answer in [
        world.get("-", "/users/me"),
        world.get("ada", "/tasks"),
        world.get("ada", "/tasks/999999"),
        world.get("ada", "/nothing"),
        world.get("bob", "/tasks/1001"),
        world.get("ada[users:read]", "/tasks/1001"),
    ] {
        let errors = answer.json["errors"].as_array().unwrap();
        assert_eq!(errors.len(), 1, "{}", answer.text);
        assert!(!answer.message().is_empty(), "{}", answer.text);
        assert!(
            errors[0]["help"]
                .as_str()
                .unwrap()
                .starts_with("For more information on API status codes")
        );
        assert!(errors[0].get("phrase").is_none(), "{}", answer.text);
        assert!(answer.json.get("data").is_none());
    }
}
