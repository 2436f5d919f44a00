//! The first start of a world: the first users and workspaces of an empty store.
use crate::admin::admin_service::AdminService;
use crate::admin::bootstrap::FirstObjects;
use crate::admin::bootstrap_file::{Bootstrap, BootstrapFile};
use crate::admin::demo;
use crate::config::Config;
use crate::runtime_limits::RuntimeLimits;
use crate::server_resources::ServerResources;
use anyhow::Result;
use std::sync::Arc;

/// Creates the first users and workspaces of an empty store. Returns the content of `bootstrap.json`, if it still exists,
/// and the text that describes what the server provides.
pub(crate) async fn first_start(
    resources: &ServerResources,
    config: &Config,
    objects: FirstObjects<'_>,
    limits: &Arc<RuntimeLimits>,
    root: &str,
) -> Result<(Option<Bootstrap>, String)> {
    // The first start calls the API often; those calls have no client and count against no limit.
    let api = resources.api(config, bootstrap_limits(config));
    let service: AdminService = resources.service(config, api, limits);
    let bootstrap = resources
        .first_start(&service, config, objects, root)
        .await?;
    let base_url = &config.api.base_url;
    let banner = match &bootstrap {
        Some(bootstrap) if objects.is_demo() => demo::banner(bootstrap, &service).await,
        Some(_) => format!(
            "Workgraph serves {base_url}\nReference: {root}/-/docs\nSign in: {root}/-/console\nFirst address, password and token: {}",
            BootstrapFile::of(config).path().display()
        ),
        None => format!("Workgraph serves {base_url}"),
    };
    Ok((bootstrap, banner))
}

/// Returns limits that the start itself never reaches.
fn bootstrap_limits(config: &Config) -> workgraph_api::TokenLimits {
    let mut limits = config.limits;
    limits.standard.free = 1_000_000;
    limits.standard.paid = 1_000_000;
    limits.concurrent_reads = 1_000;
    limits.concurrent_writes = 1_000;
    limits.cost_per_minute = None;
    limits
}
