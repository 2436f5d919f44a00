//! Tampering with the file: edits, gaps, a cut tail and whole rewrites.
use super::open;
use rusqlite::Connection;
use std::path::Path;
use workgraph_audit::{
    AuditLogStore, ChainPosition, Checkpoint, CheckpointKey, InspectionReport, StoredCheckpoint,
};
use workgraph_auth::conformance::block_on;
use workgraph_core::access::Role;
use workgraph_core::audit::digest_input;
use workgraph_core::storage::GraphStore;
use workgraph_store_sqlite::SqliteStore;
use workgraph_testkit::random_histories::cases;
use workgraph_testkit::{Fixture, ScratchFolder};

/// Number of trials of each kind of tampering; `WORKGRAPH_CASES` multiplies it.
const TRIALS: u32 = 250;

fn key() -> CheckpointKey {
    CheckpointKey::from_seed(&[5; 32]).unwrap()
}

/// Generator of pseudo-random numbers, the same each time (xorshift).
struct TestRng(u64);

impl TestRng {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }
}

/// Creates a file with signed rows, some of which were dropped for their age. Returns the anchored lines, and the numbers of the
/// first row, the last signed one and the last one.
fn signed(path: &Path) -> (Vec<String>, [u64; 3]) {
    let store = open(path);
    let mut fixture = Fixture::default();
    let acme = fixture.workspace("Acme");
    let ann = fixture.member(acme, "Ann", Role::Admin);
    block_on(store.commit(fixture.take())).unwrap();
    let (mut anchored, mut base, mut signed) = (Vec::new(), ChainPosition::START, 0);
    for n in 0..60 {
        fixture.team(acme, &format!("team {n}"), ann);
        block_on(store.commit(fixture.take())).unwrap();
        if n % 8 == 7 {
            let tail = block_on(store.progress()).unwrap();
            let head = tail.head;
            if n == 23 {
                let conn = Connection::open(path.join("workgraph.db")).unwrap();
                let old = "SELECT seq, digest FROM audit ORDER BY seq LIMIT 1 OFFSET 9";
                base = conn
                    .query_row(old, [], |row| {
                        let seq: i64 = row.get(0)?;
                        let digest = row.get(1)?;
                        Ok(ChainPosition {
                            seq: seq.cast_unsigned(),
                            digest,
                        })
                    })
                    .unwrap();
            }
            let at = n;
            let line = key().sign(&Checkpoint {
                signed_at_ms: at,
                base,
                head,
            });
            let checkpoint = StoredCheckpoint {
                previous: tail.checkpoint,
                line: line.clone(),
                head: head.seq,
                base: base.seq,
            };
            assert!(block_on(store.store_checkpoint(checkpoint)).unwrap());
            anchored.push(line);
            signed = head.seq;
        }
    }
    let last = block_on(store.progress()).unwrap().head.seq;
    (anchored, [base.seq + 1, signed, last])
}

fn inspect(path: &Path, anchored: &[String]) -> InspectionReport {
    let store = SqliteStore::open_read_only(path).unwrap();
    store.inspect_audit(&key().public(), anchored).unwrap()
}

/// Recomputes the digests from a row on, so that the chain is consistent again.
fn chain_anew(conn: &Connection, from: u64) {
    let read = "SELECT seq, digest FROM audit WHERE seq < ?1 ORDER BY seq DESC LIMIT 1";
    let before = conn.query_row(read, [from.cast_signed()], |row| {
        let (seq, digest): (i64, _) = (row.get(0)?, row.get(1)?);
        Ok(ChainPosition {
            seq: seq.cast_unsigned(),
            digest,
        })
    });
    let mut mark = before.unwrap_or(ChainPosition {
        seq: from - 1,
        digest: [0; 32],
    });
    let all = "SELECT gid, at, home, kind, actor_type, resource, actor, body FROM audit WHERE seq >= ?1 ORDER BY seq";
    let mut rows = conn.prepare(all).unwrap();
    let rows = rows.query_map([from.cast_signed()], |row| {
        let numbers = [
            row.get(0)?,
            row.get(1)?,
            row.get(2)?,
            row.get(3)?,
            row.get(4)?,
            row.get(5)?,
        ];
        Ok((
            numbers,
            row.get::<_, Option<i64>>(6)?,
            row.get::<_, String>(7)?,
        ))
    });
    let rows: Vec<_> = rows.unwrap().map(Result::unwrap).collect();
    for (numbers, actor, body) in rows {
        mark = mark.next(&digest_input(numbers, actor, &body));
        conn.execute(
            "UPDATE audit SET seq = ?2, digest = ?3 WHERE gid = ?1",
            (numbers[0], mark.seq.cast_signed(), mark.digest),
        )
        .unwrap();
    }
}

fn edit(conn: &Connection, rng: &mut TestRng, [first, signed, _]: [u64; 3]) {
    let row = (first + rng.below(signed + 1 - first)).cast_signed();
    let changes = [
        "body = replace(body, 'team', 'Team')",
        "body = body || ' '",
        "at = at + 1",
        "kind = 81 - (kind = 81)",
        "actor = 77",
        "actor_type = 2 + (actor_type = 2)",
        "home = home + 1",
        "resource = resource + 1",
        "gid = gid + 1000000000000",
        "digest = zeroblob(32)",
        "kind = 255",
        "home = -1",
    ];
    let change = changes[usize::try_from(rng.below(12)).unwrap()];
    conn.execute(&format!("UPDATE audit SET {change} WHERE seq = ?1"), [row])
        .unwrap();
}

fn gap(conn: &Connection, rng: &mut TestRng, [first, signed, _]: [u64; 3]) {
    let from = first + rng.below(signed - first);
    let to = from + rng.below(signed - from);
    conn.execute(
        "DELETE FROM audit WHERE seq BETWEEN ?1 AND ?2",
        (from.cast_signed(), to.cast_signed()),
    )
    .unwrap();
}

fn cut(conn: &Connection, rng: &mut TestRng, [first, signed, _]: [u64; 3]) {
    let from = (first + rng.below(signed + 1 - first)).cast_signed();
    conn.execute("DELETE FROM audit WHERE seq >= ?1", [from])
        .unwrap();
    if rng.below(2) == 0 {
        conn.execute("DELETE FROM checkpoint WHERE seq >= ?1", [from])
            .unwrap();
    }
}

fn rewrite(conn: &Connection, rng: &mut TestRng, [first, signed, last]: [u64; 3]) {
    let from = first + rng.below(signed + 1 - first);
    let row = from.cast_signed();
    if rng.below(2) == 0 || from == last {
        conn.execute("UPDATE audit SET body = body || ' ' WHERE seq = ?1", [row])
            .unwrap();
    } else {
        conn.execute("DELETE FROM audit WHERE seq = ?1", [row])
            .unwrap();
    }
    chain_anew(conn, from);
    match rng.below(3) {
        0 => {}
        1 => drop(conn.execute("DELETE FROM checkpoint", []).unwrap()),
        _ => {
            let own = CheckpointKey::from_seed(&[66; 32]).unwrap();
            let head = ChainPosition {
                seq: last,
                digest: [1; 32],
            };
            let line = own.sign(&Checkpoint {
                signed_at_ms: 9,
                base: ChainPosition::START,
                head,
            });
            conn.execute("UPDATE checkpoint SET line = ?1", [line])
                .unwrap();
        }
    }
}

type Tampering = (&'static str, fn(&Connection, &mut TestRng, [u64; 3]));

/// B65. An attacker with the file, but without the key and the anchors.
#[test]
fn every_tampering_with_the_file_is_found() {
    let made = ScratchFolder::in_memory("signed");
    let (anchored, bounds) = signed(made.path());
    let report = inspect(made.path(), &anchored);
    assert_eq!((report.findings.len(), report.covered), (0, bounds[1]));
    let copy = ScratchFolder::in_memory("tampered");
    let file = std::fs::read(made.join("workgraph.db")).unwrap();
    let all: [Tampering; 4] = [
        ("edit", edit),
        ("gap", gap),
        ("tail cut", cut),
        ("whole rewrite", rewrite),
    ];
    for (name, tamper) in all {
        let (mut unseen, trials) = ((0, 0), u64::from(cases(TRIALS)));
        for trial in 0..trials {
            let mut rng = TestRng(trial.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
            std::fs::write(copy.join("workgraph.db"), &file).unwrap();
            let conn = Connection::open(copy.join("workgraph.db")).unwrap();
            conn.execute_batch("PRAGMA synchronous = OFF").unwrap();
            tamper(&conn, &mut rng, bounds);
            drop(conn);
            let found = |anchored| !inspect(copy.path(), anchored).findings.is_empty();
            unseen.0 += u64::from(!found(&anchored));
            if trial < 50 {
                unseen.1 += u64::from(!found(&[]));
            }
        }
        assert_eq!(unseen.0, 0, "{name}: of {trials}");
        // The deliberately broken inspection ignores the anchors: it misses a log whose end was cut off together with the
        // checkpoints that signed it. It detects rewrites, since this log begins with a signed row.
        assert_eq!(unseen.1 > 0, name == "tail cut", "{name}");
    }
}
