//! The error of calls that no client waits for: job steps, deliveries, account updates and maintenance.
use crate::error::ApiError;
use crate::ports::EntropyUnavailable;
use crate::ports::blob_store::BlobStoreError;
use crate::storage_error::StorageError;
use thiserror::Error;
use workgraph_core::Gid;
use workgraph_core::domain_error::DomainError;
use workgraph_webhooks::WebhookStoreError;

/// Reason why background work was not done. `Display` is for the log and for operators.
#[derive(Debug, Error)]
pub enum BackgroundError {
    /// A store failed.
    #[error(transparent)]
    Storage(StorageError),
    /// A record is not in the state that the work needs, or the work was stopped.
    #[error(transparent)]
    Domain(#[from] DomainError),
    /// The system provided no random bytes.
    #[error(transparent)]
    Entropy(#[from] EntropyUnavailable),
    /// The file store failed.
    #[error(transparent)]
    Blobs(#[from] BlobStoreError),
    /// The body of a delivery could not be made.
    #[error("the body of the delivery can't be made: {0:?}")]
    DeliveryBody(Box<ApiError>),
    /// The same records were changed concurrently in each of this many attempts. The text names the work.
    #[error("{0} conflicted {1} times")]
    Conflicts(String, usize),
    /// No unfinished job has this gid.
    #[error("{0}: there is no job with this gid that is not at its end")]
    NoJob(Gid),
    /// The job made progress during every attempt to end it.
    #[error("{0}: the job kept going on; try again")]
    JobKeepsGoing(Gid),
    /// Webhooks are already set up.
    #[error("webhooks are set up already")]
    WebhooksAreSet,
}

impl<E> From<E> for BackgroundError
where
    StorageError: From<E>,
{
    fn from(error: E) -> Self {
        Self::Storage(error.into())
    }
}

/// Reason why a logged delivery was not sent again.
#[derive(Debug, Error)]
pub enum RedeliveryError {
    /// This API has no webhooks.
    #[error("there are no webhooks here")]
    NoWebhooks,
    /// No webhook has this gid.
    #[error("{0}: there is no such webhook")]
    NoWebhook(u64),
    /// The account of the webhook's owner, or the app that made it, is disabled.
    #[error("{0}: its owner's account or its app is off")]
    Suspended(u64),
    /// The log has no delivery with this id.
    #[error("{0}: the log has no such delivery")]
    NoDelivery(u64),
    /// Another delivery attempt is in progress.
    #[error("a delivery is under way; try again in a moment")]
    UnderWay,
    /// The events of the delivery are no longer in the journal.
    #[error("its events are not in the journal any more")]
    EventsGone,
    /// The target did not acknowledge the events. The text is the reason.
    #[error("{0}")]
    Target(String),
    /// Failure of this server, not of the target.
    #[error(transparent)]
    Failed(#[from] BackgroundError),
}

impl From<WebhookStoreError> for RedeliveryError {
    fn from(error: WebhookStoreError) -> Self {
        Self::Failed(error.into())
    }
}
