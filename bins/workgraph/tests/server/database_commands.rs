//! Commands of operators that look at a database, beside its nodes.
use crate::common::{Folder, run};
use crate::shared_database::{address, node};
use serde_json::Value;
use workgraph_testkit::PostgresCluster;

/// S940.
#[test]
fn a_database_is_checked_and_digested_beside_its_nodes() {
    let Some(cluster) = PostgresCluster::shared() else {
        return;
    };
    let database = cluster.database();
    let url = address(&database);
    let [a, other, shared] = ["commands-a", "commands-other", "commands-files"].map(Folder::new);
    let on = |data: &Folder, args: &[&str]| {
        let data = data.data();
        let files = shared.0.to_str().unwrap();
        let settings = ["--store", &url, "--data", &data, "--shared-files", files];
        let (done, says) = run(&[args, &settings[..], &["--allow-unsafe-store"]].concat());
        assert!(!says.contains("geheim"), "{says}");
        (done, says)
    };
    for command in [&["check"][..], &["check", "--audit"], &["digest"]] {
        let (done, says) = on(&a, command);
        assert!(!done && says.contains("workgraph migrate"), "{says}");
    }
    let first = node(&a, &shared, &url, true);
    assert_eq!(on(&a, &["check"]), (true, "no problems\n".to_owned()));
    let (sound, says) = on(&a, &["check", "--audit", "--json"]);
    let report: Value = serde_json::from_str(&says).unwrap();
    assert!(
        sound && report["sound"] == true && report["rows"].as_u64() > Some(0),
        "{says}"
    );
    let (done, says) = on(&other, &["check", "--audit"]);
    assert!(!done && says.contains("copy keys.json"), "{says}");
    let table = |digest: &Value, name: &str| -> Value {
        let tables = digest["tables"].as_array().unwrap();
        tables
            .iter()
            .find(|table| table["table"] == name)
            .cloned()
            .unwrap()
    };
    let digest = || -> Value {
        let (done, says) = on(&other, &["digest", "--json"]);
        assert!(done, "{says}");
        serde_json::from_str(&says).unwrap()
    };
    let serving = digest();
    first.stop();
    let stopped = digest();
    assert_eq!(table(&serving, "node"), table(&stopped, "node"));

    std::fs::create_dir_all(shared.0.join("attachments/0a")).unwrap();
    std::fs::write(shared.0.join("attachments/0a/12"), "content").unwrap();
    assert_eq!(digest()["folders"][0]["files"][0]["name"], "0a/12");
    // A copy in a folder has the same digests.
    let moved = other.data();
    let to = ["--to", &moved];
    let (done, says) = run(&[&["move", "--unsafe-database", "--from", &url], &to[..]].concat());
    assert!(
        !done && says.contains("name the data folder of a node"),
        "{says}"
    );
    let of_node = ["--data", &a.data()];
    let from = [
        &["move", "--unsafe-database", "--from", &url],
        &to[..],
        &of_node,
    ];
    let (done, says) = run(&from.concat());
    assert!(done, "{says}");
    let (done, says) = run(&["digest", "--json", "--data", &moved]);
    let copy: Value = serde_json::from_str(&says).unwrap();
    assert!(done && copy["tables"] == digest()["tables"], "{says}");
    assert_eq!(copy["digest"], digest()["digest"]);

    database.sql(
        "UPDATE audit SET body = body || ' ' WHERE seq = 2; \
         UPDATE node SET body = '{' WHERE gid = (SELECT min(gid) FROM node WHERE kind = 9)",
    );
    assert_ne!(digest()["digest"], copy["digest"]);
    let (sound, says) = on(&a, &["check"]);
    assert!(!sound && says.contains("problem"), "{says}");
    assert!(!on(&a, &["check", "--json"]).0);
    assert!(!on(&a, &["check", "--audit"]).0);
}
