//! Going through cards in the order of a query, until there are enough matches.
use super::room::{End, Room};
use super::{Finder, Flow};
use crate::gid::Gid;
use crate::graph::StoreError;
use crate::registry::Type;
use crate::search::{CONTACTS, Card, CardScan, Column, Order, Query, Words};
use crate::snapshot::WordScan;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::ops::ControlFlow;

/// The most cards read at once.
const CHUNK_MAX: usize = 1_024;

/// The fewest cards read at once of one shape.
const LANE_MIN: usize = 4;

/// Cards of one shape, in the order they are walked.
struct Lane {
    scan: CardScan,
    /// Those that were read and not gone through yet.
    cards: VecDeque<Card>,
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

impl Finder<'_, '_> {
    /// Goes through so many cards in the order of the query.
    pub(super) fn walk(&mut self, query: &Query, steps: usize, room: &mut Room<'_>) -> Flow {
        room.steps = steps;
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
                _ if query.order == Order::Column(Column::Modified) => {
                    self.walk_lanes(query, room)?
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
            shape: None,
            from,
            to,
            descending: !query.ascending,
            after: None,
            limit: room.limit.clamp(1, CHUNK_MAX),
        };
        while scan.limit > 0 {
            for card in self.chunk(&mut scan)? {
                self.loader.steps(1)?;
                if !room.step() {
                    return Ok(ControlFlow::Break(End::Tired));
                }
                let elsewhere = match part {
                    Part::Unvalued => sorted != Column::Gid && card.value(sorted).is_some(),
                    Part::Strangers => self.known()?.contains_key(&card.gid),
                    _ => false,
                };
                if !elsewhere
                    && let over @ ControlFlow::Break(_) = self.admit(query, &card, room)?
                {
                    return Ok(over);
                }
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Walks what has the shapes that may match, from the last modified on or to it: cards of each
    /// shape are in that order, so the next is the next of one of them.
    fn walk_lanes(&mut self, query: &Query, room: &mut Room<'_>) -> Flow {
        let mut shapes = self.shapes(query.ty)?;
        shapes.retain(|shape| query.may_have(*shape));
        let (from, to) = query.bounds(Column::Modified);
        let limit = room.limit.div_ceil(shapes.len().max(1));
        let mut lanes = Vec::with_capacity(shapes.len());
        for shape in shapes {
            let scan = CardScan {
                home: self.home(query.ty),
                ty: query.ty,
                column: Column::Modified,
                shape: Some(shape),
                from,
                to,
                descending: !query.ascending,
                after: None,
                limit: limit.clamp(LANE_MIN, CHUNK_MAX),
            };
            let mut lane = Lane {
                scan,
                cards: VecDeque::new(),
            };
            self.refill(&mut lane)?;
            lanes.push(lane);
        }
        let place = |lane: &Lane| lane.cards.front().map(|c| (Some(c.modified), c.gid));
        loop {
            let ahead = lanes
                .iter_mut()
                .filter_map(|lane| Some((place(lane)?, lane)));
            let Some((_, lane)) = ahead.min_by(|(a, _), (b, _)| query.compare(*a, *b)) else {
                return Ok(ControlFlow::Continue(()));
            };
            if let Some(card) = lane.cards.pop_front() {
                if !room.step() {
                    return Ok(ControlFlow::Break(End::Tired));
                }
                if let over @ ControlFlow::Break(_) = self.admit(query, &card, room)? {
                    return Ok(over);
                }
            }
            self.refill(lane)?;
        }
    }

    /// Reads more cards of a lane that has none left.
    fn refill(&mut self, lane: &mut Lane) -> Result<(), StoreError> {
        if lane.cards.is_empty() && lane.scan.limit > 0 {
            lane.cards = self.chunk(&mut lane.scan)?.into();
        }
        Ok(())
    }

    /// The next cards of a scan, which then stands after them and reads more; nothing, once it has
    /// come to its end.
    fn chunk(&mut self, scan: &mut CardScan) -> Result<Vec<Card>, StoreError> {
        let mut cards = Vec::with_capacity(scan.limit);
        let each = &mut |card| cards.push(card);
        self.loader.snap.scan_cards(scan, each)?;
        self.read = self.read.saturating_add(cards.len() as u64);
        let last = cards.last().filter(|_| cards.len() == scan.limit);
        let after = last.and_then(|card| Some((card.value(scan.column)?, card.gid)));
        scan.limit = if after.is_some() {
            (scan.limit * 2).min(CHUNK_MAX)
        } else {
            0
        };
        scan.after = after;
        Ok(cards)
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
                if !room.step() {
                    return Ok(ControlFlow::Break(End::Tired));
                }
                self.read += 2;
                self.loader.steps(1)?;
                let Some(card) = self.loader.snap.card(scan.home, query.ty, *gid)? else {
                    continue;
                };
                if !query.may_match(&card) || (query.rank(&card, self)? == Some(1)) != named {
                    continue;
                }
                if let over @ ControlFlow::Break(_) = self.admit(query, &card, room)? {
                    return Ok(over);
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
                self.sorted(query, known.iter().copied(), room)?
            } else {
                self.walk_cards(query, Part::Strangers, room)?
            };
            if over.is_break() {
                return Ok(over);
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Whom the viewer assigned most of their last tasks to, and how many each.
    pub(super) fn known(&mut self) -> Result<&FxHashMap<Gid, i64>, StoreError> {
        if self.contacts.is_none() {
            let me = self.loader.view.viewer.user.as_i64();
            let scan = CardScan {
                home: Some(self.place),
                ty: Type::Task,
                column: Column::Assigner,
                shape: None,
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
}
