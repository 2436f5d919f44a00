//! Two nodes over one database: what one commits, the other reads. It starts its own PostgreSQL server, if PostgreSQL is
//! installed. Run it with `cargo run -p workgraph-store-postgres --example two_nodes`.
use std::error::Error;

use tokio::runtime::Handle;
use workgraph_core::GidGenerator;
use workgraph_core::access::{Level, Role};
use workgraph_core::model::{email_address::EmailAddress, time::Time};
use workgraph_core::rules::membership_rules::first_workspace;
use workgraph_core::storage::{GraphStore, ReadQuery, ViewerKey};
use workgraph_store_postgres::{DatabaseOptions, PostgresStore};
use workgraph_testkit::PostgresCluster;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let Some(cluster) = PostgresCluster::shared() else {
        println!("PostgreSQL is not installed; there is nothing to show");
        return Ok(());
    };
    let database = cluster.database();
    let open = || {
        let options = DatabaseOptions {
            accept_unsafe_server: true, // the server of tests does not sync its files
            ..DatabaseOptions::new(database.url())
        };
        PostgresStore::open(options, Handle::current())
    };
    let (first, second) = (open().await?, open().await?);

    let gids = GidGenerator::new(0, None);
    let now = Time::from_millis(1_800_000_000_000);
    let mint = || gids.next(now.millis().unsigned_abs());
    let email = EmailAddress::parse("ada@example.com")?;
    let ada = ("Ada", &email, Role::Admin);
    let (changes, workspace, users) = first_workspace("Orchard", &[ada], now, &mint);
    let receipt = first.commit(changes).await?;
    println!("the first node made commit {}", receipt.seq);

    let user = *users.first().ok_or("one user was made")?;
    let viewer = ViewerKey {
        user,
        service: None,
    };
    let view = second.load(&ReadQuery::of(viewer).node(workspace)).await?;
    assert_eq!(view.level(workspace), Level::Admin);
    println!("the second node reads the workspace");
    Ok(())
}
