//! Objects of the scene that no operation can create, committed to the store.
use crate::world::World;
use workgraph_core::model::registry::{Type, rel};
use workgraph_core::model::resources::task_template;
use workgraph_core::model::time::Time;
use workgraph_core::rules::custom_type_rules::{NewStatus, create_custom_type};
use workgraph_core::storage::ListPosition;
use workgraph_core::storage::change_builder::ChangeBuilder;

/// Adds custom types to a hidden project and to one of the members; no operation can create one.
pub(super) fn custom_types(world: &mut World) {
    let orchid = world.gid("orchid");
    let now = Time::from_system(world.now());
    for (name, project, title) in [
        ("h_type", "h_project", "HIDDEN-type"),
        ("m_type", "m_project", "MEMBERS-type"),
    ] {
        let project = world.gid(project);
        let (made, status, changes) = {
            let generate_gid = || world.api.next_gid();
            let mut work = ChangeBuilder::new(None, now, &generate_gid);
            let statuses = [format!("{title}:incomplete"), format!("{title}:complete")];
            let statuses = statuses.map(|status| NewStatus::parse(&status).unwrap());
            let made = create_custom_type(&mut work, orchid, &[project], title, &statuses);
            let status = work.changes.node_writes[0].node.gid;
            (made.unwrap(), status, work.changes)
        };
        world.run(world.graph.commit(changes)).unwrap();
        world.names.insert(name.to_owned(), made);
        world.names.insert(format!("{name}_status"), status);
    }
}

/// Adds a task template in a hidden project; no operation can create one.
pub(super) fn task_template(world: &mut World) {
    let (ada, orchid) = (world.gid("ada"), world.gid("orchid"));
    let project = world.gid("h_project");
    let now = Time::from_system(world.now());
    let (made, changes) = {
        let generate_gid = || world.api.next_gid();
        let mut work = ChangeBuilder::new(Some(ada), now, &generate_gid);
        let mut draft = work.draft(Type::TaskTemplate, Some(orchid));
        draft.set(task_template::NAME, "HIDDEN-weeding");
        draft.set(task_template::PROJECT, project);
        draft.set(task_template::CREATED_BY, ada);
        draft.set(task_template::CREATED_AT, now);
        let recipe =
            r#"{"name":"HIDDEN-weeding","task_resource_subtype":"default_task","description":""}"#;
        draft.set(task_template::TEMPLATE, recipe.to_owned());
        let made = work.create(&draft, Some(orchid));
        work.link(made, rel::TEMPLATE_OF, project, ListPosition::Rank(0), None);
        (made, work.changes)
    };
    world.run(world.graph.commit(changes)).unwrap();
    world.names.insert("h_weeding".to_owned(), made);
}
