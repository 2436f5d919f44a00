//! An attacker with the rows and the stored checkpoints, but without the key and the anchors, is detected: edits, gaps, a cut
//! tail and whole rewrites, 1,000 of each. Deliberately broken inspections miss some.
#![expect(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "helpers of tests may"
)]
use workgraph_audit::{
    ChainPosition, Checkpoint, CheckpointKey, Finding, InspectionReport, LogInspector,
};

/// Trials of each kind of tampering.
const TRIALS: u64 = 1_000;

/// Pseudo-random numbers, the same each time (xorshift).
struct TestRng(u64);

impl TestRng {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % end as u64) as usize
    }
}

#[derive(Clone)]
struct Row {
    seq: u64,
    content: Vec<u8>,
    digest: Vec<u8>,
}

/// The data that the attacker has; the anchors are elsewhere.
#[derive(Clone)]
struct Log {
    rows: Vec<Row>,
    kept: Vec<String>,
    /// The index of the last signed row.
    signed: usize,
    base: ChainPosition,
}

fn key() -> CheckpointKey {
    CheckpointKey::from_seed(&[3; 32]).unwrap()
}

/// Creates a log with a checkpoint every few rows, rows after the last one, and in some cases dropped rows.
fn make(rng: &mut TestRng) -> (Log, Vec<String>) {
    let (key, mut head, mut base) = (key(), ChainPosition::START, ChainPosition::START);
    let mut log = Log {
        rows: Vec::new(),
        kept: Vec::new(),
        signed: 0,
        base,
    };
    let mut anchored = Vec::new();
    for at in 0..3 + rng.below(6) {
        for _ in 0..1 + rng.below(8) {
            let content = format!("row {} {}", head.seq + 1, rng.below(1_000)).into_bytes();
            head = head.next(&content);
            let digest = head.digest.to_vec();
            log.rows.push(Row {
                seq: head.seq,
                content,
                digest,
            });
        }
        if at == 1 && rng.below(2) == 0 {
            // The first rows are old enough.
            let last = log.rows.remove(0);
            base = ChainPosition::START.next(&last.content);
        }
        let checkpoint = Checkpoint {
            signed_at_ms: at as u64,
            base,
            head,
        };
        let line = key.sign(&checkpoint);
        log.kept.push(line.clone());
        anchored.push(line);
        log.signed = log.rows.len();
        log.base = base;
    }
    for _ in 0..rng.below(4) {
        head = head.next(b"late");
        log.rows.push(Row {
            seq: head.seq,
            content: b"late".to_vec(),
            digest: head.digest.to_vec(),
        });
    }
    (log, anchored)
}

/// Recomputes numbers and digests from a row on, so that they are consistent again.
fn chain_anew(log: &mut Log, from: usize) {
    let mut mark = match from.checked_sub(1).and_then(|at| log.rows.get(at)) {
        Some(row) => ChainPosition {
            seq: row.seq,
            digest: row.digest.clone().try_into().unwrap(),
        },
        None => log.base,
    };
    for row in log.rows.iter_mut().skip(from) {
        mark = mark.next(&row.content);
        (row.seq, row.digest) = (mark.seq, mark.digest.to_vec());
    }
}

/// Signs the head of the log with a key of the attacker.
fn sign_anew(log: &mut Log) {
    let own = CheckpointKey::from_seed(&[66; 32]).unwrap();
    let last = log.rows.last().unwrap();
    let head = ChainPosition {
        seq: last.seq,
        digest: last.digest.clone().try_into().unwrap(),
    };
    let base = log.base;
    log.kept.pop();
    log.kept.push(own.sign(&Checkpoint {
        signed_at_ms: 9,
        base,
        head,
    }));
}

fn edit(log: &mut Log, rng: &mut TestRng) {
    let at = rng.below(log.signed);
    let row = &mut log.rows[at];
    match rng.below(3) {
        0 => row.content.push(b'!'),
        1 => {
            let byte = rng.below(row.content.len());
            row.content[byte] ^= 1 << rng.below(7);
        }
        _ => {
            // With a digest that fits the row, as far as it goes.
            row.content.push(b'!');
            let before = at.checked_sub(1).map(|at| &log.rows[at]);
            let digest = match before {
                Some(row) => row.digest.clone().try_into().unwrap(),
                None => log.base.digest,
            };
            let seq = log.rows[at].seq - 1;
            log.rows[at].digest = ChainPosition { seq, digest }
                .next(&log.rows[at].content)
                .digest
                .to_vec();
        }
    }
}

fn gap(log: &mut Log, rng: &mut TestRng) {
    // The last row stays: removing it would be a cut.
    let from = rng.below(log.signed - 1);
    let to = from + 1 + rng.below(log.signed - 1 - from);
    log.rows.drain(from..to);
    if rng.below(3) == 0 {
        for (row, seq) in log
            .rows
            .iter_mut()
            .skip(from)
            .zip(log.base.seq + from as u64 + 1..)
        {
            row.seq = seq;
        }
    }
}

fn cut(log: &mut Log, rng: &mut TestRng) {
    log.rows.truncate(rng.below(log.signed));
    if rng.below(2) == 0 {
        let stays = rng.below(log.kept.len());
        log.kept.truncate(stays);
    }
}

fn rewrite(log: &mut Log, rng: &mut TestRng) {
    let at = rng.below(log.signed);
    match rng.below(3) {
        0 => log.rows[at].content.push(b'!'),
        1 if log.rows.len() > 1 => drop(log.rows.remove(at)),
        _ => {
            let mut new = log.rows[at].clone();
            new.content.push(b'!');
            log.rows.insert(at, new);
        }
    }
    chain_anew(log, at);
    match rng.below(3) {
        0 => {}
        1 => log.kept.clear(),
        _ => sign_anew(log),
    }
}

fn inspect(log: &Log, anchored: &[String]) -> InspectionReport {
    let mut seen = LogInspector::new(&key().public(), &log.kept, anchored);
    for row in &log.rows {
        seen.row(row.seq, &row.content, &row.digest);
    }
    seen.finish()
}

type Tampering = (&'static str, fn(&mut Log, &mut TestRng));
const ALL: [Tampering; 4] = [
    ("edit", edit),
    ("gap", gap),
    ("tail cut", cut),
    ("whole rewrite", rewrite),
];

/// Returns the number of trials in which `judge` misses the tampering.
fn missed(tamper: fn(&mut Log, &mut TestRng), judge: impl Fn(&Log, &[String]) -> bool) -> usize {
    let trial = |seed: u64| {
        let mut rng = TestRng(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let (mut log, anchored) = make(&mut rng);
        tamper(&mut log, &mut rng);
        judge(&log, &anchored)
    };
    (0..TRIALS).filter(|seed| !trial(*seed)).count()
}

#[test]
fn a_log_that_was_left_alone_is_sound() {
    let found = missed(
        |_, _| {},
        |log, anchored| {
            let report = inspect(log, anchored);
            assert_eq!(report.findings, []);
            assert_eq!(report.covered, log.rows[log.signed - 1].seq);
            true
        },
    );
    assert_eq!(found, 0);
}

/// B65.
#[test]
fn every_tampering_before_the_last_checkpoint_is_found() {
    for (name, tamper) in ALL {
        let missed = missed(tamper, |log, anchored| {
            !inspect(log, anchored).findings.is_empty()
        });
        assert_eq!(missed, 0, "{name}: {missed} of {TRIALS} were not found");
    }
}

/// Returns the result of an inspection that ignores some findings.
fn blind(log: &Log, anchored: &[String], to: fn(&Finding) -> bool) -> bool {
    inspect(log, anchored).findings.iter().any(|f| !to(f))
}

#[test]
fn an_inspection_that_ignores_something_misses_something() {
    let no_digests = missed(edit, |log, anchored| {
        blind(log, anchored, |f| matches!(f, Finding::Edited { .. }))
    });
    let no_order = missed(gap, |log, anchored| {
        blind(log, anchored, |f| matches!(f, Finding::Gap { .. }))
    });
    let no_end = missed(cut, |log, anchored| {
        blind(log, anchored, |f| {
            matches!(
                f,
                Finding::Truncated { .. } | Finding::CheckpointMissing { .. }
            )
        })
    });
    let no_anchors = missed(cut, |log, _| !inspect(log, &[]).findings.is_empty());
    let no_signatures = missed(rewrite, |log, _| {
        let unsigned = Log {
            kept: Vec::new(),
            ..log.clone()
        };
        !inspect(&unsigned, &[]).findings.is_empty()
    });
    for (twin, missed) in [
        ("digests", no_digests),
        ("order", no_order),
        ("the end", no_end),
        ("anchors", no_anchors),
        ("signatures", no_signatures),
    ] {
        assert!(missed > 0, "an inspection without {twin} finds everything");
    }
}

#[test]
fn what_happens_after_the_last_checkpoint_is_not_covered() {
    let mut rng = TestRng(5);
    let (mut log, anchored) = make(&mut rng);
    let covered = inspect(&log, &anchored).covered;
    log.rows.truncate(log.signed);
    let report = inspect(&log, &anchored);
    assert_eq!((report.covered, report.findings.len()), (covered, 0));
}
