//! Comparison of the edges of the sources with the lists of the targets.
use super::report::{IntegrityReport, each};
use crate::edge_list::EdgeList;
use crate::statements::Sql;
use crate::transaction::{column_list, edge};
use rusqlite::{Connection, OptionalExtension, Row};
use workgraph_core::model::gid::Gid;
use workgraph_core::model::registry::Relation;
use workgraph_core::storage::Edge;

/// Reports edges that only one of their two ends has, or that differ. Returns false if the edges of a node cannot be read.
pub(super) fn compare(conn: &Connection, report: &mut IntegrityReport) -> rusqlite::Result<bool> {
    let (mut count, mut are_readable) = (0_u64, true);
    let sql = "SELECT gid, edges FROM node WHERE edges IS NOT NULL";
    each(conn, sql, |row| {
        let Some(src) = Gid::from_i64(row.get(0)?) else {
            return Ok(());
        };
        match column_list(row, 1, src) {
            Ok(EdgeList::Row(edges)) => {
                count += edges.len() as u64;
                let ends = |edge: &Edge| (edge.rel, edge.dst);
                if !edges.is_sorted_by(|a, b| ends(a) < ends(b)) {
                    report.add(format!("the edge list of node {src} is not in order"));
                }
                edges
                    .iter()
                    .try_for_each(|edge| check_listed(conn, edge, report))
            }
            Ok(EdgeList::Table) => Ok(()),
            Err(_) => {
                are_readable = false;
                report.add(format!("the edge list of node {src} cannot be read"));
                Ok(())
            }
        }
    })?;
    let columns = "SELECT e.src, e.rel, e.dst, e.rank, e.seq, e.aux FROM";
    each(conn, &format!("{columns} outgoing_edge e"), |row| {
        let outgoing = edge(row)?;
        count += 1;
        if !matches!(stored(conn, outgoing.src)?, Some(EdgeList::Table)) {
            let src = outgoing.src;
            report.add(format!("node {src} has edges in the table and in its row"));
        }
        check_listed(conn, &outgoing, report)
    })?;
    let listed: i64 = conn.query_row("SELECT count(*) FROM edge", [], |row| row.get(0))?;
    if u64::try_from(listed) == Ok(count) {
        return Ok(are_readable);
    }
    each(conn, &format!("{columns} edge e"), |row| {
        let listed = edge(row)?;
        if outgoing(conn, listed.src, listed.rel, listed.dst)?.is_none() {
            report.add(format!(
                "only the list of its target has the edge {}",
                ends(&listed)
            ));
        }
        Ok(())
    })?;
    Ok(are_readable)
}

/// Reports an edge that the list of its target does not have with the same values.
fn check_listed(
    conn: &Connection,
    edge: &Edge,
    report: &mut IntegrityReport,
) -> rusqlite::Result<()> {
    let sql = "SELECT seq, aux FROM edge WHERE dst = ?1 AND rel = ?2 AND rank = ?3 AND src = ?4";
    let params = (edge.dst.as_i64(), edge.rel.0, edge.rank, edge.src.as_i64());
    let read = |row: &Row<'_>| Ok((row.get::<_, i64>(0)?, row.get::<_, Option<i64>>(1)?));
    let found = conn
        .prepare_cached(sql)?
        .query_row(params, read)
        .optional()?;
    let aux = edge.aux.map(Gid::as_i64);
    let agrees =
        |(seq, listed): (i64, Option<i64>)| u64::try_from(seq) == Ok(edge.seq) && listed == aux;
    if !found.is_some_and(agrees) {
        report.add(format!(
            "source and target disagree about the edge {}",
            ends(edge)
        ));
    }
    Ok(())
}

/// Returns an edge as its source has it.
pub(super) fn outgoing(
    conn: &Connection,
    src: Gid,
    rel: Relation,
    dst: Gid,
) -> rusqlite::Result<Option<Edge>> {
    match stored(conn, src)? {
        Some(EdgeList::Row(edges)) => Ok(edges
            .into_iter()
            .find(|edge| edge.rel == rel && edge.dst == dst)),
        Some(EdgeList::Table) => conn
            .prepare_cached(Sql::Linked.text())?
            .query_row((src.as_i64(), rel.0, dst.as_i64()), edge)
            .optional(),
        None => Ok(None),
    }
}

/// Returns the stored edge list of a node; `None` if no row exists, or its list cannot be read.
fn stored(conn: &Connection, src: Gid) -> rusqlite::Result<Option<EdgeList>> {
    let mut statement = conn.prepare_cached(Sql::NodeEdges.text())?;
    let found = statement.query_row([src.as_i64()], |row| Ok(column_list(row, 0, src).ok()));
    Ok(found.optional()?.flatten())
}

/// Returns the ends of an edge, as other problems show them.
fn ends(edge: &Edge) -> String {
    let Edge { src, rel, dst, .. } = edge;
    format!("(source, relation, target): {src} {} {dst}", rel.0)
}
