//! Users in the admin service: users and service accounts, their passwords and tokens.
use crate::adapters::system_clock::hex;
use crate::adapters::system_clock::random;
use crate::admin::admin_service::AdminService;
use crate::admin::admin_service::require_name;
use crate::admin::admin_service::service_prefix;
use crate::admin::admin_service::tier;
use crate::workers::password_pool;
use anyhow::{Context, Error, Result, anyhow, bail};
use std::time::Duration;
use workgraph_api::FREE_TIER;
use workgraph_api::features::invitations::PendingInvitation;
use workgraph_auth::{
    Account, Login, ScopeSet, Secret, SecretDigest, TokenKind, TokenRecord, mint_token,
};
use workgraph_core::access::Role;
use workgraph_core::audit::{ActorContext, AuditActor, event_kinds};
use workgraph_core::model::draft::Draft;
use workgraph_core::model::email_address::EmailAddress;
use workgraph_core::model::registry::{Relation, rel};
use workgraph_core::model::resources;
use workgraph_core::model::resources::{user, workspace};
use workgraph_core::model::validate::clip;
use workgraph_core::rules::membership_roles::MembershipRole;
use workgraph_core::rules::membership_rules;
use workgraph_core::storage::{Edge, GraphStoreError, LinkSelector, NodeRef, ReadQuery};
use workgraph_core::{Gid, Node, Type};
use workgraph_portal::console::{check_line, check_scopes};

/// User created by a command.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CreatedUser {
    pub(crate) user: Gid,
    /// True if the user already existed, because of an invitation.
    pub(crate) adopted: bool,
}

/// Maximum number of records of one kind that are read for a user.
const RECORDS_MAX: usize = 10_000;

impl AdminService {
    /// Creates a user with an account, and a membership if a workspace is given. A user who was invited by this address
    /// and cannot sign in yet is adopted: they get the name, the password and the membership.
    pub(crate) async fn create_user(
        &self,
        name: &str,
        email: &str,
        membership: Option<(&Node, Role)>,
        password: &str,
    ) -> Result<CreatedUser> {
        require_name(name)?;
        let email = EmailAddress::parse(email)
            .map_err(|e| anyhow!("{}: this is not an e-mail address; {e}", clip(email)))?;
        if let Some(invited) = self.user_with_address(email.as_str()).await? {
            let user = invited.gid;
            self.adopt_invited_user(invited, name, &email, membership, password)
                .await?;
            return Ok(CreatedUser {
                user,
                adopted: true,
            });
        }
        let hash = self.hash(password).await?;
        let made = self.commit(|work, _| {
            let gid = membership_rules::create_user(work, name, &email);
            if let Some((workspace, role)) = membership {
                membership_rules::join_workspace(
                    work,
                    gid,
                    workspace.gid,
                    &workspace.title(),
                    role,
                );
            }
            gid
        });
        let gid = made.await.map_err(|e| match e {
            GraphStoreError::AliasTaken(_) => anyhow!("{email}: another user has this address"),
            other => Error::new(other).context(format!("{email}: the user can't be made")),
        })?;
        self.put_account(
            Account::new(gid.get(), FREE_TIER),
            Some(Login::new(email.as_str(), hash)),
        )
        .await?;
        if membership.is_some() {
            self.refresh_account(gid).await?;
        }
        Ok(CreatedUser {
            user: gid,
            adopted: false,
        })
    }

    /// Gives an invited user a name, a password and a membership.
    async fn adopt_invited_user(
        &self,
        invited: Node,
        name: &str,
        email: &EmailAddress,
        membership: Option<(&Node, Role)>,
        password: &str,
    ) -> Result<()> {
        let gid = invited.gid;
        let login = self.as_operator().login(email.as_str()).await;
        let login = login.with_context(|| format!("{email}: the login can't be read"))?;
        if login.is_some() {
            bail!("{email}: another user has this address");
        }
        let hash = self.hash(password).await?;
        let mut draft = Draft::edit(&invited);
        draft.set(user::NAME, name);
        let named = self.commit(|work, _| work.save(&draft));
        named
            .await
            .with_context(|| format!("{gid}: the user can't be renamed"))?;
        if let Some((workspace, role)) = membership {
            self.add_member(gid, workspace, role).await?;
        }
        let account = self.as_operator().account(gid.get()).await;
        let account = account.with_context(|| format!("{gid}: the account can't be read"))?;
        let account = account.unwrap_or(Account::new(gid.get(), FREE_TIER));
        self.put_account(account, Some(Login::new(email.as_str(), hash)))
            .await?;
        self.refresh_account(gid).await
    }

    /// Gives a user a membership with a role, replacing an earlier one.
    pub(crate) async fn add_member(&self, user: Gid, workspace: &Node, role: Role) -> Result<()> {
        let waiting = self.api.invitations(user).await;
        let waiting =
            waiting.with_context(|| format!("the invitations of user {user} can't be read"))?;
        let here = |it: &&PendingInvitation| it.invitation.workspace == workspace.gid;
        if let Some(waiting) = waiting.iter().find(here) {
            let parties = (user, waiting.invitation.invited);
            let operator = ActorContext::internal(AuditActor::Operator);
            let answered = self.api.answer_invitation(parties, true, &operator).await;
            answered.with_context(|| format!("the invitation of user {user} can't be accepted"))?;
        }
        let list = NodeRef::TaskList {
            user: Box::new(NodeRef::Gid(user)),
            within_workspace_of: Box::new(NodeRef::Gid(workspace.gid)),
        };
        let membership = NodeRef::Gid(user).of(LinkSelector::Aux(rel::WORKSPACES, workspace.gid));
        let view = self
            .read(|want| want.node_refs.extend([membership.clone(), list.clone()]))
            .await?;
        let here = (user, workspace.gid);
        let teams = self.records(here, rel::TEAM_MEMBERS, |edge| edge.aux);
        let teams = teams.await?;
        let entries = self.records(here, rel::OUT_OF_OFFICE, |edge| Some(edge.src));
        let entries = entries.await?;
        let standing = MembershipRole::of(role);
        let done = self.commit(|work, _| {
            let node = view.resolve(&membership).and_then(|gid| view.node(gid));
            match (node, view.resolve(&list)) {
                (Some(node), _) => {
                    let mut draft = Draft::edit(node);
                    draft.set(resources::membership::IS_ADMIN, role == Role::Admin);
                    draft.set(resources::membership::IS_GUEST, role == Role::Guest);
                    work.save(&draft);
                    for node in &teams {
                        let mut draft = Draft::edit(node);
                        draft.set(resources::membership::TEAM_IS_GUEST, role == Role::Guest);
                        work.save(&draft);
                    }
                }
                (None, Some(list)) => {
                    let (gid, entries) = (workspace.gid, entries.iter().collect::<Vec<_>>());
                    membership_rules::rejoin_workspace(work, user, gid, list, standing, &entries);
                }
                (None, None) => {
                    membership_rules::join_workspace(
                        work,
                        user,
                        workspace.gid,
                        &workspace.title(),
                        role,
                    );
                }
            }
        });
        done.await
            .with_context(|| format!("user {user} can't be put into workspace {}", workspace.gid))
    }

    /// Returns the records of a user in a workspace, which `record_of` takes from the edges into the user.
    async fn records(
        &self,
        (user, workspace): (Gid, Gid),
        rel: Relation,
        record_of: fn(&Edge) -> Option<Gid>,
    ) -> Result<Vec<Node>> {
        let read =
            |want: &mut ReadQuery| *want = want.clone().incoming_edges(user, rel, RECORDS_MAX);
        let view = self.read(read).await?;
        let records = view.sources(user, rel).iter().filter_map(record_of);
        let records: Vec<Gid> = records.collect();
        let read = |want: &mut ReadQuery| {
            let records = records.iter().copied();
            want.node_refs.extend(records.map(NodeRef::Gid));
        };
        let view = self.read(read).await?;
        let nodes = records.iter().filter_map(|gid| view.node(*gid));
        let nodes = nodes.filter(|node| node.workspace == Some(workspace));
        Ok(nodes.cloned().collect())
    }

    /// Sets a user's password, and creates a login if they had none. Ends their sessions.
    pub(crate) async fn set_password(&self, user: &Node, password: &str) -> Result<()> {
        let number = user.gid.get();
        let login = self.storage.oauth.login_of(number).await;
        let email = match login.with_context(|| format!("{number}: the login can't be read"))? {
            Some(login) => login.email().to_owned(),
            None => user.get(user::EMAIL).unwrap_or_default().to_string(),
        };
        if email.is_empty() {
            bail!(
                "{}: this user has no e-mail address to sign in with",
                user.gid
            );
        }
        let holder = self.user_with_address(&email).await?;
        if holder.is_some_and(|holder| holder.gid != user.gid) {
            bail!(
                "{}: this user stands for an invitation of {email}; name the person by the address",
                user.gid
            );
        }
        let hash = self.hash(password).await?;
        let account = self.storage.tokens.account(number).await;
        let account = account.with_context(|| format!("{number}: the account can't be read"))?;
        let account = account.unwrap_or_else(|| Account::new(number, FREE_TIER));
        self.put_account(account, Some(Login::new(&email, hash)))
            .await?;
        self.first_passwords.changed(number);
        self.refresh_account(user.gid).await
    }

    /// Creates a personal access token.
    pub(crate) async fn create_token(
        &self,
        user: Gid,
        description: &str,
        scopes: Option<ScopeSet>,
        lifetime: Option<Duration>,
    ) -> Result<(u64, Secret)> {
        let minted = mint_token(TokenKind::Personal, &random(&*self.entropy)?);
        self.insert_personal_token(user, minted, description, scopes, lifetime)
            .await
    }

    /// Creates a personal access token from these random bytes, with full permissions and without an expiry.
    pub(crate) async fn create_token_of(
        &self,
        user: Gid,
        description: &str,
        random: &[u8; 32],
    ) -> Result<Secret> {
        let minted = mint_token(TokenKind::Personal, random);
        let made = self.insert_personal_token(user, minted, description, None, None);
        Ok(made.await?.1)
    }

    async fn insert_personal_token(
        &self,
        user: Gid,
        (secret, digest): (Secret, SecretDigest),
        description: &str,
        scopes: Option<ScopeSet>,
        lifetime: Option<Duration>,
    ) -> Result<(u64, Secret)> {
        let description = match description {
            "" => "",
            text => check_line(text, "a description").map_err(Error::msg)?,
        };
        let scopes = scopes.unwrap_or_else(ScopeSet::full);
        check_scopes(scopes).map_err(Error::msg)?;
        if self.is_service_account(user).await? {
            bail!("{user}: this is a service account, which has no personal access tokens");
        }
        let now = self.clock.now();
        let mut record =
            TokenRecord::personal(self.api.confirmed_gid()?.get(), digest, user.get(), now);
        description.clone_into(&mut record.description);
        record.scopes = scopes;
        record.expires_at = lifetime.and_then(|l| now.checked_add(l));
        self.insert(record, secret).await
    }

    /// Returns true if a user is a service account of a workspace.
    async fn is_service_account(&self, user: Gid) -> Result<bool> {
        for workspace in self.workspaces().await? {
            let accounts = self.numbered_nodes(&service_prefix(workspace.gid)).await?;
            if accounts.contains(&user) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Renames a service account, and returns it.
    pub(crate) async fn rename_service(&self, gid: &str, name: &str) -> Result<Node> {
        let account = self.node(Type::User, gid).await?;
        if !self.is_service_account(account.gid).await? {
            bail!("{gid}: there is no service account with this gid");
        }
        let name = check_line(name, "a name").map_err(Error::msg)?;
        self.rename(&account, user::NAME, name).await?;
        self.node(Type::User, gid).await
    }

    /// Creates a service account of a workspace: a user without a membership or a password.
    pub(crate) async fn create_service_user(
        &self,
        name: &str,
        workspace: &Node,
        acting: &ActorContext,
    ) -> Result<Gid> {
        let name = check_line(name, "a name").map_err(Error::msg)?;
        let prefix = service_prefix(workspace.gid);
        let mut number = self.numbered_nodes(&prefix).await?.len();
        let gid = loop {
            number += 1;
            let made = self.commit_as(acting, |work, _| {
                let mut draft = work.draft(Type::User, None);
                draft.set(user::NAME, name);
                let gid = work.create(&draft, None);
                work.add_audit_entry(event_kinds::SERVICE_CREATED, workspace.gid, gid);
                work.changes
                    .add_aliases
                    .push((format!("{prefix}:{number}"), gid));
                gid
            });
            match made.await {
                Err(GraphStoreError::AliasTaken(_)) if number < 1_000_000 => {}
                outcome => {
                    break outcome
                        .with_context(|| format!("the service account {name:?} can't be made"))?;
                }
            }
        };
        let paid = workspace.get(workspace::PLAN).as_deref() == Some("paid");
        self.put_account(Account::new(gid.get(), tier(paid)), None)
            .await?;
        Ok(gid)
    }

    /// Creates a service account and its token.
    pub(crate) async fn create_service(
        &self,
        name: &str,
        workspace: &Node,
    ) -> Result<(Gid, u64, Secret)> {
        let operator = ActorContext::internal(AuditActor::Operator);
        let gid = self.create_service_user(name, workspace, &operator).await?;
        let (secret, digest) = mint_token(TokenKind::Service, &random(&*self.entropy)?);
        let mut record = TokenRecord::service(
            self.api.confirmed_gid()?.get(),
            digest,
            gid.get(),
            workspace.gid.get(),
            self.clock.now(),
        );
        name.clone_into(&mut record.description);
        let (id, secret) = self.insert(record, secret).await?;
        Ok((gid, id, secret))
    }

    /// Disables or enables an account. Disabling permanently ends its sessions and tokens.
    pub(crate) async fn set_disabled(&self, user: Gid, disabled: bool) -> Result<()> {
        let (hand, now) = (self.as_operator(), self.clock.now());
        let done = hand.set_disabled(user.get(), disabled, now).await;
        done.with_context(|| format!("the account of user {user} can't be switched"))
    }

    async fn insert(&self, record: TokenRecord, secret: Secret) -> Result<(u64, Secret)> {
        let id = record.id;
        self.as_operator()
            .insert_token(record)
            .await
            .context("the token can't be stored")?;
        Ok((id, secret))
    }

    pub(crate) async fn put_account(&self, account: Account, login: Option<Login>) -> Result<()> {
        let user = account.user;
        self.as_operator()
            .put_account(account, login)
            .await
            .with_context(|| format!("the account of user {user} can't be stored"))
    }

    /// Generates a random password.
    pub(crate) fn password(&self) -> Result<String> {
        Ok(hex(&random::<12>(&*self.entropy)?))
    }

    async fn hash(&self, password: &str) -> Result<Secret> {
        let (password, salt) = (password.to_owned(), random(&*self.entropy)?);
        tokio::task::spawn_blocking(move || password_pool::hash(&password, &salt))
            .await
            .context("a thread for passwords did not answer")?
    }
}
