//! Faults that a seed decides, and their effect on a scene.
use crate::clients::Shared;
use crate::common::{Seeded, pause};
use crate::history::FaultWindow;
use crate::relay::Passage;
use crate::scene::{NODES, Scene, redis_socket};
use std::io::Write;
use std::os::unix::net::UnixStream;

/// Fault, with the milliseconds for which it lasts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fault {
    /// A node is killed, and started again.
    Kill(usize, u64),
    /// A node is stopped, and goes on.
    Stop(usize, u64),
    /// A node is cut off from the database.
    CutDatabase(usize, u64),
    /// Nothing comes through between a node and the database.
    StallDatabase(usize, u64),
    /// A node is cut off from Redis.
    CutRedis(usize, u64),
    /// Nothing comes through between a node and Redis.
    StallRedis(usize, u64),
    KillRedis(u64),
    FlushRedis,
    StopRedis(u64),
    KillDatabase(u64),
    FailOver,
    /// The clock of a node goes ahead.
    StepClock(usize, u64),
}

/// Bounds within which a seed decides.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// Time for which clients work.
    pub(crate) seconds: u64,
    pub(crate) kills: usize,
    /// Other faults.
    pub(crate) others: usize,
    pub(crate) with_failover: bool,
    /// Longest stop of a node, in milliseconds.
    pub(crate) longest_stop: usize,
}

/// Returns the faults of a seed, in order.
pub(crate) fn plan(seed: u64, bounds: &Bounds) -> Vec<Fault> {
    let mut random = Seeded(seed);
    let mut faults: Vec<Fault> = (0..bounds.kills)
        .map(|_| Fault::Kill(random.below(NODES), random.below(400) as u64))
        .collect();
    for _ in 0..bounds.others {
        let node = random.below(NODES);
        let millis = 100 + random.below(1_400) as u64;
        faults.push(match random.below(20) {
            0..=2 => Fault::CutDatabase(node, millis),
            3..=5 => Fault::StallDatabase(node, millis),
            6 | 7 => Fault::CutRedis(node, millis),
            8 | 9 => Fault::StallRedis(node, millis),
            10..=13 => Fault::Stop(node, 500 + random.below(bounds.longest_stop) as u64),
            14 => Fault::KillRedis(millis),
            15 => Fault::FlushRedis,
            16 => Fault::StopRedis(millis),
            17 | 18 => Fault::KillDatabase(random.below(500) as u64),
            _ => Fault::StepClock(node, 100 + random.below(5_000) as u64),
        });
    }
    for at in (1..faults.len()).rev() {
        faults.swap(at, random.below(at + 1));
    }
    if bounds.with_failover {
        faults.insert(random.below(faults.len() + 1), Fault::FailOver);
    }
    faults
}

impl Fault {
    /// Returns the node that it hits, if it is one alone.
    fn node(self) -> Option<usize> {
        match self {
            Self::Kill(node, _)
            | Self::Stop(node, _)
            | Self::CutDatabase(node, _)
            | Self::StallDatabase(node, _)
            | Self::CutRedis(node, _)
            | Self::StallRedis(node, _)
            | Self::StepClock(node, _) => Some(node),
            _ => None,
        }
    }

    /// Returns the name of its kind.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Kill(..) => "kill",
            Self::Stop(..) => "stop",
            Self::CutDatabase(..) | Self::StallDatabase(..) => "partition from PostgreSQL",
            Self::CutRedis(..) | Self::StallRedis(..) => "partition from Redis",
            Self::KillRedis(_) => "kill of Redis",
            Self::FlushRedis => "flush of Redis",
            Self::StopRedis(_) => "stop of Redis",
            Self::KillDatabase(_) => "kill of PostgreSQL",
            Self::FailOver => "failover",
            Self::StepClock(..) => "clock step",
        }
    }

    /// Carries it out to its end. Returns false if what it does could not be done.
    fn strike(self, scene: &mut Scene) -> bool {
        let mut during = |set: &mut dyn FnMut(&mut Scene, bool), millis| {
            set(scene, true);
            pause(millis);
            set(scene, false);
        };
        match self {
            Self::Kill(node, millis) => {
                scene.nodes[node].kill();
                pause(millis);
                scene.start_node(node);
            }
            Self::Stop(node, millis) => during(
                &mut |scene, on| scene.nodes[node].signal(if on { "-STOP" } else { "-CONT" }),
                millis,
            ),
            Self::CutDatabase(node, millis) => during(
                &mut |scene, on| scene.to_database[node].set(passage(on, Passage::Cut)),
                millis,
            ),
            Self::StallDatabase(node, millis) => during(
                &mut |scene, on| scene.to_database[node].set(passage(on, Passage::Stalled)),
                millis,
            ),
            Self::CutRedis(node, millis) => during(
                &mut |scene, on| scene.to_redis[node].set(passage(on, Passage::Cut)),
                millis,
            ),
            Self::StallRedis(node, millis) => during(
                &mut |scene, on| scene.to_redis[node].set(passage(on, Passage::Stalled)),
                millis,
            ),
            Self::KillRedis(millis) => {
                scene.redis.kill();
                pause(millis);
                scene.redis.restart();
            }
            Self::FlushRedis => {
                let flush = UnixStream::connect(redis_socket(&scene.redis));
                return flush.and_then(|mut s| s.write_all(b"FLUSHALL\r\n")).is_ok();
            }
            Self::StopRedis(millis) => {
                during(&mut |scene, on| scene.redis.set_stopped(on), millis);
            }
            Self::KillDatabase(millis) => {
                scene.primary.kill();
                pause(millis);
                scene.primary.start();
            }
            Self::FailOver => scene.fail_over(),
            Self::StepClock(node, millis) => return scene.nodes[node].step_clock(millis),
        }
        true
    }
}

const fn passage(on: bool, closed: Passage) -> Passage {
    if on { closed } else { Passage::Open }
}

/// Carries out faults one after the other, spread over the time of a history. Returns them with their times.
pub(crate) fn haunt(
    scene: &mut Scene,
    shared: &Shared,
    faults: &[Fault],
    bounds: &Bounds,
) -> Vec<FaultWindow> {
    let whole = bounds.seconds * 1_000_000;
    let mut windows = Vec::new();
    for (turn, fault) in faults.iter().enumerate() {
        let due = whole * (turn as u64 + 1) / (faults.len() as u64 + 1);
        while shared.now() < due {
            pause(5);
        }
        let begun = shared.now();
        let done = fault.strike(scene);
        if done {
            windows.push(FaultWindow {
                begun,
                ended: shared.now(),
                name: fault.name().to_owned(),
                node: fault.node(),
            });
        }
        // A node that was away for too long ends itself; whoever runs it starts it again.
        for node in 0..NODES {
            if !scene.nodes[node].lives() {
                scene.start_node(node);
            }
        }
    }
    while shared.now() < whole {
        pause(10);
    }
    windows
}
