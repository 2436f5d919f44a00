//! Going through cards in the order of a query, until there are enough matches.
use super::{End, Finder, Flow, Room};
use crate::gid::Gid;
use crate::graph::StoreError;
use crate::registry::Type;
use crate::search::{CONTACTS, CardScan, Column, Order, Query, Words};
use crate::snapshot::WordScan;
use rustc_hash::FxHashMap;
use std::ops::ControlFlow;

/// The most cards read at once.
const CHUNK_MAX: usize = 1_024;

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
    /// Goes through everything in the order of the query.
    pub(super) fn walk(&mut self, query: &Query, room: &mut Room<'_>) -> Flow {
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
                if !room.step() {
                    return Ok(ControlFlow::Break(End::Tired));
                }
                scan.after = card.value(column).map(|value| (value, card.gid));
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
                if !room.step() {
                    return Ok(ControlFlow::Break(End::Tired));
                }
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
                self.sorted(query, &known, room)?
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
