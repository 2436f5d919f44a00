//! Escalation: no user raises their own access. Each way to try it, and the access after it.
mod any_operation;
mod copies;
mod programs;

use crate::world::{Answer, KINDS, Kind, World};
use serde_json::{Value, json};

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

fn gid(world: &World, name: &str) -> String {
    world.gid(name).to_string()
}

#[track_caller]
fn ok(answer: Answer) -> Answer {
    assert!(answer.status < 300, "{} {}", answer.status, answer.text);
    answer
}

#[track_caller]
fn forbidden(answer: Answer) {
    assert_eq!(answer.status, 403, "{}", answer.text);
}

fn put(world: &World, who: &str, path: &str, data: Value) -> Answer {
    world.call(who, "PUT", path, &data)
}

/// Returns the access level of a user's membership.
fn level_in(world: &World, parent: &str, member: &str) -> Value {
    let path = format!("/memberships?parent={parent}&member={member}&opt_fields=access_level");
    ok(world.get("ada", &path)).json["data"][0]["access_level"].take()
}

/// Returns a private project of ada, in which the gardeners, mel among them, are commenters.
fn commented(world: &World) -> String {
    let team = gid(world, "gardeners");
    let data = json!({"name": "Orchard", "workspace": gid(world, "orchid"), "team": team, "privacy_setting": "private"});
    let project = ok(world.post("ada", "/projects", data)).gid();
    let data = json!({"parent": project, "member": team, "access_level": "commenter"});
    ok(world.post("ada", "/memberships", data));
    project
}

#[test]
fn a_commenter_joins_as_a_commenter() {
    for kind in KINDS {
        for (act, field) in [("addMembers", "members"), ("addFollowers", "followers")] {
            let world = World::new(kind);
            let project = commented(&world);
            let at = format!("/projects/{project}");
            let own = json!({field: ["me"]});
            ok(world.post("mel", &format!("{at}/{act}"), own));
            assert_eq!(level_in(&world, &project, &gid(&world, "mel")), "commenter");
            forbidden(put(&world, "mel", &at, json!({"name": "Mine"})));
            let moe = json!({field: [gid(&world, "moe")]});
            forbidden(world.post("mel", &format!("{at}/{act}"), moe));
        }
    }
}

#[test]
fn who_follows_on_their_own_keeps_nothing_after_leaving() {
    for kind in KINDS {
        let world = World::new(kind);
        let task = format!("/tasks/{}", gid(&world, "water"));
        let own = json!({"followers": ["me"]});
        ok(world.post("gus", &format!("{task}/addFollowers"), own));
        ok(world.post("gus", &format!("{task}/stories"), json!({"text": "Hm"})));
        let membership = format!("/memberships/{}", gid(&world, "gus_in_garden"));
        ok(world.call("gus", "DELETE", &membership, &Value::Null));
        forbidden(world.get("gus", &task));
        forbidden(put(&world, "gus", &task, json!({"name": "Mine"})));
    }
}

#[test]
fn a_follower_has_the_level_of_who_added_them_and_can_be_given_more() {
    for kind in KINDS {
        let world = World::new(kind);
        let project = commented(&world);
        let data = json!({"name": "Prune", "projects": [project]});
        let task = format!("/tasks/{}", ok(world.post("ada", "/tasks", data)).gid());
        let moe = json!({"followers": [gid(&world, "moe")]});
        ok(world.post("mel", &format!("{task}/addFollowers"), moe.clone()));
        ok(world.post("moe", &format!("{task}/stories"), json!({"text": "Hm"})));
        forbidden(put(&world, "moe", &task, json!({"name": "Mine"})));
        ok(world.post("ada", &format!("{task}/addFollowers"), moe));
        ok(put(&world, "moe", &task, json!({"name": "Shared"})));
    }
}

#[test]
fn where_only_admins_share_nobody_else_lets_somebody_in() {
    let world = World::new(Kind::Memory);
    let at = format!("/projects/{}", gid(&world, "garden"));
    let reserved = json!({"minimum_access_level_for_sharing": "admin"});
    ok(put(&world, "ada", &at, reserved));
    for who in ["moe", "mel"] {
        for user in ["me".to_owned(), gid(&world, "vic")] {
            let members = json!({"members": [user]});
            forbidden(world.post(who, &format!("{at}/addMembers"), members));
            let followers = json!({"followers": [user]});
            forbidden(world.post(who, &format!("{at}/addFollowers"), followers));
        }
        let team = json!({"team": gid(&world, "commons")});
        forbidden(put(&world, who, &at, team));
        let gus = json!({"members": [gid(&world, "gus")]});
        forbidden(world.post(who, &format!("{at}/removeMembers"), gus));
    }
    // A member follows without being let in.
    let followers = json!({"followers": ["me"]});
    ok(world.post("gus", &format!("{at}/addFollowers"), followers));
    let members = json!({"members": [gid(&world, "vic")]});
    ok(world.post("ada", &format!("{at}/addMembers"), members));
}

#[test]
fn nobody_lifts_a_restriction_that_binds_them() {
    let world = World::new(Kind::Memory);
    let team = format!("/teams/{}", gid(&world, "gardeners"));
    let settings = [
        "edit_team_name_or_description_access_level",
        "edit_team_visibility_or_trash_team_access_level",
        "member_invite_management_access_level",
        "guest_invite_management_access_level",
        "join_request_management_access_level",
        "team_member_removal_access_level",
    ];
    let all = |word: &str, content: &str| {
        let mut data = json!({"team_content_management_access_level": content});
        for name in settings {
            data[name] = json!(word);
        }
        data
    };
    ok(put(
        &world,
        "ada",
        &team,
        all("only_team_admins", "only_team_admins"),
    ));
    let open = all("all_team_members", "no_restriction");
    for (name, word) in open.as_object().unwrap() {
        forbidden(put(&world, "mel", &team, json!({name: word})));
    }
    forbidden(put(&world, "mel", &team, open.clone()));
    ok(put(&world, "ada", &team, open));
    // The same words again change nothing.
    let same = json!({"member_invite_management_access_level": "all_team_members"});
    ok(put(&world, "mel", &team, same));

    let garden = format!("/projects/{}", gid(&world, "garden"));
    for name in [
        "minimum_access_level_for_customization",
        "minimum_access_level_for_sharing",
    ] {
        forbidden(put(&world, "moe", &garden, json!({name: "admin"})));
        ok(put(&world, "ada", &garden, json!({name: "admin"})));
        forbidden(put(&world, "moe", &garden, json!({name: "editor"})));
        ok(put(&world, "ada", &garden, json!({name: "editor"})));
    }
}

#[test]
fn the_usual_level_of_new_members_is_not_above_that_of_who_sets_it() {
    for kind in KINDS {
        let world = World::new(kind);
        let garden = gid(&world, "garden");
        let at = format!("/projects/{garden}");
        let admin = json!({"default_access_level": "admin"});
        forbidden(put(&world, "moe", &at, admin.clone()));
        let viewer = json!({"default_access_level": "viewer"});
        ok(put(&world, "moe", &at, viewer));
        // An approval makes no admin.
        ok(put(&world, "ada", &at, admin.clone()));
        let herbs = gid(&world, "herbs");
        ok(put(&world, "ada", &format!("/projects/{herbs}"), admin));
        let request = ok(world.post("moe", "/access_requests", json!({"target": herbs}))).gid();
        let approve = format!("/access_requests/{request}/approve");
        ok(world.post("ada", &approve, json!({})));
        assert_eq!(level_in(&world, &herbs, &gid(&world, "moe")), "editor");
        // An editor who joins is an editor.
        ok(world.post(
            "moe",
            &format!("{at}/addMembers"),
            json!({"members": ["me"]}),
        ));
        assert_eq!(level_in(&world, &garden, &gid(&world, "moe")), "editor");
    }
}

/// Lets the members of a private portfolio of moe, gus among them, into the garden; returns portfolio and setting.
fn let_in_by_portfolio(world: &World) -> (String, String) {
    let data = json!({"name": "Beds", "workspace": gid(world, "orchid")});
    let portfolio = ok(world.post("moe", "/portfolios", data)).gid();
    let at = format!("/portfolios/{portfolio}");
    ok(world.post(
        "moe",
        &format!("{at}/addItem"),
        json!({"item": gid(world, "garden")}),
    ));
    let data = json!({"parent": portfolio, "member": gid(world, "vic"), "access_level": "editor"});
    ok(world.post("moe", "/memberships", data));
    let settings = format!("{at}/project_portfolio_settings");
    let setting = ok(world.get("moe", &settings)).gids().remove(0);
    let on = json!({"is_access_control_inherited": true});
    ok(put(
        world,
        "moe",
        &format!("/project_portfolio_settings/{setting}"),
        on,
    ));
    (portfolio, setting)
}

#[test]
fn access_by_a_portfolio_ends_with_that_of_who_gave_it() {
    for kind in KINDS {
        let world = World::new(kind);
        let garden = format!("/projects/{}", gid(&world, "garden"));
        let task = format!("/tasks/{}", gid(&world, "water"));
        let_in_by_portfolio(&world);
        ok(put(
            &world,
            "ada",
            &garden,
            json!({"privacy_setting": "private"}),
        ));
        for who in ["moe", "vic"] {
            forbidden(world.get(who, &garden));
            forbidden(world.get(who, &task));
        }
        // A member of the project gives it, until they are removed.
        ok(put(
            &world,
            "ada",
            &garden,
            json!({"privacy_setting": "public_to_workspace"}),
        ));
        ok(world.post(
            "moe",
            &format!("{garden}/addMembers"),
            json!({"members": ["me"]}),
        ));
        ok(put(
            &world,
            "ada",
            &garden,
            json!({"privacy_setting": "private"}),
        ));
        ok(world.get("vic", &task));
        let moe = json!({"members": [gid(&world, "moe")]});
        ok(world.post("ada", &format!("{garden}/removeMembers"), moe));
        for who in ["moe", "vic"] {
            forbidden(world.get(who, &garden));
            forbidden(world.get(who, &task));
        }
    }
}

#[test]
fn admins_of_a_project_see_and_end_the_access_that_portfolios_give() {
    for kind in KINDS {
        let world = World::new(kind);
        let garden = format!("/projects/{}", gid(&world, "garden"));
        let (portfolio, setting) = let_in_by_portfolio(&world);
        let own = json!({"members": ["me"]});
        ok(world.post("moe", &format!("{garden}/addMembers"), own));
        ok(put(
            &world,
            "ada",
            &garden,
            json!({"privacy_setting": "private"}),
        ));
        ok(world.get("vic", &garden));
        forbidden(world.get("ada", &format!("/portfolios/{portfolio}")));
        let settings = format!("{garden}/project_portfolio_settings");
        assert!(ok(world.get("ada", &settings)).gids().contains(&setting));
        let at = format!("/project_portfolio_settings/{setting}");
        ok(put(
            &world,
            "ada",
            &at,
            json!({"is_access_control_inherited": false}),
        ));
        forbidden(world.get("vic", &garden));
        assert!(!ok(world.get("ada", &settings)).gids().contains(&setting));
        // To give it the portfolio is needed, too.
        forbidden(put(
            &world,
            "ada",
            &at,
            json!({"is_access_control_inherited": true}),
        ));
    }
}
