//! Attachments: uploads, signed addresses, and the sweep of files without an owner.
mod download_urls;
mod file_names;
mod paced_body;
mod pending_uploads;
mod sweep;
mod upload;
mod upload_room;

pub use download_urls::{AttachmentDownload, Disposition};
pub(crate) use pending_uploads::PendingUploads;
pub use sweep::SweepCounts;
pub(crate) use upload::{ReceivedUpload, is_multipart};
pub(crate) use upload_room::UploadReservations;
