//! Tampering with the audit log in the database: edits, gaps, a cut tail and whole rewrites are detected.
use crate::support::{TestStore, empty_store};
use workgraph_audit::{
    AuditLogStore, Checkpoint, CheckpointKey, InspectionReport, StoredCheckpoint,
};
use workgraph_auth::conformance::block_on;
use workgraph_core::access::Role;
use workgraph_core::model::time::Time;
use workgraph_core::storage::GraphStore;
use workgraph_testkit::Fixture;
use workgraph_testkit::random_histories::cases;

/// Number of trials of each kind of tampering.
const TRIALS: u32 = 8;

/// Copies of both tables, and a function that recomputes the digests from a row on, so that the chain is consistent again.
const PREPARE: &str = "CREATE TABLE audit_copy AS SELECT * FROM audit; \
    CREATE TABLE checkpoint_copy AS SELECT * FROM checkpoint; \
    CREATE FUNCTION chain_anew(first bigint) RETURNS void LANGUAGE plpgsql AS $$ \
    DECLARE r record; before bytea; n bigint; \
    BEGIN \
        SELECT seq, digest INTO n, before FROM audit WHERE seq < first ORDER BY seq DESC LIMIT 1; \
        IF NOT FOUND THEN n := first - 1; before := decode(repeat('00', 32), 'hex'); END IF; \
        FOR r IN SELECT * FROM audit WHERE seq >= first ORDER BY seq LOOP \
            n := n + 1; \
            before := sha256(convert_to('workgraph audit row 1', 'UTF8') || '\\x00'::bytea || before || int8send(n) \
                || int8send(r.gid) || int8send(r.at) || int8send(r.home) || int8send(r.kind) \
                || int8send(r.actor_type) || int8send(r.resource) || int8send((r.actor IS NOT NULL)::int::bigint) \
                || int8send(coalesce(r.actor, 0)) || convert_to(r.body, 'UTF8')); \
            UPDATE audit SET seq = n, digest = before WHERE gid = r.gid; \
        END LOOP; \
    END $$";
const RESTORE: &str = "DELETE FROM audit; INSERT INTO audit SELECT * FROM audit_copy; \
    DELETE FROM checkpoint; INSERT INTO checkpoint SELECT * FROM checkpoint_copy; ";

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

/// Creates a store with signed rows, some of which were dropped for their age. Returns the anchored lines, and the numbers of the
/// first row, the last signed one and the last one.
fn signed() -> Option<(TestStore, Vec<String>, [u64; 3])> {
    let made = empty_store()?;
    let store = &made.store;
    let mut fixture = Fixture::default();
    let acme = fixture.workspace("Acme");
    let ann = fixture.member(acme, "Ann", Role::Admin);
    block_on(store.commit(fixture.take())).unwrap();
    let (mut anchored, mut first) = (Vec::new(), 1);
    let mut progress = block_on(store.progress()).unwrap();
    for n in 0..30 {
        fixture.team(acme, &format!("team {n}"), ann);
        block_on(store.commit(fixture.take())).unwrap();
        if n % 8 != 7 {
            continue;
        }
        let now = block_on(store.progress()).unwrap();
        // Once, the rows signed before become old.
        let base = if n == 15 {
            progress.head
        } else {
            workgraph_audit::ChainPosition::START
        };
        if n == 15 {
            let old = block_on(store.prunable_rows(Time::MAX.to_system())).unwrap();
            assert_eq!(
                old.map(|old| old.seq),
                Some(now.head.seq - 1),
                "all but the last"
            );
            first = base.seq + 1;
        }
        let line = key().sign(&Checkpoint {
            signed_at_ms: n,
            base,
            head: now.head,
        });
        let checkpoint = |previous: &Option<String>| StoredCheckpoint {
            previous: previous.clone(),
            line: line.clone(),
            head: now.head.seq,
            base: base.seq,
        };
        let other = Some("of another node".to_owned());
        assert!(!block_on(store.store_checkpoint(checkpoint(&other))).unwrap());
        assert!(block_on(store.store_checkpoint(checkpoint(&now.checkpoint))).unwrap());
        anchored.push(line);
        progress = now;
    }
    let last = block_on(store.progress()).unwrap().head.seq;
    Some((made, anchored, [first, progress.head.seq, last]))
}

fn edit(rng: &mut TestRng, [first, signed, _]: [u64; 3]) -> String {
    let row = first + rng.below(signed + 1 - first);
    let changes = [
        "body = replace(body, 'team', 'Team')",
        "body = body || ' '",
        "at = at + 1",
        "kind = 81 - (kind = 81)::int",
        "actor = 77",
        "actor_type = 2 + (actor_type = 2)::int",
        "home = home + 1",
        "resource = resource + 1",
        "gid = gid + 1000000000000",
        "digest = decode(repeat('00', 32), 'hex')",
        "kind = 255",
        "home = -1",
    ];
    let change = changes[usize::try_from(rng.below(12)).unwrap()];
    format!("UPDATE audit SET {change} WHERE seq = {row}")
}

fn gap(rng: &mut TestRng, [first, signed, _]: [u64; 3]) -> String {
    let from = first + rng.below(signed - first);
    let to = from + rng.below(signed - from);
    format!("DELETE FROM audit WHERE seq BETWEEN {from} AND {to}")
}

fn cut(rng: &mut TestRng, [first, signed, _]: [u64; 3]) -> String {
    let from = first + rng.below(signed + 1 - first);
    let mut sql = format!("DELETE FROM audit WHERE seq >= {from}");
    if rng.below(2) == 0 {
        sql.push_str(&format!("; DELETE FROM checkpoint WHERE seq >= {from}"));
    }
    sql
}

fn rewrite(rng: &mut TestRng, [first, signed, last]: [u64; 3]) -> String {
    let from = first + rng.below(signed + 1 - first);
    let change = if rng.below(2) == 0 || from == last {
        format!("UPDATE audit SET body = body || ' ' WHERE seq = {from}")
    } else {
        format!("DELETE FROM audit WHERE seq = {from}")
    };
    let checkpoints = if rng.below(2) == 0 {
        "; DELETE FROM checkpoint"
    } else {
        ""
    };
    format!("{change}; SELECT chain_anew({from}){checkpoints}")
}

type Tampering = (&'static str, fn(&mut TestRng, [u64; 3]) -> String);

/// B65. An attacker with the database, but without the key and the anchors.
#[test]
fn every_tampering_with_the_log_is_found() {
    let Some((made, anchored, bounds)) = signed() else {
        return;
    };
    let inspect = |anchored: &[String]| -> InspectionReport {
        block_on(
            made.store
                .database()
                .inspect_audit(&key().public(), anchored),
        )
        .unwrap()
    };
    made.database.sql(PREPARE);
    // Recomputing the digests without any change gives the same ones: the attacker computes them correctly.
    made.database
        .sql(&format!("SELECT chain_anew({})", bounds[0] + 1));
    let report = inspect(&anchored);
    assert_eq!((report.findings, report.covered), (vec![], bounds[1]));
    assert_eq!(
        block_on(made.store.database().check()).unwrap(),
        Vec::<String>::new()
    );
    let all: [Tampering; 4] = [
        ("edit", edit),
        ("gap", gap),
        ("tail cut", cut),
        ("whole rewrite", rewrite),
    ];
    for (name, tamper) in all {
        let (mut unseen, trials) = ((0, 0), u64::from(cases(TRIALS)));
        for trial in 0..trials {
            let mut rng = TestRng((trial + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
            let tampering = tamper(&mut rng, bounds);
            made.database.sql(&format!("{RESTORE}{tampering}"));
            unseen.0 += u64::from(inspect(&anchored).findings.is_empty());
            unseen.1 += u64::from(inspect(&[]).findings.is_empty());
        }
        assert_eq!(unseen.0, 0, "{name}: of {trials}");
        // The deliberately broken inspection ignores the anchors: it misses a log whose end was cut off together with the
        // checkpoints that signed it. It detects rewrites, since this log begins with a signed row.
        assert_eq!(unseen.1 > 0, name == "tail cut", "{name}");
    }
}
