//! Nodes that the filters of lists name: they must exist, and the caller must see them.
use super::world;

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
