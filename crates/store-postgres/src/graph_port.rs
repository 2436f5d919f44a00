//! The storage port: loads, commits, the journal.
use crate::columns::{bound, limit, maybe_gid, number};
use crate::database_error::DatabaseError;
use crate::deadline::Deadline;
use crate::graph_statements as sql;
use crate::own_thread_interrupt::OwnThreadInterrupt;
use crate::params::{OwnedParams, Params};
use crate::postgres_store::PostgresStore;
use crate::transaction::PgTransaction;
use crate::waves::load_from_cache;
use async_trait::async_trait;
use std::sync::Arc;
use tokio_postgres::Row;
use workgraph_core::MaybeInterrupt;
use workgraph_core::audit::{AuditQuery, AuditRow};
use workgraph_core::journal::stored_form;
use workgraph_core::model::gid::Gid;
use workgraph_core::model::time::Time;
use workgraph_core::storage::{
    Changes, CommitReceipt, EventPage, EventQuery, GraphStore, GraphStoreError, JournalEntry,
    ReadQuery, ReadView, Seq,
};

fn event(row: &Row) -> Result<JournalEntry, DatabaseError> {
    let unreadable =
        || DatabaseError::Failed("the journal has an entry that cannot be read".into());
    Ok(JournalEntry {
        seq: number(row, 0)?,
        time: Time::from_millis(row.try_get(1)?),
        actor: maybe_gid(row, 2)?,
        change_records: stored_form::read(row.try_get(3)?).ok_or_else(unreadable)?,
        node_contexts: stored_form::read_nodes(row.try_get(4)?).ok_or_else(unreadable)?,
    })
}

impl PgTransaction<'_> {
    /// Returns the commits that a statement selects.
    fn events(
        &mut self,
        sql: &'static str,
        params: Params<'_>,
    ) -> Result<Vec<JournalEntry>, DatabaseError> {
        self.rows(sql, params)?.iter().map(event).collect()
    }

    fn events_about(&mut self, ask: &EventQuery) -> Result<EventPage, DatabaseError> {
        let bounds = self.one(sql::EVENT_BOUNDS, &[])?;
        let bounds = bounds.ok_or_else(|| DatabaseError::unreadable("store_state"))?;
        let (last, pruned) = (number(&bounds, 0)?, number(&bounds, 1)?);
        let end = ask.after.saturating_add(ask.scan as u64).min(last);
        let params: Params<'_> = &[
            &bound(ask.after),
            &bound(end),
            &ask.about.to_string(),
            &limit(ask.limit),
        ];
        let events = self.events(sql::EVENTS_ABOUT, params)?;
        let full = events.last().filter(|_| events.len() >= ask.limit);
        Ok(EventPage {
            upto: full.map_or(end, |e| e.seq).max(ask.after),
            last,
            pruned,
            events,
        })
    }

    /// Drops the oldest commits. Rows are dropped only from the front, so that the numbers have no gaps.
    fn prune(&mut self, before: Time, upto: Seq, most: usize) -> Result<usize, DatabaseError> {
        let last = self.locked_state()?.seq;
        let upto = upto.min(last.saturating_sub(1));
        let mut gone = None;
        for row in self.rows(sql::OLDEST_COMMITS, &[&bound(upto), &limit(most)])? {
            let (seq, at): (i64, i64) = (row.try_get(0)?, row.try_get(1)?);
            if at >= before.millis() {
                break;
            }
            gone = Some(seq);
        }
        let Some(seq) = gone else { return Ok(0) };
        let params: OwnedParams = vec![Box::new(seq)];
        self.send(sql::SET_PRUNED, params)?;
        let count = self.run(sql::PRUNE, &[&seq])?;
        Ok(usize::try_from(count).unwrap_or(usize::MAX))
    }
}

impl PostgresStore {
    /// Returns the highest gid of a node or of an edge's auxiliary node.
    ///
    /// # Errors
    /// Fails if the database cannot be read.
    pub async fn max_gid(&self) -> Result<Option<Gid>, GraphStoreError> {
        let read = |transaction: &mut PgTransaction<'_>| {
            let row = transaction.one(sql::MAX_GID, &[])?;
            let most: Option<i64> = row
                .map(|row| row.try_get(0))
                .transpose()
                .map_err(DatabaseError::from)?;
            Ok(most.and_then(Gid::from_i64))
        };
        self.database.read(None, read).await
    }
}

#[async_trait]
impl GraphStore for PostgresStore {
    async fn load(&self, query: &ReadQuery) -> Result<ReadView, GraphStoreError> {
        let (mut query, interrupt) = (query.clone(), query.interrupt.clone());
        let (waves, cache) = (self.database.options().waves, Arc::clone(&self.cache));
        if waves && query.search.is_none() && query.row_query.is_none() {
            if let Some(seq) = query.min_seq
                && let Some(view) = load_from_cache(&query, seq, &cache)?
            {
                self.database.count_read(0);
                return Ok(view);
            }
            let (query, cache) = (query.clone(), Arc::clone(&cache));
            if let Some(view) = self.database.load_stamped(query, cache).await? {
                return Ok(view);
            }
        }
        let deadline = Deadline::after(self.database.options().read_timeout);
        query.interrupt = OwnThreadInterrupt::of(&interrupt, deadline);
        let read = move |transaction: &mut PgTransaction<'_>| match waves {
            true => transaction.load_in_waves(&query, &cache),
            false => transaction.load_directly(&query),
        };
        self.database.read(interrupt, read).await
    }

    async fn commit(&self, changes: Changes) -> Result<CommitReceipt, GraphStoreError> {
        self.writer.commit(changes).await
    }

    async fn journal_entries(
        &self,
        after: Seq,
        most: usize,
    ) -> Result<Vec<JournalEntry>, GraphStoreError> {
        let read = move |transaction: &mut PgTransaction<'_>| {
            Ok(transaction.events(sql::EVENTS, &[&bound(after), &limit(most)])?)
        };
        self.database.read(None, read).await
    }

    async fn events_about(
        &self,
        ask: EventQuery,
        interrupt: MaybeInterrupt,
    ) -> Result<EventPage, GraphStoreError> {
        let read = move |transaction: &mut PgTransaction<'_>| Ok(transaction.events_about(&ask)?);
        self.database.read(interrupt, read).await
    }

    async fn audit_rows(
        &self,
        ask: AuditQuery,
        interrupt: MaybeInterrupt,
    ) -> Result<Vec<AuditRow>, GraphStoreError> {
        let read = move |transaction: &mut PgTransaction<'_>| Ok(transaction.audited(&ask)?);
        self.database.read(interrupt, read).await
    }

    async fn prune_journal(
        &self,
        before: Time,
        upto: Seq,
        limit: usize,
    ) -> Result<usize, GraphStoreError> {
        let prune =
            move |transaction: &mut PgTransaction<'_>| Ok(transaction.prune(before, upto, limit)?);
        self.writer.work(prune).await
    }
}
