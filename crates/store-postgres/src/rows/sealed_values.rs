//! Values shared by the nodes, in the transaction of the rows.
use super::PgRows;
use crate::database_error::DatabaseError;

const READ: &str = "SELECT name, content FROM shared_value ORDER BY name";
const CLEAR: &str = "DELETE FROM shared_value";
const INSERT: &str = "INSERT INTO shared_value (name, version, content) VALUES ($1, 1, $2)";

/// Value shared by the nodes, as stored in the database.
#[derive(Clone, PartialEq, Eq)]
pub struct SealedValue {
    /// Name of the value.
    pub name: String,
    /// Content, sealed with the keys of the nodes.
    pub content: String,
}

/// Omits the content.
impl std::fmt::Debug for SealedValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut out = f.debug_struct("SealedValue");
        out.field("name", &self.name).finish_non_exhaustive()
    }
}

impl PgRows {
    /// Returns the values shared by the nodes.
    ///
    /// # Errors
    /// Fails if the database cannot be read.
    pub fn shared_values(&self) -> Result<Vec<SealedValue>, DatabaseError> {
        let rows = self.wait(|connection| async { connection.query(READ, &[]).await })?;
        let value = |row: &tokio_postgres::Row| {
            Ok(SealedValue {
                name: row.try_get(0)?,
                content: row.try_get(1)?,
            })
        };
        rows.iter().map(value).collect()
    }

    /// Replaces the values shared by the nodes. They become visible with the rows.
    ///
    /// # Errors
    /// Fails if the database cannot be written.
    pub fn put_shared_values(&self, values: &[SealedValue]) -> Result<(), DatabaseError> {
        self.wait(|connection| async { connection.execute(CLEAR, &[]).await })?;
        for value in values {
            self.wait(|connection| async move {
                let params: [&(dyn tokio_postgres::types::ToSql + Sync); 2] =
                    [&value.name, &value.content];
                connection.execute(INSERT, &params).await
            })?;
        }
        Ok(())
    }
}
