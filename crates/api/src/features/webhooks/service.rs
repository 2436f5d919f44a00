//! The webhook service: creates, lists, changes and deletes webhooks. The module `delivery` delivers.

pub use super::scheduler::DeliveryAttempt;
pub use super::service_state::WebhookSettings;

use super::scheduler::DeliveryScheduler;
use super::service_state::{WebhookService, server_error};
use crate::background_error::BackgroundError;
use crate::error::ApiError;
use crate::execute::load_view::load;
use crate::execute::page_position::PageBinding;
use crate::execute::record_response::CostedResponse;
use crate::execute::response_plan::ResponsePlan;
use crate::execute::{page_position, record_response as answer};
use crate::features::webhooks::webhook_records::{answer, scene};
use crate::state::Api;
use bytes::Bytes;
use futures_util::lock;
use parking_lot::Mutex;
use serde_json::Value;
use std::sync::Arc;
use workgraph_auth::{AuthRefusal, Grant};
use workgraph_core::Gid;
use workgraph_core::access::Level;
use workgraph_core::domain_error::DomainError;
use workgraph_core::model::registry::Type;
use workgraph_core::model::resources::resource;
use workgraph_core::storage::PageRows;
use workgraph_operations::operation::inputs::Named;
use workgraph_operations::operation::requests::{CreateWebhook, ListWebhooks, WebhookRequest};
use workgraph_operations::operation::steps::Described;
use workgraph_operations::request_context::RequestContext;
use workgraph_webhooks::delivery_target::TargetError;
use workgraph_webhooks::signature::{SECRET_HEADER, is_handshake_confirmed, signing_secret};
use workgraph_webhooks::webhook_record::TIMEOUT;
use workgraph_webhooks::{
    DeliveryError, DeliveryRequest, DeliveryState, EventFilter, InsertOutcome, Target, Webhook,
    WebhookClient, WebhookStore,
};
use workgraph_wire::{envelope, messages};

impl Api {
    /// Sets up webhooks with their store, client and settings. Call it once, before any request.
    ///
    /// # Errors
    /// Fails when the store fails, or webhooks are set up already; the text is for the log.
    pub async fn set_webhooks(
        &self,
        store: Arc<dyn WebhookStore>,
        deliver: Arc<dyn WebhookClient>,
        settings: WebhookSettings,
    ) -> Result<(), BackgroundError> {
        let mut scheduler = DeliveryScheduler::new(self.caches.recent_commits());
        scheduler.put(store.all().await?);
        let service = WebhookService {
            store,
            client: deliver,
            settings,
            scheduler: Mutex::new(scheduler),
            handshakes: Mutex::default(),
            delivery_lease: Mutex::default(),
            store_order: lock::Mutex::default(),
            attempts: Default::default(),
        };
        let set = self.webhooks.set(service);
        set.map_err(|_| BackgroundError::WebhooksAreSet)
    }

    /// Returns the log of a webhook's deliveries, newest first.
    ///
    /// # Errors
    /// Fails when the store fails; the text is for the log.
    pub async fn deliveries(
        &self,
        id: u64,
        limit: usize,
    ) -> Result<Vec<workgraph_webhooks::DeliveryLogEntry>, BackgroundError> {
        let Some(service) = self.webhooks.get() else {
            return Ok(Vec::new());
        };
        Ok(service.store.deliveries(id, limit).await?)
    }

    /// Returns a number that changes with every commit, if the store knows it without a trip.
    #[must_use]
    pub fn version(&self) -> Option<u64> {
        self.graph.version()
    }

    /// Waits for a commit after this version; never returns if the store has no versions.
    pub async fn wait_for_commit(&self, since: Option<u64>) {
        match since {
            Some(version) => self.graph.changed(version).await,
            None => std::future::pending().await,
        }
    }

    /// Returns all webhooks.
    ///
    /// # Errors
    /// Fails when the store fails; the text is for the log.
    pub async fn all_webhooks(&self) -> Result<Vec<Webhook>, BackgroundError> {
        match self.webhooks.get() {
            Some(service) => Ok(service.store.all().await?),
            None => Ok(Vec::new()),
        }
    }

    /// Deletes a webhook of any user or app. Returns false if no webhook has this id.
    ///
    /// # Errors
    /// Fails when the store fails; the text is for the log.
    pub async fn delete_webhook(&self, id: u64) -> Result<bool, BackgroundError> {
        let Some(service) = self.webhooks.get() else {
            return Ok(false);
        };
        let is_known = service.store.get(id).await?.is_some();
        service.store.remove(id).await?;
        service.scheduler.lock().remove(id);
        Ok(is_known)
    }
}

/// Carries out an operation on webhooks.
pub(crate) async fn execute_webhook_action(
    api: &Api,
    call: &RequestContext<'_>,
    path: &str,
    action: &dyn Described<WebhookRequest>,
    asked: &ResponsePlan<'_>,
) -> Result<CostedResponse, ApiError> {
    let service = api.webhooks.get();
    let service = service.ok_or_else(|| server_error("webhooks are not set up"))?;
    match action.describe(call)? {
        WebhookRequest::List(input) => list(api, service, call, path, (asked, &input)).await,
        WebhookRequest::Create(input) => create(api, service, call, asked, &input).await,
        WebhookRequest::Get(named) => {
            let webhook = owned_webhook(api, service, call, &named).await?;
            answer(api, call, &webhook, asked, 200).await
        }
        WebhookRequest::Update(input) => {
            let mut webhook = owned_webhook(api, service, call, &input.webhook).await?;
            if let Some(value) = &input.filters {
                webhook.filters = filters(value, webhook.kind)?;
                let _setting = service.store_order.lock().await;
                let kept = service
                    .store
                    .set_filters(webhook.id, webhook.filters.clone());
                if !kept.await? {
                    return Err(gone(&input.webhook).into());
                }
                service.scheduler.lock().filter(&webhook);
            }
            let answered = answer(api, call, &webhook, asked, 200).await;
            match input.filters {
                Some(_) => answered.map_err(ApiError::after_changes),
                None => answered,
            }
        }
        WebhookRequest::Delete(named) => {
            let webhook = owned_webhook(api, service, call, &named).await?;
            service.store.remove(webhook.id).await?;
            service.scheduler.lock().remove(webhook.id);
            Ok(CostedResponse::new(200, envelope::empty_envelope(), 1))
        }
    }
}

fn gone(named: &Named<Gid>) -> DomainError {
    DomainError::not_found("webhook", named.node)
}

/// Returns the webhook that the path names. The caller must own it, and have made it with the same app.
async fn owned_webhook(
    api: &Api,
    service: &WebhookService,
    call: &RequestContext<'_>,
    named: &Named<Gid>,
) -> Result<Webhook, ApiError> {
    // A user who was removed from every workspace gets no information.
    load(api, &call.read_query()).await?;
    let found = service.store.get(named.node.get()).await;
    let webhook = found?.ok_or_else(|| gone(named))?;
    if (webhook.user, webhook.app) == (call.grant.user, call.grant.app) {
        return Ok(webhook);
    }
    Err(if call.settings.hide_forbidden {
        gone(named)
    } else {
        DomainError::no_access("webhook")
    }
    .into())
}

/// Returns the type names that events may be about.
fn event_types() -> impl Iterator<Item = &'static str> {
    let types = Type::ALL.iter().filter(|ty| ty.has_events());
    types.map(|ty| resource(*ty).name)
}

/// Returns the filters in a body, for a webhook on a resource of this type.
fn filters(value: &Value, kind: u8) -> Result<Vec<EventFilter>, DomainError> {
    let refused = |reason| DomainError::field("filters", reason);
    let filters = EventFilter::read_all(value).map_err(refused)?;
    let types: Vec<&str> = event_types().collect();
    EventFilter::require_types(&filters, &types).map_err(refused)?;
    let wide = [Type::Workspace, Type::Team, Type::Portfolio];
    let wide = wide.iter().any(|ty| *ty as u8 == kind);
    if !wide {
        return Ok(filters);
    }
    // These resources contain so much that their webhooks must have filters.
    if filters.is_empty() {
        return Err(DomainError::missing("filters"));
    }
    for (i, filter) in filters.iter().enumerate() {
        let reason = match filter.resource_type.as_str() {
            "task" | "story" => {
                "events of tasks and stories are for webhooks on projects and tasks"
            }
            _ if !filter.fields.is_empty() => "fields: not on workspaces, teams and portfolios",
            _ => continue,
        };
        return Err(DomainError::field(
            "filters",
            format_args!("[{i}]: {reason}"),
        ));
    }
    Ok(filters)
}

/// Creates a webhook after its target has completed the handshake.
async fn create(
    api: &Api,
    service: &WebhookService,
    call: &RequestContext<'_>,
    asked: &ResponsePlan<'_>,
    input: &CreateWebhook,
) -> Result<CostedResponse, ApiError> {
    let view = load(api, &call.read_query().node(input.resource.node)).await?;
    let on = call.named_node(&view, &input.resource, Level::Viewer)?;
    let kind = on.ty as u8;
    let filters = filters(input.filters.as_ref().unwrap_or(&Value::Null), kind)?;
    let target =
        Target::read(&input.target, &service.settings.policy).map_err(|refused| match refused {
            TargetError::Local => DomainError::forbidden(format!("target: {refused}")),
            _ => DomainError::field("target", refused),
        })?;
    let secret = signing_secret(api.random_bytes::<32>()?);
    let grant = call.grant;
    let handshake = HandshakeGuard::begin(service, grant.user)?;
    perform_handshake(service, target, &secret).await?;
    drop(handshake);
    let now = api.clock.now();
    let webhook = Webhook {
        id: api.confirmed_gid()?.get(),
        user: grant.user,
        app: grant.app,
        service: grant.workspace,
        workspace: on.workspace.unwrap_or(on.gid).get(),
        resource: on.gid.get(),
        kind,
        target: input.target.clone(),
        secret,
        filters,
        created_at: now,
        state: DeliveryState::default(),
    };
    let setting = service.store_order.lock().await;
    let kept = service.store.insert(webhook, service.settings.limits).await;
    let webhook = match kept? {
        InsertOutcome::Done(webhook) => *webhook,
        // The user revoked the app's authorization during the handshake.
        InsertOutcome::NoGrant => {
            return Err(ApiError::Unauthorized(
                AuthRefusal::GrantEnded,
                messages::NOT_AUTHORIZED,
                Some("invalid_token"),
            ));
        }
        InsertOutcome::ResourceFull => {
            let most = service.settings.limits.per_resource;
            let reason =
                format!("resource: has {most} webhooks already, which is the most there may be");
            return Err(DomainError::forbidden(reason).into());
        }
        InsertOutcome::OwnerFull => {
            let most = service.settings.limits.per_owner;
            let reason = format!(
                "You have {most} webhooks with this app already, which is the most there may be"
            );
            return Err(DomainError::forbidden(reason).into());
        }
    };
    // If all tokens were revoked before the webhook was stored, the revocation has not deleted it.
    let is_live = grant.app.is_some()
        || is_token_live(api, grant)
            .await
            .map_err(ApiError::after_changes)?;
    if !is_live {
        let removed = service.store.remove(webhook.id).await;
        removed.map_err(|error| ApiError::from(error).after_changes())?;
        return Err(ApiError::Unauthorized(
            AuthRefusal::TokenRevoked,
            messages::NOT_AUTHORIZED,
            Some("invalid_token"),
        ));
    }
    service.scheduler.lock().put(vec![webhook.clone()]);
    drop(setting);
    // If this is the first webhook, commits since it was stored may have been skipped. If they cannot be read now, the
    // next commit triggers another scan.
    if let Err(error) = api.scan_commits().await {
        let reason = error.to_string();
        tracing::error!(reason, "the journal could not be read for a new webhook");
    }
    let answered = answer(api, call, &webhook, asked, 201).await;
    let mut answered = answered.map_err(ApiError::after_changes)?;
    let location = format!("{}/webhooks/{}", call.base_url(), webhook.id);
    answered.reply.headers.push(("Location", location));
    Ok(answered)
}

/// Returns true if the token of a request was not revoked since the request began.
async fn is_token_live(api: &Api, grant: &Grant) -> Result<bool, ApiError> {
    let own = api.tokens.find_by_id(grant.user, grant.token).await;
    let own = own?;
    Ok(own.is_some_and(|token| token.revoked_at.is_none()))
}

/// Maximum number of concurrent handshakes of one user.
const HANDSHAKES: u32 = 3;

/// A handshake in progress, counted until it is dropped.
struct HandshakeGuard<'a>(&'a WebhookService, u64);

impl<'a> HandshakeGuard<'a> {
    fn begin(service: &'a WebhookService, user: u64) -> Result<Self, DomainError> {
        let mut all = service.handshakes.lock();
        let own = all.entry(user).or_default();
        if *own >= HANDSHAKES {
            let reason = format!(
                "{own} of your webhooks wait for their targets; try again when one is made"
            );
            return Err(DomainError::busy(
                TIMEOUT.as_secs().try_into().unwrap_or(u32::MAX),
                reason,
            ));
        }
        *own += 1;
        Ok(Self(service, user))
    }
}

impl Drop for HandshakeGuard<'_> {
    fn drop(&mut self) {
        let mut all = self.0.handshakes.lock();
        if let Some(own) = all.get_mut(&self.1) {
            *own -= 1;
            if *own == 0 {
                all.remove(&self.1);
            }
        }
    }
}

/// Sends the handshake to the target.
async fn perform_handshake(
    service: &WebhookService,
    target: Target,
    secret: &str,
) -> Result<(), DomainError> {
    let attempt = DeliveryRequest {
        target,
        headers: vec![(SECRET_HEADER, secret.to_owned())],
        body: Bytes::from_static(b"{}"),
        timeout: TIMEOUT,
    };
    let reason = match service.client.post(attempt).await {
        Ok(reply) if is_handshake_confirmed(secret, reply.status, reply.secret.as_deref()) => {
            return Ok(());
        }
        Err(DeliveryError::NotAllowed) => {
            return Err(DomainError::field("target", TargetError::Address));
        }
        Ok(reply) => format!("it answered {}", reply.status),
        Err(DeliveryError::Broken(reason)) => reason,
    };
    Err(DomainError::invalid(format!(
        "The remote server did not respond with the handshake secret: {reason}"
    )))
}

/// Lists the caller's webhooks that were created with the same app.
async fn list(
    api: &Api,
    service: &WebhookService,
    call: &RequestContext<'_>,
    path: &str,
    (asked, input): (&ResponsePlan<'_>, &ListWebhooks),
) -> Result<CostedResponse, ApiError> {
    let workspace = &input.workspace;
    let mut want = call.read_query().node(workspace.node);
    let resource = input.resource.as_ref();
    want.node_refs.extend(resource.map(Named::node_ref));
    let view = load(api, &want).await?;
    call.named_node(&view, workspace, Level::Viewer)?;
    if let Some(resource) = resource
        && view
            .node(resource.node)
            .is_some_and(|node| call.is_visible(&view, node))
    {
        call.named_node(&view, resource, Level::Viewer)?;
    }
    let bounds = PageBinding::of(call, path)?;
    let position = bounds.open_page_token(api, call)?;
    let (after, limit) = position.keyset(call.settings);
    let page = workgraph_webhooks::WebhookListQuery {
        owner: (call.grant.user, call.grant.app),
        workspace: workspace.node.get(),
        resource: resource.map(|resource| resource.node.get()),
        after,
        limit: limit.saturating_add(1),
    };
    let mut found = service.store.list(page).await?;
    let more = found.len() > limit;
    found.truncate(limit);
    // Lists of webhooks contain full records.
    let is_asked = call.options.fields.is_some() || call.options.expand.is_some();
    let plan = match is_asked {
        true => Arc::clone(&asked.plan),
        false => workgraph_core::plan::full(Type::Webhook),
    };
    let asked = ResponsePlan {
        ty: Type::Webhook,
        plan,
        named_fields: asked.named_fields,
        with_download_urls: false,
        budget: asked.budget,
        base_url: asked.base_url,
    };
    let view = scene(api, call.read_query(), &found, &asked).await?;
    let gids: Vec<Gid> = found.iter().filter_map(|h| Gid::new(h.id)).collect();
    let (json, tally) = answer::write_records(api, &view, &gids, &asked, 1024).await?;
    let rows = PageRows {
        next: gids.last().filter(|_| more).map(|g| vec![g.as_i64()]),
        rows_seen: 0,
        max_seq: view.seq,
        gids,
        is_truncated: false,
        entries_read: 0,
    };
    let body =
        page_position::finish_page(api, call, &bounds, &position, &rows, json, false, false)?;
    Ok(CostedResponse::new(
        200,
        body,
        answer::response_cost(tally, asked.named_fields),
    ))
}
