//! Scan of index entries in the order of a query, until there are enough matches.
use super::search_bounds::{SearchBounds, SearchEnd};
use super::{ENTRY_STEPS, SearchEngine, SearchFlow};
use crate::graph_store_error::GraphStoreError;
use crate::model::gid::Gid;
use crate::model::registry::Type;
use crate::search::{
    CONTACTS, EntryScan, IndexColumn, IndexEntry, SearchQuery, SortOrder, WordQuery,
};
use crate::storage::snapshot::WordScan;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::ops::ControlFlow;

/// Maximum number of entries that are read at once.
const CHUNK_MAX: usize = 1_024;

/// Minimum number of entries of one column set that are read at once.
const CURSOR_MIN: usize = 4;

/// Entries of one column set, in the order of the scan.
struct ScanCursor {
    scan: EntryScan,
    /// Entries that were read but not checked yet.
    entries: VecDeque<IndexEntry>,
}

/// Part of a scan. The parts are scanned one after the other.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ScanPartition {
    /// Entries that have a value in the column of the order.
    Valued,
    /// Entries without a value in that column.
    Unvalued,
    /// Users to whom the viewer assigned none of the tasks that count for [`SortOrder::Contact`].
    Strangers,
    /// Nodes that have all words in the name.
    Named,
    /// Nodes that have all words, but not all in the name.
    NotNamed,
}

impl SearchEngine<'_, '_> {
    /// Scans up to `steps` entries in the order of the query.
    pub(super) fn walk(
        &mut self,
        query: &SearchQuery,
        steps: usize,
        bounds: &mut SearchBounds<'_>,
    ) -> SearchFlow {
        bounds.steps = steps;
        let words = query.words().next().cloned();
        let parts: &[ScanPartition] = match (query.order, &words) {
            (SortOrder::Relevance, Some(_)) if query.ascending => {
                &[ScanPartition::NotNamed, ScanPartition::Named]
            }
            (SortOrder::Relevance, Some(_)) => &[ScanPartition::Named, ScanPartition::NotNamed],
            (SortOrder::Contact, _) => return self.walk_users(query, bounds),
            (
                SortOrder::Column(IndexColumn::Gid | IndexColumn::Created | IndexColumn::Modified),
                _,
            ) => &[ScanPartition::Valued],
            (SortOrder::Column(_), _) => &[ScanPartition::Valued, ScanPartition::Unvalued],
            (SortOrder::Relevance, None) => &[ScanPartition::Unvalued],
        };
        for part in parts {
            let flow = match (part, &words) {
                (ScanPartition::Named | ScanPartition::NotNamed, Some(words)) => {
                    self.walk_words(query, words, *part == ScanPartition::Named, bounds)?
                }
                _ if query.order == SortOrder::Column(IndexColumn::Modified) => {
                    self.merge_cursors(query, bounds)?
                }
                _ => self.walk_entries(query, *part, bounds)?,
            };
            if flow.is_break() {
                return Ok(flow);
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    fn walk_entries(
        &mut self,
        query: &SearchQuery,
        part: ScanPartition,
        bounds: &mut SearchBounds<'_>,
    ) -> SearchFlow {
        let sorted = match query.order {
            SortOrder::Column(column) => column,
            _ => IndexColumn::Gid,
        };
        let (column, (from, to)) = match part {
            ScanPartition::Valued => (sorted, query.bounds(sorted)),
            _ => (IndexColumn::Gid, (i64::MIN, i64::MAX)),
        };
        let mut scan = EntryScan {
            workspace: self.workspace_of(query.ty),
            ty: query.ty,
            column,
            shape: None,
            from,
            to,
            descending: !query.ascending,
            after: None,
            limit: bounds.limit.clamp(1, CHUNK_MAX),
        };
        while scan.limit > 0 {
            for entry in self.chunk(&mut scan)? {
                self.loader.steps(1)?;
                if !bounds.step() {
                    return Ok(ControlFlow::Break(SearchEnd::TooLong));
                }
                let elsewhere = match part {
                    ScanPartition::Unvalued => {
                        sorted != IndexColumn::Gid && entry.value(sorted).is_some()
                    }
                    ScanPartition::Strangers => self.known()?.contains_key(&entry.gid),
                    _ => false,
                };
                if !elsewhere
                    && let flow @ ControlFlow::Break(_) = self.admit(query, &entry, bounds)?
                {
                    return Ok(flow);
                }
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Scans the entries whose column sets may match, in the order of modification time, in either direction. Each column set's
    /// entries are in that order, so the next entry is the first of one of the cursors.
    fn merge_cursors(&mut self, query: &SearchQuery, bounds: &mut SearchBounds<'_>) -> SearchFlow {
        let mut shapes = self.shapes(query.ty)?;
        shapes.retain(|shape| query.may_have(*shape));
        let (from, to) = query.bounds(IndexColumn::Modified);
        let limit = bounds.limit.div_ceil(shapes.len().max(1));
        let mut cursors = Vec::with_capacity(shapes.len());
        for shape in shapes {
            let scan = EntryScan {
                workspace: self.workspace_of(query.ty),
                ty: query.ty,
                column: IndexColumn::Modified,
                shape: Some(shape),
                from,
                to,
                descending: !query.ascending,
                after: None,
                limit: limit.clamp(CURSOR_MIN, CHUNK_MAX),
            };
            let mut cursor = ScanCursor {
                scan,
                entries: VecDeque::new(),
            };
            self.refill(&mut cursor)?;
            cursors.push(cursor);
        }
        let key = |cursor: &ScanCursor| cursor.entries.front().map(|c| (Some(c.modified), c.gid));
        loop {
            let ahead = cursors
                .iter_mut()
                .filter_map(|cursor| Some((key(cursor)?, cursor)));
            let Some((_, cursor)) = ahead.min_by(|(a, _), (b, _)| query.compare(*a, *b)) else {
                return Ok(ControlFlow::Continue(()));
            };
            if let Some(entry) = cursor.entries.pop_front() {
                if !bounds.step() {
                    return Ok(ControlFlow::Break(SearchEnd::TooLong));
                }
                if let flow @ ControlFlow::Break(_) = self.admit(query, &entry, bounds)? {
                    return Ok(flow);
                }
            }
            self.refill(cursor)?;
        }
    }

    /// Reads more entries for a cursor that has none left.
    fn refill(&mut self, cursor: &mut ScanCursor) -> Result<(), GraphStoreError> {
        if cursor.entries.is_empty() && cursor.scan.limit > 0 {
            cursor.entries = self.chunk(&mut cursor.scan)?.into();
        }
        Ok(())
    }

    /// Reads the next entries of a scan and moves the scan past them; returns nothing once the scan has ended.
    fn chunk(&mut self, scan: &mut EntryScan) -> Result<Vec<IndexEntry>, GraphStoreError> {
        let mut entries = Vec::with_capacity(scan.limit);
        let each = &mut |entry| entries.push(entry);
        self.loader.snap.scan_index_entries(scan, each)?;
        self.read = self.read.saturating_add(entries.len() as u64);
        let last = entries.last().filter(|_| entries.len() == scan.limit);
        let after = last.and_then(|entry| Some((entry.value(scan.column)?, entry.gid)));
        scan.limit = if after.is_some() {
            (scan.limit * 2).min(CHUNK_MAX)
        } else {
            0
        };
        scan.after = after;
        Ok(entries)
    }

    /// Scans the nodes that have the words: either the nodes with all words in the name, or the other nodes.
    fn walk_words(
        &mut self,
        query: &SearchQuery,
        words: &WordQuery,
        named: bool,
        bounds: &mut SearchBounds<'_>,
    ) -> SearchFlow {
        let mut scan = WordScan {
            workspace: self.workspace_of(query.ty),
            ty: query.ty,
            words,
            names: named || words.names_only,
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
                if !bounds.step() {
                    return Ok(ControlFlow::Break(SearchEnd::TooLong));
                }
                self.read += 2;
                self.loader.steps(ENTRY_STEPS)?;
                let Some(entry) = self
                    .loader
                    .snap
                    .index_entry(scan.workspace, query.ty, *gid)?
                else {
                    continue;
                };
                if !query.may_match(&entry) || (query.rank(&entry, self)? == Some(1)) != named {
                    continue;
                }
                if let flow @ ControlFlow::Break(_) = self.admit(query, &entry, bounds)? {
                    return Ok(flow);
                }
            }
            scan.after = gids.last().copied();
            if gids.len() < CHUNK_MAX {
                return Ok(ControlFlow::Continue(()));
            }
        }
    }

    /// Scans users: first the users to whom the viewer recently assigned tasks (last if ascending), then all other users.
    fn walk_users(&mut self, query: &SearchQuery, bounds: &mut SearchBounds<'_>) -> SearchFlow {
        let known: Vec<Gid> = self.known()?.keys().copied().collect();
        let known_first = !query.ascending;
        for part in [known_first, !known_first] {
            let flow = if part {
                self.sorted(query, known.iter().copied(), bounds)?
            } else {
                self.walk_entries(query, ScanPartition::Strangers, bounds)?
            };
            if flow.is_break() {
                return Ok(flow);
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Returns the users to whom the viewer assigned their last tasks, with the number of tasks of
    /// each.
    pub(super) fn known(&mut self) -> Result<&FxHashMap<Gid, i64>, GraphStoreError> {
        if self.contacts.is_none() {
            let me = self.loader.view.viewer.user.as_i64();
            let scan = EntryScan {
                workspace: Some(self.workspace),
                ty: Type::Task,
                column: IndexColumn::Assigner,
                shape: None,
                from: me,
                to: me,
                descending: true,
                after: None,
                limit: CONTACTS,
            };
            let mut counts = FxHashMap::default();
            self.loader.snap.scan_index_entries(&scan, &mut |entry| {
                if let Some(user) = entry.responsible {
                    *counts.entry(user).or_insert(0) += 1;
                }
            })?;
            self.loader.steps(1 + counts.len())?;
            self.contacts = Some(counts);
        }
        Ok(self.contacts.get_or_insert_default())
    }
}
