//! The crate's front page: its modules, and the names most callers need.
#![doc = include_str!("../README.md")]
pub mod delivery_id;
pub mod delivery_target;
pub mod event_filter;
mod secret_resealing;
pub mod signature;
pub mod target_policy;
pub mod webhook_ports;
pub mod webhook_record;

pub use delivery_target::{Host, Target};
pub use event_filter::{EventFilter, EventSummary};
pub use secret_resealing::{Reseal, ResealError};
pub use target_policy::TargetPolicy;
pub use webhook_ports::{
    AttemptRecord, DeliveryError, DeliveryLogEntry, DeliveryPermission, DeliveryRequest,
    InsertOutcome, InsertionContext, TargetReply, WebhookClient, WebhookLimits, WebhookListQuery,
    WebhookStore, WebhookStoreError,
};
pub use webhook_record::{DeliveryState, DeliveryStateChange, JournalPosition, Webhook};
