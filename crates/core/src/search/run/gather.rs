//! Gathering candidates: the smallest of the sources, cut with others.
use super::Finder;
use super::sources::Source;
use crate::gid::Gid;
use crate::graph::StoreError;
use crate::index::Key;
use crate::registry::{Rel, Type, rel};
use crate::search::{By, CardList, Column, Query, Shape, Test, Words};
use crate::snapshot::{StartList, WordScan};

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
        self.sort(&mut basket);
        Ok((basket.gids, fits))
    }

    /// Puts what was read in order.
    fn sort(&mut self, basket: &mut Basket) {
        self.read = self.read.saturating_add(basket.gids.len() as u64);
        basket.gids.sort_unstable();
        basket.gids.dedup();
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
                self.sort(&mut basket);
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

    fn pour_starts(
        &mut self,
        ty: Type,
        words: &Words,
        basket: &mut Basket,
    ) -> Result<bool, StoreError> {
        let longest = words.all.iter().max_by_key(|word| word.len());
        if let Some(start) = longest {
            let list = StartList {
                home: self.home(ty),
                ty,
                start,
                names: words.names,
                limit: basket.room() + 1,
            };
            let gids = &mut basket.gids;
            self.loader
                .snap
                .list_starts(&list, &mut |gid| gids.push(gid))?;
        }
        Ok(basket.fits())
    }

    fn pour_words(
        &mut self,
        ty: Type,
        words: &Words,
        basket: &mut Basket,
    ) -> Result<bool, StoreError> {
        let scan = WordScan {
            home: self.home(ty),
            ty,
            words,
            names: words.names,
            descending: true,
            after: None,
            limit: basket.room() + 1,
        };
        let gids = &mut basket.gids;
        self.loader
            .snap
            .scan_words(&scan, &mut |gid| gids.push(gid))?;
        Ok(basket.fits())
    }

    /// Reads what has no value in a column, or another than these.
    fn pour_others(
        &mut self,
        ty: Type,
        column: Column,
        of: &[(By, Gid)],
        basket: &mut Basket,
    ) -> Result<bool, StoreError> {
        let mut values: Vec<i64> = of.iter().map(|(_, to)| to.as_i64()).collect();
        values.sort_unstable();
        let mut from = i64::MIN;
        for value in values {
            let list = CardList::Within(column, from, value - 1);
            if from < value && !self.pour_list(ty, list, basket)? {
                return Ok(false);
            }
            from = value + 1;
        }
        Ok(
            self.pour_list(ty, CardList::Within(column, from, i64::MAX), basket)?
                && self.pour_shapes(ty, Query::UNBOUND, basket, |shape| {
                    shape.has(column) == Some(false)
                })?,
        )
    }

    /// Reads what has some shapes and was modified within bounds.
    fn pour_shapes(
        &mut self,
        ty: Type,
        (from, to): (i64, i64),
        basket: &mut Basket,
        fits: impl Fn(Shape) -> bool,
    ) -> Result<bool, StoreError> {
        for shape in self.shapes(ty)?.into_iter().filter(|shape| fits(*shape)) {
            if !self.pour_list(ty, CardList::Shaped(shape, from, to), basket)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn pour_links(
        &mut self,
        query: &Query,
        links: &[(By, Gid)],
        basket: &mut Basket,
    ) -> Result<bool, StoreError> {
        for (by, to) in links {
            if !self.pour_link(query, *by, *to, basket)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn pour_tested(
        &mut self,
        field: Gid,
        test: &Test,
        basket: &mut Basket,
    ) -> Result<bool, StoreError> {
        if let Some(prefix) = self.prefix(field)? {
            return self.pour_numbers((field, &prefix), test, basket);
        }
        for (from, to) in test.ranges() {
            if !self.pour_values(field, test, (&from, &to), basket)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn pour_values(
        &mut self,
        field: Gid,
        test: &Test,
        range: (&Key, &Key),
        basket: &mut Basket,
    ) -> Result<bool, StoreError> {
        let most = basket.tests();
        let (mut read, mut last): (usize, Option<(Key, Gid)>) = (0, None);
        while basket.fits() && read <= most {
            // As many as there is room for, and one more to see whether there are more.
            let limit = basket.room() + 1;
            let (mut some, mut found) = (0, None);
            let gids = &mut basket.gids;
            let each = &mut |key: Key, gid| {
                some += 1;
                if test.fits(&key) {
                    gids.push(gid);
                } else {
                    read += 1;
                }
                found = Some((key, gid));
            };
            let after = last.as_ref().map(|(key, gid)| (key, *gid));
            self.loader
                .snap
                .scan_values(field, range, after, limit, each)?;
            if some < limit {
                break;
            }
            last = found;
        }
        self.read = self.read.saturating_add(read as u64);
        Ok(basket.fits() && read <= most)
    }

    fn pour_list(
        &mut self,
        ty: Type,
        list: CardList,
        basket: &mut Basket,
    ) -> Result<bool, StoreError> {
        let (home, most) = (self.home(ty), basket.room() + 1);
        let gids = &mut basket.gids;
        self.loader
            .snap
            .list_cards(home, ty, list, most, &mut |gid| gids.push(gid))?;
        Ok(basket.fits())
    }

    /// Reads what is linked to a node.
    fn pour_link(
        &mut self,
        query: &Query,
        by: By,
        to: Gid,
        basket: &mut Basket,
    ) -> Result<bool, StoreError> {
        if by == By::Who {
            let list = CardList::Of {
                who: to,
                done: query.done(),
                due: query.within(Column::Due),
            };
            return self.pour_list(query.ty, list, basket);
        }
        if let Some(column) = by.column() {
            let list = CardList::Within(column, to.as_i64(), to.as_i64());
            return self.pour_list(query.ty, list, basket);
        }
        match by {
            By::Project => self.pour_project(to, basket),
            By::Team if query.ty == Type::Task => {
                let projects = self.sources_of(to, rel::TEAM, basket.room() + 1)?;
                let mut fits = projects.len() <= basket.room();
                for project in projects {
                    fits = fits && self.pour_project(project, basket)?;
                }
                Ok(fits)
            }
            By::Section => Ok(self.pour_edges(to, rel::SECTION, basket)?
                && self.pour_edges(to, rel::MY_TASKS, basket)?),
            by => match by.relation(query.ty) {
                Some(rel) => self.pour_edges(to, rel, basket),
                None => Ok(false),
            },
        }
    }

    /// Reads the tasks of a project.
    fn pour_project(&mut self, project: Gid, basket: &mut Basket) -> Result<bool, StoreError> {
        for section in self.sources_of(project, rel::SECTION_OF, usize::MAX >> 1)? {
            if !self.pour_edges(section, rel::SECTION, basket)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn pour_edges(&mut self, dst: Gid, rel: Rel, basket: &mut Basket) -> Result<bool, StoreError> {
        let found = self.sources_of(dst, rel, basket.room() + 1)?;
        basket.gids.extend(found);
        Ok(basket.fits())
    }

    fn sources_of(&mut self, dst: Gid, rel: Rel, limit: usize) -> Result<Vec<Gid>, StoreError> {
        let mut found = Vec::new();
        self.loader
            .snap
            .list_in(dst, rel, limit, &mut |gid| found.push(gid))?;
        Ok(found)
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
