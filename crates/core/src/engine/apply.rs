//! Committing: applies [`Changes`] to a [`Transaction`].
use crate::engine::audit_derivation::AuditCollector;
use crate::engine::{abandoned_tasks, index_entries, loader};
use crate::graph_store_error::GraphStoreError;
use crate::journal::node_context::ContextCollector;
use crate::model::edge::{Edge, Seq};
use crate::model::gid::Gid;
use crate::model::registry::{Relation, Type, rel};
use crate::search;
use crate::storage::snapshot::{Depth, Transaction};
use crate::storage::{
    ChangeAction, ChangeRecord, Changes, CommitReceipt, EdgeWrite, Guard, JournalEntry,
    ListPosition,
};
use std::collections::BTreeSet;

/// Distance between the ranks of neighbours in a list that was never respaced.
const GAP: i64 = 1 << 32;

/// Applies all of `changes`; on an error the caller rolls the transaction back.
///
/// # Errors
/// [`GraphStoreError::Conflict`] when data that the decision read has changed, a guard fails or the anchor of a list
/// position is gone, [`GraphStoreError::AliasTaken`] when an alias is taken, [`GraphStoreError::Failed`] when the store
/// fails.
pub fn apply(
    txn: &mut dyn Transaction,
    changes: &Changes,
) -> Result<CommitReceipt, GraphStoreError> {
    check_guards(txn, changes)?;
    write(txn, changes)
}

/// Fails with [`GraphStoreError::Conflict`] if data that the decision read has changed, or at the first guard that does not
/// hold.
pub(super) fn check_guards(
    txn: &mut dyn Transaction,
    changes: &Changes,
) -> Result<(), GraphStoreError> {
    if let Some(reads) = &changes.reads
        && !txn.holds(reads)?
    {
        return Err(GraphStoreError::Conflict);
    }
    for guard in &changes.guards {
        if !guard_holds(txn, *guard)? {
            return Err(GraphStoreError::Conflict);
        }
    }
    Ok(())
}

/// Writes the changes, after their guards were checked.
pub(super) fn write(
    txn: &mut dyn Transaction,
    changes: &Changes,
) -> Result<CommitReceipt, GraphStoreError> {
    let seq = txn.seq()? + 1;
    let mut facts = changes.change_records.clone();
    let mut notes = ContextCollector::new(changes);
    let mut audit = AuditCollector::new(txn, changes)?;
    let mut viewers = false;
    for put in &changes.node_writes {
        txn.put_node(&put.node, seq)?;
        viewers |= matches!(put.node.ty, Type::WorkspaceMembership | Type::Workspace);
    }
    for gid in &changes.trashed {
        let ty = txn.node(*gid, Depth::Head)?.map(|n| n.ty);
        viewers |= ty.is_some_and(affects_viewers);
        if let Some(ty) = ty {
            notes.record_subject(txn, *gid, ty)?;
        }
        let mut recorded = Recorded {
            facts: &mut facts,
            notes: &mut notes,
            audit: &mut audit,
        };
        if ty == Some(Type::Project) {
            abandoned_tasks::abandon_first(txn, *gid, seq, &mut recorded)?;
        }
        trash_subtree(txn, (*gid, ty), seq, &mut recorded, 0)?;
    }
    for abandoned in &changes.abandoned {
        let mut recorded = Recorded {
            facts: &mut facts,
            notes: &mut notes,
            audit: &mut audit,
        };
        abandoned_tasks::abandon(txn, *abandoned, None, seq, &mut recorded)?;
    }
    for (src, rel, dst) in &changes.edge_removals {
        txn.drop_edge(*src, *rel, *dst)?;
        viewers |= is_membership(*rel);
    }
    for link in &changes.edge_writes {
        if link.position == ListPosition::NextRank && !is_new(txn, link)? {
            continue;
        }
        let rank = rank_for(txn, link)?;
        txn.put_edge(&Edge {
            src: link.src,
            rel: link.rel,
            dst: link.dst,
            rank,
            seq,
            aux: link.aux,
        })?;
        viewers |= is_membership(link.rel);
    }
    for (key, gid) in &changes.remove_aliases {
        txn.drop_alias(key, *gid)?;
    }
    for (key, gid) in &changes.add_aliases {
        txn.put_alias(key, *gid)?;
    }
    for entry in &changes.index_updates {
        txn.put_values(entry.node, entry.field, &entry.keys)?;
    }
    for gid in nodes_to_index(changes) {
        index_entries::update_entry(txn, gid)?;
    }
    if viewers {
        txn.invalidate_viewers()?;
    }
    audit.finish(txn)?;
    let nodes = notes.finish(txn, &facts)?;
    txn.append_journal(&JournalEntry {
        seq,
        time: changes.time,
        actor: changes.actor,
        change_records: facts,
        node_contexts: nodes,
    })?;
    Ok(CommitReceipt { seq })
}

/// Returns the nodes with index entries that depend on the changes.
pub(super) fn nodes_to_index(changes: &Changes) -> BTreeSet<Gid> {
    let puts = changes.node_writes.iter().map(|put| &put.node);
    let links = changes.edge_writes.iter().map(|l| (l.src, l.rel, l.dst));
    let changed = changes.edge_removals.iter().copied().chain(links);
    let changed = changed.filter(|(_, rel, _)| index_entries::is_indexed_relation(*rel));
    puts.filter(|n| search::is_searchable(n.ty))
        .map(|n| n.gid)
        .chain(changed.flat_map(|(src, _, dst)| [src, dst]))
        .collect()
}

/// Returns true if viewers depend on live nodes of this type. Users are among them: a guest's viewer lists the users who share a
/// project or team with the guest.
fn affects_viewers(ty: Type) -> bool {
    matches!(
        ty,
        Type::User
            | Type::Workspace
            | Type::WorkspaceMembership
            | Type::Team
            | Type::Project
            | Type::Portfolio
            | Type::Goal
            | Type::CustomField
    )
}

/// Returns true if an edge of this relation is a membership.
fn is_membership(rel: Relation) -> bool {
    matches!(rel, rel::WORKSPACES | rel::TEAM_MEMBERS | rel::MEMBERS)
}

fn guard_holds(txn: &mut dyn Transaction, guard: Guard) -> Result<bool, GraphStoreError> {
    Ok(match guard {
        Guard::Version(gid, version) => txn
            .node(gid, Depth::Full)?
            .is_some_and(|n| n.version == version),
        Guard::Live(gid) => txn.node(gid, Depth::Head)?.is_some(),
        Guard::Below(gid, rel, bound) => txn.count_in(gid, rel)? < bound,
        Guard::AtMost(gid, rel, most) => txn.count_in(gid, rel)? <= most,
        Guard::Unlinked(src, rel, dst) => txn.edge_between(src, rel, dst)?.is_none(),
        Guard::TotalAtMost(gid, rel, most) => total(txn, (gid, rel, gid))? <= most,
    })
}

/// Records that a commit adds to its changes.
pub(super) struct Recorded<'r, 'c> {
    facts: &'r mut Vec<ChangeRecord>,
    notes: &'r mut ContextCollector<'c>,
    audit: &'r mut AuditCollector<'c>,
}

impl Recorded<'_, '_> {
    /// Adds a change record of a node that is about to change.
    pub(super) fn add(
        &mut self,
        txn: &mut dyn Transaction,
        fact: ChangeRecord,
    ) -> Result<(), GraphStoreError> {
        self.notes.record_subject(txn, fact.gid, fact.ty)?;
        self.audit.add_change_record(txn, &fact)?;
        self.facts.push(fact);
        Ok(())
    }
}

/// Trashes a node with its parts: a task's subtasks, or a project's task templates.
pub(super) fn trash_subtree(
    txn: &mut dyn Transaction,
    (gid, ty): (Gid, Option<Type>),
    seq: Seq,
    recorded: &mut Recorded<'_, '_>,
    depth: u8,
) -> Result<(), GraphStoreError> {
    txn.trash_node(gid, seq)?;
    if depth >= 8 {
        return Ok(());
    }
    let (rel, ty) = match ty {
        Some(Type::Project) => (rel::TEMPLATE_OF, Type::TaskTemplate),
        Some(Type::TemplateTask) => (rel::PARENT, Type::TemplateTask),
        _ => (rel::PARENT, Type::Task),
    };
    let mut children = Vec::new();
    loader::all_in(txn, gid, rel, &mut |e| children.push(e.src))?;
    for gid in children {
        // Changes of template tasks make no events.
        if ty != Type::TemplateTask {
            let action = ChangeAction::Deleted;
            recorded.add(txn, ChangeRecord { gid, ty, action })?;
        }
        trash_subtree(txn, (gid, Some(ty)), seq, recorded, depth + 1)?;
    }
    Ok(())
}

/// Returns true if the edge does not exist yet and its target is live.
fn is_new(txn: &mut dyn Transaction, link: &EdgeWrite) -> Result<bool, GraphStoreError> {
    let edge = txn.edge_between(link.src, link.rel, link.dst)?;
    Ok(edge.is_none() && txn.node(link.dst, Depth::Head)?.is_some())
}

/// Returns the rank of an edge, which is a total; 0 if the edge does not exist.
fn total(
    txn: &mut dyn Transaction,
    (src, rel, dst): (Gid, Relation, Gid),
) -> Result<i64, GraphStoreError> {
    let edge = txn.edge_between(src, rel, dst)?;
    Ok(edge.map_or(0, |edge| edge.rank))
}

/// Returns the rank for an edge's list position, after respacing the list if there is no room.
fn rank_for(txn: &mut dyn Transaction, link: &EdgeWrite) -> Result<i64, GraphStoreError> {
    let (dst, rel) = (link.dst, link.rel);
    for _ in 0..2 {
        let (low, high) = match link.position {
            ListPosition::Rank(rank) => return Ok(rank),
            ListPosition::Plus(more) => {
                let before = total(txn, (link.src, rel, dst))?;
                return Ok(before.saturating_add(more).max(0));
            }
            ListPosition::NextRank => {
                let last = txn.last_edge_before(dst, rel, (i64::MAX, i64::MAX))?;
                return Ok(last.map_or(1, |e| e.rank.saturating_add(1)));
            }
            ListPosition::First => (None, next(txn, link, (i64::MIN, i64::MIN))?),
            ListPosition::Last => (prev(txn, link, (i64::MAX, i64::MAX))?, None),
            ListPosition::After(src) => {
                let edge = txn
                    .edge_between(src, rel, dst)?
                    .ok_or(GraphStoreError::Conflict)?;
                (Some(edge), next(txn, link, (edge.rank, edge.src.as_i64()))?)
            }
            ListPosition::Before(src) => {
                let edge = txn
                    .edge_between(src, rel, dst)?
                    .ok_or(GraphStoreError::Conflict)?;
                (prev(txn, link, (edge.rank, edge.src.as_i64()))?, Some(edge))
            }
        };
        if let Some(rank) = rank_between(low.map(|e| e.rank), high.map(|e| e.rank)) {
            return Ok(rank);
        }
        let around = low.or(high).ok_or(GraphStoreError::Conflict)?;
        respace(txn, dst, rel, around)?;
    }
    Err(GraphStoreError::Failed("a list could not be spread".into()))
}

/// Returns a rank strictly between two neighbours, if there is one.
fn rank_between(low: Option<i64>, high: Option<i64>) -> Option<i64> {
    match (low, high) {
        (None, None) => Some(0),
        (Some(low), None) => low.checked_add(GAP),
        (None, Some(high)) => high.checked_sub(GAP),
        (Some(low), Some(high)) => {
            let gap = high.checked_sub(low)?;
            (gap >= 2).then(|| low + gap / 2)
        }
    }
}

/// Returns the neighbour after a key, other than the edge itself.
fn next(
    txn: &mut dyn Transaction,
    link: &EdgeWrite,
    mut after: (i64, i64),
) -> Result<Option<Edge>, GraphStoreError> {
    loop {
        let mut found = None;
        txn.scan_in(link.dst, link.rel, after, 1, Depth::Edge, &mut |edge, _| {
            found = Some(edge)
        })?;
        match found {
            Some(edge) if edge.src == link.src => after = (edge.rank, edge.src.as_i64()),
            other => return Ok(other),
        }
    }
}

/// Returns the neighbour before a key, other than the edge itself.
fn prev(
    txn: &mut dyn Transaction,
    link: &EdgeWrite,
    mut before: (i64, i64),
) -> Result<Option<Edge>, GraphStoreError> {
    loop {
        match txn.last_edge_before(link.dst, link.rel, before)? {
            Some(edge) if edge.src == link.src => before = (edge.rank, edge.src.as_i64()),
            other => return Ok(other),
        }
    }
}

/// Spreads the neighbours after an edge to make room: the smallest run of them (64, 128, ... edges) that leaves at least 2^16
/// between each, or the rest of the list.
fn respace(
    txn: &mut dyn Transaction,
    dst: Gid,
    rel: Relation,
    around: Edge,
) -> Result<(), GraphStoreError> {
    let start = around.rank;
    let mut size = 64;
    loop {
        let mut run = Vec::with_capacity(size);
        let from = (around.rank, around.src.as_i64());
        txn.scan_in(dst, rel, from, size + 1, Depth::Edge, &mut |edge, _| {
            run.push(edge)
        })?;
        let step = match run.get(size) {
            None => GAP,
            Some(end) => (end.rank - start) / (size as i64 + 1),
        };
        if run.len() > size && step < 1 << 16 {
            size *= 2;
            continue;
        }
        run.truncate(size);
        for (i, mut edge) in run.into_iter().enumerate() {
            edge.rank = start.saturating_add(step.saturating_mul(i as i64 + 1));
            txn.put_edge(&edge)?;
        }
        return Ok(());
    }
}
