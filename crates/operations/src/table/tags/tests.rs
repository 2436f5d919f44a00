use crate::decision_scene::{DecisionScene, node, written};
use serde_json::json;
use workgraph_core::access::Role;
use workgraph_core::model::registry::{Type, rel};
use workgraph_core::model::resources::tag;
use workgraph_core::storage::ListSource;

#[test]
fn a_tag_has_followers_of_its_workspace() {
    let mut scene = DecisionScene::new();
    let club = scene.second_workspace();
    let eve = scene.given(|fixture| fixture.member(club, "Eve", Role::Member));
    let (acme, ann, bob) = (scene.acme, scene.ann, scene.bob);
    let followed = |user| json!({"name": "thirsty", "workspace": acme, "followers": [user]});
    let refused = scene.refused(ann, "createTag", acme, followed(eve));
    assert!(refused.contains("followers: Not a user in Workspace"));
    let made = scene.decide(ann, "createTag", acme, followed(bob)).unwrap();
    assert_eq!(
        written(&made, rel::TAG_FOLLOWERS),
        [(made.subject.unwrap(), bob)]
    );
}

#[test]
fn a_guest_makes_no_tag() {
    let mut scene = DecisionScene::new();
    let acme = scene.acme;
    let guest = scene.given(|fixture| fixture.member(acme, "Gus", Role::Guest));
    let body = json!({"name": "thirsty", "workspace": acme});
    let refused = scene.refused(guest, "createTag", acme, body.clone());
    assert!(
        refused.contains("do not have permission to change this workspace"),
        "{refused}"
    );
    let made = scene.decide(scene.bob, "createTag", acme, body).unwrap();
    assert_eq!(node(&made, made.subject.unwrap()).workspace, Some(acme));
}

#[test]
fn a_tag_stays_in_its_workspace() {
    let mut scene = DecisionScene::new();
    let club = scene.second_workspace();
    let acme = scene.acme;
    let thirsty = scene.given(|fixture| fixture.tag(acme, "thirsty"));
    let to_club = json!({"workspace": club});
    let refused = scene.refused(scene.ann, "updateTag", thirsty, to_club);
    assert!(refused.contains("workspace: Cannot write this property"));
    let body = json!({"workspace": acme, "name": "dry"});
    let changed = scene.decide(scene.ann, "updateTag", thirsty, body).unwrap();
    assert_eq!(
        node(&changed, thirsty).get(tag::NAME).as_deref(),
        Some("dry")
    );
    let same = scene.decide(scene.ann, "updateTag", thirsty, json!({"name": "thirsty"}));
    assert!(same.unwrap().changes.is_empty());
}

#[test]
fn tags_are_listed_of_one_workspace_or_of_all() {
    let scene = DecisionScene::new();
    let source = |query: &str| {
        let list = scene.described(scene.bob, "getTags", query);
        list.unwrap().page.source
    };
    let ty = Type::Tag;
    assert_eq!(source(""), ListSource::InViewerWorkspaces { ty });
    let one = source(&format!("workspace={}", scene.acme));
    assert!(matches!(one, ListSource::InWorkspace { ty: Type::Tag, .. }));
}
