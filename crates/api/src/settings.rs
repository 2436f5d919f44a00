//! What an operator may set about the API.
use std::time::Duration;

/// Settings of the API; the defaults are those of the contract.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The address of the API as clients reach it, without a trailing slash, ending in `/api/1.0`.
    pub base_url: String,
    /// The most objects of a request without `limit`; more is 400. 0 switches the limit off.
    pub unpaginated_max: usize,
    /// Objects after which a walk over a computed list ends. 0 switches the limit off.
    pub walk_cap: u32,
    /// Rows after which the walk of any list is cut with a 400. 0 switches the limit off.
    pub set_cap: u32,
    /// How long a page token lives.
    pub offset_lifetime: Duration,
    /// How long a sync token of the events API lives.
    pub sync_lifetime: Duration,
    /// How long the journal keeps what happened. What a webhook was not told yet is kept longer.
    pub journal_retention: Duration,
    /// How long the audit log is kept, and how long a token of a walk over it lives.
    pub audit_retention: Duration,
    /// Answer 404 instead of 403 for objects that exist but are not visible.
    pub hide_forbidden: bool,
    /// The largest JSON body, in bytes.
    pub body_max: usize,
    /// The deepest JSON body.
    pub depth_max: usize,
    /// How many bytes the records of one reply may be, those of all actions of a batch together.
    pub reply_max: usize,
    /// The most jobs of one user that are not at their end. [`Api::set_jobs`](crate::Api::set_jobs) replaces it.
    pub jobs: u32,
    /// How many times what a token may use all tokens of its user may use together; none for no limit.
    /// [`Api::set_user_multiple`](crate::Api::set_user_multiple) replaces it.
    pub user_multiple: Option<u32>,
}

impl Settings {
    /// How many rows the walk of a list goes through at most.
    #[must_use]
    pub const fn rows(&self) -> u32 {
        match self.set_cap {
            0 => u32::MAX,
            cap => cap,
        }
    }

    /// How many candidates a search reads at most: the rows after which the walk of a list is cut.
    #[must_use]
    pub const fn candidates(&self) -> usize {
        if self.set_cap == 0 {
            usize::MAX
        } else {
            self.set_cap as usize
        }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            base_url: "http://127.0.0.1:8080/api/1.0".to_owned(),
            unpaginated_max: 1000,
            walk_cap: 1000,
            set_cap: 50_000,
            offset_lifetime: Duration::from_secs(24 * 3600),
            sync_lifetime: Duration::from_secs(24 * 3600),
            journal_retention: Duration::from_secs(48 * 3600),
            audit_retention: Duration::from_secs(90 * 86_400),
            hide_forbidden: false,
            body_max: 1 << 20,
            depth_max: 32,
            reply_max: workgraph_core::budget::REPLY,
            jobs: 5,
            user_multiple: Some(10),
        }
    }
}
