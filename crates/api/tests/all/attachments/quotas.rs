//! Quotas of files, and the reserve of their disk.
use super::{Pieces, file_part, parent, part, sent, upload};
use crate::world::{KINDS, Kind, World};
use bytes::Bytes;
use serde_json::json;
use std::future::poll_fn;
use std::pin::pin;
use std::task::{Context, Poll};
use std::time::Duration;
use workgraph_api::ports::body_source::{BodyReadError, BodySource};
use workgraph_api::{ApiSettings, RequestOrigin};
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

/// A body whose pieces come one at a time, each after all other uploads had their turn.
struct TakesTurns {
    pieces: Pieces,
    has_waited: bool,
}

impl BodySource for TakesTurns {
    fn poll_bytes(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, BodyReadError>>> {
        self.has_waited ^= true;
        if self.has_waited {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        self.pieces.poll_bytes(context)
    }
}

/// Sends uploads of these sizes at the same time, whose bodies come in turns; returns the statuses.
fn at_the_same_time(world: &World, sizes: &[usize], piece: usize) -> Vec<u16> {
    let requests: Vec<_> = sizes.iter().map(|size| bytes(world, *size)).collect();
    let upload = |request| async move {
        let request: &workgraph_api::ApiRequest = request;
        let pieces = Pieces {
            size: piece,
            ..Pieces::of(&request.body)
        };
        let mut body = TakesTurns {
            pieces,
            has_waited: false,
        };
        let origin = RequestOrigin::default();
        let reply = world.api.handle_streamed(request, origin, &mut body).await;
        reply.status
    };
    let mut uploads: Vec<_> = requests.iter().map(|r| Box::pin(upload(r))).collect();
    let mut statuses = vec![None; sizes.len()];
    world.run(pin!(poll_fn(|context| {
        for (upload, status) in uploads.iter_mut().zip(&mut statuses) {
            if status.is_none()
                && let Poll::Ready(done) = upload.as_mut().poll(context)
            {
                *status = Some(done);
            }
        }
        match statuses.iter().all(Option::is_some) {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    })));
    statuses.into_iter().flatten().collect()
}

/// S246. Each alone would fit.
#[test]
fn uploads_at_the_same_time_do_not_pass_a_quota_together() {
    let of_workspace = AttachmentSettings {
        workspace_quota: Some(1_000),
        ..AttachmentSettings::default()
    };
    for (kind, quota) in KINDS
        .into_iter()
        .flat_map(|kind| [(kind, of_user(1_000)), (kind, of_workspace)])
    {
        for piece in [50, 9_000] {
            let world = world(kind, quota);
            let statuses = at_the_same_time(&world, &[400; 6], piece);
            let stored = statuses.iter().filter(|status| **status == 200).count();
            let refused = statuses.iter().filter(|status| **status == 413).count();
            assert_eq!(stored + refused, 6, "{kind:?} {piece}: {statuses:?}");
            assert!((1..=2).contains(&stored), "{kind:?} {piece}: {statuses:?}");
            assert_eq!(world.blobs.files().len(), stored, "{kind:?} {piece}");
            // What was reserved for those that were refused is free again.
            let rest = 1_000 - 400 * stored;
            assert_eq!(world.send(bytes(&world, rest + 1)).status, 413);
            assert_eq!(world.send(bytes(&world, rest)).status, 200);
        }
    }
}

/// S246. The file is stored once.
#[test]
fn a_copy_of_an_attachment_counts_once() {
    for kind in KINDS {
        let world = world(kind, of_user(1_000));
        assert_eq!(world.send(bytes(&world, 600)).status, 200);
        let water = world.gid("water");
        for _ in 0..3 {
            let copy = json!({"name": "Copy", "include": "attachments"});
            let job = world.post("ada", &format!("/tasks/{water}/duplicate"), copy);
            assert_eq!(job.status, 201, "{}", job.text);
            world.work();
            let copy = job.json["data"]["new_task"]["gid"].as_str().unwrap();
            let files = world.get("ada", &format!("/attachments?parent={copy}"));
            assert!(files.gids().len() > 1, "{}", files.text);
        }
        let swept = world.api.sweep_attachment_files(Duration::ZERO);
        world.run(swept).unwrap();
        assert_eq!(world.send(bytes(&world, 401)).status, 413);
        assert_eq!(world.send(bytes(&world, 400)).status, 200);
        assert_eq!(world.send(bytes(&world, 1)).status, 413);
    }
}
