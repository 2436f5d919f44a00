//! Cases about the identity and access of the viewer.
use super::{GraphStoreFailure, StoreScene, same};
use workgraph_core::access::{Level, Role};
use workgraph_core::model::draft::Draft;
use workgraph_core::model::gid::Gid;
use workgraph_core::model::registry::{Type, rel};
use workgraph_core::model::resources::{custom_field, membership};
use workgraph_core::storage::{GraphStore, ListPosition, ReadQuery, ViewerKey};

impl StoreScene<'_> {
    async fn level(&self, user: Gid, gid: Gid) -> Result<Level, GraphStoreFailure> {
        let query = self.want_of(user).node(gid);
        // Asked first, so that a kept viewer is not renewed by the load.
        let viewer = self.store.viewer(query.viewer).await?;
        let view = self.load(query).await?;
        same(&viewer, &view.viewer, "a viewer is that of a load")?;
        Ok(view.level(gid))
    }
}

pub(super) async fn next_load(store: &dyn GraphStore) -> Result<(), GraphStoreFailure> {
    let mut scene = StoreScene::new(store).await?;
    let bob = scene.fixture.user("Bob", "bob@example.com");
    let team = scene.fixture.team(scene.acme, "Team", scene.ann);
    let project = scene
        .fixture
        .private_project(scene.acme, "Secret", scene.ann);
    let section = scene.fixture.section_in(project);
    let task = scene.fixture.task_in(section, "task", scene.ann);
    scene.commit().await?;
    same(
        &scene.level(bob, scene.acme).await?,
        &Level::None,
        "a user without membership sees nothing",
    )?;

    let membership = scene
        .fixture
        .add_workspace_member(bob, scene.acme, Role::Member);
    scene.commit().await?;
    same(
        &scene.level(bob, scene.acme).await?,
        &Level::Editor,
        "a membership counts from the next load on",
    )?;
    same(
        &scene.level(bob, task).await?,
        &Level::None,
        "a private project stays private",
    )?;

    let view = scene.load(scene.want().node(membership)).await?;
    if let Some(node) = view.node(membership) {
        scene.fixture.edit(node, membership::IS_ADMIN, true);
    }
    scene.commit().await?;
    same(
        &scene.level(bob, scene.acme).await?,
        &Level::Admin,
        "a new version of a membership counts",
    )?;

    scene
        .fixture
        .share(project, scene.acme, bob, Level::Commenter);
    scene.commit().await?;
    same(
        &scene.level(bob, task).await?,
        &Level::Commenter,
        "a shared project counts",
    )?;
    scene.fixture.link(
        project,
        rel::MEMBERS,
        bob,
        ListPosition::Rank(Level::Editor as i64),
        None,
    );
    scene.commit().await?;
    same(
        &scene.level(bob, task).await?,
        &Level::Editor,
        "another level counts",
    )?;
    scene
        .fixture
        .with(|work| work.unlink(project, rel::MEMBERS, bob));
    scene.commit().await?;
    same(
        &scene.level(bob, task).await?,
        &Level::None,
        "a project that is not shared any more counts",
    )?;

    scene
        .fixture
        .share(project, scene.acme, team, Level::Viewer);
    scene.commit().await?;
    same(
        &scene.level(bob, task).await?,
        &Level::None,
        "a team's project is not for those outside",
    )?;
    scene.fixture.join_team(bob, team, scene.acme);
    scene.commit().await?;
    same(
        &scene.level(bob, task).await?,
        &Level::Viewer,
        "a joined team counts",
    )?;
    scene
        .fixture
        .with(|work| work.unlink(team, rel::TEAM_MEMBERS, bob));
    scene.commit().await?;
    same(
        &scene.level(bob, task).await?,
        &Level::None,
        "a team that was left counts",
    )?;

    let acme = scene.acme;
    let cat = scene.fixture.member(acme, "Cat", Role::Member);
    let private = |draft: &mut Draft, _| draft.set(custom_field::PRIVACY, "private");
    let field = scene.fixture.node(Type::CustomField, Some(acme), private);
    scene.fixture.share_field(field, acme, cat, Level::Editor);
    scene.commit().await?;
    same(
        &scene.level(cat, field).await?,
        &Level::Editor,
        "a shared custom field counts",
    )?;
    scene
        .fixture
        .with(|work| work.unlink(field, rel::MEMBERS, cat));
    scene.commit().await?;
    same(
        &scene.level(cat, field).await?,
        &Level::None,
        "a custom field that is not shared any more counts",
    )?;

    scene.fixture.with(|work| {
        work.unlink(bob, rel::WORKSPACES, scene.acme);
        work.trash(membership, Type::WorkspaceMembership);
    });
    scene.commit().await?;
    same(
        &scene.level(bob, scene.acme).await?,
        &Level::None,
        "a membership that was taken away counts",
    )?;
    same(
        &scene.level(scene.ann, scene.acme).await?,
        &Level::Admin,
        "others keep theirs",
    )
}

/// Builds a guest, and a private project that is shared with the guest.
fn shared_with_guest(scene: &mut StoreScene<'_>) -> (Gid, Gid) {
    let (acme, ann) = (scene.acme, scene.ann);
    let gus = scene.fixture.member(acme, "Gus", Role::Guest);
    let project = scene.fixture.private_project(acme, "Shared", ann);
    scene.fixture.share(project, acme, gus, Level::Editor);
    (gus, project)
}

/// Returns true if a guest of the workspace knows a user, according to the list in the guest's viewer.
async fn knows(scene: &StoreScene<'_>, guest: Gid, user: Gid) -> Result<bool, GraphStoreFailure> {
    let view = scene.load(scene.want_of(guest)).await?;
    let known_users = view.viewer.known_users.get(&scene.acme);
    Ok(known_users.is_some_and(|known| known.users.contains(&user)))
}

/// Case found by a random history: viewers are recomputed when a user is trashed, so a guest no longer knows the user.
pub(super) async fn gone_known_user(store: &dyn GraphStore) -> Result<(), GraphStoreFailure> {
    let mut scene = StoreScene::new(store).await?;
    let (gus, project) = shared_with_guest(&mut scene);
    let bob = scene.fixture.member(scene.acme, "Bob", Role::Member);
    scene.fixture.share(project, scene.acme, bob, Level::Editor);
    scene.commit().await?;
    same(
        &knows(&scene, gus, bob).await?,
        &true,
        "a guest knows the other members of a project",
    )?;
    scene.fixture.with(|work| work.trash(bob, Type::User));
    scene.commit().await?;
    same(
        &knows(&scene, gus, bob).await?,
        &false,
        "a user who is gone is not known",
    )
}

/// Case found by a random history, like [`gone_known_user`].
pub(super) async fn no_user(store: &dyn GraphStore) -> Result<(), GraphStoreFailure> {
    let mut scene = StoreScene::new(store).await?;
    let (gus, project) = shared_with_guest(&mut scene);
    let tag = scene.fixture.tag(scene.acme, "no user");
    scene
        .fixture
        .link(project, rel::MEMBERS, tag, ListPosition::Rank(1), None);
    scene.commit().await?;
    let before = scene.load(scene.want_of(gus)).await?.viewer;
    same(
        &knows(&scene, gus, tag).await?,
        &false,
        "a tag is no user, so a guest does not know it",
    )?;
    scene.fixture.with(|work| work.trash(tag, Type::Tag));
    scene.commit().await?;
    let after = scene.load(scene.want_of(gus)).await?.viewer;
    same(&after, &before, "so nothing changes when it goes")
}

pub(super) async fn no_team(store: &dyn GraphStore) -> Result<(), GraphStoreFailure> {
    let mut scene = StoreScene::new(store).await?;
    let bob = scene.fixture.member(scene.acme, "Bob", Role::Member);
    let tag = scene.fixture.tag(scene.acme, "no team");
    for rel in [rel::TEAM_MEMBERS, rel::MEMBERS] {
        scene
            .fixture
            .link(tag, rel, bob, ListPosition::Rank(1), None);
    }
    scene.commit().await?;
    let before = scene.load(scene.want_of(bob)).await?.viewer;
    same(
        &(before.teams.len(), before.shared_levels.len()),
        &(0, 0),
        "a tag is no team and no project",
    )?;
    scene.fixture.with(|work| work.trash(tag, Type::Tag));
    scene.commit().await?;
    let after = scene.load(scene.want_of(bob)).await?.viewer;
    same(&after, &before, "so nothing changes when it goes")
}

pub(super) async fn service(store: &dyn GraphStore) -> Result<(), GraphStoreFailure> {
    let mut scene = StoreScene::new(store).await?;
    let task = scene.fixture.task(scene.acme, "task", scene.ann);
    let other = scene.fixture.workspace("Other");
    let bot = scene.fixture.user("Bot", "bot@example.com");
    scene.commit().await?;
    for (service, on_task, on_other) in [
        (Some(scene.acme), Level::Admin, Level::None),
        (Some(other), Level::None, Level::Admin),
        (None, Level::None, Level::None),
    ] {
        let view = scene
            .load(
                ReadQuery::of(ViewerKey { user: bot, service })
                    .node(task)
                    .node(other),
            )
            .await?;
        same(
            &view.level(task),
            &on_task,
            "a service account does everything in its workspace",
        )?;
        same(&view.level(other), &on_other, "and nothing elsewhere")?;
    }
    Ok(())
}
