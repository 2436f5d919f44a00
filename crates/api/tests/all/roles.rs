//! Roles: the standard ones, and those that the admins of a workspace keep.
use crate::world::{KINDS, Kind, World};
use serde_json::{Value, json};

fn data(world: &World) -> Value {
    json!({"workspace": world.gid("orchid").to_string(), "name": "Auditor",
        "description": "Reads all", "base_role_type": "admin"})
}

/// Returns the names in a list, in the order of the alphabet.
fn names(list: &Value) -> Vec<&str> {
    let items = list["data"].as_array().unwrap().iter();
    let mut names: Vec<&str> = items.map(|item| item["name"].as_str().unwrap()).collect();
    names.sort_unstable();
    names
}

/// The names of the standard roles.
const STANDARD: [&str; 3] = ["Admin", "Guest", "Member"];

/// S273. In one list or in pages, for one workspace or for all.
#[test]
fn admins_keep_roles_beside_the_standard_ones() {
    for kind in KINDS {
        let world = World::new(kind);
        let made = world.post("ada", "/roles", data(&world));
        assert_eq!(made.status, 201, "{}", made.text);
        let all = ["Admin", "Auditor", "Guest", "Member", "Role of Sepals"];
        let of_orchid = format!("/roles?workspace={}", world.gid("orchid"));
        for path in [&of_orchid, "/roles", "/roles?archived=false"] {
            assert_eq!(names(&world.get("ada", path).json), all, "{path}");
        }
        assert!(world.get("ada", "/roles?archived=true").gids().is_empty());
        for limit in 1..=5 {
            for first in [
                format!("{of_orchid}&limit={limit}"),
                format!("/roles?limit={limit}"),
            ] {
                let (mut path, mut found) = (first, Vec::new());
                loop {
                    let page = world.get("ada", &path);
                    assert!(page.gids().len() <= limit);
                    found.extend(names(&page.json).into_iter().map(str::to_owned));
                    let Some(next) = page.json["next_page"]["path"].as_str() else {
                        break;
                    };
                    path = next.trim_start_matches("/api/1.0").to_owned();
                }
                found.sort_unstable();
                assert_eq!(found, all);
            }
        }
        for other in ["mel", "gus", "vic"] {
            assert!(world.get(other, "/roles").gids().is_empty(), "{other}");
            assert_eq!(
                world.post(other, "/roles", data(&world)).status,
                403,
                "{other}"
            );
            let record = format!("/roles/{}", made.gid());
            assert_eq!(world.get(other, &record).status, 403, "{other}");
        }
        let of_bob = world.get("bob", "/roles");
        assert_eq!(
            names(&of_bob.json),
            [&STANDARD[..], &["Role of Magma"]].concat()
        );
    }
}

/// S273.
#[test]
fn nobody_changes_a_standard_role() {
    let world = World::new(Kind::Memory);
    let list = world.get("ada", "/roles");
    let items = list.json["data"].as_array().unwrap();
    let standard = items.iter().filter(|item| item["is_standard_role"] == true);
    let standard: Vec<&str> = standard.map(|item| item["gid"].as_str().unwrap()).collect();
    assert_eq!(standard.len(), STANDARD.len());
    for gid in standard {
        let record = format!("/roles/{gid}");
        let role = world.get("ada", &record);
        assert_eq!(role.json["data"]["permissions"], json!({}));
        assert_eq!(
            world
                .call("ada", "PUT", &record, &json!({"name": "X"}))
                .status,
            403
        );
        assert_eq!(
            world.call("ada", "DELETE", &record, &Value::Null).status,
            403
        );
        assert_eq!(world.get("ada", &record).json, role.json);
        assert_eq!(world.get("mel", &record).status, 403);
    }
}

/// S274. What a role could claim is refused, and what a body repeats from a record is not.
#[test]
fn a_role_gives_nobody_rights() {
    let world = World::new(Kind::Memory);
    for (name, value) in [
        ("permissions", json!({"assign_roles": true})),
        ("is_standard_role", json!(true)),
        ("base_role_type", json!("owner")),
    ] {
        let mut wrong = data(&world);
        wrong[name] = value.clone();
        let reply = world.post("ada", "/roles", wrong);
        assert_eq!(reply.status, 400, "{}", reply.text);
        assert!(reply.message().starts_with(name), "{}", reply.text);
        let record = format!("/roles/{}", world.gid("orchid_role"));
        let reply = world.call("ada", "PUT", &record, &json!({ name: value }));
        assert_eq!(reply.status, 400, "{}", reply.text);
    }
    let mut repeated = data(&world);
    repeated["permissions"] = json!({});
    repeated["is_standard_role"] = json!(false);
    let made = world.post("ada", "/roles", repeated);
    assert_eq!(made.status, 201, "{}", made.text);
    assert_eq!(made.json["data"]["permissions"], json!({}));
    let record = format!("/roles/{}", made.gid());
    let before = made.json["data"]["modified_at"].clone();
    world.advance(5);
    let same = world.call("ada", "PUT", &record, &json!({"name": "Auditor"}));
    assert_eq!(same.json["data"]["modified_at"], before, "nothing changed");
    let changed = world.call("ada", "PUT", &record, &json!({"base_role_type": "guest"}));
    assert_ne!(changed.json["data"]["modified_at"], before);
    assert_eq!(changed.json["data"]["base_role_type"], "guest");
    assert_eq!(
        world.call("ada", "DELETE", &record, &Value::Null).status,
        200
    );
    assert_eq!(world.get("ada", &record).status, 404);
}
