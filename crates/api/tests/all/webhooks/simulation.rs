//! Long runs against targets that fail at random, with workers and servers that are killed.
use super::*;

/// Parameters of a run of the simulation.
struct Run {
    kind: Kind,
    seed: u64,
    events: usize,
    kills: usize,
    lies: bool,
}

/// Commits, delivers to targets that fail, and kills workers and servers by turns; then lets everything finish. Fails
/// if the targets did not get the right events.
fn simulate(run: &Run) -> Result<(), String> {
    const HOOKS: [(&str, &str); 5] = [
        ("garden", "/echo/0"),
        ("garden", "/echo/1"),
        ("herbs", "/echo/2"),
        ("moss", "/echo/3"),
        ("water", "/echo/4"),
    ];
    let mut world = World::new(run.kind);
    let start = world.events(0).last().unwrap().seq;
    for (i, (name, path)) in HOOKS.iter().enumerate() {
        let filters = if i == 1 {
            json!([{"resource_type": "task", "action": "changed", "fields": ["name"]}])
        } else {
            Value::Null
        };
        world.hook("robot", name, path, filters);
    }
    world.deliver();
    world.receiver.forget();
    world.receiver.lies.store(run.lies, Ordering::Relaxed);
    let faults = SeededBytes::new(run.seed);
    *world.receiver.faults.lock().unwrap() = Some(SeededBytes::new(run.seed + 1_000_000));
    let tasks: Vec<Gid> = ["water", "rake", "mint", "lichen", "water_buds"]
        .map(|name| world.gid(name))
        .to_vec();
    let (mut made, mut kills) = (0, 0);
    // There are enough attempts between two kills for the targets to get some events.
    let gap = (run.events / run.kills.max(1)).max(1);
    while made < run.events || kills < run.kills {
        let mut bytes = [0; 4];
        faults.fill(&mut bytes);
        for _ in 0..gap {
            faults.fill(&mut bytes);
            let facts: Vec<ChangeRecord> = (0..=bytes[0] % 3)
                .map(|i| ChangeRecord {
                    gid: tasks[usize::from(bytes[1] ^ i) % tasks.len()],
                    ty: Type::Task,
                    action: ChangeAction::Changed {
                        field: if (bytes[2] >> i) & 1 == 0 {
                            "name"
                        } else {
                            "notes"
                        },
                        added: None,
                        removed: None,
                    },
                })
                .collect();
            made += facts.len();
            let at = Time::from_system(world.clock.0.now());
            let changes = Changes {
                time: at,
                change_records: facts,
                ..Changes::default()
            };
            world.run(world.graph.commit(changes)).unwrap();
        }
        world.advance(u64::from(bytes[3]) * 4);
        world.run(world.api.scan_commits()).unwrap();
        while let Some(taken) = world.api.take_delivery() {
            let killed = world.run(async {
                tokio::select! {
                    biased;
                    done = world.api.deliver(&taken) => { done.unwrap(); false }
                    () = world.receiver.hung.notified() => true,
                }
            });
            kills += usize::from(killed);
            // Every second kill takes the whole server along.
            if killed && kills & 1 == 0 {
                world.restart(KeyRing::new(1, [7; 32]), (kills % 32) as u8);
                world.run(world.api.scan_commits()).unwrap();
            }
        }
        if bytes[0] == 0 {
            world.run(world.api.maintain_webhooks()).unwrap();
        }
    }
    *world.receiver.faults.lock().unwrap() = None;
    world.receiver.lies.store(false, Ordering::Relaxed);
    for _ in 0..3 {
        world.advance(3_601);
        world.deliver();
    }
    for (i, (name, path)) in HOOKS.iter().enumerate() {
        let at = world.gid(name);
        let mut expected = Vec::new();
        for event in world.events(start) {
            for (n, fact) in event.change_records.iter().enumerate() {
                let wanted = event
                    .render(fact)
                    .is_some_and(|s| i != 1 || s.change.is_some_and(|c| c.field == "name"));
                if wanted && event.is_heard_at(fact, at) {
                    expected.push(format!("{}-{n}", event.seq));
                }
            }
        }
        let mut heard = 0;
        for got in world.receiver.got(path) {
            let window = expected.get(heard..heard + got.ids.len());
            if window != Some(got.ids.as_slice()) {
                return Err(format!(
                    "{path}: not what comes after {heard}: {:?}",
                    got.ids
                ));
            }
            if got.acked {
                heard += got.ids.len();
            }
        }
        if heard != expected.len() {
            return Err(format!("{path}: {heard} of {} came", expected.len()));
        }
    }
    Ok(())
}

fn from_env(name: &str, otherwise: usize) -> usize {
    let given = std::env::var(name).ok();
    given.map_or(otherwise, |n| n.parse().unwrap())
}

#[test]
fn nothing_is_lost_or_out_of_order_and_repeats_follow_failures_only() {
    let run = |kind, seed, events, kills| Run {
        kind,
        seed,
        events,
        kills,
        lies: false,
    };
    let events = from_env("WORKGRAPH_TEST_HOOK_EVENTS", 3_000);
    let kills = from_env("WORKGRAPH_TEST_HOOK_KILLS", 60);
    simulate(&run(Kind::Memory, 1, events, kills)).unwrap();
    for (kind, seed) in [(Kind::Memory, 2), (Kind::Sqlite, 3)] {
        simulate(&run(kind, seed, 300, 15)).unwrap();
    }
}

#[test]
fn a_courier_that_believes_what_did_not_arrive_is_noticed() {
    let run = Run {
        kind: Kind::Memory,
        seed: 1,
        events: 600,
        kills: 5,
        lies: true,
    };
    assert!(simulate(&run).is_err());
}
