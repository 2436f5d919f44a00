//! The users that guests can see, and the workspaces in which they see them.
use crate::world::{KINDS, Kind, World};
use workgraph_api::ApiSettings;
use workgraph_core::Gid;
use workgraph_core::access::{Level, Role};
use workgraph_core::model::registry::CustomFieldType;
use workgraph_core::storage::{ReadQuery, ViewerKey};
use workgraph_testkit::Fixture;

/// A custom field that is shared with a guest and with a team does not show them to each other; a project does.
#[test]
fn guests_do_not_meet_whom_a_custom_field_is_shared_with() {
    for kind in KINDS {
        for is_project in [false, true] {
            let world = World::build(kind, ApiSettings::default(), |f, names| {
                let (orchid, ada) = (names["orchid"], names["ada"]);
                let crew = f.team(orchid, "Crew", names["vic"]);
                let (field, _) = f.custom_field(orchid, "Depth", CustomFieldType::Text, &[]);
                let project = f.private_project(orchid, "Pond", ada);
                for with in [names["gus"], crew] {
                    if is_project {
                        f.share(project, orchid, with, Level::Viewer);
                    } else {
                        f.share_field(field, orchid, with, Level::Viewer);
                    }
                }
            });
            let vic = world.get("gus", &format!("/users/{}", world.gid("vic")));
            assert_eq!(vic.status == 200, is_project, "{}", vic.text);
        }
    }
}

/// A guest of two workspaces, whose app reaches only one of them, does not see users there whom they know from the
/// other.
#[test]
fn an_app_that_reaches_one_workspace_meets_nobody_of_another() {
    for kind in KINDS {
        let world = World::build(kind, ApiSettings::default(), |f, names| {
            let (basalt, gus, vic) = (names["basalt"], names["gus"], names["vic"]);
            f.add_workspace_member(gus, basalt, Role::Guest);
            f.add_workspace_member(vic, basalt, Role::Member);
            let project = f.private_project(basalt, "Quarry", names["ben"]);
            f.share(project, basalt, gus, Level::Viewer);
            f.share(project, basalt, vic, Level::Viewer);
        });
        for (app, name, reach) in [
            (907, "gus[in orchid]", &["orchid"][..]),
            (908, "gus[in basalt]", &["basalt"][..]),
            (909, "gus[in both]", &["orchid", "basalt"][..]),
        ] {
            world.connect_in("gus", app, "users:read", name, reach);
            let ask = |user: &str| world.get(name, &format!("/users/{user}")).status;
            assert_eq!(ask("me"), 200, "{name}");
            let vic = world.gid("vic").to_string();
            assert_eq!(ask(&vic) == 200, reach.contains(&"basalt"), "{name}");
        }
    }
}

/// A way in which a guest can see many users.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Crowd {
    /// They are in one team.
    Team,
    /// Their team is in the project of the guest.
    TeamOfProject,
    /// They are in the project of the guest, as is the team of another user.
    Project,
}

/// More users than a viewer holds for one project or team.
const CROWD: usize = 300;

fn crowded(kind: Kind, crowd: Crowd) -> World {
    World::build(kind, ApiSettings::default(), |f, names| {
        let (orchid, ada, gus) = (names["orchid"], names["ada"], names["gus"]);
        let mut member = |f: &mut Fixture, name: &str| {
            let user = f.user(name, &format!("{name}@orchid.test"));
            f.add_workspace_member(user, orchid, Role::Member);
            names.insert(name.to_owned(), user);
            user
        };
        let late = member(f, "late");
        let all: Vec<Gid> = (0..CROWD)
            .map(|nth| member(f, &format!("crew-{nth}")))
            .collect();
        let team = f.team(orchid, "Crew", ada);
        let project = f.private_project(orchid, "Pond", ada);
        let last = f.team(orchid, "Last", late);
        match crowd {
            Crowd::Project => {
                for user in all {
                    f.share(project, orchid, user, Level::Viewer);
                }
                f.share(project, orchid, last, Level::Viewer);
            }
            Crowd::Team | Crowd::TeamOfProject => {
                for user in all {
                    f.join_team(user, team, orchid);
                }
            }
        }
        match crowd {
            Crowd::Team => {
                f.join_team(gus, team, orchid);
            }
            Crowd::TeamOfProject => {
                f.share(project, orchid, gus, Level::Viewer);
                f.share(project, orchid, team, Level::Viewer);
            }
            Crowd::Project => {
                f.share(project, orchid, gus, Level::Viewer);
            }
        }
    })
}

/// S110. A guest sees the members of a large project or team like those of a small one, and no other users. The data
/// that is cached for the guest does not grow with them.
#[test]
fn guests_know_the_members_of_large_projects_and_teams() {
    for kind in KINDS {
        for crowd in [Crowd::Team, Crowd::TeamOfProject, Crowd::Project] {
            let world = crowded(kind, crowd);
            let listed = world.get("gus", &format!("/users?workspace={}", world.gid("orchid")));
            let listed = listed.gids();
            for (name, is_known) in [
                ("crew-0", true),
                ("crew-299", true),
                ("late", crowd == Crowd::Project),
                ("moe", false),
            ] {
                let gid = world.gid(name).to_string();
                let one = world.get("gus", &format!("/users/{gid}"));
                assert_eq!(
                    one.status == 200,
                    is_known,
                    "{crowd:?} {name}: {}",
                    one.text
                );
                assert_eq!(listed.contains(&gid), is_known, "{crowd:?} {name}");
            }
            let held = held(&world);
            assert!(held < CROWD, "{crowd:?}: {held} users are held");
        }
    }
}

/// Returns the number of users that are cached for the guest.
fn held(world: &World) -> usize {
    let key = ViewerKey {
        user: world.gid("gus"),
        service: None,
    };
    let view = world.run(world.graph.load(&ReadQuery::of(key))).unwrap();
    let known = view.viewer.known_users.values();
    known.map(|known| known.users.len()).sum()
}

/// S110. Many small teams are no way around this bound.
#[test]
fn a_guest_of_many_teams_is_remembered_with_few_users() {
    let world = World::build(Kind::Memory, ApiSettings::default(), |f, names| {
        let orchid = names["orchid"];
        for team in 0..12 {
            let gid = f.team(orchid, &format!("Crew {team}"), names["ada"]);
            f.join_team(names["gus"], gid, orchid);
            for nth in 0..200 {
                let name = format!("crew-{team}-{nth}");
                let user = f.user(&name, &format!("{name}@orchid.test"));
                f.add_workspace_member(user, orchid, Role::Member);
                f.join_team(user, gid, orchid);
                names.insert(name, user);
            }
        }
    });
    let held = held(&world);
    assert!((1_000..=2_048).contains(&held), "{held} users are held");
    for team in 0..12 {
        for nth in [0, 199] {
            let gid = world.gid(&format!("crew-{team}-{nth}"));
            let one = world.get("gus", &format!("/users/{gid}"));
            assert_eq!(one.status, 200, "{team} {nth}: {}", one.text);
        }
    }
    let moe = world.get("gus", &format!("/users/{}", world.gid("moe")));
    assert_eq!(moe.status, 403, "{}", moe.text);
}
