//! Attachments: the port to the stored files, uploads, signed addresses, and the sweep of files without an owner.
pub mod blob_store;
mod body_source;
mod download_urls;
mod file_names;
mod pending_uploads;
mod sweep;
mod upload;

pub use body_source::{BodyReadError, BodySource};
pub use download_urls::{AttachmentDownload, Disposition};
pub(crate) use pending_uploads::PendingUploads;
pub use sweep::SweepCounts;
pub(crate) use upload::ReceivedUpload;
