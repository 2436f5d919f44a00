//! Quotas of files, and the reserve of their disk.
use super::{file_part, parent, part, sent, upload};
use crate::world::{KINDS, Kind, World};
use serde_json::json;
use std::time::Duration;
use workgraph_api::ApiSettings;
use workgraph_operations::settings::AttachmentSettings;

fn world(kind: Kind, attachments: AttachmentSettings) -> World {
    World::with(
        kind,
        ApiSettings {
            attachments,
            ..ApiSettings::default()
        },
    )
}

fn of_user(quota: u64) -> AttachmentSettings {
    AttachmentSettings {
        user_quota: Some(quota),
        ..AttachmentSettings::default()
    }
}

fn bytes(world: &World, size: usize) -> workgraph_api::ApiRequest {
    let file = file_part("a.bin", &"x".repeat(size));
    upload(world, &[parent(world), file])
}

/// S246. What was stored counts, whatever was deleted counts no more, and a refused file leaves nothing.
#[test]
fn files_of_a_user_never_have_more_bytes_than_the_quota() {
    for kind in KINDS {
        let world = world(kind, of_user(1_000));
        let first = world.send(bytes(&world, 600));
        assert_eq!(first.status, 200, "{}", first.text);
        let before = world.blobs.files();
        for (size, piece) in [(401, 9_000), (401, 50), (5_000_000, 9_000)] {
            let refused = sent(&world, &bytes(&world, size), piece, None);
            assert_eq!(refused.status, 413, "{size}: {}", refused.text);
            let message = refused.message();
            assert!(
                message.contains("1000 bytes") && message.contains("600"),
                "{message}"
            );
            assert_eq!(world.blobs.files(), before, "{size}");
        }
        assert_eq!(world.send(bytes(&world, 400)).status, 200);
        assert_eq!(world.send(bytes(&world, 1)).status, 413);
        assert_eq!(world.send(bytes(&world, 0)).status, 200);
        world.advance(61);
        let path = format!("/attachments/{}", first.gid());
        assert_eq!(world.call("ada", "DELETE", &path, &json!(null)).status, 200);
        let again = world.send(bytes(&world, 600));
        assert_eq!(
            again.status, 200,
            "what was deleted is free: {}",
            again.text
        );
        assert_eq!(world.send(bytes(&world, 1)).status, 413);
    }
}

/// S246. The object may be named before or after the file.
#[test]
fn files_of_a_workspace_never_have_more_bytes_than_the_quota() {
    for kind in KINDS {
        let quotas = AttachmentSettings {
            workspace_quota: Some(1_000),
            ..AttachmentSettings::default()
        };
        let world = world(kind, quotas);
        let send = |size: usize, is_first: bool| {
            let mut parts = [parent(&world), file_part("a", &"x".repeat(size))];
            if is_first {
                parts.reverse();
            }
            world.send(upload(&world, &parts)).status
        };
        assert_eq!(send(900, false), 200);
        let before = world.blobs.files();
        for is_first in [false, true] {
            assert_eq!(send(101, is_first), 413, "{is_first}");
            assert_eq!(world.blobs.files(), before);
        }
        assert_eq!(send(100, true), 200);
    }
}

/// S246. Files that older versions stored are counted by the sweep; what a task takes with it counts until a sweep.
#[test]
fn a_sweep_counts_each_file_once_and_frees_what_it_removes() {
    for kind in KINDS {
        let world = world(kind, of_user(1_000));
        let sweep = || {
            world
                .run(world.api.sweep_attachment_files(Duration::ZERO))
                .unwrap()
        };
        let on_task = part("name=\"parent\"", &world.gid("rake").to_string());
        let file = file_part("a", &"x".repeat(500));
        assert_eq!(world.send(upload(&world, &[on_task, file])).status, 200);
        sweep();
        sweep();
        assert_eq!(world.send(bytes(&world, 501)).status, 413);
        assert_eq!(world.send(bytes(&world, 500)).status, 200);
        let path = format!("/tasks/{}", world.gid("rake"));
        assert_eq!(world.call("ada", "DELETE", &path, &json!(null)).status, 200);
        sweep();
        assert_eq!(world.send(bytes(&world, 501)).status, 413);
        assert_eq!(world.send(bytes(&world, 500)).status, 200);
    }
}

/// S247. A disk that fills under uploads refuses them, and nothing else.
#[test]
fn a_disk_below_its_reserve_takes_no_file_and_everything_else_goes_on() {
    let reserve = AttachmentSettings {
        disk_reserve: 1_000_000,
        ..AttachmentSettings::default()
    };
    let world = world(Kind::Memory, reserve);
    world.blobs.set_free(Some(8_000_000));
    let mut stored = 0;
    let refused = loop {
        let answer = sent(&world, &bytes(&world, 1_500_000), 64 << 10, None);
        if answer.status != 200 {
            break answer;
        }
        stored += 1;
        assert!(stored < 10, "the disk is never full");
    };
    assert_eq!(refused.status, 507, "{}", refused.text);
    assert!(refused.message().contains("disk"), "{}", refused.text);
    assert_eq!(world.blobs.files().len(), stored, "nothing is left of it");
    let task = format!("/tasks/{}", world.gid("water"));
    assert_eq!(world.get("ada", &task).status, 200);
    let written = world.call("ada", "PUT", &task, &json!({"name": "Water"}));
    assert_eq!(written.status, 200, "{}", written.text);
}
