//! Group of change sets that are applied to the state before them, without its lock, and written in one transaction.
use super::group_transaction::GroupTransaction;
use super::write_job::DynWrite;
use crate::database::Database;
use crate::database_error::DatabaseError;
use crate::graph::group_statements::GroupStatements;
use crate::state_lock::StateMove;
use crate::statement_list::StatementList;
use crate::store_state::AuditLogEnd;
use crate::write_attempt::WriteAttempt;
use std::time::Duration;
use workgraph_core::engine::waves::GraphWrites;
use workgraph_core::storage::{CommitReceipt, GraphStoreError, Seq};

/// Longest wait for a connection while a group is being committed; the answers of that group wait as long.
const EARLY_CONNECT_MAX: Duration = Duration::from_millis(100);

/// Time at which the rows of new nodes are sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum NewRows {
    /// At once: the group before this one is being committed.
    Early,
    /// Under the lock of the state, so that nothing is written if the state is not the expected one.
    UnderLock,
}

/// Jobs with the transaction that writes them.
pub(super) struct GroupAhead {
    transaction: GroupTransaction,
    jobs: Vec<Box<dyn DynWrite>>,
    new_rows: NewRows,
    /// Statements that are sent under the lock.
    under_lock: StatementList,
    state: StateMove,
    attempt: WriteAttempt,
}

impl GroupAhead {
    /// Begins a group that follows a commit.
    pub(super) fn begin(
        database: &Database,
        base: Seq,
        new_rows: NewRows,
    ) -> Result<Self, DatabaseError> {
        let runtime = database.runtime();
        let connection = database.write_connection();
        let connection = match new_rows {
            NewRows::Early => runtime.block_on(Database::within(EARLY_CONNECT_MAX, connection)),
            NewRows::UnderLock => runtime.block_on(connection),
        };
        let state = StateMove {
            base,
            last: base,
            floor: 0,
            audit: None,
        };
        Ok(Self {
            transaction: GroupTransaction::begin(database, connection?),
            jobs: Vec::new(),
            new_rows,
            under_lock: StatementList::default(),
            state,
            attempt: WriteAttempt::new()?,
        })
    }

    /// Returns the number of jobs.
    pub(super) fn len(&self) -> usize {
        self.jobs.len()
    }

    /// Returns the last commit of the group.
    pub(super) const fn last_seq(&self) -> Seq {
        self.state.last
    }

    /// Adds jobs that were applied to the state after the earlier jobs, when the audit log ended at `audit`.
    pub(super) fn add(
        &mut self,
        jobs: impl Iterator<Item = Box<dyn DynWrite>>,
        writes: &GraphWrites,
        outcomes: Vec<Result<CommitReceipt, GraphStoreError>>,
        made: GroupStatements,
        audit: Option<AuditLogEnd>,
    ) {
        for (mut job, outcome) in jobs.zip(outcomes) {
            job.settle(outcome);
            self.jobs.push(job);
        }
        match self.new_rows {
            NewRows::Early => self.transaction.send_all(made.new_rows),
            NewRows::UnderLock => self.under_lock.append(made.new_rows),
        }
        self.under_lock.append(made.others);
        self.state.last = writes.last_seq();
        self.state.floor = self.state.floor.max(made.floor);
        if let Some(end) = made.audit {
            let before = self.state.audit.map_or(audit, |(before, _)| before);
            self.state.audit = Some((before, end));
        }
    }

    /// Locks and moves the state, performs all remaining writes, and commits with these commands.
    pub(super) fn commit(
        &mut self,
        commands: impl Iterator<Item = &'static str>,
    ) -> Result<(), DatabaseError> {
        let transaction = &mut self.transaction;
        transaction.renew_deadline();
        transaction.send(self.state.statement(&self.attempt)?);
        transaction.send_all(std::mem::take(&mut self.under_lock));
        commands.for_each(|command| transaction.command(command));
        Ok(())
    }

    /// Waits for the commit. The wait can be dropped and repeated.
    pub(super) async fn end(&mut self) -> Result<(), DatabaseError> {
        self.transaction.end().await
    }

    /// Returns the jobs and the attempt of a group whose commit has succeeded or failed.
    pub(super) fn into_parts(self) -> (Vec<Box<dyn DynWrite>>, WriteAttempt) {
        (self.jobs, self.attempt)
    }

    /// Returns true if its connection broke before anything was sent that could be committed.
    pub(super) fn is_broken(&self) -> bool {
        self.transaction.is_broken()
    }

    /// Undoes its writes; returns the jobs.
    pub(super) fn roll_back(self) -> Vec<Box<dyn DynWrite>> {
        self.transaction.roll_back();
        self.jobs
    }
}
