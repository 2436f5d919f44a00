//! Files of exports: the port through which jobs write them, and the addresses under which they are fetched.
use crate::pipeline::Api;
use async_trait::async_trait;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use workgraph_core::Gid;
use workgraph_core::jobs::Output;
use workgraph_core::jobs::export::Mark;
use workgraph_core::node::Node;
use workgraph_core::project;
use workgraph_core::registry::Type;
use workgraph_core::time::Time;
use workgraph_wire::TicketError;

/// How long an address is good.
pub const ADDRESS_LIFETIME: Duration = Duration::from_secs(3600);
/// How long after an export is done addresses of its file are given out.
pub const OFFERED: Duration = Duration::from_secs(24 * 3600);
/// The same for exports of resources.
pub const OFFERED_LONG: Duration = Duration::from_secs(30 * 24 * 3600);
/// When the file is of no use any more, after it was written last.
pub const KEPT: Duration = OFFERED.saturating_add(ADDRESS_LIFETIME.saturating_mul(2));
/// The same for exports of resources.
pub const KEPT_LONG: Duration = OFFERED_LONG.saturating_add(ADDRESS_LIFETIME.saturating_mul(2));

/// Why something was not put into a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WriteError {
    /// Somebody with a higher fencing token has written since.
    Fenced,
    /// The file cannot be written; says why.
    Failed(String),
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fenced => f.write_str("another runner writes the file"),
            Self::Failed(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for WriteError {}

/// The files that exports are written to.
#[async_trait]
pub trait ExportFiles: Send + Sync {
    /// Cuts the file off where `output` says that it ended, appends, and answers when what was
    /// appended is durable. With `ends` the file is then whole, and can be read. The same output may
    /// come again, also after the end.
    ///
    /// # Errors
    /// When a higher fencing token was seen, or the file can't be written.
    async fn append(&self, output: Output<'_>) -> Result<Mark, WriteError>;

    /// Removes what there is of a file; no file is no error.
    async fn remove(&self, file: Gid);
}

/// Gives out addresses.
pub(crate) struct Addresses<'a> {
    api: &'a Api,
}

impl fmt::Debug for Addresses<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Addresses")
    }
}

impl project::Files for Addresses<'_> {
    fn address(&self, of: &Node, made: Time) -> Option<String> {
        let now = self.api.clock.now();
        let offered = match of.ty {
            Type::ResourceExport => OFFERED_LONG,
            _ => OFFERED,
        };
        let age = now.duration_since(made.to_system()).unwrap_or_default();
        (age < offered).then(|| self.api.address(of.gid, now))
    }
}

/// The name of a file, as it stands in its address.
#[must_use]
pub fn file_name(of: Gid) -> String {
    format!("{of}.json.gz")
}

impl Api {
    /// Gives exports the files they are written to; without it, they fail.
    pub fn set_exports(&self, files: Arc<dyn ExportFiles>) {
        // Whoever came first has set it.
        let _second = self.files.set(files);
    }

    pub(crate) fn addresses(&self) -> Addresses<'_> {
        Addresses { api: self }
    }

    /// An address of a file that is good from now on.
    fn address(&self, of: Gid, now: SystemTime) -> String {
        let base = &self.settings.base_url;
        let root = base.strip_suffix("/api/1.0").unwrap_or(base);
        let name = file_name(of);
        let ticket = self.issue_ticket(&name, now + ADDRESS_LIFETIME);
        format!("{root}/-/exports/{name}?ticket={ticket}")
    }

    /// The file that may be fetched with a ticket, by the name in its address.
    ///
    /// # Errors
    /// When the ticket is not for it, or has expired.
    pub fn admit_download(&self, name: &str, ticket: &str) -> Result<Gid, TicketError> {
        self.check_ticket(name, ticket, self.clock.now())?;
        let gid = name.strip_suffix(".json.gz").and_then(Gid::parse);
        gid.ok_or(TicketError::Invalid)
    }
}
