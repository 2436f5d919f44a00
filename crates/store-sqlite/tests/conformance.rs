//! The SQLite store keeps every promise of the ports.
use workgraph_auth::conformance::block_on;
use workgraph_store_sqlite::{Options, SqliteStore};
use workgraph_testkit::Scratch;

#[test]
fn sqlite_keeps_tokens_as_the_port_says() {
    for (rule, case) in workgraph_auth::conformance::CASES {
        let folder = Scratch::new("tokens");
        let store = SqliteStore::open(folder.path(), Options::default()).unwrap();
        block_on(case(&store)).unwrap_or_else(|e| panic!("{rule}: {e}"));
    }
}

#[test]
fn a_small_graph_is_committed_and_loaded() {
    use workgraph_core::access::{Level, Role};
    use workgraph_core::graph::{GraphStore, ViewerKey, Want};
    use workgraph_testkit::{Fixture, MemoryStore};
    let folder = Scratch::new("smoke");
    let sqlite = SqliteStore::open(folder.path(), Options::default()).unwrap();
    let memory = MemoryStore::new();
    let mut fixture = Fixture::default();
    let acme = fixture.workspace("Acme");
    let ann = fixture.member(acme, "Ann", Role::Admin);
    let project = fixture.project(acme, "Launch", ann);
    let section = fixture.section_in(project);
    let tasks: Vec<_> = (0..5)
        .map(|n| fixture.task_in(section, &format!("task {n}"), ann))
        .collect();
    let changes = fixture.take();
    for store in [&sqlite as &dyn GraphStore, &memory] {
        assert_eq!(block_on(store.commit(changes.clone())).unwrap().seq, 1);
        let want = Want::of(ViewerKey {
            user: ann,
            service: None,
        })
        .node(project)
        .into(section, workgraph_core::registry::rel::SECTION, 10);
        let view = block_on(store.load(&want)).unwrap();
        assert_eq!(view.level(project), Level::Admin);
        let listed: Vec<_> = view
            .sources(section, workgraph_core::registry::rel::SECTION)
            .iter()
            .map(|e| e.src)
            .collect();
        assert_eq!(listed, tasks);
        assert_eq!(block_on(store.events(0, 10)).unwrap().len(), 1);
    }
}
