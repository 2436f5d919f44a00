//! Values shared by all nodes: keys and settings, each with a version. Secret values are passed sealed.
use crate::database::Database;
use crate::database_error::DatabaseError;

const READ: &str = "SELECT version, content FROM shared_value WHERE name = $1";
const INSERT: &str = "INSERT INTO shared_value (name, version, content) VALUES ($1, 1, $2) ON CONFLICT (name) DO NOTHING";
const REPLACE: &str =
    "UPDATE shared_value SET version = version + 1, content = $3 WHERE name = $1 AND version = $2";

/// Value that all nodes share, with its version.
#[derive(Clone, PartialEq, Eq)]
pub struct SharedValue {
    /// Number of times that it was written.
    pub version: u64,
    /// Content, as it was written.
    pub content: String,
}

/// Omits the content.
impl std::fmt::Debug for SharedValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut out = f.debug_struct("SharedValue");
        out.field("version", &self.version).finish_non_exhaustive()
    }
}

/// Returns the value with a name, if there is one.
///
/// # Errors
/// Fails if the database fails.
pub async fn read(database: &Database, name: &str) -> Result<Option<SharedValue>, DatabaseError> {
    let (own, name) = (database.clone(), name.to_owned());
    let found = async move {
        let connection = own.connection().await?;
        let Some(row) = connection.query_opt(READ, &[&name]).await? else {
            return Ok(None);
        };
        let version: i64 = row.try_get(0)?;
        Ok(Some(SharedValue {
            version: version.cast_unsigned(),
            content: row.try_get(1)?,
        }))
    };
    database.run(found).await
}

/// Writes a value, if it still has the version that was read; `None` if it does not exist yet. Returns false if another node has
/// written it since.
///
/// # Errors
/// Fails if the database fails.
pub async fn replace(
    database: &Database,
    name: &str,
    version: Option<u64>,
    content: String,
) -> Result<bool, DatabaseError> {
    let (own, name) = (database.clone(), name.to_owned());
    let written = async move {
        let connection = own.connection().await?;
        let rows = match version {
            Some(version) => {
                let params: [&(dyn tokio_postgres::types::ToSql + Sync); 3] =
                    [&name, &version.cast_signed(), &content];
                connection.execute(REPLACE, &params).await?
            }
            None => connection.execute(INSERT, &[&name, &content]).await?,
        };
        Ok(rows > 0)
    };
    database.run(written).await
}
