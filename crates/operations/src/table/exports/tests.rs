use super::*;
use crate::decision_scene::{DecisionScene, JOBS_MAX, saved, subject, written};
use serde_json::{Value, json};
use workgraph_core::model::resources::workspace;
use workgraph_core::model::time::Time;

fn parent(node: Gid) -> Value {
    json!({"parent": node})
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
    let started = scene.decide(
        scene.bob,
        "createGraphExport",
        scene.garden,
        parent(scene.garden),
    );
    let started = started.unwrap();
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
    let refused = scene.refused(scene.bob, "createGraphExport", hidden, parent(hidden));
    assert!(
        refused.contains("do not have access to this project"),
        "{refused}"
    );
    assert!(
        scene
            .decide(ann, "createGraphExport", hidden, parent(hidden))
            .is_ok()
    );
}

#[test]
fn a_free_workspace_has_no_exports() {
    let mut scene = DecisionScene::new();
    scene.edit(scene.acme, |draft| draft.set(workspace::PLAN, "free"));
    let garden = scene.garden;
    let refused = scene.refused(scene.bob, "createGraphExport", garden, parent(garden));
    assert_eq!(refused, PREMIUM);
}

#[test]
fn a_recent_export_is_found_again() {
    let mut scene = DecisionScene::new();
    let done = exported(&mut scene, CACHED_MS - 1);
    let found = scene.decide(
        scene.ann,
        "createGraphExport",
        scene.garden,
        parent(scene.garden),
    );
    let found = found.unwrap();
    assert_eq!(subject(&found).get(job::NEW_GRAPH_EXPORT), Some(done));
    assert_eq!(
        subject(&found).get(job::STATUS).as_deref(),
        Some("succeeded")
    );
    assert!(written(&found, rel::ACTIVE).is_empty());
    let by_another = scene.decide(
        scene.bob,
        "createGraphExport",
        scene.garden,
        parent(scene.garden),
    );
    assert_eq!(written(&by_another.unwrap(), rel::ACTIVE).len(), 1);
}

#[test]
fn an_old_export_is_made_again() {
    let mut scene = DecisionScene::new();
    let done = exported(&mut scene, CACHED_MS);
    let started = scene.decide(
        scene.ann,
        "createGraphExport",
        scene.garden,
        parent(scene.garden),
    );
    let started = started.unwrap();
    assert_ne!(subject(&started).get(job::NEW_GRAPH_EXPORT), Some(done));
    assert_eq!(written(&started, rel::ACTIVE).len(), 1);
}

#[test]
fn a_user_has_a_limited_number_of_running_jobs() {
    let scene = DecisionScene::new();
    let export = || {
        scene.decide(
            scene.bob,
            "createGraphExport",
            scene.garden,
            parent(scene.garden),
        )
    };
    for _ in 0..JOBS_MAX {
        scene.done(
            scene.bob,
            "createGraphExport",
            scene.garden,
            parent(scene.garden),
        );
    }
    let refused = export().unwrap_err().message;
    assert!(
        refused.contains(&format!("{JOBS_MAX} jobs of yours are running")),
        "{refused}"
    );
    let by_another = scene.decide(
        scene.ann,
        "createGraphExport",
        scene.garden,
        parent(scene.garden),
    );
    assert!(by_another.is_ok());
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
