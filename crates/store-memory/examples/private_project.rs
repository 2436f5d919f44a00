//! A private project in a store in memory: `cargo run -p workgraph-store-memory --example private_project`
use std::error::Error;

use workgraph_auth::conformance::block_on;
use workgraph_core::GidGenerator;
use workgraph_core::access::{Level, Role};
use workgraph_core::model::registry::Type;
use workgraph_core::model::resources::project;
use workgraph_core::model::{email_address::EmailAddress, time::Time};
use workgraph_core::rules::membership_rules::{create_project, first_workspace};
use workgraph_core::storage::change_builder::ChangeBuilder;
use workgraph_core::storage::{GraphStore, ReadQuery, ViewerKey};
use workgraph_store_memory::MemoryStore;

fn main() -> Result<(), Box<dyn Error>> {
    let store = MemoryStore::new();
    let gids = GidGenerator::new(0, None);
    let now = Time::from_millis(1_800_000_000_000);
    let mint = || gids.next(now.millis().unsigned_abs());
    let ada = EmailAddress::parse("ada@example.com")?;
    let bob = EmailAddress::parse("bob@example.com")?;
    let members = [("Ada", &ada, Role::Admin), ("Bob", &bob, Role::Member)];
    let (changes, workspace, users) = first_workspace("Orchard", &members, now, &mint);
    block_on(store.commit(changes))?;

    let owner = *users.first().ok_or("two users were made")?;
    let mut work = ChangeBuilder::new(Some(owner), now, &mint);
    let mut draft = work.draft(Type::Project, Some(workspace));
    draft.set(project::NAME, "Harvest");
    draft.set(project::PRIVACY, "private");
    let harvest = create_project(&mut work, draft, owner);
    block_on(store.commit(work.changes))?;

    for (user, (name, ..)) in users.into_iter().zip(members) {
        let viewer = ViewerKey {
            user,
            service: None,
        };
        let view = block_on(store.load(&ReadQuery::of(viewer).node(harvest)))?;
        println!("{name}: {:?}", view.level(harvest));
        assert_eq!(view.level(harvest) > Level::None, user == owner);
    }
    Ok(())
}
