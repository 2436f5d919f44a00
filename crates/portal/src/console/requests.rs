//! The request inspector: a user sees the requests of their own tokens and apps, and of service accounts that they
//! administer.
use std::time::SystemTime;

use workgraph_api::operations::all;
use workgraph_api::request_inspector::{RecordedRequest, RequestOwner};
use workgraph_auth::{AuthStoreError, Param};

use super::form_fields::FormFields;
use super::{Console, ConsoleContext, ConsoleNotice, ConsoleResponse, MANY};
use crate::pages::{
    RecordingState, RequestOwnerChoice, RequestPage, RequestRow, RequestSearch, RequestsPage, paths,
};

/// Maximum number of requests on a page.
const SHOWN: usize = 50;
/// Replacement for a hidden path.
const HIDDEN: &str = "***";

/// Owner whose requests a user may see.
struct VisibleOwner {
    owner: RequestOwner,
    choice: RequestOwnerChoice,
}

impl VisibleOwner {
    fn new(owner: RequestOwner, name: String) -> Self {
        let key = match owner {
            RequestOwner::User(_) => "tokens".to_owned(),
            RequestOwner::App(app) => format!("app-{app}"),
            RequestOwner::Service { workspace, account } => {
                format!("service-{workspace}-{account}")
            }
        };
        Self {
            owner,
            choice: RequestOwnerChoice { key, name },
        }
    }
}

impl Console<'_> {
    /// Returns the owners whose requests the user may currently see. Everything that the inspector shows or changes goes
    /// through this list.
    async fn visible_owners(
        &self,
        scene: &ConsoleContext<'_>,
    ) -> Result<Vec<VisibleOwner>, AuthStoreError> {
        let own = RequestOwner::User(scene.user);
        let mut owners = vec![VisibleOwner::new(own, "My access tokens".to_owned())];
        for app in self
            .store
            .apps(Some(scene.user))
            .await?
            .into_iter()
            .take(MANY)
        {
            owners.push(VisibleOwner::new(RequestOwner::App(app.id), app.name));
        }
        for membership in scene
            .memberships
            .iter()
            .filter(|membership| membership.admin)
        {
            let workspace = membership.workspace;
            for (account, name) in self.workspaces.services(workspace).await? {
                let name = format!("{name} ({})", membership.name);
                owners.push(VisibleOwner::new(
                    RequestOwner::Service { workspace, account },
                    name,
                ));
            }
        }
        owners.truncate(3 * MANY);
        Ok(owners)
    }

    /// Finds requests of visible owners, newest first. `is_wanted` gets each request as the user sees it.
    fn find_requests(
        &self,
        user: u64,
        owners: &[VisibleOwner],
        key: &str,
        is_wanted: &dyn Fn(&RecordedRequest) -> bool,
    ) -> Vec<RequestRow> {
        let chosen = owners
            .iter()
            .filter(|o| key.is_empty() || o.choice.key == key);
        let mut rows: Vec<RequestRow> = Vec::new();
        for visible in chosen {
            let owner = visible.owner;
            let found =
                self.inspector.requests(
                    owner,
                    SHOWN,
                    &|request| match is_own(owner, user, request) {
                        true => is_wanted(request),
                        false => is_wanted(&for_viewer(owner, user, request.clone())),
                    },
                );
            rows.extend(found.into_iter().map(|request| RequestRow {
                owner: visible.choice.name.clone(),
                is_own: is_own(owner, user, &request),
                request: for_viewer(owner, user, request),
            }));
        }
        rows.sort_by_key(|row| std::cmp::Reverse(row.request.at));
        rows.truncate(SHOWN);
        rows
    }

    pub(super) async fn requests(
        &self,
        scene: &ConsoleContext<'_>,
        query: &[Param],
        now: SystemTime,
    ) -> Result<ConsoleResponse, AuthStoreError> {
        let owners = self.visible_owners(scene).await?;
        let query = FormFields(query);
        let text = |name: &str| query.one(name).trim().chars().take(100).collect::<String>();
        let search = RequestSearch {
            owner: text("owner"),
            operation: text("operation"),
            status: text("status"),
            method: text("method"),
            minutes: text("minutes"),
            id: text("id"),
        };
        let requests = self.find_requests(scene.user, &owners, &search.owner, &|request| {
            matches(&search, request, now)
        });
        let chosen = owners.iter().find(|o| o.choice.key == search.owner);
        let recording = match chosen {
            None => RecordingState::NoOwner,
            Some(visible) => self
                .inspector
                .recording_until(visible.owner, scene.user, now)
                .map_or(RecordingState::Off, RecordingState::Until),
        };
        let choices: Vec<RequestOwnerChoice> = owners.into_iter().map(|o| o.choice).collect();
        let page = RequestsPage {
            frame: scene.frame(),
            is_on: self.inspector.is_on(),
            owners: &choices,
            search: &search,
            recording,
            requests: &requests,
            most: SHOWN,
        };
        Ok(ConsoleResponse::ok(page.page()))
    }

    pub(super) async fn request(
        &self,
        scene: &ConsoleContext<'_>,
        id: &str,
    ) -> Result<ConsoleResponse, AuthStoreError> {
        let owners = self.visible_owners(scene).await?;
        let found = self.find_requests(scene.user, &owners, "", &|request| &*request.id == id);
        let Some(row) = found.first() else {
            return Ok(ConsoleResponse::not_found());
        };
        let page = RequestPage {
            frame: scene.frame(),
            row,
            base_url: self.base_url,
        };
        Ok(ConsoleResponse::ok(page.page()))
    }

    pub(super) async fn record_bodies(
        &self,
        scene: &ConsoleContext<'_>,
        form: FormFields<'_>,
        now: SystemTime,
    ) -> Result<ConsoleResponse, AuthStoreError> {
        let owners = self.visible_owners(scene).await?;
        let key = form.one("owner");
        let chosen = owners.iter().find(|o| o.choice.key == key);
        let Some(visible) = chosen.filter(|_| self.inspector.is_on()) else {
            return Ok(ConsoleResponse::not_found());
        };
        let on = form.one("on") == "1";
        self.inspector
            .set_recording(visible.owner, scene.user, on, now);
        let notice = match on {
            true => ConsoleNotice::RecordingOn,
            false => ConsoleNotice::RecordingOff,
        };
        // The key contains no character that needs escaping in an address.
        let address = format!("{}?owner={key}", paths::REQUESTS);
        Ok(ConsoleResponse::SeeOther(notice.at(&address)))
    }
}

fn matches(search: &RequestSearch, request: &RecordedRequest, now: SystemTime) -> bool {
    let minutes = search.minutes.parse::<u64>().ok();
    let age = now.duration_since(request.at).unwrap_or_default();
    let is_recent = minutes.is_none_or(|minutes| age.as_secs() / 60 < minutes);
    if !is_recent || !search.method.is_empty() && request.method != search.method {
        return false;
    }
    let part = search.operation.to_ascii_lowercase();
    let named = request.operation.to_ascii_lowercase().contains(&part)
        || request.path.to_ascii_lowercase().contains(&part);
    let status = request.status.to_string();
    let class = search
        .status
        .strip_suffix("xx")
        .filter(|class| class.len() == 1);
    let with_status = match class {
        Some(class) => status.starts_with(class),
        None => search.status.is_empty() || status == search.status,
    };
    named && with_status && (search.id.is_empty() || *request.id == search.id)
}

/// Returns true if the user may see all of a request: it acted for them, or for a service account that they administer,
/// or it contains no data of a user.
fn is_own(owner: RequestOwner, user: u64, request: &RecordedRequest) -> bool {
    // Requests to the authorization server have no token; their records only contain fixed texts.
    !matches!(owner, RequestOwner::App(_)) || request.user == user || request.token == 0
}

/// Returns a request as the user may see it: if an app made it for somebody else, the values in the path, the query,
/// the bodies and the error text belong to that person, and are hidden.
fn for_viewer(owner: RequestOwner, user: u64, mut request: RecordedRequest) -> RecordedRequest {
    if !is_own(owner, user, &request) {
        let operation = all().find(|operation| operation.id == request.operation);
        request.path = operation.map_or(HIDDEN, |operation| operation.path).into();
        request.query = Box::default();
        request.error = None;
        request.bodies = None;
    }
    request
}
