//! Room for an upload: what quotas and the disk have left besides the other uploads in progress.
use crate::error::ApiError;
use crate::state::Api;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use workgraph_auth::Grant;
use workgraph_core::Gid;
use workgraph_core::domain_error::DomainError;
use workgraph_core::rules::stored_files::{self, FileQuotas};
use workgraph_core::storage::{GraphStoreError, LinkSelector, NodeRef, ReadQuery, ViewerKey};

/// Bytes after which the free space of the disk is checked again.
const DISK_STEP: u64 = 1 << 20;
/// Time between two searches for deleted files of a user or workspace whose quota is used up, if the first found none.
const RECLAIM_PAUSE: Duration = Duration::from_secs(60);

/// Bytes of the files being uploaded, by the users and workspaces whose quotas they will count against.
#[derive(Clone, Debug, Default)]
pub(crate) struct UploadReservations(Arc<Mutex<ReservationState>>);

#[derive(Debug, Default)]
struct ReservationState {
    bytes: HashMap<Gid, u64>,
    /// Times of the last searches for deleted files that found none.
    searched: HashMap<Gid, SystemTime>,
}

impl UploadReservations {
    /// Returns true if an owner's deleted files may be searched for now.
    fn begin_search(&self, owner: Gid, now: SystemTime) -> bool {
        let searched = &mut self.0.lock().searched;
        searched.retain(|_, at| now.duration_since(*at).is_ok_and(|age| age < RECLAIM_PAUSE));
        searched.insert(owner, now).is_none()
    }

    /// Records that a search found files, so the next one does not have to wait.
    fn end_search(&self, owner: Gid) {
        self.0.lock().searched.remove(&owner);
    }
}

/// Quota of a user or workspace.
#[derive(Debug)]
struct OwnerQuota {
    owner: Gid,
    quota: u64,
    used: u64,
    /// Bytes reserved by this upload.
    reserved: u64,
    error: fn(u64, u64) -> DomainError,
}

impl OwnerQuota {
    /// Reserves bytes in addition to those of other uploads in progress.
    fn reserve(&mut self, all: &UploadReservations, bytes: u64) -> Result<(), DomainError> {
        let mut all = all.0.lock();
        let reserved = all.bytes.get(&self.owner).copied().unwrap_or(0);
        self.require_beside(reserved, bytes)?;
        all.bytes.insert(self.owner, reserved.saturating_add(bytes));
        self.reserved = self.reserved.saturating_add(bytes);
        Ok(())
    }

    /// Checks that there is room for bytes in addition to the reserved ones.
    fn require(&self, all: &UploadReservations, bytes: u64) -> Result<(), DomainError> {
        let reserved = all.0.lock().bytes.get(&self.owner).copied();
        self.require_beside(reserved.unwrap_or(0), bytes)
    }

    fn require_beside(&self, reserved: u64, bytes: u64) -> Result<(), DomainError> {
        let sum = self.used.saturating_add(reserved).saturating_add(bytes);
        if sum > self.quota {
            return Err((self.error)(self.quota, self.used));
        }
        Ok(())
    }

    /// Releases the reserved bytes.
    fn release(&mut self, all: &UploadReservations) {
        let bytes = &mut all.0.lock().bytes;
        if let Some(others) = bytes.get_mut(&self.owner) {
            *others = others.saturating_sub(self.reserved);
            if *others == 0 {
                bytes.remove(&self.owner);
            }
        }
        self.reserved = 0;
    }
}

/// Room of one upload, from its first byte until all of it has arrived. The commit of its attachment checks the quotas
/// again, for all nodes together.
pub(super) struct UploadRoom<'a> {
    api: &'a Api,
    viewer: ViewerKey,
    user: Option<OwnerQuota>,
    /// Workspaces that the file may belong to; only one once the upload has named it.
    workspaces: Vec<OwnerQuota>,
    taken: u64,
    /// Bytes that may be stored before the disk is checked again.
    disk_left: u64,
}

impl<'a> UploadRoom<'a> {
    /// Returns the room of an upload for an object, or for one that the body will name.
    ///
    /// # Errors
    /// Fails if the store fails.
    pub(super) async fn of(
        api: &'a Api,
        grant: &Grant,
        parent: Option<Gid>,
    ) -> Result<Self, ApiError> {
        let user = Gid::new(grant.user).ok_or_else(|| ApiError::Server("no user".to_owned()))?;
        let service = grant.workspace.and_then(Gid::new);
        let mut room = Self {
            api,
            viewer: ViewerKey { user, service },
            user: None,
            workspaces: Vec::new(),
            taken: 0,
            disk_left: 0,
        };
        room.read(parent).await?;
        Ok(room)
    }

    /// Sets the object that the file is for.
    ///
    /// # Errors
    /// Fails if the store fails.
    pub(super) async fn be_within(&mut self, parent: Gid) -> Result<(), ApiError> {
        let is_open = self.workspaces.len() > 1;
        if is_open {
            self.read(Some(parent)).await?;
        }
        Ok(())
    }

    /// Reads how much the quotas have left.
    async fn read(&mut self, parent: Option<Gid>) -> Result<(), ApiError> {
        let quotas = self.api.settings.attachments.quotas();
        if quotas == FileQuotas::default() {
            return Ok(());
        }
        let user = self.viewer.user;
        let query = ReadQuery::of(self.viewer);
        let query = match parent {
            Some(parent) => stored_files::read_totals(query, user, parent),
            None => stored_files::read_total(query, NodeRef::Gid(user)),
        };
        let mut view = self.api.graph.load(&query).await?;
        self.release();
        self.user = quotas.user.map(|quota| OwnerQuota {
            owner: user,
            quota,
            used: stored_files::total(&view, user),
            reserved: 0,
            error: FileQuotas::user_error,
        });
        let Some(quota) = quotas.workspace else {
            return Ok(());
        };
        // Workspaces that the user does not belong to are not revealed.
        let own: Vec<Gid> = view.viewer.workspaces().into_iter().collect();
        let named = parent.and_then(|parent| {
            view.resolve(&NodeRef::Gid(parent).of(LinkSelector::Workspace))
                .filter(|workspace| own.contains(workspace))
        });
        let candidates = match named {
            Some(workspace) => vec![workspace],
            None => {
                let query = own.iter().fold(ReadQuery::of(self.viewer), |query, gid| {
                    stored_files::read_total(query, NodeRef::Gid(*gid))
                });
                view = self.api.graph.load(&query).await?;
                own
            }
        };
        let candidates = candidates.into_iter().map(|owner| OwnerQuota {
            owner,
            quota,
            used: stored_files::total(&view, owner),
            reserved: 0,
            error: FileQuotas::workspace_error,
        });
        self.workspaces = candidates.collect();
        Ok(())
    }

    /// Checks that there is room for the minimum size of the file.
    ///
    /// # Errors
    /// Fails if a quota or the disk has less.
    pub(super) async fn require(&mut self, bytes: u64) -> Result<(), ApiError> {
        let lacking = self.lacking(bytes);
        if let Some((owners, _)) = lacking
            && self.reclaim(&owners).await?
        {
            self.reread().await?;
        }
        if let Some((_, error)) = self.lacking(bytes) {
            return Err(error.into());
        }
        self.require_disk(bytes).await
    }

    /// Reserves room for the next bytes of the file, before they are stored.
    ///
    /// # Errors
    /// Fails if a quota or the disk has no room, or the file exceeds the maximum size.
    pub(super) async fn take(&mut self, bytes: u64) -> Result<(), ApiError> {
        self.taken = self.taken.saturating_add(bytes);
        let most = self.api.settings.upload_max;
        if self.taken > most {
            return Err(ApiError::FileTooLarge(most));
        }
        if let Err(first) = self.reserve(bytes) {
            let owners = self
                .lacking(bytes)
                .map_or_else(Vec::new, |(owners, _)| owners);
            if !self.reclaim(&owners).await? {
                return Err(first.into());
            }
            self.reread().await?;
            self.reserve(self.taken)?;
        }
        if self.disk_left < bytes {
            self.require_disk(bytes.saturating_add(DISK_STEP)).await?;
            self.disk_left = bytes.saturating_add(DISK_STEP);
        }
        self.disk_left -= bytes;
        Ok(())
    }

    /// Returns the error for bytes that were not stored: a full disk, if that is the cause.
    pub(super) async fn write_failure(&self, error: ApiError) -> ApiError {
        let least = self.api.settings.attachments.disk_reserve.max(DISK_STEP);
        match self.free_bytes().await {
            Some(free) if free < least => ApiError::NoDiskSpace,
            _ => error,
        }
    }

    /// Reserves bytes in each quota that is certain to count them.
    fn reserve(&mut self, bytes: u64) -> Result<(), DomainError> {
        if let Some((_, error)) = self.lacking(bytes) {
            return Err(error);
        }
        let all = &self.api.upload_reservations;
        if let Some(user) = &mut self.user {
            user.reserve(all, bytes)?;
        }
        if let [workspace] = self.workspaces.as_mut_slice() {
            workspace.reserve(all, bytes)?;
        }
        Ok(())
    }

    /// Returns the owners whose quotas have no room for `bytes`, and the error to report.
    fn lacking(&self, bytes: u64) -> Option<(Vec<Gid>, DomainError)> {
        let all = &self.api.upload_reservations;
        if let Some(user) = &self.user
            && let Err(error) = user.require(all, bytes)
        {
            return Some((vec![user.owner], error));
        }
        let of_workspaces = self.workspaces.iter();
        let lacking = of_workspaces.filter_map(|workspace| {
            // Where it is not certain, nothing is reserved.
            let more = bytes.max(self.taken.saturating_sub(workspace.reserved));
            let error = workspace.require(all, more).err()?;
            Some((workspace.owner, error))
        });
        let (owners, mut errors): (Vec<Gid>, Vec<DomainError>) = lacking.unzip();
        let error = errors.pop()?;
        (owners.len() == self.workspaces.len()).then_some((owners, error))
    }

    /// Removes files of these owners' deleted attachments. Returns true if it removed any.
    async fn reclaim(&self, owners: &[Gid]) -> Result<bool, ApiError> {
        let all = &self.api.upload_reservations;
        let mut found = false;
        for owner in owners {
            if !all.begin_search(*owner, self.api.clock.now()) {
                continue;
            }
            let reclaimed = self.api.reclaim_files_of(*owner).await;
            if reclaimed.map_err(|error| ApiError::Server(error.to_string()))? {
                all.end_search(*owner);
                found = true;
            }
        }
        Ok(found)
    }

    /// Reads again how much the same quotas have left.
    async fn reread(&mut self) -> Result<(), GraphStoreError> {
        self.release();
        let quotas = self.user.iter().chain(&self.workspaces);
        let query = quotas.fold(ReadQuery::of(self.viewer), |query, quota| {
            stored_files::read_total(query, NodeRef::Gid(quota.owner))
        });
        let view = self.api.graph.load(&query).await?;
        for quota in self.user.iter_mut().chain(&mut self.workspaces) {
            quota.used = stored_files::total(&view, quota.owner);
        }
        Ok(())
    }

    /// Checks that the disk has room for these bytes in addition to its reserve.
    async fn require_disk(&self, bytes: u64) -> Result<(), ApiError> {
        let reserve = self.api.settings.attachments.disk_reserve;
        if reserve == 0 {
            return Ok(());
        }
        match self.free_bytes().await {
            Some(free) if free < reserve.saturating_add(bytes) => Err(ApiError::NoDiskSpace),
            _ => Ok(()),
        }
    }

    /// Returns the free bytes on the disk that holds the files; `None` if unknown.
    async fn free_bytes(&self) -> Option<u64> {
        let store = self.api.blob_store().ok()?;
        match store.free_bytes().await {
            Ok(free) => free,
            Err(error) => {
                let reason = error.to_string();
                tracing::warn!(reason, "the free space of the disk of files can't be read");
                None
            }
        }
    }

    fn release(&mut self) {
        let all = &self.api.upload_reservations;
        for quota in self.user.iter_mut().chain(&mut self.workspaces) {
            quota.release(all);
        }
    }
}

impl Drop for UploadRoom<'_> {
    fn drop(&mut self) {
        self.release();
    }
}
