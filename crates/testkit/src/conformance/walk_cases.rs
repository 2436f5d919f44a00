//! Cases about paged walks during concurrent writes.
use super::page_cases::{ListUnderTest, all_tags, first, following, of_project};
use super::{GraphStoreFailure, StoreScene, ensure, same};
use workgraph_core::model::gid::Gid;
use workgraph_core::model::registry::{Type, rel};
use workgraph_core::model::resources::tag;
use workgraph_core::storage::{GraphStore, ListPosition, PageQuery};

pub(super) async fn bounded(store: &dyn GraphStore) -> Result<(), GraphStoreFailure> {
    let mut scene = StoreScene::new(store).await?;
    let (project, _) = scene.launch().await?;
    for n in 0..6 {
        scene.fixture.tag(scene.acme, &format!("tag {n}"));
    }
    scene.commit().await?;
    let section = scene.fixture.section_in(project);
    let lists: [ListUnderTest; 2] = [(project, of_project), (scene.acme, all_tags)];
    for list in lists {
        let expected = scene.walk(scene.ann, list, first(50)).await?;
        let page = first(2);
        let rows = scene.page(scene.ann, list, page.clone()).await?;
        same(&rows.max_seq, &scene.seq().await?, "a walk begins now")?;
        let mut found = rows.gids.clone();

        // New rows at both ends, and a new version of an old one.
        let late = scene.fixture.task_in(section, "late", scene.ann);
        let early = scene.fixture.task(scene.acme, "early", scene.ann);
        scene.fixture.link(
            early,
            rel::SECTION,
            section,
            ListPosition::First,
            Some(project),
        );
        let new = scene.fixture.tag(scene.acme, "new");
        let last = expected.last().copied().unwrap_or(project);
        let view = scene.load(scene.want().node(last)).await?;
        if let Some(node) = view.node(last).filter(|n| n.ty == Type::Tag) {
            scene.fixture.edit(node, tag::NAME, "edited");
        }
        scene.commit().await?;

        found.extend(scene.walk(scene.ann, list, following(&page, &rows)).await?);
        same(
            &found,
            &expected,
            "rows that came later are not part of a walk",
        )?;
        let again = scene.walk(scene.ann, list, first(2)).await?;
        let wanted: &[Gid] = if list.0 == project {
            &[late, early]
        } else {
            &[new]
        };
        ensure(
            wanted.iter().all(|g| again.contains(g)),
            "a walk that begins later has them",
        )?;
    }
    Ok(())
}

pub(super) async fn among_changes(store: &dyn GraphStore) -> Result<(), GraphStoreFailure> {
    let mut scene = StoreScene::new(store).await?;
    let (project, tasks) = scene.launch().await?;
    let sections = scene.fixture.sections(project).to_vec();
    for gone in 0..tasks.len() {
        let page = first(2);
        let mut now: Vec<Gid> = scene
            .walk(scene.ann, (project, of_project), first(50))
            .await?;
        let mut rows = scene
            .page(scene.ann, (project, of_project), page.clone())
            .await?;
        let mut found = rows.gids.clone();
        let mut step = 0usize;
        while rows.next.is_some() {
            // One task is removed, one is put in front of another, and one goes into an empty section.
            let leaves = now.get((gone + 3 * step) % now.len().max(1)).copied();
            if let Some(gid) = leaves {
                scene.fixture.with(|work| work.trash(gid, Type::Task));
                now.retain(|g| *g != gid);
            }
            let fresh = scene.fixture.task(scene.acme, "fresh", scene.ann);
            let into = sections
                .get(step % sections.len())
                .copied()
                .unwrap_or(project);
            scene.fixture.link(
                fresh,
                rel::SECTION,
                into,
                ListPosition::First,
                Some(project),
            );
            scene.commit().await?;
            step += 1;
            rows = scene
                .page(scene.ann, (project, of_project), following(&page, &rows))
                .await?;
            found.extend(&rows.gids);
        }
        found.retain(|g| now.contains(g));
        same(&found, &now, "each row that stayed was seen once, in order")?;
    }
    Ok(())
}

pub(super) async fn cap(store: &dyn GraphStore) -> Result<(), GraphStoreFailure> {
    let mut scene = StoreScene::new(store).await?;
    let (project, tasks) = scene.launch().await?;
    let list: ListUnderTest = (project, of_project);
    let count = tasks.len();
    for limit in [1, 2, 4, 20] {
        let page = PageQuery {
            row_cap: 5,
            ..first(limit)
        };
        let found = scene.walk(scene.ann, list, page.clone()).await?;
        same(
            &found.as_slice(),
            &tasks.get(..5).unwrap_or_default(),
            "a walk ends at its cap",
        )?;
        let mut rows = scene.page(scene.ann, list, page.clone()).await?;
        while rows.next.is_some() && !rows.is_truncated {
            rows = scene.page(scene.ann, list, following(&page, &rows)).await?;
        }
        ensure(
            rows.is_truncated,
            "the last page of a walk that was cut says so",
        )?;
        let whole = PageQuery {
            row_cap: u32::try_from(count).unwrap_or(0),
            ..first(limit)
        };
        let mut rows = scene.page(scene.ann, list, whole.clone()).await?;
        while rows.next.is_some() && !rows.is_truncated {
            rows = scene
                .page(scene.ann, list, following(&whole, &rows))
                .await?;
        }
        ensure(!rows.is_truncated, "a list as long as the cap is not cut")?;
    }
    Ok(())
}
