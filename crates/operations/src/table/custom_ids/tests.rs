use crate::decision_scene::DecisionScene;
use workgraph_core::Gid;
use workgraph_core::access::Role;
use workgraph_core::model::registry::{Type, rel};
use workgraph_core::model::resources::custom_field;
use workgraph_core::rules::custom_field_rules::create_custom_field;
use workgraph_core::storage::ListPosition;

/// Returns a scene with a task whose automatic id is BUG-7.
fn bug_scene() -> (DecisionScene, Gid) {
    let mut scene = DecisionScene::new();
    let [leak] = scene.tasks();
    let acme = scene.acme;
    scene.given(|fixture| {
        let field = fixture.with(|work| {
            let mut draft = work.draft(Type::CustomField, Some(acme));
            draft.set(custom_field::ID_PREFIX, "BUG");
            create_custom_field(work, &draft, acme)
        });
        fixture.link(leak, rel::NUMBERED, field, ListPosition::Rank(7), None);
    });
    (scene, leak)
}

fn found(scene: &DecisionScene, by: Gid, workspace: Gid, id: &str) -> Result<Gid, String> {
    let path = [
        ("workspace_gid", workspace.to_string()),
        ("custom_id", id.to_owned()),
    ];
    scene
        .found(by, "getTaskForCustomID", &path)
        .map_err(|error| error.message)
}

#[test]
fn a_task_is_found_by_its_automatic_id_in_its_workspace() {
    let (mut scene, leak) = bug_scene();
    let (acme, ann, club) = (scene.acme, scene.ann, scene.second_workspace());
    assert_eq!(found(&scene, ann, acme, "BUG-7"), Ok(leak));
    assert_eq!(
        found(&scene, ann, acme, "BUG-8"),
        Err("task: Unknown object: BUG-8".to_owned())
    );
    assert_eq!(
        found(&scene, ann, acme, "BUG-07"),
        Err("task: Unknown object: BUG-07".to_owned())
    );
    assert_eq!(
        found(&scene, ann, acme, "BUG"),
        Err("task: Unknown object: BUG".to_owned())
    );
    assert_eq!(
        found(&scene, ann, club, "BUG-7"),
        Err("task: Unknown object: BUG-7".to_owned())
    );
}

#[test]
fn an_automatic_id_shows_no_task_that_the_user_does_not_see() {
    let (mut scene, _) = bug_scene();
    let acme = scene.acme;
    let guest = scene.given(|fixture| fixture.member(acme, "Gus", Role::Guest));
    let refused = found(&scene, guest, acme, "BUG-7").unwrap_err();
    assert!(refused.contains("do not have access to this task"));
    scene.settings.hide_forbidden = true;
    let hidden = found(&scene, guest, acme, "BUG-7").unwrap_err();
    assert_eq!(hidden, "task: Unknown object: BUG-7");
}
