//! Rows of the audit log: appending, chained to the last one, and reading by filters.
use crate::columns::{code, gid, limit, maybe_gid, whole};
use crate::database_error::DatabaseError;
use crate::params::{OwnedParams, Params};
use crate::statement_list::StatementList;
use crate::store_state::AuditLogEnd;
use crate::transaction::PgTransaction;
use tokio_postgres::Row;
use workgraph_core::audit::{ActorType, AuditEventKind, AuditQuery, AuditRow};
use workgraph_core::model::gid::Gid;
use workgraph_core::model::time::Time;

const APPEND: &str = "INSERT INTO audit (gid, at, home, kind, actor_type, actor, resource, body, seq, digest) \
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)";

// Rows are in the order of time, so an instant is looked up as the first row at or after it. One condition is always strict:
// the condition whose index is expected to leave the fewest rows.
macro_rules! select {
    ($kind:literal, $actor_type:literal, $actor:literal, $resource:literal) => {
        concat!(
            "SELECT gid, at, home, kind, actor_type, actor, resource, body FROM audit WHERE home = $1 AND gid > $2",
            " AND gid >= (SELECT a.gid FROM audit a WHERE a.home = $1 AND a.at >= $3 ORDER BY a.at, a.gid LIMIT 1)",
            " AND gid < coalesce((SELECT a.gid FROM audit a WHERE a.home = $1 AND a.at >= $4",
            " ORDER BY a.at, a.gid LIMIT 1), 9223372036854775807)",
            " AND ", $kind, " AND ", $actor_type, " AND ", $actor, " AND ", $resource,
            " ORDER BY gid LIMIT $9"
        )
    };
}
const ALL: &str = select!(
    "($5::smallint IS NULL OR kind = $5)",
    "($6::smallint IS NULL OR actor_type = $6)",
    "($7::bigint IS NULL OR actor = $7)",
    "($8::bigint IS NULL OR resource = $8)"
);
const BY_RESOURCE: &str = select!(
    "($5::smallint IS NULL OR kind = $5)",
    "($6::smallint IS NULL OR actor_type = $6)",
    "($7::bigint IS NULL OR actor = $7)",
    "resource = $8::bigint"
);
const BY_ACTOR: &str = select!(
    "($5::smallint IS NULL OR kind = $5)",
    "($6::smallint IS NULL OR actor_type = $6)",
    "actor = $7::bigint",
    "($8::bigint IS NULL OR resource = $8)"
);
const BY_KIND: &str = select!(
    "kind = $5::smallint",
    "($6::smallint IS NULL OR actor_type = $6)",
    "($7::bigint IS NULL OR actor = $7)",
    "($8::bigint IS NULL OR resource = $8)"
);
const BY_ACTOR_TYPE: &str = select!(
    "($5::smallint IS NULL OR kind = $5)",
    "actor_type = $6::smallint",
    "($7::bigint IS NULL OR actor = $7)",
    "($8::bigint IS NULL OR resource = $8)"
);

fn audit_row(row: &Row) -> Result<AuditRow, DatabaseError> {
    let unreadable = DatabaseError::unreadable;
    Ok(AuditRow {
        gid: gid(row, 0)?,
        time: Time::from_millis(row.try_get(1)?),
        workspace: gid(row, 2)?,
        kind: AuditEventKind::from_code(code(row, 3)?).ok_or_else(|| unreadable("kind"))?,
        actor_type: ActorType::from_code(code(row, 4)?).ok_or_else(|| unreadable("actor_type"))?,
        actor: maybe_gid(row, 5)?,
        resource: gid(row, 6)?,
        body: row.try_get::<_, String>(7)?.into(),
    })
}

impl StatementList {
    /// Appends a row, which is then the end of the log.
    pub(super) fn append_audit(
        &mut self,
        row: AuditRow,
        end: AuditLogEnd,
    ) -> Result<(), DatabaseError> {
        let params: OwnedParams = vec![
            Box::new(row.gid.as_i64()),
            Box::new(row.time.millis()),
            Box::new(row.workspace.as_i64()),
            Box::new(i16::from(row.kind.code)),
            Box::new(i16::from(row.actor_type as u8)),
            Box::new(row.actor.map(Gid::as_i64)),
            Box::new(row.resource.as_i64()),
            Box::new(row.body.to_string()),
            Box::new(whole(end.head.seq)?),
            Box::new(end.head.digest.to_vec()),
        ];
        self.add(APPEND, params);
        Ok(())
    }
}

impl PgTransaction<'_> {
    /// Returns the matching rows, oldest first.
    pub(crate) fn audited(&mut self, query: &AuditQuery) -> Result<Vec<AuditRow>, DatabaseError> {
        let kind = query.kind.map(|kind| i16::from(kind.code));
        let actor_type = query.actor_type.map(|ty| i16::from(ty as u8));
        let actor = query.actor.map(Gid::as_i64);
        let resource = query.resource.map(Gid::as_i64);
        let sql = match (resource, actor, kind, actor_type) {
            (Some(_), ..) => BY_RESOURCE,
            (_, Some(_), ..) => BY_ACTOR,
            (_, _, Some(_), _) => BY_KIND,
            (.., Some(_)) => BY_ACTOR_TYPE,
            _ => ALL,
        };
        let params: Params<'_> = &[
            &query.workspace.as_i64(),
            &query.after.map_or(0, Gid::as_i64),
            &query.start.map_or(i64::MIN, Time::millis),
            &query.end.map_or(i64::MAX, Time::millis),
            &kind,
            &actor_type,
            &actor,
            &resource,
            &limit(query.limit),
        ];
        self.rows(sql, params)?.iter().map(audit_row).collect()
    }
}
