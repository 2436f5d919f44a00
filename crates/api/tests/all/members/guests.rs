//! The people that guests get to know, and where.
use crate::world::{KINDS, World};
use workgraph_api::Settings;
use workgraph_core::access::{Level, Role};
use workgraph_core::registry::Kind as Fields;

/// A custom field that is shared with a guest and with a team is no introduction; a project is.
#[test]
fn guests_do_not_meet_whom_a_custom_field_is_shared_with() {
    for kind in KINDS {
        for is_project in [false, true] {
            let world = World::build(kind, Settings::default(), |f, names| {
                let (orchid, ada) = (names["orchid"], names["ada"]);
                let crew = f.team(orchid, "Crew", names["vic"]);
                let (field, _) = f.custom_field(orchid, "Depth", Fields::Text, &[]);
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

/// A guest of two workspaces who is let into one of them by an app reads nobody there whom they
/// know from the other.
#[test]
fn an_app_that_reaches_one_workspace_meets_nobody_of_another() {
    for kind in KINDS {
        let world = World::build(kind, Settings::default(), |f, names| {
            let (basalt, gus, vic) = (names["basalt"], names["gus"], names["vic"]);
            f.seat(gus, basalt, Role::Guest);
            f.seat(vic, basalt, Role::Member);
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
            let ask = |who: &str| world.get(name, &format!("/users/{who}")).status;
            assert_eq!(ask("me"), 200, "{name}");
            let vic = world.gid("vic").to_string();
            assert_eq!(ask(&vic) == 200, reach.contains(&"basalt"), "{name}");
        }
    }
}
