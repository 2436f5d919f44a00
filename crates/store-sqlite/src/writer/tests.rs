//! Batches: if one fails, it fails as a whole, and the next one works.
use super::write_job::attempt;
use super::*;
use crate::cache::{Invalidations, StoreCaches};
use crate::migrations::migrate;
use crate::tables::audit_log_table::HandleActor;
use crate::tables::{auth_reads, auth_writes};
use crate::transaction::SqliteTransaction;
use std::time::SystemTime;
use tokio::sync::oneshot;
use workgraph_auth::rules::{self, AuthDecisionResult};
use workgraph_auth::{Account, SecretDigest, Tier, TokenRecord};
use workgraph_core::model::draft::Draft;
use workgraph_core::model::gid::Gid;
use workgraph_core::model::registry::Type;
use workgraph_core::model::resources::task;
use workgraph_core::storage::{DecisionReads, FactKey, Guard, NodeWrite};

type Answer<T, E> = oneshot::Receiver<Result<T, E>>;

fn graph(changes: Changes) -> (WriteJob, Answer<CommitReceipt, GraphStoreError>) {
    let (task, answer) = PendingWrite::new(changes);
    (WriteJob::Graph(Box::new(task)), answer)
}

/// Returns the job of a decision that reads the account of user 7.
fn decision<T: Send + 'static>(
    decide: impl Fn(Option<&Account>) -> AuthDecisionResult<T> + Send + 'static,
) -> (WriteJob, Answer<T, AuthStoreError>) {
    let (task, answer) = PendingWrite::new(move |tx: &mut SqliteTransaction<'_>| {
        let decision = decide(auth_reads::account(tx, 7)?.as_ref())?;
        auth_writes::apply(tx, &HandleActor::default(), decision)
    });
    (WriteJob::Other(Box::new(task)), answer)
}

fn put_account() -> (WriteJob, Answer<(), AuthStoreError>) {
    decision(|_| Ok(rules::set_tier(7, Tier::DEFAULT)))
}

/// Returns the changes that create a task of this many bytes.
fn large(gid: u64, bytes: usize) -> Changes {
    let mut draft = Draft::new(Type::Task, Gid::new(gid).unwrap(), None);
    draft.set(task::NOTES, "x".repeat(bytes).as_str());
    Changes {
        node_writes: vec![NodeWrite {
            node: draft.finish(),
        }],
        ..Changes::default()
    }
}

fn memory() -> Connection {
    let conn = Connection::open_in_memory().unwrap();
    migrate(&conn).unwrap();
    conn
}

fn finish(conn: &Connection, jobs: Vec<WriteJob>) -> Result<Invalidations, String> {
    finish_with(conn, &mut None, jobs)
}

/// Finishes jobs after commits that touched what is in the log.
fn finish_with(
    conn: &Connection,
    log: &mut Option<TouchLog>,
    mut jobs: Vec<WriteJob>,
) -> Result<Invalidations, String> {
    let caches = StoreCaches::new(&StoreOptions::default());
    let done = write(conn, &caches, log, &mut jobs);
    let failure = done.as_ref().err().cloned();
    if !conn.is_autocommit() {
        conn.execute_batch("ROLLBACK").unwrap();
    }
    for job in jobs {
        job.answer(failure.as_deref());
    }
    done
}

#[test]
fn one_change_set_that_fails_leaves_the_others_of_its_batch() {
    let conn = memory();
    let stray = Guard::Live(Gid::new(99).unwrap());
    let (first, mut a) = graph(large(1, 10));
    let (second, mut b) = graph(Changes {
        guards: vec![stray],
        ..large(2, 10)
    });
    let (third, mut c) = graph(large(3, 10));
    finish(&conn, vec![first, second, third]).unwrap();
    assert_eq!(a.try_recv().unwrap(), Ok(CommitReceipt { seq: 1 }));
    assert_eq!(b.try_recv().unwrap(), Err(GraphStoreError::Conflict));
    assert_eq!(c.try_recv().unwrap(), Ok(CommitReceipt { seq: 2 }));
    let nodes: i64 = conn
        .query_row("SELECT sum(gid) FROM node", [], |r| r.get(0))
        .unwrap();
    assert_eq!(nodes, 4);
}

/// Checks that a job that failed after a write leaves nothing, and the other jobs of its batch are committed.
#[test]
fn a_change_set_that_fails_late_is_undone_alone() {
    let conn = memory();
    let named = |gid: u64, name: &str| Changes {
        add_aliases: vec![(name.to_owned(), Gid::new(gid).unwrap())],
        ..large(gid, 10)
    };
    let (first, mut a) = graph(named(1, "name"));
    let (second, mut b) = graph(named(2, "name"));
    let (third, mut c) = graph(named(3, "another"));
    finish(&conn, vec![first, second, third]).unwrap();
    assert_eq!(a.try_recv().unwrap(), Ok(CommitReceipt { seq: 1 }));
    assert!(matches!(
        b.try_recv().unwrap(),
        Err(GraphStoreError::AliasTaken(_))
    ));
    assert_eq!(c.try_recv().unwrap(), Ok(CommitReceipt { seq: 2 }));
    let nodes: i64 = conn
        .query_row("SELECT sum(gid) FROM node", [], |r| r.get(0))
        .unwrap();
    assert_eq!(nodes, 4);
}

/// Checks that a batch that was written twice touched nothing but what it committed.
#[test]
fn decisions_after_a_batch_that_was_written_again_conflict_with_what_it_committed_alone() {
    let named = |gid: u64, name: &str| Changes {
        add_aliases: vec![(name.to_owned(), Gid::new(gid).unwrap())],
        ..large(gid, 10)
    };
    let key = |gid: u64| FactKey::node(Gid::new(gid).unwrap());
    for begun in [true, false] {
        let (conn, mut log) = (memory(), begun.then(|| TouchLog::starting_at(0)));
        // It must not take what it wrote the first time for the write of another.
        let decided = Changes {
            reads: Some(DecisionReads {
                seq: 0,
                keys: vec![key(1)],
            }),
            ..named(1, "name")
        };
        let jobs = [
            graph(decided),
            graph(named(2, "name")),
            graph(named(3, "other")),
        ];
        let (jobs, mut answers): (Vec<_>, Vec<_>) = jobs.into_iter().unzip();
        finish_with(&conn, &mut log, jobs).unwrap();
        let answers = answers.iter_mut().map(|answer| answer.try_recv().unwrap());
        let accepted: Vec<bool> = answers.map(|answer| answer.is_ok()).collect();
        assert_eq!(accepted, [true, false, true], "begun: {begun}");
        let log = log.unwrap();
        let holds = |seq, gid| {
            let keys = vec![key(gid)];
            log.holds(&DecisionReads { seq, keys })
        };
        assert_eq!(log.seq(), 2, "begun: {begun}");
        assert!(!holds(0, 1) && !holds(1, 3), "they were written");
        assert!(holds(2, 1) && holds(2, 3), "they were seen");
        assert!(!begun || holds(0, 9), "nobody wrote it");
    }
}

/// B67. The journal has a row for each commit that was made, and none for the others.
#[test]
fn a_full_disk_fails_the_whole_batch_and_service_goes_on_when_there_is_room() {
    let conn = memory();
    let pages: i64 = conn
        .pragma_query_value(None, "page_count", |r| r.get(0))
        .unwrap();
    let room = |pages: i64| {
        conn.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(()))
            .unwrap()
    };
    room(pages + 8);
    let (small, mut a) = graph(large(1, 10));
    let (huge, mut b) = graph(large(2, 60_000));
    let done = finish(&conn, vec![small, huge]);
    let (small_answer, huge_answer) = (a.try_recv().unwrap(), b.try_recv().unwrap());
    assert!(
        matches!(&huge_answer, Err(GraphStoreError::Failed(reason)) if reason.contains("full")),
        "{huge_answer:?}"
    );
    // The small job either shared the failure or was committed; its answer says which.
    let kept: i64 = conn
        .query_row("SELECT count(*) FROM node", [], |r| r.get(0))
        .unwrap();
    assert_eq!(small_answer.is_ok(), done.is_ok(), "{small_answer:?}");
    assert_eq!(kept, i64::from(small_answer.is_ok()));
    let journal: i64 = conn
        .query_row("SELECT count(*) FROM journal", [], |r| r.get(0))
        .unwrap();
    assert_eq!(journal, kept);

    room(pages + 1000);
    let (again, mut c) = graph(large(2, 60_000));
    finish(&conn, vec![again]).unwrap();
    assert_eq!(
        c.try_recv().unwrap(),
        Ok(CommitReceipt {
            seq: u64::try_from(kept).unwrap() + 1
        })
    );
}

#[test]
fn a_batch_that_cannot_begin_fails_every_job_and_the_next_one_works() {
    let conn = memory();
    // A transaction is already open, so another one cannot begin.
    conn.execute_batch("BEGIN").unwrap();
    let (first, mut a) = graph(large(1, 10));
    let (second, mut b) = put_account();
    assert!(finish(&conn, vec![first, second]).is_err());
    assert!(matches!(
        a.try_recv().unwrap(),
        Err(GraphStoreError::Failed(_))
    ));
    assert!(matches!(
        b.try_recv().unwrap(),
        Err(AuthStoreError::Unavailable(_))
    ));
    let (again, mut c) = graph(large(1, 10));
    finish(&conn, vec![again]).unwrap();
    assert_eq!(c.try_recv().unwrap(), Ok(CommitReceipt { seq: 1 }));
}

#[test]
fn only_what_was_kept_outdates_the_caches() {
    let conn = memory();
    let record = TokenRecord::personal(1, SecretDigest([1; 32]), 7, SystemTime::UNIX_EPOCH);
    let insert = |account: Option<&Account>, record: &TokenRecord| {
        rules::insert_token(account, record.clone())
    };
    let same = record.clone();
    let (refused, mut a) = decision(move |account| insert(account, &same));
    let changed = finish(&conn, vec![refused]).unwrap();
    assert_eq!(a.try_recv().unwrap(), Err(AuthStoreError::NoAccount));
    assert!(!changed.tokens && !changed.viewers);
    let (account, _a) = put_account();
    let (insert, mut b) = decision(move |account| insert(account, &record));
    let (unknown, mut c) = decision(|_| Ok(rules::revoke_token(None, SystemTime::UNIX_EPOCH)));
    let changed = finish(&conn, vec![account, insert, unknown]).unwrap();
    assert_eq!(
        (b.try_recv().unwrap(), c.try_recv().unwrap()),
        (Ok(()), Ok(false))
    );
    assert!(changed.tokens && !changed.viewers);
}

#[test]
fn a_panic_fails_only_the_work_it_is_in() {
    assert_eq!(attempt(|| 1), Some(1));
    assert_eq!(attempt(|| panic!("a mistake in a rule")), None::<()>);
}
