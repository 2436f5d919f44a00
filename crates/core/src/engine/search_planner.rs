//! Planner of searches: finds the matches of a query.
//!
//! Each condition with a stored list is a source of candidates. The planner gathers the smallest source, reduces it by others
//! that are not much larger, sorts it, and checks it entry by entry. If there are many candidates, matches are probably frequent,
//! and the planner scans entries in the order of the query until it has enough matches. The matches may still be at the far end
//! of that order, so it gives up a scan that becomes too long, and gathers as much as possible. Each of these ways ends at the
//! search's cap, so no search reads all of a large workspace.
mod auto_id_scan;
mod candidate_sources;
mod candidates;
mod fill;
mod ordered_scan;
mod search_bounds;

use self::candidate_sources::sources;
use self::candidates::{Candidates, GATHERED_MAX, GROWTH, GatherBounds, PrefixScan, Ranked};
use self::search_bounds::{SearchBounds, SearchEnd, TrialScan};
use crate::access::{AccessLookup, Level};
use crate::engine::loader::{Loader, all_in};
use crate::graph_store_error::GraphStoreError;
use crate::model::edge::Edge;
use crate::model::gid::Gid;
use crate::model::index_key::IndexKey;
use crate::model::node::Node;
use crate::model::registry::{Relation, Type, rel};
use crate::search::{
    Clause, ColumnSet, EvalContext, IndexColumn, IndexEntry, Search, SearchEffort, SearchQuery,
    SortOrder,
};
use crate::storage::PageRows;
use crate::storage::snapshot::Depth;
use rustc_hash::FxHashMap;
use std::ops::ControlFlow;
use std::rc::Rc;
use std::sync::Arc;

/// Number of candidates above which only the index entries of shown candidates should be read.
const RANKED: usize = 64;
/// Number of candidates that are sorted first.
const SORTED_FIRST: usize = 64;
/// Number of candidates whose times are read at once.
const RANKED_AT_ONCE: usize = 1_024;
/// Number of steps for reading an index entry by its gid.
const ENTRY_STEPS: usize = 4;
/// Number of steps for reading a node and comparing its words.
const WORD_STEPS: usize = 16;

/// Reads the matches of a search into the rows of the view.
pub(crate) fn run(loader: &mut Loader<'_>, search: &Search) -> Result<(), GraphStoreError> {
    let mut rows = PageRows {
        max_seq: loader.view.seq,
        ..PageRows::default()
    };
    let workspace = loader.found(search.workspace);
    let workspace = workspace.filter(|gid| loader.view.level(*gid) > Level::None);
    if let Some(workspace) = workspace {
        let mut bounds = SearchBounds {
            rows: &mut rows,
            limit: search.limit,
            cap: search.cap,
            steps: usize::MAX,
            trial_scan: None,
        };
        let mut engine = SearchEngine::new(loader, workspace, search.effort);
        for query in &search.queries {
            if let Some(query) = query.renamed(&|at| engine.loader.found(*at)) {
                // A search that has ended adds no more rows, so there is no need to check the flow.
                let _over = engine.find(&query, &mut bounds)?;
            }
        }
        rows.entries_read = engine.read;
    }
    loader.view.rows = rows;
    Ok(())
}

/// Removes the rows of a page that do not match the query.
pub(crate) fn filter_rows(
    loader: &mut Loader<'_>,
    query: &SearchQuery,
) -> Result<(), GraphStoreError> {
    let rows = std::mem::take(&mut loader.view.rows.gids);
    let mut kept = Vec::with_capacity(rows.len());
    for gid in rows {
        // Users belong to no workspace; only a sort order needs the workspace of the search.
        let workspace = loader.view.node(gid).and_then(|n| n.workspace);
        let mut engine = SearchEngine::new(loader, workspace.unwrap_or(gid), SearchEffort::USUAL);
        engine.loader.steps(ENTRY_STEPS)?;
        match engine.loader.snap.index_entry(workspace, query.ty, gid)? {
            Some(entry) if query.matches(&entry, &mut engine)? => kept.push(gid),
            _ => loader.forget(gid),
        }
    }
    loader.view.rows.gids = kept;
    Ok(())
}

type SearchFlow = Result<ControlFlow<SearchEnd>, GraphStoreError>;

struct SearchEngine<'f, 'l> {
    loader: &'f mut Loader<'l>,
    workspace: Gid,
    effort: SearchEffort,
    contacts: Option<FxHashMap<Gid, i64>>,
    /// Candidates that contain all matches of the query.
    gathered: Option<Rc<Candidates>>,
    prefix_scans: Vec<PrefixScan>,
    /// Column sets of a type's entries, as of the last read.
    shapes: Option<(Type, Vec<ColumnSet>)>,
    /// Number of index entries and list entries read so far.
    read: u64,
}

impl<'f, 'l> SearchEngine<'f, 'l> {
    fn new(loader: &'f mut Loader<'l>, workspace: Gid, effort: SearchEffort) -> Self {
        Self {
            loader,
            workspace,
            effort,
            contacts: None,
            gathered: None,
            prefix_scans: Vec::new(),
            shapes: None,
            read: 0,
        }
    }
}

impl SearchEngine<'_, '_> {
    /// Returns the column sets of the entries of a type.
    fn shapes(&mut self, ty: Type) -> Result<Vec<ColumnSet>, GraphStoreError> {
        if let Some((_, shapes)) = self.shapes.as_ref().filter(|(of, _)| *of == ty) {
            return Ok(shapes.clone());
        }
        let shapes = self.loader.snap.column_sets(self.workspace_of(ty), ty)?;
        self.read += shapes.len() as u64;
        self.loader.steps(shapes.len())?;
        self.shapes = Some((ty, shapes.clone()));
        Ok(shapes)
    }

    /// Returns the workspace of the searched entries, or `None` for users, who belong to none.
    fn workspace_of(&self, ty: Type) -> Option<Gid> {
        Some(self.workspace).filter(|_| ty != Type::User)
    }

    /// Finds the matches of one query: reads a little of the lists, scans a little of the order, then more of both, and finally
    /// gathers candidates up to the cap.
    fn find(&mut self, query: &SearchQuery, bounds: &mut SearchBounds<'_>) -> SearchFlow {
        if bounds.is_full() || query.clauses.contains(&Clause::Never) {
            return Ok(ControlFlow::Continue(()));
        }
        let (sources, effort) = (sources(query), self.effort);
        self.gathered = None;
        if sources.is_empty() {
            // No condition has a list, so only a scan in order can find the matches.
            let flow = self.walk(query, bounds.cap, bounds)?;
            return Ok(flow.map_break(|_| SearchEnd::Full));
        }
        let mut least = 0;
        let rounds = [
            ((effort.probe, effort.probe_ranked), effort.trial_scan, true),
            ((effort.gather, effort.gather), effort.walk, false),
        ];
        for ((most, most_ranked), steps, is_trial) in rounds {
            let most = GatherBounds {
                least,
                most: most.min(bounds.cap),
                most_ranked: most_ranked.max(most).min(bounds.cap),
            };
            let steps = steps.min(bounds.cap);
            self.gathered = self.gather(query, &sources, most)?.map(Rc::new);
            let steps = match &self.gathered {
                // Checking these candidates reads no more entries than a scan would.
                Some(all) if all.ranked => 0,
                Some(few) if few.rows.len() <= effort.sort => 0,
                // A step of a scan costs as much as the entry of a candidate.
                Some(many) => many.rows.len().min(steps),
                None => steps,
            };
            if steps > 0 {
                let seen = bounds.rows.rows_seen;
                let found = bounds.rows.gids.len();
                // The later ways find the same matches as this scan, so it may be given up at any time, except the last scan from
                // the beginning of the order.
                let is_trial = is_trial || self.gathered.is_some();
                bounds.trial_scan = is_trial.then_some(TrialScan { steps, found });
                let flow = self.walk(query, steps, bounds)?;
                bounds.trial_scan = None;
                if flow != ControlFlow::Break(SearchEnd::TooLong) {
                    return Ok(flow);
                }
                // Later ways see the same rows again; the matches found so far come first in any case.
                bounds.rows.rows_seen = seen;
            }
            if self.gathered.is_some() {
                break;
            }
            least = most.most;
        }
        if self.gathered.is_none() {
            let most = bounds.cap.min(GATHERED_MAX);
            let some = self.gather_some(query, &sources, most)?;
            self.gathered = Some(Rc::new(some));
        }
        if let Some(all) = self.gathered.take_if(|all| all.ranked) {
            let mut all = Rc::unwrap_or_clone(all);
            let rows = std::mem::take(&mut all.rows);
            self.gathered = Some(Rc::new(all));
            return self.ranked(query, rows, bounds);
        }
        match self.gathered.clone() {
            Some(all) if all.rows.len() > RANKED && query.is_ranked_alone() => {
                let ranked = self.modified(query.ty, &all.rows)?;
                self.ranked(query, ranked, bounds)
            }
            Some(all) => self.sorted(query, all.rows.iter().map(|(_, gid)| *gid), bounds),
            None => Ok(ControlFlow::Continue(())),
        }
    }

    /// Returns candidates with only the times of their last changes.
    fn modified(&mut self, ty: Type, rows: &[Ranked]) -> Result<Vec<Ranked>, GraphStoreError> {
        let workspace = self.workspace_of(ty);
        let mut ranked = Vec::with_capacity(rows.len());
        for some in rows.chunks(RANKED_AT_ONCE) {
            self.read += some.len() as u64;
            self.loader.steps(some.len())?;
            let gids: Vec<Gid> = some.iter().map(|(_, gid)| *gid).collect();
            let each = &mut |gid, at| ranked.push((Some(at), gid));
            self.loader.snap.list_modified(workspace, ty, &gids, each)?;
        }
        Ok(ranked)
    }

    /// Checks candidates whose positions in the order of the query are known. It reads no more
    /// entries than are needed to find enough matches.
    fn ranked(
        &mut self,
        query: &SearchQuery,
        mut rows: Vec<Ranked>,
        bounds: &mut SearchBounds<'_>,
    ) -> SearchFlow {
        let workspace = self.workspace_of(query.ty);
        let mut rest = rows.as_mut_slice();
        let (mut size, mut last) = (SORTED_FIRST, None);
        // The first candidates usually suffice, so the rest is sorted only when it is needed.
        while !rest.is_empty() {
            if size < rest.len() {
                rest.select_nth_unstable_by(size, |a, b| query.compare(*a, *b));
            }
            let (first, later) = rest.split_at_mut(size.min(rest.len()));
            first.sort_unstable_by(|a, b| query.compare(*a, *b));
            for (_, gid) in first {
                // A candidate may be in several lists.
                if last.replace(*gid) == Some(*gid) {
                    continue;
                }
                self.read += 1;
                self.loader.steps(ENTRY_STEPS)?;
                if let Some(entry) = self.loader.snap.index_entry(workspace, query.ty, *gid)?
                    && let flow @ ControlFlow::Break(_) = self.admit(query, &entry, bounds)?
                {
                    return Ok(flow);
                }
            }
            rest = later;
            size = size.saturating_mul(GROWTH);
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Checks candidates in the order of the query, which comes from their index entries.
    fn sorted(
        &mut self,
        query: &SearchQuery,
        gids: impl Iterator<Item = Gid>,
        bounds: &mut SearchBounds<'_>,
    ) -> SearchFlow {
        let workspace = self.workspace_of(query.ty);
        let mut entries = Vec::with_capacity(gids.size_hint().0);
        for gid in gids {
            self.read += 1;
            self.loader.steps(ENTRY_STEPS)?;
            if let Some(entry) = self.loader.snap.index_entry(workspace, query.ty, gid)?
                && query.may_match(&entry)
            {
                entries.push((query.rank(&entry, self)?, entry));
            }
        }
        entries.sort_unstable_by(|a, b| query.compare((a.0, a.1.gid), (b.0, b.1.gid)));
        for (_, entry) in entries {
            if let flow @ ControlFlow::Break(_) = self.admit(query, &entry, bounds)? {
                return Ok(flow);
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Adds a candidate to the rows if it matches and the viewer may see it.
    fn admit(
        &mut self,
        query: &SearchQuery,
        entry: &IndexEntry,
        bounds: &mut SearchBounds<'_>,
    ) -> SearchFlow {
        self.loader.steps(1)?;
        if bounds.is_full() {
            return Ok(ControlFlow::Break(SearchEnd::Full));
        }
        let gathered = self.gathered.clone();
        let elsewhere = gathered.as_ref().is_some_and(|g| !g.has(entry.gid));
        if elsewhere || !query.may_match(entry) || bounds.rows.gids.contains(&entry.gid) {
            return Ok(ControlFlow::Continue(()));
        }
        let known = gathered.as_ref().map_or(&[][..], |g| &g.known);
        bounds.rows.rows_seen = bounds.rows.rows_seen.saturating_add(1);
        if !query.known_words(known) {
            self.loader.steps(WORD_STEPS)?;
        }
        if query.matches_else(entry, known, self)? && self.loader.level_of(entry.gid)? > Level::None
        {
            bounds.rows.gids.push(entry.gid);
            self.loader.load_full(entry.gid)?;
        } else {
            self.loader.forget(entry.gid);
        }
        Ok(if bounds.is_full() {
            ControlFlow::Break(SearchEnd::Full)
        } else {
            ControlFlow::Continue(())
        })
    }
}

impl SearchQuery {
    /// Returns true if the matches are ordered by their last changes, and no condition is on columns of index entries. Then the
    /// index entries of candidates that are not shown need not be read.
    fn is_ranked_alone(&self) -> bool {
        self.order == SortOrder::Column(IndexColumn::Modified)
            && !self.clauses.iter().any(Clause::is_on_entries)
    }

    /// Returns true if a candidate's words need not be compared, given the conditions that are known to hold.
    fn known_words(&self, known: &[usize]) -> bool {
        let mut clauses = self.clauses.iter().enumerate();
        clauses.all(|(at, clause)| known.contains(&at) || !matches!(clause, Clause::Words(_)))
    }

    /// Bounds that exclude nothing.
    const UNBOUND: (i64, i64) = (i64::MIN, i64::MAX);

    /// Returns the bounds that all conditions set on a column's values.
    fn bounds(&self, of: IndexColumn) -> (i64, i64) {
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

impl EvalContext for SearchEngine<'_, '_> {
    fn node(&mut self, gid: Gid) -> Result<Option<Arc<Node>>, GraphStoreError> {
        self.loader.lookup_node(gid)
    }
    fn edges(&mut self, gid: Gid, rel: Relation) -> Result<Vec<Edge>, GraphStoreError> {
        self.loader.lookup_edges(gid, rel)
    }
    fn linked(&mut self, src: Gid, rel: Relation, dst: Gid) -> Result<bool, GraphStoreError> {
        self.loader.is_linked(src, rel, dst)
    }
    fn sources(&mut self, gid: Gid, rel: Relation) -> Result<Vec<Gid>, GraphStoreError> {
        let mut sources = Vec::new();
        all_in(self.loader.snap, gid, rel, &mut |edge| {
            sources.push(edge.src)
        })?;
        self.loader.steps(1 + sources.len())?;
        Ok(sources)
    }
    fn is_visible(&mut self, gid: Gid) -> Result<bool, GraphStoreError> {
        Ok(self.loader.level_of(gid)? > Level::None)
    }
    fn stories(&mut self, task: Gid) -> Result<Vec<Arc<Node>>, GraphStoreError> {
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
        self.loader.steps(1 + found.len() * ENTRY_STEPS)?;
        Ok(found)
    }
    fn contacts(&mut self, user: Gid) -> Result<i64, GraphStoreError> {
        Ok(self.known()?.get(&user).copied().unwrap_or(0))
    }
    fn keys(&mut self, node: Gid, field: Gid) -> Result<Vec<IndexKey>, GraphStoreError> {
        match self.prefix(field)? {
            Some(prefix) => self.number(node, field, &prefix),
            None => self.loader.snap.keys_of(node, field),
        }
    }
}
