//! Finding the matches of a search.
//!
//! Each condition that a store keeps a list of is a source of candidates. The smallest of them is
//! gathered, cut with others that are not much larger, sorted and gone through. When there are many,
//! matches are likely frequent, and the order itself is walked, until there are enough. They may
//! still lie at its far end: a walk that becomes too long is given up for what can be gathered. Each of
//! these ways ends at the search's cap, so no search reads a large workspace.
mod gather;
mod numbers;
mod pour;
mod room;
mod sources;
mod walk;

use self::gather::{GATHERED_MAX, Gathered, Ranked, Started};
use self::room::{End, Peek, Room};
use self::sources::sources;
use super::{Around, Card, Clause, Column, Effort, Query, Search, Shape};
use crate::access::{Facts, Level};
use crate::gid::Gid;
use crate::graph::{Edge, Rows, StoreError};
use crate::index::Key;
use crate::load::Loader;
use crate::node::Node;
use crate::registry::{Rel, Type, rel};
use crate::snapshot::Depth;
use rustc_hash::FxHashMap;
use std::ops::ControlFlow;
use std::rc::Rc;
use std::sync::Arc;

/// Reads the matches into the rows of the view.
pub(crate) fn run(loader: &mut Loader<'_>, search: &Search) -> Result<(), StoreError> {
    let mut rows = Rows {
        upto: loader.view.seq,
        ..Rows::default()
    };
    let place = loader.found(search.place);
    let place = place.filter(|gid| loader.view.level(*gid) > Level::None);
    if let Some(place) = place {
        let mut room = Room {
            rows: &mut rows,
            limit: search.limit,
            cap: search.cap,
            steps: usize::MAX,
            peek: None,
        };
        let mut finder = Finder::new(loader, place, search.effort);
        for query in &search.queries {
            if let Some(query) = query.renamed(&|at| finder.loader.found(*at)) {
                // A search that is over gives no more rows; there is nothing else to break with.
                let _over = finder.find(&query, &mut room)?;
            }
        }
        rows.read = finder.read;
    }
    loader.view.rows = rows;
    Ok(())
}

/// Leaves out the rows of a page that are not what is looked for.
pub(crate) fn sieve(loader: &mut Loader<'_>, query: &Query) -> Result<(), StoreError> {
    let rows = std::mem::take(&mut loader.view.rows.gids);
    let mut kept = Vec::with_capacity(rows.len());
    for gid in rows {
        // Users belong to no workspace; only an order asks where they are looked for.
        let home = loader.view.node(gid).and_then(|n| n.home);
        let mut finder = Finder::new(loader, home.unwrap_or(gid), Effort::USUAL);
        match finder.loader.snap.card(home, query.ty, gid)? {
            Some(card) if query.matches(&card, &mut finder)? => kept.push(gid),
            _ => loader.forget(gid),
        }
    }
    loader.view.rows.gids = kept;
    Ok(())
}

type Flow = Result<ControlFlow<End>, StoreError>;

struct Finder<'f, 'l> {
    loader: &'f mut Loader<'l>,
    place: Gid,
    effort: Effort,
    contacts: Option<FxHashMap<Gid, i64>>,
    /// Among these are all matches of the query.
    gathered: Option<Rc<Gathered>>,
    started: Option<Started>,
    /// The shapes of the cards of a type, as they were read last.
    shapes: Option<(Type, Vec<Shape>)>,
    /// Cards and entries of lists that were read.
    read: u64,
}

impl<'f, 'l> Finder<'f, 'l> {
    fn new(loader: &'f mut Loader<'l>, place: Gid, effort: Effort) -> Self {
        Self {
            loader,
            place,
            effort,
            contacts: None,
            gathered: None,
            started: None,
            shapes: None,
            read: 0,
        }
    }
}

impl Finder<'_, '_> {
    /// The shapes of the cards of a type.
    fn shapes(&mut self, ty: Type) -> Result<Vec<Shape>, StoreError> {
        if let Some((_, shapes)) = self.shapes.as_ref().filter(|(of, _)| *of == ty) {
            return Ok(shapes.clone());
        }
        let shapes = self.loader.snap.shapes(self.home(ty), ty)?;
        self.read += shapes.len() as u64;
        self.shapes = Some((ty, shapes.clone()));
        Ok(shapes)
    }

    /// Users belong to no workspace.
    fn home(&self, ty: Type) -> Option<Gid> {
        Some(self.place).filter(|_| ty != Type::User)
    }

    /// Finds the matches of one query: lists are read a little, the order is walked a little, then both
    /// further, and at last as much as may be read is gathered.
    fn find(&mut self, query: &Query, room: &mut Room<'_>) -> Flow {
        if room.is_full() || query.clauses.contains(&Clause::Never) {
            return Ok(ControlFlow::Continue(()));
        }
        let (sources, effort) = (sources(query), self.effort);
        self.gathered = None;
        if sources.is_empty() {
            // Nothing is listed, so the cards that are walked are all that can be counted.
            let over = self.walk(query, room.cap, room)?;
            return Ok(over.map_break(|_| End::Full));
        }
        let mut least = 0;
        let rounds = [
            (effort.probe, effort.peek, true),
            (effort.gather, effort.walk, false),
        ];
        for (most, steps, peeks) in rounds {
            let (most, steps) = (most.min(room.cap), steps.min(room.cap));
            self.gathered = self.gather(query, &sources, least, most)?.map(Rc::new);
            let steps = match &self.gathered {
                // Of these no more cards are read than a walk would read of them.
                Some(all) if all.ranked => 0,
                Some(few) if few.rows.len() <= effort.sort => 0,
                // A step of a walk costs as much as a candidate's card.
                Some(many) => many.rows.len().min(steps),
                None => steps,
            };
            if steps > 0 {
                let seen = room.rows.seen;
                let found = room.rows.gids.len();
                // What comes after the first walk finds the same: it may be given up at any time.
                room.peek = peeks.then_some(Peek { steps, found });
                let over = self.walk(query, steps, room)?;
                room.peek = None;
                if over != ControlFlow::Break(End::Tired) {
                    return Ok(over);
                }
                // What was looked at is looked at again; what was found stands first in any case.
                room.rows.seen = seen;
            }
            if self.gathered.is_some() {
                break;
            }
            least = most;
        }
        if self.gathered.is_none() {
            let most = room.cap.min(GATHERED_MAX);
            let some = self.gather_some(query, &sources, most)?;
            self.gathered = Some(Rc::new(some));
        }
        match self.gathered.clone() {
            Some(all) if all.ranked => self.ranked(query, all.rows.clone(), room),
            Some(all) => self.sorted(query, all.rows.iter().map(|(_, gid)| *gid), room),
            None => Ok(ControlFlow::Continue(())),
        }
    }

    /// Goes through candidates whose places in the order of the query are known; no more cards are read
    /// than it takes to find enough.
    fn ranked(&mut self, query: &Query, mut rows: Vec<Ranked>, room: &mut Room<'_>) -> Flow {
        let home = self.home(query.ty);
        rows.sort_unstable_by(|a, b| query.compare(*a, *b));
        for (_, gid) in rows {
            self.read += 1;
            if let Some(card) = self.loader.snap.card(home, query.ty, gid)?
                && let over @ ControlFlow::Break(_) = self.admit(query, &card, room)?
            {
                return Ok(over);
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Goes through candidates in the order of the query, which their cards tell.
    fn sorted(
        &mut self,
        query: &Query,
        gids: impl Iterator<Item = Gid>,
        room: &mut Room<'_>,
    ) -> Flow {
        let home = self.home(query.ty);
        let mut cards = Vec::with_capacity(gids.size_hint().0);
        for gid in gids {
            self.read += 1;
            self.loader.steps(1)?;
            if let Some(card) = self.loader.snap.card(home, query.ty, gid)?
                && query.may_match(&card)
            {
                cards.push((query.rank(&card, self)?, card));
            }
        }
        cards.sort_unstable_by(|a, b| query.compare((a.0, a.1.gid), (b.0, b.1.gid)));
        for (_, card) in cards {
            if let over @ ControlFlow::Break(_) = self.admit(query, &card, room)? {
                return Ok(over);
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Takes a candidate into the rows if it matches and the viewer may see it.
    fn admit(&mut self, query: &Query, card: &Card, room: &mut Room<'_>) -> Flow {
        self.loader.steps(1)?;
        if room.is_full() {
            return Ok(ControlFlow::Break(End::Full));
        }
        let gathered = self.gathered.clone();
        let elsewhere = gathered.as_ref().is_some_and(|g| !g.has(card.gid));
        if elsewhere || !query.may_match(card) || room.rows.gids.contains(&card.gid) {
            return Ok(ControlFlow::Continue(()));
        }
        let known = gathered.as_ref().map_or(&[][..], |g| &g.known);
        room.rows.seen = room.rows.seen.saturating_add(1);
        if query.matches_else(card, known, self)? && self.loader.level(card.gid)? > Level::None {
            room.rows.gids.push(card.gid);
            self.loader.full(card.gid)?;
        } else {
            self.loader.forget(card.gid);
        }
        Ok(if room.is_full() {
            ControlFlow::Break(End::Full)
        } else {
            ControlFlow::Continue(())
        })
    }
}

impl Query {
    /// Bounds that leave everything.
    const UNBOUND: (i64, i64) = (i64::MIN, i64::MAX);

    /// The bounds of a column's values that all conditions leave.
    fn bounds(&self, of: Column) -> (i64, i64) {
        self.clauses
            .iter()
            .fold(Self::UNBOUND, |(from, to), clause| match clause {
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
        match self.prefix(field)? {
            Some(prefix) => self.number(node, field, &prefix),
            None => self.loader.snap.keys_of(node, field),
        }
    }
}
