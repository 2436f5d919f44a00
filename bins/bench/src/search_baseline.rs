//! Searches: the requests to the server, and the corresponding bare SQLite queries.

use anyhow::{Context, Result, bail};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rusqlite::{Connection, params};
use serde_json::{Value, json};

use crate::graph_builder::{Graph, TaskTraits};
use crate::http_client::BenchClient;
use crate::loadgen::Rng;
use crate::measure::Figure;
use crate::sqlite_baseline::{GraphShape, timed};
use crate::{graph_builder, sqlite_baseline};

/// Tasks with a value of the custom field, and the number of different values.
const VALUED: usize = 2_000;
const VALUES: usize = 200;
/// Number of different requests of a row.
const PATHS: usize = 2_000;

/// Search that a row measures.
#[derive(Clone, Copy)]
pub(crate) enum SearchKind {
    /// A word in a single task.
    Text,
    /// An assignee's open tasks due within two weeks.
    Assigned,
    /// A number in a custom field.
    Field,
    /// Names with a word that begins with the text.
    Typeahead,
}

/// Returns the paths of a search; creates the objects to find, if they do not exist yet.
pub(crate) fn paths(
    client: &BenchClient,
    graph: &Graph,
    find: SearchKind,
) -> Result<Arc<Vec<String>>> {
    let first = graph.tasks.first().context("no tasks")?;
    let task = client.get(&format!(
        "/api/1.0/tasks/{first}?opt_fields=workspace,assignee"
    ))?;
    let workspace = text(&task, "/data/workspace/gid")?;
    let at = format!("/api/1.0/workspaces/{workspace}");
    let users = client.get(&format!(
        "/api/1.0/users?workspace={workspace}&limit=100&opt_fields=gid"
    ))?;
    let users = graph_builder::list(&users, "data")?
        .iter()
        .map(|user| text(user, "/gid"))
        .collect::<Result<Vec<_>>>()?;
    let mut rng = Rng::new(1);
    let tasks = graph.tasks.len();
    let field = match find {
        SearchKind::Field => field(client, graph, &workspace)?,
        _ => String::new(),
    };
    let path = |_| {
        let number = rng.below(tasks);
        match find {
            SearchKind::Text => format!("{at}/tasks/search?text={number}&limit=20"),
            SearchKind::Assigned => {
                let user = users
                    .get(number % users.len().max(1))
                    .map_or("me", String::as_str);
                let month = number % 12 + 1;
                format!(
                    "{at}/tasks/search?assignee.any={user}&completed=false&limit=20\
                     &due_on.after=2027-{month:02}-01&due_on.before=2027-{month:02}-15"
                )
            }
            SearchKind::Field => {
                let value = number % VALUES;
                format!("{at}/tasks/search?custom_fields.{field}.value={value}&limit=20")
            }
            SearchKind::Typeahead => {
                format!("{at}/typeahead?resource_type=task&query={}", number / 10)
            }
        }
    };
    Ok(Arc::new((0..PATHS).map(path).collect()))
}

/// Creates a number field and sets its values.
fn field(client: &BenchClient, graph: &Graph, workspace: &str) -> Result<String> {
    let body = json!({"data": {"workspace": workspace, "name": "Benchmark number",
        "resource_subtype": "number", "precision": 0}});
    let made = client.post("/api/1.0/custom_fields", &body)?;
    let field = text(&made, "/data/gid")?;
    let body = json!({"data": {"custom_field": field}});
    let path = format!("/api/1.0/projects/{}/addCustomFieldSetting", graph.project);
    client.post(&path, &body)?;
    let all: Vec<(usize, &String)> = graph.tasks.iter().enumerate().take(VALUED).collect();
    for ten in all.chunks(10) {
        let action = |(number, task): &(usize, &String)| {
            json!({"method": "put", "relative_path": format!("/tasks/{task}"),
                "data": {"custom_fields": {(field.as_str()): number % VALUES}}})
        };
        let actions: Vec<Value> = ten.iter().map(action).collect();
        let done = client.post("/api/1.0/batch", &json!({"data": {"actions": actions}}))?;
        let failed = |outcome: &&Value| outcome.get("status_code") != Some(&json!(200));
        if let Some(outcome) = graph_builder::list(&done, "data")?.iter().find(failed) {
            bail!("giving a task a value: {outcome}");
        }
    }
    Ok(field)
}

/// Returns a day as a number that sorts like it: 131 for 31 January.
fn day((month, day): (usize, usize)) -> i64 {
    (month * 100 + day) as i64
}

fn text(value: &Value, pointer: &str) -> Result<String> {
    let found = value.pointer(pointer).and_then(Value::as_str);
    Ok(found.with_context(|| format!("no {pointer}"))?.to_owned())
}

/// Tables with only the columns that the searches need.
pub(crate) struct SearchTables {
    connection: Connection,
    shape: GraphShape,
}

impl SearchTables {
    /// Makes the file and fills it.
    pub(crate) fn build(folder: &Path, shape: GraphShape) -> Result<Self> {
        let path = folder.join("bare-search.sqlite");
        let known = path.exists();
        let mut connection = if known {
            Connection::open(&path)?
        } else {
            sqlite_baseline::open(&path)?
        };
        if !known {
            let change = connection.transaction()?;
            change.execute_batch(
                "CREATE TABLE found (gid INTEGER PRIMARY KEY, who INTEGER, done INTEGER, due INTEGER,
                     modified INTEGER, name TEXT);
                 CREATE INDEX found_who ON found (who, done, due, modified, name);
                 CREATE VIRTUAL TABLE words USING fts5(name, content='', detail=column, tokenize='ascii');
                 CREATE TABLE value (key REAL, gid INTEGER, PRIMARY KEY (key, gid)) WITHOUT ROWID;",
            )?;
            for n in 0..i64::try_from(shape.tasks)? {
                // The tasks have the same properties as those in the graph.
                let index = n.unsigned_abs();
                let traits = TaskTraits::of(index, usize::try_from(shape.users)?);
                let (name, responsible, due) = (
                    graph_builder::name(index),
                    traits.user as i64,
                    day(traits.due),
                );
                let mut insert =
                    change.prepare_cached("INSERT INTO found VALUES (?1, ?2, 0, ?3, ?1, ?4)")?;
                insert.execute(params![n, responsible, due, name])?;
                let mut insert =
                    change.prepare_cached("INSERT INTO words (rowid, name) VALUES (?1, ?2)")?;
                insert.execute(params![n, name])?;
                if n < VALUED as i64 {
                    let mut insert = change.prepare_cached("INSERT INTO value VALUES (?1, ?2)")?;
                    insert.execute(params![n % VALUES as i64, n])?;
                }
            }
            change.commit()?;
        }
        Ok(Self { connection, shape })
    }

    /// Runs queries one after the other for a time.
    pub(crate) fn run(&self, find: SearchKind, time: Duration) -> Result<Figure> {
        const WORDS: &str = "SELECT f.gid, f.name FROM words CROSS JOIN found f ON f.gid = words.rowid \
            WHERE words MATCH ?1 ORDER BY f.modified DESC LIMIT 20";
        let sql = match find {
            SearchKind::Text | SearchKind::Typeahead => WORDS,
            SearchKind::Assigned => {
                "SELECT gid, name FROM found WHERE who = ?1 AND done = 0 AND due > ?2 AND due < ?3 \
                 ORDER BY modified DESC LIMIT 20"
            }
            SearchKind::Field => {
                "SELECT f.gid, f.name FROM value v CROSS JOIN found f ON f.gid = v.gid WHERE v.key = ?1 \
                 ORDER BY f.modified DESC LIMIT 20"
            }
        };
        let mut statement = self.connection.prepare(sql)?;
        let mut rng = Rng::fresh();
        let tasks = usize::try_from(self.shape.tasks)?;
        let users = i64::try_from(self.shape.users.max(1))?;
        timed(time, || {
            let number = rng.below(tasks);
            let n = i64::try_from(number)?;
            let mut rows = match find {
                SearchKind::Text => statement.query([format!("\"{number}\"")])?,
                SearchKind::Typeahead => statement.query([format!("\"{}\" *", number / 10)])?,
                SearchKind::Assigned => {
                    let month = number % 12 + 1;
                    statement.query(params![n % users, day((month, 1)), day((month, 15))])?
                }
                SearchKind::Field => statement.query([n % VALUES as i64])?,
            };
            let mut size = 0;
            while let Some(row) = rows.next()? {
                size += row.get_ref(1)?.as_str()?.len();
            }
            Ok(std::hint::black_box(size))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bare_query_finds_something() {
        let folder = std::env::temp_dir().join(format!("workgraph-finding-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let shape = GraphShape {
            tasks: 3_000,
            users: 7,
            followers: 2,
            sections: 3,
            body: 200,
        };
        let bare = SearchTables::build(&folder, shape).unwrap();
        for find in [
            SearchKind::Text,
            SearchKind::Assigned,
            SearchKind::Field,
            SearchKind::Typeahead,
        ] {
            let figure = bare.run(find, Duration::from_millis(5)).unwrap();
            assert!(figure.rate > 0.0);
        }
        drop(bare);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
