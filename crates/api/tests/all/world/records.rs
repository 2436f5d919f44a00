//! Records of plain families, one of each in both tenants: `orchid_…` and `basalt_…`.
use super::*;
use workgraph_core::model::resources::{task, time_tracking};

/// Builds the records. Their parents are nodes that few users see.
pub(super) fn records(f: &mut Fixture, names: &mut BTreeMap<String, Gid>) {
    for (tenant, who, task_name, project, category) in [
        ("orchid", "ada", "lichen", "moss", "Pruning"),
        ("basalt", "bob", "haul", "quarry", "Shale work"),
    ] {
        let (home, who) = (names[tenant], names[who]);
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
        f.with(|work| {
            let mut writes = work.changes.node_writes.iter_mut();
            let write = writes.find(|write| write.node.gid == task).unwrap();
            let mut draft = Draft::edit(&write.node);
            draft.set(task::ACTUAL_TIME, 45);
            write.node.body = draft.finish().body;
        });
    }
}
