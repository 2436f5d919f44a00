mod removals;

use crate::decision_scene::{DecisionScene, saved, subject, written};
use serde_json::{Value, json};
use workgraph_core::Gid;
use workgraph_core::access::Role;
use workgraph_core::model::registry::{Type, rel};
use workgraph_core::model::resources::{membership, ooo_entry, user, workspace};
use workgraph_core::storage::alias;

fn user_named(name: impl ToString) -> Value {
    json!({"user": name.to_string()})
}

/// Returns true if a user whom somebody invites becomes a guest.
fn comes_as_guest(scene: &DecisionScene, by: Gid, address: &str) -> bool {
    let added = scene.decide(by, "addUserForWorkspace", scene.acme, user_named(address));
    let added = added.unwrap();
    let seat = added.changes.node_writes.iter().map(|write| &write.node);
    let mut seat = seat.filter(|node| node.ty == Type::WorkspaceMembership);
    seat.next_back().unwrap().get(membership::IS_GUEST)
}

#[test]
fn only_an_admin_renames_a_workspace() {
    let scene = DecisionScene::new();
    let name = json!({"name": "Acme & Daughters"});
    let refused = scene.refused(scene.bob, "updateWorkspace", scene.acme, name.clone());
    assert!(refused.contains("do not have permission to administer"));
    let renamed = scene.decide(scene.ann, "updateWorkspace", scene.acme, name);
    assert_eq!(subject(&renamed.unwrap()).title(), "Acme & Daughters");
}

#[test]
fn a_workspace_has_a_name() {
    let scene = DecisionScene::new();
    let refused = scene.refused(
        scene.ann,
        "updateWorkspace",
        scene.acme,
        json!({"name": " "}),
    );
    assert!(refused.contains("name: Cannot be empty"), "{refused}");
    let same = scene.decide(
        scene.ann,
        "updateWorkspace",
        scene.acme,
        json!({"name": "Acme"}),
    );
    assert!(same.unwrap().changes.is_empty());
}

#[test]
fn a_user_is_added_to_a_workspace_once() {
    let scene = DecisionScene::new();
    let body = json!({"user": "eve@example.org"});
    let added = scene.done(scene.ann, "addUserForWorkspace", scene.acme, body.clone());
    let joined = written(&added, rel::WORKSPACES);
    assert!(matches!(*joined, [(_, workspace)] if workspace == scene.acme));
    let again = scene.decide(scene.ann, "addUserForWorkspace", scene.acme, body);
    assert!(written(&again.unwrap(), rel::WORKSPACES).is_empty());
}

#[test]
fn guests_add_nobody_to_a_workspace() {
    let mut scene = DecisionScene::new();
    let acme = scene.acme;
    let gus = scene.given(|fixture| fixture.member(acme, "Gus", Role::Guest));
    let eve = user_named("eve@example.org");
    let refused = scene.refused(gus, "addUserForWorkspace", acme, eve.clone());
    assert!(refused.contains("do not have permission to change"));
    assert!(
        scene
            .decide(scene.bob, "addUserForWorkspace", acme, eve)
            .is_ok()
    );
}

#[test]
fn a_user_unknown_to_the_caller_is_added_by_address_and_not_by_gid() {
    let mut scene = DecisionScene::new();
    let eve = scene.given(|fixture| fixture.user("Eve", "eve@example.org"));
    let refused = scene.refused(
        scene.ann,
        "addUserForWorkspace",
        scene.acme,
        user_named(eve),
    );
    assert!(refused.contains("Unknown object"), "{refused}");
    let by_address = user_named("eve@example.org");
    let added = scene.decide(scene.ann, "addUserForWorkspace", scene.acme, by_address);
    assert_eq!(added.unwrap().accounts.len(), 1);
}

#[test]
fn an_unknown_address_must_be_an_address() {
    let scene = DecisionScene::new();
    let wrong = user_named("eve@@example.org");
    let refused = scene.refused(scene.ann, "addUserForWorkspace", scene.acme, wrong);
    assert!(refused.contains("user: Not an email"), "{refused}");
    let right = user_named("eve@example.org");
    let added = scene.decide(scene.ann, "addUserForWorkspace", scene.acme, right);
    let added = added.unwrap();
    assert_eq!(subject(&added).title(), "eve");
    assert_eq!(subject(&added).get(user::EMAIL).unwrap(), "eve@example.org");
}

#[test]
fn an_admin_invites_members_and_a_member_invites_guests() {
    let mut scene = DecisionScene::new();
    scene.given(|fixture| fixture.user("Fay", "fay@example.org"));
    for address in ["new@example.org", "fay@example.org"] {
        assert!(!comes_as_guest(&scene, scene.ann, address));
        assert!(comes_as_guest(&scene, scene.bob, address));
    }
}

#[test]
fn the_domains_of_an_organization_decide_who_comes_as_a_guest() {
    let mut scene = DecisionScene::new();
    let def = workspace::EMAIL_DOMAINS.def;
    let domains = r#"["acme.example"]"#.to_owned();
    scene.edit(scene.acme, |draft| {
        draft.set_raw(def.name, def.default, domains)
    });
    assert!(!comes_as_guest(&scene, scene.bob, "eve@acme.example"));
    assert!(comes_as_guest(&scene, scene.ann, "eve@example.org"));
}

#[test]
fn a_user_of_another_workspace_is_invited_and_not_added() {
    let mut scene = DecisionScene::new();
    let eve = scene.neighbor();
    let added = scene.done(
        scene.ann,
        "addUserForWorkspace",
        scene.acme,
        user_named(eve),
    );
    let invited = added.subject.unwrap();
    assert_ne!(invited, eve);
    assert_eq!(written(&added, rel::INVITED), [(invited, eve)]);
    let once = (alias::invitation(eve, scene.acme), invited);
    assert!(added.changes.add_aliases.contains(&once));
    assert_eq!(written(&added, rel::WORKSPACES), [(invited, scene.acme)]);
    for name in [eve, invited] {
        let again = scene.decide(
            scene.ann,
            "addUserForWorkspace",
            scene.acme,
            user_named(name),
        );
        let again = again.unwrap();
        assert!(again.changes.is_empty());
        assert_eq!(again.subject, Some(invited));
    }
}

#[test]
fn a_user_without_an_address_is_not_invited() {
    let mut scene = DecisionScene::new();
    let (eve, by) = (scene.neighbor(), scene.ann);
    assert!(
        scene
            .decide(by, "addUserForWorkspace", scene.acme, user_named(eve))
            .is_ok()
    );
    scene.edit(eve, |draft| draft.clear(user::EMAIL));
    let refused = scene.refused(by, "addUserForWorkspace", scene.acme, user_named(eve));
    assert!(refused.contains("Unknown object"), "{refused}");
}

#[test]
fn a_user_who_returns_gets_the_task_list_from_before() {
    let scene = DecisionScene::new();
    let (acme, bob) = (scene.acme, scene.bob);
    scene.done(scene.ann, "removeUserForWorkspace", acme, user_named(bob));
    let back = scene.decide(scene.ann, "addUserForWorkspace", acme, user_named(bob));
    let back = back.unwrap();
    assert_eq!(back.subject, Some(bob));
    assert_eq!(written(&back, rel::WORKSPACES), [(bob, acme)]);
    assert_eq!(back.changes.edge_removals, [(bob, rel::FORMER, acme)]);
    let types: Vec<Type> = back
        .changes
        .node_writes
        .iter()
        .map(|write| write.node.ty)
        .collect();
    assert_eq!(types, [Type::WorkspaceMembership]);
}

#[test]
fn a_user_who_returns_is_out_of_office_as_before() {
    let scene = DecisionScene::new();
    let (acme, ann, bob) = (scene.acme, scene.ann, scene.bob);
    let away = |first: &str, last: &str| {
        let days = json!({"workspace": acme, "user": bob, "start_date": first, "end_date": last});
        scene
            .done(bob, "createOooEntry", acme, days)
            .subject
            .unwrap()
    };
    let over = away("2020-01-01", "2020-01-02");
    let later = away("2037-01-01", "2037-01-02");
    scene.done(ann, "removeUserForWorkspace", acme, user_named(bob));
    let back = scene.done(ann, "addUserForWorkspace", acme, user_named(bob));
    let writes = back.changes.node_writes.iter().map(|write| &write.node);
    let seat = writes
        .clone()
        .find(|node| node.ty == Type::WorkspaceMembership);
    let seat = seat.unwrap();
    let vacations = membership::vacations(seat);
    let entries: Vec<Gid> = vacations.iter().map(|vacation| vacation.entry).collect();
    assert_eq!(entries, [later]);
    for entry in [over, later] {
        let entry = saved(&back, entry).unwrap();
        assert_eq!(entry.get(ooo_entry::MEMBERSHIP), Some(seat.gid));
    }
    assert_eq!(writes.count(), 3);
}

#[test]
fn only_an_admin_makes_more_of_a_guest_who_returns() {
    let mut scene = DecisionScene::new();
    let (acme, ann) = (scene.acme, scene.ann);
    let gus = scene.given(|fixture| fixture.member(acme, "Gus", Role::Guest));
    scene.done(ann, "removeUserForWorkspace", acme, user_named(gus));
    assert!(comes_as_guest(&scene, scene.bob, "gus@example.com"));
    assert!(!comes_as_guest(&scene, ann, "gus@example.com"));
}

#[test]
fn a_service_account_lists_the_workspace_of_its_token() {
    let mut scene = DecisionScene::new();
    let (acme, ann) = (scene.acme, scene.ann);
    let other = scene.given(|fixture| {
        let other = fixture.workspace("Other");
        fixture.add_workspace_member(ann, other, Role::Member);
        other
    });
    assert_eq!(
        scene.listed(ann, "getWorkspaces", acme, json!({})).unwrap(),
        [acme, other]
    );
    scene.service = Some(acme);
    assert_eq!(
        scene.listed(ann, "getWorkspaces", acme, json!({})).unwrap(),
        [acme]
    );
}

#[test]
fn memberships_of_a_workspace_are_listed_for_all_users_or_one() {
    let mut scene = DecisionScene::new();
    let (acme, eve) = (scene.acme, scene.neighbor());
    let seat = scene.given(|fixture| fixture.add_workspace_member(eve, acme, Role::Member));
    let list = |inputs| {
        scene.listed(
            scene.ann,
            "getWorkspaceMembershipsForWorkspace",
            acme,
            inputs,
        )
    };
    assert_eq!(list(json!({})).unwrap().len(), 3);
    assert_eq!(list(json!({"user": eve})).unwrap(), [seat]);
}
