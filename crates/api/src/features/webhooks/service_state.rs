//! The state of the webhook service: its ports, its settings, the scheduler and the handshakes in progress.
use super::delivery_lease::DeliveryLease;
use super::scheduler::DeliveryScheduler;
use crate::error::ApiError;
use futures_util::lock;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;
use workgraph_webhooks::{
    DeliveryPermission, TargetPolicy, WebhookClient, WebhookLimits, WebhookStore, WebhookStoreError,
};

/// Settings of webhooks that an operator can change.
#[derive(Clone, Debug)]
pub struct WebhookSettings {
    /// The policy for addresses of targets.
    pub policy: TargetPolicy,
    /// Maximum numbers of webhooks.
    pub limits: WebhookLimits,
    /// True if the stable ids of events and the attempt number are sent as headers.
    pub event_ids: bool,
    /// Time for which the log of deliveries is kept.
    pub log_retention: Duration,
}

impl Default for WebhookSettings {
    fn default() -> Self {
        Self {
            policy: TargetPolicy::default(),
            limits: WebhookLimits::default(),
            event_ids: false,
            log_retention: Duration::from_secs(30 * 24 * 3600),
        }
    }
}

/// The parts of the webhook service: store, client, settings and scheduler.
pub(crate) struct WebhookService {
    pub(crate) store: Arc<dyn WebhookStore>,
    pub(crate) client: Arc<dyn WebhookClient>,
    pub(crate) settings: WebhookSettings,
    pub(crate) scheduler: Mutex<DeliveryScheduler>,
    /// Number of handshakes in progress, by user.
    pub(super) handshakes: Mutex<HashMap<u64, u32>>,
    /// Lease of this node on the deliveries of the store.
    pub(super) delivery_lease: Mutex<DeliveryLease>,
    /// Lock held while a user's change is written to the store and to the scheduler, so that both see the changes in the
    /// same order.
    pub(super) store_order: lock::Mutex<()>,
    /// Numbers of successful and failed attempts.
    pub(super) attempts: [AtomicU64; 2],
}

/// Scope that an app needs to have webhooks: the scope of `createWebhook`.
const WEBHOOKS_SCOPE: &str = "webhooks:write";

impl WebhookService {
    /// Returns the permission to send to a webhook at this time.
    pub(super) async fn permission(
        &self,
        webhook: u64,
    ) -> Result<DeliveryPermission, WebhookStoreError> {
        self.store
            .delivery_permission(webhook, WEBHOOKS_SCOPE)
            .await
    }
}

/// Returns the error for a request during which a part of the service failed.
pub(super) fn server_error(error: impl std::fmt::Display) -> ApiError {
    ApiError::Server(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_app_keeps_webhooks_while_it_has_the_scope_that_makes_them() {
        let mut all = workgraph_operations::table::all();
        let create = all.find(|operation| operation.id == "createWebhook");
        assert_eq!(create.unwrap().scope, Some(WEBHOOKS_SCOPE));
    }
}
