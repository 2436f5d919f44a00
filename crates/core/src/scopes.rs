//! Scopes of the API: the actions that a user can permit to an app.

/// Names of every scope, each with its text for the consent page, in order of name. Scope sets are stored by these names,
/// never by position.
pub static SCOPES: [(&str, &str); 51] = [
    ("attachments:delete", "Delete attachments"),
    ("attachments:read", "See attachments and their files"),
    ("attachments:write", "Add attachments"),
    ("custom_fields:read", "See custom fields and their options"),
    ("custom_fields:write", "Create and change custom fields"),
    ("email", "See your e-mail address"),
    ("goals:read", "See goals"),
    ("goals:write", "Create and change goals"),
    ("jobs:read", "See the progress of jobs it started"),
    ("ooo_entries:delete", "Delete out-of-office entries"),
    ("ooo_entries:read", "See out-of-office entries"),
    (
        "ooo_entries:write",
        "Create and change out-of-office entries",
    ),
    ("openid", "Confirm who you are"),
    ("portfolios:read", "See portfolios and what they contain"),
    ("portfolios:write", "Create and change portfolios"),
    ("profile", "See your name and picture"),
    (
        "project_portfolio_settings:read",
        "See the settings of projects in portfolios",
    ),
    (
        "project_portfolio_settings:write",
        "Change the settings of projects in portfolios",
    ),
    ("project_sections:read", "See the sections of projects"),
    ("project_templates:read", "See project templates"),
    ("projects:delete", "Delete projects"),
    ("projects:read", "See projects"),
    ("projects:write", "Create and change projects"),
    ("roles:delete", "Delete roles"),
    ("roles:read", "See roles"),
    ("roles:write", "Create and change roles"),
    ("stories:delete", "Delete comments"),
    ("stories:read", "See comments and the history of tasks"),
    ("stories:write", "Write and change comments"),
    ("tags:read", "See tags"),
    ("tags:write", "Create and change tags"),
    ("task_custom_types:read", "See custom types of tasks"),
    ("task_templates:read", "See task templates"),
    ("tasks:delete", "Delete tasks"),
    ("tasks:read", "See tasks"),
    ("tasks:write", "Create and change tasks"),
    ("team_memberships:read", "See who is a member of which team"),
    ("teams:read", "See teams"),
    ("time_periods:read", "See time periods"),
    (
        "time_tracking_categories:delete",
        "Delete categories of tracked time",
    ),
    (
        "time_tracking_categories:read",
        "See categories of tracked time",
    ),
    (
        "time_tracking_categories:write",
        "Create and change categories of tracked time",
    ),
    ("time_tracking_entries:read", "See tracked time"),
    (
        "timesheet_approval_statuses:read",
        "See the approval of timesheets",
    ),
    (
        "timesheet_approval_statuses:write",
        "Submit and approve timesheets",
    ),
    (
        "users:read",
        "See the people you work with, with their e-mail addresses",
    ),
    ("webhooks:delete", "Delete webhooks"),
    ("webhooks:read", "See webhooks"),
    ("webhooks:write", "Create and change webhooks"),
    (
        "workspaces.typeahead:read",
        "Search for objects by the start of their name",
    ),
    ("workspaces:read", "See your workspaces"),
];

#[cfg(test)]
mod tests {
    use super::SCOPES;

    /// S54.
    #[test]
    fn scopes_are_in_order_and_described() {
        assert!(SCOPES.is_sorted_by(|one, next| one.0 < next.0));
        for (name, description) in SCOPES {
            let action = name.split_once(':').map(|(_, action)| action);
            let known = matches!(action, Some("read" | "write" | "delete"));
            assert!(
                known || ["openid", "email", "profile"].contains(&name),
                "{name}"
            );
            assert!(
                description.len() >= 8 && !description.contains(['_', ':']),
                "{description}"
            );
            assert!(description.starts_with(char::is_uppercase) && !description.ends_with('.'));
        }
    }
}
