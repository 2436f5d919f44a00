//! The writer of the log: a line that can't be written, to a full disk or a closed pipe, is dropped and counted.
use std::io::{self, Write};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

static DROPPED: AtomicU64 = AtomicU64::new(0);

/// Returns the number of lines that could not be written since the start.
pub(crate) fn dropped_lines() -> u64 {
    DROPPED.load(Relaxed)
}

/// Writer that never fails. The library would report a failure on standard error, and panic if standard error is what
/// failed.
#[derive(Debug)]
pub(crate) struct LossyWriter<W>(W);

impl<W: Write> LossyWriter<W> {
    /// Wraps a writer.
    pub(crate) const fn new(writer: W) -> Self {
        Self(writer)
    }
}

impl<W: Write> Write for LossyWriter<W> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if self.0.write_all(line).is_err() {
            DROPPED.fetch_add(1, Relaxed);
        }
        Ok(line.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        // Lines that were not written have been counted.
        let _ = self.0.flush();
        Ok(())
    }
}
