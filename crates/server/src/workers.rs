//! Background work: threads for long work and for passwords, the workers for jobs and webhooks, and the signer
//! of the audit log.
pub(crate) mod audit_signer;
pub(crate) mod job_workers;
pub(crate) mod offload;
pub(crate) mod password_pool;
pub(crate) mod webhook_worker;
pub(crate) mod work_lease_renewal;
