//! The output of a job that writes a file.
use super::STEP_OBJECTS;
use crate::byte_budgets;
use crate::domain_error::{DomainError, DomainErrorKind};
use crate::projection::projector::{ProjectionCounts, Projector};
use serde::{Deserialize, Serialize};

/// Number of buffered bytes at which the buffer is written to the file, even if it holds few records.
const UNSENT_MAX: usize = 1 << 20;

/// Length and checksum of a file at the last checkpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FileEnd {
    /// Length of the file, in bytes.
    pub length: u64,
    /// Number of bytes that were written to the file, before the file encodes them.
    pub size: u64,
    /// CRC-32 of the bytes that were written.
    #[serde(rename = "sum")]
    pub crc32: u32,
}

/// Records on their way into an export file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OutputBuffer {
    /// Buffered records, as bytes.
    pub bytes: Vec<u8>,
    /// Number of the records.
    pub objects: usize,
}

impl OutputBuffer {
    /// Appends the bytes that a projector wrote.
    ///
    /// # Errors
    /// Fails if the bytes exceed the budget of a step.
    pub(super) fn put(
        &mut self,
        projector: Projector<'_>,
    ) -> Result<ProjectionCounts, DomainError> {
        let (bytes, tally) = projector.finish().map_err(|fault| match fault.kind {
            DomainErrorKind::TooLarge => DomainError::too_large(format!(
                "A record would be larger than {} bytes; name fewer fields or shorter paths.",
                byte_budgets::JOB_STEP_BYTES
            )),
            _ => fault,
        })?;
        self.bytes = bytes;
        self.objects += tally.objects as usize;
        Ok(tally)
    }

    /// Returns true if the buffer is full enough for a checkpoint.
    pub(super) fn is_due(&self) -> bool {
        self.objects >= STEP_OBJECTS || self.bytes.len() >= UNSENT_MAX
    }
}
