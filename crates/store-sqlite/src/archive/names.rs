//! Names of the files of an archive. Numbers and times have leading zeros, so that names sort in the same order.

/// File of an archive, by its name.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum ArchiveFile {
    /// Commits, in the order of their numbers.
    Segment {
        /// Generation: the time of its start, in milliseconds since 1970.
        generation: u64,
        /// Number in the generation.
        number: u64,
    },
    /// Description of a copy of the database.
    Snapshot {
        /// Generation: the time of its start.
        generation: u64,
        /// Number of the first segment after it.
        number: u64,
        /// Earliest time of the states that can be restored from it, in milliseconds since 1970.
        at: u64,
    },
    /// The copy itself, compressed.
    Database {
        /// Generation: the time of its start.
        generation: u64,
        /// Number of the first segment after it.
        number: u64,
        /// Earliest time of the states that can be restored from it.
        at: u64,
    },
}

impl ArchiveFile {
    pub(crate) fn name(self) -> String {
        match self {
            Self::Segment { generation, number } => {
                format!("{generation:015}/{number:010}.segment.gz")
            }
            Self::Snapshot {
                generation,
                number,
                at,
            } => {
                format!("{generation:015}/{number:010}-{at:015}.snapshot.json")
            }
            Self::Database {
                generation,
                number,
                at,
            } => {
                format!("{generation:015}/{number:010}-{at:015}.db.gz")
            }
        }
    }

    /// Returns the file with a name; `None` if the name is not that of an archive file.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        let (folder, file) = name.split_once('/')?;
        let generation = folder.parse().ok()?;
        let (stem, end) = file.split_once('.')?;
        let of_snapshot = || {
            let (number, at) = stem.split_once('-')?;
            Some((number.parse().ok()?, at.parse().ok()?))
        };
        match end {
            "segment.gz" => Some(Self::Segment {
                generation,
                number: stem.parse().ok()?,
            }),
            "snapshot.json" => of_snapshot().map(|(number, at)| Self::Snapshot {
                generation,
                number,
                at,
            }),
            "db.gz" => of_snapshot().map(|(number, at)| Self::Database {
                generation,
                number,
                at,
            }),
            _ => None,
        }
    }

    pub(crate) const fn generation(self) -> u64 {
        match self {
            Self::Segment { generation, .. }
            | Self::Snapshot { generation, .. }
            | Self::Database { generation, .. } => generation,
        }
    }

    pub(crate) const fn number(self) -> u64 {
        match self {
            Self::Segment { number, .. }
            | Self::Snapshot { number, .. }
            | Self::Database { number, .. } => number,
        }
    }
}
