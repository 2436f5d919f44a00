//! Checks of the store itself: contradictions between rows, and tampering with the audit log.
use crate::scene::{DATABASE, Scene};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use std::collections::BTreeSet;
use tokio::runtime::Runtime;
use workgraph_audit::CheckpointKey;
use workgraph_store_postgres::server_nodes::shared_values;
use workgraph_store_postgres::{DatabaseOptions, PostgresStore};
use workgraph_wire::{KeyRing, sealed_secret};

/// Returns what is wrong with the store.
pub(crate) fn problems(scene: &Scene) -> Vec<String> {
    let runtime = Runtime::new().unwrap();
    let options = DatabaseOptions {
        accept_unsafe_server: true,
        ..DatabaseOptions::new(scene.primary.url(DATABASE))
    };
    runtime.block_on(async {
        let opened = PostgresStore::open(options, runtime.handle().clone());
        let store = opened.await.unwrap();
        let mut problems = store.database().check().await.unwrap();
        let value = shared_values::read(store.database(), "audit-key")
            .await
            .unwrap();
        let sealed = value.unwrap().content;
        let key = sealed_secret::open(&keys(scene), "shared value audit-key", &sealed).unwrap();
        let key: Value = serde_json::from_str(&key).unwrap();
        let seed = STANDARD.decode(key["seed"].as_str().unwrap()).unwrap();
        let key = CheckpointKey::from_seed(&seed.try_into().unwrap()).unwrap();
        let report = store
            .database()
            .inspect_audit(&key.public(), &anchors(scene))
            .await
            .unwrap();
        problems.extend(report.findings.iter().map(ToString::to_string));
        problems
    })
}

/// Returns the keys of the nodes.
fn keys(scene: &Scene) -> KeyRing {
    let file = std::fs::read(scene.nodes[0].data().join("keys.json")).unwrap();
    let file: Value = serde_json::from_slice(&file).unwrap();
    let mut ring: Option<KeyRing> = None;
    for (kid, key) in file["keys"].as_object().unwrap() {
        let kid = kid.parse().unwrap();
        let digit = |at: usize| u8::from_str_radix(&key.as_str().unwrap()[at..at + 2], 16).unwrap();
        let key: [u8; 32] = std::array::from_fn(|at| digit(2 * at));
        match &mut ring {
            Some(ring) => ring.add(kid, key).unwrap(),
            None => ring = Some(KeyRing::new(kid, key)),
        }
    }
    ring.unwrap()
}

/// Returns the checkpoints that nodes have anchored, each in a file of its own, in the order of their rows.
fn anchors(scene: &Scene) -> Vec<String> {
    let mut lines = BTreeSet::new();
    for node in &scene.nodes {
        let text = std::fs::read_to_string(node.data().join("audit-anchors"));
        lines.extend(text.unwrap_or_default().lines().map(str::to_owned));
    }
    lines.into_iter().collect()
}
