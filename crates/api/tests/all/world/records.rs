//! Records of plain families, one of each in both tenants: `orchid_…` and `basalt_…`.
use super::*;
use workgraph_core::model::resources::{
    self, access_request, agent, budget, capacity, goal, ooo_entry, project_brief, role,
    rule_trigger, task, time_tracking, timesheet,
};
use workgraph_core::rules::custom_type_rules::{NewStatus, create_custom_type};
use workgraph_core::rules::goal_rules;
use workgraph_core::rules::sharing::GOALS;

/// Builds the records. Their parents are nodes that few users see.
pub(super) fn records(f: &mut Fixture, names: &mut BTreeMap<String, Gid>) {
    for (tenant, (who_name, member_name), task_name, project, category, brief) in [
        (
            "orchid",
            ("ada", "moe"),
            "lichen",
            "moss",
            "Pruning",
            "Sepals",
        ),
        (
            "basalt",
            ("bob", "ben"),
            "haul",
            "quarry",
            "Shale work",
            "Magma",
        ),
    ] {
        let (home, who) = (names[tenant], names[who_name]);
        let member = names[member_name];
        let word = brief;
        // Everybody of the tenant sees the tasks of this project.
        let ruled = names[if tenant == "orchid" {
            "garden"
        } else {
            "quarry"
        }];
        let (task, project) = (names[task_name], names[project]);
        let mut put = |name: &str, gid: Gid| names.insert(format!("{tenant}_{name}"), gid);
        let category = f.node(Type::TimeTrackingCategory, Some(home), |draft, _| {
            draft.set(time_tracking::CATEGORY_NAME, category);
        });
        put("category", category);
        let entry = f.node(Type::TimeTrackingEntry, Some(home), |draft, now| {
            draft.set(time_tracking::TASK, task);
            draft.set(time_tracking::ATTRIBUTABLE_TO, project);
            draft.set(time_tracking::DURATION, 45);
            draft.set(time_tracking::ENTERED_ON, Some(Date::of(now)));
            draft.set(time_tracking::CREATED_BY, who);
            draft.set(time_tracking::CREATED_AT, now);
        });
        let rank = ListPosition::Rank(0);
        f.link(entry, rel::TIME_CATEGORIES, category, rank, None);
        put("time", entry);
        let seat = names[&format!("{who_name}_seat")];
        let mut put = |name: &str, gid: Gid| names.insert(format!("{tenant}_{name}"), gid);
        let brief = f.node(Type::ProjectBrief, Some(home), |draft, _| {
            draft.set(
                project_brief::TITLE,
                format!("{brief} of a project").as_str(),
            );
            draft.set(project_brief::PROJECT, project);
        });
        put("brief", brief);
        let days = ["2026-03-02", "2026-03-06"].map(|day| Date::parse(day).ok());
        let ooo = f.node(Type::OooEntry, Some(home), |draft, _| {
            draft.set(resources::START_DATE, days[0]);
            draft.set(resources::END_DATE, days[1]);
            draft.set(ooo_entry::USER, who);
            draft.set(ooo_entry::CREATED_BY, who);
            draft.set(ooo_entry::MEMBERSHIP, seat);
        });
        put("ooo", ooo);
        let allocation = f.node(Type::Allocation, Some(home), |draft, _| {
            draft.set(resources::START_DATE, days[0]);
            draft.set(resources::END_DATE, days[1]);
            draft.set(capacity::ASSIGNEE, who);
            draft.set(capacity::CREATED_BY, who);
            draft.set(capacity::PARENT, project);
        });
        put("allocation", allocation);
        let rate = f.node(Type::Rate, Some(home), |draft, _| {
            draft.set(capacity::RATE_PARENT, project);
            draft.set(capacity::RATE_RESOURCE, who);
            draft.set(capacity::RATE_VALUE, "80".to_owned());
            draft.set(capacity::RATE_CREATED_BY, who);
        });
        put("rate", rate);
        let budget = f.node(Type::Budget, Some(home), |draft, _| {
            draft.set(budget::PARENT, project);
            draft.set(budget::BUDGET_TYPE, "cost");
        });
        put("budget", budget);
        let days = ["2026-02-02", "2026-02-08"].map(|day| Date::parse(day).ok());
        let week = f.node(Type::TimesheetApprovalStatus, Some(home), |draft, now| {
            draft.set(timesheet::USER, who);
            draft.set(timesheet::CREATED_AT, now);
            draft.set(timesheet::START_DATE, days[0]);
            draft.set(timesheet::END_DATE, days[1]);
        });
        put("week", week);
        let statuses = ["Reported:incomplete", "Mended:complete"];
        let statuses = statuses.map(|status| NewStatus::parse(status).unwrap());
        let title = format!("Defect of {tenant}");
        let made = f.with(|work| create_custom_type(work, home, &[project], &title, &statuses));
        put("custom_type", made.unwrap());
        let agent = f.node(Type::Agent, Some(home), |draft, _| {
            draft.set(agent::NAME, format!("Agent of {word}").as_str());
        });
        put("agent", agent);
        let role = f.node(Type::Role, Some(home), |draft, now| {
            draft.set(role::NAME, format!("Role of {word}").as_str());
            draft.set(role::CREATED_AT, now);
            draft.set(role::MODIFIED_AT, now);
        });
        put("role", role);
        let trigger = f.node(Type::RuleTrigger, Some(home), |draft, _| {
            draft.set(rule_trigger::NAME, format!("Rule of {word}").as_str());
            draft.set(rule_trigger::PROJECT, ruled);
        });
        f.link(trigger, rel::RULE_TRIGGER_OF, ruled, rank, None);
        put("trigger", trigger);
        let wish = f.node(Type::AccessRequest, Some(home), |draft, _| {
            draft.set(access_request::MESSAGE, format!("For {word}").as_str());
            draft.set(access_request::REQUESTER, member);
            draft.set(access_request::TARGET_LINK, project);
            let target = format!(r#"{{"gid":"{project}","resource_type":"project"}}"#);
            draft.set(access_request::TARGET, target);
        });
        put("access", wish);
        f.link(project, rel::ACCESS_REQUESTS, member, rank, Some(wish));
        let (aim, member) = match tenant {
            "orchid" => ("Petals", "mel"),
            _ => ("Lava", "ben"),
        };
        let member = names[member];
        let goal = f.node(Type::Goal, Some(home), |draft, _| {
            draft.set(goal::NAME, format!("{aim} of the year").as_str());
            draft.set(goal::OWNER, who);
            draft.set(goal::PRIVACY, "members_only");
            let metric = r#"{"gid":"77","precision":0,"unit":"none","currency_code":null,"initial_number_value":0,"target_number_value":10,"current_number_value":4,"progress_source":"manual","is_custom_weight":false}"#;
            draft.set(goal::METRIC, metric.to_owned());
        });
        let seat = f.with(|work| GOALS.join(work, member, goal, home, Level::Viewer));
        names.insert(format!("{tenant}_goal"), goal);
        names.insert(format!("{tenant}_goal_membership"), seat);
        let relationship = f.with(|work| {
            let (project, goal) = ((project, Type::Project), (goal, Some(home)));
            goal_rules::add_supporter(work, project, goal, None, ListPosition::Last)
        });
        names.insert(format!("{tenant}_goal_relationship"), relationship);
        f.with(|work| {
            let mut writes = work.changes.node_writes.iter_mut();
            let write = writes.find(|write| write.node.gid == task).unwrap();
            let mut draft = Draft::edit(&write.node);
            draft.set(task::ACTUAL_TIME, 45);
            write.node.body = draft.finish().body;
        });
    }
}
