//! `workgraph admin team`: teams of organizations, and their users.
use crate::admin::admin_commands::TeamCommand;
use crate::admin::admin_service::AdminService;
use crate::admin::answer_values::show_user;
use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use workgraph_core::model::registry::rel;
use workgraph_core::model::resources::team;
use workgraph_core::rules::membership_rules;
use workgraph_core::storage::{ListSource, PageQuery};
use workgraph_core::{Gid, Node, Type};

/// Runs a command about teams.
///
/// # Errors
/// Says what is wrong with the command, or that the store failed.
pub(crate) async fn run(service: &AdminService, what: TeamCommand) -> Result<Value> {
    match what {
        TeamCommand::Create { name, workspace } => {
            let workspace = service.node(Type::Workspace, &workspace).await?;
            let visibility = "request_to_join";
            let made = service.create_team(&name, &workspace, None, visibility);
            let gid = made.await?.to_string();
            Ok(show(&service.node(Type::Team, &gid).await?))
        }
        TeamCommand::List { workspace } => {
            let workspace = service.node(Type::Workspace, &workspace).await?.gid;
            let view = service.read(|want| {
                // Lists show what their viewer may see: a service account of the workspace sees all.
                want.viewer.service = Some(workspace);
                let anchor = want.add_ref(workspace);
                let teams = ListSource::InWorkspace {
                    anchor,
                    ty: Type::Team,
                };
                want.page = Some(PageQuery::of(teams, true, usize::MAX >> 1));
            });
            let teams = view.await?.rows.gids;
            Ok(service.nodes(&teams).await?.iter().map(show).collect())
        }
        TeamCommand::Rename { gid, name } => {
            let node = service.node(Type::Team, &gid).await?;
            service.rename(&node, team::NAME, &name).await?;
            Ok(show(&service.node(Type::Team, &gid).await?))
        }
        TeamCommand::AddUser { team, user, admin } => {
            let team_node = service.node(Type::Team, &team).await?;
            let user = service.user(&user).await?.gid;
            let gid = service.join_team(user, &team_node, admin).await?;
            Ok(
                json!({"gid": gid.to_string(), "team": team, "user": user.to_string(), "admin": admin}),
            )
        }
        TeamCommand::ListUsers { team } => {
            let team = service.node(Type::Team, &team).await?.gid;
            let view = service.read(|want| *want = want.clone().edges(team, rel::TEAM_MEMBERS));
            let view = view.await?;
            let members = view.links(team, rel::TEAM_MEMBERS);
            let gids: Vec<Gid> = members.iter().map(|edge| edge.dst).collect();
            let mut rows = Vec::with_capacity(gids.len());
            for node in &service.nodes(&gids).await? {
                let mut row = show_user(service, node).await?;
                let edge = members.iter().find(|edge| edge.dst == node.gid);
                if let Some(map) = row.as_object_mut() {
                    let is_admin = edge.is_some_and(|edge| edge.rank == 1);
                    map.insert("admin".to_owned(), is_admin.into());
                }
                rows.push(row);
            }
            Ok(Value::Array(rows))
        }
        TeamCommand::RemoveUser { team, user } => {
            let team_gid = service.node(Type::Team, &team).await?.gid;
            let user_gid = service.user(&user).await?.gid;
            let view = service
                .read(|want| *want = want.clone().edge(team_gid, rel::TEAM_MEMBERS, user_gid));
            let view = view.await?;
            let Some(edge) = view.link(team_gid, rel::TEAM_MEMBERS, user_gid) else {
                bail!("{user}: this user is not in the team");
            };
            let left = service.commit(|work, _| {
                membership_rules::leave_team(work, user_gid, team_gid, edge.aux);
            });
            left.await
                .with_context(|| format!("{user}: this user can't be taken out of the team"))?;
            Ok(json!({"team": team, "user": user_gid.to_string(), "removed": true}))
        }
    }
}

fn show(team: &Node) -> Value {
    json!({
        "gid": team.gid.to_string(),
        "name": team.title(),
        "workspace": team.workspace.map(|gid| gid.to_string()),
    })
}
