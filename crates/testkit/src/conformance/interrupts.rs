//! Reads that are stopped: whenever it is, they say so, and leave the store as it was.
use super::{Failure, Scene, ensure, same};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use workgraph_core::fault::Kind;
use workgraph_core::gid::Gid;
use workgraph_core::graph::{GraphStore, Page, StoreError, View, Want};
use workgraph_core::plan::{self, Names};
use workgraph_core::project::Projector;
use workgraph_core::registry::Type;
use workgraph_core::search::{By, Clause, Column, Effort, Order, Query, Search};
use workgraph_core::{Interrupt, Interrupted, tasks_of_container};

/// An interrupt that lets so many checks pass.
#[derive(Debug)]
struct After {
    checks: AtomicU32,
    stopped: AtomicBool,
}

impl Interrupt for After {
    fn check(&self, _steps: u32) -> Result<(), Interrupted> {
        let left = self
            .checks
            .fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1));
        left.map(drop).map_err(|_| {
            self.stopped.store(true, Relaxed);
            Interrupted::Deadline
        })
    }
}

fn under(want: &Want, checks: u32) -> (Want, Arc<After>) {
    let after = Arc::new(After {
        checks: AtomicU32::new(checks),
        stopped: AtomicBool::new(false),
    });
    let want = Want {
        interrupt: Some(Arc::clone(&after) as Arc<dyn Interrupt>),
        ..want.clone()
    };
    (want, after)
}

/// The checks that an interrupt which never stops anything sees.
const ALL: u32 = u32::MAX;

fn projected(view: &View) -> Result<Vec<u8>, workgraph_core::Fault> {
    let names =
        Names::parse("name,assignee.name,projects.name,memberships.section.name,followers")?;
    let plan = plan::asked(Type::Task, &names).plan;
    let mut projector = Projector::onto(Vec::new(), view, "", usize::MAX);
    projector.list(&view.rows.gids, &plan);
    Ok(projector.finish()?.0)
}

/// Stops a read and what is written of it at each of its checks.
async fn everywhere(store: &dyn GraphStore, want: &Want, rows: usize) -> Result<(), Failure> {
    let whole = store.load(want).await?;
    same(&whole.rows.gids.len(), &rows, "all rows are found")?;
    let (watched, after) = under(want, ALL);
    let view = store.load(&watched).await?;
    let checks = ALL - after.checks.load(Relaxed);
    ensure(checks > 1, "a long read checks its interrupt")?;
    let written = projected(&view);
    let all = ALL - after.checks.load(Relaxed);
    ensure(all > checks, "and so does writing what it found")?;
    let written = written.map_err(|e| Failure(e.message))?;
    for passed in 0..all {
        let (watched, after) = under(want, passed);
        let why = Interrupted::Deadline;
        let outcome = match store.load(&watched).await {
            Ok(view) => projected(&view).map_err(|fault| fault.kind == Kind::Interrupted(why)),
            Err(error) => Err(error == StoreError::Interrupted(why)),
        };
        let stopped = after.stopped.load(Relaxed);
        // What a store has in memory by now needs fewer checks.
        let right = if stopped {
            Err(true)
        } else {
            Ok(written.clone())
        };
        ensure(
            outcome == right,
            "a read that was stopped says so, and gives nothing",
        )?;
        let again = store.load(want).await?;
        same(
            &again.rows.gids,
            &whole.rows.gids,
            "the next finds the same",
        )?;
        same(
            &projected(&again).map_err(|e| Failure(e.message))?,
            &written,
            "and writes the same",
        )?;
    }
    Ok(())
}

async fn scene(store: &dyn GraphStore) -> Result<(Scene<'_>, Gid), Failure> {
    let mut scene = Scene::new(store).await?;
    let project = scene.fixture.project(scene.acme, "Long", scene.ann);
    let section = scene.fixture.section_in(project);
    for n in 0..TASKS {
        scene
            .fixture
            .task_in(section, &format!("word {n}"), scene.ann);
    }
    scene.commit().await?;
    Ok((scene, project))
}

const TASKS: usize = 150;

/// A page is stopped at each of its checks.
pub(super) async fn pages(store: &dyn GraphStore) -> Result<(), Failure> {
    let (scene, project) = scene(store).await?;
    let mut want = scene.want();
    let anchor = want.add(project);
    want.page = Some(Page::of(tasks_of_container(anchor, false), false, TASKS));
    let names = Names::parse("name,assignee.name,projects.name,memberships.section.name,followers");
    let names = names.map_err(|e| Failure(e.message))?;
    want.page_plan = Some(plan::asked(Type::Task, &names).plan);
    everywhere(store, &want, TASKS).await
}

/// A search is stopped at each of its checks.
pub(super) async fn searches(store: &dyn GraphStore) -> Result<(), Failure> {
    let (scene, project) = scene(store).await?;
    for order in [
        Order::Column(Column::Modified),
        Order::Column(Column::Created),
    ] {
        let mut want = scene.want();
        let place = want.add(scene.acme);
        let project = want.add(project);
        let query = Query {
            ty: Type::Task,
            clauses: vec![Clause::Any(vec![(By::Project, project)])],
            order,
            ascending: true,
        };
        want.search = Some(Search {
            place,
            queries: vec![query],
            limit: TASKS,
            cap: 10_000,
            effort: Effort::USUAL,
        });
        everywhere(store, &want, TASKS).await?;
    }
    Ok(())
}
