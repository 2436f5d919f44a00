//! Faults of deliveries: problems that a receiver of webhooks may encounter although the service works correctly.
use crate::stand_in::delivery_fault::DeliveryFault;
use crate::stand_in::faults::Faults;
use crate::stand_in::virtual_clock::VirtualClock;
use async_trait::async_trait;
use bytes::Bytes;
use parking_lot::Mutex;
use serde_json::Value;
use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime};
use tokio::time::Instant;
use workgraph_api::Clock;
use workgraph_webhooks::signature::{SECRET_HEADER, SIGNATURE_HEADER};
use workgraph_webhooks::webhook_ports::{
    DeliveryError, DeliveryRequest, TargetReply, WebhookClient,
};

/// Maximum number of delayed deliveries of a world at the same time.
const KEPT_MAX: usize = 1_000;
/// Secret of a stranger.
const FOREIGN_SECRET: &str = "ffffffffffffffffffffffffffffffff";
/// Signature that no secret produces.
const BAD_SIGNATURE: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// Delivery that a fault delays.
struct KeptDelivery {
    request: DeliveryRequest,
    /// Time at which the delivery is sent; `None` if it waits for the next delivery to its target.
    due: Option<SystemTime>,
}

/// Attempt to deliver events, with its fault and its answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct LoggedDelivery {
    pub(crate) fault: Option<DeliveryFault>,
    /// Time until the answer, by the clock of the machine.
    pub(crate) took: Duration,
    /// Status of the answer; `None` without one.
    pub(crate) status: Option<u16>,
}

/// Deliveries of one world, with their faults.
pub(crate) struct DeliveryFaults {
    faults: Arc<Faults>,
    clock: Arc<VirtualClock>,
    kept: Mutex<Vec<KeptDelivery>>,
    client: OnceLock<Arc<dyn WebhookClient>>,
    logged: Mutex<VecDeque<LoggedDelivery>>,
}

impl DeliveryFaults {
    /// Returns the deliveries of a world, none of which has been made yet.
    pub(crate) fn new(faults: Arc<Faults>, clock: Arc<VirtualClock>) -> Self {
        Self {
            faults,
            clock,
            kept: Mutex::default(),
            client: OnceLock::new(),
            logged: Mutex::default(),
        }
    }

    /// Returns the last attempts, oldest first.
    pub(crate) fn logged(&self) -> Vec<LoggedDelivery> {
        self.logged.lock().iter().cloned().collect()
    }

    /// Sends a request, and logs its answer with the time that it took.
    async fn post(
        &self,
        client: &dyn WebhookClient,
        request: DeliveryRequest,
        fault: Option<DeliveryFault>,
    ) -> Result<TargetReply, DeliveryError> {
        let begun = Instant::now();
        let outcome = client.post(request).await;
        let mut logged = self.logged.lock();
        if logged.len() == KEPT_MAX {
            logged.pop_front();
        }
        logged.push_back(LoggedDelivery {
            fault,
            took: begun.elapsed(),
            status: outcome.as_ref().ok().map(|reply| reply.status),
        });
        outcome
    }

    /// Returns a client that sends its requests with another one, and applies the faults.
    pub(crate) fn around(
        self: &Arc<Self>,
        client: Arc<dyn WebhookClient>,
    ) -> Arc<dyn WebhookClient> {
        let _second = self.client.set(Arc::clone(&client));
        Arc::new(FaultyClient {
            deliveries: Arc::clone(self),
            client,
        })
    }

    /// Returns the time at which the next delayed delivery is due.
    pub(crate) fn next_due(&self) -> Option<SystemTime> {
        self.kept.lock().iter().filter_map(|kept| kept.due).min()
    }

    /// Sends the first delayed delivery that is due. Returns false if there is none.
    pub(crate) async fn send_due(&self) -> bool {
        let now = self.clock.now();
        let late = self.take(|kept| kept.due.is_some_and(|due| due <= now));
        let (Some(request), Some(client)) = (late, self.client.get()) else {
            return false;
        };
        report(self.post(&**client, request, None).await);
        true
    }

    fn take(&self, is_wanted: impl Fn(&KeptDelivery) -> bool) -> Option<DeliveryRequest> {
        let mut kept = self.kept.lock();
        let at = kept.iter().position(is_wanted)?;
        Some(kept.remove(at).request)
    }

    /// Delays a delivery, which counts as received.
    fn keep(
        &self,
        request: DeliveryRequest,
        due: Option<SystemTime>,
    ) -> Result<TargetReply, DeliveryError> {
        let mut kept = self.kept.lock();
        if kept.len() >= KEPT_MAX {
            let text = format!("{KEPT_MAX} deliveries are kept back already");
            return Err(DeliveryError::Broken(text));
        }
        kept.push(KeptDelivery { request, due });
        Ok(received())
    }
}

/// Logs the outcome of a delivery that the service no longer waits for.
fn report(outcome: Result<TargetReply, DeliveryError>) {
    match outcome {
        Ok(reply) => tracing::debug!(status = reply.status, "a late delivery was answered"),
        Err(error) => {
            tracing::debug!(
                reason = error.to_string(),
                "a late delivery was not answered"
            );
        }
    }
}

/// Returns the reply of a receiver that has accepted a delivery.
fn received() -> TargetReply {
    TargetReply {
        status: 200,
        ..TargetReply::default()
    }
}

/// Webhook client of a world that applies the faults to its deliveries.
struct FaultyClient {
    deliveries: Arc<DeliveryFaults>,
    client: Arc<dyn WebhookClient>,
}

/// Returns true if a request has events; a handshake and a heartbeat have none.
fn has_events(request: &DeliveryRequest) -> bool {
    let sent: Option<Value> = serde_json::from_slice(&request.body).ok();
    let events = sent
        .as_ref()
        .and_then(|sent| sent.get("events")?.as_array());
    events.is_some_and(|events| !events.is_empty())
}

#[async_trait]
impl WebhookClient for FaultyClient {
    async fn post(&self, mut request: DeliveryRequest) -> Result<TargetReply, DeliveryError> {
        let Self { deliveries, client } = self;
        if !has_events(&request) {
            return client.post(request).await;
        }
        let target = request.target.clone();
        let fault = deliveries.faults.of_delivery(&target);
        match fault {
            None => {
                let outcome = deliveries.post(&**client, request, fault).await;
                let is_awaiting =
                    |kept: &KeptDelivery| kept.due.is_none() && kept.request.target == target;
                while let Some(former) = deliveries.take(is_awaiting) {
                    report(deliveries.post(&**client, former, None).await);
                }
                outcome
            }
            Some(DeliveryFault::Duplicate) => {
                deliveries.post(&**client, request.clone(), fault).await?;
                deliveries.post(&**client, request, fault).await
            }
            Some(DeliveryFault::SecondHandshake) => {
                let handshake = DeliveryRequest {
                    headers: vec![(SECRET_HEADER, FOREIGN_SECRET.to_owned())],
                    body: Bytes::from_static(b"{}"),
                    ..request.clone()
                };
                report(client.post(handshake).await);
                deliveries.post(&**client, request, fault).await
            }
            Some(DeliveryFault::Drop) => Ok(received()),
            Some(DeliveryFault::Reorder) => deliveries.keep(request, None),
            Some(DeliveryFault::Late(period)) => {
                let due = deliveries.clock.now().checked_add(period);
                deliveries.keep(request, due)
            }
            Some(DeliveryFault::BadSignature) => {
                for (name, value) in &mut request.headers {
                    if *name == SIGNATURE_HEADER {
                        BAD_SIGNATURE.clone_into(value);
                    }
                }
                deliveries.post(&**client, request, fault).await
            }
        }
    }
}
