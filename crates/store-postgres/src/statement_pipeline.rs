//! Statements that are sent together; each sees the effects of those before it.
use crate::database::Connection;
use crate::database_error::DatabaseError;
use crate::params::Params;
use futures_util::future::{try_join, try_join_all};
use tokio_postgres::Row;

/// A statement with its parameters.
pub(crate) type Statement<'p> = (&'static str, Params<'p>);

/// Sends statements together, in this order; each sees the effects of those before it. They follow `before`, if that is
/// given. Returns the rows of each statement.
///
/// # Errors
/// Fails with the first error; then none of the later statements was executed, if all are in one transaction.
pub(crate) async fn pipeline<const N: usize>(
    connection: &Connection,
    before: Option<&str>,
    statements: [Statement<'_>; N],
    after: Option<&str>,
) -> Result<[Vec<Row>; N], DatabaseError> {
    let rows = pipeline_all(connection, before, &statements, after).await?;
    <[Vec<Row>; N]>::try_from(rows)
        .map_err(|_| DatabaseError::Failed("a statement has no answer".into()))
}

/// Sends any number of statements together, as [`pipeline`] does.
///
/// # Errors
/// Fails as [`pipeline`] does.
pub(crate) async fn pipeline_all(
    connection: &Connection,
    before: Option<&str>,
    statements: &[Statement<'_>],
    after: Option<&str>,
) -> Result<Vec<Vec<Row>>, DatabaseError> {
    // All statements are prepared first: a statement that is prepared in between would be sent after its successors.
    let mut prepared = Vec::with_capacity(statements.len());
    for (sql, _) in statements {
        prepared.push(connection.prepare_cached(sql).await?);
    }
    let run = async |sql: Option<&str>| match sql {
        Some(sql) => connection.batch_execute(sql).await,
        None => Ok(()),
    };
    // Each future sends its statement when it is first polled, and they are polled in this order.
    let queries = prepared
        .iter()
        .zip(statements)
        .map(|(prepared, (_, params))| connection.query(prepared, params));
    let ((), (rows, ())) =
        try_join(run(before), try_join(try_join_all(queries), run(after))).await?;
    Ok(rows)
}
