//! Inspection of a log: its rows are compared with each other and with the stored and anchored
//! checkpoints.
use crate::hash_chain::{ChainPosition, RowDigest, row_digest};
use crate::signed_checkpoint::{Checkpoint, CheckpointError, CheckpointPublicKey, read_checkpoint};
use std::collections::BTreeMap;
use std::fmt;

/// Disagreement that an inspection found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Finding {
    /// A stored or anchored line is not a checkpoint signed by this key.
    Forged {
        /// True if the line was anchored.
        anchored: bool,
        /// The number of the line, from 1.
        line: usize,
        /// The reason why the line was refused.
        reason: CheckpointError,
    },
    /// Rows are missing, or not in order.
    Gap {
        /// The row before the gap; 0 for the beginning of the log.
        after: u64,
        /// The row after the gap.
        next: u64,
    },
    /// A row's digest does not follow from its content and the row before.
    Edited {
        /// The number of the row.
        seq: u64,
    },
    /// A row's digest differs from the signed one: it, or a row before it, was rewritten.
    Rewritten {
        /// The number of the row.
        seq: u64,
        /// The time of the signature, in milliseconds since 1970.
        at: u64,
    },
    /// The log ends before a signed row.
    Truncated {
        /// The number of the log's last row.
        last: u64,
        /// The last row that was signed.
        signed: u64,
        /// The time of the signature, in milliseconds since 1970.
        at: u64,
    },
    /// An anchored checkpoint is not among the stored ones.
    CheckpointMissing {
        /// The last row that the checkpoint covers.
        signed: u64,
    },
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Forged {
                anchored,
                line,
                reason,
            } => {
                let place = if *anchored {
                    "anchored checkpoint"
                } else {
                    "checkpoint in the file"
                };
                let what = match reason {
                    CheckpointError::Form => "cannot be read",
                    CheckpointError::Signature => "was not signed with this server's key",
                };
                write!(f, "{place} {line} {what}")
            }
            Self::Gap { after: 0, next } => write!(
                f,
                "the log begins with row {next}, and no checkpoint says that the rows before were dropped for their age"
            ),
            Self::Gap { after, next } if next > after => {
                write!(f, "rows are missing: {next} follows {after}")
            }
            Self::Gap { after, next } => {
                write!(f, "rows are not in order: {next} follows {after}")
            }
            Self::Edited { seq } => write!(
                f,
                "row {seq} was changed: its digest is not that of what stands in it"
            ),
            Self::Rewritten { seq, .. } => write!(
                f,
                "rows were rewritten: row {seq} is not what was signed as row {seq}"
            ),
            Self::Truncated { last, signed, .. } => write!(
                f,
                "rows were cut off at the end: the last one is {last}, and {signed} was signed"
            ),
            Self::CheckpointMissing { signed } => write!(
                f,
                "the checkpoint of row {signed} was anchored and is not in the file any more"
            ),
        }
    }
}

/// Counts and findings of an inspection.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InspectionReport {
    /// The number of rows.
    pub rows: u64,
    /// The last row that a checkpoint covers. Tampering after that row can't be found.
    pub covered: u64,
    /// The number of the last row.
    pub last: u64,
    /// The disagreements in the order in which they were found; at most 100.
    pub findings: Vec<Finding>,
    /// The number of further findings, which are counted but not listed.
    pub unnamed_findings: usize,
}

/// Maximum number of findings that are listed; more are only counted.
const NAMED: usize = 100;

/// Inspector that reads a log row by row.
#[derive(Debug)]
pub struct LogInspector {
    /// Signed digests with the times of the signatures, by row number: one for each checkpoint that names the row.
    signed: BTreeMap<u64, Vec<(RowDigest, u64)>>,
    /// Positions after which a log may begin.
    bases: Vec<ChainPosition>,
    before: Option<ChainPosition>,
    rows: u64,
    findings: Vec<Finding>,
    more: usize,
}

impl LogInspector {
    /// Creates an inspector from the lines of the checkpoints that are stored with the rows (`kept`) and of the checkpoints
    /// that were anchored elsewhere (`anchored`).
    #[must_use]
    pub fn new(key: &CheckpointPublicKey, kept: &[String], anchored: &[String]) -> Self {
        let mut seen = Self {
            signed: BTreeMap::new(),
            bases: vec![ChainPosition::START],
            before: None,
            rows: 0,
            findings: Vec::new(),
            more: 0,
        };
        let mut known = BTreeMap::new();
        seen.lines(key, kept, false, &mut known);
        let there = seen.lines(key, anchored, true, &mut known);
        // Checkpoints of dropped rows were dropped with them.
        let dropped = known.values().map(|c| c.base.seq).max();
        let lost = there.iter().map(|c| c.head.seq);
        for signed in lost.filter(|seq| Some(*seq) > dropped) {
            seen.find(Finding::CheckpointMissing { signed });
        }
        seen
    }

    /// Reads the lines that are not in `known` yet, adds them to it, and returns their checkpoints.
    fn lines<'l>(
        &mut self,
        key: &CheckpointPublicKey,
        lines: &'l [String],
        anchored: bool,
        known: &mut BTreeMap<&'l str, Checkpoint>,
    ) -> Vec<Checkpoint> {
        let mut fresh = Vec::new();
        for (at, line) in lines.iter().enumerate() {
            if known.contains_key(line.as_str()) {
                continue;
            }
            match read_checkpoint(line, key) {
                Ok(checkpoint) => {
                    self.bases.push(checkpoint.base);
                    for mark in [checkpoint.base, checkpoint.head] {
                        let all = self.signed.entry(mark.seq).or_default();
                        all.push((mark.digest, checkpoint.signed_at_ms));
                    }
                    known.insert(line, checkpoint);
                    fresh.push(checkpoint);
                }
                Err(reason) => self.find(Finding::Forged {
                    anchored,
                    line: at + 1,
                    reason,
                }),
            }
        }
        fresh
    }

    fn find(&mut self, finding: Finding) {
        if self.findings.len() < NAMED {
            self.findings.push(finding);
        } else {
            self.more += 1;
        }
    }

    /// Takes the next row of the log: its number, its content, and the digest that is stored with it.
    pub fn row(&mut self, seq: u64, content: &[u8], digest: &[u8]) {
        self.rows += 1;
        let kept = RowDigest::try_from(digest).unwrap_or_default();
        let before = match self.before {
            Some(before) if before.seq.checked_add(1) == Some(seq) => Some(before),
            Some(before) => {
                self.find(Finding::Gap {
                    after: before.seq,
                    next: seq,
                });
                None
            }
            None => {
                let base = self
                    .bases
                    .iter()
                    .find(|b| b.seq.checked_add(1) == Some(seq));
                let base = base.copied();
                if base.is_none() {
                    self.find(Finding::Gap {
                        after: 0,
                        next: seq,
                    });
                }
                base
            }
        };
        // After a gap the row before is unknown.
        if before.is_some_and(|before| row_digest(&before.digest, seq, content) != kept) {
            self.find(Finding::Edited { seq });
        }
        let other = self.signed.get(&seq).and_then(|all| {
            let other = all.iter().find(|(digest, _)| *digest != kept);
            other.map(|(_, at)| *at)
        });
        if let Some(at) = other {
            self.find(Finding::Rewritten { seq, at });
        }
        self.before = Some(ChainPosition { seq, digest: kept });
    }

    /// Returns the report. Call it after the last row.
    #[must_use]
    pub fn finish(mut self) -> InspectionReport {
        let last = self.before.map_or(0, |mark| mark.seq);
        let end = self.signed.last_key_value();
        let end = end.and_then(|(seq, all)| Some((*seq, all.last()?.1)));
        if let Some((signed, at)) = end.filter(|(signed, _)| *signed > last) {
            self.find(Finding::Truncated { last, signed, at });
        }
        InspectionReport {
            rows: self.rows,
            covered: end.map_or(0, |(signed, _)| signed.min(last)),
            last,
            findings: self.findings,
            unnamed_findings: self.more,
        }
    }
}
