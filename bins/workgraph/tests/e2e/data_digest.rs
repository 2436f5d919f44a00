//! Digests of data folders.
use crate::common::{Folder, Server, WIDE, is_about_one_node, run};
use serde_json::Value;

fn digest(folder: &Folder) -> Value {
    let done = run(folder, &["digest", "--json"]);
    let text = String::from_utf8_lossy(&done.stdout);
    assert!(
        done.status.success(),
        "{text} {}",
        String::from_utf8_lossy(&done.stderr)
    );
    serde_json::from_str(&text).unwrap()
}

/// S935.
#[test]
fn copies_have_equal_digests_beside_a_running_server_too() {
    if is_about_one_node("copies of a data folder") {
        return;
    }
    let (folder, other) = (Folder::new("digest"), Folder::new("digest-copy"));
    let mut server = Server::start(&folder, WIDE);
    let user = server.data("GET", "/users/me", None);
    assert!(user["gid"].is_string());
    let before = digest(&folder);
    assert!(before["tables"].as_array().unwrap().len() > 15);
    server.stop();
    // A sound stop changes nothing but what it signs.
    let stopped = digest(&folder);
    std::fs::create_dir_all(other.data().join("attachments/0a")).unwrap();
    std::fs::copy(
        folder.data().join("workgraph.db"),
        other.data().join("workgraph.db"),
    )
    .unwrap();
    let node = |digest: &Value| {
        let tables = digest["tables"].as_array().unwrap();
        tables
            .iter()
            .find(|table| table["table"] == "node")
            .cloned()
            .unwrap()
    };
    let copy = digest(&other);
    assert_eq!(copy["tables"], stopped["tables"]);
    assert_eq!(copy["digest"], stopped["digest"]);
    assert_eq!(node(&before), node(&copy));

    std::fs::write(other.data().join("attachments/0a/12"), "content").unwrap();
    std::fs::write(other.data().join("attachments/0a/13.part"), "unfinished").unwrap();
    let with_file = digest(&other);
    assert_eq!(with_file["digest"], copy["digest"]);
    assert_ne!(with_file["folders"], copy["folders"]);
    let files = with_file["folders"][0]["files"].as_array().unwrap();
    assert_eq!(files.len(), 1, "{files:?}");
    assert_eq!(files[0]["name"], "0a/12");

    let text = run(&other, &["digest"]);
    let text = String::from_utf8_lossy(&text.stdout).into_owned();
    let total = with_file["digest"].as_str().unwrap();
    assert!(
        text.contains("all tables") && text.contains(total),
        "{text}"
    );

    let missing = Folder::new("digest-missing");
    let refused = run(&missing, &["digest"]);
    assert!(!refused.status.success());
    assert!(String::from_utf8_lossy(&refused.stderr).contains("can't be opened"));
}
