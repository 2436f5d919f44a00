use super::*;
use crate::decision_scene::{DecisionScene, JOBS_MAX, saved, subject, written};
use serde_json::json;
use workgraph_core::model::resources::workspace;
use workgraph_core::model::time::Time;

fn start(scene: &DecisionScene, by: Gid, node: Gid) -> Result<Decision, DomainError> {
    scene.decide(by, "createGraphExport", node, json!({"parent": node}))
}

fn refused(scene: &DecisionScene, by: Gid, node: Gid) -> String {
    start(scene, by, node).unwrap_err().message
}

/// Adds a large export of the project, by the admin, that ended some milliseconds ago.
fn exported(scene: &mut DecisionScene, ago: i64) -> Gid {
    let (acme, ann, garden) = (scene.acme, scene.ann, scene.garden);
    scene.given(|fixture| {
        let done = fixture.node(Type::GraphExport, Some(acme), |draft, now| {
            draft.set(job::CREATED_BY, ann);
            let completed = Time::from_millis(now.millis() - ago);
            draft.set(export::COMPLETED_AT, Some(completed));
        });
        fixture.with(|work| work.changes.add_aliases.push((cached(ann, garden), done)));
        done
    })
}

#[test]
fn an_export_starts_a_job() {
    let scene = DecisionScene::new();
    let started = start(&scene, scene.bob, scene.garden).unwrap();
    let job = subject(&started);
    assert_eq!(written(&started, rel::ACTIVE), [(job.gid, scene.bob)]);
    let file = saved(&started, job.get(job::NEW_GRAPH_EXPORT).unwrap()).unwrap();
    assert_eq!(file.get(job::CREATED_BY), Some(scene.bob));
    assert_eq!(started.changes.audit_entries.len(), 1);
}

#[test]
fn only_users_who_see_an_object_export_it() {
    let mut scene = DecisionScene::new();
    let (acme, ann) = (scene.acme, scene.ann);
    let hidden = scene.given(|fixture| fixture.private_project(acme, "Hidden", ann));
    let refused = refused(&scene, scene.bob, hidden);
    assert!(
        refused.contains("do not have access to this project"),
        "{refused}"
    );
    assert!(start(&scene, ann, hidden).is_ok());
}

#[test]
fn a_free_workspace_has_no_exports() {
    let mut scene = DecisionScene::new();
    scene.edit(scene.acme, |draft| draft.set(workspace::PLAN, "free"));
    let garden = scene.garden;
    let refused = refused(&scene, scene.bob, garden);
    assert_eq!(refused, PREMIUM);
}

#[test]
fn a_recent_export_is_found_again() {
    let mut scene = DecisionScene::new();
    let done = exported(&mut scene, CACHED_MS - 1);
    let found = start(&scene, scene.ann, scene.garden).unwrap();
    assert_eq!(subject(&found).get(job::NEW_GRAPH_EXPORT), Some(done));
    assert_eq!(
        subject(&found).get(job::STATUS).as_deref(),
        Some("succeeded")
    );
    assert!(written(&found, rel::ACTIVE).is_empty());
    let by_another = start(&scene, scene.bob, scene.garden);
    assert_eq!(written(&by_another.unwrap(), rel::ACTIVE).len(), 1);
}

#[test]
fn an_old_export_is_made_again() {
    let mut scene = DecisionScene::new();
    let done = exported(&mut scene, CACHED_MS);
    let started = start(&scene, scene.ann, scene.garden).unwrap();
    assert_ne!(subject(&started).get(job::NEW_GRAPH_EXPORT), Some(done));
    assert_eq!(written(&started, rel::ACTIVE).len(), 1);
}

#[test]
fn a_user_has_a_limited_number_of_running_jobs() {
    let scene = DecisionScene::new();
    let (bob, garden) = (scene.bob, scene.garden);
    for _ in 0..JOBS_MAX {
        scene.done(bob, "createGraphExport", garden, json!({"parent": garden}));
    }
    let reason = refused(&scene, bob, garden);
    assert!(reason.contains(&format!("{JOBS_MAX} jobs of yours are running")));
    assert!(start(&scene, scene.ann, garden).is_ok());
}

#[test]
fn only_a_service_account_exports_an_organization() {
    let mut scene = DecisionScene::new();
    let organization = json!({"organization": scene.acme});
    let refused = scene.refused(
        scene.ann,
        "createOrganizationExport",
        scene.acme,
        organization.clone(),
    );
    assert!(refused.contains("Only a service account"), "{refused}");
    scene.service = Some(scene.acme);
    let started = scene.decide(
        scene.ann,
        "createOrganizationExport",
        scene.acme,
        organization,
    );
    let started = started.unwrap();
    assert_eq!(subject(&started).ty, Type::OrganizationExport);
    assert_eq!(written(&started, rel::ACTIVE).len(), 1);
}
