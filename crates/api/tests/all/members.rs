//! Members: the ways into a workspace, and the role that each way gives.
mod guests;
mod invitations;

use crate::world::{KINDS, Kind, World};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestRunner};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use workgraph_core::model::registry::rel;
use workgraph_core::model::time::Time;
use workgraph_core::rules::membership_roles;
use workgraph_core::storage::change_builder::ChangeBuilder;
use workgraph_core::storage::{ListPosition, NodeRef, ReadQuery, ViewerKey, alias};

fn orchid(world: &World, act: &str) -> String {
    format!("/workspaces/{}/{act}", world.gid("orchid"))
}

/// Adds a user to the workspace, and returns their gid.
fn added(world: &World, by: &str, user: &str) -> String {
    let done = world.post(by, &orchid(world, "addUser"), json!({ "user": user }));
    assert_eq!(done.status, 200, "{user}: {}", done.text);
    done.gid()
}

fn removed(world: &World, by: &str, user: &str) {
    let done = world.post(by, &orchid(world, "removeUser"), json!({ "user": user }));
    assert_eq!(done.status, 200, "{user}: {}", done.text);
}

/// Returns the roles in the workspace by gid: 0 for guests, 1 for members, 2 for admins, with a mark for view-only
/// memberships.
fn roles_of(world: &World) -> BTreeMap<String, (u8, bool)> {
    let fields = "opt_fields=user,is_guest,is_admin,is_view_only&limit=100";
    let list = world.get(
        "ada",
        &orchid(world, &format!("workspace_memberships?{fields}")),
    );
    let rows = list.json["data"].as_array().unwrap().iter();
    let role = |row: &Value| match (&row["is_admin"], &row["is_guest"]) {
        (Value::Bool(true), _) => 2,
        (_, Value::Bool(true)) => 0,
        _ => 1,
    };
    rows.map(|row| {
        let gid = row["user"]["gid"].as_str().unwrap().to_owned();
        (gid, (role(row), row["is_view_only"] == true))
    })
    .collect()
}

fn role_of(world: &World, gid: &str) -> u8 {
    roles_of(world)[gid].0
}

fn tie(world: &World, domains: &[&str]) {
    let key = ViewerKey {
        user: world.gid("ada"),
        service: None,
    };
    let workspace = world.gid("orchid");
    let view = world
        .run(world.graph.load(&ReadQuery::of(key).node(workspace)))
        .unwrap();
    let generate_gid = || world.api.next_gid();
    let mut work = ChangeBuilder::new(None, Time::from_system(world.now()), &generate_gid);
    let domains: Vec<String> = domains.iter().map(|d| (*d).to_owned()).collect();
    membership_roles::set_domains(&mut work, view.node(workspace).unwrap(), &domains);
    world.run(world.graph.commit(work.changes)).unwrap();
}

/// S113.
#[test]
fn a_guest_who_leaves_and_is_put_back_is_a_guest() {
    for kind in KINDS {
        let world = World::new(kind);
        let gus = world.gid("gus").to_string();
        let open = world
            .post(
                "mel",
                "/projects",
                json!({"workspace": world.gid("orchid").to_string(), "team": world.gid("commons").to_string(),
                    "name": "Open", "privacy_setting": "public_to_workspace"}),
            )
            .gid();
        let at = format!("/projects/{open}");
        assert_eq!(world.get("gus", &at).status, 403);
        for (out, back) in [("gus", "mel"), ("ada", "moe"), ("gus", "moe")] {
            removed(&world, out, "gus@orchid.test");
            assert_eq!(added(&world, back, "gus@orchid.test"), gus);
            assert_eq!(role_of(&world, &gus), 0);
            assert_eq!(world.get("gus", &at).status, 403);
        }
        removed(&world, "gus", "me");
        added(&world, "ada", "gus@orchid.test");
        assert_eq!(role_of(&world, &gus), 1, "an admin asked for it");
        assert_eq!(world.get("gus", &at).status, 200);
    }
}

/// S113.
#[test]
fn a_member_and_a_view_only_seat_come_back_as_they_left() {
    for kind in KINDS {
        let world = World::new(kind);
        let before = roles_of(&world);
        for name in ["mel", "vic"] {
            let gid = world.gid(name).to_string();
            removed(&world, name, "me");
            added(&world, "moe", &format!("{name}@orchid.test"));
            assert_eq!(roles_of(&world)[&gid], before[&gid], "{name}");
        }
    }
}

/// S113.
#[test]
fn an_admin_who_was_removed_is_put_back_as_a_member_at_most() {
    let world = World::new(Kind::Memory);
    let gid = world.gid("moe").to_string();
    // The stored role of a former admin.
    removed(&world, "ada", "moe@orchid.test");
    forge(&world, "moe", 2);
    added(&world, "mel", "moe@orchid.test");
    assert_eq!(role_of(&world, &gid), 1);
}

/// S114.
#[test]
fn admins_invite_members_and_others_guests_until_domains_decide() {
    for kind in KINDS {
        let world = World::new(kind);
        for (by, address, role) in [
            ("ada", "by.admin@new.test", 1),
            ("mel", "by.member@new.test", 0),
            ("robot", "by.robot@new.test", 1),
        ] {
            let gid = added(&world, by, address);
            assert_eq!(role_of(&world, &gid), role, "{address}");
        }
        let asked = |by: &str| {
            let path = orchid(&world, "addUser");
            world.post(by, &path, json!({"user": "x@new.test"})).status
        };
        assert_eq!((asked("gus"), asked("vic"), asked("bob")), (403, 403, 403));

        tie(&world, &["orchid.test", "new.test"]);
        for (by, address, role) in [
            ("mel", "insider@New.Test", 1),
            ("ada", "outsider@else.test", 0),
            ("mel", "other@sub.new.test", 0),
        ] {
            let gid = added(&world, by, address);
            assert_eq!(role_of(&world, &gid), role, "{address}");
        }
        // A guest from the time before the domains does not rise by coming back; a member may become a guest.
        removed(&world, "gus", "me");
        let gus = added(&world, "mel", "gus@orchid.test");
        assert_eq!(role_of(&world, &gus), 0);
        tie(&world, &["else.test"]);
        removed(&world, "moe", "me");
        let moe = added(&world, "mel", "moe@orchid.test");
        assert_eq!(role_of(&world, &moe), 0);
    }
}

/// S114.
#[test]
fn the_other_ways_in_need_a_seat_that_is_there() {
    let world = World::new(Kind::Memory);
    let garden = world.gid("garden").to_string();
    let water = world.gid("water").to_string();
    let team = world.gid("gardeners").to_string();
    for address in ["nobody@new.test", "gus@orchid.test"] {
        if address.starts_with("gus") {
            removed(&world, "gus", "me");
        }
        let memberships = roles_of(&world);
        for (method, path, data) in [
            (
                "POST",
                format!("/teams/{team}/addUser"),
                json!({"user": address}),
            ),
            (
                "POST",
                format!("/projects/{garden}/addMembers"),
                json!({"members": [address]}),
            ),
            (
                "POST",
                format!("/projects/{garden}/addFollowers"),
                json!({"followers": [address]}),
            ),
            (
                "POST",
                "/memberships".to_owned(),
                json!({"parent": garden, "member": address}),
            ),
            (
                "POST",
                format!("/tasks/{water}/addFollowers"),
                json!({"followers": [address]}),
            ),
            (
                "PUT",
                format!("/tasks/{water}"),
                json!({"assignee": address}),
            ),
            (
                "PUT",
                format!("/projects/{garden}"),
                json!({"owner": address}),
            ),
        ] {
            let done = world.call("ada", method, &path, &data);
            assert!(
                done.status == 400 || done.status == 403,
                "{path}: {}",
                done.text
            );
            assert_eq!(roles_of(&world), memberships, "{path}");
        }
    }
}

/// S115.
#[test]
fn addresses_are_checked_and_kept_whole() {
    for kind in KINDS {
        let world = World::new(kind);
        let long = "a-name-that-has-more-than-sixty-four-characters-before-its-domain-";
        let pair = [format!("{long}1@new.test"), format!("{long}2@NEW.test ")];
        let gids = pair.clone().map(|address| added(&world, "mel", &address));
        assert_ne!(gids[0], gids[1]);
        for (address, gid) in pair.iter().zip(&gids) {
            let shown = world.get("mel", &format!("/users/{gid}")).json["data"]["email"].clone();
            assert_eq!(shown, address.trim().to_lowercase());
            assert_eq!(&added(&world, "mel", &address.to_uppercase()), gid);
        }
        for bad in [
            "@@@",
            "@new.test",
            "ann@",
            "ann@b@c",
            "<script>@x",
            "a@b\u{202e}.c",
            "a b@c.test",
            "a\u{a}@c.test",
            "a@c..test",
            &format!("{}@new.test", "x".repeat(320)),
        ] {
            let done = world.post("ada", &orchid(&world, "addUser"), json!({ "user": bad }));
            assert_eq!(done.status, 400, "{bad:?}: {}", done.text);
            assert!(
                done.message().starts_with("user: Not an email"),
                "{}",
                done.text
            );
        }
    }
}

/// Writes a last role into the store, which no client can do.
fn forge(world: &World, name: &str, rank: i64) {
    let workspace = world.gid("orchid");
    let generate_gid = || world.api.next_gid();
    let mut work = ChangeBuilder::new(None, Time::from_system(world.now()), &generate_gid);
    work.link(
        world.gid(name),
        rel::FORMER,
        workspace,
        ListPosition::Rank(rank),
        None,
    );
    world.run(world.graph.commit(work.changes)).unwrap();
}

/// One attempt of a user who is no admin.
#[derive(Clone, Debug)]
enum Try {
    Leave(usize),
    Add(usize, usize, bool),
}

const CROWD: [&str; 4] = ["mel", "moe", "gus", "vic"];

/// Runs the attempts of the crowd; fails if the role of a user rose. `forgetful` loses the roles of users who leave.
fn climb(tries: &[Try], forgetful: bool) -> Result<(), TestCaseError> {
    let world = World::new(Kind::Memory);
    let mut before = roles_of(&world);
    let add = orchid(&world, "addUser");
    let leave = orchid(&world, "removeUser");
    for step in tries {
        match *step {
            Try::Leave(member) => {
                let done = world.post(CROWD[member], &leave, json!({"user": "me"}));
                if forgetful && done.status == 200 {
                    forge(&world, CROWD[member], 1);
                }
            }
            Try::Add(by, member, by_gid) => {
                let user = if by_gid {
                    world.gid(CROWD[member]).to_string()
                } else {
                    format!("{}@orchid.test", CROWD[member])
                };
                world.post(CROWD[by], &add, json!({ "user": user }));
            }
        }
        for (gid, now) in roles_of(&world) {
            let was = before.entry(gid).or_insert(now);
            let rose = now.0 > was.0 || (was.1 && !now.1);
            prop_assert!(!rose, "{was:?} became {now:?} by {step:?}");
            *was = now;
        }
    }
    Ok(())
}

fn tries() -> impl Strategy<Value = Vec<Try>> {
    let one = prop_oneof![
        (0..CROWD.len()).prop_map(Try::Leave),
        (0..CROWD.len(), 0..CROWD.len(), any::<bool>()).prop_map(|(a, b, c)| Try::Add(a, b, c)),
    ];
    prop::collection::vec(one, 1..24)
}

fn run(forgetful: bool) -> Result<(), String> {
    let config = Config {
        cases: 40,
        failure_persistence: None,
        max_shrink_iters: 40,
        ..Config::default()
    };
    TestRunner::new(config)
        .run(&tries(), |tries| climb(&tries, forgetful))
        .map_err(|e| e.to_string())
}

/// S113.
#[test]
fn no_sequence_of_leaving_and_adding_raises_a_role() {
    run(false).unwrap();
    assert!(
        run(true).is_err(),
        "a server that forgets roles was not found out"
    );
}

/// S113. A user who left before last roles were stored comes back as a guest.
#[test]
fn a_role_that_nobody_knows_any_more_is_a_guests() {
    let world = World::new(Kind::Sqlite);
    let mel = world.gid("mel").to_string();
    removed(&world, "mel", "me");
    let (user, workspace) = (world.gid("mel"), world.gid("orchid"));
    let generate_gid = || world.api.next_gid();
    let mut work = ChangeBuilder::new(None, Time::from_system(world.now()), &generate_gid);
    work.unlink(user, rel::FORMER, workspace);
    world.run(world.graph.commit(work.changes)).unwrap();
    let found = NodeRef::Alias(alias::email("mel@orchid.test"));
    let key = ViewerKey {
        user,
        service: None,
    };
    let view = world.run(world.graph.load(&ReadQuery::of(key).node(found.clone())));
    assert_eq!(view.unwrap().resolve(&found), Some(user));
    added(&world, "moe", "mel@orchid.test");
    assert_eq!(role_of(&world, &mel), 0);
}
