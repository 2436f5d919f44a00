//! Lists over all workspaces of the caller.
use crate::world::{KINDS, Kind, World};
use serde_json::json;
use std::collections::BTreeSet;
use workgraph_api::ApiSettings;
use workgraph_core::access::Role;
use workgraph_core::model::registry::Type;
use workgraph_core::model::resources::project;
use workgraph_core::rules::membership_rules;

/// Returns a world where ada and mel belong to three more workspaces. Each has a tag, a project and a user of its own.
/// Mel is a guest in the last one, and una is in all of them.
fn several(kind: Kind, settings: ApiSettings, each: usize) -> World {
    World::build(kind, settings, |f, names| {
        let (ada, mel) = (names["ada"], names["mel"]);
        let una = f.user("Una", "una@attic.test");
        names.insert("una".to_owned(), una);
        for n in 0..3 {
            let workspace = f.with(|w| {
                membership_rules::create_workspace(w, &format!("Attic {n}"), true, false)
            });
            f.add_workspace_member(ada, workspace, Role::Admin);
            f.add_workspace_member(
                mel,
                workspace,
                if n == 2 { Role::Guest } else { Role::Member },
            );
            f.add_workspace_member(una, workspace, Role::Member);
            for i in 0..each {
                let own = f.user(&format!("Own {n} {i}"), &format!("own{n}-{i}@attic.test"));
                f.add_workspace_member(own, workspace, Role::Member);
                f.tag(workspace, &format!("Tag {n} {i}"));
                f.with(|w| {
                    let mut draft = w.draft(Type::Project, Some(workspace));
                    draft.set(project::NAME, format!("Project {n} {i}").as_str());
                    draft.set(project::ARCHIVED, i % 2 == 1);
                    membership_rules::create_project(w, draft, ada)
                });
            }
            names.insert(format!("attic{n}"), workspace);
        }
    })
}

/// Walks a list to its end in pages of `limit` items.
fn walked(world: &World, token: &str, path: &str, limit: usize) -> Vec<String> {
    let mut found = Vec::new();
    let mut target = format!("{path}limit={limit}");
    loop {
        let page = world.get(token, &target);
        assert_eq!(page.status, 200, "{}", page.text);
        let gids = page.gids();
        assert!(gids.len() <= limit);
        found.extend(gids);
        match page.next() {
            Some(offset) => target = format!("{path}limit={limit}&offset={offset}"),
            None => return found,
        }
        assert!(found.len() < 1_000, "the walk never ends");
    }
}

/// Returns the nodes in the lists of the single workspaces, each gid once.
fn together(world: &World, token: &str, list: &str, homes: &[&str]) -> Vec<String> {
    let gids = homes.iter().flat_map(|workspace| {
        let target = format!("/{list}?workspace={}&limit=100", world.gid(workspace));
        world.get(token, &target).gids()
    });
    let all: BTreeSet<u64> = gids.map(|gid| gid.parse().unwrap()).collect();
    all.into_iter().map(|gid| gid.to_string()).collect()
}

const ALL: &[&str] = &["orchid", "attic0", "attic1", "attic2"];

/// S140. In pages of any size, and at once: each record once, in the order of gids. A record that the caller may not
/// see in one workspace is not in the list of all.
#[test]
fn users_projects_and_tags_are_listed_over_all_workspaces_of_the_caller() {
    for kind in KINDS {
        let world = several(kind, ApiSettings::default(), 20);
        for (token, list) in [
            ("ada", "users"),
            ("ada", "projects"),
            ("ada", "tags"),
            ("mel", "users"),
            ("mel", "projects"),
            ("mel", "tags"),
        ] {
            let expected = together(&world, token, list, ALL);
            assert!(expected.len() > 40, "{token} {list}: {}", expected.len());
            for limit in [1, 2, 7, 50, 100] {
                let found = walked(&world, token, &format!("/{list}?"), limit);
                assert_eq!(found, expected, "{token} {list} in pages of {limit}");
            }
            let found = world.get(token, &format!("/{list}")).gids();
            assert_eq!(found, expected, "{token} {list} at once");
        }
        let archived = walked(&world, "ada", "/projects?archived=true&", 9);
        assert_eq!(archived.len(), 30);
        // Una is in three workspaces, and Mel is no member of the last one.
        let una = world.gid("una").to_string();
        let users = world.get("ada", "/users").gids();
        assert_eq!(users.iter().filter(|gid| **gid == una).count(), 1);
        assert!(
            world.get("mel", "/projects").gids().len() < world.get("ada", "/projects").gids().len()
        );
    }
}

/// S140. An app lists the workspaces that it may reach.
#[test]
fn an_app_lists_the_workspaces_that_it_reaches() {
    for kind in KINDS {
        let world = several(kind, ApiSettings::default(), 2);
        for (scope, list) in [
            ("users:read", "users"),
            ("projects:read", "projects"),
            ("tags:read", "tags"),
        ] {
            let expected = together(&world, "ada", list, &["orchid"]);
            let token = format!("ada[{scope}]");
            assert_eq!(world.get(&token, &format!("/{list}")).gids(), expected);
            assert_eq!(walked(&world, &token, &format!("/{list}?"), 1), expected);
            assert!(together(&world, "ada", list, ALL).len() > expected.len());
        }
    }
}

/// S140. A service account has one workspace, and a page token is valid for its own list only.
#[test]
fn a_walk_over_all_workspaces_is_bound_to_its_caller_and_its_list() {
    let world = several(Kind::Sqlite, ApiSettings::default(), 3);
    let expected = together(&world, "robot", "projects", &["orchid"]);
    assert_eq!(walked(&world, "robot", "/projects?", 1), expected);
    let offset = world.get("ada", "/projects?limit=2").next().unwrap();
    for (token, path) in [
        ("mel", "/projects?".to_owned()),
        ("ada", "/tags?".to_owned()),
        ("ada", "/projects?archived=false&".to_owned()),
        (
            "ada",
            format!("/projects?workspace={}&", world.gid("orchid")),
        ),
    ] {
        let refused = world.get(token, &format!("{path}limit=2&offset={offset}"));
        assert_eq!(refused.status, 400, "{token} {path}");
        assert_eq!(
            refused.message(),
            "offset: Your pagination token is invalid."
        );
    }
}

/// S140. Records made during a walk do not come into it; a user who becomes a member of a second workspace during it is
/// still listed once.
#[test]
fn a_walk_over_all_workspaces_shows_the_state_it_began_with() {
    for kind in KINDS {
        let world = several(kind, ApiSettings::default(), 6);
        let expected = world.get("ada", "/users").gids();
        let first = world.get("ada", "/users?limit=3");
        let last = expected.last().unwrap();
        let workspace = world.gid("attic0");
        let added = world.post(
            "ada",
            &format!("/workspaces/{workspace}/addUser"),
            json!({"user": last}),
        );
        assert_eq!(added.status, 200, "{}", added.text);
        let mut found = first.gids();
        let mut next = first.next();
        while let Some(offset) = next {
            let page = world.get("ada", &format!("/users?limit=3&offset={offset}"));
            found.extend(page.gids());
            next = page.next();
        }
        assert_eq!(found, expected);
    }
}

/// S140. The bounds of walks hold: an unpaginated list is refused above its bound, and the walk over users, which is
/// computed, ends at its cap.
#[test]
fn a_list_over_all_workspaces_has_the_bounds_of_other_lists() {
    let settings = ApiSettings {
        unpaginated_max: 10,
        walk_cap: 12,
        ..ApiSettings::default()
    };
    let world = several(Kind::Memory, settings, 20);
    let refused = world.get("ada", "/projects");
    assert_eq!(refused.status, 400);
    assert!(
        refused.message().starts_with("The result is too large."),
        "{}",
        refused.text
    );
    assert_eq!(walked(&world, "ada", "/users?", 5).len(), 12);
    assert!(walked(&world, "ada", "/projects?", 5).len() > 60);
}

/// S141. Old clients use this path.
#[test]
fn the_teams_of_an_organization_have_the_path_of_old_clients() {
    let world = World::new(Kind::Memory);
    let orchid = world.gid("orchid");
    let found = world.get("ada", &format!("/organizations/{orchid}/teams?limit=10"));
    assert_eq!(found.status, 200, "{}", found.text);
    assert_eq!(found.operation, "getTeamsForWorkspace");
    let usual = world.get("ada", &format!("/workspaces/{orchid}/teams?limit=10"));
    assert_eq!(found.gids(), usual.gids());
    assert!(!found.gids().is_empty());
    let first = world.get("ada", &format!("/organizations/{orchid}/teams?limit=1"));
    let path = first.json["next_page"]["path"].as_str().unwrap();
    assert!(
        path.starts_with(&format!("/organizations/{orchid}/teams?")),
        "{path}"
    );
    let second = world.get("ada", path);
    assert_eq!([first.gids(), second.gids()].concat(), usual.gids());
}
