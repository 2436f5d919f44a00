//! Committing: applies [`Changes`] to a [`Transaction`].
use crate::about::Notes;
use crate::audit::Auditor;
use crate::gid::Gid;
use crate::graph::{
    Action, Changes, Committed, Edge, Event, Fact, Guard, Link, Place, Seq, StoreError, fingerprint,
};
use crate::registry::{Rel, Type, rel};
use crate::search;
use crate::snapshot::{Depth, Transaction};
use std::collections::BTreeSet;

/// The distance between neighbours in a list that was never squeezed.
const GAP: i64 = 1 << 32;

/// Applies all of `changes`; on an error the caller rolls the transaction back.
///
/// # Errors
/// [`StoreError::Conflict`] when a guard fails or a place's anchor is gone, [`StoreError::Taken`]
/// when a name is taken, [`StoreError::Failed`] when the store fails.
pub fn apply(txn: &mut dyn Transaction, changes: &Changes) -> Result<Committed, StoreError> {
    for guard in &changes.guards {
        if !holds(txn, *guard)? {
            return Err(StoreError::Conflict);
        }
    }
    let seq = txn.seq()? + 1;
    let mut facts = changes.facts.clone();
    let mut notes = Notes::new(changes);
    let mut audit = Auditor::new(txn, changes)?;
    let mut viewers = false;
    for put in &changes.puts {
        txn.put_node(&put.node, seq)?;
        viewers |= matches!(put.node.ty, Type::WorkspaceMembership | Type::Workspace);
    }
    for gid in &changes.trash {
        let ty = txn.node(*gid, Depth::Head)?.map(|n| n.ty);
        viewers |= ty.is_some_and(says_who_belongs);
        if let Some(ty) = ty {
            notes.subject(txn, *gid, ty)?;
        }
        let told = (&mut facts, &mut notes, &mut audit);
        trash(txn, (*gid, ty), seq, told, 0)?;
    }
    for (src, rel, dst) in &changes.unlinks {
        txn.drop_edge(*src, *rel, *dst)?;
        viewers |= is_membership(*rel);
    }
    for link in &changes.links {
        if link.place == Place::Next && !is_new(txn, link)? {
            continue;
        }
        let rank = place(txn, link)?;
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
    for (key, gid) in &changes.unnamed {
        txn.drop_alias(key, *gid)?;
    }
    for (key, gid) in &changes.aliases {
        txn.put_alias(key, *gid)?;
    }
    for entry in &changes.values {
        txn.put_values(entry.node, entry.field, &entry.keys)?;
    }
    for gid in with_cards(changes) {
        search::renew(txn, gid)?;
    }
    if viewers {
        txn.viewers_changed()?;
    }
    audit.finish(txn)?;
    let nodes = notes.finish(txn, &facts)?;
    txn.append(&Event {
        seq,
        at: changes.at,
        actor: changes.actor,
        facts,
        nodes,
    })?;
    Ok(Committed { seq })
}

/// The nodes whose cards tell of what changes.
fn with_cards(changes: &Changes) -> BTreeSet<Gid> {
    let puts = changes.puts.iter().map(|put| &put.node);
    let links = changes.links.iter().map(|l| (l.src, l.rel, l.dst));
    let told = changes.unlinks.iter().copied().chain(links);
    let told = told.filter(|(_, rel, _)| search::is_told(*rel));
    puts.filter(|n| search::is_found(n.ty))
        .map(|n| n.gid)
        .chain(told.flat_map(|(src, _, dst)| [src, dst]))
        .collect()
}

/// Whether viewers are worked out from nodes of this type.
fn says_who_belongs(ty: Type) -> bool {
    matches!(
        ty,
        Type::Workspace
            | Type::WorkspaceMembership
            | Type::Team
            | Type::Project
            | Type::CustomField
    )
}

/// Whether an edge says who belongs to what.
fn is_membership(rel: Rel) -> bool {
    matches!(rel, rel::WORKSPACES | rel::TEAM_MEMBERS | rel::MEMBERS)
}

fn holds(txn: &mut dyn Transaction, guard: Guard) -> Result<bool, StoreError> {
    Ok(match guard {
        Guard::Version(gid, version) => txn
            .node(gid, Depth::Full)?
            .is_some_and(|n| n.version == version),
        Guard::Live(gid) => txn.node(gid, Depth::Head)?.is_some(),
        Guard::Empty(gid, rel) => txn.count_in(gid, rel)? == 0,
        Guard::AtLeast(gid, rel, least) => txn.count_in(gid, rel)? >= least,
        Guard::Below(gid, rel, bound) => txn.count_in(gid, rel)? < bound,
        Guard::AtMost(gid, rel, most) => txn.count_in(gid, rel)? <= most,
        Guard::Links(gid, rel, seen) => {
            let mut targets = Vec::new();
            txn.out(gid, rel, rel, Depth::Edge, &mut |edge, _| {
                targets.push(edge.dst)
            })?;
            fingerprint(targets.into_iter()) == seen
        }
        Guard::Unlinked(src, rel, dst) => txn.linked(src, rel, dst)?.is_none(),
    })
}

/// Trashes a node, and with it a task's subtasks and a project's task templates.
fn trash(
    txn: &mut dyn Transaction,
    (gid, ty): (Gid, Option<Type>),
    seq: Seq,
    told: (&mut Vec<Fact>, &mut Notes<'_>, &mut Auditor<'_>),
    depth: u8,
) -> Result<(), StoreError> {
    txn.trash_node(gid, seq)?;
    if depth >= 8 {
        return Ok(());
    }
    let (rel, ty) = match ty {
        Some(Type::Project) => (rel::TEMPLATE_OF, Type::TaskTemplate),
        Some(Type::Recipe) => (rel::PARENT, Type::Recipe),
        _ => (rel::PARENT, Type::Task),
    };
    let mut children = Vec::new();
    crate::load::all_in(txn, gid, rel, &mut |e| children.push(e.src))?;
    let (facts, notes, audit) = told;
    for child in children {
        // What is in a template is nobody's news.
        if ty != Type::Recipe {
            let fact = Fact {
                gid: child,
                ty,
                action: Action::Deleted,
            };
            notes.subject(txn, child, ty)?;
            audit.fact(txn, &fact)?;
            facts.push(fact);
        }
        let told = (&mut *facts, &mut *notes, &mut *audit);
        trash(txn, (child, Some(ty)), seq, told, depth + 1)?;
    }
    Ok(())
}

/// Whether there is no such edge yet, and its target is there.
fn is_new(txn: &mut dyn Transaction, link: &Link) -> Result<bool, StoreError> {
    let held = txn.linked(link.src, link.rel, link.dst)?;
    Ok(held.is_none() && txn.node(link.dst, Depth::Head)?.is_some())
}

/// The rank that puts a link where it should be, making room if there is none.
fn place(txn: &mut dyn Transaction, link: &Link) -> Result<i64, StoreError> {
    let (dst, rel) = (link.dst, link.rel);
    for _ in 0..2 {
        let (low, high) = match link.place {
            Place::Rank(rank) => return Ok(rank),
            Place::Next => {
                let last = txn.before_in(dst, rel, (i64::MAX, i64::MAX))?;
                return Ok(last.map_or(1, |e| e.rank.saturating_add(1)));
            }
            Place::First => (None, next(txn, link, (i64::MIN, i64::MIN))?),
            Place::Last => (prev(txn, link, (i64::MAX, i64::MAX))?, None),
            Place::After(src) => {
                let edge = txn.linked(src, rel, dst)?.ok_or(StoreError::Conflict)?;
                (Some(edge), next(txn, link, (edge.rank, edge.src.as_i64()))?)
            }
            Place::Before(src) => {
                let edge = txn.linked(src, rel, dst)?.ok_or(StoreError::Conflict)?;
                (prev(txn, link, (edge.rank, edge.src.as_i64()))?, Some(edge))
            }
        };
        if let Some(rank) = between(low.map(|e| e.rank), high.map(|e| e.rank)) {
            return Ok(rank);
        }
        let around = low.or(high).ok_or(StoreError::Conflict)?;
        spread(txn, dst, rel, around)?;
    }
    Err(StoreError::Failed("a list could not be spread".into()))
}

/// A rank strictly between two neighbours, if there is one.
fn between(low: Option<i64>, high: Option<i64>) -> Option<i64> {
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

/// The neighbour after a key, other than the link's own present place.
fn next(
    txn: &mut dyn Transaction,
    link: &Link,
    mut after: (i64, i64),
) -> Result<Option<Edge>, StoreError> {
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

/// The neighbour before a key, other than the link's own present place.
fn prev(
    txn: &mut dyn Transaction,
    link: &Link,
    mut before: (i64, i64),
) -> Result<Option<Edge>, StoreError> {
    loop {
        match txn.before_in(link.dst, link.rel, before)? {
            Some(edge) if edge.src == link.src => before = (edge.rank, edge.src.as_i64()),
            other => return Ok(other),
        }
    }
}

/// Spreads the neighbours after an edge so that there is room again: the smallest run of them
/// (64, 128, ... edges) that leaves at least 2^16 between each, or the rest of the list.
fn spread(txn: &mut dyn Transaction, dst: Gid, rel: Rel, around: Edge) -> Result<(), StoreError> {
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
