//! A log with a row that somebody changed: `cargo run -p workgraph-audit --example tampered_log`
use std::error::Error;

use workgraph_audit::{ChainPosition, Checkpoint, CheckpointKey, LogInspector};

fn main() -> Result<(), Box<dyn Error>> {
    let key = CheckpointKey::from_seed(&[7; 32])?; // 32 secret random bytes in earnest
    let mut rows = vec!["Ada signed in", "Ada made a token", "Bob signed in"];
    let mut head = ChainPosition::START;
    let mut digests = Vec::new();
    for row in &rows {
        head = head.next(row.as_bytes());
        digests.push(head.digest);
    }
    let checkpoint = Checkpoint {
        signed_at_ms: 1_800_000_000_000,
        base: ChainPosition::START,
        head,
    };
    let line = key.sign(&checkpoint);
    println!("the line to keep elsewhere: {line}");

    for tampered in [false, true] {
        if let Some(row) = rows.get_mut(1).filter(|_| tampered) {
            *row = "Eve made a token";
        }
        let mut inspector = LogInspector::new(&key.public(), std::slice::from_ref(&line), &[]);
        for ((number, row), digest) in (1..).zip(&rows).zip(&digests) {
            inspector.row(number, row.as_bytes(), digest);
        }
        let findings = inspector.finish().findings;
        assert_eq!(findings.is_empty(), !tampered);
        findings.iter().for_each(|finding| println!("{finding}"));
    }
    Ok(())
}
