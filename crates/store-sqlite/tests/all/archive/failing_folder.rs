//! An archive that fails on demand.
use std::fs;
use std::io::{self, ErrorKind, Read};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex};
use workgraph_store_sqlite::{ArchiveDirectory, ArchiveFolder};

/// Archive that fails on demand, in the middle of a file, or hangs.
#[derive(Debug)]
pub(crate) struct FailingFolder {
    pub(crate) inner: ArchiveDirectory,
    /// Number of files that are still written; the next one is cut off, and no more follow.
    pub(crate) left: AtomicU64,
    /// True while the archive cannot be reached.
    pub(crate) is_away: AtomicBool,
    pub(crate) gate: Gate,
}

/// Gate at which files wait while it is closed.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    pub(crate) is_closed: Mutex<bool>,
    pub(crate) opened: Condvar,
    pub(crate) waiting: AtomicU64,
}

impl Gate {
    pub(crate) fn close(&self) {
        *self.is_closed.lock().unwrap() = true;
    }
    pub(crate) fn open(&self) {
        *self.is_closed.lock().unwrap() = false;
        self.opened.notify_all();
    }
    pub(crate) fn pass(&self) {
        self.waiting.fetch_add(1, Ordering::SeqCst);
        let is_closed = self.is_closed.lock().unwrap();
        drop(self.opened.wait_while(is_closed, |closed| *closed).unwrap());
        self.waiting.fetch_sub(1, Ordering::SeqCst);
    }
}

pub(crate) const NEVER: u64 = u64::MAX / 2;

impl ArchiveFolder for FailingFolder {
    fn put(&self, name: &str, content: &mut dyn Read) -> io::Result<()> {
        self.gate.pass();
        if self.left.load(Ordering::SeqCst) == 0 {
            let path = self.inner.path().join(name);
            fs::create_dir_all(path.parent().unwrap())?;
            let mut cut = content.take(20);
            io::copy(
                &mut cut,
                &mut fs::File::create(path.with_extension("partial"))?,
            )?;
            return Err(io::Error::other("no space left"));
        }
        self.left.fetch_sub(1, Ordering::SeqCst);
        self.inner.put(name, content)
    }
    fn open(&self, name: &str) -> io::Result<Box<dyn Read>> {
        self.inner.open(name)
    }
    fn list(&self) -> io::Result<Vec<String>> {
        if self.is_away.load(Ordering::SeqCst) {
            return Err(io::Error::new(ErrorKind::NotConnected, "away"));
        }
        self.inner.list()
    }
    fn remove(&self, name: &str) -> io::Result<()> {
        self.inner.remove(name)
    }
}
