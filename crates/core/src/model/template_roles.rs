//! Roles of project templates, and their public list as each reader gets it.
use super::gid::Gid;
use super::node::{Node, json_string};
use serde::{Deserialize, Serialize};

/// Role of a template: assignee of some of its tasks. The role's gid is its position in the list,
/// from 1.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TemplateRole {
    /// User to whom the tasks are assigned.
    pub user: Gid,
    /// Name of the user when the template was created; it is the name of the role.
    pub name: String,
}

/// The roles in the data that a template keeps beside its public record.
#[derive(Default, Deserialize)]
#[serde(default)]
struct StoredRoles {
    roles: Vec<TemplateRole>,
}

/// Returns the roles of a template; none if its data can't be read.
pub(crate) fn roles_of(template: &Node) -> Vec<TemplateRole> {
    let stored = template.raw("frozen").map(serde_json::from_str);
    let stored: StoredRoles = stored.and_then(Result::ok).unwrap_or_default();
    stored.roles
}

/// Returns the public list of roles. The roles of users whom `is_seen` refuses are named by their position.
pub(crate) fn public_list(roles: &[TemplateRole], is_seen: &dyn Fn(Gid) -> bool) -> String {
    let items = (1..).zip(roles).map(|(at, role)| {
        let name = if is_seen(role.user) {
            json_string(&role.name)
        } else {
            format!("\"Role {at}\"")
        };
        format!("{{\"gid\":\"{at}\",\"resource_type\":\"template_role\",\"name\":{name}}}")
    });
    format!("[{}]", items.collect::<Vec<_>>().join(","))
}
