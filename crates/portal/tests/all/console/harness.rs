//! A console with users, workspaces and a clock that the test sets.
use std::sync::Mutex;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use workgraph_api::operations::settings::InspectorSettings;
use workgraph_api::request_inspector::RequestInspector;
use workgraph_auth::authorization::browser_session::csrf;
use workgraph_auth::conformance::block_on;
use workgraph_auth::{
    Account, AuthStoreError, BrowserSession, LoopbackPolicy, MemoryTokenStore, Param, Secret,
    SecretDigest, Tier, TokenStore,
};
use workgraph_core::audit::{ActorContext, AuditActor};
use workgraph_portal::console::{
    Console, ConsoleResponse, ConsoleUser, InvitationSummary, OneTimeSecrets, PURPOSE,
    UserWorkspace, WorkspaceDirectory, WriteContext,
};

/// Ada administers workspace 7 and is a member of 8; Bob is a member of 8.
pub(crate) const ADA: u64 = 1;
pub(crate) const BOB: u64 = 2;

pub(crate) struct Desk {
    pub(crate) store: MemoryTokenStore,
    pub(crate) drawer: OneTimeSecrets,
    pub(crate) loopback: LoopbackPolicy,
    inspector: RequestInspector,
    services: Mutex<Vec<(u64, u64, String)>>,
    /// Invitations: the user, the number, the workspace.
    pub(crate) invitations: Mutex<Vec<(u64, u64, String)>>,
    /// Answers that were given to invitations.
    pub(crate) answers: Mutex<Vec<(u64, u64, bool)>>,
    next: Mutex<u64>,
}

struct Town<'a>(&'a Desk);

#[async_trait]
impl WorkspaceDirectory for Town<'_> {
    async fn workspaces_of(&self, user: u64) -> Result<Vec<UserWorkspace>, AuthStoreError> {
        let membership = |workspace, name: &str, admin| UserWorkspace {
            workspace,
            name: name.to_owned(),
            admin,
        };
        Ok(match user {
            ADA => vec![
                membership(7, "Acme", true),
                membership(8, "Example Ltd", false),
            ],
            BOB => vec![membership(8, "Example Ltd", false)],
            _ => vec![],
        })
    }
    async fn invitations(&self, user: u64) -> Result<Vec<InvitationSummary>, AuthStoreError> {
        let all = self.0.invitations.lock().unwrap();
        let own = all.iter().filter(|(of, ..)| *of == user);
        Ok(own
            .map(|(_, id, workspace)| InvitationSummary {
                id: *id,
                workspace: workspace.clone(),
            })
            .collect())
    }
    async fn answer_invitation(
        &self,
        user: u64,
        id: u64,
        accepted: bool,
        _: &ActorContext,
    ) -> Result<bool, AuthStoreError> {
        let mut all = self.0.invitations.lock().unwrap();
        let before = all.len();
        all.retain(|(of, held, _)| (*of, *held) != (user, id));
        if all.len() < before {
            self.0.answers.lock().unwrap().push((user, id, accepted));
        }
        Ok(all.len() < before)
    }
    async fn services(&self, workspace: u64) -> Result<Vec<(u64, String)>, AuthStoreError> {
        let all = self.0.services.lock().unwrap();
        let here = all.iter().filter(|s| s.0 == workspace);
        Ok(here.map(|s| (s.1, s.2.clone())).collect())
    }
    async fn create_service(
        &self,
        workspace: u64,
        name: &str,
        _: &ActorContext,
    ) -> Result<u64, AuthStoreError> {
        let id = self.0.id();
        self.0
            .store
            .put_account(Account::new(id, Tier::DEFAULT), None)
            .await?;
        self.0
            .services
            .lock()
            .unwrap()
            .push((workspace, id, name.to_owned()));
        Ok(id)
    }
    fn password_used(&self, _: u64) {}
    fn password_changed(&self, _: u64) {}
}

/// Browser of a user.
pub(crate) struct Browser {
    pub(crate) session: BrowserSession,
    pub(crate) secret: Secret,
}

pub(crate) fn now() -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(1_795_219_200)
}

pub(crate) fn pairs(text: &str) -> Vec<Param> {
    let pair = |part: &str| {
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        (name.to_owned(), value.to_owned())
    };
    text.split('&')
        .filter(|p| !p.is_empty())
        .map(pair)
        .collect()
}

impl Desk {
    pub(crate) fn new() -> Self {
        let store = MemoryTokenStore::new();
        for user in [ADA, BOB] {
            block_on(store.put_account(Account::new(user, Tier::DEFAULT), None)).unwrap();
        }
        Self {
            store,
            drawer: OneTimeSecrets::default(),
            loopback: LoopbackPolicy::Refused,
            inspector: RequestInspector::new(InspectorSettings::default()),
            services: Mutex::default(),
            invitations: Mutex::default(),
            answers: Mutex::default(),
            next: Mutex::new(100),
        }
    }

    fn id(&self) -> u64 {
        let mut next = self.next.lock().unwrap();
        *next += 1;
        *next
    }

    fn console<T>(&self, run: impl FnOnce(&Console<'_>) -> T) -> T {
        let town = Town(self);
        run(&Console {
            store: &self.store,
            actor: &ActorContext::internal(AuditActor::Anonymous),
            workspaces: &town,
            one_time_secrets: &self.drawer,
            loopback: self.loopback,
            inspector: &self.inspector,
            base_url: "https://work.example/api/1.0",
        })
    }

    pub(crate) fn browser(&self, user: u64) -> Browser {
        let id = u8::try_from(self.id() % 256).unwrap();
        let (secret, session) = BrowserSession::start(user, &[id; 32], now());
        Browser { session, secret }
    }

    pub(crate) fn get(&self, browser: &Browser, path: &str) -> ConsoleResponse {
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let visitor = ConsoleUser {
            session: &browser.session,
            secret: &browser.secret,
            name: "Ada",
        };
        self.console(|console| block_on(console.get(&visitor, path, &pairs(query), now())))
            .unwrap()
            .unwrap()
    }

    /// Posts a form with its anti-forgery text.
    pub(crate) fn post(&self, browser: &Browser, path: &str, form: &str) -> ConsoleResponse {
        let mut form = pairs(form);
        form.push(("csrf".to_owned(), csrf(&browser.secret, PURPOSE)));
        self.post_bare(browser, path, &form)
    }

    pub(crate) fn post_bare(
        &self,
        browser: &Browser,
        path: &str,
        form: &[Param],
    ) -> ConsoleResponse {
        let visitor = ConsoleUser {
            session: &browser.session,
            secret: &browser.secret,
            name: "Ada",
        };
        let id = self.id();
        let fresh = WriteContext {
            now: now(),
            id,
            random: *SecretDigest::of(&id.to_string()).0.first_chunk().unwrap(),
        };
        self.console(|console| block_on(console.post(&visitor, path, form, &fresh)))
            .unwrap()
            .unwrap()
    }

    /// Follows a form to the page that shows a new secret, and returns that.
    pub(crate) fn secret(&self, browser: &Browser, path: &str, form: &str) -> String {
        let shown = leads(&self.post(browser, path, form));
        assert!(shown.starts_with("/-/console/secret?key="), "{shown}");
        // A foreign link does not have the key, and does not spend the showing.
        for foreign in ["/-/console/secret", "/-/console/secret?key=AAAA"] {
            html(&self.get(browser, foreign), 410);
        }
        let page = html(&self.get(browser, &shown), 200);
        let after = page.split(r#"id="secret">"#).nth(1).unwrap();
        let secret = after.split('<').next().unwrap().to_owned();
        // The secret is shown once.
        let again = html(&self.get(browser, &shown), 410);
        assert!(!again.contains(&secret));
        secret
    }
}

/// Returns the text of a page, which must have this status.
pub(crate) fn html(answer: &ConsoleResponse, status: u16) -> String {
    match answer {
        ConsoleResponse::Page(found, page) => {
            assert_eq!(*found, status, "{}", page.html);
            page.html.clone()
        }
        ConsoleResponse::SeeOther(to) => panic!("leads to {to}, where a page was expected"),
    }
}

/// Returns the address to which a response leads.
pub(crate) fn leads(answer: &ConsoleResponse) -> String {
    match answer {
        ConsoleResponse::SeeOther(to) => to.clone(),
        ConsoleResponse::Page(status, page) => panic!("{status}: {}", page.html),
    }
}
