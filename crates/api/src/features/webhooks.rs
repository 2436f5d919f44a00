//! Webhooks: their operations and records, the delivery scheduler, and the deliveries from the journal to the
//! targets.
pub(crate) mod delivery;
pub(crate) mod delivery_batch;
pub(crate) mod delivery_lease;
mod leased_deliveries;
pub(crate) mod scheduler;
pub mod service;
pub(crate) mod service_state;
pub(crate) mod webhook_records;
