//! Samples: for every row, a request that its tenant's admin may make and that has an effect.
use super::record_samples;
use crate::world::{Answer, World};
use serde_json::{Map, Value, json};
use workgraph_api::request::Method;
use workgraph_core::model::time_periods::TimePeriod;
use workgraph_operations::operation::Operation;

/// One of the two tenants, as the probes use it.
#[derive(Clone, Copy)]
pub(crate) struct Tenant {
    pub(super) admin: &'static str,
    pub(super) workspace: &'static str,
    pub(super) team: &'static str,
    pub(super) member: &'static str,
    pub(super) project: &'static str,
    pub(super) section: &'static str,
    pub(super) spare: &'static str,
    pub(super) task: &'static str,
    pub(super) other_task: &'static str,
    pub(super) tag: &'static str,
    pub(super) story: &'static str,
    pub(super) list: &'static str,
    pub(super) membership: &'static str,
    pub(super) in_team: &'static str,
    pub(super) in_project: &'static str,
    pub(super) field: &'static str,
    pub(super) option: &'static str,
    pub(super) other_option: &'static str,
    pub(super) job: &'static str,
    pub(super) export: &'static str,
    pub(super) project_template: &'static str,
    pub(super) task_template: &'static str,
    pub(super) status: &'static str,
    pub(super) attachment: &'static str,
    pub(super) portfolio: &'static str,
    pub(super) in_portfolio: &'static str,
    pub(super) portfolio_setting: &'static str,
    pub(super) item: &'static str,
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
    membership: "mel_seat",
    in_team: "mel_in_gardeners",
    in_project: "gus_in_garden",
    field: "vigor",
    option: "lush",
    other_option: "wilted",
    job: "ada_job",
    export: "orchid_export",
    project_template: "plot_plan",
    task_template: "weeding",
    status: "moss_status",
    attachment: "receipt",
    portfolio: "works",
    in_portfolio: "mel_in_works",
    portfolio_setting: "moss_in_works",
    item: "moss",
};

pub(super) const BASALT: Tenant = Tenant {
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
    membership: "ben_seat",
    in_team: "ben_in_miners",
    in_project: "ben_in_quarry",
    field: "grain",
    option: "coarse",
    other_option: "vesicular",
    job: "bob_job",
    export: "basalt_export",
    project_template: "dig_plan",
    task_template: "drilling",
    status: "quarry_status",
    attachment: "blast_map",
    portfolio: "quarry_works",
    in_portfolio: "ben_in_works",
    portfolio_setting: "quarry_in_works",
    item: "quarry",
};

/// Returns the name of a tenant's node that fits a path parameter.
pub(super) fn parameter(tenant: &Tenant, name: &str) -> String {
    let name = match name {
        "workspace_gid" => tenant.workspace,
        "user_gid" => tenant.member,
        "team_gid" => tenant.team,
        "workspace_membership_gid" => tenant.membership,
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
        "organization_export_gid" => tenant.export,
        "project_template_gid" => tenant.project_template,
        "task_template_gid" => tenant.task_template,
        "portfolio_gid" => tenant.portfolio,
        "portfolio_membership_gid" => tenant.in_portfolio,
        "project_portfolio_setting_gid" => tenant.portfolio_setting,
        "status_update_gid" | "project_status_gid" => tenant.status,
        "attachment_gid" => tenant.attachment,
        // A time period is in every workspace.
        "time_period_gid" => tenant.workspace,
        other => return record_samples::record(tenant, other),
    };
    name.to_owned()
}

/// Returns the gid of a time period.
fn time_period() -> String {
    let mut periods = TimePeriod::of_years(2026, 2026);
    periods.find_map(TimePeriod::gid).unwrap().to_string()
}

/// Returns the names of a row's path parameters.
pub(super) fn parameters(row: &Operation) -> Vec<&'static str> {
    let parts = row.path.split('/');
    parts
        .filter_map(|s| s.strip_prefix('{')?.strip_suffix('}'))
        .filter(|name| name.ends_with("_gid"))
        .collect()
}

/// A request that fits a row: path, query, body.
#[derive(Clone)]
pub(crate) struct Sample {
    pub(crate) path: Vec<(&'static str, String)>,
    pub(crate) query: Vec<(&'static str, String)>,
    pub(crate) body: Map<String, Value>,
}

impl Sample {
    /// Puts a value into the body.
    pub(super) fn put(&mut self, name: &str, value: Value) {
        self.body.insert(name.to_owned(), value);
    }

    /// Gives what the body names another name, if it has one.
    pub(crate) fn named(mut self, name: &str) -> Self {
        if let Some(named) = self.body.get_mut("name") {
            *named = json!(name);
        }
        self
    }

    pub(crate) fn target(&self, row: &Operation) -> String {
        let mut path = row.path.replace("{custom_id}", "ID-1");
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

/// Returns the sender of a row's sample: some rows are for service accounts alone.
pub(crate) fn sender(row: &Operation, admin: &'static str) -> &'static str {
    let robots = [
        "getWorkspaceEvents",
        "getAuditLogEvents",
        "getOrganizationExport",
        "createOrganizationExport",
    ];
    if robots.contains(&row.id) {
        "robot"
    } else {
        admin
    }
}

/// Returns a request of the row that its tenant's admin may make and that has an effect.
pub(crate) fn sample(world: &World, tenant: &Tenant, row: &Operation) -> Sample {
    let gid = |name: &str| world.gid(name).to_string();
    let mut path: Vec<(&'static str, String)> = parameters(row)
        .into_iter()
        .map(|name| match name {
            "time_period_gid" => (name, time_period()),
            _ => (name, gid(&parameter(tenant, name))),
        })
        .collect();
    let mut query: Vec<(&'static str, String)> = row
        .required_query()
        .map(|name| {
            let value = match name {
                "resource_type" => "project".to_owned(),
                "workspace" | "organization" => gid(tenant.workspace),
                "project" | "parent" => gid(tenant.project),
                "user" => gid(tenant.member),
                "target" if row.id == "getReactionsOnObject" => gid(tenant.task),
                "target" => gid(tenant.project),
                "emoji_base" => "%F0%9F%91%8D".to_owned(),
                "supported_goal" => gid(&parameter(tenant, "goal_gid")),
                other => panic!("{}: no sample for the parameter {other}", row.id),
            };
            (name, value)
        })
        .collect();
    if row.id == "typeaheadForWorkspace" {
        // One of two names for this parameter is required.
        query.push(("resource_type", "project".to_owned()));
    }
    let mut body = Map::new();
    for (name, _) in row.required_body() {
        let value = match name {
            "user" | "member" => json!(gid(tenant.member)),
            "followers" | "members" => json!([gid(tenant.member)]),
            "name" => json!("Probe"),
            "organization" => json!(gid(tenant.workspace)),
            "parent" if matches!(row.id, "createMembership" | "createStatusForObject") => {
                json!(gid(tenant.project))
            }
            "status_type" => json!("on_track"),
            "item" if row.id == "removeItemForPortfolio" => json!(gid(tenant.item)),
            "item" => json!(gid(tenant.project)),
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
            "export_request_parameters" => json!([{"resource_type": "task",
                "filters": {"assignee.any": [gid(tenant.member)]}}]),
            "resource_subtype" => json!("number"),
            "custom_field" => json!(gid(tenant.field)),
            "enum_option" => json!(gid(tenant.option)),
            other => record_samples::required(world, tenant, other)
                .unwrap_or_else(|| panic!("{}: no sample for the field {other}", row.id)),
        };
        body.insert(name.to_owned(), value);
    }
    let mut put = |name: &str, value: Value| {
        body.insert(name.to_owned(), value);
    };
    // Inputs that the table does not give: one of several inputs, or the user who may make the request.
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
        "getPortfolioMemberships" => query.push(("portfolio", gid(tenant.portfolio))),
        "updateProjectPortfolioSetting" => put("is_access_control_inherited", json!(true)),
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
        "createGraphExport" => put("parent", json!(gid(tenant.project))),
        "createOrganizationExport" => put("organization", json!(gid(tenant.workspace))),
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
        | "createPortfolio"
        | "updatePortfolio"
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
        "createAttachmentForObject" => {
            put("parent", json!(gid(tenant.task)));
            put("resource_subtype", json!("external"));
            put("url", json!("https://files.test/probe"));
            put("name", json!("Probe"));
        }
        "createStoryForTask" | "createStatusForObject" => put("text", json!("Probe")),
        "updateStory" => put("is_pinned", json!(true)),
        "removeDependentsForTask" | "addDependentsForTask" => {
            put("dependents", json!([gid(tenant.other_task)]));
        }
        _ => {}
    }
    record_samples::complete(world, tenant, row, &mut query, &mut body);
    if row.path.contains("{webhook_gid}") {
        let data =
            json!({"resource": gid(tenant.project), "target": "https://hooks.test/echo/probe"});
        let made = world.post(tenant.admin, "/webhooks", data);
        path = vec![("webhook_gid", made.gid())];
    }
    if row.id == "getTaskForCustomID" {
        let data = json!({"workspace": gid(tenant.workspace), "name": "Probe",
            "resource_subtype": "text", "id_prefix": "ID"});
        let made = world.post(tenant.admin, "/custom_fields", data);
        // The free workspace cannot have such a field.
        if made.status == 201 {
            let to = format!("/projects/{}/addCustomFieldSetting", gid(tenant.project));
            world.post(tenant.admin, &to, json!({"custom_field": made.gid()}));
            world.work();
        }
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
    let removed_from = match row.id {
        "removeCustomFieldSettingForProject" => Some(("projects", "project_gid")),
        "removeCustomFieldSettingForPortfolio" => Some(("portfolios", "portfolio_gid")),
        "removeCustomFieldSettingForGoal" => Some(("goals", "goal_gid")),
        _ => None,
    };
    if let Some((path, name)) = removed_from {
        let container = parameter(tenant, name);
        let to = format!("/{path}/{}/addCustomFieldSetting", gid(&container));
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
