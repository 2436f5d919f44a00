use super::FILE;
use crate::decision_scene::{DecisionScene, node, stories, written};
use crate::operation::inputs::UploadedFile;
use serde_json::{Value, json};
use workgraph_core::Gid;
use workgraph_core::access::Level;
use workgraph_core::model::registry::rel;
use workgraph_core::model::resources::{attachment, task};
use workgraph_core::storage::ListPosition;

const CREATE: &str = "createAttachmentForObject";
const DELETE: &str = "deleteAttachment";

fn link(to: Gid) -> Value {
    json!({"parent": to, "resource_subtype": "external", "url": "https://example.org", "name": "Plan"})
}

fn file(bytes: u64) -> Option<UploadedFile> {
    let gid = Gid::new(1 << 41).unwrap();
    Some(UploadedFile {
        gid,
        name: Some("plan.pdf".to_owned()),
        size: bytes,
    })
}

fn without(mut body: Value, field: &str) -> Value {
    body.as_object_mut().unwrap().remove(field);
    body
}

#[test]
fn a_link_has_a_name_and_a_web_address_and_no_file() {
    let mut scene = DecisionScene::new();
    let [water] = scene.tasks();
    let refused = |scene: &DecisionScene, body| scene.refused(scene.ann, CREATE, water, body);
    assert_eq!(
        refused(&scene, without(link(water), "name")),
        "name: Missing input"
    );
    assert_eq!(
        refused(&scene, without(link(water), "url")),
        "url: Missing input"
    );
    let mut other = link(water);
    other["url"] = json!("ftp://example.org");
    assert!(refused(&scene, other).contains("url: Not a web address"));
    let linked = scene.decide(scene.ann, CREATE, water, link(water)).unwrap();
    assert_eq!(
        written(&linked, rel::ATTACHED_TO),
        [(linked.subject.unwrap(), water)]
    );
    scene.file = file(7);
    assert!(refused(&scene, link(water)).contains("file: An external attachment is a link"));
}

#[test]
fn a_file_has_neither_an_address_nor_an_app() {
    let mut scene = DecisionScene::new();
    let [water] = scene.tasks();
    let body = json!({"parent": water});
    let refused = |scene: &DecisionScene, body| scene.refused(scene.ann, CREATE, water, body);
    assert_eq!(
        refused(&scene, body.clone()),
        format!("{}: Missing input", FILE.def.name)
    );
    scene.file = file(7);
    let with_url = json!({"parent": water, "url": "https://example.org"});
    assert!(refused(&scene, with_url).contains("url: Only a link has one"));
    let connected = json!({"parent": water, "connect_to_app": true});
    assert!(refused(&scene, connected).contains("connect_to_app: Only a link has one"));
    let attached = scene.decide(scene.ann, CREATE, water, body).unwrap();
    let attached = node(&attached, attached.subject.unwrap());
    assert_eq!(attached.get(attachment::SIZE), 7);
    assert_eq!(attached.get(attachment::NAME).as_deref(), Some("plan.pdf"));
}

#[test]
fn files_fit_into_the_quotas_of_user_and_workspace() {
    let mut scene = DecisionScene::new();
    let [water] = scene.tasks();
    let body = json!({"parent": water});
    scene.file = file(7);
    scene.settings.attachments.user_quota = Some(10);
    let (ann, bob) = (scene.ann, scene.bob);
    let attached = scene.done(ann, CREATE, water, body.clone());
    assert_eq!(
        written(&attached, rel::STORED_BYTES),
        [(ann, ann), (scene.acme, scene.acme)]
    );
    let refused = scene.refused(ann, CREATE, water, body.clone());
    assert!(refused.contains("Your files may have 10 bytes together, and have 7"));
    assert!(scene.decide(bob, CREATE, water, body.clone()).is_ok());
    scene.settings.attachments.workspace_quota = Some(10);
    let refused = scene.refused(bob, CREATE, water, body);
    assert!(refused.contains("The files of this workspace may have 10 bytes together"));
}

#[test]
fn a_link_at_a_task_is_connected_to_an_app() {
    let mut scene = DecisionScene::new();
    let [water] = scene.tasks();
    let (ann, garden) = (scene.ann, scene.garden);
    let connected = |to: Gid| {
        let mut body = link(to);
        body["connect_to_app"] = json!(true);
        body
    };
    let refused = scene.refused(ann, CREATE, water, connected(water));
    assert!(refused.contains("Only a request with an OAuth token of an app"));
    scene.app = Some(7);
    let refused = scene.refused(ann, CREATE, garden, connected(garden));
    assert!(refused.contains("Only a link at a task can be connected"));
    let linked = scene.decide(ann, CREATE, water, connected(water)).unwrap();
    let app = node(&linked, linked.subject.unwrap()).get(attachment::APP);
    assert_eq!(app.as_deref(), Some("7"));
}

#[test]
fn an_attachment_at_a_task_makes_a_story() {
    let mut scene = DecisionScene::new();
    let [water] = scene.tasks();
    let (ann, garden) = (scene.ann, scene.garden);
    let at_task = scene.decide(ann, CREATE, water, link(water)).unwrap();
    assert_eq!(stories(&at_task), ["attachment_added"]);
    let at_project = scene.decide(ann, CREATE, garden, link(garden)).unwrap();
    assert!(stories(&at_project).is_empty());
    assert_eq!(written(&at_project, rel::ATTACHED_TO).len(), 1);
}

#[test]
fn a_project_brief_has_attachments() {
    let scene = DecisionScene::new();
    let (ann, garden) = (scene.ann, scene.garden);
    let brief = scene.made(ann, "createProjectBrief", garden, json!({"text": "Grow"}));
    let linked = scene.done(ann, CREATE, brief, link(brief));
    let attachment = linked.subject.unwrap();
    assert_eq!(written(&linked, rel::ATTACHED_TO), [(attachment, brief)]);
    let listed = scene.listed(
        ann,
        "getAttachmentsForObject",
        brief,
        json!({"parent": brief}),
    );
    assert_eq!(listed.unwrap(), [attachment]);
    let deleted = scene.done(ann, DELETE, attachment, json!({}));
    assert_eq!(deleted.changes.trashed, [attachment]);
}

/// Stores a project in which the member comments, and a task in it.
fn commented_project(scene: &mut DecisionScene) -> (Gid, Gid) {
    let (acme, ann, bob) = (scene.acme, scene.ann, scene.bob);
    scene.given(|fixture| {
        let attic = fixture.private_project(acme, "Attic", ann);
        fixture.share(attic, acme, bob, Level::Commenter);
        let section = fixture.section_in(attic);
        (attic, fixture.task_in(section, "Tidy", ann))
    })
}

#[test]
fn a_commenter_attaches_to_tasks_only() {
    let mut scene = DecisionScene::new();
    let (attic, tidy) = commented_project(&mut scene);
    let refused = scene.refused(scene.bob, CREATE, attic, link(attic));
    assert!(refused.contains("do not have permission to change this project"));
    let linked = scene.decide(scene.bob, CREATE, tidy, link(tidy)).unwrap();
    assert_eq!(written(&linked, rel::ATTACHED_TO).len(), 1);
}

#[test]
fn a_commenter_deletes_only_their_own_attachments() {
    let mut scene = DecisionScene::new();
    let (_, tidy) = commented_project(&mut scene);
    let attached = |by| scene.done(by, CREATE, tidy, link(tidy)).subject.unwrap();
    let (of_ann, of_bob) = (attached(scene.ann), attached(scene.bob));
    let refused = scene.refused(scene.bob, DELETE, of_ann, json!({}));
    assert!(refused.contains("do not have permission to change this attachment"));
    let deleted = scene.decide(scene.bob, DELETE, of_bob, json!({})).unwrap();
    assert_eq!(deleted.changes.trashed, [of_bob]);
}

#[test]
fn a_deleted_attachment_changes_the_time_of_its_task() {
    let mut scene = DecisionScene::new();
    let [water] = scene.tasks();
    let ann = scene.ann;
    let stale = scene.given(|fixture| fixture.subtask(water, "Sow", ann));
    let plan = scene.given(|fixture| {
        let ty = workgraph_core::model::registry::Type::Attachment;
        let workspace = fixture.workspace_of(water);
        let plan = fixture.node(ty, workspace, |draft, _| {
            draft.set(attachment::NAME, "Plan")
        });
        fixture.link(plan, rel::ATTACHED_TO, stale, ListPosition::Rank(1), None);
        plan
    });
    let deleted = scene.decide(ann, DELETE, plan, json!({})).unwrap();
    assert!(node(&deleted, stale).get(task::MODIFIED_AT).is_some());
}
