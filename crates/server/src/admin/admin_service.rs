//! The admin service: creates users, workspaces, teams and tokens, for the first start and for `admin`.
use crate::adapters::stores::Storage;
use crate::admin::bootstrap_file::FirstPasswords;
use crate::runtime_limits::RuntimeLimits;
use anyhow::{Context, Result, anyhow, bail};
use std::sync::Arc;
use workgraph_api::{Api, Clock, Entropy, FREE_TIER, PAID_TIER};
use workgraph_auth::{LoopbackPolicy, OAuthStore, Tier};
use workgraph_core::access::Role;
use workgraph_core::audit::{ActorContext, AuditActor};
use workgraph_core::engine::has_audit_rows;
use workgraph_core::model::draft::Draft;
use workgraph_core::model::registry::rel;
use workgraph_core::model::registry::{Relation, TypedField};
use workgraph_core::model::resources::{team, workspace};
use workgraph_core::model::time::Time;
use workgraph_core::model::{email_address, validate};
use workgraph_core::rules::membership_roles::MembershipRole;
use workgraph_core::rules::membership_rules::TeamStanding;
use workgraph_core::rules::{membership_roles, membership_rules};
use workgraph_core::storage::change_builder::ChangeBuilder;
use workgraph_core::storage::{
    GraphStoreError, LinkSelector, NodeRef, ReadQuery, ReadView, ViewerKey, alias,
};
use workgraph_core::{Gid, Node, Type};
use workgraph_portal::AuditedStore;

/// Service that runs the operator's commands, with its stores.
pub(crate) struct AdminService {
    pub(crate) api: Arc<Api>,
    pub(crate) storage: Arc<Storage>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) entropy: Arc<dyn Entropy>,
    pub(crate) limits: Arc<RuntimeLimits>,
    /// Passwords that the first start wrote into its file.
    pub(crate) first_passwords: Arc<FirstPasswords>,
    /// Policy for `http` redirect URLs on this machine.
    pub(crate) loopback: LoopbackPolicy,
}

/// Number of numbered names that are looked up at once.
const BATCH: u32 = 64;

/// Prefix of the numbered names of workspaces.
const WORKSPACES: &str = "workspace";

impl AdminService {
    /// Reads nodes and edges without a viewer.
    pub(crate) async fn read(&self, fill: impl FnOnce(&mut ReadQuery)) -> Result<ReadView> {
        let mut want = ReadQuery::of(ViewerKey {
            user: Gid::new(1).context("no gid 1")?,
            service: None,
        });
        fill(&mut want);
        let view = self.storage.graph.load(&want).await;
        view.context("the graph can't be read")
    }

    /// Returns the store of tokens and apps, with the operator as the actor.
    pub(crate) fn as_operator(&self) -> Arc<dyn OAuthStore> {
        let operator = ActorContext::internal(AuditActor::Operator);
        self.storage.as_actor(operator, self.clock.now())
    }

    /// Decides and commits; retries if another change came first. `decide` gets the number of the attempt.
    pub(crate) async fn commit<T>(
        &self,
        decide: impl FnMut(&mut ChangeBuilder<'_>, u32) -> T,
    ) -> Result<T, GraphStoreError> {
        let operator = ActorContext::internal(AuditActor::Operator);
        self.commit_as(&operator, decide).await
    }

    /// Decides and commits as [`commit`](Self::commit) does, on behalf of an actor.
    pub(crate) async fn commit_as<T>(
        &self,
        acting: &ActorContext,
        mut decide: impl FnMut(&mut ChangeBuilder<'_>, u32) -> T,
    ) -> Result<T, GraphStoreError> {
        let mut attempt = 0;
        loop {
            let generate_gid = || self.api.next_gid();
            let (made, mut changes) = {
                let mut work =
                    ChangeBuilder::new(None, Time::from_system(self.clock.now()), &generate_gid);
                (decide(&mut work, attempt), work.changes)
            };
            if has_audit_rows(&changes) {
                changes.actor_context = Some(Box::new(acting.clone()));
            }
            match self.storage.graph.commit(changes).await {
                Ok(_) => return Ok(made),
                Err(GraphStoreError::Conflict) if attempt < 8 => attempt += 1,
                Err(e) => return Err(e),
            }
        }
    }

    /// Returns the nodes with the names `prefix:1`, `prefix:2` and so on.
    pub(crate) async fn numbered_nodes(&self, prefix: &str) -> Result<Vec<Gid>> {
        let mut all = Vec::new();
        for from in (1u32..).step_by(BATCH as usize) {
            let names: Vec<NodeRef> = (from..from + BATCH)
                .map(|n| NodeRef::Alias(format!("{prefix}:{n}")))
                .collect();
            let view = self.read(|want| want.node_refs.clone_from(&names)).await?;
            let before = all.len();
            all.extend(names.iter().filter_map(|name| view.resolve(name)));
            if all.len() == before {
                break;
            }
        }
        Ok(all)
    }

    pub(crate) async fn workspaces(&self) -> Result<Vec<Node>> {
        self.nodes(&self.numbered_nodes(WORKSPACES).await?).await
    }

    /// Returns the nodes in this list that are not deleted.
    pub(crate) async fn nodes(&self, gids: &[Gid]) -> Result<Vec<Node>> {
        let mut all = Vec::with_capacity(gids.len());
        for some in gids.chunks(BATCH as usize) {
            let view = self
                .read(|want| want.node_refs.extend(some.iter().map(|g| NodeRef::Gid(*g))))
                .await?;
            all.extend(some.iter().filter_map(|g| view.node(*g).cloned()));
        }
        Ok(all)
    }

    /// Returns a node of a type, by its gid as text.
    pub(crate) async fn node(&self, ty: Type, text: &str) -> Result<Node> {
        let none = || {
            format!(
                "{text}: there is no {} with this gid",
                workgraph_core::model::resources::resource(ty).noun
            )
        };
        let gid = Gid::parse(text).with_context(none)?;
        self.nodes(&[gid])
            .await?
            .pop()
            .filter(|n| n.ty == ty)
            .with_context(none)
    }

    /// Returns a user, given their e-mail address or gid.
    pub(crate) async fn user(&self, text: &str) -> Result<Node> {
        if !text.contains('@') {
            return self.node(Type::User, text).await;
        }
        let found = self.user_with_address(text).await?;
        found.with_context(|| format!("{text}: there is no user with this address"))
    }

    /// Returns the user with an e-mail address, if any.
    pub(crate) async fn user_with_address(&self, address: &str) -> Result<Option<Node>> {
        let name = NodeRef::Alias(alias::email(address));
        let view = self.read(|want| want.node_refs.push(name.clone())).await?;
        Ok(view.resolve(&name).and_then(|g| view.node(g)).cloned())
    }

    /// Returns the workspaces that a user belongs to.
    pub(crate) async fn workspaces_of(&self, user: Gid) -> Result<Vec<Gid>> {
        let view = self
            .read(|want| *want = want.clone().edges(user, rel::WORKSPACES))
            .await?;
        let memberships = view.links(user, rel::WORKSPACES).iter();
        Ok(memberships.map(|edge| edge.dst).collect())
    }

    pub(crate) async fn members(&self, workspace: Gid) -> Result<Vec<Gid>> {
        self.sources(workspace, rel::WORKSPACES).await
    }

    /// Returns the sources of a relation's edges to a node.
    pub(crate) async fn sources(&self, node: Gid, relation: Relation) -> Result<Vec<Gid>> {
        let view = self.read(|want| {
            let at = want.add_ref(node);
            want.incoming_edges.push((at, relation, usize::MAX >> 1));
        });
        let view = view.await?;
        let edges = view.sources(node, relation).iter();
        Ok(edges.map(|edge| edge.src).collect())
    }

    /// Creates a workspace without members.
    pub(crate) async fn create_workspace(
        &self,
        name: &str,
        paid: bool,
        organization: bool,
    ) -> Result<Gid> {
        require_name(name)?;
        let mut number = self.numbered_nodes(WORKSPACES).await?.len();
        loop {
            number += 1;
            let made = self.commit(|work, _| {
                let gid = membership_rules::create_workspace(work, name, paid, organization);
                work.changes
                    .add_aliases
                    .push((format!("{WORKSPACES}:{number}"), gid));
                gid
            });
            match made.await {
                Err(GraphStoreError::AliasTaken(_)) if number < 1_000_000 => {}
                outcome => {
                    return outcome
                        .with_context(|| format!("the workspace {name:?} can't be made"));
                }
            }
        }
    }

    pub(crate) async fn rename(
        &self,
        node: &Node,
        field: TypedField<str>,
        name: &str,
    ) -> Result<()> {
        require_name(name)?;
        let mut draft = Draft::edit(node);
        draft.set(field, name);
        let saved = self.commit(|work, _| work.save(&draft)).await;
        saved
            .map(|_| ())
            .with_context(|| format!("{}: its name can't be changed", node.gid))
    }

    /// Changes the plan of a workspace, and thereby the quotas of its members.
    pub(crate) async fn set_plan(&self, workspace: &Node, paid: bool) -> Result<()> {
        let mut draft = Draft::edit(workspace);
        draft.set(workspace::PLAN, if paid { "paid" } else { "free" });
        let saved = self.commit(|work, _| work.save(&draft));
        saved
            .await
            .with_context(|| format!("{}: its plan can't be changed", workspace.gid))?;
        for gid in self.members(workspace.gid).await? {
            self.refresh_account(gid).await?;
        }
        for gid in self.numbered_nodes(&service_prefix(workspace.gid)).await? {
            let done = self.as_operator().set_tier(gid.get(), tier(paid)).await;
            done.with_context(|| format!("the tier of service account {gid} can't be changed"))?;
        }
        Ok(())
    }

    /// Updates the account of a user from their workspaces.
    pub(crate) async fn refresh_account(&self, user: Gid) -> Result<()> {
        let refreshed = self.api.refresh_account(user).await;
        refreshed.with_context(|| format!("the account of user {user} can't be brought up to date"))
    }

    /// Sets the e-mail domains of an organization, replacing the current ones.
    pub(crate) async fn tie_domains(&self, workspace: &Node, texts: &[String]) -> Result<()> {
        if !workspace.get(workspace::IS_ORGANIZATION) {
            bail!(
                "{}: this workspace is not an organization, so it has no domains",
                workspace.gid
            );
        }
        let mut domains = Vec::with_capacity(texts.len());
        for text in texts {
            let domain = email_address::parse_domain(text)
                .map_err(|e| anyhow!("{}: this is not a domain; {e}", validate::clip(text)))?;
            if !domains.contains(&domain) {
                domains.push(domain);
            }
        }
        let tied = self.commit(|work, _| membership_roles::set_domains(work, workspace, &domains));
        tied.await
            .with_context(|| format!("{}: its domains can't be changed", workspace.gid))
    }

    /// Creates a team in an organization, perhaps with a first admin.
    pub(crate) async fn create_team(
        &self,
        name: &str,
        workspace: &Node,
        admin: Option<Gid>,
        visibility: &str,
    ) -> Result<Gid> {
        require_name(name)?;
        if !workspace.get(workspace::IS_ORGANIZATION) {
            bail!(
                "{}: this workspace is not an organization, so it has no teams",
                workspace.gid
            );
        }
        let made = self.commit(|work, _| {
            let mut draft = work.draft(Type::Team, Some(workspace.gid));
            draft.set(team::NAME, name);
            draft.set(team::VISIBILITY, visibility);
            membership_rules::create_team(work, draft, admin)
        });
        made.await
            .with_context(|| format!("the team {name:?} can't be made"))
    }

    pub(crate) async fn join_team(&self, user: Gid, team: &Node, admin: bool) -> Result<Gid> {
        let workspace = team.workspace.context("the team has no workspace")?;
        let seat = NodeRef::Gid(user).of(LinkSelector::Aux(rel::WORKSPACES, workspace));
        let view = self
            .read(|want| {
                *want = want.clone().edge(user, rel::WORKSPACES, workspace).edge(
                    team.gid,
                    rel::TEAM_MEMBERS,
                    user,
                );
                want.add_ref(seat.clone());
            })
            .await?;
        if view.link(user, rel::WORKSPACES, workspace).is_none() {
            bail!("{user}: this user does not belong to the team's workspace");
        }
        if view.link(team.gid, rel::TEAM_MEMBERS, user).is_some() {
            bail!("{user}: this user is in the team already");
        }
        let seat = view.resolve(&seat).and_then(|gid| view.node(gid));
        let role = seat.map(|seat| MembershipRole::of_membership(seat).role);
        let standing = TeamStanding {
            is_admin: admin,
            is_guest: role == Some(Role::Guest),
        };
        self.commit(|work, _| {
            membership_rules::join_team(work, user, team.gid, workspace, standing)
        })
        .await
        .with_context(|| format!("{user}: this user can't be put into team {}", team.gid))
    }
}

pub(crate) fn require_name(name: &str) -> Result<()> {
    let length = name.chars().count();
    if name.trim().is_empty() || length > workgraph_core::model::registry::NAME_MAX as usize {
        bail!("a name has 1 to 1024 characters");
    }
    Ok(())
}

pub(crate) fn service_prefix(workspace: Gid) -> String {
    format!("service:{workspace}")
}

pub(crate) fn tier(paid: bool) -> Tier {
    if paid { PAID_TIER } else { FREE_TIER }
}
