//! Files of uploads in progress, which no node owns yet.
use parking_lot::Mutex;
use std::collections::HashSet;
use std::sync::Arc;
use workgraph_core::Gid;

/// Set of the files of uploads in progress.
#[derive(Clone, Debug, Default)]
pub(crate) struct PendingUploads(Arc<Mutex<HashSet<Gid>>>);

/// Entry of a file in the set; dropping it removes the file from the set.
#[derive(Debug)]
pub(crate) struct PendingUpload {
    file: Gid,
    all: PendingUploads,
}

impl PendingUploads {
    /// Registers the file of an upload, until the returned value is dropped.
    pub(super) fn add(&self, file: Gid) -> PendingUpload {
        self.0.lock().insert(file);
        PendingUpload {
            file,
            all: self.clone(),
        }
    }

    /// Returns true if the upload of a file is in progress.
    pub(super) fn contains(&self, file: Gid) -> bool {
        self.0.lock().contains(&file)
    }
}

impl PendingUpload {
    pub(super) const fn file(&self) -> Gid {
        self.file
    }
}

impl Drop for PendingUpload {
    fn drop(&mut self) {
        self.all.0.lock().remove(&self.file);
    }
}
