//! Check of the whole database: contradictions between rows, and between nodes and the rows stored beside them.
mod contradictions;
mod integrity_report;
mod node_checks;

use self::contradictions::CONTRADICTIONS;
use self::integrity_report::IntegrityReport;
use crate::database::Database;
use crate::database_error::DatabaseError;
use crate::transaction::PgTransaction;
use workgraph_auth::RedirectUri;
use workgraph_core::storage::GraphStoreError;

/// Returns every problem in a snapshot.
fn problems(transaction: &mut PgTransaction<'_>) -> Result<Vec<String>, GraphStoreError> {
    let mut report = IntegrityReport::default();
    for (reason, sql) in CONTRADICTIONS {
        for row in transaction.rows(sql, &[])? {
            let shown: String = row.try_get(0).map_err(DatabaseError::from)?;
            report.add(format!("{reason}: {shown}"));
        }
    }
    let apps = "SELECT id, redirects FROM app ORDER BY id";
    for row in transaction.rows(apps, &[])? {
        let id: i64 = row.try_get(0).map_err(DatabaseError::from)?;
        let redirects: &str = row.try_get(1).map_err(DatabaseError::from)?;
        for problem in RedirectUri::problems(redirects) {
            report.add(format!("app {id}: {problem}"));
        }
    }
    node_checks::nodes(transaction, &mut report)?;
    if report.more > 0 {
        let more = report.more;
        report.named.push(format!("and {more} more problems"));
    }
    Ok(report.named)
}

impl Database {
    /// Looks for contradictions in the data. Reads everything, from one snapshot. Returns the problems found.
    ///
    /// # Errors
    /// Fails if the database cannot be read at all.
    pub async fn check(&self) -> Result<Vec<String>, GraphStoreError> {
        self.read_everything(problems).await
    }
}
