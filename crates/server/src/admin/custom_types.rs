//! `workgraph admin custom-type`: custom types of tasks.
use crate::admin::admin_commands::CustomTypeCommand;
use crate::admin::admin_service::{AdminService, require_name};
use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use workgraph_core::model::resources::custom_type;
use workgraph_core::rules::custom_type_rules::{NewStatus, create_custom_type};
use workgraph_core::{Gid, Type};

/// Carries out a command on custom types.
pub(crate) async fn run(service: &AdminService, what: CustomTypeCommand) -> Result<Value> {
    let CustomTypeCommand::Create {
        name,
        projects,
        statuses,
    } = what;
    require_name(&name)?;
    let statuses: Result<Vec<NewStatus>, _> =
        statuses.iter().map(|text| NewStatus::parse(text)).collect();
    let statuses = statuses?;
    for status in &statuses {
        require_name(&status.name)?;
    }
    let (mut nodes, mut home) = (Vec::with_capacity(projects.len()), None);
    for project in &projects {
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
        .commit(|work, _| create_custom_type(work, home, &nodes, &name, &statuses))
        .await
        .with_context(|| format!("the custom type {name:?} can't be made"))??;
    let node = service.node(Type::CustomType, &made.to_string()).await?;
    let options = custom_type::statuses(&node);
    Ok(json!({
        "gid": made.to_string(),
        "name": name,
        "projects": nodes.iter().map(Gid::to_string).collect::<Vec<_>>(),
        "status_options": options.iter().map(|(gid, _)| gid.to_string()).collect::<Vec<_>>(),
    }))
}
