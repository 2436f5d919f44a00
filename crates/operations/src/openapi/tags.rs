//! Tags of operations, which group them in the document and name the classes of generated clients. They are those of the public
//! catalogue.
use crate::operation::Operation;
use workgraph_core::Type;
use workgraph_core::model::resources::resource;

/// Tags of operations that the catalogue groups otherwise than by the records that they return.
const OTHERS: &[(&str, &str)] = &[
    ("addCustomFieldSettingForGoal", "Goals"),
    ("addCustomFieldSettingForPortfolio", "Portfolios"),
    ("addCustomFieldSettingForProject", "Projects"),
    ("addUserForTeam", "Teams"),
    ("addUserForWorkspace", "Workspaces"),
    ("createBatchRequest", "Batch API"),
    ("createEnumOptionForCustomField", "Custom fields"),
    ("getAuditLogEvents", "Audit log API"),
    ("getFavoritesForUser", "Users"),
    ("getPortfolioMembership", "Portfolio memberships"),
    ("getPortfolioMemberships", "Portfolio memberships"),
    (
        "getPortfolioMembershipsForPortfolio",
        "Portfolio memberships",
    ),
    ("getProjectMembership", "Project memberships"),
    ("getProjectMembershipsForProject", "Project memberships"),
    (
        "getTimeTrackingEntriesForTimeTrackingCategory",
        "Time tracking categories",
    ),
    ("getWorkspaceEvents", "Workspaces"),
    ("insertEnumOptionForCustomField", "Custom fields"),
    ("insertSectionForProject", "Sections"),
    ("removeSupportingRelationship", "Goal relationships"),
    ("triggerRule", "Rules"),
    ("typeaheadForWorkspace", "Typeahead"),
    ("updateEnumOption", "Custom fields"),
];

/// Returns the tag of an operation: usually the type of the records that it returns, but the start of its path if it starts
/// a job.
pub(super) fn tag(operation: &Operation) -> String {
    if let Some((_, tag)) = OTHERS.iter().find(|(id, _)| *id == operation.id) {
        return (*tag).to_owned();
    }
    let record = operation.record().filter(|ty| *ty != Type::Job);
    let of_path = || operation.path.split('/').nth(1).unwrap_or_default();
    let word = record.map_or_else(of_path, |ty| resource(ty).path);
    let mut letters = word.chars().map(|c| if c == '_' { ' ' } else { c });
    let first = letters.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table;

    #[test]
    fn the_tags_are_those_of_the_catalogue() {
        let catalogue = include_str!("../../../../fixtures/catalogue.tsv");
        let mut count = 0;
        for line in catalogue.lines().filter(|line| !line.starts_with('#')) {
            let columns: Vec<&str> = line.split('\t').collect();
            let mut all = table::all();
            let Some(operation) = all.find(|operation| operation.id == columns[3]) else {
                continue;
            };
            assert_eq!(tag(operation), columns[0], "{}", operation.id);
            count += 1;
        }
        assert_eq!(count, table::all().count());
    }
}
