//! Cases about the rows of a page.
use super::{GraphStoreFailure, StoreScene, ensure, same};
use workgraph_core::access::Role;
use workgraph_core::model::gid::Gid;
use workgraph_core::model::registry::{Direction, Type, rel};
use workgraph_core::model::resources::{tag, task};
use workgraph_core::model::time::Time;
use workgraph_core::storage::{
    EdgeEnd, GraphStore, GraphStoreError, ListPosition, ListSource, PageQuery, PageRows, RowFilter,
    Seq,
};

/// List under test: its anchor, and the function that makes its source.
pub(super) type ListUnderTest = (Gid, fn(usize) -> ListSource);

/// Returns the source of the tasks of a project.
pub(super) fn of_project(anchor: usize) -> ListSource {
    workgraph_core::tasks_of_container(anchor, false)
}

fn subtasks(anchor: usize) -> ListSource {
    ListSource::Edges {
        anchor,
        rel: rel::PARENT,
        dir: Direction::In,
        give: EdgeEnd::OtherEnd,
    }
}

fn tags(anchor: usize) -> ListSource {
    ListSource::Edges {
        anchor,
        rel: rel::TAGS,
        dir: Direction::Out,
        give: EdgeEnd::OtherEnd,
    }
}

fn memberships(anchor: usize) -> ListSource {
    ListSource::Edges {
        anchor,
        rel: rel::WORKSPACES,
        dir: Direction::In,
        give: EdgeEnd::Aux,
    }
}

/// Returns the source of the tags of a workspace.
pub(super) fn all_tags(anchor: usize) -> ListSource {
    ListSource::InWorkspace {
        anchor,
        ty: Type::Tag,
    }
}

fn projects(anchor: usize) -> ListSource {
    ListSource::InWorkspace {
        anchor,
        ty: Type::Project,
    }
}

fn by_title(anchor: usize) -> ListSource {
    ListSource::Alphabetical {
        anchor,
        rel: rel::TAGS,
        dir: Direction::Out,
    }
}

/// Returns the query of a page from the start, without conditions.
pub(super) fn first(limit: usize) -> PageQuery {
    let from = of_project(0);
    PageQuery {
        source: from,
        filters: Vec::new(),
        after: None,
        limit,
        max_seq: None,
        anchor_grants_access: false,
        rows_seen: 0,
        row_cap: u32::MAX,
    }
}

/// Returns the query of the page that follows a page with these rows.
pub(super) fn following(page: &PageQuery, rows: &PageRows) -> PageQuery {
    PageQuery {
        after: rows.next.clone(),
        max_seq: Some(rows.max_seq),
        rows_seen: rows.rows_seen,
        ..page.clone()
    }
}

impl StoreScene<'_> {
    pub(super) async fn page(
        &self,
        user: Gid,
        list: ListUnderTest,
        page: PageQuery,
    ) -> Result<PageRows, GraphStoreError> {
        let mut want = self.want_of(user);
        let anchor = want.add_ref(list.0);
        want.page = Some(PageQuery {
            source: list.1(anchor),
            ..page
        });
        Ok(self.load(want).await?.rows)
    }

    /// Reads all pages of a walk and joins them. Pages before the last one must be full.
    pub(super) async fn walk(
        &self,
        user: Gid,
        list: ListUnderTest,
        mut page: PageQuery,
    ) -> Result<Vec<Gid>, GraphStoreFailure> {
        let mut all = Vec::new();
        loop {
            let rows = self.page(user, list, page.clone()).await?;
            all.extend(&rows.gids);
            if rows.next.is_none() || rows.is_truncated {
                return Ok(all);
            }
            same(
                &rows.gids.len(),
                &page.limit,
                "a page that is not the last one is full",
            )?;
            page = following(&page, &rows);
        }
    }

    /// Builds a project with three sections, of which the second is empty; returns it with its tasks in order.
    pub(super) async fn launch(&mut self) -> Result<(Gid, Vec<Gid>), GraphStoreFailure> {
        let project = self.fixture.project(self.acme, "Launch", self.ann);
        let first = self.fixture.section_in(project);
        self.fixture.section(project, self.acme, "empty");
        let third = self.fixture.section(project, self.acme, "third");
        let mut tasks = Vec::new();
        for n in 0..9 {
            let section = if n < 5 { first } else { third };
            tasks.push(
                self.fixture
                    .task_in(section, &format!("task {n}"), self.ann),
            );
        }
        self.commit().await?;
        Ok((project, tasks))
    }

    /// Returns the number of commits so far.
    pub(super) async fn seq(&self) -> Result<Seq, GraphStoreError> {
        Ok(self.load(self.want()).await?.seq)
    }
}

pub(super) async fn joined(store: &dyn GraphStore) -> Result<(), GraphStoreFailure> {
    let mut scene = StoreScene::new(store).await?;
    let (project, tasks) = scene.launch().await?;
    let Some(parent) = tasks.first().copied() else {
        return Err(GraphStoreFailure("a task".into()));
    };
    let children: Vec<Gid> = (0..4)
        .map(|n| scene.fixture.subtask(parent, &format!("{n}"), scene.ann))
        .collect();
    let labels: Vec<Gid> = (0..40)
        .map(|n| scene.fixture.tag(scene.acme, &format!("tag {n}")))
        .collect();
    for label in labels.iter().rev() {
        scene
            .fixture
            .link(parent, rel::TAGS, *label, ListPosition::Rank(0), None);
    }
    let mut members = Vec::new();
    for name in ["Bob", "Cleo", "Dan"] {
        let user = scene.fixture.user(name, &format!("{name}@example.com"));
        members.push(
            scene
                .fixture
                .add_workspace_member(user, scene.acme, Role::Member),
        );
    }
    scene.commit().await?;
    let own = scene.load(scene.want()).await?;
    members.splice(
        0..0,
        own.viewer.memberships.iter().map(|s| s.membership_gid),
    );
    for (list, expected) in [
        ((project, of_project as fn(usize) -> ListSource), &tasks),
        ((parent, subtasks), &children),
        ((parent, tags), &labels),
        ((scene.acme, all_tags), &labels),
        ((scene.acme, memberships), &members),
        ((scene.acme, projects), &vec![project]),
        (
            (children.first().copied().unwrap_or(parent), subtasks),
            &Vec::new(),
        ),
    ] {
        for limit in (1..=expected.len() + 1).chain([100, 1000]) {
            let found = scene.walk(scene.ann, list, first(limit)).await?;
            same(
                &found,
                expected,
                &format!("pages of {limit} joined are the list"),
            )?;
        }
    }
    Ok(())
}

pub(super) async fn alphabetical(store: &dyn GraphStore) -> Result<(), GraphStoreFailure> {
    let mut scene = StoreScene::new(store).await?;
    let task = scene.tasks(1).first().copied().unwrap_or(scene.acme);
    let mut titled = Vec::new();
    for title in ["b", "A", "a", "Z", "", "ä", "B", "a", "10", "9"] {
        let gid = scene.fixture.tag(scene.acme, title);
        scene
            .fixture
            .link(task, rel::TAGS, gid, ListPosition::Rank(0), None);
        titled.push((title.to_lowercase(), gid));
    }
    scene.commit().await?;
    titled.sort();
    let expected: Vec<Gid> = titled.into_iter().map(|(_, gid)| gid).collect();
    for limit in 1..12 {
        let found = scene
            .walk(scene.ann, (task, by_title), first(limit))
            .await?;
        same(
            &found,
            &expected,
            &format!("by title, then gid, in pages of {limit}"),
        )?;
    }
    Ok(())
}

pub(super) async fn filters(store: &dyn GraphStore) -> Result<(), GraphStoreFailure> {
    let mut scene = StoreScene::new(store).await?;
    let (project, mut all) = scene.launch().await?;
    let section = scene.fixture.section_in(project);
    let day = |n: i64| Time::from_millis(1_700_000_000_000 + n * 86_400_000);
    let mut done = Vec::new();
    for n in 1..4 {
        let gid = scene
            .fixture
            .node(Type::Task, Some(scene.acme), |draft, _| {
                draft.set(task::COMPLETED, true);
                draft.set(task::COMPLETED_AT, day(n));
                draft.set(task::MODIFIED_AT, day(n));
            });
        scene.fixture.link(
            gid,
            rel::SECTION,
            section,
            ListPosition::Last,
            Some(project),
        );
        done.push(gid);
    }
    let label = scene.fixture.tag(scene.acme, "label");
    let colored = scene.fixture.node(Type::Tag, Some(scene.acme), |draft, _| {
        draft.set(tag::COLOR, "dark-red")
    });
    scene.fixture.link(
        colored,
        rel::TAG_FOLLOWERS,
        scene.ann,
        ListPosition::Rank(0),
        None,
    );
    scene.commit().await?;
    let open = all.clone();
    all.splice(5..5, done.clone());
    let latest = done.get(1..).unwrap_or_default();
    let without = |gone: &[Gid]| {
        all.iter()
            .copied()
            .filter(|g| !gone.contains(g))
            .collect::<Vec<_>>()
    };
    let tasks: ListUnderTest = (project, of_project);
    let labels: ListUnderTest = (scene.acme, all_tags);
    for (list, filter, expected) in [
        (
            tasks,
            RowFilter::CompletedSince(day(2)),
            without(done.get(..1).unwrap_or_default()),
        ),
        (tasks, RowFilter::CompletedSince(day(9)), open.clone()),
        (
            tasks,
            RowFilter::ModifiedSince(day(2)),
            without(done.get(..1).unwrap_or_default()),
        ),
        (tasks, RowFilter::Flag("completed", true), done.clone()),
        (tasks, RowFilter::Flag("completed", false), open.clone()),
        (tasks, RowFilter::Unset("completed"), open.clone()),
        (tasks, RowFilter::Is(Type::Task), all.clone()),
        (tasks, RowFilter::Is(Type::Tag), Vec::new()),
        (tasks, RowFilter::InWorkspace(scene.acme), all.clone()),
        (tasks, RowFilter::InWorkspace(project), Vec::new()),
        (tasks, RowFilter::OtherEnd(section), Vec::new()),
        (
            labels,
            RowFilter::Linked(rel::TAG_FOLLOWERS, scene.ann),
            vec![colored],
        ),
        (labels, RowFilter::Is(Type::Tag), vec![label, colored]),
    ] {
        for limit in [1, 2, 20] {
            let page = PageQuery {
                filters: vec![filter.clone()],
                ..first(limit)
            };
            let found = scene.walk(scene.ann, list, page).await?;
            same(
                &found,
                &expected,
                &format!("{filter:?} in pages of {limit}"),
            )?;
        }
    }
    let both = vec![
        RowFilter::Flag("completed", true),
        RowFilter::CompletedSince(day(2)),
    ];
    let found = scene
        .walk(
            scene.ann,
            tasks,
            PageQuery {
                filters: both,
                ..first(2)
            },
        )
        .await?;
    same(&found.as_slice(), &latest, "a row meets every filter")
}

pub(super) async fn visibility(store: &dyn GraphStore) -> Result<(), GraphStoreFailure> {
    let mut scene = StoreScene::new(store).await?;
    let bob = scene.fixture.member(scene.acme, "Bob", Role::Member);
    let gus = scene.fixture.member(scene.acme, "Gus", Role::Guest);
    let mut public = Vec::new();
    let mut all = Vec::new();
    let mut hidden = scene.acme;
    for n in 0..6 {
        let gid = if n % 3 == 0 {
            public.push(scene.fixture.project(scene.acme, "public", scene.ann));
            public.last().copied()
        } else {
            hidden = scene
                .fixture
                .private_project(scene.acme, "private", scene.ann);
            Some(hidden)
        };
        all.extend(gid);
    }
    let secret = scene.fixture.section_in(hidden);
    scene.fixture.task_in(secret, "secret", scene.ann);
    scene.commit().await?;
    let list: ListUnderTest = (scene.acme, projects);
    for limit in [1, 2, 5, 10] {
        for (user, expected) in [(scene.ann, &all), (bob, &public), (gus, &Vec::new())] {
            let found = scene.walk(user, list, first(limit)).await?;
            same(
                &found,
                expected,
                "each viewer gets the rows they may see, in full pages",
            )?;
        }
    }
    let rows = scene.page(gus, list, first(5)).await?;
    same(
        &rows.rows_seen,
        &6,
        "rows that are left out count as gone through",
    )?;
    let found = scene.walk(bob, (hidden, of_project), first(5)).await?;
    ensure(
        found.is_empty(),
        "the list of what a viewer may not see is empty",
    )?;
    let open = PageQuery {
        anchor_grants_access: true,
        ..first(5)
    };
    same(
        &scene.walk(bob, list, open.clone()).await?,
        &all,
        "an open list shows every row to those who see its anchor",
    )?;
    same(
        &scene.walk(gus, list, open).await?,
        &Vec::new(),
        "no list of a workspace is open for its guests",
    )
}
