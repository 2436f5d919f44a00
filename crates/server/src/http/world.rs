//! A world: one store with the API and the authorization server over it, and the time and random bytes that they use.
use crate::adapters::export_folder::ExportFolder;
use crate::adapters::shared_limits;
use crate::adapters::stores::Storage;
use crate::http::openapi::ApiDescription;
use crate::http::own_address::OwnAddress;
use crate::log::request_id::RequestIdSeed;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;
use workgraph_api::{Api, Clock, Entropy};
use workgraph_portal::Portal;

/// Maximum time that the store may take to answer a readiness check. Callers of the check usually wait only a few
/// seconds.
const READY: Duration = Duration::from_secs(2);

/// Store of a service, with the parts that serve it. A server has one world; a stand-in has as many as its tests create.
pub(crate) struct World {
    pub(crate) api: Arc<Api>,
    pub(crate) portal: Arc<Portal>,
    pub(crate) storage: Arc<Storage>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) entropy: Arc<dyn Entropy>,
    /// Folder with the files of exports.
    pub(crate) exports: Arc<ExportFolder>,
    /// Random part of the request ids.
    pub(crate) request_id_seed: RequestIdSeed,
    /// Number of requests so far, if their ids must not depend on connections, as in a test.
    pub(crate) request_count: Option<AtomicU64>,
    /// The OpenAPI document and the reference pages.
    pub(crate) description: ApiDescription,
    /// Address that links begin with.
    pub(crate) own_address: OwnAddress,
}

impl World {
    /// Returns 200 or 503 for the readiness check, with a short text.
    pub(crate) async fn ready(&self) -> (u16, String) {
        let asked = self
            .storage
            .graph
            .journal_entries(i64::MAX.cast_unsigned(), 1);
        let reason = match tokio::time::timeout(READY, asked).await {
            Ok(Ok(_)) => {
                let limiter = self.api.shared_limiter();
                let limits =
                    limiter.map_or_else(String::new, |shared| shared_limits::readiness(&**shared));
                return (200, format!("ok\n{limits}"));
            }
            Ok(Err(e)) => e.to_string(),
            Err(late) => late.to_string(),
        };
        let store = self.storage.name;
        tracing::warn!(reason, "the {store} does not answer");
        (503, format!("the {store} does not answer\n"))
    }
}
