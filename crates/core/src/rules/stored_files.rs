//! Total size of stored files. A file counts towards the user who uploaded it and its workspace, from the commit of the
//! attachment until the file is removed, and only once however many copies its attachment has.
use crate::domain_error::DomainError;
use crate::model::draft::Draft;
use crate::model::edge::Edge;
use crate::model::gid::Gid;
use crate::model::node::Node;
use crate::model::registry::{Type, rel};
use crate::model::resources::attachment;
use crate::storage::alias;
use crate::storage::change_builder::ChangeBuilder;
use crate::storage::{Guard, LinkSelector, ListPosition, NodeRef, NodeWrite, ReadQuery, ReadView};

/// Stored file, with the user and the workspace whose quotas it uses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StoredFile {
    /// Gid of the file.
    pub file: Gid,
    /// User who uploaded it.
    pub user: Gid,
    /// Workspace of its attachment.
    pub workspace: Option<Gid>,
    /// Size of the file in bytes.
    pub bytes: u64,
}

impl StoredFile {
    /// Returns the file of an attachment; `None` for links.
    #[must_use]
    pub fn of(node: &Node) -> Option<Self> {
        Some(Self {
            file: node.get(attachment::FILE)?,
            user: node.get(attachment::CREATED_BY)?,
            workspace: node.workspace,
            bytes: u64::try_from(node.get(attachment::SIZE)).unwrap_or(0),
        })
    }

    /// Returns the user and the workspace.
    pub fn owners(&self) -> impl Iterator<Item = Gid> + use<> {
        [self.user].into_iter().chain(self.workspace)
    }
}

/// Maximum size in bytes of all files together; `None` for no quota.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FileQuotas {
    /// Quota of one user.
    pub user: Option<u64>,
    /// Quota of one workspace.
    pub workspace: Option<u64>,
}

impl FileQuotas {
    /// Returns the error for files of a user that would exceed the quota.
    #[must_use]
    pub fn user_error(quota: u64, used: u64) -> DomainError {
        DomainError::quota_exceeded(format!(
            "file: Your files may have {quota} bytes together, and have {used}; delete attachments that you no longer need"
        ))
    }

    /// Returns the error for files of a workspace that would exceed the quota.
    #[must_use]
    pub fn workspace_error(quota: u64, used: u64) -> DomainError {
        DomainError::quota_exceeded(format!(
            "file: The files of this workspace may have {quota} bytes together, and have {used}; delete attachments that nobody needs any more"
        ))
    }
}

/// Adds to a query the bytes stored for a user and for the workspace of a node.
#[must_use]
pub fn read_totals(query: ReadQuery, user: Gid, node: Gid) -> ReadQuery {
    let workspace = NodeRef::Gid(node).of(LinkSelector::Workspace);
    read_total(read_total(query, NodeRef::Gid(user)), workspace)
}

/// Adds to a query the bytes stored for a user or workspace.
#[must_use]
pub fn read_total(query: ReadQuery, owner: NodeRef) -> ReadQuery {
    query.edge(owner.clone(), rel::STORED_BYTES, owner)
}

/// Returns the bytes stored for a user or workspace.
#[must_use]
pub fn total(view: &ReadView, owner: Gid) -> u64 {
    let edge = view.link(owner, rel::STORED_BYTES, owner);
    edge.map_or(0, |edge| u64::try_from(edge.rank).unwrap_or(0))
}

/// Requires that the quotas have room for a file, both now and at the commit.
///
/// # Errors
/// Fails if a quota has no room. The view has the [totals](read_totals).
pub fn require_room(
    work: &mut ChangeBuilder<'_>,
    view: &ReadView,
    file: &StoredFile,
    quotas: &FileQuotas,
) -> Result<(), DomainError> {
    let user = (Some(file.user), quotas.user);
    let workspace = (file.workspace, quotas.workspace);
    let errors = [FileQuotas::user_error, FileQuotas::workspace_error];
    for ((owner, quota), error) in [user, workspace].into_iter().zip(errors) {
        let (Some(owner), Some(quota)) = (owner, quota) else {
            continue;
        };
        let used = total(view, owner);
        let room = quota.checked_sub(file.bytes).filter(|room| used <= *room);
        let room = room.ok_or_else(|| error(quota, used))?;
        let most = i64::try_from(room).unwrap_or(i64::MAX);
        let guard = Guard::TotalAtMost(owner, rel::STORED_BYTES, most);
        work.changes.guards.push(guard);
    }
    Ok(())
}

/// Counts a file. `known` is its node, if it already exists.
pub fn count(work: &mut ChangeBuilder<'_>, file: &StoredFile, known: Option<Gid>) {
    let record = known.unwrap_or_else(|| {
        let draft: Draft = work.draft(Type::Attachment, None);
        let name = alias::shared_file(file.file);
        work.changes.add_aliases.push((name, draft.gid));
        let node = draft.finish();
        work.changes.node_writes.push(NodeWrite { node });
        draft.gid
    });
    let bytes = i64::try_from(file.bytes).unwrap_or(i64::MAX);
    for owner in file.owners() {
        if known.is_some() {
            work.require_unlinked(record, rel::STORED_FOR, owner);
        }
        let size = ListPosition::Rank(bytes.saturating_neg());
        work.link(record, rel::STORED_FOR, owner, size, Some(file.file));
        let more = ListPosition::Plus(bytes);
        work.link(owner, rel::STORED_BYTES, owner, more, None);
    }
}

/// Stops counting a file. `record` is its node, and `owners` are the node's edges to its owners.
pub fn forget(work: &mut ChangeBuilder<'_>, file: Gid, record: Gid, owners: &[Edge]) {
    work.require_live(record);
    for edge in owners {
        let less = ListPosition::Plus(edge.rank);
        work.unlink(record, rel::STORED_FOR, edge.dst);
        work.link(edge.dst, rel::STORED_BYTES, edge.dst, less, None);
    }
    let name = alias::shared_file(file);
    work.changes.remove_aliases.push((name, record));
    work.changes.trashed.push(record);
}
