use crate::decision_scene::{DecisionScene, node, stories, written};
use crate::operation::Decision;
use serde_json::{Value, json};
use workgraph_core::Gid;
use workgraph_core::access::Role;
use workgraph_core::model::registry::rel;
use workgraph_core::model::resources::task;
use workgraph_core::storage::ListPosition;

fn changed(scene: &DecisionScene, task: Gid, body: Value) -> Decision {
    scene.decide(scene.ann, "updateTask", task, body).unwrap()
}

fn refused(scene: &DecisionScene, task: Gid, body: Value) -> String {
    scene.refused(scene.ann, "updateTask", task, body)
}

#[test]
fn notes_are_given_in_one_form() {
    let mut scene = DecisionScene::new();
    let [water] = scene.tasks();
    let html = "<body>Daily</body>";
    let both = refused(&scene, water, json!({"notes": "Daily", "html_notes": html}));
    assert!(both.contains("only provide one of notes or html_notes"));
    let decision = changed(&scene, water, json!({"notes": "Daily"}));
    let written = node(&decision, water).get(task::HTML_NOTES);
    assert_eq!(written.as_deref(), Some(html));
}

#[test]
fn the_dates_of_a_task_fit_together() {
    let mut scene = DecisionScene::new();
    let [water] = scene.tasks();
    let start = json!({"start_on": "2026-03-01"});
    assert!(refused(&scene, water, start).contains("start_on: Needs due_on or due_at"));
    let late = json!({"start_on": "2026-03-02", "due_on": "2026-03-01"});
    assert!(refused(&scene, water, late).contains("must not be after the due date"));
    let both = json!({"start_on": "2026-03-01", "due_on": "2026-03-02"});
    let decision = changed(&scene, water, both);
    let start = node(&decision, water).get(task::START_ON).unwrap();
    assert_eq!(start.to_string(), "2026-03-01");
}

#[test]
fn a_milestone_has_no_start() {
    let mut scene = DecisionScene::new();
    let [water] = scene.tasks();
    let dates = json!({"start_on": "2026-03-01", "due_on": "2026-03-02"});
    scene.done(scene.ann, "updateTask", water, dates);
    let to_milestone = json!({"resource_subtype": "milestone"});
    let decision = scene.done(scene.ann, "updateTask", water, to_milestone);
    assert_eq!(node(&decision, water).get(task::START_ON), None);
    let start = json!({"start_on": "2026-03-01", "due_on": "2026-03-02"});
    assert!(refused(&scene, water, start).contains("A milestone has no start"));
}

#[test]
fn only_approvals_have_an_approval_status() {
    let mut scene = DecisionScene::new();
    let [water] = scene.tasks();
    let approved = json!({"approval_status": "approved"});
    assert!(
        refused(&scene, water, approved.clone())
            .contains("Only tasks with resource_subtype approval")
    );
    let to_approval = json!({"resource_subtype": "approval"});
    let decision = scene.done(scene.ann, "updateTask", water, to_approval);
    let status = node(&decision, water).get(task::APPROVAL_STATUS);
    assert_eq!(status.as_deref(), Some("pending"));
    scene.done(scene.ann, "updateTask", water, approved);
    let decision = changed(&scene, water, json!({"resource_subtype": "default_task"}));
    assert_eq!(node(&decision, water).get(task::APPROVAL_STATUS), None);
}

#[test]
fn an_approval_is_complete_once_it_is_decided() {
    let mut scene = DecisionScene::new();
    let [water] = scene.tasks();
    scene.done(
        scene.ann,
        "updateTask",
        water,
        json!({"resource_subtype": "approval"}),
    );
    let rejected = scene.done(
        scene.ann,
        "updateTask",
        water,
        json!({"approval_status": "rejected"}),
    );
    assert!(node(&rejected, water).get(task::COMPLETED));
    let reopened = scene.done(scene.ann, "updateTask", water, json!({"completed": false}));
    let status = node(&reopened, water).get(task::APPROVAL_STATUS);
    assert_eq!(status.as_deref(), Some("pending"));
    let completed = changed(&scene, water, json!({"completed": true}));
    let status = node(&completed, water).get(task::APPROVAL_STATUS);
    assert_eq!(status.as_deref(), Some("approved"));
}

#[test]
fn a_completed_task_keeps_who_completed_it_until_it_is_reopened() {
    let mut scene = DecisionScene::new();
    let [water] = scene.tasks();
    let done = scene.done(scene.bob, "updateTask", water, json!({"completed": true}));
    assert_eq!(node(&done, water).get(task::COMPLETED_BY), Some(scene.bob));
    assert!(node(&done, water).get(task::COMPLETED_AT).is_some());
    assert_eq!(stories(&done), ["marked_complete"]);
    let reopened = changed(&scene, water, json!({"completed": false}));
    assert_eq!(node(&reopened, water).get(task::COMPLETED_BY), None);
    assert_eq!(node(&reopened, water).get(task::COMPLETED_AT), None);
}

#[test]
fn an_assignee_belongs_to_the_workspace() {
    let mut scene = DecisionScene::new();
    let [water] = scene.tasks();
    let club = scene.second_workspace();
    let eve =
        scene.given(|fixture| fixture.member(club, "Eve", workgraph_core::access::Role::Member));
    let outside = refused(&scene, water, json!({"assignee": eve}));
    assert!(outside.contains("assignee: Not a user in"), "{outside}");
    let decision = changed(&scene, water, json!({"assignee": scene.bob}));
    assert_eq!(node(&decision, water).get(task::ASSIGNEE), Some(scene.bob));
}

#[test]
fn an_assignee_who_left_is_only_repeated() {
    let mut scene = DecisionScene::new();
    let [water, weed] = scene.tasks();
    let (eve, ..) = scene.member("Eve");
    let acme = scene.acme;
    let to_eve = json!({"assignee": eve, "name": "Weed"});
    scene.done(scene.ann, "updateTask", water, to_eve.clone());
    scene.given(|fixture| {
        fixture.with(|work| work.unlink(eve, rel::WORKSPACES, acme));
        fixture.link(eve, rel::FORMER, acme, ListPosition::Rank(1), None);
    });
    assert!(changed(&scene, water, to_eve.clone()).changes.is_empty());
    assert!(refused(&scene, weed, to_eve).contains("Not a user in"));
}

#[test]
fn a_task_moves_to_the_list_of_its_assignee() {
    let mut scene = DecisionScene::new();
    let [water] = scene.tasks();
    let (eve, _, at_eve) = scene.member("Eve");
    let (max, _, at_max) = scene.member("Max");
    let decision = scene.done(scene.ann, "updateTask", water, json!({"assignee": eve}));
    assert_eq!(written(&decision, rel::MY_TASKS), [(water, at_eve)]);
    assert_eq!(
        node(&decision, water).get(task::ASSIGNED_BY),
        Some(scene.ann)
    );
    let decision = scene
        .decide(max, "updateTask", water, json!({"assignee": "me"}))
        .unwrap();
    assert_eq!(written(&decision, rel::MY_TASKS), [(water, at_max)]);
    assert_eq!(
        decision.changes.edge_removals,
        [(water, rel::MY_TASKS, at_eve)]
    );
    assert_eq!(node(&decision, water).get(task::ASSIGNED_BY), None);
}

#[test]
fn a_task_of_nobody_is_in_no_list() {
    let mut scene = DecisionScene::new();
    let [water] = scene.tasks();
    let (eve, _, at_eve) = scene.member("Eve");
    scene.done(scene.ann, "updateTask", water, json!({"assignee": eve}));
    let decision = changed(&scene, water, json!({"assignee": null}));
    assert_eq!(
        decision.changes.edge_removals,
        [(water, rel::MY_TASKS, at_eve)]
    );
    assert!(written(&decision, rel::MY_TASKS).is_empty());
    assert_eq!(node(&decision, water).get(task::ASSIGNED_BY), None);
}

#[test]
fn only_the_assignee_picks_a_section_of_their_list() {
    let mut scene = DecisionScene::new();
    let [water] = scene.tasks();
    let (eve, list, _) = scene.member("Eve");
    let (garden, acme) = (scene.garden, scene.acme);
    let in_garden = scene.given(|fixture| fixture.section_in(garden));
    let later = scene.given(|fixture| fixture.section(list, acme, "Later"));
    let to_eve = json!({"assignee": eve, "assignee_section": later});
    assert!(refused(&scene, water, to_eve.clone()).contains("do not have access to this section"));
    let other = scene.refused(
        eve,
        "updateTask",
        water,
        json!({"assignee": eve, "assignee_section": in_garden}),
    );
    assert!(other.contains("Not a section of the assignee's task list"));
    let decision = scene.decide(eve, "updateTask", water, to_eve).unwrap();
    assert_eq!(written(&decision, rel::MY_TASKS), [(water, later)]);
}

#[test]
fn a_task_goes_into_a_section_of_the_list_of_its_own_workspace() {
    let mut scene = DecisionScene::new();
    let [water] = scene.tasks();
    let club = scene.second_workspace();
    let (cat, _, here) = scene.member("Cat");
    let garden = scene.garden;
    scene.done(
        scene.ann,
        "addMembersForProject",
        garden,
        json!({"members": [cat]}),
    );
    let elsewhere = scene.given(|fixture| {
        fixture.add_workspace_member(cat, club, Role::Member);
        let list = fixture.task_list(cat, club);
        fixture.section_in(list)
    });
    let into = |section: Gid| json!({"assignee": "me", "assignee_section": section});
    let refused = scene.refused(cat, "updateTask", water, into(elsewhere));
    assert!(refused.contains("Not a section of the assignee's task list"));
    let moved = scene.done(cat, "updateTask", water, into(here));
    assert_eq!(written(&moved, rel::MY_TASKS), [(water, here)]);
}
