//! Acts outside the graph, each of which has its rows in the audit log.
use super::{GraphStoreFailure, ensure, same};
use crate::{Fixture, SCOPES};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use workgraph_auth::authorization::user_authorization::Authorization;
use workgraph_auth::conformance::block_on;
use workgraph_auth::{
    Account, App, AuthStoreError, BrowserSession, ConsentRecord, Login, OAuthStore, PasswordChange,
    RegisteredScopes, Secret, SecretDigest, Tier, TokenKind, TokenRecord,
};
use workgraph_core::access::Role;
use workgraph_core::audit::{ActorContext, AuditActor, AuditChannel, AuditQuery, AuditRow};
use workgraph_core::model::gid::Gid;
use workgraph_core::storage::GraphStore;

/// Empty store of the graph and of tokens, with operations that are not in a port.
#[derive(Debug)]
pub struct AuditedStore<S> {
    /// Store under test.
    pub store: S,
    /// Returns a handle on the store that records operations as acts of an actor at a time.
    pub as_actor: fn(&S, ActorContext, SystemTime) -> S,
    /// Records a failed sign-in of a user.
    pub record_failed_sign_in: fn(&S, u64) -> Result<(), AuthStoreError>,
}

/// Store with a workspace, and the acts of its users so far, each with the kinds of its rows.
#[derive(Debug)]
pub struct AuditedActs<S> {
    audited: AuditedStore<S>,
    acme: Gid,
    ann: Gid,
    /// Name of each act, with the kinds of its rows.
    acts: Vec<(&'static str, Vec<&'static str>)>,
    seen: usize,
}

fn at(seconds: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(1_800_000_000 + seconds)
}

fn session(user: u64, seed: u8) -> BrowserSession {
    BrowserSession {
        digest: SecretDigest([seed; 32]),
        user,
        created_at: at(0),
        expires_at: at(9_000),
        last_used_at: at(0),
        address: None,
    }
}

const APP: u64 = 40;

fn app(places: &[u64]) -> App {
    App {
        id: APP,
        name: "Planner".to_owned(),
        secret: Some(SecretDigest([9; 32])),
        redirects: Vec::new(),
        scopes: RegisteredScopes::Full,
        distribution: places.to_vec(),
        disabled_in: Vec::new(),
        owner: 1,
        created_at: at(0),
        disabled_at: None,
    }
}

fn login(hash: &str) -> Option<Login> {
    Some(Login::new("ann@example.com", Secret::new(hash.to_owned())))
}

const AUTHORIZATION: u64 = 9_000;

fn consent(user: u64, ticket: u8, scopes: &str) -> Result<ConsentRecord, GraphStoreFailure> {
    let scopes = SCOPES.parse(scopes);
    let scopes = scopes.map_err(|error| GraphStoreFailure(format!("{error:?}")))?;
    Ok(ConsentRecord {
        ticket: SecretDigest([ticket; 32]),
        time: at(1),
        authorization: Authorization {
            id: AUTHORIZATION,
            user,
            app: APP,
            scopes,
            created_at: at(1),
            revoked_at: None,
        },
        code: None,
    })
}

impl<S: GraphStore + OAuthStore> AuditedActs<S> {
    /// Creates the workspace, whose admin Ann performs all acts.
    ///
    /// # Errors
    /// Fails if the store does.
    pub fn begin(audited: AuditedStore<S>) -> Result<Self, GraphStoreFailure> {
        let mut fixture = Fixture::default();
        let acme = fixture.workspace("Acme");
        let ann = fixture.member(acme, "Ann", Role::Admin);
        block_on(audited.store.commit(fixture.take()))?;
        let acts = vec![("join", vec!["user_invited"])];
        Ok(Self {
            audited,
            acme,
            ann,
            acts,
            seen: 1,
        })
    }

    /// Returns the store under test.
    pub const fn store(&self) -> &S {
        &self.audited.store
    }

    /// Returns the name of each act, with the kinds of its rows.
    #[must_use]
    pub fn acts(&self) -> &[(&'static str, Vec<&'static str>)] {
        &self.acts
    }

    fn rows(&self) -> Result<Vec<AuditRow>, GraphStoreFailure> {
        let query = AuditQuery::all(self.acme, 10_000);
        Ok(block_on(self.store().audit_rows(query, None))?)
    }

    /// Runs an act of Ann, and checks its rows.
    fn act(
        &mut self,
        name: &'static str,
        kinds: &[&'static str],
        run: impl FnOnce(&S) -> Result<(), GraphStoreFailure>,
    ) -> Result<(), GraphStoreFailure> {
        let acting = ActorContext {
            actor: AuditActor::User(self.ann),
            channel: AuditChannel::Web,
            method: None,
            address: Some([192, 0, 2, 1].into()),
            user_agent: Some("browser".into()),
            app: None,
        };
        run(&(self.audited.as_actor)(self.store(), acting, at(60)))?;
        let rows = self.rows()?;
        let new = rows.get(self.seen..).unwrap_or_default();
        let found: Vec<&str> = new.iter().map(|row| row.kind.name).collect();
        same(&found.as_slice(), &kinds, name)?;
        for row in new {
            let has_address = row.body.contains("\"client_ip_address\":\"192.0.2.1\"");
            ensure(has_address, name)?;
            same(&row.actor, &Some(self.ann), name)?;
        }
        self.seen = rows.len();
        self.acts.push((name, found));
        Ok(())
    }

    fn token(&self, kind: TokenKind, id: u8) -> TokenRecord {
        let digest = SecretDigest([id; 32]);
        let mut record = match kind {
            TokenKind::Service => {
                TokenRecord::service(id.into(), digest, 70, self.acme.get(), at(0))
            }
            _ => TokenRecord::personal(id.into(), digest, self.ann.get(), at(0)),
        };
        record.description = "for the robot".to_owned();
        record
    }

    /// Signs in and out, with wrong passwords and changed ones.
    fn sign_in(&mut self) -> Result<(), GraphStoreFailure> {
        let ann = self.ann.get();
        let account = Account::new(ann, Tier::new(1));
        self.act("account", &[], |store| {
            Ok(block_on(store.put_account(account, login("one")))?)
        })?;
        self.act("sign in", &["user_login_succeeded"], |store| {
            block_on(store.start_session(session(ann, 1), None))?;
            Ok(())
        })?;
        let record_failed_sign_in = self.audited.record_failed_sign_in;
        self.act("wrong password", &["user_login_failed"], |store| {
            Ok(record_failed_sign_in(store, ann)?)
        })?;
        let both = &["user_password_changed", "user_logged_out"];
        self.act("password", both, |store| {
            Ok(block_on(store.put_account(account, login("two")))?)
        })?;
        self.act("same password", &[], |store| {
            Ok(block_on(store.put_account(account, login("two")))?)
        })?;
        self.act("own password", &["user_password_changed"], |store| {
            let change = |before: &str| PasswordChange {
                user: ann,
                before: Secret::new(before.to_owned()),
                after: Secret::new("three".to_owned()),
                keep_session: None,
                revoke_tokens_at: None,
            };
            let wrong = block_on(store.change_password(change("one")))?;
            let right = block_on(store.change_password(change("two")))?;
            same(&(wrong, right), &(false, true), "the old password counts")
        })?;
        for seed in [2, 3] {
            self.act("sign in again", &["user_login_succeeded"], |store| {
                block_on(store.start_session(session(ann, seed), None))?;
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Makes and revokes tokens.
    fn use_tokens(&mut self) -> Result<(), GraphStoreFailure> {
        const AUTHORIZED: &[&str] = &["user_personal_access_token_authorized"];
        let record = self.token(TokenKind::Personal, 50);
        self.act("token", AUTHORIZED, |store| {
            Ok(block_on(store.insert_token(record))?)
        })?;
        const REVOKED: &[&str] = &["user_personal_access_token_revoked"];
        self.act("revoke", REVOKED, |store| {
            let first = block_on(store.revoke(50, at(9)))?;
            let second = block_on(store.revoke(50, at(9)))?;
            same(&(first, second), &(true, false), "a token is revoked once")
        })?;
        self.act("service", &[], |store| {
            let account = Account::new(70, Tier::new(1));
            Ok(block_on(store.put_account(account, None))?)
        })?;
        let record = self.token(TokenKind::Service, 51);
        self.act("service token", AUTHORIZED, |store| {
            Ok(block_on(store.insert_token(record))?)
        })
    }

    /// Distributes an app, authorizes it, and reverts both.
    fn use_app(&mut self) -> Result<(), GraphStoreFailure> {
        const APPROVAL: &[&str] = &["workspace_app_admin_approval_setting_changed"];
        let (ann, workspace) = (self.ann.get(), self.acme.get());
        let (none, here) = (app(&[]), app(&[workspace]));
        let mut off = here.clone();
        off.disabled_in.push(workspace);
        self.act("app", &[], |store| {
            block_on(store.put_app(none.clone(), None))?;
            Ok(())
        })?;
        self.act("distribute", APPROVAL, |store| {
            block_on(store.put_app(here.clone(), Some(&none)))?;
            Ok(())
        })?;
        const AUTHORIZED: &[&str] = &["user_app_authorized"];
        for (name, kinds, ticket, scopes) in [
            ("authorize", AUTHORIZED, 1, "tasks:read"),
            ("authorize again", &[], 2, "tasks:read"),
            ("authorize more", AUTHORIZED, 3, "tasks:read tasks:write"),
        ] {
            let record = consent(ann, ticket, scopes)?;
            self.act(name, kinds, |store| {
                block_on(store.keep_consent(record))?;
                Ok(())
            })?;
        }
        self.act("disconnect", &["user_app_revoked"], |store| {
            let first = block_on(store.deauthorize(AUTHORIZATION, ann, at(2)))?;
            let second = block_on(store.deauthorize(AUTHORIZATION, ann, at(2)))?;
            same(&(first, second), &(true, false), "an app is revoked once")
        })?;
        self.act("disable app", APPROVAL, |store| {
            block_on(store.put_app(off.clone(), Some(&here)))?;
            Ok(())
        })
    }

    /// Ends the sessions, and disables and enables the account.
    fn sign_out(&mut self) -> Result<(), GraphStoreFailure> {
        let ann = self.ann.get();
        self.act("sign out", &["user_logged_out"], |store| {
            for _ in 0..2 {
                block_on(store.end_session(&SecretDigest([2; 32])))?;
            }
            Ok(())
        })?;
        self.act("sign out of all", &["user_logged_out"], |store| {
            let first = block_on(store.end_sessions(ann, None))?;
            let second = block_on(store.end_sessions(ann, None))?;
            same(&(first, second), &(1, 0), "a session ends once")
        })?;
        for (name, kind, disabled) in [
            ("disable", "user_deprovisioned", true),
            ("enable", "user_reprovisioned", false),
        ] {
            self.act(name, &[kind], |store| {
                block_on(store.set_disabled(ann, disabled, at(9)))?;
                Ok(())
            })?;
        }
        Ok(())
    }
}

/// Checks that every relevant act outside the graph is in the log of its workspace with the names at that time, and that a
/// failed act leaves no row. Returns the acts.
///
/// # Errors
/// Fails with the promise that the store broke.
pub fn audited_acts<S: GraphStore + OAuthStore>(
    audited: AuditedStore<S>,
) -> Result<AuditedActs<S>, GraphStoreFailure> {
    let mut acts = AuditedActs::begin(audited)?;
    acts.sign_in()?;
    acts.use_tokens()?;
    acts.use_app()?;
    acts.sign_out()?;
    let rows = acts.rows()?;
    let mut authorized = rows
        .iter()
        .filter(|row| row.kind.name == "user_app_authorized");
    let is_named = |row: &AuditRow| row.body.contains("\"new_value\":\"Planner\"");
    ensure(
        authorized.next().is_some_and(is_named),
        "an app that is authorized is in the log with its name",
    )?;
    let taken = acts.token(TokenKind::Personal, 51);
    let refused = block_on(acts.store().insert_token(taken)).is_err();
    ensure(refused, "the number of a token is used once")?;
    let promise = "a failed write leaves neither the act nor its row";
    same(&acts.rows()?.len(), &rows.len(), promise)?;
    Ok(acts)
}

/// Checks that an act without an actor has the time of the last commit.
///
/// # Errors
/// Fails with the promise that the store broke.
pub fn act_without_actor<S: GraphStore + OAuthStore>(
    audited: AuditedStore<S>,
) -> Result<(), GraphStoreFailure> {
    let acts = AuditedActs::begin(audited)?;
    let (store, ann) = (acts.store(), acts.ann.get());
    block_on(store.put_account(Account::new(ann, Tier::new(1)), None))?;
    (acts.audited.record_failed_sign_in)(store, ann)?;
    let rows = acts.rows()?;
    let last = rows.last().map(|row| (row.kind.name, row.time));
    let commits = block_on(store.journal_entries(0, 10))?;
    let time = commits.last().map(|commit| commit.time);
    ensure(
        time.is_some_and(|time| time.millis() > 0),
        "a commit has a time",
    )?;
    let expected = time.map(|time| ("user_login_failed", time));
    same(&last, &expected, "it has the time of the last commit")
}
