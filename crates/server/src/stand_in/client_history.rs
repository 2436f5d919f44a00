//! History of the clients of a world, for the rules that judge them.
use crate::stand_in::authorization_log::LoggedAuthorization;
use crate::stand_in::delivery_faults::LoggedDelivery;
use crate::stand_in::faults::Faults;
use crate::stand_in::request_log::{LoggedRequest, RequestLog};
use async_trait::async_trait;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use workgraph_api::fault_source::{AdmittedRequest, FaultSource, RequestFault};

/// History of the clients of a world.
#[derive(Default)]
pub(crate) struct ClientHistory {
    /// Requests, in the order of their ends.
    pub(crate) requests: Vec<LoggedRequest>,
    pub(crate) deliveries: Vec<LoggedDelivery>,
    pub(crate) authorizations: Vec<LoggedAuthorization>,
    /// Operations that apps were admitted to, by client id.
    pub(crate) used: BTreeMap<u64, BTreeSet<&'static str>>,
}

impl ClientHistory {
    /// Returns the requests with the same token that began after one had ended, in the order of their beginnings.
    pub(crate) fn after<'h>(
        &'h self,
        request: &'h LoggedRequest,
    ) -> impl Iterator<Item = &'h LoggedRequest> {
        let later = self.requests.iter();
        let mut later: Vec<&LoggedRequest> = later
            .filter(|later| later.token == request.token && later.after >= request.number)
            .collect();
        later.sort_by_key(|later| (later.after, later.number));
        later.into_iter()
    }
}

/// Watch over the requests that limits admit: notes what apps use, and lets each meet its fault.
pub(crate) struct AdmissionWatch {
    pub(crate) faults: Arc<Faults>,
    pub(crate) requests: Arc<RequestLog>,
}

#[async_trait]
impl FaultSource for AdmissionWatch {
    async fn fault_of(&self, request: &AdmittedRequest<'_>) -> Option<RequestFault> {
        if let Some(app) = request.app {
            self.requests.note_use(app, request.operation);
        }
        self.faults.fault_of(request).await
    }
}
