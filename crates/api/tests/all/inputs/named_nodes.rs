//! Nodes that the filters of lists name: they must exist, and the caller must see them.
use super::world;
use crate::probes::{ORCHID, sample, sender};
use workgraph_api::request::Method;
use workgraph_operations::operation::inputs::InputPlace;
use workgraph_operations::table::all;

/// Parameters that may name what is unknown: webhooks and the audit log may be about what is gone, and a container has tasks
/// of all assignees.
const MAY_BE_UNKNOWN: [(&str, &str); 3] = [
    ("getWebhooks", "resource"),
    ("getAuditLogEvents", "actor_gid"),
    ("getTasks", "assignee.any"),
];

/// In each row that reads, and for each parameter that names a node.
#[test]
fn no_row_ignores_an_unknown_node_in_its_query() {
    let world = world();
    let mut ignored = Vec::new();
    for row in all().filter(|row| row.method == Method::Get) {
        let inputs = row.declared_inputs();
        let named = inputs.filter(|i| i.place == InputPlace::Query && !i.types().is_empty());
        for input in named.filter(|input| !input.is_family()) {
            let mut one = sample(&world, &ORCHID, row);
            one.query.retain(|(name, _)| *name != input.name);
            one.query.push((input.name, "4711815".to_owned()));
            let answer = one.send(&world, sender(row, "ada"), row);
            if answer.status == 200 {
                ignored.push((row.id, input.name));
            }
        }
    }
    ignored.sort_unstable();
    let mut expected = MAY_BE_UNKNOWN.to_vec();
    expected.sort_unstable();
    assert_eq!(ignored, expected);
}

/// An unknown node in a filter is an error, as in a search; a list without rows would say that there are none.
#[test]
fn a_list_names_no_unknown_nodes() {
    let world = world();
    let gid = |name: &str| world.gid(name).to_string();
    let unknown = 4_711_815;
    let (orchid, garden, works) = (gid("orchid"), gid("garden"), gid("works"));
    let (team, mel) = (gid("gardeners"), gid("mel"));
    for (list, filter) in [
        (format!("/memberships?parent={garden}"), "member"),
        (format!("/projects/{garden}/project_memberships?"), "user"),
        (format!("/portfolio_memberships?portfolio={works}"), "user"),
        (format!("/portfolio_memberships?user={mel}"), "workspace"),
        (format!("/team_memberships?user={mel}"), "team"),
        (format!("/team_memberships?user={mel}"), "workspace"),
        (format!("/project_templates?team={team}"), "workspace"),
        (format!("/projects?team={team}"), "workspace"),
        (format!("/goals?workspace={orchid}"), "time_periods"),
        (
            format!("/workspaces/{orchid}/workspace_memberships?"),
            "user",
        ),
    ] {
        let answer = world.get("ada", &format!("{list}&{filter}={unknown}"));
        assert_eq!(answer.status, 400, "{list} {filter}: {}", answer.text);
        let message = format!("{filter}: Unknown object: {unknown}");
        assert_eq!(answer.message(), message, "{list}");
    }
    // Users of other workspaces are unknown here, and teams that the caller does not see are forbidden.
    let bob = gid("bob");
    let answer = world.get("ada", &format!("/memberships?parent={garden}&member={bob}"));
    assert_eq!(answer.status, 400, "{}", answer.text);
    let miners = gid("miners");
    let answer = world.get(
        "ada",
        &format!("/team_memberships?user={mel}&team={miners}"),
    );
    assert_eq!(answer.status, 403, "{}", answer.text);
}
