//! `workgraph admin custom-type`: custom types of tasks.
use crate::admin::admin_commands::CustomTypeCommand;
use crate::admin::admin_service::{AdminService, require_name};
use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use workgraph_core::model::registry::rel;
use workgraph_core::model::resources::custom_type;
use workgraph_core::rules::custom_type_rules::{NewStatus, create_custom_type};
use workgraph_core::{Gid, Node, Type};

/// Runs a command about custom types.
///
/// # Errors
/// Says what is wrong with the command, or that the store failed.
pub(crate) async fn run(service: &AdminService, what: CustomTypeCommand) -> Result<Value> {
    match what {
        CustomTypeCommand::Create {
            name,
            projects,
            statuses,
        } => create(service, &name, &projects, &statuses).await,
        CustomTypeCommand::List { project } => {
            let project = service.node(Type::Project, &project).await?.gid;
            let types = service.sources(project, rel::CUSTOM_TYPE_ON).await?;
            let mut rows = Vec::with_capacity(types.len());
            for node in &service.nodes(&types).await? {
                rows.push(show(service, node).await?);
            }
            Ok(Value::Array(rows))
        }
        CustomTypeCommand::Rename { gid, name } => {
            let node = service.node(Type::CustomType, &gid).await?;
            service.rename(&node, custom_type::NAME, &name).await?;
            show(service, &service.node(Type::CustomType, &gid).await?).await
        }
    }
}

async fn create(
    service: &AdminService,
    name: &str,
    projects: &[String],
    statuses: &[String],
) -> Result<Value> {
    require_name(name)?;
    let statuses: Result<Vec<NewStatus>, _> =
        statuses.iter().map(|text| NewStatus::parse(text)).collect();
    let statuses = statuses?;
    for status in &statuses {
        require_name(&status.name)?;
    }
    let (mut nodes, mut home) = (Vec::with_capacity(projects.len()), None);
    for project in projects {
        let node = service.node(Type::Project, project).await?;
        if nodes.contains(&node.gid) {
            continue;
        }
        let workspace = node.workspace.context("the project has no workspace")?;
        if home.is_some_and(|home| home != workspace) {
            bail!("{project}: this project is in another workspace");
        }
        home = Some(workspace);
        nodes.push(node.gid);
    }
    let home: Gid = home.context("a custom type has a project")?;
    let made = service
        .commit(|work, _| create_custom_type(work, home, &nodes, name, &statuses))
        .await
        .with_context(|| format!("the custom type {name:?} can't be made"))??;
    show(
        service,
        &service.node(Type::CustomType, &made.to_string()).await?,
    )
    .await
}

async fn show(service: &AdminService, node: &Node) -> Result<Value> {
    let view = service.read(|want| *want = want.clone().edges(node.gid, rel::CUSTOM_TYPE_ON));
    let view = view.await?;
    let projects = view.links(node.gid, rel::CUSTOM_TYPE_ON).iter();
    let options = custom_type::statuses(node);
    Ok(json!({
        "gid": node.gid.to_string(),
        "name": node.title(),
        "projects": projects.map(|edge| edge.dst.to_string()).collect::<Vec<_>>(),
        "status_options": options.iter().map(|(gid, _)| gid.to_string()).collect::<Vec<_>>(),
    }))
}
