//! Maintenance: rotates keys, and removes codes, sessions, files and jobs that ended long ago.
use crate::adapters::signing_key_store::SigningKeyStore;
use crate::http::world::World;
use crate::workers::work_lease_renewal::WorkLeaseRenewal;
use std::sync::Arc;
use std::time::Duration;
use workgraph_api::features::attachments::SweepCounts;
use workgraph_core::storage::SharedWork;

/// Maximum number of job cleanup steps per run.
const CLEANUP_STEPS_MAX: usize = 10_000;
/// Age after which a file whose upload began on another node has an owner, or never will.
const FOREIGN_UPLOAD_MAX: Duration = Duration::from_secs(86_400);
/// Interval between maintenance runs.
const HOUR: Duration = Duration::from_secs(3600);

/// Runs the maintenance at startup and every hour, in the background: creates and rotates signing keys, deletes codes,
/// sessions and tokens that ended long ago, and removes old files and jobs.
pub(crate) async fn run_maintenance(
    world: Arc<World>,
    keys: Arc<SigningKeyStore>,
    remember: Duration,
) {
    let mut lease = WorkLeaseRenewal::new(&world.storage.leases, SharedWork::Maintenance);
    let mut hours = tokio::time::interval(HOUR);
    hours.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    for hour in 0u64.. {
        hours.tick().await;
        keys.refresh();
        world.portal.sweep();
        sweep_files(&world).await;
        if lease.renew_if_due().await.is_none() {
            // Another node does the rest.
            continue;
        }
        if hour % 24 == 0 {
            sweep_attachments(&world).await;
        }
        remove_ended(&world, remember).await;
    }
}

/// Removes data of a world that ended long ago.
pub(crate) async fn clean_up(world: &World, remember: Duration) {
    world.portal.sweep();
    sweep_files(world).await;
    sweep_attachments(world).await;
    remove_ended(world, remember).await;
}

/// Removes jobs past their retention, and codes, sessions and tokens that ended before `remember`.
async fn remove_ended(world: &World, remember: Duration) {
    match world.api.cleanup_jobs(CLEANUP_STEPS_MAX).await {
        Ok(0) => {}
        Ok(steps) => tracing::debug!(steps, "old jobs were removed"),
        Err(error) => {
            tracing::warn!(reason = error.to_string(), "old jobs could not be removed")
        }
    }
    let before = world.clock.now().checked_sub(remember);
    let swept = match before {
        Some(before) => world.storage.oauth.delete_expired(before).await,
        None => Ok(0),
    };
    match swept {
        Ok(0) => {}
        Ok(rows) => tracing::debug!(rows, "expired records were removed"),
        Err(e) => tracing::warn!(
            reason = e.to_string(),
            "expired records could not be removed"
        ),
    }
}

/// Removes expired export files.
async fn sweep_files(world: &World) {
    let (exports, now) = (Arc::clone(&world.exports), world.clock.now());
    match tokio::task::spawn_blocking(move || exports.sweep(now)).await {
        Ok(Ok(0)) => {}
        Ok(Ok(files)) => tracing::debug!(files, "removed files of exports"),
        Ok(Err(e)) => tracing::warn!(
            reason = e.to_string(),
            "old files of exports could not be removed"
        ),
        Err(e) => tracing::warn!(
            reason = e.to_string(),
            "old files of exports could not be removed"
        ),
    }
}

/// Removes attachment files that nothing owns: left over from a crash, or from deleted attachments.
async fn sweep_attachments(world: &World) {
    let min_age = if world.storage.is_shared {
        FOREIGN_UPLOAD_MAX
    } else {
        Duration::ZERO
    };
    match world.api.sweep_attachment_files(min_age).await {
        Ok(SweepCounts {
            removed: 0,
            failed: 0,
            ..
        }) => {}
        Ok(SweepCounts {
            kept,
            removed,
            failed,
        }) => tracing::info!(
            kept,
            removed,
            failed,
            "unused files of attachments were removed"
        ),
        Err(e) => tracing::warn!(
            reason = e.to_string(),
            "unused files of attachments could not be removed"
        ),
    }
}
