//! Webhooks: making, listing, changing and deleting them. `courier` delivers.
mod batch;
pub(crate) mod board;
mod courier;
mod recent;
mod shown;

pub use board::Taken;

use self::board::Board;
use self::shown::{answer, scene};
use crate::answer::{self, Answered};
use crate::call::{Call, allowed};
use crate::driver::{self, Asked};
use crate::fault::Failure;
use crate::operation::HookAct;
use crate::paging::{self, Paging};
use crate::pipeline::Api;
use bytes::Bytes;
use futures_util::lock;
use serde_json::Value;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use workgraph_auth::Grant;
use workgraph_core::Gid;
use workgraph_core::access::Level;
use workgraph_core::fault::Fault;
use workgraph_core::graph::{Ref, Rows};
use workgraph_core::registry::Type;
use workgraph_core::resources::webhook;
use workgraph_webhooks::hook::TIMEOUT;
use workgraph_webhooks::sign::{SECRET_HEADER, secret, shaken};
use workgraph_webhooks::target::Refused;
use workgraph_webhooks::{
    Attempt, Deliver, Failed, Filter, Hook, HookStore, Inserted, Limits, Policy, State, Target,
};
use workgraph_wire::{envelope, message};

/// What an operator may set about webhooks.
#[derive(Clone, Debug)]
pub struct HookSettings {
    /// Which addresses may be called.
    pub policy: Policy,
    /// How many webhooks there may be.
    pub limits: Limits,
    /// Send the stable ids of events, and the number of the attempt, as headers.
    pub event_ids: bool,
    /// How long the log of deliveries is kept.
    pub log_retention: Duration,
}

impl Default for HookSettings {
    fn default() -> Self {
        Self {
            policy: Policy::default(),
            limits: Limits::default(),
            event_ids: false,
            log_retention: Duration::from_secs(30 * 24 * 3600),
        }
    }
}

/// What webhooks are made of.
pub(crate) struct Hooks {
    pub(crate) store: Arc<dyn HookStore>,
    pub(crate) deliver: Arc<dyn Deliver>,
    pub(crate) settings: HookSettings,
    pub(crate) board: Mutex<Board>,
    /// How many targets of each user are being asked whether they want to be one.
    handshakes: Mutex<HashMap<u64, u32>>,
    /// Held while what users set is written to store and board, so that both have it in one order.
    setting: lock::Mutex<()>,
}

pub(crate) fn lock(board: &Mutex<Board>) -> MutexGuard<'_, Board> {
    board.lock().unwrap_or_else(PoisonError::into_inner)
}

fn broken(error: impl std::fmt::Display) -> Failure {
    Failure::Server(error.to_string())
}

impl Api {
    /// Sets webhooks up: where they are kept, and who carries deliveries. Once, before requests.
    ///
    /// # Errors
    /// When the store fails, or they are set up already; the text is for the log.
    pub async fn set_hooks(
        &self,
        store: Arc<dyn HookStore>,
        deliver: Arc<dyn Deliver>,
        settings: HookSettings,
    ) -> Result<(), String> {
        let mut board = Board::default();
        board.put(store.all().await.map_err(|e| e.to_string())?);
        let hooks = Hooks {
            store,
            deliver,
            settings,
            board: Mutex::new(board),
            handshakes: Mutex::default(),
            setting: lock::Mutex::default(),
        };
        let set = self.hooks.set(hooks);
        set.map_err(|_| "webhooks are set up already".to_owned())
    }

    /// The log of a webhook's deliveries, newest first.
    ///
    /// # Errors
    /// When the store fails; the text is for the log.
    pub async fn deliveries(
        &self,
        id: u64,
        limit: usize,
    ) -> Result<Vec<workgraph_webhooks::Delivery>, String> {
        let Some(hooks) = self.hooks.get() else {
            return Ok(Vec::new());
        };
        let log = hooks.store.deliveries(id, limit).await;
        log.map_err(|e| e.to_string())
    }

    /// A number that changes with every commit, if the store knows it without a trip.
    #[must_use]
    pub fn version(&self) -> Option<u64> {
        self.graph.version()
    }

    /// Returns once something was committed after this version; never if the store has no versions.
    pub async fn changed(&self, since: Option<u64>) {
        match since {
            Some(version) => self.graph.changed(version).await,
            None => std::future::pending().await,
        }
    }

    /// Every webhook.
    ///
    /// # Errors
    /// When the store fails; the text is for the log.
    pub async fn webhooks(&self) -> Result<Vec<Hook>, String> {
        match self.hooks.get() {
            Some(hooks) => hooks.store.all().await.map_err(|e| e.to_string()),
            None => Ok(Vec::new()),
        }
    }
}

/// Carries out an operation on webhooks.
pub(crate) async fn run(
    api: &Api,
    call: &Call<'_>,
    grant: &Grant,
    path: &str,
    act: HookAct,
    asked: &Asked,
) -> Result<Answered, Failure> {
    let hooks = api.hooks.get();
    let hooks = hooks.ok_or_else(|| broken("webhooks are not set up"))?;
    match act {
        HookAct::List => list(api, hooks, call, grant, path, asked).await,
        HookAct::Create => create(api, hooks, call, grant, asked).await,
        HookAct::Get => {
            let hook = own(api, hooks, call, grant).await?;
            answer(api, call, &hook, asked, 200).await
        }
        HookAct::Update => {
            let mut hook = own(api, hooks, call, grant).await?;
            if let Some(value) = call.data.get("filters") {
                hook.filters = filters(value, hook.kind)?;
                let _setting = hooks.setting.lock().await;
                let kept = hooks.store.set_filters(hook.id, hook.filters.clone());
                if !kept.await.map_err(broken)? {
                    return Err(gone(call).into());
                }
                lock(&hooks.board).filter(&hook);
            }
            answer(api, call, &hook, asked, 200).await
        }
        HookAct::Delete => {
            let hook = own(api, hooks, call, grant).await?;
            hooks.store.remove(hook.id).await.map_err(broken)?;
            lock(&hooks.board).remove(hook.id);
            Ok(Answered::new(200, envelope::empty(), 1))
        }
    }
}

fn gone(call: &Call<'_>) -> Fault {
    let text = call.parameter("webhook_gid");
    Fault::unknown("webhook", workgraph_core::check::clip(text))
}

/// The webhook that the path names, which must be the caller's, made with the same app.
async fn own(api: &Api, hooks: &Hooks, call: &Call<'_>, grant: &Grant) -> Result<Hook, Failure> {
    let Ref::Gid(gid) = call.path("webhook_gid")? else {
        return Err(gone(call).into());
    };
    // Who was removed everywhere learns nothing.
    driver::load(api, &call.want()).await?;
    let found = hooks.store.get(gid.get()).await.map_err(broken)?;
    let hook = found.ok_or_else(|| gone(call))?;
    if (hook.user, hook.app) == (grant.user, grant.app) {
        return Ok(hook);
    }
    Err(if call.settings.hide_forbidden {
        gone(call)
    } else {
        Fault::no_access("webhook")
    }
    .into())
}

/// The filters of a body, for a webhook on this type.
fn filters(value: &Value, kind: u8) -> Result<Vec<Filter>, Fault> {
    let filters = Filter::read_all(value).map_err(|why| Fault::field("filters", why))?;
    let wide = [Type::Workspace as u8, Type::Team as u8].contains(&kind);
    if !wide {
        return Ok(filters);
    }
    // These hold so much that a webhook has to say what it wants of it.
    if filters.is_empty() {
        return Err(Fault::missing("filters"));
    }
    for (i, filter) in filters.iter().enumerate() {
        let why = match filter.resource_type.as_str() {
            "task" | "story" => "tasks and stories are told by webhooks on projects and tasks",
            _ if !filter.fields.is_empty() => "fields: not on workspaces and teams",
            _ => continue,
        };
        return Err(Fault::field("filters", format_args!("[{i}]: {why}")));
    }
    Ok(filters)
}

/// Makes a webhook: the target must shake hands before it is one.
async fn create(
    api: &Api,
    hooks: &Hooks,
    call: &Call<'_>,
    grant: &Grant,
    asked: &Asked,
) -> Result<Answered, Failure> {
    let name = Ref::Gid(call.required_gid("resource")?);
    let text = call.required("target")?;
    let text = text
        .as_str()
        .ok_or_else(|| Fault::field("target", "Not a string"))?;
    let view = driver::load(api, &call.want().node(name.clone())).await?;
    let on = call.named(&view, "resource", &name, webhook::WATCHED, Level::Viewer)?;
    allowed(&view, on, Level::Viewer)?;
    let kind = on.ty as u8;
    let filters = filters(call.data.get("filters").unwrap_or(&Value::Null), kind)?;
    let target = Target::read(text, &hooks.settings.policy).map_err(|refused| match refused {
        Refused::Local => Fault::forbidden(format!("target: {refused}")),
        _ => Fault::field("target", refused),
    })?;
    let secret = secret(api.random::<32>()?);
    let handshake = Handshake::begin(hooks, grant.user)?;
    shake(hooks, target, &secret).await?;
    drop(handshake);
    let now = api.clock.now();
    let hook = Hook {
        id: api.fresh().get(),
        user: grant.user,
        app: grant.app,
        service: grant.workspace,
        workspace: on.home.unwrap_or(on.gid).get(),
        resource: on.gid.get(),
        kind,
        target: text.to_owned(),
        secret,
        filters,
        created_at: now,
        state: State::default(),
    };
    let setting = hooks.setting.lock().await;
    let kept = hooks.store.insert(hook, hooks.settings.limits).await;
    let hook = match kept.map_err(broken)? {
        Inserted::Done(hook) => *hook,
        // The user let the app go while the target was asked.
        Inserted::NoHold => {
            return Err(Failure::Unauthorized(
                message::NOT_AUTHORIZED,
                Some("invalid_token"),
            ));
        }
        Inserted::ResourceFull => {
            let most = hooks.settings.limits.per_resource;
            let why =
                format!("resource: has {most} webhooks already, which is the most there may be");
            return Err(Fault::forbidden(why).into());
        }
        Inserted::OwnerFull => {
            let most = hooks.settings.limits.per_owner;
            let why = format!(
                "You have {most} webhooks with this app already, which is the most there may be"
            );
            return Err(Fault::forbidden(why).into());
        }
    };
    // What revoked all tokens before the webhook was there has not deleted it.
    if grant.app.is_none() && !is_good(api, grant).await? {
        hooks.store.remove(hook.id).await.map_err(broken)?;
        return Err(Failure::Unauthorized(
            message::NOT_AUTHORIZED,
            Some("invalid_token"),
        ));
    }
    lock(&hooks.board).put(vec![hook.clone()]);
    drop(setting);
    // Commits since it is in the store may have been passed over, if it is the first one. Should they
    // not be readable now, the next commit has them looked at.
    if let Err(why) = api.hear().await {
        tracing::error!(why, "the journal could not be read for a new webhook");
    }
    let mut answered = answer(api, call, &hook, asked, 201).await?;
    let location = format!("{}/webhooks/{}", call.settings.base_url, hook.id);
    answered.reply.headers.push(("Location", location));
    Ok(answered)
}

/// Returns whether the token of a request has not been revoked since the request began.
async fn is_good(api: &Api, grant: &Grant) -> Result<bool, Failure> {
    let own = api.tokens.by_id(grant.user, grant.token).await;
    let own = own.map_err(broken)?;
    Ok(own.is_some_and(|token| token.revoked_at.is_none()))
}

/// How many handshakes of one user may be under way.
const HANDSHAKES: u32 = 3;

/// A handshake under way, which counts until it is dropped.
struct Handshake<'a>(&'a Hooks, u64);

impl<'a> Handshake<'a> {
    fn begin(hooks: &'a Hooks, user: u64) -> Result<Self, Fault> {
        let mut all = hooks.handshakes();
        let own = all.entry(user).or_default();
        if *own >= HANDSHAKES {
            let why = format!(
                "{own} of your webhooks wait for their targets; try again when one is made"
            );
            return Err(Fault::busy(
                TIMEOUT.as_secs().try_into().unwrap_or(u32::MAX),
                why,
            ));
        }
        *own += 1;
        Ok(Self(hooks, user))
    }
}

impl Drop for Handshake<'_> {
    fn drop(&mut self) {
        let mut all = self.0.handshakes();
        if let Some(own) = all.get_mut(&self.1) {
            *own -= 1;
            if *own == 0 {
                all.remove(&self.1);
            }
        }
    }
}

impl Hooks {
    fn handshakes(&self) -> MutexGuard<'_, HashMap<u64, u32>> {
        // Changed by single calls, so a poisoned one is whole.
        self.handshakes
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// Asks the target whether it wants to be one.
async fn shake(hooks: &Hooks, target: Target, secret: &str) -> Result<(), Fault> {
    let attempt = Attempt {
        target,
        headers: vec![(SECRET_HEADER, secret.to_owned())],
        body: Bytes::from_static(b"{}"),
        timeout: TIMEOUT,
    };
    let why = match hooks.deliver.post(attempt).await {
        Ok(reply) if shaken(secret, reply.status, reply.secret.as_deref()) => return Ok(()),
        Err(Failed::NotAllowed) => {
            return Err(Fault::field("target", Refused::Address));
        }
        Ok(reply) => format!("it answered {}", reply.status),
        Err(Failed::Broken(why)) => why,
    };
    Err(Fault::invalid(format!(
        "The remote server did not respond with the handshake secret: {why}"
    )))
}

/// Lists the caller's webhooks, made with the same app.
async fn list(
    api: &Api,
    hooks: &Hooks,
    call: &Call<'_>,
    grant: &Grant,
    path: &str,
    asked: &Asked,
) -> Result<Answered, Failure> {
    let workspace = call.query_gid("workspace")?;
    let workspace = workspace.ok_or_else(|| Fault::missing("workspace"))?;
    let resource = call.query_gid("resource")?;
    let mut want = call.want().node(workspace);
    want.refs.extend(resource.map(Ref::Gid));
    let view = driver::load(api, &want).await?;
    call.named(
        &view,
        "workspace",
        &Ref::Gid(workspace),
        &[Type::Workspace],
        Level::Viewer,
    )?;
    if let Some(resource) = resource
        && view.node(resource).is_some()
    {
        call.named(
            &view,
            "resource",
            &Ref::Gid(resource),
            webhook::WATCHED,
            Level::Viewer,
        )?;
    }
    let bounds = Paging::of(call, grant, path)?;
    let position = bounds.open(api, call)?;
    let (after, limit) = position.keyset(call.settings);
    let page = workgraph_webhooks::Page {
        owner: (grant.user, grant.app),
        workspace: workspace.get(),
        resource: resource.map(Gid::get),
        after,
        limit: limit.saturating_add(1),
    };
    let mut found = hooks.store.list(page).await.map_err(broken)?;
    let more = found.len() > limit;
    found.truncate(limit);
    // Lists of webhooks have whole records.
    let plan = match &call.options.fields {
        Some(_) => Arc::clone(&asked.plan),
        None => workgraph_core::plan::full(Type::Webhook),
    };
    let asked = Asked {
        plan,
        named: asked.named,
        files: false,
    };
    let view = scene(api, call.want(), &found, &asked).await?;
    let gids: Vec<Gid> = found.iter().filter_map(|h| Gid::new(h.id)).collect();
    let (json, tally) = answer::records(api, call, &view, &gids, &asked.plan, 1024).await?;
    let rows = Rows {
        next: gids.last().filter(|_| more).map(|g| vec![g.as_i64()]),
        seen: 0,
        upto: view.seq,
        gids,
        cut: false,
        read: 0,
    };
    let body = paging::finish(api, call, &bounds, &position, &rows, json, false, false)?;
    Ok(Answered::new(200, body, answer::cost(tally, asked.named)))
}
