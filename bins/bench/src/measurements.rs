//! The measurement of each row: ours and its ceiling, round by round.

use anyhow::{Context, Result, bail};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use crate::bench_rows::BenchRow;
use crate::bench_run::Bench;
use crate::graph_builder::NESTED;
use crate::group_commit::{CommitContent, GROUP};
use crate::loadgen::{RequestMaker, Rng};
use crate::measure::{self, Figure};
use crate::oauth_fixture::OAuthFixture;
use crate::project_copy::{CopySource, STEP};
use crate::record_paths;
use crate::recorded_create::RecordedCreate;
use crate::search_baseline::{SearchKind, SearchTables};
use crate::server_process::ServerProcess;
use crate::webhook_receiver::WebhookReceiver;
use crate::{graph_builder, group_commit as commits, http_client, search_baseline};

/// Number of tasks before the deep page.
const DEPTH: usize = 50_000;
/// Number of tasks that are read repeatedly.
const WORKING_SET: usize = 50_000;
/// Number of reads in a batch.
const BATCH: usize = 10;
/// Creates per second, each of which is one event for a webhook.
const PACE: u32 = 1_000;

/// Returns a maker of GETs whose paths are chosen at random from these.
pub(crate) fn gets(token: &str, paths: Arc<Vec<String>>) -> Arc<RequestMaker> {
    let token = token.to_owned();
    Arc::new(move |rng: &mut Rng, _, out: &mut Vec<u8>| {
        let path = paths
            .get(rng.below(paths.len()))
            .map_or("/", String::as_str);
        http_client::write_get(out, path, &token);
    })
}

/// Kind of measurement of a row, with its inputs.
pub(crate) enum Measurement {
    /// Requests over the given number of connections, compared with bare hyper.
    Hyper(usize, Arc<RequestMaker>, ServerProcess),
    /// The nested page compared with that of bare SQLite.
    SqlitePage(Arc<RequestMaker>),
    /// Requests over one connection, compared with other requests to the same server: the given number of them for each.
    Other(Arc<RequestMaker>, Arc<RequestMaker>, usize),
    /// Creates compared with a group commit.
    Create(Arc<RequestMaker>, CommitContent),
    /// Creates, compared with group commits of the rows that one create wrote.
    Copies(Arc<RequestMaker>, RecordedCreate),
    /// A search, compared with the query alone.
    Find(Arc<RequestMaker>, SearchKind, SearchTables),
    /// A copy of a project compared with a group commit.
    Copy(CopySource),
    /// Creates with the given number of webhooks compared with creates without webhooks.
    Hooked(WebhookReceiver, String, Arc<RequestMaker>, usize),
    /// Delay until a webhook delivers an event, compared with bare hyper.
    Lag(WebhookReceiver, String, Arc<RequestMaker>, ServerProcess),
}

/// Requests of a measurement without its ceiling.
pub(crate) struct LoadRequests {
    pub(crate) connections: usize,
    pub(crate) make: Arc<RequestMaker>,
}

impl Bench<'_> {
    /// Returns the requests of a measurement to our server; `None` if the measurement has other parts. Creates its webhooks.
    pub(crate) fn requests(&self, job: &Measurement) -> Result<Option<LoadRequests>> {
        let (connections, make) = match job {
            Measurement::Hyper(connections, make, _) => (*connections, make),
            Measurement::SqlitePage(make) | Measurement::Find(make, ..) => (16, make),
            Measurement::Other(make, ..) => (1, make),
            Measurement::Create(make, _) | Measurement::Copies(make, _) => {
                (graph_builder::WRITERS, make)
            }
            Measurement::Hooked(receiver, project, make, hooks) => {
                receiver.watch(&self.client, project, *hooks, &json!([]))?;
                (graph_builder::WRITERS, make)
            }
            Measurement::Copy(_) | Measurement::Lag(..) => return Ok(None),
        };
        let make = Arc::clone(make);
        Ok(Some(LoadRequests { connections, make }))
    }

    /// Returns the measurement of a row; creates the required objects if they do not exist yet.
    pub(crate) fn job(&mut self, row: &BenchRow) -> Result<Measurement> {
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
                // Drawn once from the whole graph; requested repeatedly.
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
            "page-nested" => return Ok(Measurement::SqlitePage(get(page(Some(NESTED), None)))),
            "portfolio-items" => (
                16,
                vec![record_paths::portfolio(&self.client, &self.graph)?],
            ),
            "goal-tree" => (16, vec![record_paths::goals(&self.client, &self.graph)?]),
            "tracked-time" => (
                16,
                vec![record_paths::tracked_time(&self.client, &self.graph)?],
            ),
            "introspection" => {
                let granted = OAuthFixture::get(&self.client, &self.data)?;
                return self.posts(row, 16, granted.introspections());
            }
            "refresh" => {
                let granted = OAuthFixture::get(&self.client, &self.data)?;
                return self.posts(row, graph_builder::WRITERS, granted.refreshes());
            }
            "refresh-one-row" => {
                let granted = OAuthFixture::get(&self.client, &self.data)?;
                return Ok(Measurement::Create(granted.refreshes(), CommitContent::Row));
            }
            "batch" => return self.posts(row, 1, batches(&token, Arc::clone(&self.graph.tasks))),
            "batch-singles" => {
                let batches = batches(&token, Arc::clone(&self.graph.tasks));
                return Ok(Measurement::Other(batches, get(tasks(usize::MAX)), BATCH));
            }
            "search-text" => return self.find(SearchKind::Text),
            "search-assigned" => return self.find(SearchKind::Assigned),
            "search-field" => return self.find(SearchKind::Field),
            "typeahead" => return self.find(SearchKind::Typeahead),
            "create-one-row" => return Ok(Measurement::Create(create(), CommitContent::Row)),
            "create" => {
                // One create now, so that the newest task is like the later ones.
                measure::load(&self.server, 1, Duration::from_millis(1), &create())?;
                return Ok(Measurement::Copies(
                    create(),
                    RecordedCreate::read(&self.data)?,
                ));
            }
            "create-hook" => return self.hooked(1),
            "create-hooks" => return self.hooked(1_000),
            "copy-project" => {
                return Ok(Measurement::Copy(CopySource::make(
                    &self.client,
                    &self.graph,
                )?));
            }
            "delivery" => {
                let (project, make) = self.graph.project(&self.client, "Benchmark events")?;
                let bare = ServerProcess::bare(self.folder, row.name, 2)?;
                return Ok(Measurement::Lag(
                    WebhookReceiver::start()?,
                    project,
                    make,
                    bare,
                ));
            }
            "page-depth" => {
                let (offset, depth) = self.graph.walk(&self.client, DEPTH)?;
                let first = get(page(Some("name"), None));
                let deep = get(page(Some("name"), Some(&offset)));
                self.notes
                    .push(format!("The deep page begins behind {depth} tasks."));
                return Ok(Measurement::Other(deep, first, 1));
            }
            other => bail!("no measurement is named {other}"),
        };
        let size = self
            .client
            .get_bytes(paths.first().context("no paths")?)?
            .len();
        let bare = ServerProcess::bare(self.folder, row.name, size)?;
        Ok(Measurement::Hyper(connections, get(paths), bare))
    }

    /// Returns the measurement of POSTs, compared with bare hyper that sends responses of the same size.
    fn posts(
        &self,
        row: &BenchRow,
        connections: usize,
        make: Arc<RequestMaker>,
    ) -> Result<Measurement> {
        let mut request = Vec::new();
        make(&mut Rng::new(1), 0, &mut request);
        let (_, body) = http_client::whole(self.client.addr, &request)?;
        let bare = ServerProcess::bare(self.folder, row.name, body.len())?;
        Ok(Measurement::Hyper(connections, make, bare))
    }

    fn find(&self, find: SearchKind) -> Result<Measurement> {
        let paths = search_baseline::paths(&self.client, &self.graph, find)?;
        let bare = SearchTables::build(self.folder, self.shape)?;
        Ok(Measurement::Find(
            gets(&self.client.token, paths),
            find,
            bare,
        ))
    }

    fn hooked(&self, hooks: usize) -> Result<Measurement> {
        let name = format!("Benchmark with {hooks} webhooks");
        let (project, make) = self.graph.project(&self.client, &name)?;
        Ok(Measurement::Hooked(
            WebhookReceiver::start()?,
            project,
            make,
            hooks,
        ))
    }

    /// Measures one round of a row: ours and the ceiling's. The sides alternate in going first.
    pub(crate) fn step(&self, job: &Measurement, round: u32) -> Result<(Figure, Figure)> {
        let time = self.time();
        let load = |server: &ServerProcess, connections, make: &Arc<RequestMaker>| {
            measure::load(server, connections, time, make)
        };
        let commits = |grain| commits::run(self.folder, time, self.shape, grain);
        let ours = &self.server;
        let turns = RunOrder {
            ours_first: round.is_multiple_of(2),
        };
        match job {
            Measurement::Hyper(connections, make, bare) => turns.take(
                || load(ours, *connections, make),
                || load(bare, *connections, make),
            ),
            Measurement::SqlitePage(make) => {
                turns.take(|| load(ours, 16, make), || self.scratch.nested_pages(time))
            }
            Measurement::Other(make, other, count) => turns.take(
                || load(ours, 1, make),
                || Ok(load(ours, 1, other)?.times(1.0 / *count as f64)),
            ),
            Measurement::Find(make, find, bare) => {
                turns.take(|| load(ours, 16, make), || bare.run(*find, time))
            }
            Measurement::Create(make, grain) => turns.take(
                || load(ours, graph_builder::WRITERS, make),
                || commits((*grain, GROUP)),
            ),
            Measurement::Copies(make, create) => turns.take(
                || load(ours, graph_builder::WRITERS, make),
                || create.run(self.folder, time, GROUP),
            ),
            Measurement::Copy(original) => turns.take(
                || original.copy(ours, &self.client),
                || commits((CommitContent::Task, STEP)),
            ),
            Measurement::Hooked(receiver, project, make, hooks) => turns.take(
                || {
                    let made = receiver.watch(&self.client, project, *hooks, &json!([]))?;
                    let with = load(ours, graph_builder::WRITERS, make)?;
                    // Pending events of these webhooks must not be delivered while the next row is measured.
                    for hook in made {
                        self.client.delete(&format!("/api/1.0/webhooks/{hook}"))?;
                    }
                    Ok(with)
                },
                || load(ours, graph_builder::WRITERS, make),
            ),
            Measurement::Lag(receiver, project, make, bare) => turns.take(
                || receiver.lag(ours, &self.client, (project, make), PACE, time),
                || load(bare, 1, make),
            ),
        }
    }
}

/// Order of the two sides of a round. They alternate in going first, so that a slow moment or a warm cache affects
/// both.
struct RunOrder {
    ours_first: bool,
}

impl RunOrder {
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

/// Returns a maker of batches of reads of random tasks.
fn batches(token: &str, tasks: Arc<Vec<String>>) -> Arc<RequestMaker> {
    let token = token.to_owned();
    Arc::new(move |rng: &mut Rng, _, out: &mut Vec<u8>| {
        let action = |_| {
            let task = tasks.get(rng.below(tasks.len()));
            let path = format!("/tasks/{}", task.map_or("", String::as_str));
            json!({"method": "get", "relative_path": path})
        };
        let actions: Vec<Value> = (0..BATCH).map(action).collect();
        let body = json!({"data": {"actions": actions}}).to_string();
        http_client::write_post(out, "/api/1.0/batch", &token, &body);
    })
}
