//! Gathering candidates: the smallest of the sources, cut with others.
use super::Finder;
use super::sources::Source;
use crate::gid::Gid;
use crate::graph::StoreError;
use crate::registry::Type;
use crate::search::{CardList, Column, Order, Query, Words};

/// How many of each list are read at first.
const FIRST: usize = 32;
/// By how much more are read when none has ended: what is read in vain is at most a third more.
const GROWTH: usize = 4;
/// How much larger than the smallest list another may be for it to be read too.
const WIDER: usize = 4;
/// How many candidates are gathered at the very most: 96 MiB of them.
pub(super) const GATHERED_MAX: usize = 1 << 22;
/// How many keys of values are tested for each that may be found, and how many at the most.
const TESTED: usize = 4;
const TESTED_MAX: usize = 100_000;
/// How many candidates are read and sorted in the time of a step.
const SORTED: usize = 4;

/// A candidate: its value in the column of the query's order, and its gid.
pub(super) type Ranked = (Option<i64>, Gid);

/// Candidates in the order of their gids.
#[derive(Default)]
pub(super) struct Gathered {
    pub(super) rows: Vec<Ranked>,
    /// The values are those of the cards; otherwise they are not known.
    pub(super) ranked: bool,
    /// The places of the conditions that are known to hold for all of them.
    pub(super) known: Vec<usize>,
}

impl Gathered {
    /// All that a source gave, which is at this place.
    fn of(basket: Basket, clause: usize, source: Source<'_>) -> Self {
        Self {
            rows: basket.rows,
            ranked: basket.ranked,
            known: source.is_exact().then_some(clause).into_iter().collect(),
        }
    }

    /// Whether a node is among them.
    pub(super) fn has(&self, gid: Gid) -> bool {
        self.rows.binary_search_by_key(&gid, |row| row.1).is_ok()
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
#[derive(Clone)]
pub(super) struct Basket {
    rows: Vec<Ranked>,
    /// The column of the query's order, if it is ordered by one.
    column: Option<Column>,
    /// Each was read with its value in that column.
    ranked: bool,
    most: usize,
}

impl Basket {
    fn new(order: Order, most: usize) -> Self {
        let column = match order {
            Order::Column(column) => Some(column),
            Order::Relevance | Order::Contact => None,
        };
        Self {
            rows: Vec::new(),
            column,
            ranked: column.is_some(),
            most,
        }
    }

    /// Takes a candidate of which nothing but the gid was read.
    pub(super) fn push(&mut self, gid: Gid) {
        self.ranked = false;
        self.rows.push((None, gid));
    }

    /// The column whose values a list of cards is to be read with, and where they go.
    pub(super) fn of_list(&mut self, list: &CardList) -> (Column, &mut Vec<Ranked>) {
        let column = self.column.filter(|column| list.gives(*column));
        self.ranked &= column.is_some();
        (column.unwrap_or(Column::Gid), &mut self.rows)
    }

    pub(super) fn room(&self) -> usize {
        self.most.saturating_sub(self.rows.len())
    }
    /// How many keys may be tested to fill it.
    pub(super) fn tests(&self) -> usize {
        self.room().saturating_mul(TESTED).min(TESTED_MAX)
    }
    pub(super) fn fits(&self) -> bool {
        self.rows.len() <= self.most
    }
}

impl Finder<'_, '_> {
    /// The candidates of the smallest source, less those that other small ones do not have; none if
    /// all have more than `most`. Several sources are read alike, a little further each time, so that
    /// what is read of the others is no more than of the smallest.
    pub(super) fn gather(
        &mut self,
        query: &Query,
        sources: &[(usize, Source<'_>)],
        least: usize,
        most: usize,
    ) -> Result<Option<Gathered>, StoreError> {
        let further = |size: &usize| (*size < most).then(|| size.saturating_mul(GROWTH).min(most));
        let first = match sources {
            [_] => most,
            _ => least.saturating_mul(GROWTH).max(FIRST).min(most),
        };
        for size in std::iter::successors(Some(first), further) {
            for (at, (clause, source)) in sources.iter().enumerate() {
                let (basket, true) = self.fill(query, *source, size)? else {
                    continue;
                };
                let mut gathered = Gathered::of(basket, *clause, *source);
                for (_, (clause, other)) in sources.iter().enumerate().filter(|(n, _)| *n != at) {
                    if gathered.rows.len() < self.effort.narrow {
                        break;
                    }
                    let wider = gathered.rows.len().saturating_mul(WIDER);
                    if let (others, true) = self.fill(query, *other, wider)? {
                        keep_common(&mut gathered.rows, &others.rows);
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
            let (basket, fits) = self.fill(query, *source, most)?;
            let gathered = Gathered::of(basket, *clause, *source);
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
    ) -> Result<(Basket, bool), StoreError> {
        let mut basket = Basket::new(query.order, most);
        let fits = match source {
            Source::Words(words) if words.starts => {
                return self.fill_starts(query, words, most);
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
        Ok((basket, fits))
    }

    /// Puts what was read in order.
    fn sort(&mut self, basket: &mut Basket) -> Result<(), StoreError> {
        self.read = self.read.saturating_add(basket.rows.len() as u64);
        self.loader.steps(basket.rows.len() / SORTED)?;
        basket.rows.sort_unstable_by_key(|row| row.1);
        basket.rows.dedup_by_key(|row| row.1);
        Ok(())
    }

    /// What has a word with the longest beginning. It is remembered: the next query is often about the
    /// same.
    fn fill_starts(
        &mut self,
        query: &Query,
        words: &Words,
        most: usize,
    ) -> Result<(Basket, bool), StoreError> {
        let ty = query.ty;
        let is_known =
            |s: &Started| (s.ty, &s.words) == (ty, words) && (s.fits || s.basket.most >= most);
        let started = match self.started.take().filter(is_known) {
            Some(started) => started,
            None => {
                let mut basket = Basket::new(query.order, most.max(STARTS));
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
        let fits = started.fits && started.basket.rows.len() <= most;
        let basket = started.basket.clone();
        self.started = Some(started);
        Ok((basket, fits))
    }
}

/// Leaves of candidates those that are among others; both are in the order of gids.
fn keep_common(rows: &mut Vec<Ranked>, others: &[Ranked]) {
    let mut others = others.iter().map(|row| row.1).peekable();
    rows.retain(|(_, gid)| {
        while others.next_if(|other| other < gid).is_some() {}
        others.peek() == Some(gid)
    });
}
