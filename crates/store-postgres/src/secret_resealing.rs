//! Conversion of webhook secrets to the new stored form.
use crate::auth::AuthTransaction;
use crate::columns::{bound, number};
use crate::database_error::DatabaseError;
use crate::params::owned_params;
use crate::postgres_store::PostgresStore;
use crate::stored_values::{Stored, text, text_to_store};
use tokio_postgres::Row;
use workgraph_auth::AuthStoreError;
use workgraph_webhooks::{Reseal, ResealError};

const SECRETS: &str = "SELECT id, secret FROM hook ORDER BY id";
/// Replaces only secrets that have not changed since they were read: another node may have converted them.
const RESEAL: &str = "UPDATE hook h SET secret = n.after FROM unnest($1::bigint[], $2::text[], $3::text[]) \
    AS n (id, before, after) WHERE h.id = n.id AND h.secret = n.before";
/// Rewrites the table without the row versions that contain the old secrets.
const WIPE: &str = "VACUUM (FULL) hook";

async fn replace(
    tx: &mut AuthTransaction,
    changed: &[(i64, String, String)],
) -> Result<(), AuthStoreError> {
    let ids: Vec<i64> = changed.iter().map(|(id, ..)| *id).collect();
    let before: Vec<&str> = changed
        .iter()
        .map(|(_, before, _)| before.as_str())
        .collect();
    let after: Vec<&str> = changed.iter().map(|(.., after)| after.as_str()).collect();
    tx.send_last([(RESEAL, &[&ids, &before, &after])]).await?;
    Ok(())
}

impl PostgresStore {
    /// Converts the secrets of webhooks with `reseal`, each by its id, in one transaction, and removes the old ones from the
    /// table. The server's log of changes, its standbys and earlier backups keep the old secrets as long as they exist.
    ///
    /// # Errors
    /// Fails if `reseal` or the database does. Then no secret is converted, or all are and the server's next vacuum of the table
    /// removes the old ones.
    pub async fn reseal_secrets(&self, reseal: &mut Reseal<'_>) -> Result<(), ResealError> {
        let mut changed = Vec::new();
        for row in self.query(SECRETS, owned_params![]).await? {
            let read = |row: &Row| -> Stored<_> { Ok((number(row, 0)?, text(row, 1)?)) };
            let (id, secret) = read(&row)?;
            if let Some(sealed) = reseal(id, &secret)? {
                let stored = |text: &str| text_to_store(text).into_owned();
                changed.push((bound(id), stored(&secret), stored(&sealed)));
            }
        }
        if changed.is_empty() {
            return Ok(());
        }
        self.decide(move |tx| Box::pin(async move { replace(tx, &changed).await }))
            .await?;
        let database = self.database.clone();
        let wiped = async move {
            let connection = database.connection().await?;
            Ok::<_, DatabaseError>(connection.batch_execute(WIPE).await?)
        };
        Ok(self.database.run(wiped).await?)
    }
}
