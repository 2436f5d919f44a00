//! `workgraph admin`: its commands, with answers as JSON.
use crate::admin::admin_commands::{
    AdminCommand, JobsCommand, LimitsCommand, PlanName, RoleName, ServiceCommand, SessionsCommand,
    TokenCommand, UserCommand, WebhooksCommand, WorkspaceCommand,
};
use crate::admin::admin_service::{AdminService, service_prefix};
use crate::admin::answer_values::{show_user, time_or_null};
use crate::admin::{apps, custom_types, rule_triggers, teams};
use crate::runtime_limits::LimitScope;
use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use std::time::Duration;
use workgraph_api::SCOPES;
use workgraph_api::job_runner::PendingJob;
use workgraph_core::access::Role;
use workgraph_core::model::email_address;
use workgraph_core::model::registry::rel;
use workgraph_core::model::resources::{job, membership, user, workspace};
use workgraph_core::model::time::Time;
use workgraph_core::rules::membership_roles;
use workgraph_core::rules::membership_roles::MembershipRole;
use workgraph_core::{Gid, Node, Type};

/// Runs a command.
///
/// # Errors
/// Says what is wrong with the command, or that a store failed.
pub(crate) async fn run(service: &AdminService, what: AdminCommand) -> Result<Value> {
    match what {
        AdminCommand::Workspace(what) => of_workspaces(service, what).await,
        AdminCommand::User(what) => of_users(service, what).await,
        AdminCommand::Team(what) => teams::run(service, what).await,
        AdminCommand::CustomType(what) => custom_types::run(service, what).await,
        AdminCommand::Token(what) => of_tokens(service, what).await,
        AdminCommand::Webhooks(what) => of_webhooks(service, what).await,
        AdminCommand::Limits(what) => of_limits(service, what).await,
        AdminCommand::Jobs { what } => of_jobs(service, what.unwrap_or(JobsCommand::List)).await,
        AdminCommand::App(what) => apps::run(service, what).await,
        AdminCommand::RuleTrigger(what) => rule_triggers::run(service, what).await,
        AdminCommand::ServiceAccount(what) => of_service_accounts(service, what).await,
    }
}

async fn of_service_accounts(service: &AdminService, what: ServiceCommand) -> Result<Value> {
    match what {
        ServiceCommand::Create { workspace, name } => {
            let workspace_node = service.node(Type::Workspace, &workspace).await?;
            let (gid, id, secret) = service.create_service(&name, &workspace_node).await?;
            Ok(
                json!({"gid": gid.to_string(), "name": name, "workspace": workspace, "token_id": id, "token": secret.expose()}),
            )
        }
        ServiceCommand::List { workspace } => {
            let workspace = service.node(Type::Workspace, &workspace).await?;
            let prefix = service_prefix(workspace.gid);
            let accounts = service.numbered_nodes(&prefix).await?;
            let accounts = service.nodes(&accounts).await?;
            Ok(accounts.iter().map(show_title).collect())
        }
        ServiceCommand::Rename { gid, name } => {
            Ok(show_title(&service.rename_service(&gid, &name).await?))
        }
    }
}

fn show_title(node: &Node) -> Value {
    json!({"gid": node.gid.to_string(), "name": node.title()})
}

async fn of_jobs(service: &AdminService, what: JobsCommand) -> Result<Value> {
    match what {
        JobsCommand::List => {
            let jobs = service.api.jobs().await;
            let jobs = jobs.context("the jobs can't be read")?;
            Ok(jobs.iter().map(show_job).collect())
        }
        JobsCommand::Cancel { gid } => {
            let gid = Gid::parse(&gid).with_context(|| format!("{gid}: not a gid"))?;
            service.api.cancel_job(gid).await?;
            Ok(json!({"gid": gid.to_string(), "cancelled": true}))
        }
    }
}

fn show_job(job: &PendingJob) -> Value {
    let node = &job.job.node;
    json!({
        "gid": node.gid.to_string(),
        "kind": node.get(job::SUBTYPE),
        "status": node.get(job::STATUS),
        "user": node.get(job::CREATED_BY).map(|g| g.to_string()),
        "objects": job.job.record.objects_done,
        "take_ups": job.job.record.claims,
        "free_from": job.available_from.to_string(),
        "deadline": Time::from_millis(job.job.record.deadline).to_string(),
        "work": job.job.record.kind,
    })
}

fn show_workspace(node: &Node) -> Value {
    json!({
        "gid": node.gid.to_string(),
        "name": node.title(),
        "plan": node.get(workspace::PLAN).unwrap_or_default(),
        "is_organization": node.get(workspace::IS_ORGANIZATION),
        "email_domains": membership_roles::domains(node),
    })
}

async fn of_workspaces(service: &AdminService, what: WorkspaceCommand) -> Result<Value> {
    match what {
        WorkspaceCommand::Create {
            name,
            plan,
            organization,
        } => {
            let gid = service
                .create_workspace(&name, plan == PlanName::Paid, organization)
                .await?;
            Ok(show_workspace(
                &service.node(Type::Workspace, &gid.to_string()).await?,
            ))
        }
        WorkspaceCommand::List => Ok(service
            .workspaces()
            .await?
            .iter()
            .map(show_workspace)
            .collect()),
        WorkspaceCommand::Rename { gid, name } => {
            let node = service.node(Type::Workspace, &gid).await?;
            service.rename(&node, workspace::NAME, &name).await?;
            Ok(show_workspace(&service.node(Type::Workspace, &gid).await?))
        }
        WorkspaceCommand::Plan { gid, plan } => {
            let workspace = service.node(Type::Workspace, &gid).await?;
            service.set_plan(&workspace, plan == PlanName::Paid).await?;
            Ok(show_workspace(&service.node(Type::Workspace, &gid).await?))
        }
        WorkspaceCommand::Domains { gid, domains, none } => {
            let workspace = service.node(Type::Workspace, &gid).await?;
            if none || !domains.is_empty() {
                service.tie_domains(&workspace, &domains).await?;
            }
            Ok(show_workspace(&service.node(Type::Workspace, &gid).await?))
        }
    }
}

async fn of_users(service: &AdminService, what: UserCommand) -> Result<Value> {
    match what {
        UserCommand::Create {
            name,
            email,
            workspace,
            role,
            password,
            ..
        } => {
            let workspace_node = match &workspace {
                Some(gid) => Some(service.node(Type::Workspace, gid).await?),
                None => None,
            };
            let rank = match role {
                RoleName::Admin => Role::Admin,
                RoleName::Member => Role::Member,
                RoleName::Guest => Role::Guest,
            };
            let made_up = if password.is_none() {
                Some(service.password()?)
            } else {
                None
            };
            let secret = password.or_else(|| made_up.clone()).unwrap_or_default();
            let made = service
                .create_user(
                    &name,
                    &email,
                    workspace_node.as_ref().map(|p| (p, rank)),
                    &secret,
                )
                .await?;
            let gid = made.user.to_string();
            let email = email_address::normalize_address(&email);
            let mut shown =
                json!({"gid": gid, "name": name, "email": email, "adopted": made.adopted});
            if let (true, Some(map)) = (made.adopted, shown.as_object_mut()) {
                // The workspaces that they were already invited to.
                let memberships = service.workspaces_of(made.user).await?;
                let memberships = memberships.iter().map(ToString::to_string).collect();
                map.insert("workspaces".to_owned(), memberships);
            }
            if let (Some(workspace_node), Some(map)) = (workspace, shown.as_object_mut()) {
                map.insert("workspace".to_owned(), workspace_node.into());
                map.insert("role".to_owned(), json!(format!("{rank:?}").to_lowercase()));
            }
            if let (Some(secret), Some(map)) = (made_up, shown.as_object_mut()) {
                map.insert("password".to_owned(), secret.into());
            }
            Ok(shown)
        }
        UserCommand::List { workspace } => {
            let workspace_node = service.node(Type::Workspace, &workspace).await?.gid;
            let view = service.read(|want| {
                let at = want.add_ref(workspace_node);
                want.incoming_edges
                    .push((at, rel::WORKSPACES, usize::MAX >> 1));
            });
            let view = view.await?;
            let edges = view.sources(workspace_node, rel::WORKSPACES);
            let invitations = service.read(|want| {
                for edge in edges {
                    want.out.push((want.node_refs.len(), rel::INVITED));
                    want.node_refs.push(edge.src.into());
                }
            });
            let invitations = invitations.await?;
            let users = service
                .nodes(&edges.iter().map(|e| e.src).collect::<Vec<_>>())
                .await?;
            let memberships = service
                .nodes(&edges.iter().filter_map(|e| e.aux).collect::<Vec<_>>())
                .await?;
            let mut rows = Vec::with_capacity(users.len());
            for node in &users {
                let membership = memberships
                    .iter()
                    .find(|s| s.get(membership::USER) == Some(node.gid));
                let role =
                    membership.map_or(Role::Member, |s| MembershipRole::of_membership(s).role);
                let role = format!("{role:?}").to_lowercase();
                let mut row = show_user(service, node).await?;
                let invited = !invitations.links(node.gid, rel::INVITED).is_empty();
                if let Some(map) = row.as_object_mut() {
                    map.insert("invited".to_owned(), invited.into());
                    map.insert("role".to_owned(), role.into());
                }
                rows.push(row);
            }
            Ok(Value::Array(rows))
        }
        UserCommand::Rename { user, name } => {
            let node = service.user(&user).await?;
            service.rename(&node, user::NAME, &name).await?;
            let node = service.node(Type::User, &node.gid.to_string()).await?;
            show_user(service, &node).await
        }
        UserCommand::Password {
            user,
            revoke_tokens,
            password,
            ..
        } => {
            let node = service.user(&user).await?;
            let made_up = match &password {
                Some(_) => None,
                None => Some(service.password()?),
            };
            let secret = password.or_else(|| made_up.clone()).unwrap_or_default();
            service.set_password(&node, &secret).await?;
            let mut shown = show_user(service, &node).await?;
            if revoke_tokens {
                let (hand, now) = (service.as_operator(), service.clock.now());
                let ended = hand.revoke_all(node.gid.get(), now).await;
                let ended =
                    ended.with_context(|| format!("{user}: the tokens can't be revoked"))?;
                set(&mut shown, "revoked", ended.into());
            }
            if let Some(secret) = made_up {
                set(&mut shown, "password", secret.into());
            }
            Ok(shown)
        }
        UserCommand::Sessions(what) => of_sessions(service, what).await,
        UserCommand::Disable { user } => switch(service, &user, true).await,
        UserCommand::Enable { user } => switch(service, &user, false).await,
    }
}

/// Adds a field to an answer.
fn set(shown: &mut Value, name: &str, value: Value) {
    if let Some(map) = shown.as_object_mut() {
        map.insert(name.to_owned(), value);
    }
}

async fn of_sessions(service: &AdminService, what: SessionsCommand) -> Result<Value> {
    let (user, end) = match what {
        SessionsCommand::List { user } => (user, None),
        SessionsCommand::End { user, id } => (user, Some(id)),
    };
    let user_gid = service.user(&user).await?.gid.get();
    let hand = service.as_operator();
    let live = hand.sessions(user_gid).await;
    let mut live = live.with_context(|| format!("{user}: the sessions can't be read"))?;
    let now = service.clock.now();
    live.retain(|session| session.is_live(now));
    let Some(end) = end else {
        let show = |session: &workgraph_auth::BrowserSession| {
            json!({
                "id": session.id(),
                "created_at": time_or_null(Some(session.created_at)),
                "last_used_at": time_or_null(Some(session.last_used_at)),
                "address": session.address.map(|address| address.to_canonical().to_string()),
                "expires_at": time_or_null(Some(session.expires_at)),
            })
        };
        return Ok(live.iter().map(show).collect());
    };
    let ended = match end {
        None => hand.end_sessions(user_gid, None).await,
        Some(id) => {
            let one = live.iter().find(|session| session.id() == id);
            let one = one.with_context(|| format!("{id}: {user} has no session with this id"))?;
            hand.end_session(&one.digest).await.map(|()| 1)
        }
    };
    let ended = ended.with_context(|| format!("{user}: the sessions can't be ended"))?;
    Ok(json!({"user": user_gid.to_string(), "ended": ended}))
}

async fn switch(service: &AdminService, name: &str, disabled: bool) -> Result<Value> {
    let node = service.user(name).await?;
    service.set_disabled(node.gid, disabled).await?;
    show_user(service, &node).await
}

async fn of_tokens(service: &AdminService, what: TokenCommand) -> Result<Value> {
    match what {
        TokenCommand::Create {
            user,
            description,
            scopes,
            expires_days,
        } => {
            let user_gid = service.user(&user).await?.gid;
            let scopes = scopes.map(|s| SCOPES.parse(&s)).transpose()?;
            let lifetime = expires_days.map(|d| Duration::from_secs(u64::from(d) * 86_400));
            let (id, secret) = service
                .create_token(user_gid, &description, scopes, lifetime)
                .await?;
            let mut shown =
                json!({"id": id, "token": secret.expose(), "user": user_gid.to_string()});
            if let (Some(lifetime), Some(map)) = (lifetime, shown.as_object_mut()) {
                map.insert(
                    "expires_at".to_owned(),
                    time_or_null(service.clock.now().checked_add(lifetime)),
                );
            }
            Ok(shown)
        }
        TokenCommand::List { user } => {
            let user_gid = service.user(&user).await?.gid;
            let records = service.storage.tokens.list(user_gid.get()).await;
            let records =
                records.with_context(|| format!("{user_gid}: the tokens can't be read"))?;
            let show = |r: &workgraph_auth::TokenRecord| {
                json!({
                    "id": r.id,
                    "kind": r.kind.name(),
                    "description": r.description,
                    "scopes": r.scopes.to_string(),
                    "created_at": time_or_null(Some(r.created_at)),
                    "expires_at": time_or_null(r.expires_at),
                    "last_used_at": time_or_null(r.last_used_at),
                    "revoked_at": time_or_null(r.revoked_at),
                })
            };
            Ok(records.iter().map(show).collect())
        }
        TokenCommand::Revoke { id } => {
            match service.as_operator().revoke(id, service.clock.now()).await {
                Ok(true) => Ok(json!({"id": id, "revoked": true})),
                Ok(false) => bail!("{id}: there is no live token with this id"),
                Err(e) => Err(e).with_context(|| format!("{id}: the token can't be revoked")),
            }
        }
    }
}

async fn of_limits(service: &AdminService, what: LimitsCommand) -> Result<Value> {
    let change =
        async |whose, pairs: Vec<String>| service.limits.change(whose, &pairs, &service.api).await;
    match what {
        LimitsCommand::Show => change(LimitScope::All, Vec::new()).await,
        LimitsCommand::Set { pairs } => change(LimitScope::All, pairs).await,
        LimitsCommand::App { id, pairs } => {
            let app = service.app(&id.to_string()).await?;
            change(LimitScope::App(app.id), pairs).await
        }
        LimitsCommand::Token { id, pairs } => change(LimitScope::Token(id), pairs).await,
        LimitsCommand::State { user } => {
            let user_gid = service.user(&user).await?.gid.get();
            let tokens = &service.storage.tokens;
            let account = tokens.account(user_gid).await;
            let account = account.with_context(|| format!("{user}: the account can't be read"))?;
            let account = account.with_context(|| format!("{user}: this user has no account"))?;
            let records = tokens.list(user_gid).await;
            let records = records.with_context(|| format!("{user}: the tokens can't be read"))?;
            let now = service.clock.now();
            let mut alive = Vec::new();
            for record in &records {
                let Ok(grant) = workgraph_auth::check_token(record, &account, now) else {
                    continue;
                };
                alive.push(json!({
                    "token": record.id,
                    "description": record.description,
                    "state": service.api.limits_json(&grant).await,
                }));
            }
            Ok(Value::Array(alive))
        }
    }
}

async fn of_webhooks(service: &AdminService, what: WebhooksCommand) -> Result<Value> {
    match what {
        WebhooksCommand::List => {
            let all = service.api.all_webhooks().await;
            let all = all.context("the webhooks can't be read")?;
            let show = |hook: &workgraph_webhooks::Webhook| {
                json!({
                    "gid": hook.id.to_string(),
                    "user": hook.user.to_string(),
                    "resource": hook.resource.to_string(),
                    "target": hook.target,
                    "last_success_at": time_or_null(hook.state.last_success_at),
                    "retries": hook.state.retries,
                    "next_attempt_at": time_or_null(hook.state.next_attempt_at),
                    "deletion_at": time_or_null(hook.state.deletion_at()),
                })
            };
            Ok(all.iter().map(show).collect())
        }
        WebhooksCommand::Log { gid, limit } => {
            let log = service.api.deliveries(gid, limit).await;
            let log =
                log.with_context(|| format!("{gid}: the log of its deliveries can't be read"))?;
            if log.is_empty() {
                let found = service.storage.hooks.get(gid).await;
                let found = found.with_context(|| format!("{gid}: the webhook can't be read"))?;
                found.with_context(|| format!("{gid}: there is no webhook with this gid"))?;
            }
            let show = |line: &workgraph_webhooks::DeliveryLogEntry| {
                json!({
                    "id": line.id,
                    "at": time_or_null(Some(line.sent_at)),
                    "events": line.events,
                    "attempt": line.attempt,
                    "status": line.status,
                    "error": line.error,
                })
            };
            Ok(log.iter().map(show).collect())
        }
        WebhooksCommand::Redeliver { gid, delivery } => {
            let events = service.api.redeliver(gid, delivery).await?;
            Ok(json!({"gid": gid.to_string(), "delivery": delivery, "events": events}))
        }
        WebhooksCommand::Delete { gid } => {
            let deleted = service.api.delete_webhook(gid).await;
            let deleted =
                deleted.with_context(|| format!("{gid}: the webhook can't be deleted"))?;
            if !deleted {
                bail!("{gid}: there is no webhook with this gid");
            }
            Ok(json!({"gid": gid.to_string(), "deleted": true}))
        }
    }
}
