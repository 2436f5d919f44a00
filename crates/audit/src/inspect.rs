//! Inspection: rows against each other, and against the checkpoints beside them and elsewhere.
use crate::chain::{Digest, Mark, link};
use crate::checkpoint::{BadLine, Checkpoint, PublicKey, read};
use std::collections::BTreeMap;
use std::fmt;

/// Something that does not agree.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Finding {
    /// A line beside the rows, or an anchored one, that no checkpoint of this key is.
    Forged {
        /// Whether it was anchored.
        anchored: bool,
        /// Which of the lines, from 1.
        line: usize,
        /// What is wrong with it.
        why: BadLine,
    },
    /// Rows are missing, or not in order.
    Gap {
        /// The row before; 0 for the beginning of the log.
        after: u64,
        /// The row that follows.
        next: u64,
    },
    /// A row's digest does not follow from its content and the row before.
    Edited {
        /// The row.
        seq: u64,
    },
    /// A row has another digest than was signed: it, or rows before it, were written anew.
    Rewritten {
        /// The row.
        seq: u64,
        /// When it was signed.
        at: u64,
    },
    /// The log ends before what was signed.
    Cut {
        /// Its last row.
        last: u64,
        /// The last row that was signed.
        signed: u64,
        /// When it was signed.
        at: u64,
    },
    /// An anchored checkpoint is not beside the rows.
    Lost {
        /// Its last row.
        signed: u64,
    },
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Forged {
                anchored,
                line,
                why,
            } => {
                let place = if *anchored {
                    "anchored checkpoint"
                } else {
                    "checkpoint in the file"
                };
                let what = match why {
                    BadLine::Form => "cannot be read",
                    BadLine::Signature => "was not signed with this server's key",
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
            Self::Cut { last, signed, .. } => write!(
                f,
                "rows were cut off at the end: the last one is {last}, and {signed} was signed"
            ),
            Self::Lost { signed } => write!(
                f,
                "the checkpoint of row {signed} was anchored and is not in the file any more"
            ),
        }
    }
}

/// What an inspection came to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Report {
    /// How many rows there are.
    pub rows: u64,
    /// The last row that a checkpoint covers; what was tampered with after it cannot be found.
    pub covered: u64,
    /// The last row.
    pub last: u64,
    /// What does not agree, in the order it was come upon.
    pub findings: Vec<Finding>,
    /// Findings that were only counted.
    pub more: usize,
}

/// Findings that are named; more are counted.
const NAMED: usize = 100;

/// Looks at a log row by row.
#[derive(Debug)]
pub struct Inspector {
    /// What was signed of a row, and when; several if they do not agree.
    signed: BTreeMap<u64, Vec<(Digest, u64)>>,
    /// After which rows a log may begin.
    bases: Vec<Mark>,
    before: Option<Mark>,
    rows: u64,
    findings: Vec<Finding>,
    more: usize,
}

impl Inspector {
    /// An inspection with the checkpoints that are kept beside the rows, and those that were
    /// anchored elsewhere, as lines.
    #[must_use]
    pub fn new(key: &PublicKey, kept: &[String], anchored: &[String]) -> Self {
        let mut seen = Self {
            signed: BTreeMap::new(),
            bases: vec![Mark::START],
            before: None,
            rows: 0,
            findings: Vec::new(),
            more: 0,
        };
        let mut known = BTreeMap::new();
        seen.lines(key, kept, false, &mut known);
        let there = seen.lines(key, anchored, true, &mut known);
        // Those of rows that were dropped went with them.
        let dropped = known.values().map(|c| c.base.seq).max();
        let lost = there.iter().map(|c| c.head.seq);
        for signed in lost.filter(|seq| Some(*seq) > dropped) {
            seen.find(Finding::Lost { signed });
        }
        seen
    }

    /// Takes in lines that are not known yet, and makes them known; gives the checkpoints that they are.
    fn lines<'l>(
        &mut self,
        key: &PublicKey,
        lines: &'l [String],
        anchored: bool,
        known: &mut BTreeMap<&'l str, Checkpoint>,
    ) -> Vec<Checkpoint> {
        let mut fresh = Vec::new();
        for (at, line) in lines.iter().enumerate() {
            if known.contains_key(line.as_str()) {
                continue;
            }
            match read(line, key) {
                Ok(checkpoint) => {
                    self.bases.push(checkpoint.base);
                    for mark in [checkpoint.base, checkpoint.head] {
                        let all = self.signed.entry(mark.seq).or_default();
                        all.push((mark.digest, checkpoint.at));
                    }
                    known.insert(line, checkpoint);
                    fresh.push(checkpoint);
                }
                Err(why) => self.find(Finding::Forged {
                    anchored,
                    line: at + 1,
                    why,
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

    /// The next row of the log: its number, its content, and the digest that is kept with it.
    pub fn row(&mut self, seq: u64, content: &[u8], digest: &[u8]) {
        self.rows += 1;
        let kept = Digest::try_from(digest).unwrap_or_default();
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
        // After a gap nothing is known of the row before.
        if before.is_some_and(|before| link(&before.digest, seq, content) != kept) {
            self.find(Finding::Edited { seq });
        }
        let other = self.signed.get(&seq).and_then(|all| {
            let other = all.iter().find(|(digest, _)| *digest != kept);
            other.map(|(_, at)| *at)
        });
        if let Some(at) = other {
            self.find(Finding::Rewritten { seq, at });
        }
        self.before = Some(Mark { seq, digest: kept });
    }

    /// What it all came to, after the last row.
    #[must_use]
    pub fn finish(mut self) -> Report {
        let last = self.before.map_or(0, |mark| mark.seq);
        let end = self.signed.last_key_value();
        let end = end.and_then(|(seq, all)| Some((*seq, all.last()?.1)));
        if let Some((signed, at)) = end.filter(|(signed, _)| *signed > last) {
            self.find(Finding::Cut { last, signed, at });
        }
        Report {
            rows: self.rows,
            covered: end.map_or(0, |(signed, _)| signed.min(last)),
            last,
            findings: self.findings,
            more: self.more,
        }
    }
}
