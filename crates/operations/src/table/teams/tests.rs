use crate::decision_scene::{DecisionScene, saved, subject, written};
use serde_json::{Value, json};
use workgraph_core::Gid;
use workgraph_core::access::Role;
use workgraph_core::model::registry::{TypedField, rel};
use workgraph_core::model::resources::{membership, team, workspace};
use workgraph_core::rules::membership_rules::{TeamStanding, join_team};

fn user_named(name: Gid) -> Value {
    json!({"user": name})
}

/// Adds a team of the admin, with a setting.
fn team_with(scene: &mut DecisionScene, setting: TypedField<str>, word: &str) -> Gid {
    let (acme, ann) = (scene.acme, scene.ann);
    let team = scene.given(|fixture| fixture.team(acme, "Gardeners", ann));
    scene.edit(team, |draft| draft.set(setting, word));
    team
}

/// Adds a member of the workspace who also belongs to a team.
fn eve_of(scene: &mut DecisionScene, team: Gid) -> Gid {
    let acme = scene.acme;
    scene.given(|fixture| {
        let eve = fixture.member(acme, "Eve", Role::Member);
        fixture.join_team(eve, team, acme);
        eve
    })
}

#[test]
fn only_an_organization_has_teams() {
    let mut scene = DecisionScene::new();
    let (acme, ann) = (scene.acme, scene.ann);
    let new = json!({"name": "Gardeners", "organization": acme});
    assert!(scene.decide(ann, "createTeam", acme, new.clone()).is_ok());
    scene.edit(acme, |draft| draft.set(workspace::IS_ORGANIZATION, false));
    let refused = scene.refused(ann, "createTeam", acme, new);
    assert!(
        refused.contains("only organizations have teams"),
        "{refused}"
    );
}

#[test]
fn who_creates_a_team_is_its_admin() {
    let scene = DecisionScene::new();
    let new = json!({"name": "Gardeners", "organization": scene.acme});
    let created = scene
        .decide(scene.bob, "createTeam", scene.acme, new)
        .unwrap();
    let team = subject(&created).gid;
    assert_eq!(written(&created, rel::TEAM_MEMBERS), [(team, scene.bob)]);
    let seat = created.changes.edge_writes[0].aux.unwrap();
    assert!(
        saved(&created, seat)
            .unwrap()
            .get(membership::TEAM_IS_ADMIN)
    );
}

#[test]
fn guests_create_no_team() {
    let mut scene = DecisionScene::new();
    let acme = scene.acme;
    let gus = scene.given(|fixture| fixture.member(acme, "Gus", Role::Guest));
    let new = json!({"name": "Gardeners", "organization": acme});
    let refused = scene.refused(gus, "createTeam", acme, new.clone());
    assert!(
        refused.contains("permission to change this workspace"),
        "{refused}"
    );
    assert!(scene.decide(scene.bob, "createTeam", acme, new).is_ok());
}

#[test]
fn a_team_has_a_name() {
    let mut scene = DecisionScene::new();
    let (acme, ann) = (scene.acme, scene.ann);
    let team = scene.given(|fixture| fixture.team(acme, "Gardeners", ann));
    let nameless = json!({"name": " ", "organization": acme});
    let refused = scene.refused(ann, "createTeam", acme, nameless);
    assert!(refused.contains("name: Cannot be empty"), "{refused}");
    let refused = scene.refused(ann, "updateTeam", team, json!({"name": " "}));
    assert!(refused.contains("name: Cannot be empty"), "{refused}");
    let renamed = scene.decide(ann, "updateTeam", team, json!({"name": "Diggers"}));
    assert_eq!(subject(&renamed.unwrap()).title(), "Diggers");
}

#[test]
fn only_members_of_a_team_change_it() {
    let mut scene = DecisionScene::new();
    let team = team_with(&mut scene, team::VISIBILITY, "public");
    let eve = eve_of(&mut scene, team);
    let name = json!({"name": "Diggers"});
    let refused = scene.refused(scene.bob, "updateTeam", team, name.clone());
    assert!(
        refused.contains("do not have permission to change"),
        "{refused}"
    );
    let renamed = scene.decide(eve, "updateTeam", team, name);
    assert_eq!(subject(&renamed.unwrap()).title(), "Diggers");
}

#[test]
fn members_leave_a_team_setting_to_its_admins() {
    let mut scene = DecisionScene::new();
    let team = team_with(&mut scene, team::EDIT_NAME, "only_team_admins");
    let eve = eve_of(&mut scene, team);
    for change in [
        json!({"name": "Diggers"}),
        json!({"edit_team_name_or_description_access_level": "all_team_members"}),
    ] {
        let refused = scene.refused(eve, "updateTeam", team, change.clone());
        assert!(refused.contains("Only admins of this team may change that"));
        assert!(scene.decide(scene.ann, "updateTeam", team, change).is_ok());
    }
    let opened = scene.decide(eve, "updateTeam", team, json!({"visibility": "public"}));
    assert_eq!(
        subject(&opened.unwrap()).get(team::VISIBILITY).as_deref(),
        Some("public")
    );
}

#[test]
fn only_members_add_users_to_a_team() {
    let mut scene = DecisionScene::new();
    let team = team_with(&mut scene, team::VISIBILITY, "request_to_join");
    let eve = eve_of(&mut scene, team);
    let refused = scene.refused(scene.bob, "addUserForTeam", team, user_named(scene.bob));
    assert!(
        refused.contains("must be a member of this team"),
        "{refused}"
    );
    let added = scene.decide(eve, "addUserForTeam", team, user_named(scene.bob));
    assert_eq!(
        written(&added.unwrap(), rel::TEAM_MEMBERS),
        [(team, scene.bob)]
    );
}

#[test]
fn users_join_a_public_team_on_their_own() {
    let mut scene = DecisionScene::new();
    let acme = scene.acme;
    let team = team_with(&mut scene, team::VISIBILITY, "public");
    let joined = scene.decide(scene.bob, "addUserForTeam", team, user_named(scene.bob));
    assert_eq!(
        written(&joined.unwrap(), rel::TEAM_MEMBERS),
        [(team, scene.bob)]
    );
    let fay = scene.given(|fixture| fixture.member(acme, "Fay", Role::Member));
    let refused = scene.refused(scene.bob, "addUserForTeam", team, user_named(fay));
    assert!(
        refused.contains("must be a member of this team"),
        "{refused}"
    );
}

#[test]
fn a_team_may_leave_additions_to_its_admins() {
    let mut scene = DecisionScene::new();
    let team = team_with(&mut scene, team::INVITE_MEMBERS, "only_team_admins");
    let eve = eve_of(&mut scene, team);
    let refused = scene.refused(eve, "addUserForTeam", team, user_named(scene.bob));
    assert!(refused.contains("Only admins of this team may add users"));
    let added = scene.decide(scene.ann, "addUserForTeam", team, user_named(scene.bob));
    assert_eq!(
        written(&added.unwrap(), rel::TEAM_MEMBERS),
        [(team, scene.bob)]
    );
}

#[test]
fn a_member_of_a_team_belongs_to_its_organization() {
    let mut scene = DecisionScene::new();
    let (acme, ann) = (scene.acme, scene.ann);
    let eve = scene.neighbor();
    let team = scene.given(|fixture| fixture.team(acme, "Gardeners", ann));
    let refused = scene.refused(ann, "addUserForTeam", team, user_named(eve));
    assert!(refused.contains("Not a user in Organization"), "{refused}");
}

#[test]
fn a_user_joins_a_team_once() {
    let mut scene = DecisionScene::new();
    let (acme, ann) = (scene.acme, scene.ann);
    let team = scene.given(|fixture| fixture.team(acme, "Gardeners", ann));
    let added = scene.done(ann, "addUserForTeam", team, user_named(scene.bob));
    assert!(!subject(&added).get(membership::TEAM_IS_ADMIN));
    let again = scene
        .decide(ann, "addUserForTeam", team, user_named(scene.bob))
        .unwrap();
    assert!(again.changes.is_empty());
    assert_eq!(again.subject, added.subject);
}

#[test]
fn users_leave_a_team_and_others_need_its_permission() {
    let mut scene = DecisionScene::new();
    let team = team_with(&mut scene, team::REMOVE_MEMBERS, "only_team_admins");
    let eve = eve_of(&mut scene, team);
    let refused = scene.refused(eve, "removeUserForTeam", team, user_named(scene.ann));
    assert!(refused.contains("may not remove users from this team"));
    for by in [eve, scene.ann] {
        let removed = scene
            .decide(by, "removeUserForTeam", team, user_named(eve))
            .unwrap();
        assert_eq!(
            removed.changes.edge_removals,
            [(team, rel::TEAM_MEMBERS, eve)]
        );
        assert_eq!(removed.changes.trashed.len(), 1);
    }
}

#[test]
fn only_members_remove_users_from_a_team() {
    let mut scene = DecisionScene::new();
    let team = team_with(&mut scene, team::VISIBILITY, "public");
    let eve = eve_of(&mut scene, team);
    let refused = scene.refused(scene.bob, "removeUserForTeam", team, user_named(eve));
    assert!(refused.contains("may not remove users from this team"));
    let refused = scene.refused(eve, "removeUserForTeam", team, user_named(scene.bob));
    assert!(refused.contains("Not a member of this team"), "{refused}");
    let (acme, bob) = (scene.acme, scene.bob);
    scene.given(|fixture| fixture.join_team(bob, team, acme));
    let removed = scene
        .decide(eve, "removeUserForTeam", team, user_named(bob))
        .unwrap();
    assert_eq!(
        removed.changes.edge_removals,
        [(team, rel::TEAM_MEMBERS, bob)]
    );
}

#[test]
fn the_last_admin_of_a_team_leaves_it_after_its_other_members() {
    let mut scene = DecisionScene::new();
    let team = team_with(&mut scene, team::VISIBILITY, "public");
    let (ann, bob, acme) = (scene.ann, scene.bob, scene.acme);
    let alone = scene.decide(ann, "removeUserForTeam", team, user_named(ann));
    assert_eq!(alone.unwrap().changes.edge_removals.len(), 1);
    let eve = eve_of(&mut scene, team);
    for by in [ann, eve] {
        let refused = scene.refused(by, "removeUserForTeam", team, user_named(ann));
        assert!(refused.contains("last admin of a team"), "{refused}");
    }
    scene.given(|fixture| {
        fixture.with(|work| join_team(work, bob, team, acme, TeamStanding::ADMIN))
    });
    let one_of_two = scene.decide(ann, "removeUserForTeam", team, user_named(ann));
    assert_eq!(one_of_two.unwrap().changes.edge_removals.len(), 1);
}

#[test]
fn a_team_membership_says_whether_its_user_is_a_guest() {
    let mut scene = DecisionScene::new();
    let team = team_with(&mut scene, team::VISIBILITY, "public");
    let guest = scene.guest();
    for (user, is_guest) in [(scene.bob, false), (guest, true)] {
        let added = scene.done(scene.ann, "addUserForTeam", team, user_named(user));
        let membership = subject(&added);
        assert_eq!(membership.get(membership::TEAM_IS_GUEST), is_guest);
    }
}

#[test]
fn team_memberships_are_those_of_a_team_or_of_a_user_in_a_workspace() {
    let mut scene = DecisionScene::new();
    let (acme, ann, bob) = (scene.acme, scene.ann, scene.bob);
    let (team, seat, own) = scene.given(|fixture| {
        let team = fixture.team(acme, "Gardeners", ann);
        let seat = fixture.join_team(bob, team, acme);
        (team, seat, fixture.team(acme, "Own", bob))
    });
    let list = |inputs| scene.listed(bob, "getTeamMemberships", acme, inputs);
    assert_eq!(list(json!({"team": team})).unwrap().len(), 2);
    assert_eq!(list(json!({"team": team, "user": bob})).unwrap(), [seat]);
    assert_eq!(
        list(json!({"user": bob, "workspace": acme})).unwrap().len(),
        2
    );
    assert_eq!(list(json!({"team": own})).unwrap().len(), 1);
    let nothing = list(json!({})).unwrap_err().message;
    assert!(nothing.contains("team: Missing input"), "{nothing}");
    let anywhere = list(json!({"user": bob})).unwrap_err().message;
    assert!(anywhere.contains("workspace: Missing input"), "{anywhere}");
}

#[test]
fn a_team_may_leave_guests_to_its_admins() {
    let mut scene = DecisionScene::new();
    let team = team_with(&mut scene, team::INVITE_GUESTS, "only_team_admins");
    let eve = eve_of(&mut scene, team);
    let guest = scene.guest();
    let refused = scene.refused(eve, "addUserForTeam", team, user_named(guest));
    assert_eq!(refused, "Only admins of this team may add guests to it.");
    scene.done(eve, "addUserForTeam", team, user_named(scene.bob));
    let added = scene.done(scene.ann, "addUserForTeam", team, user_named(guest));
    assert_eq!(written(&added, rel::TEAM_MEMBERS), [(team, guest)]);
}

#[test]
fn admins_of_the_organization_endorse_teams() {
    let mut scene = DecisionScene::new();
    let (acme, ann, bob) = (scene.acme, scene.ann, scene.bob);
    let team = scene.given(|fixture| {
        let team = fixture.team(acme, "Gardeners", ann);
        fixture.join_team(bob, team, acme);
        team
    });
    let endorsed = json!({"endorsed": true});
    let refused = scene.refused(bob, "updateTeam", team, endorsed.clone());
    assert!(
        refused.contains("Only admins of the organization"),
        "{refused}"
    );
    let new = json!({"name": "Cooks", "organization": acme, "endorsed": true});
    let refused = scene.refused(bob, "createTeam", acme, new);
    assert!(
        refused.contains("Only admins of the organization"),
        "{refused}"
    );
    let endorses = scene.done(ann, "updateTeam", team, endorsed.clone());
    assert!(subject(&endorses).get(team::ENDORSED));
    // A client that sends the whole record back endorses nothing.
    scene.done(bob, "updateTeam", team, endorsed);
}
