use crate::decision_scene::{DecisionScene, written};
use serde_json::json;
use workgraph_core::Gid;
use workgraph_core::model::registry::{Type, rel};
use workgraph_core::model::resources::project;
use workgraph_core::rules::membership_rules::create_empty_project;

/// Stores a project without a section.
fn bare_project(scene: &mut DecisionScene) -> Gid {
    let (acme, ann) = (scene.acme, scene.ann);
    scene.given(|fixture| {
        fixture.with(|work| {
            let mut draft = work.draft(Type::Project, Some(acme));
            draft.set(project::NAME, "Attic");
            create_empty_project(work, draft, ann)
        })
    })
}

#[test]
fn a_new_task_comes_into_the_first_section_and_an_added_one_into_the_last() {
    let mut scene = DecisionScene::new();
    let (garden, acme, ann) = (scene.garden, scene.acme, scene.ann);
    let (first, last) = scene.given(|fixture| {
        let last = fixture.section(garden, acme, "Later");
        (fixture.section_in(garden), last)
    });
    let made = scene.done(ann, "createTask", acme, json!({"projects": [garden]}));
    assert_eq!(
        written(&made, rel::SECTION),
        [(made.subject.unwrap(), first)]
    );
    let loose = scene.given(|fixture| fixture.task(acme, "Weed", ann));
    let added = scene.decide(ann, "addProjectForTask", loose, json!({"project": garden}));
    assert_eq!(written(&added.unwrap(), rel::SECTION), [(loose, last)]);
}

#[test]
fn a_project_without_section_takes_no_task() {
    let mut scene = DecisionScene::new();
    let attic = bare_project(&mut scene);
    let refused = scene.refused(scene.ann, "createTask", attic, json!({"projects": [attic]}));
    assert_eq!(refused, "projects: The project has no section");
    let section = json!({"name": "Boxes"});
    scene.done(scene.ann, "createSectionForProject", attic, section);
    let made = scene.decide(scene.ann, "createTask", attic, json!({"projects": [attic]}));
    assert_eq!(written(&made.unwrap(), rel::SECTION).len(), 1);
}
