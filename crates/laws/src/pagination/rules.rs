//! Scenarios of the pagination laws, each on a list with some known rows.

use fastrand::Rng;

use super::subject::{PageReply, PageRequest, PageUser, PagedList};
use super::walk::{repeated, walk, whole};
use crate::SubjectError;

/// State of a scenario: the list, the size of the scenario, and randomness.
pub(super) struct Scene<'a> {
    pub(super) list: &'a mut dyn PagedList,
    pub(super) random: &'a mut Rng,
    /// Rows created for this scenario, if the list supports it.
    pub(super) made: Vec<String>,
    /// All rows of the list, in order, and the number of pages that no walk exceeds.
    pub(super) rows: Vec<String>,
    /// First steps of a counterexample, after which correct steps are left out.
    pub(super) first_steps: Vec<String>,
}

/// The fault of a scenario, if any.
pub(super) type Outcome = Result<Option<String>, SubjectError>;

impl Scene<'_> {
    fn most_pages(&self) -> usize {
        self.rows.len() + 20
    }

    fn limit(&mut self) -> u32 {
        let rows = u32::try_from(self.rows.len()).unwrap_or(u32::MAX);
        let most = rows.clamp(1, self.list.profile().max_limit.max(1));
        // Long lists get higher limits, so that there are few pages.
        let least = (rows / 12).clamp(1, most);
        self.random.u32(least..=most)
    }

    /// Walks without changes, with different limits per page or the same for all.
    fn quiet_walk(&mut self, one_limit: bool) -> Result<super::walk::Walk, SubjectError> {
        let fixed = self.limit();
        let limits: Vec<u32> = (0..self.most_pages())
            .map(|_| if one_limit { fixed } else { self.limit() })
            .collect();
        let mut limits = limits.into_iter();
        walk(
            self.list,
            self.rows.len() + 20,
            || limits.next().unwrap_or(fixed),
            |_, _| Ok(()),
        )
    }

    /// W1. Each row is returned once, for any limits.
    pub(super) fn each_row_once(&mut self) -> Outcome {
        let found = self.quiet_walk(false)?;
        if found.fault.is_some() {
            return Ok(found.fault);
        }
        let mut expected = self.rows.clone();
        let mut ids = found.ids;
        expected.sort();
        ids.sort();
        Ok((ids != expected).then(|| {
            format!(
                "a walk has {} rows, one large page {}",
                ids.len(),
                expected.len()
            )
        }))
    }

    /// W2. Rows with equal sort keys are not skipped.
    pub(super) fn equal_keys(&mut self) -> Outcome {
        let found = self.quiet_walk(true)?;
        if found.fault.is_some() {
            return Ok(found.fault);
        }
        let lost = self.made.iter().find(|id| !found.ids.contains(id));
        Ok(lost
            .map(|id| format!("{id} was skipped; rows that were made alike have equal sort keys")))
    }

    /// W3, W4. Rows that remain are returned exactly once while others are created, deleted and changed; no row is returned
    /// twice.
    pub(super) fn among_changes(&mut self, twice_only: bool) -> Outcome {
        let profile = self.list.profile().clone();
        let limit = self
            .limit()
            .min(u32::try_from(self.rows.len() / 2).unwrap_or(u32::MAX))
            .max(1);
        let mut staying = self.rows.clone();
        let mut deletable = self.made.clone();
        let mut made = Vec::new();
        let mut random = self.random.fork();
        let most_pages = self.most_pages();
        let found = walk(
            self.list,
            most_pages,
            || limit,
            |list, page| {
                let act = random.u8(0..3);
                let seen: Vec<String> = deletable
                    .iter()
                    .filter(|id| page.contains(id))
                    .cloned()
                    .collect();
                let of = if seen.is_empty() || random.u8(0..4) == 0 {
                    deletable.clone()
                } else {
                    seen
                };
                let chosen = random.choice(of.iter()).cloned();
                match (act, chosen) {
                    (0, Some(id)) if profile.deletes => {
                        list.delete(&id)?;
                        deletable.retain(|other| *other != id);
                        staying.retain(|other| *other != id);
                    }
                    (1, Some(id)) if profile.changes => {
                        list.change(&id)?;
                        staying.retain(|other| *other != id);
                    }
                    _ if profile.creates && made.len() < 8 => made.push(list.create()?),
                    _ => {}
                }
                Ok(())
            },
        )?;
        self.made.extend(made);
        if twice_only {
            return Ok(repeated(&found.ids).map(|id| format!("{id} came twice")));
        }
        if found.fault.is_some() {
            return Ok(found.fault);
        }
        Ok(staying.iter().find_map(|id| {
            let times = found.ids.iter().filter(|other| *other == id).count();
            (times != 1).then(|| format!("{id} stayed all the time and came {times} times"))
        }))
    }

    /// W5. A walk ends, even if the number of rows is a multiple of the limit.
    pub(super) fn walk_ends(&mut self) -> Outcome {
        let rows = self.rows.len();
        let max = self.list.profile().max_limit as usize;
        let limit = (1..=rows.min(max))
            .rev()
            .find(|limit| rows.is_multiple_of(*limit) && (rows / limit > 1 || rows == 1));
        let limit = u32::try_from(limit.unwrap_or(1)).unwrap_or(1);
        // One more page may be empty.
        let most_pages = rows / limit.max(1) as usize + 1;
        Ok(walk(self.list, most_pages, || limit, |_, _| Ok(()))?.fault)
    }

    /// W6. The order of the pages is that of one large page.
    pub(super) fn same_order(&mut self) -> Outcome {
        let found = self.quiet_walk(true)?;
        if found.fault.is_some() {
            return Ok(found.fault);
        }
        let differs = found
            .ids
            .iter()
            .zip(&self.rows)
            .position(|(one, other)| one != other);
        Ok(differs
            .map(|position| format!("row {} is another than in one large page", position + 1)))
    }

    /// W7. An invalid limit is refused with 4xx, or treated as a valid one.
    pub(super) fn odd_limits(&mut self) -> Outcome {
        let max = self.list.profile().max_limit;
        let limits = [
            "0",
            "-1",
            &(u64::from(max) + 1).to_string(),
            "ten",
            "1e3",
            "99999999999999999999",
        ]
        .map(str::to_owned);
        for limit in limits {
            let text = limit.clone();
            let request = PageRequest {
                limit: Some(limit),
                ..PageRequest::new(1, None)
            };
            let wrong = match self.list.page(&request)? {
                PageReply::Refused { status } if (400..500).contains(&status) => None,
                PageReply::Refused { status } => {
                    Some(format!("limit={text} is answered {status}, not 4xx"))
                }
                PageReply::Page { ids, .. } if ids.len() > max as usize => Some(format!(
                    "limit={text} gives {} rows, the most being {max}",
                    ids.len()
                )),
                PageReply::Page { .. } => None,
            };
            if wrong.is_some() {
                return Ok(wrong);
            }
            self.list.take_steps();
        }
        Ok(None)
    }

    /// Returns a cursor of the list, if it has more than one page.
    fn some_cursor(&mut self) -> Result<Option<String>, SubjectError> {
        let limit = u32::try_from(self.rows.len() / 2).unwrap_or(1).max(1);
        match self.list.page(&PageRequest::new(limit, None))? {
            PageReply::Page { next, .. } => Ok(next),
            PageReply::Refused { .. } => Ok(None),
        }
    }

    /// W8. A cursor that is changed, cut or another user's gives a 4xx, never a page.
    pub(super) fn wrong_cursors(&mut self) -> Outcome {
        let Some(cursor) = self.some_cursor()? else {
            return Ok(None);
        };
        self.first_steps = self.list.take_steps();
        // Without its padding a base64 cursor means the same (RFC 4648, 3.2): the part cut off must be significant.
        let characters: Vec<char> = cursor.trim_end_matches('=').chars().collect();
        let mut wrong: Vec<(&str, String)> = vec![
            (
                "half a cursor",
                characters.iter().take(characters.len() / 2).collect(),
            ),
            (
                "a cursor without its last character",
                characters
                    .iter()
                    .take(characters.len().saturating_sub(1))
                    .collect(),
            ),
            ("a cursor with one character more", format!("{cursor}A")),
            ("text that is no cursor", "no-cursor".to_owned()),
        ];
        let at = self.random.usize(0..characters.len().max(1));
        let changed = characters.iter().enumerate().map(|(position, &character)| {
            if position != at {
                character
            } else if character == 'A' {
                'B'
            } else {
                'A'
            }
        });
        let padding = cursor
            .chars()
            .rev()
            .take_while(|&character| character == '=');
        let changed = changed.chain(padding).collect();
        wrong.push(("a cursor with one character changed", changed));
        for (what, text) in wrong {
            if text.is_empty() || text == cursor {
                continue;
            }
            if let Some(fault) = self.must_be_refused(what, PageRequest::new(2, Some(&text)))? {
                return Ok(Some(fault));
            }
        }
        if self.list.profile().second_user {
            let request = PageRequest {
                user: PageUser::Second,
                ..PageRequest::new(2, Some(&cursor))
            };
            return self.must_be_refused("another user's cursor", request);
        }
        Ok(None)
    }

    fn must_be_refused(&mut self, what: &str, request: PageRequest) -> Outcome {
        Ok(match self.list.page(&request)? {
            PageReply::Refused { status } if (400..500).contains(&status) => {
                self.list.take_steps();
                None
            }
            PageReply::Refused { status } => Some(format!("{what} is answered {status}, not 4xx")),
            PageReply::Page { ids, .. } => Some(format!(
                "{what} is answered with a page of {} rows",
                ids.len()
            )),
        })
    }

    /// W9. The same cursor gives the same page twice.
    pub(super) fn cursor_twice(&mut self) -> Outcome {
        let Some(cursor) = self.some_cursor()? else {
            return Ok(None);
        };
        let request = PageRequest::new(2, Some(&cursor));
        let rows = |reply| match reply {
            PageReply::Page { ids, .. } => Ok(ids),
            PageReply::Refused { status } => Err(status),
        };
        let (first, second) = (
            rows(self.list.page(&request)?),
            rows(self.list.page(&request)?),
        );
        Ok((first != second)
            .then(|| "the same cursor gave another answer the second time".to_owned()))
    }

    /// W10. A cursor survives percent-encoding.
    pub(super) fn encoded_cursor(&mut self) -> Outcome {
        let Some(cursor) = self.some_cursor()? else {
            return Ok(None);
        };
        let plain = self.list.page(&PageRequest::new(2, Some(&cursor)))?;
        let request = PageRequest {
            encode_all: true,
            ..PageRequest::new(2, Some(&cursor))
        };
        let encoded = self.list.page(&request)?;
        let rows = |reply: &PageReply| match reply {
            PageReply::Page { ids, .. } => Some(ids.clone()),
            PageReply::Refused { .. } => None,
        };
        let same = rows(&plain).is_some() && rows(&plain) == rows(&encoded);
        Ok((!same)
            .then(|| "a cursor whose bytes are all percent-encoded gave another answer".to_owned()))
    }

    /// Reads all rows of the list again.
    pub(super) fn look(&mut self) -> Result<Option<String>, SubjectError> {
        let found = whole(self.list)?;
        self.rows = found.ids;
        Ok(found.fault)
    }
}
