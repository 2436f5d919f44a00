//! Reading one list of candidates, as far as there is room for them.
use super::Finder;
use super::gather::Basket;
use crate::gid::Gid;
use crate::graph::StoreError;
use crate::index::Key;
use crate::registry::{Rel, Type, rel};
use crate::search::{By, CardList, Column, Query, Shape, Test, Words};
use crate::snapshot::{StartList, WordScan};

impl Finder<'_, '_> {
    pub(super) fn pour_starts(
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
            self.loader
                .snap
                .list_starts(&list, &mut |gid| basket.push(gid))?;
        }
        Ok(basket.fits())
    }

    pub(super) fn pour_words(
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
        self.loader
            .snap
            .scan_words(&scan, &mut |gid| basket.push(gid))?;
        Ok(basket.fits())
    }

    /// Reads what has no value in a column, or another than these.
    pub(super) fn pour_others(
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
    pub(super) fn pour_shapes(
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

    pub(super) fn pour_links(
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

    pub(super) fn pour_tested(
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

    pub(super) fn pour_values(
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
            let each = &mut |key: Key, gid| {
                some += 1;
                if test.fits(&key) {
                    basket.push(gid);
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

    pub(super) fn pour_list(
        &mut self,
        ty: Type,
        list: CardList,
        basket: &mut Basket,
    ) -> Result<bool, StoreError> {
        let (home, most) = (self.home(ty), basket.room() + 1);
        let (column, rows) = basket.of_list(&list);
        let each = &mut |gid, value| rows.push((value, gid));
        self.loader
            .snap
            .list_cards(home, ty, list, column, most, each)?;
        Ok(basket.fits())
    }

    /// Reads what is linked to a node.
    pub(super) fn pour_link(
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
    pub(super) fn pour_project(
        &mut self,
        project: Gid,
        basket: &mut Basket,
    ) -> Result<bool, StoreError> {
        for section in self.sources_of(project, rel::SECTION_OF, usize::MAX >> 1)? {
            if !self.pour_edges(section, rel::SECTION, basket)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    pub(super) fn pour_edges(
        &mut self,
        dst: Gid,
        rel: Rel,
        basket: &mut Basket,
    ) -> Result<bool, StoreError> {
        let found = self.sources_of(dst, rel, basket.room() + 1)?;
        found.into_iter().for_each(|gid| basket.push(gid));
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
