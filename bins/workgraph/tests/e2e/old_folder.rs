//! Data folders of earlier versions: each opens, answers the same bytes and finishes the jobs that were waiting.
//!
//! A folder under `fixtures/data-folder-*` holds the files that a version left, its database packed, and in
//! `expected.json` the replies that the version sent, with the jobs that were queued. The deadlines of these jobs are in
//! the year 2100: a version gives them some hours.
use crate::common::{Folder, Server, WIDE, is_about_one_node, pause, run};
use flate2::read::GzDecoder;
use serde_json::Value;
use std::fs;
use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

/// Returns the folders of earlier versions.
fn versions() -> Vec<std::path::PathBuf> {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures");
    let entries = fs::read_dir(fixtures).unwrap().map(|entry| entry.unwrap());
    let is_folder = |name: &str| name.starts_with("data-folder-");
    let mut found: Vec<_> = entries
        .filter(|entry| is_folder(&entry.file_name().to_string_lossy()))
        .map(|entry| entry.path())
        .collect();
    found.sort();
    found
}

/// Copies the files of a version to where a server will open them, with the modes that it demands.
fn unpack(version: &Path, folder: &Folder) {
    let data = folder.data();
    fs::create_dir_all(&data).unwrap();
    fs::set_permissions(&data, fs::Permissions::from_mode(0o700)).unwrap();
    for entry in fs::read_dir(version).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        let mut bytes = fs::read(entry.path()).unwrap();
        let target = match name.strip_suffix(".gz") {
            Some(plain) => {
                let packed = std::mem::take(&mut bytes);
                GzDecoder::new(&*packed).read_to_end(&mut bytes).unwrap();
                data.join(plain)
            }
            None => data.join(&name),
        };
        if name != "expected.json" {
            fs::write(&target, bytes).unwrap();
            fs::set_permissions(&target, fs::Permissions::from_mode(0o600)).unwrap();
        }
    }
}

/// Starts a server on a folder, with these settings beside wide limits.
fn start(folder: &Folder, more: &[(&str, &str)]) -> Server {
    Server::start(folder, &[WIDE, more].concat())
}

/// Returns a reply without what earlier versions sent otherwise: the addresses of pages for people, which were those of the
/// API, and the types of stories in lists, which were not sent.
fn comparable(text: &str) -> String {
    let without = |text: &str, begin: &str, end: &str| {
        let mut parts = text.split(begin);
        let first = parts.next().unwrap_or_default().to_owned();
        parts.fold(first, |text, part| {
            let (_, rest) = part.split_once(end).unwrap();
            format!("{text}{begin}{end}{rest}")
        })
    };
    let text = text
        .replace(r#","type":"system""#, "")
        .replace(r#","type":"comment""#, "");
    let text = without(&text, r#""permalink_url":""#, "\"");
    without(&text, r#"href=\""#, r#"\""#)
}

#[test]
fn folders_of_earlier_versions_answer_the_same_bytes_and_finish_their_jobs() {
    if is_about_one_node("data folders of earlier versions") {
        return;
    }
    let versions = versions();
    assert!(!versions.is_empty());
    for version in versions {
        let folder = Folder::new("old-folder");
        unpack(&version, &folder);
        let expected = fs::read(version.join("expected.json")).unwrap();
        let expected: Value = serde_json::from_slice(&expected).unwrap();

        let address = ("public_url", "http://127.0.0.1:8080");
        let server = start(&folder, &[("run_jobs", "false"), address]);
        for reply in expected["replies"].as_array().unwrap() {
            let path = reply["path"].as_str().unwrap();
            let found = server.ask("GET", path, None);
            assert_eq!(u64::from(found.status), reply["status"], "{path}");
            let body = reply["body"].as_str().unwrap();
            assert_eq!(comparable(&found.text()), comparable(body), "{path}");
        }
        drop(server);

        let check = run(&folder, &["check"]);
        let problems = String::from_utf8_lossy(&check.stdout).into_owned();
        assert!(check.status.success(), "{problems}");

        let server = start(&folder, &[]);
        for job in expected["jobs"].as_array().unwrap() {
            let path = format!("/jobs/{}", job.as_str().unwrap());
            let ended = (0..2_000).find_map(|_| {
                let job = server.data("GET", &path, None);
                let ended = matches!(job["status"].as_str(), Some("succeeded" | "failed"));
                if !ended {
                    pause(10);
                }
                ended.then_some(job)
            });
            let status = ended.map(|job| job["status"].clone());
            assert_eq!(status, Some(Value::from("succeeded")), "{path}");
        }
    }
}
