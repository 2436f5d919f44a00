//! Integrity check: damage to the file, and contradictions in the graph.
mod edges;
mod report;

use self::report::{IntegrityReport, each};
use crate::migrations::roll_back;
use crate::tables::search_index::{agrees, is_current};
use crate::transaction::{gid, key};
use rusqlite::{Connection, OptionalExtension, Row};
use workgraph_auth::RedirectUri;
use workgraph_core::engine::value_entries;
use workgraph_core::model::draft::Draft;
use workgraph_core::model::gid::Gid;
use workgraph_core::model::node::Node;
use workgraph_core::model::registry::{Type, rel};
use workgraph_core::model::resources::{membership, section};
use workgraph_core::search::is_searchable;
use workgraph_core::storage::custom_field_index::ValueIndexEntry;

/// Returns every problem of a store, from one snapshot.
pub(crate) fn problems(conn: &Connection) -> rusqlite::Result<Vec<String>> {
    conn.execute_batch("BEGIN")?;
    let mut report = IntegrityReport::default();
    let done = file(conn, &mut report).and_then(|()| {
        if report.is_empty() {
            graph(conn, &mut report)?;
            let are_edges_readable = edges::compare(conn, &mut report)?;
            apps(conn, &mut report)?;
            if are_edges_readable {
                nodes(conn, &mut report)?;
            }
        }
        Ok(())
    });
    roll_back(conn)?;
    done?;
    Ok(report.finish())
}

/// Returns the contradictions between the edges of sources and the lists of their targets.
#[cfg(test)]
pub(crate) fn edge_problems(conn: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut report = IntegrityReport::default();
    edges::compare(conn, &mut report)?;
    Ok(report.finish())
}

/// Runs the integrity check of SQLite and reports its findings.
fn file(conn: &Connection, report: &mut IntegrityReport) -> rusqlite::Result<()> {
    each(conn, "PRAGMA integrity_check", |row| {
        let line: String = row.get(0)?;
        if line != "ok" {
            report.add(format!("the file is damaged: {line}"));
        }
        Ok(())
    })
}

/// Queries that find rows which must not exist, each with the text of the problem.
const CONTRADICTIONS: &[(&str, &str)] = &[
    (
        "an edge has no node at an end (source, relation, target)",
        "SELECT src || ' ' || rel || ' ' || dst FROM edge e
         WHERE NOT EXISTS (SELECT 1 FROM node WHERE gid = e.src)
            OR NOT EXISTS (SELECT 1 FROM node WHERE gid = e.dst)",
    ),
    (
        "the journal has a gap after",
        "SELECT seq FROM journal j WHERE seq < (SELECT max(seq) FROM journal)
            AND NOT EXISTS (SELECT 1 FROM journal n WHERE n.seq = j.seq + 1)",
    ),
    (
        "a node was created by a commit that the journal does not reach",
        "SELECT gid FROM node WHERE seq > (SELECT coalesce(max(seq), 0) FROM journal)",
    ),
    (
        "an edge was made by a commit that the journal does not reach (source, relation, target)",
        "SELECT src || ' ' || rel || ' ' || dst FROM edge WHERE seq > (SELECT coalesce(max(seq), 0) FROM journal)",
    ),
    (
        "a name points to no node",
        "SELECT key FROM alias a WHERE NOT EXISTS (SELECT 1 FROM node WHERE gid = a.gid)",
    ),
    (
        "a value has no task or no custom field (field, task)",
        "SELECT field || ' ' || node FROM value v WHERE NOT EXISTS (SELECT 1 FROM node WHERE gid = v.node)
            OR NOT EXISTS (SELECT 1 FROM node WHERE gid = v.field)",
    ),
    (
        "a value is in the index that its task does not have (field, task)",
        "SELECT field || ' ' || node FROM value v WHERE NOT EXISTS
            (SELECT 1 FROM node WHERE gid = v.node
                AND json_extract(body, '$.custom_fields.\"' || v.field || '\"') IS NOT NULL)",
    ),
    (
        "an index entry has no live node (node)",
        "SELECT gid FROM card c WHERE NOT EXISTS (SELECT 1 FROM node n WHERE n.gid = c.gid AND n.gone IS NULL
            AND n.kind = c.kind AND coalesce(n.home, 0) = c.home)",
    ),
    (
        "an index entry has no words (node)",
        "SELECT gid FROM card c WHERE NOT EXISTS (SELECT 1 FROM words w WHERE w.rowid = c.gid)",
    ),
    (
        "words have no index entry (node)",
        "SELECT rowid FROM words w WHERE NOT EXISTS (SELECT 1 FROM node n CROSS JOIN card c
            WHERE n.gid = w.rowid AND c.home = coalesce(n.home, 0) AND c.kind = n.kind AND c.gid = n.gid)",
    ),
    (
        "a token has no account",
        "SELECT id FROM token t WHERE NOT EXISTS (SELECT 1 FROM account WHERE user = t.user)",
    ),
    (
        "a login has no account",
        "SELECT user FROM login l WHERE NOT EXISTS (SELECT 1 FROM account WHERE user = l.user)",
    ),
    (
        "an authorization has no account or no app",
        "SELECT id FROM authorization g WHERE NOT EXISTS (SELECT 1 FROM account WHERE user = g.user)
            OR NOT EXISTS (SELECT 1 FROM app WHERE id = g.app)",
    ),
    (
        "an issued token has no authorization or no refresh token",
        "SELECT id FROM token t WHERE refresh IS NOT NULL
            AND (NOT EXISTS (SELECT 1 FROM authorization WHERE id = t.authorization)
                OR NOT EXISTS (SELECT 1 FROM token r WHERE r.id = t.refresh AND r.kind = 'refresh'))",
    ),
    (
        "a webhook has an app that holds no refresh token",
        "SELECT id FROM hook h WHERE app IS NOT NULL AND NOT EXISTS
            (SELECT 1 FROM token t CROSS JOIN authorization g ON g.id = t.authorization
                WHERE t.user = h.user AND t.app = h.app AND t.kind = 'refresh'
                    AND t.revoked_at IS NULL AND g.revoked_at IS NULL)",
    ),
    (
        "a code has no authorization (app, user)",
        "SELECT app || ' ' || user FROM code c WHERE NOT EXISTS (SELECT 1 FROM authorization WHERE id = c.authorization)",
    ),
];

fn graph(conn: &Connection, report: &mut IntegrityReport) -> rusqlite::Result<()> {
    for (reason, sql) in CONTRADICTIONS {
        each(conn, sql, |row| {
            report.add(format!("{reason}: {}", shown(row)?));
            Ok(())
        })?;
    }
    Ok(())
}

/// Reports redirect URLs that could not be registered today.
fn apps(conn: &Connection, report: &mut IntegrityReport) -> rusqlite::Result<()> {
    each(conn, "SELECT id, redirects FROM app ORDER BY id", |row| {
        let id: i64 = row.get(0)?;
        for problem in RedirectUri::problems(row.get_ref(1)?.as_str()?) {
            report.add(format!("app {id}: {problem}"));
        }
        Ok(())
    })
}

/// Compares each node's record with the rows stored beside it.
fn nodes(conn: &Connection, report: &mut IntegrityReport) -> rusqlite::Result<()> {
    // Index entries of another format are rebuilt when the file is opened for writing.
    let made = is_current(conn)?;
    each(
        conn,
        "SELECT gid, kind, home, version, head, body, gone IS NULL FROM node",
        |row| {
            let Some(node) = node(row)? else {
                report.add(format!(
                    "a node has a number or a type that is unknown: {}",
                    shown(row)?
                ));
                return Ok(());
            };
            if Draft::edit(&node).finish().head != node.head {
                report.add(format!(
                    "the head of node {} does not agree with its body",
                    node.gid
                ));
            }
            let live: bool = row.get(6)?;
            if live && made && is_searchable(node.ty) && !agrees(conn, &node)? {
                report.add(format!(
                    "the index entry of node {} does not agree with it",
                    node.gid
                ));
            }
            match node.ty {
                _ if !live => {}
                Type::Section => {
                    let project = node.get(section::PROJECT);
                    if project
                        .map(|p| edges::outgoing(conn, node.gid, rel::SECTION_OF, p))
                        .transpose()?
                        .flatten()
                        .is_none()
                    {
                        report.add(format!("section {} has no edge to its project", node.gid));
                    }
                }
                Type::Task if node.raw("custom_fields").is_some() && !is_indexed(conn, &node)? => {
                    report.add(format!(
                        "the index of values does not agree with task {}",
                        node.gid
                    ));
                }
                Type::WorkspaceMembership => {
                    let ends = node.get(membership::USER).zip(node.workspace);
                    let aux = ends
                        .map(|(user, workspace)| {
                            edges::outgoing(conn, user, rel::WORKSPACES, workspace)
                        })
                        .transpose()?
                        .flatten()
                        .and_then(|edge| edge.aux);
                    if aux != Some(node.gid) {
                        report.add(format!("workspace membership {} has no edge", node.gid));
                    }
                }
                _ => {}
            }
            Ok(())
        },
    )
}

/// Checks that search finds a task by exactly the values that the task has.
fn is_indexed(conn: &Connection, task: &Node) -> rusqlite::Result<bool> {
    let mut head = conn.prepare_cached("SELECT head FROM node WHERE gid = ?1")?;
    let mut missing = false;
    let entries = value_entries(task, |field| -> rusqlite::Result<Option<String>> {
        let head = head
            .query_row([field.as_i64()], |row| row.get(0))
            .optional()?;
        missing |= head.is_none();
        Ok(head)
    })?;
    // A field that does not exist has no index.
    if missing {
        return Ok(false);
    }
    let of_field = |entry: ValueIndexEntry| {
        let field = entry.field;
        entry.keys.into_iter().map(move |key| (field, key))
    };
    let mut expected: Vec<_> = entries.into_iter().flat_map(of_field).collect();
    let mut found = Vec::new();
    let mut rows = conn.prepare_cached("SELECT field, key FROM value WHERE node = ?1")?;
    let mut rows = rows.query([task.gid.as_i64()])?;
    while let Some(row) = rows.next()? {
        found.push((gid(row, 0)?, key(row, 1)?));
    }
    for all in [&mut expected, &mut found] {
        all.sort();
        all.dedup();
    }
    Ok(expected == found)
}

/// Returns the node of a row, unless its number or type is unknown.
pub(crate) fn node(row: &Row<'_>) -> rusqlite::Result<Option<Node>> {
    let (gid, workspace): (i64, Option<i64>) = (row.get(0)?, row.get(2)?);
    let version: i64 = row.get(3)?;
    let kind: i64 = row.get(1)?;
    let ty = u8::try_from(kind).ok().and_then(Type::from_code);
    let known = Gid::from_i64(gid).zip(ty).zip(u64::try_from(version).ok());
    Ok(match known {
        Some(((gid, ty), version)) => Some(Node {
            gid,
            ty,
            workspace: workspace.and_then(Gid::from_i64),
            version,
            head: row.get::<_, String>(4)?.into(),
            body: row.get::<_, String>(5)?.into(),
        }),
        None => None,
    })
}

fn shown(row: &Row<'_>) -> rusqlite::Result<String> {
    use rusqlite::types::ValueRef;
    Ok(match row.get_ref(0)? {
        ValueRef::Integer(n) => n.to_string(),
        other => other.as_str().map(str::to_owned).unwrap_or_default(),
    })
}
