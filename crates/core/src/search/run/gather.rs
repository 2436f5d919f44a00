//! Gathering candidates: the smallest of the sources, cut with others.
use super::Finder;
use super::sources::Source;
use crate::gid::Gid;
use crate::graph::StoreError;
use crate::registry::Type;
use crate::search::{CardList, Column, Query, Words};

/// How many of each list are read at first.
const FIRST: usize = 32;
/// By how much more are read when none has ended: what is read in vain is at most a third more.
const GROWTH: usize = 4;
/// How much larger than the smallest list another may be for it to be read too.
const WIDER: usize = 4;
/// How many candidates are gathered at the very most: 32 MiB of them.
pub(super) const GATHERED_MAX: usize = 1 << 22;
/// How many keys of values are tested for each that may be found, and how many at the most.
const TESTED: usize = 4;
const TESTED_MAX: usize = 100_000;
/// How many candidates are read and sorted in the time of a step.
const SORTED: usize = 4;

/// Candidates in the order of their gids, and the places of the conditions that are known to hold for
/// all of them.
#[derive(Default)]
pub(super) struct Gathered {
    pub(super) gids: Vec<Gid>,
    pub(super) known: Vec<usize>,
}

impl Gathered {
    /// Whether a node is among them.
    pub(super) fn has(&self, gid: Gid) -> bool {
        self.gids.binary_search(&gid).is_ok()
    }
}

/// How many entries of words with a beginning are read at least: fewer take no less time.
const STARTS: usize = 1_000;

/// What has a word with a beginning, as it was read last.
pub(super) struct Started {
    ty: Type,
    words: Words,
    basket: Basket,
    /// These are all.
    fits: bool,
}

/// Candidates as they are read.
pub(super) struct Basket {
    pub(super) gids: Vec<Gid>,
    most: usize,
}

impl Basket {
    pub(super) fn room(&self) -> usize {
        self.most.saturating_sub(self.gids.len())
    }
    /// How many keys may be tested to fill it.
    pub(super) fn tests(&self) -> usize {
        self.room().saturating_mul(TESTED).min(TESTED_MAX)
    }
    pub(super) fn fits(&self) -> bool {
        self.gids.len() <= self.most
    }
}

impl Finder<'_, '_> {
    /// The candidates of the smallest source, less those that other small ones do not have; none if
    /// all have more than `most`. All sources are read alike, a little further each time, so that
    /// what is read of the others is no more than of the smallest.
    pub(super) fn gather(
        &mut self,
        query: &Query,
        sources: &[(usize, Source<'_>)],
        least: usize,
        most: usize,
    ) -> Result<Option<Gathered>, StoreError> {
        let further = |size: &usize| (*size < most).then(|| size.saturating_mul(GROWTH).min(most));
        let first = least.saturating_mul(GROWTH).max(FIRST).min(most);
        for size in std::iter::successors(Some(first), further) {
            for (at, (clause, source)) in sources.iter().enumerate() {
                let (gids, true) = self.fill(query, *source, size)? else {
                    continue;
                };
                let known = source.is_exact().then_some(*clause).into_iter().collect();
                let mut gathered = Gathered { gids, known };
                for (_, (clause, other)) in sources.iter().enumerate().filter(|(n, _)| *n != at) {
                    if gathered.gids.len() < self.effort.narrow {
                        break;
                    }
                    let wider = gathered.gids.len().saturating_mul(WIDER);
                    if let (others, true) = self.fill(query, *other, wider)? {
                        keep_common(&mut gathered.gids, &others);
                        gathered.known.extend(other.is_exact().then_some(*clause));
                    }
                }
                return Ok(Some(gathered));
            }
        }
        Ok(None)
    }

    /// The candidates of the first source that has no more than may be read, or else as many of the
    /// first source.
    pub(super) fn gather_some(
        &mut self,
        query: &Query,
        sources: &[(usize, Source<'_>)],
        most: usize,
    ) -> Result<Gathered, StoreError> {
        let mut first = None;
        for (clause, source) in sources {
            let (gids, fits) = self.fill(query, *source, most)?;
            let known = source.is_exact().then_some(*clause).into_iter().collect();
            let gathered = Gathered { gids, known };
            if fits {
                return Ok(gathered);
            }
            first.get_or_insert(gathered);
        }
        Ok(first.unwrap_or_default())
    }

    /// Nodes of a source in the order of gids, about `most` if there are more, and whether they are all.
    fn fill(
        &mut self,
        query: &Query,
        source: Source<'_>,
        most: usize,
    ) -> Result<(Vec<Gid>, bool), StoreError> {
        let mut basket = Basket {
            gids: Vec::new(),
            most,
        };
        let fits = match source {
            Source::Words(words) if words.starts => {
                return self.fill_starts(query.ty, words, most);
            }
            Source::Words(words) => self.pour_words(query.ty, words, &mut basket)?,
            Source::Links(links) => self.pour_links(query, links, &mut basket)?,
            Source::Column(column, from, to) => {
                self.pour_list(query.ty, CardList::Within(column, from, to), &mut basket)?
            }
            Source::Others(column, of) => self.pour_others(query.ty, column, of, &mut basket)?,
            Source::Shapes => {
                let bounds = query.bounds(Column::Modified);
                self.pour_shapes(query.ty, bounds, &mut basket, |s| query.may_have(s))?
            }
            Source::Value(field, test) => self.pour_tested(field, test, &mut basket)?,
        };
        self.sort(&mut basket)?;
        Ok((basket.gids, fits))
    }

    /// Puts what was read in order.
    fn sort(&mut self, basket: &mut Basket) -> Result<(), StoreError> {
        self.read = self.read.saturating_add(basket.gids.len() as u64);
        self.loader.steps(basket.gids.len() / SORTED)?;
        basket.gids.sort_unstable();
        basket.gids.dedup();
        Ok(())
    }

    /// What has a word with the longest beginning. It is remembered: the next query is often about the
    /// same.
    fn fill_starts(
        &mut self,
        ty: Type,
        words: &Words,
        most: usize,
    ) -> Result<(Vec<Gid>, bool), StoreError> {
        let is_known =
            |s: &Started| (s.ty, &s.words) == (ty, words) && (s.fits || s.basket.most >= most);
        let started = match self.started.take().filter(is_known) {
            Some(started) => started,
            None => {
                let mut basket = Basket {
                    gids: Vec::new(),
                    most: most.max(STARTS),
                };
                let fits = self.pour_starts(ty, words, &mut basket)?;
                self.sort(&mut basket)?;
                Started {
                    ty,
                    words: words.clone(),
                    basket,
                    fits,
                }
            }
        };
        let fits = started.fits && started.basket.gids.len() <= most;
        let gids = started.basket.gids.clone();
        self.started = Some(started);
        Ok((gids, fits))
    }
}

/// Leaves of sorted gids those that are among others, which are sorted too.
fn keep_common(gids: &mut Vec<Gid>, others: &[Gid]) {
    let mut others = others.iter().peekable();
    gids.retain(|gid| {
        while others.next_if(|other| *other < gid).is_some() {}
        others.peek() == Some(&gid)
    });
}
