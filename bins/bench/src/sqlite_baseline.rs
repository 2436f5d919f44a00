//! Ceilings measured with bare SQLite: the store's tables and settings, used in simple loops.

use anyhow::Result;
use std::path::Path;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, Transaction, TransactionBehavior, params};

use crate::baseline_schema::{
    ASSIGNEE, FOLLOWER, INSERT_EDGE, INSERT_NODE, PRAGMAS, PROJECT, PROJECT_GID, SCHEMA,
    SECTION_GIDS, TASK_GIDS, USER_GIDS, WORKSPACE_GID,
};
use crate::bench_clock;
use crate::loadgen::Rng;
use crate::measure::Figure;
use crate::page_writer::{fields, write_page};
use crate::procfs;

/// One page of a container's tasks, in order.
const PAGE: &str = "
    SELECT t.gid, t.head, t.body FROM edge e CROSS JOIN node t ON t.gid = e.src
    WHERE e.dst = ?1 AND e.rel = 3 AND (e.rank, e.src) > (?2, 0) AND t.deleted_at IS NULL
    ORDER BY e.rank, e.src LIMIT 101";

/// All linked records of a task that the nested page shows: assignee, followers, the sections of its memberships.
const RELATIVES: &str = "
    SELECT e.rel, n.gid, n.head, n.body FROM edge e
    CROSS JOIN node n ON n.gid = CASE e.rel WHEN 3 THEN e.aux ELSE e.dst END
    WHERE e.src = ?1 AND e.rel BETWEEN 1 AND 3";

/// Size of the scratch graph.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GraphShape {
    /// Tasks, all in one project.
    pub(crate) tasks: u64,
    /// Number of users from whom assignees and followers are drawn.
    pub(crate) users: u64,
    /// Followers of each task.
    pub(crate) followers: u64,
    /// Sections of the project.
    pub(crate) sections: u64,
    /// Bytes of a task's body.
    pub(crate) body: usize,
}

/// Scratch file with the graph in it.
pub(crate) struct BaselineGraph {
    connection: Connection,
    shape: GraphShape,
}

/// Opens a file as the store would.
pub(crate) fn open_existing(path: &Path) -> Result<Connection> {
    let connection = Connection::open(path)?;
    connection.execute_batch(PRAGMAS)?;
    // Without it SQLite often prepares statements again at each use, because statistics are compiled in.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    // Room for the statements of all rows of a create, and the rest.
    connection.set_prepared_statement_cache_capacity(64);
    Ok(connection)
}

/// Opens a file as the store would, with empty tables.
pub(crate) fn open(path: &Path) -> Result<Connection> {
    let connection = open_existing(path)?;
    connection.execute_batch(SCHEMA)?;
    Ok(connection)
}

/// Removes a file that was opened by `open` or `open_existing`, after its last connection.
pub(crate) fn discard(path: &Path) {
    for end in ["", "-wal", "-shm"] {
        let mut side = path.as_os_str().to_owned();
        side.push(end);
        // The side files are removed with the last connection; leftovers are removed with the scratch folder.
        let _ = std::fs::remove_file(side);
    }
}

impl BaselineGraph {
    /// Makes the file and fills it.
    pub(crate) fn build(folder: &Path, shape: GraphShape) -> Result<Self> {
        let mut connection = open(&folder.join("bare-graph.sqlite"))?;
        let change = connection.transaction()?;
        fill(&change, shape)?;
        change.commit()?;
        connection
            .execute_batch("ANALYZE; PRAGMA wal_checkpoint(TRUNCATE); PRAGMA query_only = ON;")?;
        Ok(Self { connection, shape })
    }

    /// Reads random tasks by gid, one after the other.
    pub(crate) fn point_reads(&self, time: Duration) -> Result<Figure> {
        let mut statement = self.connection.prepare(
            "SELECT kind, home, version, deleted_at, head, body FROM node WHERE gid = ?1",
        )?;
        let mut rng = Rng::fresh();
        let tasks = usize::try_from(self.shape.tasks)?;
        timed(time, || {
            let gid = TASK_GIDS + i64::try_from(rng.below(tasks))?;
            Ok(statement.query_row([gid], |row| {
                let (head, body) = (row.get_ref(4)?.as_str()?, row.get_ref(5)?.as_blob()?);
                Ok(std::hint::black_box(head.len() + body.len()))
            })?)
        })
    }

    /// Writes the nested page as JSON repeatedly.
    pub(crate) fn nested_pages(&self, time: Duration) -> Result<Figure> {
        let mut page = self.connection.prepare(PAGE)?;
        let mut relatives = self.connection.prepare(RELATIVES)?;
        let mut out = Vec::new();
        timed(time, || {
            out.clear();
            let read = Transaction::new_unchecked(&self.connection, TransactionBehavior::Deferred)?;
            write_page(&mut page, &mut relatives, &mut out)?;
            read.commit()?;
            Ok(std::hint::black_box(out.len()))
        })
    }

    /// Writes the nested page once.
    pub(crate) fn nested_page(&self) -> Result<Vec<u8>> {
        let mut out = Vec::new();
        let mut page = self.connection.prepare(PAGE)?;
        let mut relatives = self.connection.prepare(RELATIVES)?;
        write_page(&mut page, &mut relatives, &mut out)?;
        Ok(out)
    }
}

/// Repeats a step for a time. Returns its rate, and this thread's processor time per step.
pub(crate) fn timed(time: Duration, mut step: impl FnMut() -> Result<usize>) -> Result<Figure> {
    step()?;
    let (began, cpu) = (bench_clock::now(), procfs::thread_cpu()?);
    let mut count = 0_u32;
    let mut elapsed = Duration::ZERO;
    while elapsed < time {
        step()?;
        count += 1;
        elapsed = bench_clock::now().duration_since(began);
    }
    let cpu = procfs::thread_cpu()?.saturating_sub(cpu);
    let count = f64::from(count);
    Ok(Figure {
        rate: count / elapsed.as_secs_f64(),
        cpu: Some(cpu.as_secs_f64() * 1e6 / count),
        ..Figure::default()
    })
}

/// Returns the edges of a task: assignee, followers, and the project with the section in it.
pub(crate) fn task_edges(
    gid: i64,
    shape: GraphShape,
) -> impl Iterator<Item = (i64, i64, Option<i64>)> {
    let (users, sections) = (shape.users.max(1) as i64, shape.sections.max(1) as i64);
    let user = move |n: i64| USER_GIDS + (gid + n) % users;
    let followers = (shape.followers as i64).min(users);
    std::iter::once((ASSIGNEE, user(0), None))
        .chain((0..followers).map(move |n| (FOLLOWER, user(n), None)))
        .chain([(PROJECT, PROJECT_GID, Some(SECTION_GIDS + gid % sections))])
}

fn fill(change: &Transaction<'_>, shape: GraphShape) -> Result<()> {
    let mut node = change.prepare(INSERT_NODE)?;
    let mut edge = change.prepare(INSERT_EDGE)?;
    node.execute(params![
        WORKSPACE_GID,
        1,
        None::<i64>,
        "Workspace",
        fields(&[])
    ])?;
    node.execute(params![
        PROJECT_GID,
        2,
        WORKSPACE_GID,
        "All tasks",
        fields(&[])
    ])?;
    let sections = i64::try_from(shape.sections.max(1))?;
    for n in 0..sections {
        let name = format!("Section {n}");
        node.execute(params![
            SECTION_GIDS + n,
            3,
            WORKSPACE_GID,
            name,
            fields(&[])
        ])?;
    }
    let users = i64::try_from(shape.users.max(1))?;
    for n in 0..users {
        let email = format!("person{n}@example.com");
        let body = fields(&[email.as_bytes()]);
        node.execute(params![
            USER_GIDS + n,
            4,
            WORKSPACE_GID,
            format!("Person {n}"),
            body
        ])?;
    }
    for n in 0..i64::try_from(shape.tasks)? {
        let gid = TASK_GIDS + n;
        let due = format!("2026-{:02}-{:02}", n % 12 + 1, n % 28 + 1);
        let rest = vec![b'x'; shape.body.saturating_sub(20)];
        let body = fields(&[b"false", due.as_bytes(), &rest]);
        let name = format!("Task {n} of the benchmark");
        node.execute(params![gid, 5, WORKSPACE_GID, name, body])?;
        for (rel, dst, aux) in task_edges(gid, shape) {
            edge.execute(params![gid, rel, dst, n, aux])?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    #[test]
    fn the_page_has_what_a_nested_page_shows() {
        let folder = std::env::temp_dir().join(format!("workgraph-bench-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let shape = GraphShape {
            tasks: 250,
            users: 7,
            followers: 2,
            sections: 3,
            body: 200,
        };
        let scratch = BaselineGraph::build(&folder, shape).unwrap();
        let page: Value = serde_json::from_slice(&scratch.nested_page().unwrap()).unwrap();
        let short = Duration::from_millis(5);
        assert!(scratch.point_reads(short).unwrap().rate > 0.0);
        assert!(scratch.nested_pages(short).unwrap().rate > 0.0);
        drop(scratch);
        std::fs::remove_dir_all(&folder).unwrap();
        let tasks = page["data"].as_array().unwrap();
        assert_eq!(tasks.len(), 100);
        let second = &tasks[1];
        assert_eq!(second["assignee"]["email"], "person2@example.com");
        assert_eq!(second["followers"].as_array().unwrap().len(), 2);
        assert_eq!(second["memberships"][0]["section"]["name"], "Section 2");
        assert_eq!(second["due_on"], "2026-02-02");
        assert_eq!(second["completed"], false);
        assert!(page["next_page"]["offset"].is_string());
    }
}
