use crate::decision_scene::{DecisionScene, saved, subject};
use crate::operation::Decision;
use serde_json::{Value, json};
use workgraph_core::Gid;
use workgraph_core::access::Role;
use workgraph_core::model::registry::rel;
use workgraph_core::model::resources::membership::{self, VACATIONS};
use workgraph_core::model::resources::ooo_entry;

/// More entries than a user may have.
const MANY: usize = 1_000;

/// Adds a member of the workspace; returns the user and the membership.
fn eve(scene: &mut DecisionScene) -> (Gid, Gid) {
    let acme = scene.acme;
    scene.given(|fixture| {
        let eve = fixture.user("Eve", "eve@example.org");
        (eve, fixture.add_workspace_member(eve, acme, Role::Member))
    })
}

/// Returns the body of an entry of a user.
fn days(scene: &DecisionScene, user: Gid, first: &str, last: &str) -> Value {
    json!({"workspace": scene.acme, "user": user, "start_date": first, "end_date": last})
}

/// Returns the first days of the entries in a membership that a decision writes.
fn kept(decision: &Decision, seat: Gid) -> Vec<String> {
    let kept = membership::vacations(saved(decision, seat).unwrap());
    kept.iter()
        .map(|vacation| vacation.start_on.to_string())
        .collect()
}

#[test]
fn the_last_day_is_not_before_the_first() {
    let scene = DecisionScene::new();
    let backward = days(&scene, scene.bob, "2026-03-03", "2026-03-02");
    let refused = scene.refused(scene.bob, "createOooEntry", scene.acme, backward);
    assert!(refused.contains("end_date: 2026-03-02 is before start_date 2026-03-03"));
    let one_day = days(&scene, scene.bob, "2026-03-03", "2026-03-03");
    let created = scene.done(scene.bob, "createOooEntry", scene.acme, one_day);
    let entry = created.subject.unwrap();
    let later = json!({"start_date": "2026-03-04"});
    let refused = scene.refused(scene.bob, "updateOooEntry", entry, later);
    assert!(refused.contains("end_date: 2026-03-03 is before start_date 2026-03-04"));
}

#[test]
fn only_admins_keep_the_entries_of_other_users() {
    let mut scene = DecisionScene::new();
    let (eve, _) = eve(&mut scene);
    let body = days(&scene, eve, "2026-03-02", "2026-03-03");
    let refused = scene.refused(scene.bob, "createOooEntry", scene.acme, body.clone());
    assert!(
        refused.contains("out-of-office entries of this user"),
        "{refused}"
    );
    for by in [eve, scene.ann] {
        let created = scene
            .decide(by, "createOooEntry", scene.acme, body.clone())
            .unwrap();
        assert_eq!(subject(&created).get(ooo_entry::USER), Some(eve));
        assert_eq!(subject(&created).get(ooo_entry::CREATED_BY), Some(by));
    }
}

#[test]
fn an_entry_is_changed_by_its_user_and_admins() {
    let mut scene = DecisionScene::new();
    let (eve, _) = eve(&mut scene);
    let body = days(&scene, eve, "2026-03-02", "2026-03-03");
    let entry = scene
        .done(eve, "createOooEntry", scene.acme, body)
        .subject
        .unwrap();
    let longer = json!({"end_date": "2026-03-04"});
    let refused = scene.refused(scene.bob, "updateOooEntry", entry, longer.clone());
    assert!(
        refused.contains("do not have permission to change"),
        "{refused}"
    );
    let refused = scene.refused(scene.bob, "deleteOooEntry", entry, json!({}));
    assert!(
        refused.contains("do not have permission to change"),
        "{refused}"
    );
    for by in [eve, scene.ann] {
        assert!(
            scene
                .decide(by, "updateOooEntry", entry, longer.clone())
                .is_ok()
        );
    }
}

#[test]
fn a_membership_has_the_days_of_its_users_entries() {
    let mut scene = DecisionScene::new();
    let (eve, seat) = eve(&mut scene);
    let create = |first, last| {
        let body = days(&scene, eve, first, last);
        scene.done(eve, "createOooEntry", scene.acme, body)
    };
    let spring = create("2026-04-01", "2026-04-05");
    assert_eq!(kept(&spring, seat), ["2026-04-01"]);
    let winter = create("2026-02-01", "2026-02-05");
    assert_eq!(kept(&winter, seat), ["2026-02-01", "2026-04-01"]);
    let later = json!({"start_date": "2026-05-01", "end_date": "2026-05-01"});
    let moved = scene.decide(eve, "updateOooEntry", winter.subject.unwrap(), later);
    assert_eq!(kept(&moved.unwrap(), seat), ["2026-04-01", "2026-05-01"]);
    let deleted = scene.decide(eve, "deleteOooEntry", winter.subject.unwrap(), json!({}));
    let deleted = deleted.unwrap();
    assert_eq!(kept(&deleted, seat), ["2026-04-01"]);
    assert_eq!(deleted.changes.trashed, [winter.subject.unwrap()]);
}

#[test]
fn a_membership_has_no_entry_that_is_over() {
    let mut scene = DecisionScene::new();
    let (eve, seat) = eve(&mut scene);
    let over = days(&scene, eve, "2025-03-02", "2025-03-03");
    let created = scene
        .decide(eve, "createOooEntry", scene.acme, over)
        .unwrap();
    assert!(subject(&created).get(ooo_entry::MEMBERSHIP).is_some());
    assert_eq!(saved(&created, seat), None);
}

/// Adds a user with many entries that end on a day.
fn with_many_entries(scene: &mut DecisionScene, last: &str) -> Gid {
    let acme = scene.acme;
    let (fay, seat) = scene.given(|fixture| {
        let fay = fixture.user("Fay", "fay@example.org");
        (fay, fixture.add_workspace_member(fay, acme, Role::Member))
    });
    let entries = vec![format!(r#"["2024-01-01","{last}","7"]"#); MANY];
    let entries = format!("[{}]", entries.join(","));
    scene.edit(seat, |draft| draft.set(VACATIONS, entries));
    fay
}

#[test]
fn a_user_has_a_limited_number_of_entries_that_are_not_over() {
    let mut scene = DecisionScene::new();
    let busy = with_many_entries(&mut scene, "2027-01-01");
    let body = days(&scene, busy, "2026-03-02", "2026-03-03");
    let refused = scene.refused(busy, "createOooEntry", scene.acme, body);
    assert!(
        refused.contains("out-of-office entries already"),
        "{refused}"
    );
}

#[test]
fn entries_that_are_over_do_not_count() {
    let mut scene = DecisionScene::new();
    let back = with_many_entries(&mut scene, "2025-01-01");
    let body = days(&scene, back, "2026-03-02", "2026-03-03");
    assert!(
        scene
            .decide(back, "createOooEntry", scene.acme, body)
            .is_ok()
    );
}

#[test]
fn an_entry_outlives_the_membership_of_its_user() {
    let mut scene = DecisionScene::new();
    let (eve, seat) = eve(&mut scene);
    let body = days(&scene, eve, "2026-03-02", "2026-03-03");
    let entry = scene
        .done(eve, "createOooEntry", scene.acme, body)
        .subject
        .unwrap();
    let removed = scene.done(
        scene.ann,
        "removeUserForWorkspace",
        scene.acme,
        json!({"user": eve}),
    );
    assert_eq!(
        removed.changes.edge_removals,
        [(eve, rel::WORKSPACES, scene.acme)]
    );
    let longer = json!({"end_date": "2026-03-04"});
    let changed = scene
        .decide(scene.ann, "updateOooEntry", entry, longer)
        .unwrap();
    assert_eq!(subject(&changed).gid, entry);
    assert_eq!(saved(&changed, seat), None);
}

#[test]
fn a_service_account_is_never_out_of_office() {
    let mut scene = DecisionScene::new();
    let robot = scene.given(|fixture| fixture.user("Robot", "robot@example.org"));
    scene.service = Some(scene.acme);
    let mut body = days(&scene, robot, "2026-03-02", "2026-03-03");
    body["user"] = json!("me");
    let refused = scene.refused(robot, "createOooEntry", scene.acme, body);
    assert!(
        refused.contains("user: Not a user in Workspace"),
        "{refused}"
    );
}
