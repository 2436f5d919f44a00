//! Access requests: who asks for access, who learns of it, and what a decision gives.
use crate::world::{Answer, KINDS, Kind, World};
use serde_json::{Value, json};
use workgraph_api::ApiSettings;

fn gid(world: &World, name: &str) -> String {
    world.gid(name).to_string()
}

fn ask(world: &World, who: &str, target: &str) -> Answer {
    let data = json!({"target": gid(world, target), "message": "Please"});
    world.post(who, "/access_requests", data)
}

fn decide(world: &World, who: &str, request: &str, decision: &str) -> u16 {
    let path = format!("/access_requests/{request}/{decision}");
    world.post(who, &path, json!({})).status
}

/// Returns the requesters of the pending requests that a user is shown, or the status of an error.
fn listed(world: &World, who: &str, target: &str, more: &str) -> Result<Vec<String>, u16> {
    let path = format!("/access_requests?target={}{more}", gid(world, target));
    let list = world.get(who, &path);
    if list.status != 200 {
        return Err(list.status);
    }
    let requester = |item: &Value| item["requester"]["gid"].as_str().unwrap().to_owned();
    let items = list.json["data"].as_array().unwrap();
    Ok(items.iter().map(requester).collect())
}

/// S270. Project and portfolio; the member has the usual level, and a decision is final.
#[test]
fn an_approved_request_makes_a_member() {
    for kind in KINDS {
        let world = World::new(kind);
        for (target, path) in [("herbs", "projects"), ("works", "portfolios")] {
            let read = format!("/{path}/{}", gid(&world, target));
            assert_eq!(world.get("vic", &read).status, 403);
            let made = ask(&world, "vic", target);
            assert_eq!(made.status, 201, "{}", made.text);
            assert_eq!(made.json["data"]["approval_status"], "pending");
            let request = made.gid();
            assert_eq!(ask(&world, "vic", target).gid(), request, "asked again");
            let vic = gid(&world, "vic");
            assert_eq!(listed(&world, "ada", target, ""), Ok(vec![vic.clone()]));
            let of_vic = format!("&user={vic}");
            assert_eq!(listed(&world, "ada", target, &of_vic), Ok(vec![vic]));
            for other in ["vic", "moe", "gus"] {
                assert_eq!(decide(&world, other, &request, "approve"), 403, "{other}");
                assert_eq!(decide(&world, other, &request, "reject"), 403, "{other}");
            }
            assert_eq!(decide(&world, "ada", &request, "approve"), 200);
            assert_eq!(world.get("vic", &read).status, 200);
            assert_eq!(listed(&world, "ada", target, ""), Ok(vec![]));
            assert_eq!(decide(&world, "ada", &request, "reject"), 400);
            let again = ask(&world, "vic", target);
            assert_eq!(again.status, 400, "{}", again.text);
        }
        let members = format!("/memberships?parent={}", gid(&world, "herbs"));
        let levels = world.get("ada", &format!("{members}&opt_fields=member,access_level"));
        let levels = levels.json["data"].as_array().unwrap().clone();
        let of_vic = |item: &&Value| item["member"]["gid"] == json!(gid(&world, "vic"));
        let membership = levels.iter().find(of_vic).unwrap();
        assert_eq!(membership["access_level"], "editor");
    }
}

/// S270. After a rejection nothing is given, and the user may ask again.
#[test]
fn a_rejected_request_gives_nothing() {
    let world = World::new(Kind::Memory);
    let first = ask(&world, "moe", "herbs").gid();
    assert_eq!(decide(&world, "ada", &first, "reject"), 200);
    assert_eq!(decide(&world, "ada", &first, "approve"), 400);
    let read = format!("/projects/{}", gid(&world, "herbs"));
    assert_eq!(world.get("moe", &read).status, 403);
    let second = ask(&world, "moe", "herbs").gid();
    assert_ne!(first, second);
    // Who left the workspace cannot be let in.
    let leave = format!("/workspaces/{}/removeUser", gid(&world, "orchid"));
    let moe = json!({"user": gid(&world, "moe")});
    assert_eq!(world.post("ada", &leave, moe).status, 200);
    assert_eq!(decide(&world, "ada", &second, "approve"), 400);
    assert_eq!(decide(&world, "ada", &second, "reject"), 200);
}

/// S270. A project whose admins hear of requests for it: as its events.
#[test]
fn requests_are_events_of_the_target() {
    let world = World::new(Kind::Memory);
    let events = format!("/events?resource={}", gid(&world, "herbs"));
    let first = world.get("ada", &events);
    let sync = first.json["sync"].as_str().unwrap().to_owned();
    let request = ask(&world, "moe", "herbs").gid();
    assert_eq!(decide(&world, "ada", &request, "reject"), 200);
    let told = |who: &str, sync: &str| {
        let reply = world.get(who, &format!("{events}&sync={sync}"));
        let items = reply.json["data"].as_array().unwrap().clone();
        let about = items
            .iter()
            .filter(|item| item["resource"]["gid"] == json!(request));
        let actions = about.map(|item| item["action"].as_str().unwrap().to_owned());
        actions.collect::<Vec<String>>()
    };
    assert_eq!(told("ada", &sync), ["added", "changed"]);
    // Mel edits the project as a member of its team, and is not told.
    let first = world.get("mel", &events);
    let sync = first.json["sync"].as_str().unwrap().to_owned();
    ask(&world, "moe", "herbs");
    assert!(told("mel", &sync).is_empty());
}

/// S271.
#[test]
fn the_requester_learns_gid_and_type_alone() {
    let world = World::new(Kind::Memory);
    assert_eq!(ask(&world, "gus", "herbs").status, 201);
    let all = "opt_fields=target.name,target.gid,target.owner,target.resource_type,message,requester.name";
    let mine = format!("&user=me&{all}");
    let path = format!("/access_requests?target={}{mine}", gid(&world, "herbs"));
    let own = world.get("gus", &path);
    assert_eq!(own.status, 200, "{}", own.text);
    assert!(!own.text.contains("Herbs"), "{}", own.text);
    let target = json!({"gid": gid(&world, "herbs"), "resource_type": "project"});
    assert_eq!(own.json["data"][0]["target"], target);
    // Other requests for it are not shown, whether others made them or nobody.
    assert_eq!(ask(&world, "moe", "herbs").status, 201);
    assert_eq!(listed(&world, "gus", "herbs", "").unwrap_err(), 403);
    let of_moe = format!("&user={}", gid(&world, "moe"));
    assert!(listed(&world, "gus", "herbs", &of_moe).is_err());
    // Members who do not administer it see their own.
    assert_eq!(listed(&world, "mel", "herbs", ""), Ok(vec![]));
    assert_eq!(listed(&world, "vic", "herbs", "&user=me"), Ok(vec![]));
    assert_eq!(listed(&world, "ada", "herbs", "").unwrap().len(), 2);
    // What is in another workspace is out of reach.
    assert_eq!(ask(&world, "ben", "herbs").status, 403);
    assert_eq!(listed(&world, "ben", "herbs", "&user=me"), Err(403));
}

/// S271. A hidden target and one that nothing has get the same replies.
#[test]
fn where_forbidden_objects_are_hidden_the_target_is_unknown() {
    let settings = ApiSettings {
        hide_forbidden: true,
        ..ApiSettings::default()
    };
    let world = World::with(Kind::Memory, settings);
    let herbs = gid(&world, "herbs");
    let replies = [herbs.as_str(), "999999"].map(|target| {
        let asked = world.post("moe", "/access_requests", json!({"target": target}));
        let list = world.get("moe", &format!("/access_requests?target={target}&user=me"));
        [asked, list].map(|reply| (reply.status, reply.text.replace(target, "X")))
    });
    assert_eq!(replies[0], replies[1]);
    assert_eq!(replies[0][0].0, 400);
}

/// S270. Two admins decide at the same time: one decision counts.
#[test]
fn one_of_two_decisions_counts() {
    let world = World::new(Kind::Memory);
    let request = ask(&world, "moe", "herbs").gid();
    let statuses = ["approve", "reject"].map(|word| decide(&world, "ada", &request, word));
    assert_eq!(statuses, [200, 400]);
}
