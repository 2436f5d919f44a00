//! Escalation: no user raises their own access. Each way to try it, and the access after it.
use crate::world::{Kind, World};
use serde_json::json;

/// Returns a world where gus, a guest, may comment in the garden, and moe edits the moss.
fn world() -> (World, String) {
    let world = World::new(Kind::Memory);
    let moss = world.gid("moss").to_string();
    let made = world.post(
        "ada",
        "/memberships",
        json!({"parent": moss, "member": world.gid("moe").to_string(), "access_level": "editor"}),
    );
    let moe_in_moss = made.gid();
    (world, moe_in_moss)
}

#[test]
fn a_comment_does_not_make_an_editor() {
    let (world, _) = world();
    for name in ["water", "water_buds"] {
        let task = world.gid(name);
        let at = format!("/tasks/{task}");
        let said = world.post("gus", &format!("{at}/stories"), json!({"text": "Hm"}));
        assert_eq!(said.status, 201, "{}", said.text);
        let edit = world.call("gus", "PUT", &at, &json!({"name": "Mine"}));
        assert_eq!(edit.status, 403, "{name}: {}", edit.text);
        assert_eq!(world.call("gus", "DELETE", &at, &json!(null)).status, 403);
        // Following on purpose makes no difference.
        let follow = world.post(
            "gus",
            &format!("{at}/addFollowers"),
            json!({"followers": ["me"]}),
        );
        assert_eq!(follow.status, 200, "{}", follow.text);
        let edit = world.call("gus", "PUT", &at, &json!({"name": "Mine"}));
        assert_eq!(edit.status, 403, "{name}: {}", edit.text);
    }
}

#[test]
fn a_follower_from_nowhere_edits() {
    let (world, _) = world();
    let at = format!("/tasks/{}", world.gid("lichen"));
    assert_eq!(world.get("mel", &at).status, 403);
    let mel = world.gid("mel").to_string();
    world.post(
        "ada",
        &format!("{at}/addFollowers"),
        json!({"followers": [mel]}),
    );
    let edit = world.call("mel", "PUT", &at, &json!({"name": "Shared"}));
    assert_eq!(edit.status, 200, "{}", edit.text);
}

#[test]
fn an_editor_makes_no_admin_and_removes_none() {
    let (world, moe_in_moss) = world();
    let moss = world.gid("moss").to_string();
    let raise = json!({"access_level": "admin"});
    let own = world.call("moe", "PUT", &format!("/memberships/{moe_in_moss}"), &raise);
    assert_eq!(own.status, 403, "{}", own.text);
    let mel = world.gid("mel").to_string();
    let other = world.post(
        "moe",
        "/memberships",
        json!({"parent": moss, "member": mel, "access_level": "admin"}),
    );
    assert_eq!(other.status, 403, "{}", other.text);
    let same = world.post(
        "moe",
        "/memberships",
        json!({"parent": moss, "member": mel, "access_level": "editor"}),
    );
    assert_eq!(same.status, 201, "{}", same.text);
    let listed = world.get(
        "moe",
        &format!("/memberships?parent={moss}&member={}", world.gid("ada")),
    );
    let ada_in_moss = &listed.gids()[0];
    for (method, body) in [
        ("PUT", json!({"access_level": "viewer"})),
        ("DELETE", json!(null)),
    ] {
        let touched = world.call("moe", method, &format!("/memberships/{ada_in_moss}"), &body);
        assert_eq!(touched.status, 403, "{method}: {}", touched.text);
    }
    let at = format!("/projects/{moss}");
    let owner = world.call("moe", "PUT", &at, &json!({"owner": "me"}));
    assert_eq!(owner.status, 403, "{}", owner.text);
    let gone = world.post(
        "moe",
        &format!("{at}/removeMembers"),
        json!({"members": [world.gid("ada").to_string()]}),
    );
    assert_eq!(gone.status, 403, "{}", gone.text);
    assert_eq!(world.call("moe", "DELETE", &at, &json!(null)).status, 403);
}
