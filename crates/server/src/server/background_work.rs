//! The work beside requests, from the start to the end of a server.
use crate::workers::audit_signer::AuditSigner;
use crate::workers::job_workers::JobWorkers;
use std::sync::Arc;
use tokio::task::JoinHandle;

/// Work beside requests, which ends after the last of them.
pub(crate) struct BackgroundWork {
    pub(crate) audit_signer: Arc<AuditSigner>,
    /// Workers of jobs, if this server carries jobs out.
    pub(crate) job_workers: Option<JobWorkers>,
    pub(crate) deliveries: JoinHandle<()>,
    /// Hourly maintenance, signing of the audit log, and taking over what other nodes change.
    pub(crate) loops: Vec<JoinHandle<()>>,
}

impl BackgroundWork {
    /// Ends it: jobs are given back, and changes that were made until now are signed.
    pub(crate) async fn end(self) {
        if let Some(workers) = self.job_workers {
            workers.stop().await;
        }
        for task in &self.loops {
            task.abort();
        }
        self.audit_signer.run_once(true).await;
        // No attempt goes on beside those of the node that takes over.
        self.deliveries.abort();
    }
}
