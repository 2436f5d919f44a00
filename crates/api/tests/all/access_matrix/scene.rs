//! The scene of the access matrix: an object of each kind, and the reason for the viewer's access.
use super::*;
use workgraph_core::access::follower_rank;

/// Builds a world around one viewer: "here" is the workspace to which the viewer has access.
pub(super) fn world(viewer: &str) -> World {
    World::build(Kind::Memory, ApiSettings::default(), |f, names| {
        build(f, names, viewer)
    })
}

fn build(f: &mut Fixture, names: &mut BTreeMap<String, Gid>, viewer: &str) {
    let orchid = names["orchid"];
    let home_of_viewer = if viewer == "bob" { "basalt" } else { "orchid" };
    let inside = home_of_viewer == "orchid" && viewer != "robot";
    let user = names[viewer];
    let owner = f.member(orchid, "Owner", workgraph_core::access::Role::Member);
    for (name, visibility) in [
        ("t_secret", "secret"),
        ("t_request", "request_to_join"),
        ("t_public", "public"),
    ] {
        let gid = f.with(|work| {
            let mut draft = work.draft(Type::Team, Some(orchid));
            draft.set(team::NAME, name);
            draft.set(team::VISIBILITY, visibility);
            membership::create_team(work, draft, Some(owner))
        });
        names.insert(name.to_owned(), gid);
        if viewer == "mel" {
            f.join_team(user, gid, orchid);
        }
    }
    let secret_seat = f.join_team(names["moe"], names["t_secret"], orchid);
    // Moe is a plain member in the table, so the membership is that of another user.
    if viewer == "moe" {
        f.with(|work| {
            work.changes
                .edge_writes
                .retain(|l| !(l.rel == rel::TEAM_MEMBERS && l.dst == user))
        });
    }
    names.insert("t_secret_seat".to_owned(), secret_seat);

    for (name, privacy, level, share) in [
        ("p_open", "public_to_workspace", None, "editor"),
        ("p_team", "private_to_team", None, "editor"),
        ("p_private", "private", None, "editor"),
        ("p_viewer", "private", Some(Level::Viewer), "editor"),
        ("p_commenter", "private", Some(Level::Commenter), "editor"),
        ("p_editor", "private", Some(Level::Editor), "editor"),
        ("p_admin", "private", Some(Level::Admin), "editor"),
        ("p_reserved", "public_to_workspace", None, "admin"),
    ] {
        let gid = f.with(|work| {
            let mut draft = work.draft(Type::Project, Some(orchid));
            draft.set(project::NAME, name);
            draft.set(project::PRIVACY, privacy);
            draft.set(project::SHARE_ACCESS, share);
            draft.set(project::OWNER, owner);
            membership::create_project(work, draft, owner)
        });
        names.insert(name.to_owned(), gid);
        names.insert(format!("{name}_section"), f.section_in(gid));
        if let Some(level) = level.filter(|_| inside) {
            f.share(gid, orchid, user, level);
        }
        if name == "p_team" {
            f.link(
                gid,
                rel::TEAM,
                names["t_secret"],
                ListPosition::Rank(0),
                None,
            );
        }
    }
    let shared = f.share(names["p_open"], orchid, names["gardeners"], Level::Editor);
    names.insert("p_open_seat".to_owned(), shared);
    for user in ["moe", "vic"] {
        let section = f.section_in(names[&format!("{user}_list")]);
        names.insert(format!("{user}_section"), section);
    }

    let tag = f.tag(orchid, "Matrix");
    names.insert("g_tag".to_owned(), tag);
    for (name, place) in [
        ("k_open", Some("p_open")),
        ("k_team", Some("p_team")),
        ("k_private", Some("p_private")),
        ("k_viewer", Some("p_viewer")),
        ("k_commenter", Some("p_commenter")),
        ("k_commenter_followed", Some("p_commenter")),
        ("k_loose", None),
        ("k_mine", None),
        ("k_followed", None),
    ] {
        let gid = match place {
            Some(place) => f.task_in(names[&format!("{place}_section")], name, owner),
            None if name == "k_mine" && inside => f.node(Type::Task, Some(orchid), |draft, now| {
                draft.set(task::NAME, name);
                draft.set(task::CREATED_AT, now);
                draft.set(task::CREATED_BY, owner);
                draft.set(task::ASSIGNEE, user);
            }),
            None => f.task(orchid, name, owner),
        };
        names.insert(name.to_owned(), gid);
        f.link(gid, rel::TAGS, tag, ListPosition::Rank(0), None);
        if name.ends_with("_followed") && inside {
            let rank = ListPosition::Rank(follower_rank(Some(Level::Editor)));
            f.link(gid, rel::FOLLOWERS, user, rank, None);
        }
    }
    for (name, parent) in [("k_sub", "k_open"), ("k_private_sub", "k_private")] {
        let gid = f.subtask(names[parent], name, owner);
        names.insert(name.to_owned(), gid);
    }
    for (name, on, by) in [
        ("c_open", "k_open", owner),
        ("c_own", "k_open", user),
        ("c_private", "k_private", owner),
    ] {
        let gid = f.node(Type::Story, Some(orchid), |draft, now| {
            draft.set(story::CREATED_AT, now);
            draft.set(story::SUBTYPE, story::COMMENT);
            draft.set(story::CREATED_BY, by);
            draft.set(story::TEXT, "Matrix");
        });
        f.link(gid, rel::STORY_OF, names[on], ListPosition::Rank(0), None);
        names.insert(name.to_owned(), gid);
    }
    custom_fields(f, names, owner, inside.then_some(user));
    goals(f, names, owner, inside.then_some(user));
    let (public, gardeners) = (names["x_public"], names["gardeners"]);
    let shared = f.share_field(public, orchid, gardeners, Level::Editor);
    names.insert("x_public_seat".to_owned(), shared);
}

/// Adds goals of each kind of privacy, one of them supported by a private project.
fn goals(f: &mut Fixture, names: &mut BTreeMap<String, Gid>, owner: Gid, user: Option<Gid>) {
    let (orchid, team, private) = (names["orchid"], names["t_secret"], names["p_private"]);
    for (name, privacy, of_team, level) in [
        ("a_public", goal::PUBLIC, false, None),
        ("a_team", goal::PUBLIC, true, None),
        ("a_members", "members_only", false, None),
        ("a_viewer", "members_only", false, Some(Level::Viewer)),
        ("a_editor", "members_only", false, Some(Level::Editor)),
    ] {
        let gid = f.node(Type::Goal, Some(orchid), |draft, _| {
            draft.set(goal::NAME, name);
            draft.set(goal::PRIVACY, privacy);
            draft.set(goal::OWNER, owner);
            draft.set(goal::TEAM, of_team.then_some(team));
        });
        names.insert(name.to_owned(), gid);
        if let (Some(level), Some(user)) = (level, user) {
            f.with(|work| GOALS.join(work, user, gid, orchid, level));
        }
    }
    let goal = (names["a_public"], Some(orchid));
    let gid = f.with(|work| {
        let project = (private, Type::Project);
        goal_rules::add_supporter(work, project, goal, None, ListPosition::Last)
    });
    names.insert("a_relationship".to_owned(), gid);
}

/// Adds custom fields of each kind of privacy, all on the open project.
fn custom_fields(
    f: &mut Fixture,
    names: &mut BTreeMap<String, Gid>,
    owner: Gid,
    user: Option<Gid>,
) {
    let (orchid, open) = (names["orchid"], names["p_open"]);
    for (name, privacy, level, here) in [
        ("x_guests", "public_with_guests", "editor", None),
        ("x_public", "public", "editor", None),
        ("x_used", "public", "user", None),
        ("x_private", "private", "editor", None),
        ("x_lowered", "public", "admin", Some(Level::Viewer)),
        ("x_editor", "public", "user", Some(Level::Editor)),
        ("x_admin", "private", "user", Some(Level::Admin)),
    ] {
        let gid = f.with(|work| {
            let mut draft = work.draft(Type::CustomField, Some(orchid));
            draft.set(custom_field::NAME, name);
            draft.set(custom_field::SUBTYPE, "enum");
            draft.set(custom_field::PRIVACY, privacy);
            draft.set(custom_field::DEFAULT_ACCESS, level);
            draft.set(custom_field::CREATED_BY, owner);
            let field = fields::create_custom_field(work, &draft, orchid);
            let option = fields::add_option(work, field, orchid, ListPosition::Last, |draft| {
                draft.set(enum_option::NAME, "Matrix");
            });
            if name == "x_public" {
                names.insert("x_option".to_owned(), option);
            }
            field
        });
        if let (Some(level), Some(user)) = (here, user) {
            f.share_field(gid, orchid, user, level);
        }
        let setting = f.field_on(gid, open, orchid);
        if name == "x_guests" {
            names.insert("x_setting".to_owned(), setting);
        }
        names.insert(name.to_owned(), gid);
    }
}
