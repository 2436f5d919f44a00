//! A store in one file, its backup and the check of both: `cargo run -p workgraph-store-sqlite --example backup`
use std::error::Error;
use std::path::Path;

use workgraph_auth::conformance::block_on;
use workgraph_core::access::{Level, Role};
use workgraph_core::model::{email_address::EmailAddress, time::Time};
use workgraph_core::rules::membership_rules::first_workspace;
use workgraph_core::storage::{GraphStore, ReadQuery, ViewerKey};
use workgraph_core::{Gid, GidGenerator};
use workgraph_store_sqlite::{SqliteStore, StoreOptions, missing_build_flags};

/// Returns the level of a user on a node.
fn level(store: &SqliteStore, user: Gid, node: Gid) -> Result<Level, Box<dyn Error>> {
    let viewer = ViewerKey {
        user,
        service: None,
    };
    Ok(block_on(store.load(&ReadQuery::of(viewer).node(node)))?.level(node))
}

fn run(folder: &Path) -> Result<(), Box<dyn Error>> {
    println!("flags that this build lacks: {:?}", missing_build_flags()?);
    let (first, second) = (folder.join("first"), folder.join("second"));
    let store = SqliteStore::open(&first, StoreOptions::default())?;
    let gids = GidGenerator::new(0, None);
    let now = Time::from_millis(1_800_000_000_000);
    let email = EmailAddress::parse("ada@example.com")?;
    let ada = ("Ada", &email, Role::Admin);
    let mint = || gids.next(now.millis().unsigned_abs());
    let (changes, workspace, users) = first_workspace("Orchard", &[ada], now, &mint);
    block_on(store.commit(changes))?;
    let user = *users.first().ok_or("one user was made")?;

    // A backup is a file like the store's own.
    std::fs::create_dir(&second)?;
    store.backup(second.join("workgraph.db"))?;
    let copy = SqliteStore::open(&second, StoreOptions::default())?;
    for store in [&store, &copy] {
        assert!(store.check()?.is_empty());
        assert_eq!(level(store, user, workspace)?, Level::Admin);
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::temp_dir().join(format!("backup-example-{}", std::process::id()));
    let done = run(&folder);
    std::fs::remove_dir_all(&folder)?;
    done
}
