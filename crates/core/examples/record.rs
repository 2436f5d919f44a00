//! A task as a store keeps it, and as a client reads it: `cargo run -p workgraph-core --example record`
use std::error::Error;
use std::sync::Arc;

use workgraph_core::model::draft::Draft;
use workgraph_core::model::resources::task;
use workgraph_core::plan::{FieldPaths, resolve_fields};
use workgraph_core::projection::projector::Projector;
use workgraph_core::storage::ReadView;
use workgraph_core::{Gid, Level, Type, Viewer, byte_budgets};

fn main() -> Result<(), Box<dyn Error>> {
    let gid = Gid::new(12).ok_or("gids are below 2^53")?;
    let mut draft = Draft::new(Type::Task, gid, None);
    draft.set(task::NAME, "Prune the trees");
    draft.set(task::COMPLETED, true);
    let viewer = Arc::new(Viewer::without_memberships(gid));
    let view = ReadView::new(viewer, 0).with_node(draft.finish(), Level::Viewer);

    // The fields that a client asks for become a plan, and the plan becomes JSON.
    for fields in ["name", "name,completed"] {
        let mask = resolve_fields(Type::Task, &FieldPaths::parse(fields)?);
        let base_url = "https://work.example/api/1.0";
        let budget = byte_budgets::REPLY_BYTES;
        let mut projector = Projector::appending(Vec::new(), &view, base_url, budget);
        projector.record(gid, &mask.plan);
        let (json, _) = projector.finish()?;
        let json = String::from_utf8(json)?;
        println!("{fields}: {json}");
        assert!(json.contains("Prune the trees"));
        assert_eq!(json.contains("true"), fields.contains("completed"));
    }
    Ok(())
}
