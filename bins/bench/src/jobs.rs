//! How each row is measured: ours and its ceiling, round by round.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use crate::Result;
use crate::bench::Bench;
use crate::child::Server;
use crate::commits::{self, GROUP, Grain};
use crate::copies::Create;
use crate::copying::{Original, STEP};
use crate::finding::{self, Bare, Find};
use crate::graph::{self, NESTED};
use crate::hooks::Receiver;
use crate::http;
use crate::loadgen::{Make, Rng};
use crate::measure::{self, Figure};
use crate::oauth::Granted;
use crate::rows::Row;

/// The depth of the deep page.
const DEPTH: usize = 50_000;
/// How many tasks are read again and again.
const WORKING_SET: usize = 50_000;
/// How many reads a batch has.
const BATCH: usize = 10;
/// Creates a second of which each is one event for a webhook.
const PACE: u32 = 1_000;

/// Makes GETs of random ones of these paths.
pub(crate) fn gets(token: &str, paths: Arc<Vec<String>>) -> Arc<Make> {
    let token = token.to_owned();
    Arc::new(move |rng: &mut Rng, _, out: &mut Vec<u8>| {
        let path = paths
            .get(rng.below(paths.len()))
            .map_or("/", String::as_str);
        http::write_get(out, path, &token);
    })
}

/// How a row is measured.
pub(crate) enum Job {
    /// Beside bare hyper.
    Hyper(usize, Arc<Make>, Server),
    /// The nested page beside that of bare SQLite.
    SqlitePage(Arc<Make>),
    /// Over one connection, beside other requests to the same server: so many of them for each.
    Other(Arc<Make>, Arc<Make>, usize),
    /// Creates beside a group commit.
    Create(Arc<Make>, Grain),
    /// Creates beside a group commit of the rows that one of them wrote.
    Copies(Arc<Make>, Create),
    /// A search beside its bare query.
    Find(Arc<Make>, Find, Bare),
    /// A copy of a project beside a group commit.
    Copy(Original),
    /// Creates with so many webhooks beside creates with none.
    Hooked(Receiver, String, Arc<Make>, usize),
    /// How late a webhook tells, beside bare hyper.
    Lag(Receiver, String, Arc<Make>, Server),
}

impl Bench<'_> {
    /// What a row takes; makes it, if it is not there yet.
    pub(crate) fn job(&mut self, row: &Row) -> Result<Job> {
        let tasks = |limit: usize| -> Vec<String> {
            let gids = self.graph.tasks.iter().take(limit);
            gids.map(|gid| format!("/api/1.0/tasks/{gid}")).collect()
        };
        let page = |fields, offset| vec![self.graph.page(fields, offset)];
        let token = self.client.token.clone();
        let get = |paths: Vec<String>| gets(&token, Arc::new(paths));
        let create = || Arc::clone(&self.graph.create);
        let (connections, paths) = match row.name {
            "task-random" => (16, tasks(usize::MAX)),
            "task-working-set" => {
                // Drawn once, from all over the graph; asked for again and again.
                let (all, mut rng) = (&self.graph.tasks, Rng::fresh());
                let draw = |_| all.get(rng.below(all.len())).map_or("", String::as_str);
                let drawn = (0..WORKING_SET).map(draw);
                (
                    16,
                    drawn.map(|gid| format!("/api/1.0/tasks/{gid}")).collect(),
                )
            }
            "task-one-connection" => (1, tasks(usize::MAX)),
            "task-hot" => (16, tasks(1)),
            "users-me" => (16, vec!["/api/1.0/users/me".to_owned()]),
            "page-compact" => (16, page(None, None)),
            "page-nested" => return Ok(Job::SqlitePage(get(page(Some(NESTED), None)))),
            "introspection" => {
                let granted = Granted::get(&self.client, &self.data)?;
                return self.posts(row, 16, granted.introspections());
            }
            "refresh" => {
                let granted = Granted::get(&self.client, &self.data)?;
                return self.posts(row, graph::WRITERS, granted.refreshes());
            }
            "refresh-one-row" => {
                let granted = Granted::get(&self.client, &self.data)?;
                return Ok(Job::Create(granted.refreshes(), Grain::Row));
            }
            "batch" => return self.posts(row, 1, batches(&token, Arc::clone(&self.graph.tasks))),
            "batch-singles" => {
                let batches = batches(&token, Arc::clone(&self.graph.tasks));
                return Ok(Job::Other(batches, get(tasks(usize::MAX)), BATCH));
            }
            "search-text" => return self.find(Find::Text),
            "search-assigned" => return self.find(Find::Assigned),
            "search-field" => return self.find(Find::Field),
            "typeahead" => return self.find(Find::Typeahead),
            "create-one-row" => return Ok(Job::Create(create(), Grain::Row)),
            "create" => {
                // One now, so that the newest is as the others will be.
                measure::load(&self.server, 1, Duration::from_millis(1), &create())?;
                return Ok(Job::Copies(create(), Create::read(&self.data)?));
            }
            "create-hook" => return self.hooked(1),
            "create-hooks" => return self.hooked(1_000),
            "copy-project" => {
                return Ok(Job::Copy(Original::make(&self.client, &self.graph)?));
            }
            "delivery" => {
                let (project, make) = self.graph.project(&self.client, "Benchmark events")?;
                let bare = Server::bare(self.folder, row.name, 2)?;
                return Ok(Job::Lag(Receiver::start()?, project, make, bare));
            }
            "page-depth" => {
                let (offset, depth) = self.graph.walk(&self.client, DEPTH)?;
                let first = get(page(Some("name"), None));
                let deep = get(page(Some("name"), Some(&offset)));
                self.notes
                    .push(format!("The deep page begins behind {depth} tasks."));
                return Ok(Job::Other(deep, first, 1));
            }
            other => return Err(format!("no measurement is named {other}").into()),
        };
        let size = self
            .client
            .get_bytes(paths.first().ok_or("no paths")?)?
            .len();
        let bare = Server::bare(self.folder, row.name, size)?;
        Ok(Job::Hyper(connections, get(paths), bare))
    }

    /// Posts, beside bare hyper with replies of their size.
    fn posts(&self, row: &Row, connections: usize, make: Arc<Make>) -> Result<Job> {
        let mut request = Vec::new();
        make(&mut Rng::new(1), 0, &mut request);
        let (_, body) = http::whole(self.client.addr, &request)?;
        let bare = Server::bare(self.folder, row.name, body.len())?;
        Ok(Job::Hyper(connections, make, bare))
    }

    fn find(&self, find: Find) -> Result<Job> {
        let paths = finding::paths(&self.client, &self.graph, find)?;
        let bare = Bare::build(self.folder, self.shape)?;
        Ok(Job::Find(gets(&self.client.token, paths), find, bare))
    }

    fn hooked(&self, hooks: usize) -> Result<Job> {
        let name = format!("Benchmark with {hooks} webhooks");
        let (project, make) = self.graph.project(&self.client, &name)?;
        Ok(Job::Hooked(Receiver::start()?, project, make, hooks))
    }

    /// Measures one round of a row: ours and the ceiling's. The sides take turns in going first.
    pub(crate) fn step(&self, job: &Job, round: u32) -> Result<(Figure, Figure)> {
        let time = self.time();
        let load = |server: &Server, connections, make: &Arc<Make>| {
            measure::load(server, connections, time, make)
        };
        let commits = |grain| commits::run(self.folder, time, self.shape, grain);
        let ours = &self.server;
        let turns = Turns {
            ours_first: round.is_multiple_of(2),
        };
        match job {
            Job::Hyper(connections, make, bare) => turns.take(
                || load(ours, *connections, make),
                || load(bare, *connections, make),
            ),
            Job::SqlitePage(make) => {
                turns.take(|| load(ours, 16, make), || self.scratch.nested_pages(time))
            }
            Job::Other(make, other, count) => turns.take(
                || load(ours, 1, make),
                || Ok(load(ours, 1, other)?.times(1.0 / *count as f64)),
            ),
            Job::Find(make, find, bare) => {
                turns.take(|| load(ours, 16, make), || bare.run(*find, time))
            }
            Job::Create(make, grain) => turns.take(
                || load(ours, graph::WRITERS, make),
                || commits((*grain, GROUP)),
            ),
            Job::Copies(make, create) => turns.take(
                || load(ours, graph::WRITERS, make),
                || create.run(self.folder, time, GROUP),
            ),
            Job::Copy(original) => turns.take(
                || original.copy(ours, &self.client),
                || commits((Grain::Task, STEP)),
            ),
            Job::Hooked(receiver, project, make, hooks) => turns.take(
                || {
                    let made = receiver.watch(&self.client, project, *hooks, &json!([]))?;
                    let with = load(ours, graph::WRITERS, make)?;
                    // What waits for them is not to be told while the next row is measured.
                    for hook in made {
                        self.client.delete(&format!("/api/1.0/webhooks/{hook}"))?;
                    }
                    Ok(with)
                },
                || load(ours, graph::WRITERS, make),
            ),
            Job::Lag(receiver, project, make, bare) => turns.take(
                || receiver.lag(ours, &self.client, (project, make), PACE, time),
                || load(bare, 1, make),
            ),
        }
    }
}

/// The order of the two sides of a round: what a slow moment or a warm cache does to whoever goes first, it does to
/// both in turn.
struct Turns {
    ours_first: bool,
}

impl Turns {
    /// Measures both sides and returns ours and the ceiling's.
    fn take(
        &self,
        ours: impl FnOnce() -> Result<Figure>,
        ceiling: impl FnOnce() -> Result<Figure>,
    ) -> Result<(Figure, Figure)> {
        if self.ours_first {
            let ours = ours()?;
            return Ok((ours, ceiling()?));
        }
        let ceiling = ceiling()?;
        Ok((ours()?, ceiling))
    }
}

/// Makes batches of reads of random tasks.
fn batches(token: &str, tasks: Arc<Vec<String>>) -> Arc<Make> {
    let token = token.to_owned();
    Arc::new(move |rng: &mut Rng, _, out: &mut Vec<u8>| {
        let action = |_| {
            let task = tasks.get(rng.below(tasks.len()));
            let path = format!("/tasks/{}", task.map_or("", String::as_str));
            json!({"method": "get", "relative_path": path})
        };
        let actions: Vec<Value> = (0..BATCH).map(action).collect();
        let body = json!({"data": {"actions": actions}}).to_string();
        http::write_post(out, "/api/1.0/batch", &token, &body);
    })
}
