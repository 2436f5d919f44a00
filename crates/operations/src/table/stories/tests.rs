use crate::decision_scene::{DecisionScene, node, written};
use serde_json::{Value, json};
use workgraph_core::Gid;
use workgraph_core::model::registry::rel;
use workgraph_core::model::resources::{story, task};

/// Stores a comment of the admin on a task.
fn comment(scene: &DecisionScene, task: Gid) -> Gid {
    let said = scene.done(
        scene.ann,
        "createStoryForTask",
        task,
        json!({"text": "Dry"}),
    );
    said.subject.unwrap()
}

#[test]
fn a_comment_says_something() {
    let mut scene = DecisionScene::new();
    let [water] = scene.tasks();
    let ann = scene.ann;
    let refused = |body| scene.refused(ann, "createStoryForTask", water, body);
    assert_eq!(refused(json!({"text": " "})), "text: Missing input");
    assert_eq!(
        refused(json!({"html_text": "<body></body>"})),
        "text: Missing input"
    );
    let says = |body| scene.decide(ann, "createStoryForTask", water, body).is_ok();
    assert!(says(json!({"text": "Dry"})));
    assert!(says(json!({"sticker_name": "dancing_unicorn"})));
    let link = format!("<body><a data-asana-gid=\"{ann}\"/></body>");
    assert!(says(json!({"html_text": link})));
}

#[test]
fn a_comment_is_given_in_one_form() {
    let mut scene = DecisionScene::new();
    let [water] = scene.tasks();
    let both = json!({"text": "Dry", "html_text": "<body>Dry</body>"});
    let refused = scene.refused(scene.ann, "createStoryForTask", water, both);
    assert!(refused.contains("only provide one of text or html_text"));
}

#[test]
fn the_author_of_a_comment_follows_the_task() {
    let mut scene = DecisionScene::new();
    let [water] = scene.tasks();
    let body = json!({"text": "Dry"});
    let said = scene.done(scene.bob, "createStoryForTask", water, body.clone());
    assert_eq!(written(&said, rel::FOLLOWERS), [(water, scene.bob)]);
    assert_eq!(
        written(&said, rel::STORY_OF),
        [(said.subject.unwrap(), water)]
    );
    let again = scene
        .decide(scene.bob, "createStoryForTask", water, body)
        .unwrap();
    assert!(written(&again, rel::FOLLOWERS).is_empty());
}

#[test]
fn a_comment_on_a_goal_makes_nobody_a_follower() {
    let scene = DecisionScene::new();
    let body = json!({"name": "Grow", "workspace": scene.acme});
    let goal = scene
        .done(scene.ann, "createGoal", scene.acme, body)
        .subject
        .unwrap();
    let said = scene.decide(
        scene.ann,
        "createStoryForGoal",
        goal,
        json!({"text": "Slow"}),
    );
    let said = said.unwrap();
    assert_eq!(
        written(&said, rel::STORY_OF),
        [(said.subject.unwrap(), goal)]
    );
    assert!(written(&said, rel::FOLLOWERS).is_empty());
}

#[test]
fn only_the_author_changes_a_comment() {
    let mut scene = DecisionScene::new();
    let [water] = scene.tasks();
    let said = comment(&scene, water);
    let body = json!({"text": "Wet"});
    let refused = scene.refused(scene.bob, "updateStory", said, body.clone());
    assert!(refused.contains("only edit or delete your own comments"));
    let refused = scene.refused(scene.bob, "deleteStory", said, json!({}));
    assert!(refused.contains("only edit or delete your own comments"));
    let edited = scene.decide(scene.ann, "updateStory", said, body).unwrap();
    assert!(node(&edited, said).get(story::IS_EDITED));
    let deleted = scene
        .decide(scene.ann, "deleteStory", said, json!({}))
        .unwrap();
    assert_eq!(deleted.changes.trashed, [said]);
}

#[test]
fn only_comments_are_changed_deleted_or_pinned() {
    let mut scene = DecisionScene::new();
    let [water] = scene.tasks();
    let done = scene.done(scene.ann, "updateTask", water, json!({"completed": true}));
    let (history, _) = written(&done, rel::STORY_OF)[0];
    let refused = |operation, body: Value| scene.refused(scene.ann, operation, history, body);
    let only_comments = "Only comments can be edited or deleted";
    assert!(refused("updateStory", json!({"text": "Done"})).contains(only_comments));
    assert!(refused("deleteStory", json!({})).contains(only_comments));
    assert!(refused("updateStory", json!({"is_pinned": true})).contains("can be pinned"));
    let said = comment(&scene, water);
    let pinned = scene.decide(scene.bob, "updateStory", said, json!({"is_pinned": true}));
    let pinned = pinned.unwrap();
    assert!(node(&pinned, said).get(story::IS_PINNED));
    assert!(!node(&pinned, said).get(story::IS_EDITED));
}

#[test]
fn a_comment_changes_the_time_of_its_task() {
    let mut scene = DecisionScene::new();
    let [water] = scene.tasks();
    let ann = scene.ann;
    let stale = scene.given(|fixture| fixture.subtask(water, "Sow", ann));
    let said = scene.done(ann, "createStoryForTask", stale, json!({"text": "Dry"}));
    assert!(node(&said, stale).get(task::MODIFIED_AT).is_some());
    let deleted = scene.decide(ann, "deleteStory", said.subject.unwrap(), json!({}));
    assert_eq!(node(&deleted.unwrap(), stale).version, 3);
}

#[test]
fn a_changed_comment_still_says_something() {
    let mut scene = DecisionScene::new();
    let [water] = scene.tasks();
    let said = comment(&scene, water);
    let changed = |body| scene.decide(scene.ann, "updateStory", said, body);
    let refused = changed(json!({"text": ""})).unwrap_err();
    assert_eq!(refused.message, "text: Missing input");
    let changed = changed(json!({"text": "Wet"})).unwrap();
    let text = node(&changed, said).get(story::TEXT);
    assert_eq!(text.as_deref(), Some("Wet"));
}
