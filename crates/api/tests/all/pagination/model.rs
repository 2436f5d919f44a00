//! A small pager over a list in memory, and the flaws a pager can have.
//!
//! Its tokens are numbers with a checksum in place of a seal; that is enough for the properties.
use super::{Ask, EXPIRED, INVALID, Page, Pager};

/// An error in a pager.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Flaw {
    None,
    /// The next page starts after the sort key alone.
    DropsTieBreaker,
    /// The next page starts after a number of rows.
    CountsRows,
    /// The next page starts after the present place of the last row.
    FindsBoundaryAgain,
    /// Rows that were added later belong to the walk.
    NoSnapshotBound,
    /// The token names the row after the last.
    CutsOneLate,
    /// The token names the row before the last.
    CutsOneEarly,
    /// A full page is mistaken for the last.
    EndsOnFullPage,
    /// Ties come in another order each time.
    ShufflesTies,
    /// The token has no seal.
    ReadableToken,
    /// The token opens any list.
    UnboundToken,
    /// The token opens only with the limit it was given for.
    BoundToLimit,
    NeverExpires,
    ExpiresEarly,
    /// A new key replaces the old at once.
    OneKeyOnly,
    KeepsRetiredKeys,
    /// Tokens have no nonce.
    SameTokenTwice,
}

#[derive(Clone, Debug)]
struct Item {
    key: u64,
    gid: u64,
    seq: u64,
}

/// A pager over a list in memory, with one flaw.
pub(super) struct Model {
    flaw: Flaw,
    items: Vec<Item>,
    seq: u64,
    now: u64,
    key: u64,
    retired: u64,
    nonce: u64,
}

impl Model {
    /// Builds a list of ten rows with four sort keys.
    pub(super) fn new(flaw: Flaw) -> Self {
        let items = (0..10).map(|n| Item {
            key: n / 3,
            gid: 100 + n,
            seq: 1,
        });
        Self {
            flaw,
            items: items.collect(),
            seq: 1,
            now: 0,
            key: 1,
            retired: 0,
            nonce: 0,
        }
    }

    fn sorted(&self) -> Vec<Item> {
        let mut items = self.items.clone();
        let turned = self.flaw == Flaw::ShufflesTies && self.nonce.is_multiple_of(2);
        items.sort_by_key(|i| (i.key, if turned { u64::MAX - i.gid } else { i.gid }));
        items
    }

    fn binding(&self, ask: &Ask<'_>) -> u64 {
        if self.flaw == Flaw::UnboundToken {
            return 0;
        }
        let parts = [
            ask.other_user,
            ask.other_app,
            ask.other_list,
            ask.other_filter,
        ];
        let bits = parts.iter().fold(0, |bits, on| bits * 2 + u64::from(*on));
        bits + if self.flaw == Flaw::BoundToLimit {
            ask.limit as u64 * 100
        } else {
            0
        }
    }

    fn seal(&self, fields: &[u64; 8]) -> String {
        let text: String = fields.iter().map(|f| format!("{f:05}-")).collect();
        if self.flaw == Flaw::ReadableToken {
            return text;
        }
        let sum = checksum(&text);
        format!("{text}{sum:020}")
    }

    fn open(&self, token: &str) -> Option<[u64; 8]> {
        let (text, sum) = if self.flaw == Flaw::ReadableToken {
            (token, None)
        } else {
            let cut = token.len().checked_sub(20)?;
            (token.get(..cut)?, Some(token.get(cut..)?))
        };
        if sum.is_some_and(|sum| *sum != format!("{:020}", checksum(text))) {
            return None;
        }
        let numbers: Vec<u64> = text.split('-').filter_map(|t| t.parse().ok()).collect();
        numbers.try_into().ok()
    }
}

/// Returns the FNV-1a hash of a text.
fn checksum(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |sum, b| {
        (sum ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3)
    })
}

const LIFE: u64 = 24 * 3600;

impl Pager for Model {
    fn page(&mut self, ask: &Ask<'_>) -> Result<Page, String> {
        self.nonce += 1;
        let binding = self.binding(ask);
        let items = self.sorted();
        let (mut from, mut upto, mut sent) = (None, self.seq, 0);
        if let Some(token) = ask.offset {
            let [bound, key, gid, bound_seq, count, expires, sealed_by, _] =
                self.open(token).ok_or(INVALID)?;
            if bound != binding {
                return Err(INVALID.to_owned());
            }
            if sealed_by <= self.retired && self.flaw != Flaw::KeepsRetiredKeys {
                return Err(EXPIRED.to_owned());
            }
            if sealed_by != self.key && self.flaw == Flaw::OneKeyOnly {
                return Err(INVALID.to_owned());
            }
            let late = match self.flaw {
                Flaw::NeverExpires => false,
                Flaw::ExpiresEarly => self.now + 1 >= expires,
                _ => self.now >= expires,
            };
            if late {
                return Err(EXPIRED.to_owned());
            }
            (from, upto, sent) = (Some((key, gid)), bound_seq, count);
        }
        let mut rest: Vec<&Item> = match (self.flaw, from) {
            (_, None) => items.iter().collect(),
            (Flaw::CountsRows, _) => items
                .iter()
                .skip(usize::try_from(sent).unwrap_or(0))
                .collect(),
            (Flaw::DropsTieBreaker, Some((key, _))) => {
                items.iter().filter(|i| i.key > key).collect()
            }
            (Flaw::FindsBoundaryAgain, Some((_, gid))) => {
                let at = items.iter().position(|i| i.gid == gid);
                items.iter().skip(at.map_or(0, |at| at + 1)).collect()
            }
            (_, Some(after)) => items.iter().filter(|i| (i.key, i.gid) > after).collect(),
        };
        if self.flaw != Flaw::NoSnapshotBound {
            rest.retain(|i| i.seq <= upto);
        }
        let page: Vec<&Item> = rest.iter().take(ask.limit).copied().collect();
        let more = rest.len() > ask.limit
            && !(self.flaw == Flaw::EndsOnFullPage && page.len() == ask.limit);
        let last = match self.flaw {
            Flaw::CutsOneLate => rest.get(ask.limit).copied(),
            Flaw::CutsOneEarly if page.len() > 1 => page.get(page.len() - 2).copied(),
            _ => page.last().copied(),
        };
        let next = last.filter(|_| more).map(|last| {
            let nonce = if self.flaw == Flaw::SameTokenTwice {
                0
            } else {
                self.nonce
            };
            self.seal(&[
                binding,
                last.key,
                last.gid,
                upto,
                sent + page.len() as u64,
                self.now + LIFE,
                self.key,
                nonce,
            ])
        });
        let gids = page.iter().map(|i| i.gid.to_string()).collect();
        Ok((gids, next))
    }

    fn whole(&mut self) -> Vec<String> {
        let mut items = self.items.clone();
        items.sort_by_key(|i| (i.key, i.gid));
        items.iter().map(|i| i.gid.to_string()).collect()
    }

    fn insert(&mut self, seed: u64) {
        self.seq += 1;
        self.items.push(Item {
            key: seed % 7,
            gid: 1000 + self.seq,
            seq: self.seq,
        });
    }

    fn remove(&mut self, gid: &str) {
        self.items.retain(|i| i.gid.to_string() != gid);
    }

    fn edit(&mut self, gid: &str) -> bool {
        // As in an alphabetical list: the sort key changes.
        for item in &mut self.items {
            if item.gid.to_string() == gid {
                item.key = 9;
            }
        }
        true
    }

    fn shift(&mut self, _: &str, _: u64) -> bool {
        false
    }

    fn advance(&mut self, seconds: u64) {
        self.now += seconds;
    }

    fn rotate(&mut self, retire: bool) {
        if retire {
            self.retired = self.key - 1;
        } else {
            self.key += 1;
        }
    }
}
