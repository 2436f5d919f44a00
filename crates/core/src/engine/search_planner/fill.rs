//! Reading of one list of candidates, until the buffer is full.
use super::SearchEngine;
use super::candidates::{CandidateBuffer, GROWTH};
use crate::graph_store_error::GraphStoreError;
use crate::model::auto_id;
use crate::model::gid::Gid;
use crate::model::index_key::IndexKey;
use crate::model::registry::{Relation, Type, rel};
use crate::search::{
    ColumnSet, EntryList, EvalContext, IndexColumn, SearchLink, SearchQuery, ValuePredicate,
    WordQuery,
};
use crate::storage::snapshot::{PrefixList, WordScan};

impl SearchEngine<'_, '_> {
    /// Reads nodes that have a word with a prefix. The read also returns rows of parts that are not searched; if these leave
    /// too little room, everything is read again with a higher limit.
    pub(super) fn pour_prefix(
        &mut self,
        ty: Type,
        (prefix, names_only): (&str, bool),
        buffer: &mut CandidateBuffer,
    ) -> Result<bool, GraphStoreError> {
        let (mut limit, most) = (buffer.free() + 1, buffer.tests() + 1);
        loop {
            buffer.clear();
            let list = PrefixList {
                workspace: self.workspace_of(ty),
                ty,
                prefix,
                names: names_only,
                limit,
            };
            let (mut read, mut others) = (0, 0);
            self.loader
                .snap
                .list_prefix_matches(&list, &mut |gid, fits| {
                    read += 1;
                    if fits {
                        buffer.push(gid);
                    } else {
                        others += 1;
                    }
                })?;
            self.count_rows(others)?;
            if read < limit {
                return Ok(buffer.fits());
            }
            if !buffer.fits() || limit >= most {
                return Ok(false);
            }
            limit = limit.saturating_mul(GROWTH).min(most);
        }
    }

    pub(super) fn pour_words(
        &mut self,
        ty: Type,
        words: &WordQuery,
        buffer: &mut CandidateBuffer,
    ) -> Result<bool, GraphStoreError> {
        let scan = WordScan {
            workspace: self.workspace_of(ty),
            ty,
            words,
            names: words.names_only,
            descending: true,
            after: None,
            limit: buffer.free() + 1,
        };
        self.loader
            .snap
            .scan_words(&scan, &mut |gid| buffer.push(gid))?;
        Ok(buffer.fits())
    }

    /// Reads entries that have no value in a column, or another value than these.
    pub(super) fn pour_others(
        &mut self,
        ty: Type,
        column: IndexColumn,
        of: &[(SearchLink, Gid)],
        buffer: &mut CandidateBuffer,
    ) -> Result<bool, GraphStoreError> {
        let mut values: Vec<i64> = of.iter().map(|(_, to)| to.as_i64()).collect();
        values.sort_unstable();
        let mut from = i64::MIN;
        for value in values {
            let list = EntryList::Within(column, from, value - 1);
            if from < value && !self.pour_list(ty, list, buffer)? {
                return Ok(false);
            }
            from = value + 1;
        }
        Ok(
            self.pour_list(ty, EntryList::Within(column, from, i64::MAX), buffer)?
                && self.pour_shapes(ty, SearchQuery::UNBOUND, buffer, |shape| {
                    shape.has(column) == Some(false)
                })?,
        )
    }

    /// Reads entries that have one of some column sets and were modified within bounds.
    pub(super) fn pour_shapes(
        &mut self,
        ty: Type,
        (from, to): (i64, i64),
        buffer: &mut CandidateBuffer,
        fits: impl Fn(ColumnSet) -> bool,
    ) -> Result<bool, GraphStoreError> {
        for shape in self.shapes(ty)?.into_iter().filter(|shape| fits(*shape)) {
            if !self.pour_list(ty, EntryList::Shaped(shape, from, to), buffer)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    pub(super) fn pour_links(
        &mut self,
        query: &SearchQuery,
        links: &[(SearchLink, Gid)],
        buffer: &mut CandidateBuffer,
    ) -> Result<bool, GraphStoreError> {
        for (by, to) in links {
            if !self.pour_link(query, *by, *to, buffer)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    pub(super) fn pour_tested(
        &mut self,
        field: Gid,
        test: &ValuePredicate,
        buffer: &mut CandidateBuffer,
    ) -> Result<bool, GraphStoreError> {
        let definition = self.node(field)?;
        if let Some(prefix) = definition.as_deref().and_then(auto_id::prefix) {
            return self.pour_numbers((field, &prefix), test, buffer);
        }
        let on_keys = definition.as_deref().map(|field| test.on_keys(field));
        let test = on_keys.as_deref().unwrap_or(test);
        for (from, to) in test.ranges() {
            if !self.pour_values(field, test, (&from, &to), buffer)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    pub(super) fn pour_values(
        &mut self,
        field: Gid,
        test: &ValuePredicate,
        range: (&IndexKey, &IndexKey),
        buffer: &mut CandidateBuffer,
    ) -> Result<bool, GraphStoreError> {
        let most = buffer.tests();
        let (mut read, mut last): (usize, Option<(IndexKey, Gid)>) = (0, None);
        while buffer.fits() && read <= most {
            // One more than fits, to find out whether there are more.
            let limit = buffer.free() + 1;
            let (mut some, mut found) = (0, None);
            let each = &mut |key: IndexKey, gid| {
                some += 1;
                if test.fits(&key) {
                    buffer.push(gid);
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
        self.count_rows(read)?;
        Ok(buffer.fits() && read <= most)
    }

    pub(super) fn pour_list(
        &mut self,
        ty: Type,
        list: EntryList,
        buffer: &mut CandidateBuffer,
    ) -> Result<bool, GraphStoreError> {
        let (workspace, most) = (self.workspace_of(ty), buffer.free() + 1);
        let (column, rows) = buffer.of_list(&list);
        let each = &mut |gid, value| rows.push((value, gid));
        self.loader
            .snap
            .list_index_entries(workspace, ty, list, column, most, each)?;
        Ok(buffer.fits())
    }

    /// Reads nodes that are linked to a node.
    pub(super) fn pour_link(
        &mut self,
        query: &SearchQuery,
        by: SearchLink,
        to: Gid,
        buffer: &mut CandidateBuffer,
    ) -> Result<bool, GraphStoreError> {
        if by == SearchLink::Responsible {
            let list = EntryList::Of {
                responsible: to,
                done: query.done(),
                due: query.within(IndexColumn::Due),
            };
            return self.pour_list(query.ty, list, buffer);
        }
        if let Some(column) = by.column() {
            let list = EntryList::Within(column, to.as_i64(), to.as_i64());
            return self.pour_list(query.ty, list, buffer);
        }
        let through = by.through_project().filter(|_| query.ty == Type::Task);
        if let Some(through) = through {
            let projects = self.sources_of(to, through, buffer.free() + 1)?;
            let mut fits = projects.len() <= buffer.free();
            for project in projects {
                fits = fits && self.pour_project(project, buffer)?;
            }
            return Ok(fits);
        }
        match by {
            SearchLink::Project => self.pour_project(to, buffer),
            SearchLink::Section => Ok(self.pour_edges(to, rel::SECTION, buffer)?
                && self.pour_edges(to, rel::MY_TASKS, buffer)?),
            by => match by.relation(query.ty) {
                Some(rel) => self.pour_edges(to, rel, buffer),
                None => Ok(false),
            },
        }
    }

    /// Reads the tasks of a project.
    pub(super) fn pour_project(
        &mut self,
        project: Gid,
        buffer: &mut CandidateBuffer,
    ) -> Result<bool, GraphStoreError> {
        for section in self.sources_of(project, rel::SECTION_OF, usize::MAX >> 1)? {
            if !self.pour_edges(section, rel::SECTION, buffer)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    pub(super) fn pour_edges(
        &mut self,
        dst: Gid,
        rel: Relation,
        buffer: &mut CandidateBuffer,
    ) -> Result<bool, GraphStoreError> {
        let found = self.sources_of(dst, rel, buffer.free() + 1)?;
        found.into_iter().for_each(|gid| buffer.push(gid));
        Ok(buffer.fits())
    }

    fn sources_of(
        &mut self,
        dst: Gid,
        rel: Relation,
        limit: usize,
    ) -> Result<Vec<Gid>, GraphStoreError> {
        let mut found = Vec::new();
        self.loader
            .snap
            .list_in(dst, rel, limit, &mut |gid| found.push(gid))?;
        Ok(found)
    }
}
