//! Rule triggers, which the operator creates and deletes.
use crate::admin::admin_commands::RuleTriggerCommand;
use crate::admin::admin_service::{AdminService, require_name};
use anyhow::{Context, Result};
use serde_json::{Value, json};
use workgraph_core::model::registry::rel;
use workgraph_core::model::resources::rule_trigger;
use workgraph_core::rules::rule_trigger_rules::{create_trigger, delete_trigger, rename_trigger};
use workgraph_core::{Node, Type};

/// Runs a command about triggers.
///
/// # Errors
/// Says what is wrong with the command, or that the store failed.
pub(crate) async fn run(service: &AdminService, what: RuleTriggerCommand) -> Result<Value> {
    match what {
        RuleTriggerCommand::Create { name, project } => {
            require_name(&name)?;
            let project = service.node(Type::Project, &project).await?;
            let made = service.commit(|work, _| create_trigger(work, &project, &name));
            let gid = made.await;
            let gid = gid.with_context(|| format!("the trigger {name:?} can't be made"))?;
            let node = service.node(Type::RuleTrigger, &gid.to_string()).await?;
            Ok(show(&node))
        }
        RuleTriggerCommand::List { project } => {
            let project = service.node(Type::Project, &project).await?.gid;
            let triggers = service.sources(project, rel::RULE_TRIGGER_OF).await?;
            Ok(service.nodes(&triggers).await?.iter().map(show).collect())
        }
        RuleTriggerCommand::Rename { gid, name } => {
            require_name(&name)?;
            let trigger = service.node(Type::RuleTrigger, &gid).await?;
            let renamed = service.commit(|work, _| rename_trigger(work, &trigger, &name));
            let renamed = renamed.await;
            renamed.with_context(|| format!("{gid}: its name can't be changed"))?;
            Ok(show(&service.node(Type::RuleTrigger, &gid).await?))
        }
        RuleTriggerCommand::Delete { gid } => {
            let trigger = service.node(Type::RuleTrigger, &gid).await?;
            let deleted = service.commit(|work, _| delete_trigger(work, &trigger));
            let deleted = deleted.await;
            deleted.with_context(|| format!("{gid}: the trigger can't be deleted"))?;
            Ok(json!({"gid": gid, "deleted": true}))
        }
    }
}

fn show(trigger: &Node) -> Value {
    let project = trigger.get(rule_trigger::PROJECT);
    json!({
        "gid": trigger.gid.to_string(),
        "name": trigger.title(),
        "project": project.map(|gid| gid.to_string()),
    })
}
