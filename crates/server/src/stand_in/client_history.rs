//! History of the clients of a world, for the rules that judge them.
use crate::log::request_scope::current_request;
use crate::stand_in::authorization_log::LoggedAuthorization;
use crate::stand_in::delivery_faults::LoggedDelivery;
use crate::stand_in::faults::Faults;
use crate::stand_in::request_log::{LoggedRequest, RequestLog};
use crate::stand_in::request_notes::{RequestNotes, refusal};
use async_trait::async_trait;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use workgraph_api::request_watch::{AdmittedRequest, RequestFault, RequestWatch, UnknownInput};

/// History of the requests and deliveries of a world.
#[derive(Default)]
pub(crate) struct ClientHistory {
    /// Requests, in the order in which they ended.
    pub(crate) requests: Vec<LoggedRequest>,
    pub(crate) deliveries: Vec<LoggedDelivery>,
    pub(crate) authorizations: Vec<LoggedAuthorization>,
    /// Operations that apps were admitted to, by client id.
    pub(crate) used: BTreeMap<u64, BTreeSet<&'static str>>,
}

impl ClientHistory {
    /// Returns the requests with the same token that began after a request had ended, in the order in which they began.
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

/// Watch over the requests to a world: records their unknown names, their bodies and the operations that apps use, and
/// applies the faults.
pub(crate) struct WorldWatch {
    pub(crate) faults: Arc<Faults>,
    pub(crate) requests: Arc<RequestLog>,
    pub(crate) notes: Arc<RequestNotes>,
    /// True if requests with unknown names are refused.
    pub(crate) is_strict: bool,
}

#[async_trait]
impl RequestWatch for WorldWatch {
    async fn fault_of(&self, request: &AdmittedRequest<'_>) -> Option<RequestFault> {
        if let Some(app) = request.app {
            self.requests.note_use(app, request.operation);
        }
        self.faults.fault_of(request).await
    }

    fn refuse_unknown(&self, unknown: &[UnknownInput]) -> Option<String> {
        if let Some(request) = current_request() {
            self.notes.add_unknown(request.to_text(), unknown);
        }
        refusal(unknown).filter(|_| self.is_strict)
    }

    fn request_ended(&self, body: &[u8]) {
        if let Some(request) = current_request() {
            self.notes.set_body(request.to_text(), body);
        }
    }
}
