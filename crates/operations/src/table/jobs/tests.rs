mod copied_tasks;

use crate::decision_scene::{DecisionScene, saved, subject, written};
use crate::operation::Decision;
use serde_json::{Value, json};
use workgraph_core::Gid;
use workgraph_core::access::{Level, Role};
use workgraph_core::model::registry::{CustomFieldType, Type, rel};
use workgraph_core::model::resources::{job, membership, project, team};
use workgraph_core::model::time::Date;
use workgraph_core::rules::custom_type_rules::{NewStatus, create_custom_type};

fn parts(include: &str) -> Value {
    json!({"name": "Copy", "include": include})
}

/// Returns the new project of a decision.
fn copy(decision: &Decision) -> Gid {
    subject(decision).get(job::NEW_PROJECT).unwrap()
}

/// Adds a user with a view-only membership of the workspace.
fn onlooker(scene: &mut DecisionScene) -> Gid {
    let acme = scene.acme;
    let (eve, seat) = scene.given(|fixture| {
        let eve = fixture.user("Eve", "eve@example.org");
        (eve, fixture.add_workspace_member(eve, acme, Role::Member))
    });
    scene.edit(seat, |draft| draft.set(membership::IS_VIEW_ONLY, true));
    eve
}

#[test]
fn a_view_only_member_makes_no_copies() {
    let mut scene = DecisionScene::new();
    let [task] = scene.tasks();
    let eve = onlooker(&mut scene);
    let refused = scene.refused(eve, "duplicateTask", task, json!({}));
    assert!(
        refused.contains("permission to create tasks in this workspace"),
        "{refused}"
    );
    let refused = scene.refused(
        eve,
        "duplicateProject",
        scene.garden,
        json!({"name": "Copy"}),
    );
    assert!(
        refused.contains("permission to create projects in this workspace"),
        "{refused}"
    );
    assert!(
        scene
            .decide(scene.bob, "duplicateTask", task, json!({}))
            .is_ok()
    );
}

#[test]
fn a_copy_of_a_project_has_the_custom_types_that_the_caller_sees() {
    let mut scene = DecisionScene::new();
    let (acme, garden) = (scene.acme, scene.garden);
    let statuses = ["Open:incomplete", "Done:complete"].map(|word| NewStatus::parse(word).unwrap());
    let bug = scene.given(|fixture| {
        fixture.with(|work| create_custom_type(work, acme, &[garden], "Bug", &statuses).unwrap())
    });
    let copied = scene.decide(scene.bob, "duplicateProject", garden, parts("notes"));
    let copied = copied.unwrap();
    let types = written(&copied, rel::CUSTOM_TYPE_ON);
    assert_eq!(types, [(bug, copy(&copied))]);
}

#[test]
fn new_dates_need_copied_dates() {
    let scene = DecisionScene::new();
    let schedule = json!({"should_skip_weekends": true, "start_on": "2026-03-02"});
    let mut body = parts("task_notes");
    body["schedule_dates"] = schedule.clone();
    let refused = scene.refused(scene.bob, "duplicateProject", scene.garden, body);
    assert!(
        refused.contains("schedule_dates: Needs task_dates in include"),
        "{refused}"
    );
    let mut body = parts("task_dates");
    body["schedule_dates"] = schedule;
    assert!(
        scene
            .decide(scene.bob, "duplicateProject", scene.garden, body)
            .is_ok()
    );
}

#[test]
fn new_dates_begin_or_end_on_a_day() {
    let scene = DecisionScene::new();
    let refused = |schedule: Value| {
        let mut body = parts("task_dates");
        body["schedule_dates"] = schedule;
        scene.refused(scene.bob, "duplicateProject", scene.garden, body)
    };
    let no_list = refused(json!([1]));
    assert!(
        no_list.contains("schedule_dates: Value is not a JSON object"),
        "{no_list}"
    );
    let unsaid = refused(json!({"start_on": "2026-03-02"}));
    assert!(
        unsaid.contains("should_skip_weekends: Missing input"),
        "{unsaid}"
    );
    let neither = refused(json!({"should_skip_weekends": true}));
    assert!(neither.contains("start_on: Missing input"), "{neither}");
    let both =
        json!({"should_skip_weekends": true, "start_on": "2026-03-02", "due_on": "2026-03-03"});
    assert!(refused(both).contains("only provide one of start_on or due_on"));
    let malformed = refused(json!({"should_skip_weekends": true, "due_on": "Monday"}));
    assert!(
        malformed.contains("schedule_dates: due_on: "),
        "{malformed}"
    );
}

#[test]
fn a_copy_of_a_project_has_its_members_if_the_body_includes_them() {
    let mut scene = DecisionScene::new();
    let (acme, ann, bob, garden) = (scene.acme, scene.ann, scene.bob, scene.garden);
    let eve = scene.given(|fixture| {
        let eve = fixture.member(acme, "Eve", Role::Member);
        fixture.share(garden, acme, bob, Level::Editor);
        fixture.share(garden, acme, eve, Level::Commenter);
        eve
    });
    let alone = scene
        .decide(bob, "duplicateProject", garden, parts("notes"))
        .unwrap();
    assert_eq!(written(&alone, rel::MEMBERS), [(copy(&alone), bob)]);
    let shared = scene
        .decide(bob, "duplicateProject", garden, parts("members"))
        .unwrap();
    let new = copy(&shared);
    assert_eq!(
        written(&shared, rel::MEMBERS),
        [(new, bob), (new, ann), (new, eve)]
    );
    assert_eq!(
        written(&shared, rel::PROJECT_FOLLOWERS),
        [(new, bob), (new, ann)]
    );
    assert_eq!(saved(&shared, new).unwrap().get(project::OWNER), Some(bob));
}

#[test]
fn a_copy_of_a_project_has_only_the_included_fields() {
    let mut scene = DecisionScene::new();
    let (acme, ann) = (scene.acme, scene.ann);
    let old = scene.given(|fixture| {
        fixture.node(Type::Project, Some(acme), |draft, _| {
            draft.set(project::NAME, "Old");
            draft.set(project::OWNER, ann);
            draft.set(project::COLOR, "red");
            draft.set(project::NOTES, "Water daily");
            draft.set(project::SHARE_ACCESS, "admin");
        })
    });
    let made = |include| {
        let made = scene
            .decide(ann, "duplicateProject", old, parts(include))
            .unwrap();
        let node = saved(&made, copy(&made)).unwrap();
        let notes = node.get(project::NOTES).unwrap_or_default().into_owned();
        (
            node.raw("color").is_some(),
            notes,
            node.raw(project::SHARE_ACCESS.def.name).is_some(),
        )
    };
    assert_eq!(made("members"), (true, String::new(), false));
    assert_eq!(made("notes"), (true, "Water daily".to_owned(), false));
    assert_eq!(made("permissions"), (true, String::new(), true));
}

#[test]
fn a_copy_of_a_project_is_in_its_team_or_another_of_the_workspace() {
    let mut scene = DecisionScene::new();
    let (acme, ann, garden) = (scene.acme, scene.ann, scene.garden);
    let [first, second, foreign] = scene.given(|fixture| {
        let other = fixture.workspace("Other");
        fixture.add_workspace_member(ann, other, Role::Member);
        [acme, acme, other].map(|workspace| fixture.team(workspace, "Gardeners", ann))
    });
    scene.link(garden, rel::TEAM, first);
    let copied = |body| scene.decide(ann, "duplicateProject", garden, body);
    let same = copied(json!({"name": "Copy"})).unwrap();
    assert_eq!(written(&same, rel::TEAM), [(copy(&same), first)]);
    let moved = copied(json!({"name": "Copy", "team": second})).unwrap();
    assert_eq!(written(&moved, rel::TEAM), [(copy(&moved), second)]);
    let elsewhere = copied(json!({"name": "Copy", "team": foreign}));
    let refused = elsewhere.unwrap_err().message;
    assert!(refused.contains("team: Not a team of that workspace"));
}

#[test]
fn a_copy_of_a_project_has_its_custom_fields() {
    let mut scene = DecisionScene::new();
    let (acme, garden) = (scene.acme, scene.garden);
    let field = scene.given(|fixture| {
        let (field, _) = fixture.custom_field(acme, "Crop", CustomFieldType::Text, &[]);
        fixture.field_on(field, garden, acme);
        field
    });
    let copied = scene.decide(scene.bob, "duplicateProject", garden, parts("notes"));
    let copied = copied.unwrap();
    assert_eq!(written(&copied, rel::FIELD_ON), [(field, copy(&copied))]);
}

#[test]
fn a_guest_copies_a_project_only_into_a_team() {
    let mut scene = DecisionScene::new();
    let (acme, ann, garden) = (scene.acme, scene.ann, scene.garden);
    let (gus, team) = scene.given(|fixture| {
        let gus = fixture.member(acme, "Gus", Role::Guest);
        fixture.share(garden, acme, gus, Level::Editor);
        let team = fixture.team(acme, "Guests", ann);
        fixture.join_team(gus, team, acme);
        (gus, team)
    });
    let refused = scene.refused(gus, "duplicateProject", garden, json!({"name": "Copy"}));
    assert!(refused.contains("in their teams alone"), "{refused}");
    let copied = scene.decide(
        gus,
        "duplicateProject",
        garden,
        json!({"name": "Copy", "team": team}),
    );
    let copied = copied.unwrap();
    assert_eq!(written(&copied, rel::TEAM), [(copy(&copied), team)]);
}

#[test]
fn a_team_may_leave_new_projects_to_its_admins() {
    let mut scene = DecisionScene::new();
    let (acme, ann, bob, garden) = (scene.acme, scene.ann, scene.bob, scene.garden);
    let team = scene.given(|fixture| {
        let team = fixture.team(acme, "Gardeners", ann);
        fixture.join_team(bob, team, acme);
        team
    });
    scene.edit(team, |draft| draft.set(team::CONTENT, "only_team_admins"));
    let body = json!({"name": "Copy", "team": team});
    let refused = scene.refused(bob, "duplicateProject", garden, body.clone());
    assert!(
        refused.contains("may not create projects in this team"),
        "{refused}"
    );
    let copied = scene.decide(ann, "duplicateProject", garden, body).unwrap();
    assert_eq!(written(&copied, rel::TEAM), [(copy(&copied), team)]);
}

#[test]
fn a_copy_of_a_project_keeps_its_dates_unless_new_ones_are_given() {
    let mut scene = DecisionScene::new();
    let (bob, garden) = (scene.bob, scene.garden);
    let due = Date::parse("2026-03-31").ok();
    scene.edit(garden, |draft| draft.set(project::DUE_ON, due));
    let due_of_copy = |body| {
        let made = scene.decide(bob, "duplicateProject", garden, body).unwrap();
        saved(&made, copy(&made)).unwrap().get(project::DUE_ON)
    };
    assert_eq!(due_of_copy(parts("members")), None);
    assert_eq!(due_of_copy(parts("task_dates")), due);
    let mut body = parts("task_dates");
    body["schedule_dates"] = json!({"should_skip_weekends": false, "due_on": "2026-04-30"});
    assert_eq!(due_of_copy(body), None);
}
