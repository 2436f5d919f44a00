//! Cases about the audit log.
use super::{GraphStoreFailure, StoreScene, ensure, same};
use workgraph_core::access::Role;
use workgraph_core::audit::{
    ActorContext, ActorType, AuditActor, AuditChannel, AuditEntry, AuditEventKind, AuditQuery,
    AuditRow, AuthMethod, event_kinds,
};
use workgraph_core::model::gid::{GID_END, Gid};
use workgraph_core::model::registry::Type;
use workgraph_core::model::time::Time;
use workgraph_core::storage::{Changes, GraphStore, Guard};

async fn all(store: &dyn GraphStore, workspace: Gid) -> Result<Vec<AuditRow>, GraphStoreFailure> {
    Ok(store
        .audit_rows(AuditQuery::all(workspace, 10_000), None)
        .await?)
}

fn kinds(rows: &[AuditRow]) -> Vec<&'static str> {
    rows.iter().map(|row| row.kind.name).collect()
}

/// Returns the rows that a commit of the fixture adds.
async fn added(scene: &mut StoreScene<'_>) -> Result<Vec<AuditRow>, GraphStoreFailure> {
    let before = all(scene.store, scene.acme).await?.len();
    scene.commit().await?;
    Ok(all(scene.store, scene.acme).await?.split_off(before))
}

pub(super) async fn acts_are_logged(store: &dyn GraphStore) -> Result<(), GraphStoreFailure> {
    let mut scene = StoreScene::new(store).await?;
    let (acme, ann) = (scene.acme, scene.ann);
    same(
        &kinds(&all(store, acme).await?),
        &vec!["user_invited"],
        "a membership is in the log",
    )?;
    let ben = scene.fixture.member(acme, "Ben", Role::Member);
    let team = scene.fixture.team(acme, "Design", ann);
    scene.commit().await?;
    scene.fixture.join_team(ben, team, acme);
    let mut changes = scene.fixture.take();
    changes.actor = Some(ann);
    changes.actor_context = Some(Box::new(ActorContext {
        actor: AuditActor::User(ann),
        channel: AuditChannel::Api,
        method: Some(AuthMethod::PersonalAccessToken),
        address: Some(std::net::IpAddr::from([192, 0, 2, 7])),
        user_agent: Some("curl/8 \"x\"".into()),
        app: None,
    }));
    store.commit(changes).await?;
    let rows = all(store, acme).await?;
    let last = rows.last().map(AuditRow::to_json).unwrap_or_default();
    let expected = format!(
        "\"event_type\":\"team_member_added\",\"event_category\":\"access_control\",\
         \"actor\":{{\"actor_type\":\"user\",\"gid\":\"{ann}\",\"name\":\"Ann\",\"email\":\"ann@example.com\"}},\
         \"resource\":{{\"resource_type\":\"team\",\"gid\":\"{team}\",\"name\":\"Design\"}},\
         \"details\":{{\"new_value\":\"ben@example.com\"}},\
         \"context\":{{\"context_type\":\"api\",\"api_authentication_method\":\"personal_access_token\",\
         \"client_ip_address\":\"192.0.2.7\",\"user_agent\":\"curl/8 \\\"x\\\"\"}}}}"
    );
    ensure(
        last.ends_with(&expected),
        &format!("a row says who, what and how: {last} ends with {expected}"),
    )
}

pub(super) async fn deletions(store: &dyn GraphStore) -> Result<(), GraphStoreFailure> {
    let mut scene = StoreScene::new(store).await?;
    let (acme, ann) = (scene.acme, scene.ann);
    let top = scene.fixture.task(acme, "top", ann);
    let below = scene.fixture.subtask(top, "below", ann);
    scene.fixture.subtask(below, "deep", ann);
    let project = scene.fixture.private_project(acme, "Secret", ann);
    scene.commit().await?;
    scene.fixture.with(|work| {
        work.trash(top, Type::Task);
        work.trash(project, Type::Project);
    });
    let rows = added(&mut scene).await?;
    let mut names: Vec<String> = rows.iter().map(|row| row.body.to_string()).collect();
    names.retain(|body| {
        ["top", "below", "deep", "Secret"]
            .iter()
            .any(|n| body.contains(n))
    });
    same(&names.len(), &4, "what is deleted is named")?;
    let mut kinds = kinds(&rows);
    kinds.sort_unstable();
    same(
        &kinds,
        &vec![
            "project_deleted",
            "task_deleted",
            "task_deleted",
            "task_deleted",
        ],
        "each is there once",
    )
}

pub(super) async fn quiet(store: &dyn GraphStore) -> Result<(), GraphStoreFailure> {
    let mut scene = StoreScene::new(store).await?;
    let (acme, ann) = (scene.acme, scene.ann);
    let task = scene.fixture.task(acme, "a task", ann);
    let project = scene.fixture.private_project(acme, "own", ann);
    scene.fixture.section(project, acme, "section");
    scene.fixture.tag(acme, "tag");
    // The fixture sets no actor; the creators are in the nodes themselves.
    let mut changes = scene.fixture.take();
    changes.actor = Some(ann);
    let before = all(store, acme).await?.len();
    store.commit(changes).await?;
    let view = scene.load(scene.want().node(task)).await?;
    if let Some(node) = view.node(task) {
        let name = workgraph_core::model::resources::task::NAME;
        scene.fixture.edit(node, name, "another name");
    }
    let rows = added(&mut scene).await?;
    same(&rows.len(), &0, "nothing of a task's life")?;
    same(
        &all(store, acme).await?.len(),
        &before,
        "nothing of what was made",
    )
}

pub(super) async fn all_or_nothing(store: &dyn GraphStore) -> Result<(), GraphStoreFailure> {
    let mut scene = StoreScene::new(store).await?;
    let acme = scene.acme;
    let before = all(store, acme).await?.len();
    scene.fixture.team(acme, "Design", scene.ann);
    let mut changes = scene.fixture.take();
    let stray = Gid::new(GID_END - 1).into_iter();
    changes.guards.extend(stray.map(Guard::Live));
    ensure(store.commit(changes).await.is_err(), "a guard fails")?;
    same(&all(store, acme).await?.len(), &before, "no act, no row")?;
    scene.fixture.team(acme, "Design", scene.ann);
    same(&added(&mut scene).await?.len(), &2, "an act, its rows")
}

pub(super) async fn filtered(store: &dyn GraphStore) -> Result<(), GraphStoreFailure> {
    let mut scene = StoreScene::new(store).await?;
    let (acme, ann) = (scene.acme, scene.ann);
    let ben = scene.fixture.member(acme, "Ben", Role::Member);
    let other = scene.fixture.workspace("Other");
    scene.commit().await?;
    let whats = [
        (event_kinds::OBJECT_EXPORT_STARTED, ann),
        (event_kinds::LOGIN_FAILED, ben),
    ];
    let actors = [
        AuditActor::User(ann),
        AuditActor::User(ben),
        AuditActor::Operator,
    ];
    let times = [5_000, 5_000, 7_000, 6_000, 9_000, 9_000, 9_500];
    let whats = whats.into_iter().cycle().zip(actors.into_iter().cycle());
    for (at, ((what, whom), actor)) in times.into_iter().zip(whats) {
        let changes = Changes {
            time: Time::from_millis(4_000_000_000_000 + at),
            audit_entries: vec![
                AuditEntry::new(what, acme, whom),
                AuditEntry::new(what, other, acme),
                AuditEntry::new(event_kinds::OBJECT_EXPORT_STARTED, acme, acme),
            ],
            actor_context: Some(Box::new(ActorContext::internal(actor))),
            ..Changes::default()
        };
        store.commit(changes).await?;
    }
    let rows = all(store, acme).await?;
    ensure(
        rows.windows(2).all(|two| match two {
            [one, next] => one.gid < next.gid && one.time <= next.time,
            _ => false,
        }),
        "gids grow, and time does not go back",
    )?;
    let times = [None, Some(6_000), Some(7_000), Some(9_000), Some(99_000)];
    let times = times.map(|t| t.map(|t: i64| Time::from_millis(4_000_000_000_000 + t)));
    let kinds: [Option<AuditEventKind>; 3] = [
        None,
        Some(event_kinds::LOGIN_FAILED),
        Some(event_kinds::TEAM_CREATED),
    ];
    let types = [
        None,
        Some(ActorType::User),
        Some(ActorType::ExternalAdministrator),
    ];
    let afters = [None, rows.get(3).map(|row| row.gid)];
    for start in times {
        for end in times {
            for kind in kinds {
                for actor_type in types {
                    for (actor, resource) in [
                        (None, None),
                        (Some(ann), None),
                        (None, Some(ben)),
                        (Some(ben), Some(acme)),
                    ] {
                        for after in afters {
                            let ask = AuditQuery {
                                start,
                                end,
                                kind,
                                actor_type,
                                actor,
                                resource,
                                after,
                                ..AuditQuery::all(acme, 7)
                            };
                            let fit = rows.iter().filter(|row| ask.matches(row));
                            let expected: Vec<AuditRow> = fit.take(7).cloned().collect();
                            let found = store.audit_rows(ask, None).await?;
                            same(&found, &expected, &format!("{ask:?}"))?;
                        }
                    }
                }
            }
        }
    }
    Ok(())
}
