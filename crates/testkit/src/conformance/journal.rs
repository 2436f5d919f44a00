//! The cases about the journal.
use super::{Failure, Scene, ensure, same};
use workgraph_core::gid::{GID_END, Gid};
use workgraph_core::graph::{Action, Changes, Event, Fact, GraphStore, Guard};
use workgraph_core::registry::Type;
use workgraph_core::time::Time;

pub(super) async fn gapless(store: &dyn GraphStore) -> Result<(), Failure> {
    ensure(
        store.events(0, 10).await?.is_empty(),
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
                at,
                guards,
                ..Changes::default()
            })
            .await;
        same(
            &answer.is_err(),
            &fails,
            "a commit fails when its guard does",
        )?;
        acked.extend(answer.ok().map(|c| (c.seq, at)));
    }
    let kept: Vec<_> = store
        .events(0, 100)
        .await?
        .iter()
        .map(|e| (e.seq, e.at))
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

pub(super) async fn comes_back(store: &dyn GraphStore) -> Result<(), Failure> {
    let mut scene = Scene::new(store).await?;
    let (a, b) = (scene.acme, scene.ann);
    let changed = |field, added, removed| Action::Changed {
        field,
        added,
        removed,
    };
    let actions = [
        Action::Added { parent: None },
        Action::Added { parent: Some(a) },
        Action::Removed { parent: b },
        changed("name", None, None),
        changed("followers", Some(b), None),
        changed("followers", None, Some(b)),
        changed("no_such_field", Some(a), Some(b)),
        Action::Deleted,
    ];
    let facts: Vec<Fact> = Type::ALL
        .iter()
        .flat_map(|ty| {
            actions.iter().map(|action| Fact {
                gid: a,
                ty: *ty,
                action: action.clone(),
            })
        })
        .collect();
    let at = Time::MAX;
    let one = Event {
        seq: 2,
        at,
        actor: Some(b),
        facts: facts.clone(),
    };
    let two = Event {
        seq: 3,
        at: Time::MIN,
        actor: None,
        facts: Vec::new(),
    };
    for event in [&one, &two] {
        let facts = event.facts.clone();
        store
            .commit(Changes {
                actor: event.actor,
                at: event.at,
                facts,
                ..Changes::default()
            })
            .await?;
    }
    same(
        &store.events(1, 10).await?,
        &vec![one.clone(), two.clone()],
        "events come back as they were",
    )?;
    same(
        &store.events(1, 1).await?,
        &vec![one],
        "no more events are given than asked for",
    )?;
    same(
        &store.events(2, 10).await?,
        &vec![two],
        "events after a commit are those that followed",
    )?;
    for after in [3, 4, u64::MAX] {
        ensure(
            store.events(after, 10).await?.is_empty(),
            "there is nothing after the last one",
        )?;
    }
    ensure(
        store.events(0, 0).await?.is_empty(),
        "none are given when none are asked for",
    )?;
    scene.fixture.tag(a, "later");
    same(
        &scene.commit().await?,
        &4,
        "the next commit has the next number",
    )
}
