//! Settings of the API that an operator can change.
use std::borrow::Cow;
use std::time::Duration;
use workgraph_core::model::permalink::pages_url;
use workgraph_core::rules::stored_files::FileQuotas;

/// Settings of the API, with the defaults of the contract.
#[derive(Clone, Debug)]
pub struct ApiSettings {
    /// The address of the API as clients reach it, without a trailing slash, ending in `/api/1.0`. Links in a reply begin with
    /// it, unless the transport knows that the client used another address (`Caller::base_url`).
    pub base_url: String,
    /// The `help` of every error; if empty, it is this server's page of errors.
    pub help: String,
    /// Maximum number of objects for a request without `limit`; more are refused with 400. 0 switches the limit off.
    pub unpaginated_max: usize,
    /// Number of objects after which a walk over a computed list ends. 0 switches the limit off.
    pub walk_cap: u32,
    /// Number of rows after which a walk over any list is cut off with a 400. 0 switches the limit off.
    pub set_cap: u32,
    /// Lifetime of a page token.
    pub offset_lifetime: Duration,
    /// Lifetime of a sync token of the events API.
    pub sync_lifetime: Duration,
    /// Time for which the journal keeps its entries. Entries that are still to be delivered by a webhook are kept longer.
    pub journal_retention: Duration,
    /// Time for which the audit log is kept, and lifetime of a page token for it.
    pub audit_retention: Duration,
    /// True if objects that exist but are not visible get 404 instead of 403.
    pub hide_forbidden: bool,
    /// Maximum size of a JSON body in bytes.
    pub body_max: usize,
    /// Maximum size of the file of an upload in bytes.
    pub upload_max: u64,
    /// Maximum nesting depth of a JSON body.
    pub depth_max: usize,
    /// Maximum size in bytes of the records in one reply, or in all actions of a batch together.
    pub reply_max: usize,
    /// Maximum number of unfinished jobs of one user. `Api::set_jobs_per_user_max` replaces it.
    pub jobs_per_user_max: u32,
    /// Combined limit of all tokens of a user, as a multiple of the limit of one token; `None` for no limit.
    /// `Api::set_user_multiple` replaces it.
    pub user_multiple: Option<u32>,
    /// True if tokens, responses and commits are cached. If false, the stores are read each time: responses are the same, only
    /// slower. This is meant for debugging.
    pub caches: bool,
    /// Settings of the request inspector.
    pub inspector: InspectorSettings,
    /// The total size of attached files.
    pub attachments: AttachmentSettings,
}

/// Settings of the space for attached files.
#[derive(Clone, Copy, Debug)]
pub struct AttachmentSettings {
    /// Maximum size in bytes of all files of one user; `None` for no quota.
    pub user_quota: Option<u64>,
    /// Maximum size in bytes of all files of one workspace; `None` for no quota.
    pub workspace_quota: Option<u64>,
    /// Bytes that stay free on the disk of the files: uploads that would need them are refused.
    pub disk_reserve: u64,
}

impl AttachmentSettings {
    /// Returns the maximum size of all files of a user, and of a workspace.
    #[must_use]
    pub const fn quotas(&self) -> FileQuotas {
        FileQuotas {
            user: self.user_quota,
            workspace: self.workspace_quota,
        }
    }
}

impl Default for AttachmentSettings {
    fn default() -> Self {
        Self {
            user_quota: None,
            workspace_quota: None,
            disk_reserve: 1 << 30,
        }
    }
}

/// Settings of the request inspector, which shows the last requests to the owners of their tokens.
#[derive(Clone, Copy, Debug)]
pub struct InspectorSettings {
    /// Bytes of memory for all requests; 0 records none.
    pub bytes: usize,
    /// Bytes of memory for the requests of one user, app or service account.
    pub owner_bytes: usize,
}

impl Default for InspectorSettings {
    fn default() -> Self {
        Self {
            bytes: 0,
            owner_bytes: 256 << 10,
        }
    }
}

impl ApiSettings {
    /// Returns the address of the API for a client that reached it at `base_url`, if that differs from the setting.
    #[must_use]
    pub fn base_url_for<'s>(&'s self, base_url: Option<&'s str>) -> &'s str {
        base_url.unwrap_or(&self.base_url)
    }

    /// Returns the `help` of every error, for a client that reached the API at `base_url`, if that differs from the setting.
    #[must_use]
    pub fn error_help(&self, base_url: Option<&str>) -> Cow<'_, str> {
        match &self.help {
            text if !text.is_empty() => Cow::Borrowed(text),
            _ => Cow::Owned(format!(
                "For more information on API status codes and how to handle them, read the docs on errors: {}/-/errors",
                pages_url(self.base_url_for(base_url))
            )),
        }
    }

    /// Returns the maximum number of rows of a walk over a list.
    #[must_use]
    pub const fn traversal_rows_max(&self) -> u32 {
        match self.set_cap {
            0 => u32::MAX,
            cap => cap,
        }
    }

    /// Returns the maximum number of candidates that a search reads: the number of rows after which a walk over a list is
    /// cut off.
    #[must_use]
    pub const fn candidates(&self) -> usize {
        if self.set_cap == 0 {
            usize::MAX
        } else {
            self.set_cap as usize
        }
    }
}

impl Default for ApiSettings {
    fn default() -> Self {
        Self {
            base_url: "http://127.0.0.1:8080/api/1.0".to_owned(),
            help: String::new(),
            unpaginated_max: 1000,
            walk_cap: 1000,
            set_cap: 50_000,
            offset_lifetime: Duration::from_secs(24 * 3600),
            sync_lifetime: Duration::from_secs(24 * 3600),
            journal_retention: Duration::from_secs(48 * 3600),
            audit_retention: Duration::from_secs(90 * 86_400),
            hide_forbidden: false,
            body_max: 1 << 20,
            upload_max: 100 << 20,
            depth_max: 32,
            reply_max: workgraph_core::byte_budgets::REPLY_BYTES,
            jobs_per_user_max: 5,
            user_multiple: Some(10),
            caches: true,
            inspector: InspectorSettings::default(),
            attachments: AttachmentSettings::default(),
        }
    }
}
