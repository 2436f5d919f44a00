//! Lock of a data folder, which keeps other processes out.
use std::fs::{File, TryLockError};

/// Lock on a data folder, released explicitly when it is dropped. Closing the file would not be enough: a child process that
/// is just being started has a copy of the file handle until it runs its own program, and would hold the lock until then.
#[derive(Debug)]
pub struct FolderLock {
    file: File,
}

impl FolderLock {
    /// Takes the lock, unless another process has it.
    pub(crate) fn take(file: File) -> Result<Self, TryLockError> {
        file.try_lock()?;
        Ok(Self { file })
    }
}

impl Drop for FolderLock {
    fn drop(&mut self) {
        if let Err(error) = self.file.unlock() {
            tracing::warn!(%error, "the lock of the data folder ends with the process");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_ends_when_it_is_dropped_though_a_process_that_starts_has_its_handle() {
        let folder = workgraph_testkit::ScratchFolder::new("folder-lock");
        let open = || File::create(folder.join("lock")).unwrap();
        let file = open();
        let handle_of_the_process = file.try_clone().unwrap();
        let lock = FolderLock::take(file).unwrap();
        let refused = FolderLock::take(open());
        assert!(matches!(refused, Err(TryLockError::WouldBlock)));
        drop(lock);
        assert!(FolderLock::take(open()).is_ok());
        drop(handle_of_the_process);
    }
}
