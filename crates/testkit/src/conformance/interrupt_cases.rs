//! Interrupted reads: they report the interrupt at any check, and leave the store unchanged.
use super::{GraphStoreFailure, StoreScene, ensure, same};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU32};
use workgraph_core::domain_error::DomainErrorKind;
use workgraph_core::model::gid::Gid;
use workgraph_core::model::registry::Type;
use workgraph_core::plan;
use workgraph_core::plan::FieldPaths;
use workgraph_core::projection::projector::Projector;
use workgraph_core::search::{
    Clause, IndexColumn, Search, SearchEffort, SearchLink, SearchQuery, SortOrder,
};
use workgraph_core::storage::{GraphStore, GraphStoreError, PageQuery, ReadQuery, ReadView};
use workgraph_core::{Interrupt, InterruptReason, tasks_of_container};

/// Interrupt that allows a number of checks and then stops the read.
#[derive(Debug)]
struct InterruptAfter {
    checks: AtomicU32,
    stopped: AtomicBool,
}

impl Interrupt for InterruptAfter {
    fn check(&self, _steps: u32) -> Result<(), InterruptReason> {
        let left = self
            .checks
            .fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1));
        left.map(drop).map_err(|_| {
            self.stopped.store(true, Relaxed);
            InterruptReason::Deadline
        })
    }
}

fn under(want: &ReadQuery, checks: u32) -> (ReadQuery, Arc<InterruptAfter>) {
    let after = Arc::new(InterruptAfter {
        checks: AtomicU32::new(checks),
        stopped: AtomicBool::new(false),
    });
    let want = ReadQuery {
        interrupt: Some(Arc::clone(&after) as Arc<dyn Interrupt>),
        ..want.clone()
    };
    (want, after)
}

/// Number of checks for an interrupt that never stops.
const ALL: u32 = u32::MAX;

fn projected(view: &ReadView) -> Result<Vec<u8>, workgraph_core::DomainError> {
    let names =
        FieldPaths::parse("name,assignee.name,projects.name,memberships.section.name,followers")?;
    let plan = plan::resolve_fields(Type::Task, &names).plan;
    let mut projector = Projector::appending(Vec::new(), view, "", usize::MAX);
    projector.list(&view.rows.gids, &plan);
    Ok(projector.finish()?.0)
}

/// Stops a read and its projection at each of their checks, and checks that the next read finds the same as before.
async fn everywhere(
    store: &dyn GraphStore,
    want: &ReadQuery,
    rows: usize,
) -> Result<(), GraphStoreFailure> {
    let whole = store.load(want).await?;
    same(&whole.rows.gids.len(), &rows, "all rows are found")?;
    let (watched, after) = under(want, ALL);
    let view = store.load(&watched).await?;
    let checks = ALL - after.checks.load(Relaxed);
    ensure(checks > 1, "a long read checks its interrupt")?;
    let written = projected(&view);
    let all = ALL - after.checks.load(Relaxed);
    ensure(all > checks, "and so does writing what it found")?;
    let written = written.map_err(|e| GraphStoreFailure(e.message))?;
    for passed in 0..all {
        let (watched, after) = under(want, passed);
        let reason = InterruptReason::Deadline;
        let outcome = match store.load(&watched).await {
            Ok(view) => {
                projected(&view).map_err(|fault| fault.kind == DomainErrorKind::Interrupted(reason))
            }
            Err(error) => Err(error == GraphStoreError::Interrupted(reason)),
        };
        let stopped = after.stopped.load(Relaxed);
        // A store needs fewer checks for rows that are now in memory.
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
            &projected(&again).map_err(|e| GraphStoreFailure(e.message))?,
            &written,
            "and writes the same",
        )?;
    }
    Ok(())
}

async fn scene(store: &dyn GraphStore) -> Result<(StoreScene<'_>, Gid), GraphStoreFailure> {
    let mut scene = StoreScene::new(store).await?;
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

/// Checks that a page can be stopped at each of its checks.
pub(super) async fn pages(store: &dyn GraphStore) -> Result<(), GraphStoreFailure> {
    let (scene, project) = scene(store).await?;
    let mut want = scene.want();
    let anchor = want.add_ref(project);
    want.page = Some(PageQuery::of(
        tasks_of_container(anchor, false),
        false,
        TASKS,
    ));
    let names =
        FieldPaths::parse("name,assignee.name,projects.name,memberships.section.name,followers");
    let names = names.map_err(|e| GraphStoreFailure(e.message))?;
    want.page_plan = Some(plan::resolve_fields(Type::Task, &names).plan);
    everywhere(store, &want, TASKS).await
}

/// Checks that a search can be stopped at each of its checks.
pub(super) async fn searches(store: &dyn GraphStore) -> Result<(), GraphStoreFailure> {
    let (scene, project) = scene(store).await?;
    for order in [
        SortOrder::Column(IndexColumn::Modified),
        SortOrder::Column(IndexColumn::Created),
    ] {
        let mut want = scene.want();
        let workspace = want.add_ref(scene.acme);
        let project = want.add_ref(project);
        let query = SearchQuery {
            ty: Type::Task,
            clauses: vec![Clause::Any(vec![(SearchLink::Project, project)])],
            order,
            ascending: true,
        };
        want.search = Some(Search {
            workspace,
            queries: vec![query],
            limit: TASKS,
            cap: 10_000,
            effort: SearchEffort::USUAL,
        });
        everywhere(store, &want, TASKS).await?;
    }
    Ok(())
}
