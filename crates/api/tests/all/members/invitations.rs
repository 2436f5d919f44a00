//! Invitations of people from another workspace: no reply reveals that the person exists before they accept.
mod commits;
mod records;
mod references;

use super::{added, orchid, removed, role_of, roles_of};
use crate::world::{KINDS, Kind, World};
use serde_json::{Value, json};
use workgraph_core::Gid;
use workgraph_core::audit::{ActorContext, AuditActor};
use workgraph_core::model::registry::rel;
use workgraph_core::model::time::Time;
use workgraph_core::rules::invitation_rules::{Invitation, accept, reply_needs};
use workgraph_core::storage::change_builder::ChangeBuilder;
use workgraph_core::storage::{NodeRef, ReadQuery, ReadView, ViewerKey, alias};

const BEN: &str = "ben@basalt.test";

/// Returns all replies of the workspace about an address, before the invitation and after, with `someone` in place of
/// the mailbox.
fn visible_to(world: &World, mailbox: &str) -> Vec<String> {
    let address = format!("{mailbox}@basalt.test");
    let gid = |name: &str| world.gid(name).to_string();
    let (water, garden, team) = (gid("water"), gid("garden"), gid("gardeners"));
    let workspace = gid("orchid");
    let mut all = Vec::new();
    let mut ask = |by: &str, method: &str, path: &str, data: &Value| {
        let answer = world.call(by, method, path, data);
        all.push(format!(
            "{by} {method} {path}: {} {}",
            answer.status, answer.text
        ));
        answer
    };
    let none = Value::Null;
    let look = |ask: &mut dyn FnMut(&str, &str, &str, &Value) -> crate::world::Answer| {
        for path in [
            format!("/users/{address}"),
            format!("/users/{address}/teams?organization={workspace}"),
            format!("/users/{address}/user_task_list?workspace={workspace}"),
            format!("/users/{address}/workspace_memberships"),
            format!("/workspaces/{workspace}/users/{address}"),
            format!("/workspaces/{workspace}/users?opt_fields=name,email,workspaces.name"),
            format!(
                "/workspaces/{workspace}/workspace_memberships?opt_fields=user.name,is_guest,is_active"
            ),
            format!("/workspaces/{workspace}/workspace_memberships?user={address}"),
            format!("/users?workspace={workspace}&opt_fields=name,email"),
            format!("/tasks?workspace={workspace}&assignee={address}"),
            format!("/workspaces/{workspace}/tasks/search?assignee.any={address}"),
            format!("/workspaces/{workspace}/typeahead?resource_type=user&query={mailbox}"),
            format!("/memberships?parent={garden}&member={address}"),
            format!("/team_memberships?user={address}&workspace={workspace}"),
            format!("/team_memberships?team={team}"),
        ] {
            ask("ada", "GET", &path, &none);
            ask("mel", "GET", &path, &none);
        }
    };
    look(&mut ask);
    for round in 0..2 {
        for (method, path, data) in [
            (
                "PUT",
                format!("/tasks/{water}"),
                json!({"assignee": address}),
            ),
            (
                "POST",
                format!("/tasks/{water}/addFollowers"),
                json!({"followers": [address]}),
            ),
            (
                "POST",
                format!("/tasks/{water}/removeFollowers"),
                json!({"followers": [address]}),
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
                json!({"parent": gid("moss"), "member": address}),
            ),
            (
                "POST",
                format!("/teams/{team}/addUser"),
                json!({"user": address}),
            ),
            (
                "POST",
                "/tasks".to_owned(),
                json!({"workspace": workspace, "name": "T", "assignee": address}),
            ),
            (
                "PUT",
                format!("/projects/{garden}"),
                json!({"owner": address}),
            ),
            ("GET", format!("/tasks/{water}/stories"), none.clone()),
        ] {
            ask("ada", method, &path, &data);
        }
        look(&mut ask);
        let path = orchid(world, if round == 0 { "addUser" } else { "removeUser" });
        ask("mel", "POST", &path, &json!({"user": address}));
        ask("ada", "POST", &path, &json!({"user": address}));
        look(&mut ask);
    }
    let path = orchid(world, "addUser");
    ask("mel", "POST", &path, &json!({"user": address}));
    look(&mut ask);
    ask("robot", "GET", &orchid(world, "audit_log_events"), &none);
    all.into_iter()
        .map(|text| text.replace(mailbox, "someone"))
        .collect()
}

fn differs(kind: Kind, known: &str, unknown: &str) -> Option<(String, String)> {
    let visible_to = |name| visible_to(&World::new(kind), name);
    let pairs = visible_to(known).into_iter().zip(visible_to(unknown));
    let mut pairs = pairs.filter(|(a, b)| a != b);
    pairs.next()
}

/// S116.
#[test]
fn an_address_of_another_workspace_is_answered_for_like_one_that_nobody_has() {
    for kind in KINDS {
        assert_eq!(differs(kind, "ben", "bep"), None);
        assert_eq!(differs(kind, "bob", "boc"), None);
    }
    // An address that is visible gives a difference: the comparison notices it.
    let world = World::new(Kind::Memory);
    added(&world, "ada", "ben@basalt.test");
    let shown = visible_to(&world, "ben");
    assert_ne!(shown, visible_to(&World::new(Kind::Memory), "ben"));
}

/// S116.
#[test]
fn a_gid_of_another_workspace_is_answered_for_like_one_that_nobody_has() {
    let world = World::new(Kind::Memory);
    let (ben, nobody) = (world.gid("ben").to_string(), "987654321".to_owned());
    let gid = |name: &str| world.gid(name).to_string();
    let (water, garden) = (gid("water"), gid("garden"));
    for (method, path, field) in [
        ("POST", orchid(&world, "addUser"), "user"),
        ("POST", orchid(&world, "removeUser"), "user"),
        (
            "POST",
            format!("/teams/{}/addUser", gid("gardeners")),
            "user",
        ),
        ("PUT", format!("/tasks/{water}"), "assignee"),
        ("PUT", format!("/projects/{garden}"), "owner"),
        ("POST", format!("/tasks/{water}/addFollowers"), "followers"),
        (
            "POST",
            format!("/tasks/{water}/removeFollowers"),
            "followers",
        ),
        ("POST", format!("/projects/{garden}/addMembers"), "members"),
        (
            "POST",
            format!("/projects/{garden}/removeMembers"),
            "members",
        ),
    ] {
        let ask = |user: &str| {
            let data = match field {
                "followers" | "members" => json!({ field: [user] }),
                _ => json!({ field: user }),
            };
            let answer = world.call("ada", method, &path, &data);
            (answer.status, answer.text.replace(user, "GID"))
        };
        let (known, unknown) = (ask(&ben), ask(&nobody));
        assert_eq!(known, unknown, "{path}");
        assert_eq!(known.0, 400, "{path}: {}", known.1);
    }
}

fn ben(world: &World) -> Gid {
    world.gid("ben")
}

fn answer(world: &World, person: Gid, invited: &str, accepted: bool) -> bool {
    let parties = (person, Gid::parse(invited).unwrap());
    let acting = ActorContext::internal(AuditActor::User(person));
    let done = world.api.answer_invitation(parties, accepted, &acting);
    world.run(done).unwrap()
}

fn waiting(world: &World) -> Vec<(String, String)> {
    let all = world.run(world.api.invitations(ben(world))).unwrap();
    all.into_iter()
        .map(|w| (w.invitation.invited.to_string(), w.workspace_name))
        .collect()
}

/// Assigns nodes of each kind to the invited user.
fn give(world: &World, invited: &str) -> [String; 2] {
    let gid = |name: &str| world.gid(name).to_string();
    let made = world.post(
        "ada",
        "/tasks",
        json!({"workspace": gid("orchid"), "name": "For Ben", "assignee": BEN}),
    );
    for (method, path, data) in [
        (
            "PUT",
            format!("/tasks/{}", gid("rake")),
            json!({"assignee": invited}),
        ),
        (
            "POST",
            format!("/tasks/{}/addFollowers", gid("water")),
            json!({"followers": [invited]}),
        ),
        (
            "POST",
            "/memberships".to_owned(),
            json!({"parent": gid("moss"), "member": invited, "access_level": "commenter"}),
        ),
        (
            "POST",
            format!("/projects/{}/addFollowers", gid("garden")),
            json!({"followers": [invited]}),
        ),
        (
            "POST",
            format!("/teams/{}/addUser", gid("gardeners")),
            json!({"user": invited}),
        ),
        (
            "PUT",
            format!("/projects/{}", gid("herbs")),
            json!({"owner": invited}),
        ),
    ] {
        let done = world.call("ada", method, &path, &data);
        assert!(done.status < 300, "{path}: {}", done.text);
    }
    [made.gid(), gid("rake")]
}

/// Checks that the person has everything that was given to the invited user, and the invited user nothing.
fn has_all(world: &World, invited: &str, tasks: &[String; 2]) {
    let gid = |name: &str| world.gid(name).to_string();
    let person = gid("ben");
    for task in tasks {
        let shown = world.get("ada", &format!("/tasks/{task}?opt_fields=assignee.name"));
        assert_eq!(shown.json["data"]["assignee"]["gid"], person.as_str());
    }
    let path = format!("/users/me/user_task_list?workspace={}", gid("orchid"));
    let list = world.get("ben", &path).gid();
    let mut own = world
        .get("ben", &format!("/user_task_lists/{list}/tasks"))
        .gids();
    own.sort();
    let mut tasks = tasks.to_vec();
    tasks.sort();
    assert_eq!(own, tasks);
    for path in [
        format!("/tasks/{}?opt_fields=followers", gid("water")),
        format!("/projects/{}?opt_fields=members", gid("moss")),
        format!("/projects/{}?opt_fields=followers", gid("garden")),
        format!("/projects/{}?opt_fields=owner", gid("herbs")),
        format!(
            "/team_memberships?team={}&opt_fields=user",
            gid("gardeners")
        ),
        format!("/memberships?parent={}&opt_fields=member", gid("moss")),
        orchid(world, "users"),
        orchid(world, "workspace_memberships?opt_fields=user"),
    ] {
        let shown = world.get("ada", &path);
        assert!(shown.text.contains(&person), "{path}: {}", shown.text);
        assert!(!shown.text.contains(invited), "{path}: {}", shown.text);
    }
    let level = world.get(
        "ada",
        &format!(
            "/memberships?parent={}&member={person}&opt_fields=access_level",
            gid("moss")
        ),
    );
    assert_eq!(level.json["data"][0]["access_level"], "commenter");
}

/// S117.
#[test]
fn who_accepts_has_the_seat_and_all_that_was_given_to_the_invitation() {
    for kind in KINDS {
        let world = World::new(kind);
        let invited = added(&world, "mel", BEN);
        let workspace = world.gid("orchid").to_string();
        assert_ne!(invited, ben(&world).to_string());
        assert_eq!(
            world.get("ben", &format!("/workspaces/{workspace}")).status,
            403
        );
        assert_eq!(waiting(&world), [(invited.clone(), "Orchid".to_owned())]);
        let tasks = give(&world, &invited);
        assert!(
            !answer(&world, world.gid("bob"), &invited, true),
            "bob is not ben"
        );
        assert!(answer(&world, ben(&world), &invited, true));
        assert!(
            !answer(&world, ben(&world), &invited, true),
            "it was answered"
        );
        assert_eq!(waiting(&world), []);
        assert_eq!(
            role_of(&world, &ben(&world).to_string()),
            0,
            "a member invited"
        );
        assert_eq!(
            world.get("ben", &format!("/workspaces/{workspace}")).status,
            200
        );
        has_all(&world, &invited, &tasks);
        assert_eq!(added(&world, "mel", BEN), ben(&world).to_string());
        assert_eq!(
            added(&world, "mel", &ben(&world).to_string()),
            ben(&world).to_string()
        );
    }
}

fn invitation(world: &World, invited: &str) -> Invitation {
    Invitation {
        invited: Gid::parse(invited).unwrap(),
        person: ben(world),
        workspace: world.gid("orchid"),
    }
}

/// Does only the first commit of an answer.
fn cut_short(
    world: &World,
    it: &Invitation,
    answer: fn(&mut ChangeBuilder<'_>, &Invitation, &ReadView),
) {
    let view = world.run(world.graph.load(&reply_needs(it))).unwrap();
    writes(world, it.person, |work| answer(work, it, &view));
}

fn writes<T>(world: &World, actor: Gid, decide: impl FnOnce(&mut ChangeBuilder<'_>) -> T) -> T {
    let generate_gid = || world.api.next_gid();
    let mut work = ChangeBuilder::new(Some(actor), Time::from_system(world.now()), &generate_gid);
    let made = decide(&mut work);
    world.run(world.graph.commit(work.changes)).unwrap();
    made
}

/// S117. An answer that a crash of the server interrupted is completed.
#[test]
fn accepting_goes_on_where_it_was_cut_short() {
    for kind in KINDS {
        let world = World::new(kind);
        let invited = added(&world, "ada", BEN);
        let tasks = give(&world, &invited);
        let it = invitation(&world, &invited);
        cut_short(&world, &it, accept);
        assert_eq!(waiting(&world), []);
        world.run(world.api.finish_invitations(it.person)).unwrap();
        assert_eq!(
            role_of(&world, &it.person.to_string()),
            1,
            "an admin invited"
        );
        has_all(&world, &invited, &tasks);
        let key = ViewerKey {
            user: it.person,
            service: None,
        };
        let left = ReadQuery::of(key).incoming_edges(it.person, rel::ACCEPTED, 10);
        let left = world.run(world.graph.load(&left)).unwrap();
        assert!(left.sources(it.person, rel::ACCEPTED).is_empty());
    }
}

/// S118.
#[test]
fn who_declines_leaves_nothing() {
    for kind in KINDS {
        let world = World::new(kind);
        let memberships = roles_of(&world);
        let invited = added(&world, "mel", BEN);
        give(&world, &invited);
        assert!(answer(&world, ben(&world), &invited, false));
        assert_eq!(waiting(&world), []);
        assert_eq!(roles_of(&world), memberships);
        let gid = |name: &str| world.gid(name).to_string();
        for path in [
            format!("/tasks/{}?opt_fields=followers,assignee.name", gid("water")),
            format!("/tasks/{}?opt_fields=followers,assignee.name", gid("rake")),
            format!("/projects/{}?opt_fields=members,owner", gid("moss")),
            format!(
                "/team_memberships?team={}&opt_fields=user",
                gid("gardeners")
            ),
            orchid(&world, "users"),
            orchid(&world, "typeahead?resource_type=user&query=ben"),
        ] {
            let shown = world.get("ada", &path);
            assert_eq!(shown.status, 200, "{path}");
            for visible_to in [invited.as_str(), "ben@", "Basalt"] {
                assert!(!shown.text.contains(visible_to), "{path}: {}", shown.text);
            }
        }
        assert_eq!(world.get("ada", &format!("/users/{invited}")).status, 404);
        let log = world.get("robot", &orchid(&world, "audit_log_events"));
        let person = ben(&world).to_string();
        assert!(
            !log.text.contains(&person) && !log.text.contains("Ben of"),
            "{}",
            log.text
        );
        // The person can be invited again.
        assert_ne!(added(&world, "mel", BEN), invited);
    }
}

/// S118. A workspace that revokes its invitation has no open invitation, until it invites again.
#[test]
fn an_invitation_that_was_taken_back_is_not_there() {
    let world = World::new(Kind::Memory);
    let invited = added(&world, "ada", BEN);
    removed(&world, "ada", BEN);
    assert_eq!(waiting(&world), []);
    assert!(!answer(&world, ben(&world), &invited, true));
    assert_eq!(added(&world, "mel", BEN), invited);
    assert_eq!(role_of(&world, &invited), 1, "the role of before");
    assert_eq!(waiting(&world).len(), 1);
    let name = NodeRef::Alias(alias::email(BEN));
    let key = ViewerKey {
        user: ben(&world),
        service: None,
    };
    let view = world.run(world.graph.load(&ReadQuery::of(key).node(name.clone())));
    assert_eq!(view.unwrap().resolve(&name), Some(ben(&world)));
}
