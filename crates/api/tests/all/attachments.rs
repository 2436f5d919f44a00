//! Attachments: uploads in pieces, what is left of those that fail, and the sweep of files without an owner.
mod addresses;
mod blobs;
mod pieces;
mod quotas;

pub(crate) use self::blobs::Blobs;
pub(crate) use self::pieces::Pieces;
use crate::world::{Answer, KINDS, Kind, World};
use serde_json::json;
use std::time::Duration;
use workgraph_api::ports::body_source::BodyReadError;
use workgraph_api::{ApiRequest, ApiSettings};
use workgraph_core::Gid;

const KIND: &str = "multipart/form-data; boundary=AaB03x";

pub(crate) fn part(head: &str, content: &str) -> String {
    format!("--AaB03x\r\nContent-Disposition: form-data; {head}\r\n\r\n{content}\r\n")
}

pub(crate) fn file_part(name: &str, content: &str) -> String {
    part(&format!("name=\"file\"; filename=\"{name}\""), content)
}

/// Returns a request of ada with these parts.
pub(crate) fn upload(world: &World, parts: &[String]) -> ApiRequest {
    let body = parts.concat() + "--AaB03x--\r\n";
    raw(world, KIND, body)
}

fn raw(world: &World, kind: &str, body: String) -> ApiRequest {
    let mut request = world.request("ada", "POST", "/attachments", body);
    request.content_type = Some(kind.to_owned());
    request
}

pub(crate) fn parent(world: &World) -> String {
    part("name=\"parent\"", &world.gid("water").to_string())
}

/// Sends an upload whose body comes in pieces of a size, and ends with an error if one is given.
pub(crate) fn sent(
    world: &World,
    request: &ApiRequest,
    size: usize,
    end: Option<BodyReadError>,
) -> Answer {
    let mut body = Pieces {
        size,
        end,
        ..Pieces::of(&request.body)
    };
    let origin = workgraph_api::RequestOrigin::default();
    let reply = world.run(world.api.handle_streamed(request, origin, &mut body));
    let text = String::from_utf8(reply.body.to_vec()).unwrap();
    Answer {
        status: reply.status,
        json: serde_json::from_str(&text).unwrap(),
        text,
        headers: reply.headers,
        operation: reply.operation,
    }
}

/// S240.
#[test]
fn a_file_is_the_same_however_its_body_is_cut() {
    let world = World::new(Kind::Memory);
    let content = "--AaB03\r\n--AaB03y\r\n\r--AaB0\r\n\u{20AC}".repeat(20);
    let request = upload(&world, &[file_part("a.txt", &content), parent(&world)]);
    for size in 1..request.body.len() {
        let answer = sent(&world, &request, size, None);
        assert_eq!(answer.status, 200, "{size}: {}", answer.text);
        assert_eq!(world.blobs.text(&answer.gid()), content, "{size}");
        assert_eq!(answer.json["data"]["size"], content.len(), "{size}");
    }
}

/// S240.
#[test]
fn a_large_file_is_passed_on_in_pieces() {
    let world = World::new(Kind::Memory);
    let content = "0123456789abcdef".repeat(1 << 18);
    let request = upload(&world, &[parent(&world), file_part("a.bin", &content)]);
    let answer = sent(&world, &request, 16 << 10, None);
    assert_eq!(answer.json["data"]["size"], 4 << 20, "{}", answer.text);
    let widest = world.blobs.widest();
    assert!(widest <= 64 << 10, "{widest}");
}

/// S241.
#[test]
fn nothing_is_left_of_a_body_that_ends_anywhere_before_its_end() {
    let world = World::new(Kind::Memory);
    let request = upload(&world, &[file_part("a.txt", "content"), parent(&world)]);
    for length in 0..request.body.len() - 4 {
        let cut = ApiRequest {
            body: request.body.slice(..length),
            ..request.clone()
        };
        for (end, status) in [
            (None, 400),
            (Some(BodyReadError::Broken), 400),
            (Some(BodyReadError::TimedOut), 408),
        ] {
            let answer = sent(&world, &cut, 11, end);
            assert_eq!(answer.status, status, "{length}: {}", answer.text);
            assert!(!answer.message().is_empty());
        }
        assert_eq!(world.blobs.files(), [], "{length}");
    }
}

/// S241.
#[test]
fn bad_bodies_are_told_what_is_wrong_and_leave_nothing() {
    let world = World::with(
        Kind::Memory,
        ApiSettings {
            upload_max: 1_000,
            body_max: 500,
            ..ApiSettings::default()
        },
    );
    let (parent, file) = (parent(&world), file_part("a.txt", "content"));
    let many: Vec<String> = (0..80)
        .map(|n| part(&format!("name=\"n{n}\""), ""))
        .collect();
    let headers = format!("name=\"parent\"{}", "\r\nX-Header: 1".repeat(99));
    let foreign = part("name=\"parent\"", &world.gid("blast").to_string());
    for (parts, status, message) in [
        (
            vec![parent.clone(), file_part("a", &"x".repeat(1_001))],
            413,
            "1000 bytes",
        ),
        (
            vec![parent.clone(), file_part("a", &"x".repeat(9_000_000))],
            413,
            "1000 bytes",
        ),
        (
            vec![part("name=\"name\"", &"x".repeat(501))],
            413,
            "too large",
        ),
        (
            vec![parent.clone(), file.clone(), file.clone()],
            400,
            "file: More than one",
        ),
        (
            vec![parent.clone(), parent.clone(), file.clone()],
            400,
            "parent: Given twice",
        ),
        (vec![file.clone()], 400, "parent: Missing input"),
        (vec![parent.clone()], 400, "file: Missing input"),
        (
            vec![parent.clone(), part("name=\"file\"", "x")],
            400,
            "file: Not a file",
        ),
        (
            vec![parent.clone(), part("name=\"image\"; filename=\"a\"", "x")],
            400,
            "image: A file is sent in the part `file`",
        ),
        (vec![part("filename=\"a\"", "x")], 400, "no name"),
        (many, 400, "more than 64 parts"),
        (vec![part(&headers, "x")], 400, "cannot be read"),
        (
            vec![part("name=\"parent\"\r\nBad Header: 1", "x")],
            400,
            "cannot be read",
        ),
        (vec![foreign, file.clone()], 403, "access"),
        (
            vec![
                parent.clone(),
                file.clone(),
                part("name=\"url\"", "https://a.test"),
            ],
            400,
            "url: Only a link",
        ),
        (
            vec![
                parent.clone(),
                file.clone(),
                part("name=\"resource_subtype\"", "external"),
            ],
            400,
            "file: An external attachment",
        ),
    ] {
        let answer = world.send(upload(&world, &parts));
        assert_eq!(answer.status, status, "{message}: {}", answer.text);
        assert!(
            answer.message().contains(message),
            "{message}: {}",
            answer.text
        );
        assert_eq!(world.blobs.files(), [], "{message}");
    }
    for (kind, body, message) in [
        ("multipart/form-data", parent.clone(), "boundary"),
        ("multipart/form-data; boundary=", parent.clone(), "boundary"),
        (
            "multipart/form-data; boundary=other",
            parent.clone(),
            "closing boundary",
        ),
        (KIND, String::new(), "closing boundary"),
        (KIND, parent.clone() + &file, "closing boundary"),
        (
            KIND,
            parent.clone() + &file + "--AaB03x--" + &"x".repeat(700 << 10),
            "goes on after",
        ),
    ] {
        let answer = world.send(raw(&world, kind, body));
        assert_eq!(answer.status, 400, "{message}: {}", answer.text);
        assert!(
            answer.message().contains(message),
            "{message}: {}",
            answer.text
        );
        assert_eq!(world.blobs.files(), [], "{message}");
    }
}

/// S241.
#[test]
fn headers_of_a_part_are_not_read_without_a_bound() {
    let world = World::new(Kind::Memory);
    let head = format!("name=\"parent\"\r\nX-Long: {}", "x".repeat(3 << 20));
    let before = "x".repeat(3 << 20);
    for body in [part(&head, "x"), before] {
        let answer = world.send(raw(&world, KIND, body));
        assert_eq!(answer.status, 400, "{}", answer.text);
        assert!(answer.message().contains("too large"), "{}", answer.text);
    }
}

/// S241.
#[test]
fn names_of_files_lead_nowhere() {
    let world = World::new(Kind::Memory);
    for (sent, name) in [
        ("name=\"file\"; filename=\"../../../etc/passwd\"", "passwd"),
        ("name=\"file\"; filename=\"C:\\tmp\\x.txt\"", "x.txt"),
        ("name=\"file\"; filename=\"..\"", "file"),
        ("name=\"file\"; filename=\"\"", "file"),
        ("name=\"file\"; filename=\"%E2%82%AC.txt\"", "\u{20AC}.txt"),
        ("name=\"file\"; filename=\"\u{20AC}.txt\"", "\u{20AC}.txt"),
        (
            "name=\"file\"; filename*=UTF-8''%E2%82%AC.txt",
            "\u{20AC}.txt",
        ),
        ("name=\"file\"; filename*=utf-8''..%2F..%2Fx", "x"),
    ] {
        let answer = world.send(upload(&world, &[parent(&world), part(sent, "x")]));
        assert_eq!(answer.json["data"]["name"], name, "{sent}: {}", answer.text);
    }
}

/// S242. A store of files that fails at any call leaves no attachment without a file, and after a sweep no file without
/// an attachment.
#[test]
fn a_failing_store_of_files_leaves_nothing_behind() {
    for kind in KINDS {
        let world = World::new(kind);
        let request = upload(&world, &[file_part("a.txt", "content"), parent(&world)]);
        let mut acknowledged = Vec::new();
        for calls in 0..6 {
            world.blobs.fail_in(Some(calls));
            let mut body = Pieces::of(&request.body);
            let origin = workgraph_api::RequestOrigin::default();
            let reply = world.run(world.api.handle_streamed(&request, origin, &mut body));
            world.blobs.fail_in(None);
            if reply.status == 200 {
                let json: serde_json::Value = serde_json::from_slice(&reply.body).unwrap();
                acknowledged.push(json["data"]["gid"].as_str().unwrap().to_owned());
            } else {
                assert_eq!(reply.status, 500);
            }
            world
                .run(world.api.sweep_attachment_files(Duration::ZERO))
                .unwrap();
            let files: Vec<String> = world.blobs.files().iter().map(Gid::to_string).collect();
            assert_eq!(files, acknowledged, "{calls}");
        }
        assert!(!acknowledged.is_empty() && acknowledged.len() < 6);
    }
}

/// S242.
#[test]
fn a_sweep_removes_the_files_that_nothing_owns_any_more() {
    for kind in KINDS {
        let world = World::new(kind);
        let attach = |on: &str| {
            let parent = part("name=\"parent\"", &world.gid(on).to_string());
            let request = upload(&world, &[parent, file_part("a.txt", "content")]);
            world.send(request).gid()
        };
        let gid = |text: &str| Gid::parse(text).unwrap();
        let kept = attach("rake");
        let deleted = attach("rake");
        let on_subtask = attach("water_buds");
        let on_project = attach("moss");
        let nobodys = Gid::new(5_000_000_000_000_001).unwrap();
        world.blobs.put_empty(nobodys);
        let sweep_from = |age| world.run(world.api.sweep_attachment_files(age)).unwrap();
        let sweep = || sweep_from(Duration::ZERO);
        let day = Duration::from_secs(86_400);
        assert_eq!(sweep_from(day).removed, 0, "another node may be at it");
        assert_eq!(sweep().removed, 1);
        let all = [&kept, &deleted, &on_subtask, &on_project].map(|file| gid(file));
        assert_eq!(world.blobs.files(), all);
        let delete = |path: String| {
            let answer = world.call("ada", "DELETE", &path, &json!(null));
            assert_eq!(answer.status, 200, "{path}: {}", answer.text);
        };
        delete(format!("/attachments/{deleted}"));
        // A task takes its subtasks with it.
        delete(format!("/tasks/{}", world.gid("water")));
        delete(format!("/projects/{}", world.gid("moss")));
        assert_eq!(world.blobs.files(), all, "only a sweep removes files");
        let counts = sweep();
        assert_eq!((counts.kept, counts.removed, counts.failed), (1, 3, 0));
        assert_eq!(world.blobs.files(), [gid(&kept)]);
    }
}

/// S243. Records and lists have the addresses, also for an app that may read nothing but attachments.
#[test]
fn whoever_reads_attachments_gets_the_addresses_of_files() {
    let world = World::new(Kind::Memory);
    let made = world.send(upload(
        &world,
        &[parent(&world), file_part("a.png", "content")],
    ));
    let fields = "opt_fields=download_url,view_url";
    let list = format!(
        "/attachments?parent={}&limit=100&{fields}",
        world.gid("water")
    );
    for token in ["ada", "ada[attachments:read]"] {
        let one = world.get(token, &format!("/attachments/{}?{fields}", made.gid()));
        assert_eq!(one.status, 200, "{token}: {}", one.text);
        let all = world.get(token, &list);
        assert_eq!(all.status, 200, "{token}: {}", all.text);
        let listed = all.json["data"].as_array().unwrap().last().unwrap();
        for shown in [&one.json["data"], listed] {
            for (field, parameter) in [("download_url", "?ticket="), ("view_url", "?view=")] {
                let address = shown[field].as_str().unwrap_or_default();
                assert!(address.contains(parameter), "{token} {field}: {shown}");
            }
        }
    }
}

/// S244.
#[test]
fn a_link_is_connected_to_the_app_that_made_it_and_to_no_other() {
    let world = World::new(Kind::Memory);
    let scopes = "attachments:read,attachments:write,tasks:read";
    let (one, other) = (format!("ada[{scopes}]"), format!("ada[{scopes}]@2"));
    let data = json!({"parent": world.gid("water").to_string(), "resource_subtype": "external",
        "url": "https://files.test/1", "name": "Widget", "connect_to_app": true});
    let made = world.post(&one, "/attachments", data.clone());
    assert_eq!(made.json["data"]["connected_to_app"], true, "{}", made.text);
    let path = format!("/attachments/{}", made.gid());
    for (token, connected) in [(one.as_str(), true), (&other, false), ("ada", false)] {
        let read = world.get(token, &path);
        assert_eq!(read.json["data"]["connected_to_app"], connected, "{token}");
    }
    assert_eq!(world.post("ada", "/attachments", data.clone()).status, 400);
    let mut on_project = data;
    on_project["parent"] = json!(world.gid("garden").to_string());
    assert_eq!(world.post(&one, "/attachments", on_project).status, 400);
}

/// S244. An image in a description is one of the attachments that its reader sees.
#[test]
fn an_image_in_a_description_is_an_attachment_that_its_reader_sees() {
    let world = World::new(Kind::Memory);
    let attach = |on: &str| {
        let parent = part("name=\"parent\"", &world.gid(on).to_string());
        let request = upload(&world, &[parent, file_part("rose.png", "content")]);
        world.send(request).gid()
    };
    let (seen, unseen) = (attach("water"), attach("lichen"));
    let task = format!("/tasks/{}", world.gid("water"));
    let write = |image: &str| {
        let html = format!("<body><img data-asana-gid=\"{image}\"/></body>");
        world.call("ada", "PUT", &task, &json!({ "html_notes": html }))
    };
    let read = |who: &str| {
        let read = world.get(who, &format!("{task}?opt_fields=html_notes"));
        read.json["data"]["html_notes"].as_str().unwrap().to_owned()
    };
    let written = write(&seen);
    assert_eq!(written.status, 200, "{}", written.text);
    for who in ["ada", "mel"] {
        let html = read(who);
        let src = format!("src=\"https://work.test/-/attachments/{seen}\"");
        assert!(
            html.contains(&src) && html.contains("alt=\"rose.png\""),
            "{html}"
        );
    }
    assert_eq!(write(&unseen).status, 200);
    assert!(read("ada").contains("rose.png"));
    let hidden = read("mel");
    assert!(
        hidden.contains("data-asana-deleted=\"true\"") && !hidden.contains("rose"),
        "{hidden}"
    );
    assert_eq!(write("1234567890123456").status, 400);
    let on_task = world.gid("rake").to_string();
    assert!(
        write(&on_task)
            .message()
            .contains("must refer to an attachment")
    );
}
