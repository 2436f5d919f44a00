//! Finding the matches of a search.
//!
//! Each condition that a store keeps a list of is a source of candidates. The smallest of them is
//! gathered, sorted and gone through; when all are large, matches are frequent and the order itself
//! is walked, until there are enough.
use super::{
    Around, By, CONTACTS, Card, CardScan, Clause, Column, Order, Query, Search, Test, Words,
};
use crate::access::{Facts, Level};
use crate::gid::Gid;
use crate::graph::{Edge, Rows, StoreError};
use crate::index::Key;
use crate::load::Loader;
use crate::node::Node;
use crate::registry::{Rel, Type, rel};
use crate::snapshot::{Depth, WordScan};
use rustc_hash::FxHashMap;
use std::ops::ControlFlow;
use std::sync::Arc;

/// How large a source may be to be gathered, as parts of the most: the first that is smaller is taken,
/// so what is read of larger ones before is no more than a few times that.
const PARTS: [usize; 5] = [100, 33, 10, 3, 1];
/// How many rows of a source are tested for each that may be found.
const TESTED: usize = 16;
/// The most cards read at once.
const CHUNK_MAX: usize = 1_024;

/// Reads the matches into the rows of the view.
pub(crate) fn run(loader: &mut Loader<'_>, search: &Search) -> Result<(), StoreError> {
    let mut rows = Rows {
        upto: loader.view.seq,
        ..Rows::default()
    };
    let place = loader.found(search.place);
    let place = place.filter(|gid| loader.view.level(*gid) > Level::None);
    for query in place
        .is_some()
        .then_some(&search.queries)
        .into_iter()
        .flatten()
    {
        let (Some(place), Some(query)) = (place, query.renamed(&|at| loader.found(*at))) else {
            continue;
        };
        let mut finder = Finder {
            loader,
            place,
            most: search.gather,
            contacts: None,
        };
        let mut room = Room {
            rows: &mut rows,
            limit: search.limit,
            cap: search.cap,
        };
        // A search that is over gives no more rows; there is nothing else to break with.
        let _over = finder.find(&query, &mut room)?;
    }
    loader.view.rows = rows;
    Ok(())
}

/// The rows found so far, and how many more may be looked at.
struct Room<'r> {
    rows: &'r mut Rows,
    limit: usize,
    cap: usize,
}

impl Room<'_> {
    fn is_full(&self) -> bool {
        self.rows.gids.len() >= self.limit || self.rows.seen as usize >= self.cap
    }
}

type Flow = Result<ControlFlow<()>, StoreError>;

struct Finder<'f, 'l> {
    loader: &'f mut Loader<'l>,
    place: Gid,
    /// How many candidates are gathered at most.
    most: usize,
    contacts: Option<FxHashMap<Gid, i64>>,
}

impl Finder<'_, '_> {
    /// Users belong to no workspace.
    fn home(&self, ty: Type) -> Option<Gid> {
        Some(self.place).filter(|_| ty != Type::User)
    }

    fn find(&mut self, query: &Query, room: &mut Room<'_>) -> Flow {
        if room.is_full() || query.clauses.contains(&Clause::Never) {
            return Ok(ControlFlow::Break(()));
        }
        match self.gather(query)? {
            Some(gids) => self.sorted(query, gids, room),
            None => self.walk(query, room),
        }
    }

    /// The candidates of the smallest source, unless all are large.
    fn gather(&mut self, query: &Query) -> Result<Option<Vec<Gid>>, StoreError> {
        let sources: Vec<Source<'_>> = query.clauses.iter().flat_map(sources).collect();
        for size in PARTS.map(|part| self.most / part) {
            for source in &sources {
                let mut basket = Basket {
                    gids: Vec::new(),
                    most: size,
                };
                if self.fill(query.ty, *source, &mut basket)? {
                    basket.gids.sort_unstable();
                    basket.gids.dedup();
                    return Ok(Some(basket.gids));
                }
            }
        }
        Ok(None)
    }

    /// Gathers a source; false if it is too large.
    fn fill(
        &mut self,
        ty: Type,
        source: Source<'_>,
        basket: &mut Basket,
    ) -> Result<bool, StoreError> {
        match source {
            Source::Links(links) => {
                for (by, to) in links {
                    if !self.fill_link(ty, *by, *to, basket)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            Source::Column(column, from, to) => self.fill_column(ty, column, (from, to), basket),
            Source::Words(words) => {
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
            Source::Value(field, test) => {
                for (from, to) in test.ranges() {
                    if !self.fill_values(field, test, (&from, &to), basket)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
        }
    }

    fn fill_values(
        &mut self,
        field: Gid,
        test: &Test,
        range: (&Key, &Key),
        basket: &mut Basket,
    ) -> Result<bool, StoreError> {
        let (mut read, most) = (0, basket.room() * TESTED);
        let gids = &mut basket.gids;
        let each = &mut |key: Key, gid| {
            read += 1;
            if test.fits(&key) {
                gids.push(gid);
            }
        };
        self.loader
            .snap
            .scan_values(field, range, None, most + 1, each)?;
        Ok(read <= most && basket.fits())
    }

    fn fill_column(
        &mut self,
        ty: Type,
        column: Column,
        (from, to): (i64, i64),
        basket: &mut Basket,
    ) -> Result<bool, StoreError> {
        let scan = CardScan {
            home: self.home(ty),
            ty,
            column,
            from,
            to,
            descending: false,
            after: None,
            limit: basket.room() + 1,
        };
        let gids = &mut basket.gids;
        self.loader
            .snap
            .scan_cards(&scan, &mut |card| gids.push(card.gid))?;
        Ok(basket.fits())
    }

    /// Gathers what is linked to a node.
    fn fill_link(
        &mut self,
        ty: Type,
        by: By,
        to: Gid,
        basket: &mut Basket,
    ) -> Result<bool, StoreError> {
        if let Some(column) = by.column() {
            return self.fill_column(ty, column, (to.as_i64(), to.as_i64()), basket);
        }
        let tasks = |finder: &mut Self, project: Gid, basket: &mut Basket| {
            let mut fits = true;
            for section in finder.sources_of(project, rel::SECTION_OF, usize::MAX >> 1)? {
                fits = fits && finder.fill_edges(section, rel::SECTION, basket)?;
            }
            Ok(fits)
        };
        match by {
            By::Project => tasks(self, to, basket),
            By::Team if ty == Type::Task => {
                let mut fits = true;
                for project in self.sources_of(to, rel::TEAM, usize::MAX >> 1)? {
                    fits = fits && tasks(self, project, basket)?;
                }
                Ok(fits)
            }
            By::Section => Ok(self.fill_edges(to, rel::SECTION, basket)?
                && self.fill_edges(to, rel::MY_TASKS, basket)?),
            by => match by.relation(ty) {
                Some(rel) => self.fill_edges(to, rel, basket),
                None => Ok(false),
            },
        }
    }

    fn fill_edges(&mut self, dst: Gid, rel: Rel, basket: &mut Basket) -> Result<bool, StoreError> {
        let found = self.sources_of(dst, rel, basket.room() + 1)?;
        basket.gids.extend(found);
        Ok(basket.fits())
    }

    fn sources_of(&mut self, dst: Gid, rel: Rel, limit: usize) -> Result<Vec<Gid>, StoreError> {
        let mut found = Vec::new();
        let first = (i64::MIN, i64::MIN);
        self.loader
            .snap
            .scan_in(dst, rel, first, limit, Depth::Edge, &mut |edge, _| {
                found.push(edge.src);
            })?;
        Ok(found)
    }

    /// Goes through gathered candidates in the order of the query.
    fn sorted(&mut self, query: &Query, gids: Vec<Gid>, room: &mut Room<'_>) -> Flow {
        let home = self.home(query.ty);
        let mut cards = Vec::with_capacity(gids.len());
        for gid in gids {
            if let Some(card) = self.loader.snap.card(home, query.ty, gid)?
                && query.may_match(&card)
            {
                cards.push((query.rank(&card, self)?, card));
            }
        }
        cards.sort_unstable_by(|a, b| query.compare((a.0, a.1.gid), (b.0, b.1.gid)));
        for (_, card) in cards {
            if self.admit(query, &card, room)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Goes through everything in the order of the query.
    fn walk(&mut self, query: &Query, room: &mut Room<'_>) -> Flow {
        let words = query.words().next().cloned();
        let parts: &[Part] = match (query.order, &words) {
            (Order::Relevance, Some(_)) if query.ascending => &[Part::NotNamed, Part::Named],
            (Order::Relevance, Some(_)) => &[Part::Named, Part::NotNamed],
            (Order::Contact, _) => return self.walk_users(query, room),
            (Order::Column(Column::Gid | Column::Created | Column::Modified), _) => &[Part::Valued],
            (Order::Column(_), _) => &[Part::Valued, Part::Unvalued],
            (Order::Relevance, None) => &[Part::Unvalued],
        };
        for part in parts {
            let over = match (part, &words) {
                (Part::Named | Part::NotNamed, Some(words)) => {
                    self.walk_words(query, words, *part == Part::Named, room)?
                }
                _ => self.walk_cards(query, *part, room)?,
            };
            if over.is_break() {
                return Ok(over);
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    fn walk_cards(&mut self, query: &Query, part: Part, room: &mut Room<'_>) -> Flow {
        let sorted = match query.order {
            Order::Column(column) => column,
            _ => Column::Gid,
        };
        let (column, (from, to)) = match part {
            Part::Valued => (sorted, query.bounds(sorted)),
            _ => (Column::Gid, (i64::MIN, i64::MAX)),
        };
        let mut scan = CardScan {
            home: self.home(query.ty),
            ty: query.ty,
            column,
            from,
            to,
            descending: !query.ascending,
            after: None,
            limit: room.limit.clamp(1, CHUNK_MAX),
        };
        loop {
            let mut cards = Vec::with_capacity(scan.limit);
            self.loader
                .snap
                .scan_cards(&scan, &mut |card| cards.push(card))?;
            let ended = cards.len() < scan.limit;
            for card in cards {
                scan.after = card.value(column).map(|value| (value, card.gid));
                let elsewhere = match part {
                    Part::Unvalued => sorted != Column::Gid && card.value(sorted).is_some(),
                    Part::Strangers => self.known()?.contains_key(&card.gid),
                    _ => false,
                };
                if !elsewhere && self.admit(query, &card, room)?.is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
            if ended {
                return Ok(ControlFlow::Continue(()));
            }
            scan.limit = (scan.limit * 2).min(CHUNK_MAX);
        }
    }

    /// Walks what has the words: by name, or in another way.
    fn walk_words(
        &mut self,
        query: &Query,
        words: &Words,
        named: bool,
        room: &mut Room<'_>,
    ) -> Flow {
        let mut scan = WordScan {
            home: self.home(query.ty),
            ty: query.ty,
            words,
            names: named || words.names,
            descending: !query.ascending,
            after: None,
            limit: CHUNK_MAX,
        };
        loop {
            let mut gids = Vec::with_capacity(CHUNK_MAX);
            self.loader
                .snap
                .scan_words(&scan, &mut |gid| gids.push(gid))?;
            for gid in &gids {
                let Some(card) = self.loader.snap.card(scan.home, query.ty, *gid)? else {
                    continue;
                };
                if !query.may_match(&card) || (query.rank(&card, self)? == Some(1)) != named {
                    continue;
                }
                if self.admit(query, &card, room)?.is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
            scan.after = gids.last().copied();
            if gids.len() < CHUNK_MAX {
                return Ok(ControlFlow::Continue(()));
            }
        }
    }

    /// Walks users: those the viewer has to do with, then the others.
    fn walk_users(&mut self, query: &Query, room: &mut Room<'_>) -> Flow {
        let known: Vec<Gid> = self.known()?.keys().copied().collect();
        let known_first = !query.ascending;
        for part in [known_first, !known_first] {
            let over = if part {
                self.sorted(query, known.clone(), room)?
            } else {
                self.walk_cards(query, Part::Strangers, room)?
            };
            if over.is_break() {
                return Ok(over);
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    fn known(&mut self) -> Result<&FxHashMap<Gid, i64>, StoreError> {
        if self.contacts.is_none() {
            let me = self.loader.view.viewer.user.as_i64();
            let scan = CardScan {
                home: Some(self.place),
                ty: Type::Task,
                column: Column::Assigner,
                from: me,
                to: me,
                descending: true,
                after: None,
                limit: CONTACTS,
            };
            let mut counts = FxHashMap::default();
            self.loader.snap.scan_cards(&scan, &mut |card| {
                if let Some(user) = card.who {
                    *counts.entry(user).or_insert(0) += 1;
                }
            })?;
            self.contacts = Some(counts);
        }
        Ok(self.contacts.get_or_insert_default())
    }

    /// Takes a candidate into the rows if it matches and the viewer may see it.
    fn admit(&mut self, query: &Query, card: &Card, room: &mut Room<'_>) -> Flow {
        if room.is_full() {
            return Ok(ControlFlow::Break(()));
        }
        if !query.may_match(card) || room.rows.gids.contains(&card.gid) {
            return Ok(ControlFlow::Continue(()));
        }
        room.rows.seen = room.rows.seen.saturating_add(1);
        if query.matches(card, self)? && self.loader.level(card.gid)? > Level::None {
            room.rows.gids.push(card.gid);
            self.loader.full(card.gid)?;
        } else {
            self.loader.forget(card.gid);
        }
        Ok(if room.is_full() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        })
    }
}

/// A part of what is walked in an order.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    /// What has a value in the column of the order.
    Valued,
    /// What has none.
    Unvalued,
    /// Users the viewer has nothing to do with.
    Strangers,
    /// What has all words in the name.
    Named,
    /// What has them, but not all in the name.
    NotNamed,
}

/// Where candidates for a condition are listed.
#[derive(Clone, Copy)]
enum Source<'q> {
    Links(&'q [(By, Gid)]),
    Column(Column, i64, i64),
    Words(&'q Words),
    Value(Gid, &'q Test),
}

/// The sources of a condition: each has every node that it holds for.
fn sources(clause: &Clause) -> Vec<Source<'_>> {
    let flag = |column| vec![Source::Column(column, 1, 1)];
    match clause {
        Clause::Any(of) if of.iter().all(|(by, _)| by.is_listed()) => vec![Source::Links(of)],
        Clause::All(of) => of
            .iter()
            .filter(|(by, _)| by.is_listed())
            .map(|pair| Source::Links(std::slice::from_ref(pair)))
            .collect(),
        Clause::Within(column, range) => {
            vec![Source::Column(*column, *range.start(), *range.end())]
        }
        Clause::Words(words) => vec![Source::Words(words)],
        Clause::Value(field, test) if *test != Test::Set(false) => {
            vec![Source::Value(*field, test)]
        }
        Clause::Blocked(true) => flag(Column::Waits),
        Clause::Blocking(true) => flag(Column::Blocks),
        _ => Vec::new(),
    }
}

/// Candidates as they are gathered.
struct Basket {
    gids: Vec<Gid>,
    most: usize,
}

impl Basket {
    fn room(&self) -> usize {
        self.most.saturating_sub(self.gids.len())
    }
    fn fits(&self) -> bool {
        self.gids.len() <= self.most
    }
}

impl By {
    /// Whether what is linked so is listed at the other end.
    const fn is_listed(self) -> bool {
        !matches!(self, Self::Commenter)
    }
}

impl Test {
    /// Ranges of the keys that may fit.
    fn ranges(&self) -> Vec<(Key, Key)> {
        let last = || Key::Text(char::MAX.to_string().repeat(2));
        match self {
            Self::Within(ranges) => ranges.clone(),
            Self::Between(from, to) => vec![(from.clone(), to.clone())],
            Self::Set(_) => vec![(Key::FIRST, last())],
            Self::Ends(_) | Self::Contains(_) => vec![(Key::Text(String::new()), last())],
        }
    }
}

impl Query {
    /// Whether the card does not speak against it.
    fn may_match(&self, card: &Card) -> bool {
        card.ty == self.ty
            && self
                .clauses
                .iter()
                .all(|clause| clause.on_card(card) != Some(false))
    }

    /// The bounds of a column's values that all conditions leave.
    fn bounds(&self, of: Column) -> (i64, i64) {
        self.clauses
            .iter()
            .fold((i64::MIN, i64::MAX), |(from, to), clause| match clause {
                Clause::Within(column, range) if *column == of => {
                    (from.max(*range.start()), to.min(*range.end()))
                }
                _ => (from, to),
            })
    }
}

impl Around for Finder<'_, '_> {
    fn node(&mut self, gid: Gid) -> Result<Option<Arc<Node>>, StoreError> {
        self.loader.fact(gid)
    }
    fn edges(&mut self, gid: Gid, rel: Rel) -> Result<Vec<Edge>, StoreError> {
        self.loader.edges_of(gid, rel)
    }
    fn linked(&mut self, src: Gid, rel: Rel, dst: Gid) -> Result<bool, StoreError> {
        self.loader.is_linked(src, rel, dst)
    }
    fn entering(&mut self, gid: Gid, rel: Rel) -> Result<u64, StoreError> {
        self.loader.snap.count_in(gid, rel)
    }
    fn stories(&mut self, task: Gid) -> Result<Vec<Arc<Node>>, StoreError> {
        let mut found = Vec::new();
        let (first, all) = ((i64::MIN, i64::MIN), usize::MAX >> 1);
        self.loader.snap.scan_in(
            task,
            rel::STORY_OF,
            first,
            all,
            Depth::Full,
            &mut |_, node| {
                found.extend(node);
            },
        )?;
        Ok(found)
    }
    fn contacts(&mut self, user: Gid) -> Result<i64, StoreError> {
        Ok(self.known()?.get(&user).copied().unwrap_or(0))
    }
    fn keys(&mut self, node: Gid, field: Gid) -> Result<Vec<Key>, StoreError> {
        self.loader.snap.keys_of(node, field)
    }
}
