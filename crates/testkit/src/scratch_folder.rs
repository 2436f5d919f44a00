//! Folders for tests, removed when the tests end.
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// New, empty folder in the temporary directory; dropping it removes it with its contents.
#[derive(Debug)]
pub struct ScratchFolder(PathBuf);

impl ScratchFolder {
    /// Makes a folder whose name starts with `label`.
    ///
    /// # Panics
    /// Panics if the folder cannot be made.
    #[must_use]
    pub fn new(label: &str) -> Self {
        Self::under(&std::env::temp_dir(), label)
    }

    /// Makes a folder in memory, if the system has a file system for that: for long runs that do not test
    /// durability.
    ///
    /// # Panics
    /// Panics if the folder cannot be made.
    #[must_use]
    pub fn in_memory(label: &str) -> Self {
        let memory = Path::new("/dev/shm");
        if memory.is_dir() {
            Self::under(memory, label)
        } else {
            Self::new(label)
        }
    }

    #[expect(clippy::panic, reason = "a test without a folder cannot go on")]
    fn under(folder: &Path, label: &str) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = folder.join(format!("workgraph-{label}-{}-{number}", std::process::id()));
        // Removes leftovers of an earlier process with the same number.
        let _ = std::fs::remove_dir_all(&path);
        if let Err(error) = std::fs::create_dir_all(&path) {
            panic!("{}: {error}", path.display());
        }
        Self(path)
    }

    /// Returns the path of the folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Returns a path inside the folder.
    #[must_use]
    pub fn join(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for ScratchFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
