use crate::decision_scene::{DecisionScene, JOBS_MAX, node, with, written};
use crate::operation::Decision;
use serde_json::{Value, json};
use workgraph_core::Gid;
use workgraph_core::model::node::Node;
use workgraph_core::model::registry::{CustomFieldType, Type, rel};
use workgraph_core::model::resources::project_template;

const SAVE: &str = "projectSaveAsTemplate";
const DELETE: &str = "deleteProjectTemplate";

/// Returns the body of a new template, with more properties.
fn new_template(more: Value) -> Value {
    with(json!({"name": "Pattern", "public": true}), more)
}

fn template(decision: &Decision) -> &Node {
    let mut nodes = decision.changes.node_writes.iter().map(|write| &write.node);
    nodes.find(|node| node.ty == Type::ProjectTemplate).unwrap()
}

#[test]
fn a_template_belongs_to_who_saves_it() {
    let scene = DecisionScene::new();
    let notes = json!({"notes": "Grow", "color": "light-red"});
    scene.done(scene.ann, "updateProject", scene.garden, notes);
    let made = scene.done(scene.bob, SAVE, scene.garden, new_template(json!({})));
    let pattern = template(&made);
    assert_eq!(pattern.get(project_template::OWNER), Some(scene.bob));
    assert!(pattern.get(project_template::PUBLIC));
    assert_eq!(
        pattern.get(project_template::DESCRIPTION).as_deref(),
        Some("Grow")
    );
    assert_eq!(
        pattern.get(project_template::COLOR).as_deref(),
        Some("light-red")
    );
    assert_eq!(node(&made, made.subject.unwrap()).ty, Type::Job);
}

#[test]
fn a_list_of_project_templates_is_of_a_team_or_a_workspace() {
    let mut scene = DecisionScene::new();
    let (acme, ann) = (scene.acme, scene.ann);
    let growers = scene.given(|fixture| fixture.team(acme, "Growers", ann));
    let list = |query: String| scene.described(ann, "getProjectTemplates", &query);
    let nothing = list(String::new()).unwrap_err().message;
    assert_eq!(nothing, "workspace: Missing input");
    assert_eq!(
        list(format!("workspace={acme}")).unwrap().anchor,
        "workspace"
    );
    let both = list(format!("workspace={acme}&team={growers}")).unwrap();
    assert_eq!((both.anchor, both.page.filters.len()), ("team", 1));
}

#[test]
fn a_template_has_the_workspace_of_its_project() {
    let mut scene = DecisionScene::new();
    let ann = scene.ann;
    let club = scene.second_workspace();
    let save = |workspace: Gid| {
        let body = new_template(json!({"workspace": workspace}));
        scene.decide(ann, SAVE, scene.garden, body)
    };
    let refused = save(club).unwrap_err().message;
    assert_eq!(refused, "workspace: Not the workspace of the project");
    let made = save(scene.acme).unwrap();
    assert_eq!(template(&made).workspace, Some(scene.acme));
}

#[test]
fn a_template_has_the_custom_fields_of_its_project() {
    let mut scene = DecisionScene::new();
    let (acme, garden) = (scene.acme, scene.garden);
    let field = scene.given(|fixture| {
        let (field, _) = fixture.custom_field(acme, "Height", CustomFieldType::Text, &[]);
        fixture.field_on(field, garden, acme);
        field
    });
    let made = scene.done(scene.ann, SAVE, garden, new_template(json!({})));
    assert_eq!(
        written(&made, rel::FIELD_ON),
        [(field, template(&made).gid)]
    );
}

#[test]
fn a_user_has_a_limited_number_of_unfinished_jobs() {
    let scene = DecisionScene::new();
    let save = |by| scene.decide(by, SAVE, scene.garden, new_template(json!({})));
    for _ in 0..JOBS_MAX {
        scene.done(scene.ann, SAVE, scene.garden, new_template(json!({})));
    }
    let refused = save(scene.ann).unwrap_err().message;
    assert!(refused.contains("jobs of yours are running"), "{refused}");
    save(scene.bob).unwrap();
}

#[test]
fn who_only_sees_a_template_does_not_delete_it() {
    let scene = DecisionScene::new();
    let made = scene.done(scene.ann, SAVE, scene.garden, new_template(json!({})));
    let pattern = template(&made).gid;
    let refused = scene.refused(scene.bob, DELETE, pattern, json!({}));
    assert_eq!(
        refused,
        "You do not have permission to change this project template."
    );
    let deleted = scene.done(scene.ann, DELETE, pattern, json!({}));
    assert_eq!(deleted.changes.trashed, [pattern]);
}

#[test]
fn the_sections_of_a_deleted_template_wait_for_their_cleanup() {
    let mut scene = DecisionScene::new();
    let (acme, ann) = (scene.acme, scene.ann);
    let (pattern, section) = scene.given(|fixture| {
        let pattern = fixture.node(Type::ProjectTemplate, Some(acme), |draft, _| {
            draft.set(project_template::OWNER, ann);
        });
        (pattern, fixture.section(pattern, acme, "Sow"))
    });
    let deleted = scene.done(ann, DELETE, pattern, json!({}));
    let queued = written(&deleted, rel::ENDED);
    assert_eq!(
        queued.iter().map(|(src, _)| *src).collect::<Vec<_>>(),
        [section]
    );
}
