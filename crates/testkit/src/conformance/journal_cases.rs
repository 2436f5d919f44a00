//! Cases about the journal: its entries, their order, and dropping old ones.
use super::{GraphStoreFailure, StoreScene, ensure, same};
use workgraph_core::access::Role;
use workgraph_core::model::gid::{GID_END, Gid};
use workgraph_core::model::registry::Type;
use workgraph_core::model::time::Time;
use workgraph_core::storage::change_builder::ChangeBuilder;
use workgraph_core::storage::{
    ChangeAction, ChangeRecord, Changes, EventQuery, GraphStore, Guard, JournalEntry,
};

pub(super) async fn gapless(store: &dyn GraphStore) -> Result<(), GraphStoreFailure> {
    ensure(
        store.journal_entries(0, 10).await?.is_empty(),
        "an empty store has no events",
    )?;
    let mut acked = Vec::new();
    let stray = Gid::new(GID_END - 1).into_iter();
    let guards: Vec<Guard> = stray.map(Guard::Live).collect();
    for n in 0..20i64 {
        let at = Time::from_millis(1_000 - n);
        let fails = n % 3 == 1;
        let guards = if fails { guards.clone() } else { Vec::new() };
        let answer = store
            .commit(Changes {
                time: at,
                guards,
                ..Changes::default()
            })
            .await;
        same(
            &answer.is_err(),
            &fails,
            "a commit fails when its guard does",
        )?;
        // A clock that goes back a little stands still in the journal.
        acked.extend(answer.ok().map(|c| (c.seq, Time::from_millis(1_000))));
    }
    let kept: Vec<_> = store
        .journal_entries(0, 100)
        .await?
        .iter()
        .map(|e| (e.seq, e.time))
        .collect();
    same(
        &kept,
        &acked,
        "the journal has what was acknowledged, in commit order",
    )?;
    let numbers: Vec<u64> = kept.iter().map(|(seq, _)| *seq).collect();
    same(
        &numbers,
        &(1..=acked.len() as u64).collect(),
        "numbers start at 1 and have no gaps",
    )
}

/// Returns the commits without their node contexts.
fn facts_of(events: Vec<JournalEntry>) -> Vec<JournalEntry> {
    let bare = |event| JournalEntry {
        node_contexts: Vec::new(),
        ..event
    };
    events.into_iter().map(bare).collect()
}

/// Returns the journal entries about a node, read in pages.
async fn walk(
    store: &dyn GraphStore,
    about: Gid,
    limit: usize,
    scan: usize,
) -> Result<Vec<JournalEntry>, GraphStoreFailure> {
    let (mut all, mut after) = (Vec::new(), 0);
    loop {
        let ask = EventQuery {
            about,
            after,
            limit,
            scan,
        };
        let fed = store.events_about(ask, None).await?;
        ensure(
            fed.upto > after || fed.upto == fed.last,
            "a feed goes on while there is more",
        )?;
        ensure(
            fed.events
                .iter()
                .all(|e| e.seq > after && e.seq <= fed.upto),
            "a feed gives commits from the part it looked at",
        )?;
        all.extend(fed.events);
        after = fed.upto;
        if after == fed.last {
            return Ok(all);
        }
    }
}

pub(super) async fn feeds(store: &dyn GraphStore) -> Result<(), GraphStoreFailure> {
    let mut scene = StoreScene::new(store).await?;
    let (acme, ann) = (scene.acme, scene.ann);
    let project = scene.fixture.project(acme, "Watched", ann);
    let other = scene.fixture.project(acme, "Other", ann);
    scene.commit().await?;
    let (here, there) = (
        scene.fixture.section_in(project),
        scene.fixture.section_in(other),
    );
    let task = scene.fixture.task_in(here, "in it", ann);
    let under = scene.fixture.subtask(task, "below it", ann);
    scene.commit().await?;
    scene.fixture.task_in(there, "elsewhere", ann);
    scene.commit().await?;
    for (field, gid) in [("followers", task), ("likes", under), ("name", under)] {
        scene
            .fixture
            .with(|work| work.record_added(gid, Type::Task, field, ann));
        scene.commit().await?;
    }
    scene.fixture.with(|work| work.trash(task, Type::Task));
    scene.commit().await?;
    let every = store.journal_entries(0, 1_000).await?;
    for about in [project, task, under, other, acme] {
        let heard = |e: &&JournalEntry| e.change_records.iter().any(|f| e.is_heard_at(f, about));
        let expected: Vec<JournalEntry> = every.iter().filter(heard).cloned().collect();
        for (limit, scan) in [(1, 1), (2, 3), (100, 1_000), (1, 1_000)] {
            let mut found = walk(store, about, limit, scan).await?;
            found.retain(|e| e.change_records.iter().any(|f| e.is_heard_at(f, about)));
            same(
                &found,
                &expected,
                "a feed in pieces is what the journal says about the node",
            )?;
        }
        ensure(!expected.is_empty(), "something happened everywhere")?;
    }
    let last = every
        .last()
        .ok_or_else(|| GraphStoreFailure("the journal is empty".into()))?;
    ensure(
        last.change_records
            .iter()
            .all(|f| last.is_heard_at(f, project)),
        "the end of a task and of what is below it is heard in the project",
    )
}

pub(super) async fn task_lists(store: &dyn GraphStore) -> Result<(), GraphStoreFailure> {
    let mut scene = StoreScene::new(store).await?;
    let bea = scene.fixture.member(scene.acme, "Bea", Role::Member);
    let list = scene.fixture.task_list(bea, scene.acme);
    let section = scene.fixture.section_in(list);
    let gained =
        |work: &mut ChangeBuilder<'_>| work.record_added(section, Type::Section, "name", bea);
    scene.fixture.with(gained);
    scene.commit().await?;
    scene.fixture.with(gained);
    let last = scene.commit().await?;
    for event in store.journal_entries(last.saturating_sub(2), 2).await? {
        let known = event.node_contexts.iter().find(|about| about.gid == list);
        same(
            &known.map(|about| about.ty),
            &Some(Type::UserTaskList),
            "what a section is in is what it is",
        )?;
    }
    Ok(())
}

pub(super) async fn pruned(store: &dyn GraphStore) -> Result<(), GraphStoreFailure> {
    for n in 0..10i64 {
        // The fifth row is newer than later ones: rows are never dropped from the middle.
        let at = Time::from_millis(if n == 4 { 100 } else { n });
        let changes = Changes {
            time: at,
            ..Changes::default()
        };
        store.commit(changes).await?;
    }
    let numbers = async || -> Result<Vec<u64>, GraphStoreFailure> {
        let kept = store.journal_entries(0, 100).await?;
        Ok(kept.iter().map(|e| e.seq).collect())
    };
    let old = Time::from_millis(50);
    same(
        &store.prune_journal(old, 2, 100).await?,
        &2,
        "nothing after the bound goes",
    )?;
    same(
        &store.prune_journal(old, 10, 1).await?,
        &1,
        "no more go than asked for",
    )?;
    same(
        &store.prune_journal(old, 10, 100).await?,
        &1,
        "a younger commit keeps those behind it",
    )?;
    same(
        &numbers().await?,
        &(5..=10).collect(),
        "the rest has no gap",
    )?;
    let ask = EventQuery {
        about: Gid::new(1).ok_or_else(|| GraphStoreFailure("no gid 1".into()))?,
        after: 0,
        limit: 1,
        scan: 100,
    };
    let fed = store.events_about(ask, None).await?;
    same(
        &(fed.pruned, fed.last),
        &(4, 10),
        "a feed says what is gone",
    )?;
    same(
        &store.prune_journal(Time::MAX, 100, 100).await?,
        &5,
        "the last commit stays",
    )?;
    let next = store.commit(Changes::default()).await?;
    same(&next.seq, &11, "numbers go on")?;
    same(
        &numbers().await?,
        &vec![10, 11],
        "numbers go on without a gap",
    )
}

pub(super) async fn comes_back(store: &dyn GraphStore) -> Result<(), GraphStoreFailure> {
    let mut scene = StoreScene::new(store).await?;
    let (a, b) = (scene.acme, scene.ann);
    let changed = |field, added, removed| ChangeAction::Changed {
        field,
        added,
        removed,
    };
    let actions = [
        ChangeAction::Added { parent: None },
        ChangeAction::Added { parent: Some(a) },
        ChangeAction::Removed { parent: b },
        changed("name", None, None),
        changed("followers", Some(b), None),
        changed("followers", None, Some(b)),
        changed("no_such_field", Some(a), Some(b)),
        ChangeAction::Deleted,
    ];
    let facts: Vec<ChangeRecord> = Type::ALL
        .iter()
        .flat_map(|ty| {
            actions.iter().map(|action| ChangeRecord {
                gid: a,
                ty: *ty,
                action: action.clone(),
            })
        })
        .collect();
    let at = Time::MAX;
    let one = JournalEntry {
        seq: 2,
        time: at,
        actor: Some(b),
        change_records: facts.clone(),
        node_contexts: Vec::new(),
    };
    let two = JournalEntry {
        seq: 3,
        time: Time::MIN,
        actor: None,
        change_records: Vec::new(),
        node_contexts: Vec::new(),
    };
    for event in [&one, &two] {
        let facts = event.change_records.clone();
        store
            .commit(Changes {
                actor: event.actor,
                time: event.time,
                change_records: facts,
                ..Changes::default()
            })
            .await?;
    }
    same(
        &facts_of(store.journal_entries(1, 10).await?),
        &vec![one.clone(), two.clone()],
        "events come back as they were",
    )?;
    same(
        &facts_of(store.journal_entries(1, 1).await?),
        &vec![one],
        "no more events are given than asked for",
    )?;
    same(
        &facts_of(store.journal_entries(2, 10).await?),
        &vec![two],
        "events after a commit are those that followed",
    )?;
    for after in [3, 4, u64::MAX] {
        ensure(
            store.journal_entries(after, 10).await?.is_empty(),
            "there is nothing after the last one",
        )?;
    }
    ensure(
        store.journal_entries(0, 0).await?.is_empty(),
        "none are given when none are asked for",
    )?;
    scene.fixture.tag(a, "later");
    same(
        &scene.commit().await?,
        &4,
        "the next commit has the next number",
    )
}
