//! Walls inside a workspace: no write of any row gives anybody more access than its caller had.
use super::{APP, Place, slots};
use crate::probes::sample::Sample;
use crate::probes::tenant_isolation::forms;
use crate::probes::turns::all_are_tried;
use serde_json::json;
use std::collections::BTreeMap;
use workgraph_api::ApiSettings;
use workgraph_api::request::Method;
use workgraph_core::Level;
use workgraph_core::model::registry::Type;
use workgraph_operations::all;
use workgraph_operations::operation::Operation;

/// Those who write: members with much and with little access, an app with few scopes, a guest, a view-only member, and a member
/// of another workspace.
const CALLERS: [&str; 6] = ["mel", "moe", APP, "gus", "vic", "ben"];
/// Those whose access is measured.
const USERS: [&str; 6] = ["ada", "mel", "moe", "gus", "vic", "ben"];
/// Types whose nodes are seen by who knows a user or belongs to a workspace, and give no access.
const KNOWN: [Type; 3] = [Type::User, Type::Workspace, Type::WorkspaceMembership];

type Levels = BTreeMap<&'static str, BTreeMap<String, Level>>;

/// Returns the level of each user on each named node.
fn levels(scene: &Place) -> Levels {
    let of = |user: &'static str| {
        let all = scene.levels(user).into_iter();
        let given = all.filter(|(_, node, _)| !KNOWN.contains(&node.ty));
        let given = given.map(|(name, _, level)| (name.to_owned(), level));
        (user, given.collect())
    };
    USERS.into_iter().map(of).collect()
}

/// Returns the level of each caller on each named node, once in all teams that anybody may join.
fn reach(scene: &Place) -> Levels {
    let joined = scene.copy(ApiSettings::default());
    for team in scene.things.get(&Type::Team).into_iter().flatten() {
        let shown = joined
            .world
            .get("ada", &format!("/teams/{team}?opt_fields=visibility"));
        if shown.json["data"]["visibility"] != "public" {
            continue;
        }
        for user in ["mel", "moe", "vic"] {
            let data = json!({"user": joined.world.gid(user).to_string()});
            joined
                .world
                .post("ada", &format!("/teams/{team}/addUser"), data);
        }
    }
    levels(&joined)
}

/// Returns who has more access than before and than the caller could have, if anybody has.
fn gain(caller: &str, before: &Levels, reach: &Levels, after: &Levels) -> Option<String> {
    let me = caller.split('[').next()?;
    let of = |levels: &Levels, user: &str, name: &str| {
        let found = levels.get(user).and_then(|all| all.get(name));
        found.copied().unwrap_or_default()
    };
    for (user, all) in after {
        for (name, level) in all {
            let most = of(before, user, name).max(of(reach, me, name));
            if *level > most {
                return Some(format!(
                    "{user} has {level:?} on {name} in place of {most:?}"
                ));
            }
        }
    }
    None
}

/// Returns what a request of a row may name: each of the users, and one node of each type that the caller does not see, and one
/// that the caller only sees.
fn named(scene: &Place, caller: &str) -> Vec<String> {
    let mut found: BTreeMap<(Type, Level), String> = BTreeMap::new();
    for (name, node, level) in scene.levels(caller) {
        let gives = matches!(
            node.ty,
            Type::Project | Type::Task | Type::Team | Type::Portfolio | Type::Goal | Type::Section
        );
        if gives && level < Level::Admin {
            found
                .entry((node.ty, level))
                .or_insert_with(|| name.to_owned());
        }
    }
    let users = ["mel", "moe", "gus", "vic"].map(str::to_owned);
    found.into_values().chain(users).collect()
}

/// Returns the row's samples, and for each slot of its body copies that name something else there.
fn requests(scene: &Place, row: &Operation, named: &[String]) -> Vec<Sample> {
    let mut all = scene.samples(row);
    let base = all[0].clone();
    for slot in slots(row) {
        for name in named {
            for form in forms(slot, &scene.world.gid(name).to_string()) {
                let mut one = base.clone();
                one.put(slot, form);
                all.push(one);
            }
        }
    }
    all
}

/// Sends what each caller can write, with the token that `token` returns for the caller, and one request in `every`; returns the
/// first gain.
fn first_gain(
    rows: impl Iterator<Item = &'static Operation>,
    every: usize,
    token: fn(&'static str) -> &'static str,
) -> Option<String> {
    let mut scene = Place::new();
    let (before, reach) = (levels(&scene), reach(&scene));
    for row in rows {
        for (at, caller) in CALLERS.into_iter().enumerate() {
            let all = requests(&scene, row, &named(&scene, caller));
            // Another caller sends others.
            for one in all.into_iter().skip(at % every).step_by(every) {
                let answer = one.send(&scene.world, token(caller), row);
                if answer.status >= 300 {
                    continue;
                }
                scene.world.work();
                if let Some(gain) = gain(caller, &before, &reach, &levels(&scene)) {
                    let (target, body) = (one.target(row), json!(one.body));
                    return Some(format!("{caller} {} {target} {body}: {gain}", row.id));
                }
                scene = Place::new();
            }
        }
    }
    None
}

fn writes() -> impl Iterator<Item = &'static Operation> {
    all().filter(|row| row.method != Method::Get)
}

/// Nobody ends with more than somebody who had it gave, whatever the operation. `WORKGRAPH_CASES` sends all requests.
#[test]
fn no_write_of_any_row_gives_more_access_than_its_caller_had() {
    let every = if all_are_tried() { 1 } else { 31 };
    assert_eq!(first_gain(writes(), every, |caller| caller), None);
}

/// A service that does not ask who calls is found by rows of several kinds of objects.
#[test]
fn a_service_that_does_not_ask_who_calls_is_found() {
    for id in [
        "createMembership",
        "addMembersForProject",
        "updateProject",
        "addFollowers",
        "addUserForTeam",
    ] {
        let row = writes().filter(|row| row.id == id);
        assert!(first_gain(row, 1, |_| "ada").is_some(), "{id}");
    }
}
