//! Gathering of candidates: the smallest source, reduced by others.
use super::SearchEngine;
use super::candidate_sources::CandidateSource;
use crate::graph_store_error::GraphStoreError;
use crate::model::gid::Gid;
use crate::model::registry::Type;
use crate::search::{EntryList, IndexColumn, SearchQuery, SortOrder};

/// Number of candidates of each list that are read first.
const FIRST: usize = 32;
/// Growth factor of the reads while no list has ended: at most a third of the reads is wasted.
pub(super) const GROWTH: usize = 4;
/// Maximum ratio of another list's size to the number of gathered candidates; larger lists do not reduce the candidates.
const WIDER: usize = 4;
/// Maximum number of candidates that a search gathers; they take 96 MiB.
pub(super) const GATHERED_MAX: usize = 1 << 22;
/// Number of value keys that are tested for each free place in the buffer; `TESTED_MAX` is the maximum in total.
const TESTED: usize = 4;
const TESTED_MAX: usize = 100_000;
/// Number of candidates read and sorted in the time of one step.
const SORTED: usize = 4;

/// Candidate: its value in the column of the query's order, and its gid.
pub(super) type Ranked = (Option<i64>, Gid);

/// Candidates of a query, and the conditions known to hold for them.
#[derive(Clone, Default)]
pub(super) struct Candidates {
    /// Candidates, each once and in the order of gids, unless their values are known.
    pub(super) rows: Vec<Ranked>,
    /// True if the values are known: they are the values of the index entries. A search then checks only the entries of
    /// these candidates, in the order of the values.
    pub(super) ranked: bool,
    /// Indices of the conditions that are known to hold for all candidates.
    pub(super) known: Vec<usize>,
}

impl Candidates {
    /// Returns the candidates of a source, in the order in which they were read. `clause` is the index of the source's
    /// condition.
    fn of(buffer: CandidateBuffer, clause: usize, source: CandidateSource<'_>) -> Self {
        Self {
            rows: buffer.rows,
            ranked: buffer.ranked,
            known: source.is_exact().then_some(clause).into_iter().collect(),
        }
    }

    /// Returns true if a node is a candidate. If the values are known, only the entries of candidates are checked, so the
    /// result is always true.
    pub(super) fn has(&self, gid: Gid) -> bool {
        self.ranked || self.rows.binary_search_by_key(&gid, |row| row.1).is_ok()
    }

    /// Returns the candidates in the order of their gids, unless their values are known.
    fn in_order(mut self) -> Self {
        if !self.ranked {
            sort(&mut self.rows);
        }
        self
    }
}

/// Bounds on the number of candidates that are read from the sources of a query.
#[derive(Clone, Copy)]
pub(super) struct GatherBounds {
    /// Number of candidates that every source is known to exceed.
    pub(super) least: usize,
    /// Maximum number of candidates of a source.
    pub(super) most: usize,
    /// Maximum number of candidates of a source of short lists that have the values of the order.
    pub(super) most_ranked: usize,
}

/// Minimum number of entries to read for words with a prefix; reading fewer takes as long.
const STARTS: usize = 1_000;

/// Nodes that have a word with a prefix, as of the last read.
pub(super) struct PrefixScan {
    ty: Type,
    prefix: String,
    names_only: bool,
    /// All such nodes, in the order of gids, or `None` if they do not fit.
    all: Option<CandidateBuffer>,
    /// Number of nodes for which the buffer had room.
    most: usize,
}

/// Buffer of candidates that are being read.
#[derive(Clone)]
pub(super) struct CandidateBuffer {
    rows: Vec<Ranked>,
    /// Column of the query's order, if it is ordered by one.
    column: Option<IndexColumn>,
    /// True if each candidate was read with its value in that column.
    ranked: bool,
    most: usize,
}

impl CandidateBuffer {
    fn new(order: SortOrder, most: usize) -> Self {
        let column = match order {
            SortOrder::Column(column) => Some(column),
            SortOrder::Relevance | SortOrder::Contact => None,
        };
        Self {
            rows: Vec::new(),
            column,
            ranked: column.is_some(),
            most,
        }
    }

    /// Adds a candidate of which only the gid was read.
    pub(super) fn push(&mut self, gid: Gid) {
        self.ranked = false;
        self.rows.push((None, gid));
    }

    /// Returns the column whose values must be read along with a list of entries, and the vector to append to.
    pub(super) fn of_list(&mut self, list: &EntryList) -> (IndexColumn, &mut Vec<Ranked>) {
        let column = self.column.filter(|column| list.gives(*column));
        self.ranked &= column.is_some();
        (column.unwrap_or(IndexColumn::Gid), &mut self.rows)
    }

    pub(super) fn free(&self) -> usize {
        self.most.saturating_sub(self.rows.len())
    }
    /// Removes all candidates.
    pub(super) fn clear(&mut self) {
        self.rows.clear();
    }
    /// Returns the number of keys that may be tested to fill the buffer.
    pub(super) fn tests(&self) -> usize {
        self.free().saturating_mul(TESTED).min(TESTED_MAX)
    }
    pub(super) fn fits(&self) -> bool {
        self.rows.len() <= self.most
    }
}

impl SearchEngine<'_, '_> {
    /// Returns the candidates of the smallest source, except for candidates that another small source lacks; `None` if all
    /// sources have more than the bounds allow. It reads the sources in turn, each time a little further, so that it reads
    /// no more of any source than of the smallest.
    pub(super) fn gather(
        &mut self,
        query: &SearchQuery,
        sources: &[(usize, CandidateSource<'_>)],
        bounds: GatherBounds,
    ) -> Result<Option<Candidates>, GraphStoreError> {
        let most_of =
            |source: &CandidateSource<'_>| match source.has_short_ranked_lists(query.order) {
                true => bounds.most_ranked,
                false => bounds.most,
            };
        let most = sources.iter().map(|(_, source)| most_of(source)).max();
        let most = most.unwrap_or_default();
        let further = |size: &usize| (*size < most).then(|| size.saturating_mul(GROWTH).min(most));
        let first = match sources {
            [_] => most,
            _ => bounds.least.saturating_mul(GROWTH).max(FIRST).min(most),
        };
        let mut before = 0;
        for size in std::iter::successors(Some(first), further) {
            let last = std::mem::replace(&mut before, size);
            for (at, (clause, source)) in sources.iter().enumerate() {
                let most = most_of(source);
                // This source was already read up to its maximum.
                if last >= most {
                    continue;
                }
                let (buffer, true) = self.fill(query, *source, size.min(most))? else {
                    continue;
                };
                let mut gathered = Candidates::of(buffer, *clause, *source);
                for (_, (clause, other)) in sources.iter().enumerate().filter(|(n, _)| *n != at) {
                    if gathered.rows.len() < self.effort.narrow {
                        break;
                    }
                    let wider = gathered.rows.len().saturating_mul(WIDER);
                    if let (mut others, true) = self.fill(query, *other, wider)? {
                        sort(&mut gathered.rows);
                        sort(&mut others.rows);
                        keep_common(&mut gathered.rows, &others.rows);
                        gathered.known.extend(other.is_exact().then_some(*clause));
                    }
                }
                return Ok(Some(gathered.in_order()));
            }
        }
        Ok(None)
    }

    /// Returns the candidates of the first source with no more than `most`, or else about
    /// `most` of the first source.
    pub(super) fn gather_some(
        &mut self,
        query: &SearchQuery,
        sources: &[(usize, CandidateSource<'_>)],
        most: usize,
    ) -> Result<Candidates, GraphStoreError> {
        let mut first = None;
        // Lists that are too long are read again, only their beginnings.
        self.prefix_scans.retain(|scan| scan.all.is_some());
        for (clause, source) in sources {
            let (buffer, fits) = self.fill(query, *source, most)?;
            let gathered = Candidates::of(buffer, *clause, *source);
            if fits {
                return Ok(gathered.in_order());
            }
            first.get_or_insert(gathered);
        }
        Ok(first.unwrap_or_default().in_order())
    }

    /// Reads nodes of a source, about `most` if there are more; returns true if it has read all nodes.
    fn fill(
        &mut self,
        query: &SearchQuery,
        source: CandidateSource<'_>,
        most: usize,
    ) -> Result<(CandidateBuffer, bool), GraphStoreError> {
        let mut buffer = CandidateBuffer::new(query.order, most);
        let fits = match source {
            CandidateSource::Prefix {
                prefix, names_only, ..
            } => return self.fill_prefix(query, (prefix, names_only), most),
            CandidateSource::Words(words) => self.pour_words(query.ty, words, &mut buffer)?,
            CandidateSource::Links(links) => self.pour_links(query, links, &mut buffer)?,
            CandidateSource::Column(column, from, to) => {
                self.pour_list(query.ty, EntryList::Within(column, from, to), &mut buffer)?
            }
            CandidateSource::Others(column, of) => {
                self.pour_others(query.ty, column, of, &mut buffer)?
            }
            CandidateSource::Shapes => {
                let bounds = query.bounds(IndexColumn::Modified);
                self.pour_shapes(query.ty, bounds, &mut buffer, |s| query.may_have(s))?
            }
            CandidateSource::Value(field, test) => self.pour_tested(field, test, &mut buffer)?,
        };
        self.count_rows(buffer.rows.len())?;
        Ok((buffer, fits))
    }

    /// Counts rows read from lists, whether or not they are candidates.
    pub(super) fn count_rows(&mut self, rows: usize) -> Result<(), GraphStoreError> {
        self.read = self.read.saturating_add(rows as u64);
        self.loader.steps(rows / SORTED)
    }

    /// Reads the nodes that have a word with a prefix. They are kept, because the next query often has the same prefix.
    fn fill_prefix(
        &mut self,
        query: &SearchQuery,
        (prefix, names_only): (&str, bool),
        most: usize,
    ) -> Result<(CandidateBuffer, bool), GraphStoreError> {
        let ty = query.ty;
        let key = |scan: &PrefixScan| {
            (scan.ty, scan.names_only) == (ty, names_only) && scan.prefix == prefix
        };
        if let Some(scan) = self.prefix_scans.iter().find(|scan| key(scan)) {
            match &scan.all {
                Some(all) if all.rows.len() <= most => return Ok((all.clone(), true)),
                Some(all) => return Ok((all.clone(), false)),
                None if scan.most >= most => {
                    return Ok((CandidateBuffer::new(query.order, most), false));
                }
                None => (),
            }
        }
        let mut buffer = CandidateBuffer::new(query.order, most.max(STARTS));
        let fits = self.pour_prefix(ty, (prefix, names_only), &mut buffer)?;
        self.count_rows(buffer.rows.len())?;
        sort(&mut buffer.rows);
        self.prefix_scans.retain(|scan| !key(scan));
        self.prefix_scans.push(PrefixScan {
            ty,
            prefix: prefix.to_owned(),
            names_only,
            all: fits.then(|| buffer.clone()),
            most: buffer.most,
        });
        let fits = fits && buffer.rows.len() <= most;
        Ok((buffer, fits))
    }
}

/// Sorts candidates by gid, each once.
fn sort(rows: &mut Vec<Ranked>) {
    rows.sort_unstable_by_key(|row| row.1);
    rows.dedup_by_key(|row| row.1);
}

/// Keeps the candidates that are also in `others`; both are in the order of gids.
fn keep_common(rows: &mut Vec<Ranked>, others: &[Ranked]) {
    let mut others = others.iter().map(|row| row.1).peekable();
    rows.retain(|(_, gid)| {
        while others.next_if(|other| other < gid).is_some() {}
        others.peek() == Some(gid)
    });
}
