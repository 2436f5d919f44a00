//! The office: makes users, workspaces, teams and tokens, for the first start and for `admin`.
use crate::bootstrap::FirstPasswords;
use crate::limits::Desk;
use crate::storage::Storage;
use std::sync::Arc;
use workgraph_api::{Api, Clock, Entropy};
use workgraph_auth::{Loopback, OAuthStore, Tier};
use workgraph_core::audit::{Acting, Actor, tells};
use workgraph_core::graph::{Ref, StoreError, View, ViewerKey, Want, alias};
use workgraph_core::registry::rel;
use workgraph_core::resources::{team, workspace};
use workgraph_core::rules::{membership, roles};
use workgraph_core::time::Time;
use workgraph_core::work::Work;
use workgraph_core::{Gid, Node, Type, address, check};
use workgraph_portal::Acts;

/// What the office works with.
pub(crate) struct Office {
    pub(crate) api: Arc<Api>,
    pub(crate) storage: Arc<Storage>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) entropy: Arc<dyn Entropy>,
    pub(crate) limits: Arc<Desk>,
    /// The passwords that the first start wrote down.
    pub(crate) first_passwords: Arc<FirstPasswords>,
    /// Whether apps may have `http` redirect URLs on this machine.
    pub(crate) loopback: Loopback,
}

/// How many numbered names are looked up at a time.
const BATCH: u32 = 64;

/// The prefix of the numbered names of workspaces.
const WORKSPACES: &str = "workspace";

impl Office {
    /// Reads nodes and edges, as nobody.
    pub(crate) async fn load(&self, fill: impl FnOnce(&mut Want)) -> Result<View, String> {
        let mut want = Want::of(ViewerKey {
            user: Gid::new(1).ok_or("no gid 1")?,
            service: None,
        });
        fill(&mut want);
        self.storage
            .graph
            .load(&want)
            .await
            .map_err(|e| e.to_string())
    }

    /// The tokens and apps in the hand of whoever runs the server.
    pub(crate) fn hand(&self) -> Arc<dyn OAuthStore> {
        let operator = Acting::inside(Actor::Operator);
        self.storage.by(operator, self.clock.now())
    }

    /// Decides and commits, again if something else was faster. `decide` is given the attempt's number.
    pub(crate) async fn commit<T>(
        &self,
        decide: impl FnMut(&mut Work<'_>, u32) -> T,
    ) -> Result<T, StoreError> {
        let operator = Acting::inside(Actor::Operator);
        self.commit_by(&operator, decide).await
    }

    /// The same, by somebody.
    pub(crate) async fn commit_by<T>(
        &self,
        acting: &Acting,
        mut decide: impl FnMut(&mut Work<'_>, u32) -> T,
    ) -> Result<T, StoreError> {
        let mut attempt = 0;
        loop {
            let mint = || self.api.fresh();
            let (made, mut changes) = {
                let mut work = Work::new(None, Time::from_system(self.clock.now()), &mint);
                (decide(&mut work, attempt), work.changes)
            };
            if tells(&changes) {
                changes.acting = Some(Box::new(acting.clone()));
            }
            match self.storage.graph.commit(changes).await {
                Ok(_) => return Ok(made),
                Err(StoreError::Conflict) if attempt < 8 => attempt += 1,
                Err(e) => return Err(e),
            }
        }
    }

    /// The nodes with the names `prefix:1`, `prefix:2` and so on.
    pub(crate) async fn numbered(&self, prefix: &str) -> Result<Vec<Gid>, String> {
        let mut all = Vec::new();
        for from in (1u32..).step_by(BATCH as usize) {
            let names: Vec<Ref> = (from..from + BATCH)
                .map(|n| Ref::Alias(format!("{prefix}:{n}")))
                .collect();
            let view = self.load(|want| want.refs.clone_from(&names)).await?;
            let before = all.len();
            all.extend(names.iter().filter_map(|name| view.resolve(name)));
            if all.len() == before {
                break;
            }
        }
        Ok(all)
    }

    /// All workspaces.
    pub(crate) async fn workspaces(&self) -> Result<Vec<Node>, String> {
        self.nodes(&self.numbered(WORKSPACES).await?).await
    }

    /// The live nodes among these.
    pub(crate) async fn nodes(&self, gids: &[Gid]) -> Result<Vec<Node>, String> {
        let mut all = Vec::with_capacity(gids.len());
        for some in gids.chunks(BATCH as usize) {
            let view = self
                .load(|want| want.refs.extend(some.iter().map(|g| Ref::Gid(*g))))
                .await?;
            all.extend(some.iter().filter_map(|g| view.node(*g).cloned()));
        }
        Ok(all)
    }

    /// A node of a type, by its gid as text.
    pub(crate) async fn node(&self, ty: Type, text: &str) -> Result<Node, String> {
        let none = || {
            format!(
                "{text}: there is no {} with this gid",
                workgraph_core::resources::resource(ty).noun
            )
        };
        let gid = Gid::parse(text).ok_or_else(none)?;
        self.nodes(&[gid])
            .await?
            .pop()
            .filter(|n| n.ty == ty)
            .ok_or_else(none)
    }

    /// A user, by address or gid.
    pub(crate) async fn user(&self, text: &str) -> Result<Node, String> {
        if !text.contains('@') {
            return self.node(Type::User, text).await;
        }
        let found = self.holder(text).await?;
        found.ok_or_else(|| format!("{text}: there is no user with this address"))
    }

    /// The user with an address, if there is one.
    pub(crate) async fn holder(&self, address: &str) -> Result<Option<Node>, String> {
        let name = Ref::Alias(alias::email(address));
        let view = self.load(|want| want.refs.push(name.clone())).await?;
        Ok(view.resolve(&name).and_then(|g| view.node(g)).cloned())
    }

    /// The workspaces that a user belongs to.
    pub(crate) async fn workspaces_of(&self, user: Gid) -> Result<Vec<Gid>, String> {
        let view = self
            .load(|want| *want = want.clone().edges(user, rel::WORKSPACES))
            .await?;
        let seats = view.links(user, rel::WORKSPACES).iter();
        Ok(seats.map(|edge| edge.dst).collect())
    }

    /// The members of a workspace.
    pub(crate) async fn members(&self, place: Gid) -> Result<Vec<Gid>, String> {
        let view = self.load(|want| {
            let at = want.add(place);
            want.into.push((at, rel::WORKSPACES, usize::MAX >> 1));
        });
        Ok(view
            .await?
            .sources(place, rel::WORKSPACES)
            .iter()
            .map(|e| e.src)
            .collect())
    }

    /// Makes a workspace.
    pub(crate) async fn create_workspace(
        &self,
        name: &str,
        paid: bool,
        organization: bool,
    ) -> Result<Gid, String> {
        named(name)?;
        let mut number = self.numbered(WORKSPACES).await?.len();
        loop {
            number += 1;
            let made = self.commit(|work, _| {
                let gid = membership::found_workspace(work, name, paid, organization);
                work.changes
                    .aliases
                    .push((format!("{WORKSPACES}:{number}"), gid));
                gid
            });
            match made.await {
                Err(StoreError::Taken(_)) if number < 1_000_000 => {}
                outcome => return outcome.map_err(|e| e.to_string()),
            }
        }
    }

    /// Changes the plan of a workspace, and with it the quotas of those in it.
    pub(crate) async fn set_plan(&self, place: &Node, paid: bool) -> Result<(), String> {
        let mut draft = workgraph_core::draft::Draft::edit(place);
        draft.set(workspace::PLAN, if paid { "paid" } else { "free" });
        let saved = self.commit(|work, _| work.save(&draft));
        saved.await.map_err(|e| e.to_string())?;
        for gid in self.members(place.gid).await? {
            self.api.refresh_account(gid).await?;
        }
        for gid in self.numbered(&service_prefix(place.gid)).await? {
            let done = self.hand().set_tier(gid.get(), tier(paid)).await;
            done.map_err(|e| e.to_string())?;
        }
        Ok(())
    }

    /// Ties e-mail domains to an organization, in place of those it has.
    pub(crate) async fn tie_domains(&self, place: &Node, texts: &[String]) -> Result<(), String> {
        if !place.get(workspace::IS_ORGANIZATION) {
            return Err(format!(
                "{}: this workspace is not an organization, so it has no domains",
                place.gid
            ));
        }
        let mut domains = Vec::with_capacity(texts.len());
        for text in texts {
            let domain = address::domain(text)
                .map_err(|e| format!("{}: this is not a domain; {e}", check::clip(text)))?;
            if !domains.contains(&domain) {
                domains.push(domain);
            }
        }
        let tied = self.commit(|work, _| roles::tie_domains(work, place, &domains));
        tied.await.map_err(|e| e.to_string())
    }

    /// Makes a team of an organization.
    pub(crate) async fn create_team(
        &self,
        name: &str,
        place: &Node,
        admin: Option<Gid>,
        visibility: &str,
    ) -> Result<Gid, String> {
        named(name)?;
        if !place.get(workspace::IS_ORGANIZATION) {
            return Err(format!(
                "{}: this workspace is not an organization, so it has no teams",
                place.gid
            ));
        }
        let made = self.commit(|work, _| {
            let mut draft = work.draft(Type::Team, Some(place.gid));
            draft.set(team::NAME, name);
            draft.set(team::VISIBILITY, visibility);
            membership::found_team(work, draft, admin)
        });
        made.await.map_err(|e| e.to_string())
    }

    /// Puts a user into a team.
    pub(crate) async fn join_team(
        &self,
        who: Gid,
        place: &Node,
        admin: bool,
    ) -> Result<Gid, String> {
        let home = place.home.ok_or("the team has no workspace")?;
        let view = self
            .load(|want| {
                *want = want.clone().edge(who, rel::WORKSPACES, home).edge(
                    place.gid,
                    rel::TEAM_MEMBERS,
                    who,
                )
            })
            .await?;
        if view.link(who, rel::WORKSPACES, home).is_none() {
            return Err(format!(
                "{who}: this user does not belong to the team's workspace"
            ));
        }
        if view.link(place.gid, rel::TEAM_MEMBERS, who).is_some() {
            return Err(format!("{who}: this user is in the team already"));
        }
        self.commit(|work, _| membership::join_team(work, who, place.gid, home, admin))
            .await
            .map_err(|e| e.to_string())
    }
}

pub(crate) fn named(name: &str) -> Result<(), String> {
    let length = name.chars().count();
    if name.trim().is_empty() || length > workgraph_core::registry::NAME_MAX as usize {
        return Err("a name has 1 to 1024 characters".to_owned());
    }
    Ok(())
}

pub(crate) fn service_prefix(place: Gid) -> String {
    format!("service:{place}")
}

pub(crate) fn tier(paid: bool) -> Tier {
    if paid { Tier::Paid } else { Tier::Free }
}
