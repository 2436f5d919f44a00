mod tasks;

use crate::decision_scene::{DecisionScene, node, with, written};
use crate::operation::Decision;
use serde_json::{Value, json};
use workgraph_core::Gid;
use workgraph_core::jobs::date_shift::DateSpan;
use workgraph_core::jobs::duplication::Duplication;
use workgraph_core::jobs::template_snapshot::{START, TemplateData};
use workgraph_core::jobs::{JobKind, JobRecord};
use workgraph_core::model::node::Node;
use workgraph_core::model::registry::{Type, rel};
use workgraph_core::model::resources::{project, project_template};
use workgraph_core::model::template_roles::TemplateRole;
use workgraph_core::model::time::Date;
use workgraph_core::rules::auto_id_rules;

const PROJECT: &str = "instantiateProject";

/// Stores a project template of the admin that the workspace sees.
fn template(scene: &mut DecisionScene, data: &TemplateData) -> Gid {
    let (acme, ann) = (scene.acme, scene.ann);
    let data = serde_json::to_string(data).unwrap();
    scene.given(|fixture| {
        fixture.node(Type::ProjectTemplate, Some(acme), |draft, _| {
            draft.set(project_template::OWNER, ann);
            draft.set(project_template::PUBLIC, true);
            draft.set(project_template::DESCRIPTION, "Grow");
            draft.set(project_template::TEMPLATE_DATA, data);
        })
    })
}

/// Returns the data of a template whose tasks begin on this day.
fn from_day(day: &str) -> TemplateData {
    let first = Some(Date::parse(day).unwrap().days());
    let span = DateSpan { first, last: first };
    TemplateData {
        span,
        ..TemplateData::default()
    }
}

/// Returns the body of a new project, with more properties.
fn new_project(more: Value) -> Value {
    with(json!({"name": "Meadow"}), more)
}

fn new_node(decision: &Decision, ty: Type) -> &Node {
    let mut nodes = decision.changes.node_writes.iter().map(|write| &write.node);
    nodes.find(|node| node.ty == ty).unwrap()
}

/// Returns the work of the job that copies a template.
fn copying(decision: &Decision) -> Duplication {
    let job = node(decision, decision.subject.unwrap());
    let record: JobRecord = serde_json::from_str(job.raw("job").unwrap()).unwrap();
    match record.kind {
        JobKind::Duplicate(plot) => plot,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_project_from_a_template_belongs_to_who_makes_it() {
    let mut scene = DecisionScene::new();
    let pattern = template(&mut scene, &TemplateData::default());
    let made = scene.done(scene.bob, PROJECT, pattern, new_project(json!({})));
    let meadow = new_node(&made, Type::Project);
    assert_eq!(meadow.get(project::NAME).as_deref(), Some("Meadow"));
    assert_eq!(meadow.get(project::OWNER), Some(scene.bob));
    assert_eq!(meadow.get(project::NOTES).as_deref(), Some("Grow"));
    assert_eq!(meadow.get(project::CREATED_FROM_TEMPLATE), Some(pattern));
    assert_eq!(written(&made, rel::MEMBERS), [(meadow.gid, scene.bob)]);
}

#[test]
fn a_project_from_a_template_has_its_custom_fields_and_numbers() {
    let scene = DecisionScene::new();
    let id = json!({"workspace": scene.acme, "name": "Id", "resource_subtype": "text",
        "id_prefix": "BUG"});
    let id = scene.made(scene.ann, "createCustomField", scene.acme, id);
    scene.done(
        scene.ann,
        "addCustomFieldSettingForProject",
        scene.garden,
        json!({"custom_field": id}),
    );
    let body = json!({"name": "Pattern", "public": true});
    let saved = scene.done(scene.ann, "projectSaveAsTemplate", scene.garden, body);
    let pattern = new_node(&saved, Type::ProjectTemplate).gid;
    let made = scene.done(scene.bob, PROJECT, pattern, new_project(json!({})));
    let meadow = new_node(&made, Type::Project);
    assert_eq!(written(&made, rel::FIELD_ON), [(id, meadow.gid)]);
    assert!(auto_id_rules::numbering(meadow).eq([id]));
}

#[test]
fn a_project_from_a_template_starts_on_the_day_that_is_given() {
    let mut scene = DecisionScene::new();
    let pattern = template(&mut scene, &from_day("2026-01-05"));
    let shift = |more| {
        let made = scene.decide(scene.ann, PROJECT, pattern, new_project(more));
        copying(&made.unwrap()).shift.days
    };
    let given = json!({"requested_dates": [{"gid": START, "value": "2026-01-07"}]});
    assert_eq!(shift(given), 2);
    assert_eq!(shift(json!({})), 10, "today");
}

#[test]
fn a_strict_request_names_the_day() {
    let mut scene = DecisionScene::new();
    let dated = template(&mut scene, &from_day("2026-01-05"));
    let undated = template(&mut scene, &TemplateData::default());
    let strict = || new_project(json!({"is_strict": true}));
    let refused = scene.refused(scene.ann, PROJECT, dated, strict());
    assert_eq!(refused, format!("requested_dates: {START}: Missing input"));
    scene.done(scene.ann, PROJECT, undated, strict());
    let day =
        json!({"is_strict": true, "requested_dates": [{"gid": START, "value": "2026-01-05"}]});
    scene.done(scene.ann, PROJECT, dated, new_project(day));
}

#[test]
fn only_a_date_that_the_template_asks_for_is_given() {
    let mut scene = DecisionScene::new();
    let dated = template(&mut scene, &from_day("2026-01-05"));
    let undated = template(&mut scene, &TemplateData::default());
    let instantiate = |template, gid: &str| {
        let dates = json!({"requested_dates": [{"gid": gid, "value": "2026-01-07"}]});
        scene.decide(scene.ann, PROJECT, template, new_project(dates))
    };
    let other = instantiate(dated, "7").unwrap_err().message;
    assert_eq!(other, "requested_dates: [0]: Unknown object: 7");
    let none = instantiate(undated, START).unwrap_err().message;
    assert!(
        none.contains("requested_dates: [0]: Unknown object"),
        "{none}"
    );
    instantiate(dated, START).unwrap();
}

#[test]
fn a_member_of_the_workspace_takes_a_role_of_the_template() {
    let mut scene = DecisionScene::new();
    let eve = scene.given(|fixture| fixture.user("Eve", "eve@example.org"));
    let role = TemplateRole {
        user: scene.ann,
        name: "Ann".to_owned(),
    };
    let data = TemplateData {
        roles: vec![role],
        ..TemplateData::default()
    };
    let pattern = template(&mut scene, &data);
    let instantiate = |gid: &str, user: Gid| {
        let roles = json!({"requested_roles": [{"gid": gid, "value": user}]});
        scene.decide(scene.ann, PROJECT, pattern, new_project(roles))
    };
    let unknown = instantiate("2", scene.bob).unwrap_err().message;
    assert_eq!(unknown, "requested_roles: [0]: Unknown object: 2");
    let twice = json!({"requested_roles": [{"gid": "1", "value": scene.bob}, {"gid": "1", "value": scene.ann}]});
    let twice = scene.refused(scene.ann, PROJECT, pattern, new_project(twice));
    assert!(twice.contains("[1]: Twice: 1"), "{twice}");
    let outside = instantiate("1", eve).unwrap_err().message;
    assert!(outside.starts_with("requested_roles: [0]: "), "{outside}");
    let made = instantiate("1", scene.bob).unwrap();
    assert_eq!(copying(&made).roles, [(scene.ann, scene.bob)]);
}

#[test]
fn requested_values_are_lists_of_gids_with_values() {
    let mut scene = DecisionScene::new();
    let pattern = template(&mut scene, &from_day("2026-01-05"));
    let refused = |dates: Value| {
        let body = new_project(json!({"requested_dates": dates}));
        scene.refused(scene.ann, PROJECT, pattern, body)
    };
    assert!(refused(json!("1")).contains("it must be an array of {gid, value}"));
    let no_gid = refused(json!([{"value": "2026-01-07"}]));
    assert_eq!(no_gid, "requested_dates: [0]: gid: Missing input");
    let no_value = refused(json!([{"gid": START}]));
    assert_eq!(no_value, "requested_dates: [0]: value: Missing input");
    let no_day = refused(json!([{"gid": START, "value": "soon"}]));
    assert!(
        no_day.starts_with("requested_dates: [0]: value: "),
        "{no_day}"
    );
}

#[test]
fn a_view_only_member_makes_no_project_from_a_template() {
    let mut scene = DecisionScene::new();
    let pattern = template(&mut scene, &TemplateData::default());
    let vic = scene.view_only_member();
    let refused = scene.refused(vic, PROJECT, pattern, new_project(json!({})));
    assert!(
        refused.contains("permission to create projects"),
        "{refused}"
    );
    scene.done(scene.bob, PROJECT, pattern, new_project(json!({})));
}

#[test]
fn the_old_form_of_the_privacy_counts_without_the_new_one() {
    let mut scene = DecisionScene::new();
    let pattern = template(&mut scene, &TemplateData::default());
    let privacy = |more| {
        let made = scene
            .decide(scene.ann, PROJECT, pattern, new_project(more))
            .unwrap();
        let word = new_node(&made, Type::Project).get(project::PRIVACY);
        word.unwrap().into_owned()
    };
    assert_eq!(privacy(json!({})), "public_to_workspace");
    assert_eq!(privacy(json!({"public": false})), "private");
    let both = json!({"public": false, "privacy_setting": "private_to_team"});
    assert_eq!(privacy(both), "private_to_team");
}
