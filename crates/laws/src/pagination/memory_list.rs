//! The list in memory that defines the laws, and its broken variants.

use std::collections::HashSet;

use super::subject::{ListProfile, PageReply, PageRequest, PageUser, PagedList};
use crate::SubjectError;

/// List with sealed keyset cursors. It obeys every law, or deliberately breaks one.
#[derive(Debug)]
pub struct MemoryList {
    profile: ListProfile,
    broken_law: String,
    /// Rows as sort key and number, ordered by both.
    rows: Vec<(u32, u64)>,
    made: u64,
    used: HashSet<String>,
    steps: Vec<String>,
}

impl MemoryList {
    /// Makes an empty list that obeys every law.
    #[must_use]
    pub fn new() -> Self {
        Self::breaking("")
    }

    /// Makes the broken variant for the law with this name; it shows that the law can fail.
    #[must_use]
    pub fn breaking(law: &str) -> Self {
        Self {
            profile: ListProfile {
                name: "list in memory".to_owned(),
                max_limit: 100,
                creates: true,
                deletes: true,
                changes: true,
                second_user: true,
            },
            broken_law: law.to_uppercase(),
            rows: Vec::new(),
            made: 0,
            used: HashSet::new(),
            steps: Vec::new(),
        }
    }

    fn breaks(&self, law: &str) -> bool {
        self.broken_law == law
    }

    /// Returns the checksum in a cursor; a real list uses a keyed one.
    fn seal(user: PageUser, position: &str) -> u64 {
        let mut sum = if user == PageUser::First {
            0xcbf2_9ce4_8422_2325
        } else {
            1
        };
        for byte in position.bytes() {
            sum = (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        sum
    }

    fn open(&self, request: &PageRequest, cursor: &str) -> Option<(u64, u64)> {
        let (position, sum) = cursor.rsplit_once('.')?;
        let sealed = format!("{:016x}", Self::seal(request.user, position));
        if sum != sealed {
            return None;
        }
        let (key, number) = position.split_once('.')?;
        key.parse().ok().zip(number.parse().ok())
    }

    fn answer(&mut self, request: &PageRequest) -> PageReply {
        let refused = |status| PageReply::Refused { status };
        let max = self.profile.max_limit as usize;
        let text = request.limit.as_deref().unwrap_or("50");
        let limit = match text.parse::<usize>() {
            Ok(limit) if (1..=max).contains(&limit) => limit,
            Ok(0) if self.breaks("W7") => return refused(500),
            _ => return refused(400),
        };
        if request.encode_all && self.breaks("W10") {
            return refused(400);
        }
        self.rows.sort_unstable();
        let after = match request.cursor.as_deref() {
            None => None,
            Some(cursor) => match self.open(request, cursor) {
                Some(_) if self.breaks("W9") && !self.used.insert(cursor.to_owned()) => {
                    return refused(410);
                }
                Some(position) => Some(position),
                None if self.breaks("W8") => None,
                None => return refused(400),
            },
        };
        let offset = self.breaks("W3") || self.breaks("W5");
        let follows = |row: &(u32, u64), position: usize| match after {
            None => true,
            Some((skip, _)) if offset => position as u64 >= skip,
            Some((key, _)) if self.breaks("W2") => u64::from(row.0) > key,
            Some((key, number)) => (u64::from(row.0), row.1) > (key, number),
        };
        let rest: Vec<_> = self
            .rows
            .iter()
            .enumerate()
            .filter(|(position, row)| follows(row, *position))
            .collect();
        let mut page: Vec<_> = rest.iter().take(limit).map(|(_, row)| **row).collect();
        let more = rest.len() > limit || self.breaks("W5");
        let last = page.last().copied();
        let next = last
            .or(self.rows.last().copied())
            .filter(|_| more)
            .map(|(key, number)| {
                let seen = after.map_or(0, |(skip, _)| skip) + page.len() as u64;
                let position = if offset {
                    format!("{seen}.0")
                } else {
                    format!("{key}.{number}")
                };
                let sum = Self::seal(request.user, &position);
                format!("{position}.{sum:016x}")
            });
        if self.breaks("W1") && page.len() > 1 && more {
            page.pop();
        }
        if self.breaks("W6") && more {
            page.reverse();
        }
        let ids = page.iter().map(|(_, number)| number.to_string()).collect();
        PageReply::Page { ids, next }
    }
}

impl Default for MemoryList {
    fn default() -> Self {
        Self::new()
    }
}

impl PagedList for MemoryList {
    fn profile(&self) -> &ListProfile {
        &self.profile
    }

    fn page(&mut self, request: &PageRequest) -> Result<PageReply, SubjectError> {
        let reply = self.answer(request);
        let cursor = request
            .cursor
            .as_deref()
            .map(|cursor| format!(" cursor={cursor}"))
            .unwrap_or_default();
        let limit = request.limit.as_deref().unwrap_or("default");
        self.steps
            .push(format!("list limit={limit}{cursor}: {reply:?}"));
        Ok(reply)
    }

    fn create(&mut self) -> Result<String, SubjectError> {
        self.made += 1;
        self.rows.push((1, self.made));
        self.steps.push(format!("create {}", self.made));
        Ok(self.made.to_string())
    }

    fn delete(&mut self, id: &str) -> Result<(), SubjectError> {
        self.rows.retain(|(_, number)| number.to_string() != id);
        self.steps.push(format!("delete {id}"));
        Ok(())
    }

    fn change(&mut self, id: &str) -> Result<(), SubjectError> {
        // Only the broken variant sorts by a value that changes.
        let moves = self.breaks("W4");
        for (key, number) in &mut self.rows {
            if moves && number.to_string() == id {
                *key += 1;
            }
        }
        self.steps.push(format!("change {id}"));
        Ok(())
    }

    fn take_steps(&mut self) -> Vec<String> {
        std::mem::take(&mut self.steps)
    }
}
