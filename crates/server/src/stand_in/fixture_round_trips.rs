//! Tests of exported fixtures: a world that is made from one is exported as the same.
use crate::adapters::system_clock::WallClock;
use crate::admin::admin_service::AdminService;
use crate::admin::bootstrap::FirstObjects;
use crate::admin::bootstrap_file::Bootstrap;
use crate::admin::demo::call;
use crate::admin::fixture::Fixture;
use crate::admin::fixture_export::{ExportedWorld, export_fixture};
use crate::config::{self, Config};
use crate::runtime_limits::RuntimeLimits;
use crate::server_resources::{Opening, ServerResources};
use crate::stand_in::test_sources::TestSources;
use anyhow::Result;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::Arc;
use workgraph_core::model::time::Time;

/// World that a fixture, or the demo, has made.
struct MadeWorld {
    service: AdminService,
    boot: Bootstrap,
    folder: PathBuf,
    _resources: ServerResources,
}

impl MadeWorld {
    async fn of(name: &str, objects: FirstObjects<'_>) -> Self {
        let name = format!("workgraph-{name}-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        if folder.exists() {
            std::fs::remove_dir_all(&folder).unwrap();
        }
        let mut config = Config::of_a_stand_in();
        config::set_folder(&mut config, &folder).unwrap();
        let now = Time::parse("2026-03-02T09:30:00.000Z").unwrap();
        let sources = TestSources::new(&Arc::new(WallClock::start()), 5, now.to_system());
        let opening = Opening::default();
        let resources = ServerResources::open(&config, opening, sources.sources());
        let resources = resources.await.unwrap();
        let limits = RuntimeLimits::open(&config, resources.values.clone());
        let limits = Arc::new(limits.await.unwrap());
        let mut unlimited = config.limits;
        unlimited.standard.free = 1_000_000;
        unlimited.standard.paid = 1_000_000;
        unlimited.cost_per_minute = None;
        let api = resources.api(&config, unlimited);
        let service = resources.service(&config, api, &limits);
        let root = "http://127.0.0.1:1";
        let boot = resources.first_start(&service, &config, objects, root);
        let boot = boot.await.unwrap().unwrap();
        Self {
            service,
            boot,
            folder,
            _resources: resources,
        }
    }

    async fn of_fixture(name: &str, fixture: &Value) -> Self {
        let fixture = Fixture::parse(fixture.clone()).unwrap();
        Self::of(name, FirstObjects::Fixture(&fixture)).await
    }

    async fn export(&self) -> ExportedWorld {
        export_fixture(&self.service, &self.boot.apps)
            .await
            .unwrap()
    }

    /// Calls the API as the first user, and returns the data of the reply.
    async fn tried(&self, method: &str, path: &str, data: Option<Value>) -> Result<Value> {
        let token = &self.boot.personal_access_token;
        let mut reply = call(&self.service.api, token, method, path, data).await?;
        Ok(reply["data"].take())
    }

    async fn data(&self, method: &str, path: &str, data: Option<Value>) -> Value {
        self.tried(method, path, data).await.unwrap()
    }

    fn gid(&self, name: &str) -> &str {
        &self.boot.names[name]
    }
}

impl Drop for MadeWorld {
    fn drop(&mut self) {
        if std::fs::remove_dir_all(&self.folder).is_err() {
            eprintln!("{} is left", self.folder.display());
        }
    }
}

/// Exports a world, makes one from that, and checks that it is exported as the same. Returns the new world and the fixture.
async fn round_trip(name: &str, world: &MadeWorld) -> (MadeWorld, Value) {
    let exported = world.export().await.fixture;
    let made = MadeWorld::of_fixture(name, &exported).await;
    let again = made.export().await;
    let shown = |fixture: &Value| serde_json::to_string_pretty(fixture).unwrap();
    if again.fixture != exported {
        let (first, second) = (shown(&exported), shown(&again.fixture));
        let mut lines = first.lines().zip(second.lines());
        let different = lines.find(|(first, second)| first != second);
        panic!("{name}: {different:?}\n{first}");
    }
    (made, exported)
}

/// A fixture with all that an export can have.
fn rich_fixture() -> Value {
    json!({
        "workspaces": [{"name": "Acme"}, {"name": "Side", "plan": "free", "organization": false}],
        "people": [
            {"name": "Ann", "email": "ann@acme.test", "further_workspaces": [{"workspace": "Side", "role": "admin"}]},
            {"name": "Ben", "email": "ben@acme.test"},
            {"name": "Ben", "email": "other.ben@acme.test", "role": "admin"},
            {"name": "Gus", "email": "gus@side.test", "workspace": "Side", "role": "guest"},
        ],
        "apps": [{"name": "Reports", "client_id": "1200000000000001", "client_secret": "chosen-secret",
            "redirect_uris": ["https://reports.test/callback"], "scopes": ["tasks:read", "users:read"]}],
        "teams": [
            {"name": "Product", "members": ["ben@acme.test"]},
            {"name": "Secret", "admins": ["ben@acme.test"], "members": ["other.ben@acme.test"]},
        ],
        "projects": [
            {"name": "Spring launch", "notes": "Everything by May", "sections": ["To do", "Done", {"name": "Done", "called": "Over"}],
                "members": [{"member": "ben@acme.test", "access_level": "editor"}], "color": "dark-green",
                "privacy_setting": "private", "due_on": {"in_days": 60},
                "tasks": [
                    {"name": "Write copy", "section": "To do", "assignee": "@ben@acme.test", "due_on": {"in_days": 3},
                        "subtasks": [{"name": "Ask Cleo", "subtasks": [{"name": "Find Cleo", "as": "ben@acme.test"}]}, {"name": "Print"}]},
                    {"name": "Write copy", "called": "Write it again", "as": "ben@acme.test", "completed": true},
                    {"name": "@@home", "called": "home", "section": "Over", "due_at": {"in_seconds": 5400}, "start_at": {"in_days": -1},
                        "notes": "@@ann", "followers": ["@other.ben@acme.test"]},
                    {"name": "Launch", "section": "Done", "resource_subtype": "milestone", "html_notes": "<body><strong>Soon</strong></body>"},
                    {"name": "Approve", "resource_subtype": "approval", "approval_status": "rejected"},
                ]},
            {"name": "Spring launch", "called": "Second launch", "as": "ben@acme.test", "team": "Secret", "sections": ["Only one"],
                "tasks": [{"name": "Own", "section": "Only one"}]},
            {"name": "Private list", "workspace": "@Side", "tasks": [{"name": "Milk"}]},
        ],
        "requests": [
            {"operation": "createTag", "data": {"name": "urgent", "workspace": "@Acme", "color": "light-red"}, "called": "urgent"},
            {"operation": "addTagForTask", "path": {"task_gid": "@Ask Cleo"}, "data": {"tag": "@urgent"}},
            {"operation": "createTask", "data": {"name": "Alone", "workspace": "@Acme"}, "as": "ben@acme.test", "called": "Alone"},
            {"operation": "createSubtaskForTask", "path": {"task_gid": "@Alone"}, "data": {"name": "Write copy"}, "as": "ben@acme.test",
                "called": "Below"},
            {"operation": "createCustomField", "data": {"name": "Size", "resource_subtype": "enum", "workspace": "@Acme"}, "called": "Size"},
            {"operation": "createEnumOptionForCustomField", "path": {"custom_field_gid": "@Size"}, "data": {"name": "Small", "color": "red"},
                "called": "Small"},
            {"operation": "createEnumOptionForCustomField", "path": {"custom_field_gid": "@Size"}, "data": {"name": "Large"}, "called": "Large"},
            {"operation": "createCustomField", "data": {"name": "Hours", "resource_subtype": "number", "precision": 1, "workspace": "@Acme"},
                "called": "Hours"},
            {"operation": "createCustomField", "data": {"name": "Checked", "resource_subtype": "date", "workspace": "@Acme"}, "called": "Checked"},
            {"operation": "createCustomField", "data": {"name": "Readers", "resource_subtype": "people", "workspace": "@Acme"}, "called": "Readers"},
            {"operation": "addCustomFieldSettingForProject", "path": {"project_gid": "@Spring launch"},
                "data": {"custom_field": "@Size", "is_important": true}},
            {"operation": "addCustomFieldSettingForProject", "path": {"project_gid": "@Spring launch"}, "data": {"custom_field": "@Hours"}},
            {"operation": "addCustomFieldSettingForProject", "path": {"project_gid": "@Spring launch"}, "data": {"custom_field": "@Checked"}},
            {"operation": "addCustomFieldSettingForProject", "path": {"project_gid": "@Spring launch"}, "data": {"custom_field": "@Readers"}},
            {"operation": "updateTask", "path": {"task_gid": "@Write copy"}, "data": {"custom_fields": {"@Size": "@Small", "@Hours": 2.5,
                "@Checked": {"date": {"in_days": 9}}, "@Readers": ["@Ann", "@ben@acme.test"]}}},
            {"operation": "updateEnumOption", "path": {"enum_option_gid": "@Small"}, "data": {"enabled": false}},
            {"operation": "addProjectForTask", "path": {"task_gid": "@Own"},
                "data": {"project": "@Spring launch", "insert_before": "@Write copy"}, "as": "ben@acme.test"},
            {"operation": "addProjectForTask", "path": {"task_gid": "@Ask Cleo"}, "data": {"project": "@Spring launch", "section": "@Spring launch/Over"}},
            {"operation": "createStoryForTask", "path": {"task_gid": "@Write copy"}, "data": {"text": "@@Ann, soon"}, "as": "ben@acme.test"},
            {"operation": "createStoryForTask", "path": {"task_gid": "@Write copy"}, "data": {"is_pinned": true,
                "html_text": "<body>See <a data-asana-gid=\"@home\"/>, <em>please</em></body>"}},
            {"operation": "updateTask", "path": {"task_gid": "@Launch"}, "data": {"html_notes": "<body><a data-asana-gid=\"@Ann\"/></body>"}},
            {"operation": "addDependenciesForTask", "path": {"task_gid": "@Launch"}, "data": {"dependencies": ["@Write copy", "@home"]}},
            {"operation": "updateTask", "path": {"task_gid": "@Write copy"}, "data": {"liked": true}, "as": "ben@acme.test"},
            {"operation": "removeFollowerForTask", "path": {"task_gid": "@Launch"}, "data": {"followers": ["@Ann"]}},
            {"operation": "deleteSection", "path": {"section_gid": "@Second launch/Untitled section"}, "as": "ben@acme.test"},
            {"operation": "updateTeam", "path": {"team_gid": "@Secret"}, "data": {"visibility": "secret", "description": "Ours"}, "as": "ben@acme.test"},
        ],
    })
}

/// Fields of a task that the API must answer equally in equal worlds.
const SHOWN: &str = "name,resource_subtype,approval_status,completed,notes,due_on,due_at,start_on,start_at,assignee.name,created_by.name,\
    followers.(name|email),memberships.(project|section).name,tags.name,parent.name,dependencies.name,likes.user.name,custom_fields.name,\
    custom_fields.display_value,subtasks.name,num_subtasks";

/// Returns a record without its gids, which differ between worlds.
fn without_gids(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.remove("gid");
            fields.values_mut().for_each(without_gids);
        }
        Value::Array(items) => {
            items.iter_mut().for_each(without_gids);
            // Likes and followers are sent in the order of gids.
            items.sort_by_key(Value::to_string);
        }
        _ => {}
    }
}

/// Returns the tasks of all projects that the first user sees, in their order.
async fn tasks(world: &MadeWorld) -> Vec<Value> {
    let mut all = Vec::new();
    for workspace in &world.boot.workspaces {
        let projects = format!("/workspaces/{}/projects", workspace.gid);
        let projects = match world.tried("GET", &projects, None).await {
            Ok(projects) => projects,
            Err(_) => continue,
        };
        for project in projects.as_array().unwrap() {
            let project = project["gid"].as_str().unwrap();
            let path = format!("/projects/{project}/tasks?opt_fields={SHOWN}");
            let mut tasks = world.data("GET", &path, None).await;
            for task in tasks.as_array_mut().unwrap() {
                without_gids(task);
                all.push(task.take());
            }
        }
    }
    all
}

#[tokio::test]
async fn a_world_made_from_an_exported_fixture_is_exported_as_the_same() {
    let world = MadeWorld::of_fixture("export-rich", &rich_fixture()).await;
    let left_out = world.export().await.left_out;
    assert!(left_out.is_empty(), "{left_out:?}");
    let (made, fixture) = round_trip("export-rich-again", &world).await;
    for name in ["home", "Launch", "Approve", "Print", "Milk"] {
        let of = async |world: &MadeWorld| {
            let path = format!("/tasks/{}?opt_fields={SHOWN}", world.gid(name));
            let mut task = world.data("GET", &path, None).await;
            without_gids(&mut task);
            task
        };
        assert_eq!(of(&made).await, of(&world).await, "{name}: {fixture}");
    }
}

#[tokio::test]
async fn the_demo_is_a_fixture() {
    let world = MadeWorld::of("export-demo", FirstObjects::Demo).await;
    let left_out = world.export().await.left_out;
    assert!(left_out.is_empty(), "{left_out:?}");
    let (made, _) = round_trip("export-demo-again", &world).await;
    let before = tasks(&world).await;
    assert!(before.len() > 5, "{before:?}");
    assert_eq!(tasks(&made).await, before);
}

/// Number of worlds that are written. `WORKGRAPH_CASES` overrides it.
const SEEDS: u64 = 2;
const WRITES: usize = 80;

/// Numbers that follow from a seed.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % end
    }
}

/// Returns a request that writes something about a task: its method, path and data.
fn any_write(
    world: &MadeWorld,
    numbers: &mut Numbers,
    tasks: &[String],
) -> (&'static str, String, Value) {
    let task = &tasks[numbers.below(tasks.len())];
    let other = &tasks[numbers.below(tasks.len())];
    let project = world.gid(["Spring launch", "Second launch"][numbers.below(2)]);
    let section = world.gid(
        [
            "Spring launch/To do",
            "Spring launch/Untitled section",
            "Spring launch/Over",
        ][numbers.below(3)],
    );
    let person = world.gid(["Ann", "ben@acme.test", "other.ben@acme.test"][numbers.below(3)]);
    let number = numbers.below(28) + 1;
    let post = |action: &str, data: Value| ("POST", format!("/tasks/{task}/{action}"), data);
    let put = |data: Value| ("PUT", format!("/tasks/{task}"), data);
    match numbers.below(24) {
        0 => put(json!({"name": format!("@ name {number}")})),
        1 => put(json!({"completed": number.is_multiple_of(2)})),
        2 => put(json!({"due_on": format!("2026-03-{number:02}")})),
        3 => put(json!({"due_at": "2026-04-01T10:11:12.345Z", "start_on": null})),
        4 => put(json!({"assignee": person})),
        5 => put(json!({"assignee": null, "liked": true})),
        6 => put(
            json!({"html_notes": format!("<body><em>See</em> <a data-asana-gid=\"{other}\"/></body>")}),
        ),
        7 => put(json!({"resource_subtype": "approval"})),
        8 => put(json!({"custom_fields": {world.gid("Size"): world.gid("Large")}})),
        9 => post("setParent", json!({"parent": other})),
        10 => post("setParent", json!({"parent": null})),
        11 => post(
            "addProject",
            json!({"project": project, "insert_before": other}),
        ),
        12 => post("addProject", json!({ "project": project })),
        13 => post(
            "addProject",
            json!({"project": world.gid("Spring launch"), "section": section}),
        ),
        14 => post("removeProject", json!({ "project": project })),
        15 => post("removeFollowers", json!({"followers": [person]})),
        16 => post("addFollowers", json!({"followers": [person]})),
        17 => post("addDependencies", json!({"dependencies": [other]})),
        18 => post("stories", json!({"text": format!("comment {number}")})),
        19 => post(
            "subtasks",
            json!({"name": format!("below {number}"), "notes": "x\ny"}),
        ),
        20 => post("addTag", json!({"tag": world.gid("urgent")})),
        21 => (
            "PUT",
            format!("/sections/{section}"),
            json!({"name": (["Same", "Other"][number % 2])}),
        ),
        22 => (
            "POST",
            format!("/projects/{}/sections/insert", world.gid("Spring launch")),
            json!({"section": section, "after_section": null}),
        ),
        _ => (
            "PUT",
            format!("/projects/{project}"),
            json!({"name": format!("Launch {}", number % 2), "archived": number.is_multiple_of(4)}),
        ),
    }
}

#[tokio::test]
async fn a_world_after_any_writes_is_exported_and_made_again() {
    let seeds = std::env::var("WORKGRAPH_CASES").map_or(SEEDS, |text| text.parse().unwrap());
    for seed in 0..seeds {
        let world = MadeWorld::of_fixture("export-written", &rich_fixture()).await;
        let mut numbers = Numbers(seed);
        let named = [
            "Write copy",
            "home",
            "Launch",
            "Ask Cleo",
            "Approve",
            "Print",
            "Milk",
        ];
        let mut known: Vec<String> = named
            .iter()
            .map(|name| world.gid(name).to_owned())
            .collect();
        let mut done = 0;
        for _ in 0..WRITES {
            let (method, path, data) = any_write(&world, &mut numbers, &known);
            // Not everything is allowed in every state.
            if let Ok(reply) = world.tried(method, &path, Some(data)).await {
                done += 1;
                if path.ends_with("/subtasks") {
                    known.push(reply["gid"].as_str().unwrap().to_owned());
                }
            }
        }
        assert!(done > WRITES / 2, "{done} of {WRITES} writes were done");
        let (made, fixture) = round_trip("export-written-again", &world).await;
        if !world.export().await.left_out.is_empty() {
            // Such as a value of a custom field that no project of the task has any more.
            continue;
        }
        let (before, after) = (tasks(&world).await, tasks(&made).await);
        assert_eq!(after.len(), before.len(), "{seed}: {fixture}");
        for (after, before) in after.iter().zip(&before) {
            assert_eq!(after.to_string(), before.to_string(), "seed {seed}");
        }
    }
}
