//! Background work, from the start to the end of a server.
use crate::workers::audit_signer::AuditSigner;
use crate::workers::job_workers::JobWorkers;
use std::sync::Arc;
use tokio::task::JoinHandle;

/// Background work, which ends after the last request.
pub(crate) struct BackgroundWork {
    pub(crate) audit_signer: Arc<AuditSigner>,
    /// Workers for jobs, if this server runs jobs.
    pub(crate) job_workers: Option<JobWorkers>,
    /// Deliveries of webhooks, if they are made in the background.
    pub(crate) deliveries: Option<JoinHandle<()>>,
    /// Hourly maintenance, signing of the audit log, and following the changes of other nodes.
    pub(crate) loops: Vec<JoinHandle<()>>,
}

impl BackgroundWork {
    /// Returns work that only signs the audit log when the server ends.
    pub(crate) const fn of(audit_signer: Arc<AuditSigner>) -> Self {
        Self {
            audit_signer,
            job_workers: None,
            deliveries: None,
            loops: Vec::new(),
        }
    }

    /// Ends the work: jobs are released, and all changes so far are signed.
    pub(crate) async fn end(self) {
        if let Some(workers) = self.job_workers {
            workers.stop().await;
        }
        for task in &self.loops {
            task.abort();
        }
        self.audit_signer.run_once(true).await;
        // No attempt continues alongside those of the node that takes over.
        if let Some(deliveries) = self.deliveries {
            deliveries.abort();
        }
    }
}
