//! The parts of a server that all of its worlds share: connections, threads, budgets, and counters.
use crate::adapters::process_figures;
use crate::adapters::shared_limits;
use crate::adapters::system_clock::WallClock;
use crate::config::schema::HttpConfig;
use crate::http::byte_budgets::ByteBudgets;
use crate::http::connections::{ClientConnection, ConnectionTracker, network};
use crate::http::download_slots::DownloadSlots;
use crate::http::world::World;
use crate::metrics::{Metrics, OtherFigures};
use crate::workers::offload::Offload;
use hyper::http::request::Parts;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use workgraph_api::Clock;
use workgraph_auth::SecretDigest;

/// Parts that all worlds of a server share.
pub(crate) struct Process {
    /// Clock of the machine: it measures durations, and bounds waits for sockets, disks and bodies. Nothing else in a reply
    /// depends on it.
    pub(crate) clock: Arc<WallClock>,
    pub(crate) metrics: Arc<Metrics>,
    /// Threads for long requests.
    pub(crate) offload: Arc<Offload>,
    pub(crate) http: HttpConfig,
    pub(crate) log_requests: bool,
    /// True if metrics are shown on the main listener to all clients, because only this machine can reach it.
    pub(crate) metrics_public: bool,
    /// Digest of the bearer token that gives access to the metrics on the main listener, if one is set.
    pub(crate) metrics_token: Option<SecretDigest>,
    /// Value of `Strict-Transport-Security` for pages, if they have that header.
    pub(crate) transport_security: Option<String>,
    pub(crate) draining: AtomicBool,
    /// Slots for concurrent file downloads.
    pub(crate) downloads: Arc<DownloadSlots>,
    /// Tracker of the open connections.
    pub(crate) connections: Arc<ConnectionTracker>,
    /// Budgets for bytes held for clients.
    pub(crate) byte_budgets: Arc<ByteBudgets>,
}

impl Process {
    /// Returns the network of the client that sent a request over a connection.
    pub(crate) fn client_network(&self, connection: &ClientConnection, head: &Parts) -> IpAddr {
        let ip = connection.ip();
        network(match connection.is_proxied() {
            true => {
                let proxies = &self.http.trusted_proxies;
                proxies.client_ip(ip, &head.headers).to_canonical()
            }
            false => ip,
        })
    }

    /// Returns the metrics as Prometheus text.
    pub(crate) async fn metrics_text(&self, world: &World) -> String {
        let mut text = self.metrics.text(&OtherFigures {
            buffered: self.byte_budgets.kept(),
            unbuffered: self.byte_budgets.refusals(),
            busy: self.connections.active_requests(),
            limiter: world.api.limiter(),
            deliveries: world.api.delivery_counts(),
            jobs: world.api.ended_jobs().collect(),
            store: world.storage.stats().await,
        });
        if let Some(shared) = world.api.shared_limiter() {
            shared_limits::metrics(&**shared, &mut text);
        }
        let now = Clock::now(&*self.clock);
        let started = now.checked_sub(self.clock.uptime()).unwrap_or(now);
        process_figures::write(&mut text, started);
        text
    }
}
