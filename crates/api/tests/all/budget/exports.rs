//! Budgets of exports: a record that is too large fails its job, and heavy records are written in smaller steps.
use super::{heavy, path, world};
use crate::jobs::status;
use crate::world::{KINDS, World};
use serde_json::{Value, json};
use workgraph_api::ApiSettings;
use workgraph_core::Gid;
use workgraph_core::storage::{NodeRef, ReadQuery, ViewerKey};

/// Requests an export of tasks, and runs its job.
fn export(world: &World, fields: &[&str]) -> String {
    let job = ask_for_export(world, fields);
    world.work();
    job
}

/// Requests an export of tasks; returns its job.
pub(crate) fn ask_for_export(world: &World, fields: &[&str]) -> String {
    let parts = json!([{"resource_type": "task", "fields": fields}]);
    let body =
        json!({"workspace": world.gid("orchid").to_string(), "export_request_parameters": parts});
    let job = world.post("ada", "/exports/resource", body);
    assert_eq!(job.status, 201, "{}", job.text);
    job.gid()
}

/// Returns the reason why a job failed.
pub(crate) fn reason(world: &World, job: &str) -> String {
    let gid = Gid::parse(job).unwrap();
    let key = ViewerKey {
        user: world.gid("ada"),
        service: None,
    };
    let view = world
        .run(world.graph.load(&ReadQuery::of(key).node(gid)))
        .unwrap();
    let job = view
        .resolve(&NodeRef::Gid(gid))
        .and_then(|gid| view.node(gid));
    let record: Value = serde_json::from_str(job.unwrap().raw("job").unwrap()).unwrap();
    record["error"].as_str().unwrap().to_owned()
}

#[test]
fn an_export_of_a_record_that_is_too_large_fails_and_the_next_one_is_made() {
    for kind in KINDS {
        let world = world(kind, ApiSettings::default().reply_max);
        let fields = path("dependencies", "dependents", 7);
        let failed = export(&world, &[&fields]);
        assert_eq!(status(&world, &failed), "failed");
        let reason = reason(&world, &failed);
        assert!(
            reason.starts_with("A record would be larger than 16777216 bytes"),
            "{reason}"
        );
        let done = export(&world, &["name"]);
        assert_eq!(status(&world, &done), "succeeded");
    }
}

#[test]
fn an_export_of_heavy_records_goes_on_in_smaller_steps() {
    let world = heavy();
    let job = export(&world, &["notes"]);
    assert_eq!(status(&world, &job), "succeeded");
    let job = world.get("ada", &format!("/jobs/{job}"));
    let file = job.json["data"]["new_resource_export"]["gid"]
        .as_str()
        .unwrap();
    let heavy = world.files.records(file).into_iter();
    let heavy = heavy.filter(|r| {
        r["notes"]
            .as_str()
            .is_some_and(|notes| notes.len() == 1_200_000)
    });
    assert_eq!(heavy.count(), 70);
}
