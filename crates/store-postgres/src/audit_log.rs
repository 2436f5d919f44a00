//! Rows that transactions outside the graph append to the audit log.
//!
//! The whole store has one chain, so each row is bound to all earlier rows of all workspaces, and one checkpoint covers
//! everything. The end of the chain is in the row of `store_state`, which a transaction locks before it appends.
use crate::columns::bound;
use crate::database::Connection;
use crate::database_error::DatabaseError;
use crate::statement_pipeline::{Statement, pipeline};
use crate::store_state::AuditLogEnd;
use workgraph_audit::ChainPosition;
use workgraph_core::audit::AuditRow;
use workgraph_core::model::gid::Gid;

/// Locks the end of the log: see the order of locks in [`crate::auth`].
const LOCK_END: &str =
    "SELECT audit_seq, audit_gid, audit_at, audit_digest FROM store_state FOR NO KEY UPDATE";
const MOVE_END: &str =
    "UPDATE store_state SET audit_seq = $1, audit_gid = $2, audit_at = $3, audit_digest = $4";
const APPEND: &str = "INSERT INTO audit \
    (gid, seq, at, home, kind, actor_type, actor, resource, body, digest) \
    SELECT unnest($1::bigint[]), unnest($2::bigint[]), unnest($3::bigint[]), unnest($4::bigint[]), \
    unnest($5::smallint[]), unnest($6::smallint[]), unnest($7::bigint[]), unnest($8::bigint[]), unnest($9::text[]), \
    unnest($10::bytea[])";

/// Columns of rows that are inserted together.
#[derive(Default)]
struct NewRows {
    numbers: [Vec<i64>; 5],
    codes: [Vec<i16>; 2],
    actors: Vec<Option<i64>>,
    bodies: Vec<String>,
    digests: Vec<Vec<u8>>,
}

impl NewRows {
    fn add(&mut self, row: AuditRow, position: &ChainPosition) {
        let numbers = [
            row.gid.as_i64(),
            bound(position.seq),
            row.time.millis(),
            row.workspace.as_i64(),
            row.resource.as_i64(),
        ];
        for (column, number) in self.numbers.iter_mut().zip(numbers) {
            column.push(number);
        }
        let codes = [row.kind.code, row.actor_type as u8];
        for (column, code) in self.codes.iter_mut().zip(codes) {
            column.push(i16::from(code));
        }
        self.actors.push(row.actor.map(Gid::as_i64));
        self.bodies.push(row.body.into());
        self.digests.push(position.digest.to_vec());
    }
}

/// Appends rows to the log and commits the transaction of the connection with these statements.
///
/// # Errors
/// Fails if the database does.
pub(crate) async fn append_and_commit(
    connection: &Connection,
    rows: Vec<AuditRow>,
    commit: &str,
) -> Result<(), DatabaseError> {
    if rows.is_empty() {
        connection.batch_execute(commit).await?;
        return Ok(());
    }
    let [end] = pipeline(connection, None, [(LOCK_END, &[])], None).await?;
    let no_state = || DatabaseError::Failed("the row of store_state is missing".into());
    let mut end = AuditLogEnd::read(end.first().ok_or_else(no_state)?, 0)?;
    let mut new = NewRows::default();
    for row in rows {
        let (row, moved) = AuditLogEnd::append(end, row);
        new.add(row, &moved.head);
        end = Some(moved);
    }
    let Some(end) = end else {
        return Err(no_state());
    };
    let [gids, seqs, times, homes, resources] = &new.numbers;
    let [kinds, actor_types] = &new.codes;
    let statements: [Statement<'_>; 2] = [
        (
            APPEND,
            &[
                gids,
                seqs,
                times,
                homes,
                kinds,
                actor_types,
                &new.actors,
                resources,
                &new.bodies,
                &new.digests,
            ],
        ),
        (
            MOVE_END,
            &[
                &bound(end.head.seq),
                &end.gid.as_i64(),
                &end.at.millis(),
                &&end.head.digest[..],
            ],
        ),
    ];
    pipeline(connection, None, statements, Some(commit)).await?;
    Ok(())
}
