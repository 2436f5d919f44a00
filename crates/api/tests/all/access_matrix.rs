//! Access matrix: a golden table of viewer × object × action, written to `fixtures/access-matrix.txt`. A change of the
//! rules shows there as a diff to be read.
mod scene;

use crate::golden;
use crate::world::{Kind, World};
use scene::world;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write;
use workgraph_api::ApiSettings;
use workgraph_core::Gid;
use workgraph_core::access::Level;
use workgraph_core::model::registry::{Type, rel};
use workgraph_core::model::resources::{
    custom_field, enum_option, goal, project, story, task, team,
};
use workgraph_core::rules::sharing::GOALS;
use workgraph_core::rules::{
    custom_field_rules as fields, goal_rules, membership_rules as membership,
};
use workgraph_core::storage::ListPosition;
use workgraph_testkit::Fixture;

/// The viewers, each with the reason for its access.
const VIEWERS: &[(&str, &str)] = &[
    ("ada", "admin"),
    ("mel", "in team"),
    ("moe", "member"),
    ("gus", "guest"),
    ("vic", "view-only"),
    ("bob", "outsider"),
    ("robot", "service"),
];

const ACTIONS: [&str; 6] = ["list", "get", "edit", "comment", "delete", "share"];

/// An object of the table.
struct Object {
    title: &'static str,
    name: &'static str,
    ty: Type,
    /// Path of a list that contains the object if the viewer may see it.
    list: &'static str,
}

const fn object(title: &'static str, name: &'static str, ty: Type, list: &'static str) -> Object {
    Object {
        title,
        name,
        ty,
        list,
    }
}

/// All objects are owned by `owner`, who is none of the viewers, so that only the rules decide.
const OBJECTS: &[Object] = &[
    object("workspace", "orchid", Type::Workspace, "/workspaces"),
    object(
        "workspace membership of moe",
        "moe_seat",
        Type::WorkspaceMembership,
        "/workspaces/{orchid}/workspace_memberships",
    ),
    object("user moe", "moe", Type::User, "/workspaces/{orchid}/users"),
    object(
        "user of another workspace",
        "ben",
        Type::User,
        "/workspaces/{basalt}/users",
    ),
    object(
        "team, secret",
        "t_secret",
        Type::Team,
        "/workspaces/{orchid}/teams",
    ),
    object(
        "team, request to join",
        "t_request",
        Type::Team,
        "/workspaces/{orchid}/teams",
    ),
    object(
        "team, public",
        "t_public",
        Type::Team,
        "/workspaces/{orchid}/teams",
    ),
    object(
        "team membership, secret team",
        "t_secret_seat",
        Type::TeamMembership,
        "/teams/{t_secret}/team_memberships",
    ),
    object(
        "project, open",
        "p_open",
        Type::Project,
        "/workspaces/{orchid}/projects",
    ),
    object(
        "project, for a team",
        "p_team",
        Type::Project,
        "/workspaces/{orchid}/projects",
    ),
    object(
        "project, private",
        "p_private",
        Type::Project,
        "/workspaces/{orchid}/projects",
    ),
    object(
        "project, private, viewer here",
        "p_viewer",
        Type::Project,
        "/workspaces/{orchid}/projects",
    ),
    object(
        "project, private, commenter here",
        "p_commenter",
        Type::Project,
        "/workspaces/{orchid}/projects",
    ),
    object(
        "project, private, editor here",
        "p_editor",
        Type::Project,
        "/workspaces/{orchid}/projects",
    ),
    object(
        "project, private, admin here",
        "p_admin",
        Type::Project,
        "/workspaces/{orchid}/projects",
    ),
    object(
        "project, open, admins share",
        "p_reserved",
        Type::Project,
        "/workspaces/{orchid}/projects",
    ),
    object(
        "project membership, open project",
        "p_open_seat",
        Type::ProjectMembership,
        "/projects/{p_open}/project_memberships",
    ),
    object(
        "section, open project",
        "p_open_section",
        Type::Section,
        "/projects/{p_open}/sections",
    ),
    object(
        "section, private project",
        "p_private_section",
        Type::Section,
        "/projects/{p_private}/sections",
    ),
    object(
        "section of moe's task list",
        "moe_section",
        Type::Section,
        "/projects/{moe_list}/sections",
    ),
    object(
        "section of vic's own list",
        "vic_section",
        Type::Section,
        "/projects/{vic_list}/sections",
    ),
    object(
        "task list of moe",
        "moe_list",
        Type::UserTaskList,
        "/user_task_lists/{moe_list}",
    ),
    object(
        "task, open project",
        "k_open",
        Type::Task,
        "/projects/{p_open}/tasks",
    ),
    object(
        "task, project for a team",
        "k_team",
        Type::Task,
        "/projects/{p_team}/tasks",
    ),
    object(
        "task, private project",
        "k_private",
        Type::Task,
        "/projects/{p_private}/tasks",
    ),
    object(
        "task, private, viewer here",
        "k_viewer",
        Type::Task,
        "/projects/{p_viewer}/tasks",
    ),
    object(
        "task, private, commenter here",
        "k_commenter",
        Type::Task,
        "/projects/{p_commenter}/tasks",
    ),
    object(
        "task, private, commenter here, followed",
        "k_commenter_followed",
        Type::Task,
        "/projects/{p_commenter}/tasks",
    ),
    object(
        "task, no project",
        "k_loose",
        Type::Task,
        "/tags/{g_tag}/tasks",
    ),
    object(
        "task, no project, assigned here",
        "k_mine",
        Type::Task,
        "/tags/{g_tag}/tasks",
    ),
    object(
        "task, no project, followed here",
        "k_followed",
        Type::Task,
        "/tags/{g_tag}/tasks",
    ),
    object(
        "subtask of the open task",
        "k_sub",
        Type::Task,
        "/tasks/{k_open}/subtasks",
    ),
    object(
        "subtask of the private task",
        "k_private_sub",
        Type::Task,
        "/tasks/{k_private}/subtasks",
    ),
    object("tag", "g_tag", Type::Tag, "/workspaces/{orchid}/tags"),
    object(
        "comment of another, open task",
        "c_open",
        Type::Story,
        "/tasks/{k_open}/stories",
    ),
    object(
        "comment of one's own, open task",
        "c_own",
        Type::Story,
        "/tasks/{k_open}/stories",
    ),
    object(
        "comment of another, private task",
        "c_private",
        Type::Story,
        "/tasks/{k_private}/stories",
    ),
    object(
        "custom field, for guests too",
        "x_guests",
        Type::CustomField,
        "/tasks/{k_open}?opt_fields=custom_fields",
    ),
    object(
        "custom field, public",
        "x_public",
        Type::CustomField,
        "/workspaces/{orchid}/custom_fields",
    ),
    object(
        "custom field, public, to be used",
        "x_used",
        Type::CustomField,
        "/workspaces/{orchid}/custom_fields",
    ),
    object(
        "custom field, private",
        "x_private",
        Type::CustomField,
        "/workspaces/{orchid}/custom_fields",
    ),
    object(
        "custom field, public, user here",
        "x_lowered",
        Type::CustomField,
        "/workspaces/{orchid}/custom_fields",
    ),
    object(
        "custom field, public, editor here",
        "x_editor",
        Type::CustomField,
        "/workspaces/{orchid}/custom_fields",
    ),
    object(
        "custom field, private, admin here",
        "x_admin",
        Type::CustomField,
        "/workspaces/{orchid}/custom_fields",
    ),
    object(
        "custom field membership, public field",
        "x_public_seat",
        Type::CustomFieldMembership,
        "/memberships?parent={x_public}",
    ),
    object(
        "option of a public custom field",
        "x_option",
        Type::EnumOption,
        "/custom_fields/{x_public}?opt_fields=enum_options",
    ),
    object(
        "goal, public",
        "a_public",
        Type::Goal,
        "/goals?workspace={orchid}",
    ),
    object(
        "goal, of a secret team",
        "a_team",
        Type::Goal,
        "/goals?team={t_secret}",
    ),
    object(
        "goal, for members",
        "a_members",
        Type::Goal,
        "/goals?workspace={orchid}",
    ),
    object(
        "goal, for members, viewer here",
        "a_viewer",
        Type::Goal,
        "/goals?workspace={orchid}",
    ),
    object(
        "goal, for members, editor here",
        "a_editor",
        Type::Goal,
        "/goals?workspace={orchid}",
    ),
    object(
        "goal relationship, private project",
        "a_relationship",
        Type::GoalRelationship,
        "/goal_relationships?supported_goal={a_public}",
    ),
    object(
        "custom field setting, open project",
        "x_setting",
        Type::CustomFieldSetting,
        "/projects/{p_open}/custom_field_settings",
    ),
];

fn fill(world: &World, text: &str) -> String {
    let mut text = text.to_owned();
    while let Some((before, rest)) = text.split_once('{') {
        let (name, after) = rest.split_once('}').unwrap();
        text = format!("{before}{}{after}", world.gid(name));
    }
    text
}

/// Returns method, path and body of an action on an object; `None` where there is no such action.
fn request(world: &World, object: &Object, action: &str) -> Option<(&'static str, String, Value)> {
    let gid = world.gid(object.name);
    let path = match object.ty {
        Type::Workspace => "workspaces",
        Type::User => "users",
        Type::Team => "teams",
        Type::WorkspaceMembership => "workspace_memberships",
        Type::TeamMembership => "team_memberships",
        Type::Project => "projects",
        Type::ProjectMembership | Type::CustomFieldMembership => "memberships",
        Type::Section => "sections",
        Type::Task => "tasks",
        Type::Tag => "tags",
        Type::UserTaskList => "user_task_lists",
        Type::Story => "stories",
        Type::CustomField => "custom_fields",
        Type::EnumOption => "enum_options",
        Type::CustomFieldSetting => "custom_field_settings",
        Type::Goal => "goals",
        Type::GoalRelationship => "goal_relationships",
        other => panic!("{other:?} is not part of the matrix"),
    };
    let at = format!("/{path}/{gid}");
    let moe = world.gid("moe").to_string();
    Some(match (action, object.ty) {
        // These objects have no address of their own.
        ("get", Type::EnumOption | Type::CustomFieldSetting) => return None,
        ("edit", Type::CustomFieldSetting) => (
            "POST",
            format!("/projects/{}/addCustomFieldSetting", world.gid("p_open")),
            json!({"custom_field": world.gid("x_guests").to_string(), "is_important": true}),
        ),
        ("delete", Type::CustomFieldSetting) => (
            "POST",
            format!("/projects/{}/removeCustomFieldSetting", world.gid("p_open")),
            json!({"custom_field": world.gid("x_guests").to_string()}),
        ),
        ("share", Type::CustomField) => ("PUT", at, json!({"privacy_setting": "private"})),
        // The value of a task is set by a user who may edit the task and use the field.
        ("comment", Type::CustomField) => (
            "PUT",
            format!("/tasks/{}", world.gid("k_open")),
            json!({"custom_fields": {gid.to_string(): null}}),
        ),
        ("get", _) => ("GET", at, Value::Null),
        ("edit", Type::Story) => ("PUT", at, json!({"text": "Edited"})),
        ("edit", Type::ProjectMembership) => ("PUT", at, json!({"access_level": "commenter"})),
        ("edit", Type::CustomFieldMembership) => ("PUT", at, json!({"access_level": "user"})),
        (
            "edit",
            Type::Workspace
            | Type::User
            | Type::Team
            | Type::Project
            | Type::Section
            | Type::Task
            | Type::Tag
            | Type::CustomField
            | Type::EnumOption
            | Type::Goal,
        ) => ("PUT", at, json!({"name": "Edited"})),
        ("edit", Type::GoalRelationship) => ("PUT", at, json!({"contribution_weight": 0.5})),
        ("comment", Type::Task | Type::Goal) => {
            ("POST", format!("{at}/stories"), json!({"text": "Said"}))
        }
        (
            "delete",
            Type::Project
            | Type::ProjectMembership
            | Type::CustomFieldMembership
            | Type::Section
            | Type::Task
            | Type::Tag
            | Type::CustomField
            | Type::Story
            | Type::Goal,
        ) => ("DELETE", at, Value::Null),
        ("share", Type::Project | Type::Goal) => (
            "POST",
            "/memberships".to_owned(),
            json!({"parent": gid.to_string(), "member": world.gid("gus").to_string()}),
        ),
        ("share", Type::Workspace) => (
            "POST",
            format!("{at}/addUser"),
            json!({"user": "x@orchid.test"}),
        ),
        ("share", Type::Team) => (
            "POST",
            format!("{at}/addUser"),
            json!({"user": world.gid("vic").to_string()}),
        ),
        ("share", Type::Task) => (
            "POST",
            format!("{at}/addFollowers"),
            json!({"followers": [moe]}),
        ),
        _ => return None,
    })
}

/// Returns one cell: the result of the action for the viewer.
fn cell(viewer: &str, object: &Object, action: &str, world: &World) -> (String, bool) {
    let gid = world.gid(object.name).to_string();
    if action == "list" {
        let answer = world.get(viewer, &fill(world, object.list));
        let data = &answer.json["data"];
        let inside = ["custom_fields", "enum_options"].map(|part| data[part].as_array());
        let list = data.as_array().or(inside[0]).or(inside[1]);
        let there = match list {
            _ if answer.status != 200 => return (answer.status.to_string(), false),
            None => true,
            Some(items) => items.iter().any(|i| i["gid"] == gid.as_str()),
        };
        return (if there { "yes" } else { "-" }.to_owned(), false);
    }
    let Some((method, path, body)) = request(world, object, action) else {
        return (String::new(), false);
    };
    let answer = world.call(viewer, method, &path, &body);
    let text = match answer.status {
        200 | 201 => "yes".to_owned(),
        // The viewer may do this, but not in the present state.
        400 => "yes*".to_owned(),
        other => other.to_string(),
    };
    (text, method != "GET" && answer.status < 300)
}

/// S69.
#[test]
fn the_access_matrix_is_as_it_was_agreed() {
    let mut rows: Vec<Vec<String>> = Vec::new();
    let mut worlds: BTreeMap<&str, World> = VIEWERS.iter().map(|(v, _)| (*v, world(v))).collect();
    for object in OBJECTS {
        for action in ACTIONS {
            let mut row = vec![object.title.to_owned(), action.to_owned()];
            for (viewer, _) in VIEWERS {
                let (text, changed) = cell(viewer, object, action, &worlds[viewer]);
                if changed {
                    worlds.insert(viewer, world(viewer));
                }
                row.push(text);
            }
            if row.iter().skip(2).any(|c| !c.is_empty()) {
                rows.push(row);
            }
        }
    }
    let mut head = vec!["object".to_owned(), "action".to_owned()];
    head.extend(VIEWERS.iter().map(|(_, what)| (*what).to_owned()));
    rows.insert(0, head);
    let widths: Vec<usize> = (0..rows[0].len())
        .map(|at| rows.iter().map(|r| r[at].chars().count()).max().unwrap())
        .collect();
    let mut out = String::from(
        "# Who may do what; written by crates/api/tests, BLESS=1 rewrites it.\n\
         # Everything belongs to a user who is none of these; \"here\" is wherever the viewer was let in.\n\
         # yes: allowed, listed. -: the list is given without it. yes*: allowed, but 400 as things are.\n\
         # admin: of the workspace. in team: member of every team. guest: of the workspace, in no team.\n\
         # view-only: a member who may only view. outsider: of another workspace. service: its account.\n\
         # comment on a custom field: set a value of it.\n\n",
    );
    let mut before = String::new();
    for row in &rows {
        let mut line = String::new();
        for (at, cell) in row.iter().enumerate() {
            let shown = if at == 0 && *cell == before { "" } else { cell };
            write!(line, "{shown:<width$}  ", width = widths[at]).unwrap();
        }
        before.clone_from(&row[0]);
        writeln!(out, "{}", line.trim_end()).unwrap();
    }
    golden::check(&golden::root("fixtures/access-matrix.txt"), &out);
}
