//! Records of the scene: plain families, records of projects, goals.
use super::{gid, links, makes, ok};
use crate::world::World;
use serde_json::json;
use workgraph_core::Gid;

/// Makes a record of each plain family in hidden nodes, and those that the samples name.
pub(super) fn records(world: &mut World) {
    let orchid = gid(world, "orchid");
    let category = json!({"name": "MEMBERS-category", "workspace": orchid});
    let category = makes(world, "m_category", "/time_tracking_categories", category);
    for (name, task, text) in [
        ("h_time", "h_task", "HIDDEN-time"),
        ("s_time", "shared", ""),
    ] {
        let at = format!("/tasks/{}/time_tracking_entries", gid(world, task));
        let data = json!({"duration_minutes": 30, "description": text, "categories": [category]});
        makes(world, name, &at, data);
    }
}

/// Makes records of projects, and days on which a user is out of office.
pub(super) fn project_records(world: &mut World) {
    let (orchid, mel) = (gid(world, "orchid"), gid(world, "mel"));
    for (prefix, project, title) in [
        ("h", "h_project", "HIDDEN-brief"),
        ("m", "m_project", "MEMBERS-brief"),
    ] {
        let project = gid(world, project);
        let at = format!("/projects/{project}/project_briefs");
        let brief = json!({"title": title, "html_text": links(world)});
        makes(world, &format!("{prefix}_brief"), &at, brief);
        let days = json!({"parent": project, "assignee": mel, "start_date": "2026-03-02",
            "end_date": "2026-03-06"});
        makes(world, &format!("{prefix}_allocation"), "/allocations", days);
        let rate = json!({"parent": project, "resource": mel, "rate": 80});
        makes(world, &format!("{prefix}_rate"), "/rates", rate);
        let budget = json!({"parent": project, "budget_type": "cost"});
        makes(world, &format!("{prefix}_budget"), "/budgets", budget);
    }
    let days = json!({"workspace": orchid, "user": mel, "start_date": "2026-03-02",
        "end_date": "2026-03-06"});
    makes(world, "m_ooo", "/ooo_entries", days);
    let week = json!({"workspace": orchid, "user": gid(world, "ada"), "start_date": "2026-03-02",
        "end_date": "2026-03-08"});
    makes(world, "h_week", "/timesheet_approval_statuses", week);
    let role = json!({"workspace": orchid, "name": "HIDDEN-role", "description": "HIDDEN-duties",
        "base_role_type": "guest"});
    makes(world, "h_role", "/roles", role);
    let wish = json!({"target": gid(world, "h_project"), "message": "HIDDEN-asks"});
    let wish = ok(world.post("vic", "/access_requests", wish)).gid();
    let wish = Gid::parse(&wish).unwrap();
    world.names.insert("h_access".to_owned(), wish);
}

/// Makes a hidden goal, one that members see, and one that its guest sees, too; each has links to hidden objects.
pub(super) fn goals(world: &mut World) {
    let (orchid, html) = (gid(world, "orchid"), links(world));
    for (prefix, title, privacy) in [
        ("h", "HIDDEN-goal", "members_only"),
        ("m", "MEMBERS-goal", "public_to_workspace"),
        ("s", "Aim", "public_to_workspace"),
    ] {
        let data = json!({"workspace": orchid, "name": title, "privacy_setting": privacy,
            "html_notes": html});
        let goal = makes(world, &format!("{prefix}_goal"), "/goals", data);
        let member = if prefix == "s" { "gus" } else { "mel" };
        let seat = json!({"parent": goal, "member": gid(world, member)});
        makes(world, &format!("{prefix}_goal_seat"), "/memberships", seat);
        let status = json!({"parent": goal, "title": title, "html_text": html,
            "status_type": "at_risk"});
        let name = format!("{prefix}_goal_status");
        makes(world, &name, "/status_updates", status);
        let story = json!({ "html_text": html });
        let at = format!("/goals/{goal}/stories");
        makes(world, &format!("{prefix}_goal_story"), &at, story);
    }
    for (supporter, goal) in [
        ("meadow", "s_goal"),
        ("h_project", "s_goal"),
        ("h_goal", "s_goal"),
        ("s_goal", "m_goal"),
        ("meadow", "h_goal"),
    ] {
        let at = format!("/goals/{}/addSupportingRelationship", gid(world, goal));
        let data = json!({"supporting_resource": gid(world, supporter)});
        makes(world, &format!("{supporter}_supports_{goal}"), &at, data);
    }
}
