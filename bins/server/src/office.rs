//! The office: makes users, workspaces, teams and tokens, for the first start and for `admin`.
use crate::seams::{hex, random};
use crate::storage::Storage;
use std::sync::Arc;
use std::time::Duration;
use workgraph_api::{Api, Clock, Entropy};
use workgraph_auth::{Account, Login, ScopeSet, Secret, Tier, TokenKind, TokenRecord, mint, token};
use workgraph_core::access::Role;
use workgraph_core::graph::{Ref, StoreError, View, ViewerKey, Want, alias};
use workgraph_core::registry::rel;
use workgraph_core::resources::{team, user, workspace};
use workgraph_core::rules::membership;
use workgraph_core::time::Time;
use workgraph_core::work::Work;
use workgraph_core::{Gid, Node, Type};

/// What the office works with.
pub(crate) struct Office {
    pub(crate) api: Arc<Api>,
    pub(crate) storage: Arc<Storage>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) entropy: Arc<dyn Entropy>,
}

/// How many numbered names are looked up at a time.
const BATCH: u32 = 64;

/// The prefix of the numbered names of workspaces.
const WORKSPACES: &str = "workspace";

impl Office {
    /// Reads nodes and edges, as nobody.
    pub(crate) async fn load(&self, fill: impl FnOnce(&mut Want)) -> Result<View, String> {
        let mut want = Want::of(ViewerKey { user: Gid::new(1).ok_or("no gid 1")?, service: None });
        fill(&mut want);
        self.storage.graph.load(&want).await.map_err(|e| e.to_string())
    }

    /// Decides and commits, again if something else was faster. `decide` is given the attempt's number.
    async fn commit<T>(&self, mut decide: impl FnMut(&mut Work<'_>, u32) -> T) -> Result<T, StoreError> {
        let mut attempt = 0;
        loop {
            let mint = || self.api.fresh();
            let (made, changes) = {
                let mut work = Work::new(None, Time::from_system(self.clock.now()), &mint);
                (decide(&mut work, attempt), work.changes)
            };
            match self.storage.graph.commit(changes).await {
                Ok(_) => return Ok(made),
                Err(StoreError::Conflict) if attempt < 8 => attempt += 1,
                Err(e) => return Err(e),
            }
        }
    }

    /// The nodes with the names `prefix:1`, `prefix:2` and so on.
    async fn numbered(&self, prefix: &str) -> Result<Vec<Gid>, String> {
        let mut all = Vec::new();
        for from in (1u32..).step_by(BATCH as usize) {
            let names: Vec<Ref> = (from..from + BATCH).map(|n| Ref::Alias(format!("{prefix}:{n}"))).collect();
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
            let view = self.load(|want| want.refs.extend(some.iter().map(|g| Ref::Gid(*g)))).await?;
            all.extend(some.iter().filter_map(|g| view.node(*g).cloned()));
        }
        Ok(all)
    }

    /// A node of a type, by its gid as text.
    pub(crate) async fn node(&self, ty: Type, text: &str) -> Result<Node, String> {
        let none = || format!("{text}: there is no {} with this gid", workgraph_core::resources::resource(ty).noun);
        let gid = Gid::parse(text).ok_or_else(none)?;
        self.nodes(&[gid]).await?.pop().filter(|n| n.ty == ty).ok_or_else(none)
    }

    /// A user, by address or gid.
    pub(crate) async fn user(&self, text: &str) -> Result<Node, String> {
        if !text.contains('@') {
            return self.node(Type::User, text).await;
        }
        let name = Ref::Alias(alias::email(text.trim()));
        let view = self.load(|want| want.refs.push(name.clone())).await?;
        let found = view.resolve(&name).and_then(|g| view.node(g)).cloned();
        found.ok_or_else(|| format!("{text}: there is no user with this address"))
    }

    /// The members of a workspace.
    pub(crate) async fn members(&self, place: Gid) -> Result<Vec<Gid>, String> {
        let view = self.load(|want| {
            let at = want.add(place);
            want.into.push((at, rel::WORKSPACES, usize::MAX >> 1));
        });
        Ok(view.await?.sources(place, rel::WORKSPACES).iter().map(|e| e.src).collect())
    }

    /// Makes a workspace.
    pub(crate) async fn create_workspace(&self, name: &str, paid: bool, organization: bool) -> Result<Gid, String> {
        named(name)?;
        let mut number = self.numbered(WORKSPACES).await?.len();
        loop {
            number += 1;
            let made = self.commit(|work, _| {
                let gid = membership::found_workspace(work, name, paid, organization);
                work.changes.aliases.push((format!("{WORKSPACES}:{number}"), gid));
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
            if let Some(account) = self.storage.tokens.account(gid.get()).await.map_err(|e| e.to_string())? {
                self.put(Account { tier: tier(paid), ..account }, None).await?;
            }
        }
        Ok(())
    }

    /// Makes a user with an account, and a seat if a workspace is given.
    pub(crate) async fn create_user(&self, name: &str, email: &str, seat: Option<(&Node, Role)>, password: &str) -> Result<Gid, String> {
        named(name)?;
        let email = email.trim();
        let sound = email.len() <= 320 && !email.contains(char::is_whitespace);
        if !sound || !email.split_once('@').is_some_and(|(a, b)| !a.is_empty() && !b.is_empty()) {
            return Err(format!("{email}: this is not an e-mail address"));
        }
        let hash = self.hash(password).await?;
        let made = self.commit(|work, _| {
            let gid = membership::create_user(work, name, email);
            if let Some((place, role)) = seat {
                membership::join_workspace(work, gid, place.gid, &place.title(), role);
            }
            gid
        });
        let gid = made.await.map_err(|e| match e {
            StoreError::Taken(_) => format!("{email}: another user has this address"),
            other => other.to_string(),
        })?;
        self.put(Account::new(gid.get(), Tier::Free), Some(Login::new(email, hash))).await?;
        if seat.is_some() {
            self.api.refresh_account(gid).await?;
        }
        Ok(gid)
    }

    /// Makes a team of an organization.
    pub(crate) async fn create_team(&self, name: &str, place: &Node, admin: Option<Gid>, visibility: &str) -> Result<Gid, String> {
        named(name)?;
        if !place.get(workspace::IS_ORGANIZATION) {
            return Err(format!("{}: this workspace is not an organization, so it has no teams", place.gid));
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
    pub(crate) async fn join_team(&self, who: Gid, place: &Node, admin: bool) -> Result<Gid, String> {
        let home = place.home.ok_or("the team has no workspace")?;
        let view = self.load(|want| *want = want.clone().edge(who, rel::WORKSPACES, home).edge(place.gid, rel::TEAM_MEMBERS, who)).await?;
        if view.link(who, rel::WORKSPACES, home).is_none() {
            return Err(format!("{who}: this user does not belong to the team's workspace"));
        }
        if view.link(place.gid, rel::TEAM_MEMBERS, who).is_some() {
            return Err(format!("{who}: this user is in the team already"));
        }
        self.commit(|work, _| membership::join_team(work, who, place.gid, home, admin)).await.map_err(|e| e.to_string())
    }

    /// Makes a personal access token.
    pub(crate) async fn create_token(
        &self,
        who: Gid,
        description: &str,
        scopes: Option<ScopeSet>,
        lifetime: Option<Duration>,
    ) -> Result<(u64, Secret), String> {
        let (secret, digest) = mint(TokenKind::Personal, &random(&*self.entropy)?);
        let now = self.clock.now();
        let mut record = TokenRecord::personal(self.api.fresh().get(), digest, who.get(), now);
        description.clone_into(&mut record.description);
        record.scopes = scopes.unwrap_or_else(ScopeSet::full);
        record.expires_at = lifetime.and_then(|l| now.checked_add(l));
        self.insert(record, secret).await
    }

    /// Makes a service account of a workspace: a user without a seat or a password, and its token.
    pub(crate) async fn create_service(&self, name: &str, place: &Node) -> Result<(Gid, u64, Secret), String> {
        named(name)?;
        let prefix = service_prefix(place.gid);
        let mut number = self.numbered(&prefix).await?.len();
        let gid = loop {
            number += 1;
            let made = self.commit(|work, _| {
                let mut draft = work.draft(Type::User, None);
                draft.set(user::NAME, name);
                let gid = work.create(&draft, None);
                work.changes.aliases.push((format!("{prefix}:{number}"), gid));
                gid
            });
            match made.await {
                Err(StoreError::Taken(_)) if number < 1_000_000 => {}
                outcome => break outcome.map_err(|e| e.to_string())?,
            }
        };
        let paid = place.get(workspace::PLAN).as_deref() == Some("paid");
        self.put(Account::new(gid.get(), tier(paid)), None).await?;
        let (secret, digest) = mint(TokenKind::Service, &random(&*self.entropy)?);
        let mut record = TokenRecord::service(self.api.fresh().get(), digest, gid.get(), place.gid.get(), self.clock.now());
        name.clone_into(&mut record.description);
        let (id, secret) = self.insert(record, secret).await?;
        Ok((gid, id, secret))
    }

    /// Switches an account off or on.
    pub(crate) async fn set_disabled(&self, who: Gid, disabled: bool) -> Result<(), String> {
        let found = self.storage.tokens.account(who.get()).await.map_err(|e| e.to_string())?;
        let account = found.unwrap_or_else(|| Account::new(who.get(), Tier::Free));
        self.put(Account { disabled, ..account }, None).await
    }

    async fn insert(&self, record: TokenRecord, secret: Secret) -> Result<(u64, Secret), String> {
        let id = record.id;
        self.storage.tokens.insert(record).await.map_err(|e| e.to_string())?;
        Ok((id, secret))
    }

    async fn put(&self, account: Account, login: Option<Login>) -> Result<(), String> {
        self.storage.tokens.put_account(account, login).await.map_err(|e| e.to_string())
    }

    /// A password nobody can guess.
    pub(crate) fn password(&self) -> Result<String, String> {
        random::<12>(&*self.entropy).map(|b| hex(&b))
    }

    /// The slow, salted hash of a password.
    async fn hash(&self, password: &str) -> Result<token::Secret, String> {
        use argon2::password_hash::{PasswordHasher, SaltString};
        if !(8..=1024).contains(&password.len()) {
            return Err("a password has 8 to 1024 characters".to_owned());
        }
        let salt = SaltString::encode_b64(&random::<16>(&*self.entropy)?).map_err(|e| e.to_string())?;
        let password = password.to_owned();
        let hashing = tokio::task::spawn_blocking(move || {
            argon2::Argon2::default().hash_password(password.as_bytes(), &salt).map(|h| h.to_string())
        });
        hashing.await.map_err(|e| e.to_string())?.map(Secret::new).map_err(|e| e.to_string())
    }
}

fn named(name: &str) -> Result<(), String> {
    let length = name.chars().count();
    if name.trim().is_empty() || length > workgraph_core::registry::NAME_MAX as usize {
        return Err("a name has 1 to 1024 characters".to_owned());
    }
    Ok(())
}

fn service_prefix(place: Gid) -> String {
    format!("service:{place}")
}

fn tier(paid: bool) -> Tier {
    if paid { Tier::Paid } else { Tier::Free }
}
