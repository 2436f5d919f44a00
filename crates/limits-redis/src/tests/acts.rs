//! Ordinary acts of operators, in a model of Redis, the database and the nodes. A client that obeys waits is never refused
//! for long, and all nodes together stay within the bound. The tests need no server and set the time.

use workgraph_limits::laws::{LawLimiter, LawSettings, ScenarioRandom};
use workgraph_limits::shared_limiter::{RequestPart, SharedDecision, SharedMode};
use workgraph_limits::{LimiterSettings, LocalLimits, OwnerTotals, UniformState};

use super::nodes::{request, time};
use crate::breaker::{Breaker, CAUTION_MS};
use crate::known_server::KnownServer;

const QUOTA: u32 = 60;
const NODES: usize = 3;
const STEP_MS: u64 = 100;
const LEASE_MS: u64 = 30_000;
const RENEWAL_MS: u64 = 5_000;
const PROBE_MS: u64 = 1_000;
/// Time between two requests of the well-behaved client: two thirds of its quota, spread over the nodes.
const PACE_MS: u64 = 60_000 * 3 / (2 * QUOTA as u64);
const REFUSED_MAX_MS: u64 = 2_000;
const OBEYING: u8 = 1;
const GREEDY: u8 = 2;

/// Action of an operator, or an incident.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Act {
    RestartOfEverything,
    RollingRestartThenRedis,
    FreshCluster,
    Command,
    NodeKilled,
    RedisEmptied,
    RedisReplaced,
}

const ACTS: [Act; 7] = [
    Act::RestartOfEverything,
    Act::RollingRestartThenRedis,
    Act::FreshCluster,
    Act::Command,
    Act::NodeKilled,
    Act::RedisEmptied,
    Act::RedisReplaced,
];

/// Rules that a broken version may have otherwise.
#[derive(Clone, Copy)]
struct Rules {
    caution_ms: u64,
    /// Number of parts of a quota, from the number of members that a node counts and its age.
    parts: fn(usize, u64) -> u32,
    counts_commands: bool,
}

const RULES: Rules = Rules {
    caution_ms: CAUTION_MS,
    parts: |members, _| u32::try_from(members).unwrap_or(u32::MAX),
    counts_commands: false,
};

struct Member {
    begun: u64,
    until: u64,
    is_command: bool,
}

struct Redis {
    id: String,
    limiter: LawLimiter,
}

struct Node {
    member: usize,
    breaker: Breaker,
    limiter: LawLimiter,
    totals: OwnerTotals<u64, UniformState>,
    /// Name of the Redis that the node is or was connected to.
    known: String,
    /// Name of the Redis that the node recorded in the database.
    told: String,
    parts: u32,
    parts_least: u32,
    greedy_from: u64,
}

/// Redis, the database with its members, and the nodes.
struct World {
    rules: Rules,
    now: u64,
    redis: Option<Redis>,
    servers: u32,
    kept: Option<KnownServer>,
    members: Vec<Member>,
    nodes: Vec<Node>,
    /// Times at which nodes started or ended, and the maximum that each could admit alone.
    changes: Vec<(u64, u32)>,
    greedy: Vec<u64>,
    /// Number of nodes that the greedy client uses.
    greedy_nodes: usize,
    /// Maximum number admitted in a minute beyond its bound.
    beyond: i64,
}

impl World {
    fn new(rules: Rules, now: u64) -> Self {
        let mut world = Self {
            rules,
            now,
            redis: None,
            servers: 0,
            kept: None,
            members: Vec::new(),
            nodes: Vec::new(),
            changes: Vec::new(),
            greedy: Vec::new(),
            greedy_nodes: NODES,
            beyond: i64::MIN,
        };
        world.start_redis();
        world
    }

    fn start_redis(&mut self) {
        self.servers += 1;
        self.redis = Some(Redis {
            id: self.servers.to_string(),
            limiter: LawLimiter::new(LawSettings::default()),
        });
    }

    fn counted(&self) -> usize {
        let alive = self.members.iter().filter(|member| {
            member.until >= self.now && (self.rules.counts_commands || !member.is_command)
        });
        alive.count()
    }

    fn join(&mut self, is_command: bool) -> usize {
        self.members.push(Member {
            begun: self.now,
            until: self.now + LEASE_MS,
            is_command,
        });
        self.members.len() - 1
    }

    fn begin_node(&mut self) {
        let member = self.join(false);
        let breaker = Breaker::new(self.rules.caution_ms);
        let id = self
            .redis
            .as_ref()
            .map_or_else(String::new, |redis| redis.id.clone());
        let has_older = self.members.iter().enumerate().any(|(at, other)| {
            at != member
                && other.until >= self.now
                && !other.is_command
                && self.now - other.begun >= KnownServer::OLD_MS
        });
        let found = KnownServer::at_start(self.kept.as_ref(), &id, has_older, self.now);
        if self.rules.caution_ms > 0 {
            breaker.be_cautious_until(found.cautious_until_ms);
        }
        self.kept = Some(found);
        let parts = (self.rules.parts)(self.counted(), 0);
        self.changes.push((self.now, QUOTA.div_ceil(parts)));
        self.nodes.push(Node {
            member,
            breaker,
            limiter: LawLimiter::new(LawSettings::default()),
            totals: OwnerTotals::new(&LimiterSettings::from(&LawSettings::default())),
            told: id.clone(),
            known: id,
            parts,
            parts_least: parts,
            greedy_from: 0,
        });
    }

    /// Ends the first node, with or without notice.
    fn end_node(&mut self, says_so: bool) {
        let node = self.nodes.remove(0);
        self.changes
            .push((self.now, QUOTA.div_ceil(node.parts_least)));
        if says_so {
            self.members[node.member].until = self.now - 1;
        }
    }

    /// Advances time: nodes maintain their connections and leases.
    fn pass(&mut self) {
        self.now += STEP_MS;
        for at in 0..self.nodes.len() {
            let counted = self.counted();
            let (now, node) = (self.now, &mut self.nodes[at]);
            if now.is_multiple_of(PROBE_MS) {
                if let (SharedMode::Local, Some(redis)) = (node.breaker.mode(now), &self.redis) {
                    node.breaker.close(now, node.known != redis.id);
                    node.known.clone_from(&redis.id);
                }
                if node.told != node.known {
                    let found = KnownServer::after_loss(self.kept.as_ref(), &node.known, now);
                    self.kept = Some(found);
                    node.told.clone_from(&node.known);
                }
            }
            if now.is_multiple_of(RENEWAL_MS) {
                let member = &mut self.members[node.member];
                member.until = now + LEASE_MS;
                node.parts = (self.rules.parts)(counted, now - member.begun);
                node.parts_least = node.parts_least.min(node.parts);
            }
        }
    }

    /// Decides as a node does; the wait of a refusal.
    fn admit(&mut self, node: usize, key: u8) -> Result<(), u64> {
        let mut request = request(QUOTA);
        request.batch.key = [key; 16];
        let (now, node) = (self.now, &mut self.nodes[node]);
        let redis = self.redis.as_ref().filter(|redis| redis.id == node.known);
        if redis.is_none() && node.breaker.mode(now) != SharedMode::Local {
            node.breaker.note_loss();
        }
        let charges = request.charges();
        let request = request.shared(&charges);
        let limiter = node.limiter.limiter();
        let figures = limiter.figures(&request.request);
        let part = RequestPart::of(&request, &figures, node.parts);
        let local = LocalLimits {
            limiter,
            totals: &node.totals,
        };
        let own = || local.admit(&part.request(&request), time(now)).map(drop);
        let decided = match (node.breaker.mode(now), redis) {
            (SharedMode::Local, _) | (_, None) => own(),
            (mode, Some(redis)) => {
                let one = &request.request;
                match redis.limiter.limiter().admit_request(one, time(now)) {
                    Ok(_) if mode == SharedMode::Cautious => own(),
                    outcome => {
                        let decision = SharedDecision {
                            refused: outcome.as_ref().err().map(|refusal| refusal.limit),
                            ..SharedDecision::default()
                        };
                        drop(limiter.record(one, &decision, time(now)));
                        outcome.map(drop)
                    }
                }
            }
        };
        decided.map_err(|refusal| refusal.wait_ms)
    }

    /// Requests as much from nodes as they admit, and compares with the bound.
    fn be_greedy(&mut self) {
        for at in 0..self.nodes.len().min(self.greedy_nodes) {
            if self.nodes[at].greedy_from > self.now {
                continue;
            }
            match self.admit(at, GREEDY) {
                Ok(()) => self.greedy.push(self.now),
                Err(wait) => self.nodes[at].greedy_from = self.now + wait,
            }
        }
        let recent = |at: u64| self.now - at < 60_000;
        self.greedy.retain(|at| recent(*at));
        self.changes.retain(|(at, _)| recent(*at));
        let changed: u32 = self.changes.iter().map(|(_, part)| part).sum();
        let nodes = u32::try_from(NODES).unwrap();
        let bound = i64::from(2 * QUOTA + nodes + changed);
        let admitted = i64::try_from(self.greedy.len()).unwrap();
        self.beyond = self.beyond.max(admitted - bound);
    }
}

/// Results of a history.
#[derive(Clone, Copy, Debug)]
struct Shown {
    /// Maximum time for which the well-behaved client was refused.
    refused_ms: u64,
    /// Maximum number admitted in a minute beyond its bound.
    beyond: i64,
}

/// Well-behaved client: it uses the nodes in turn, and obeys the stated waits.
#[derive(Default)]
struct Client {
    turn: usize,
    due: u64,
    refused_since: Option<u64>,
    longest: u64,
}

impl Client {
    fn ask(&mut self, world: &mut World) {
        if world.nodes.is_empty() || world.now < self.due {
            return;
        }
        self.turn += 1;
        let node = self.turn % world.nodes.len();
        match world.admit(node, OBEYING) {
            Ok(()) => {
                let since = self.refused_since.take().unwrap_or(world.now);
                self.longest = self.longest.max(world.now - since);
                self.due = world.now + PACE_MS;
            }
            Err(wait) => {
                let since = *self.refused_since.get_or_insert(world.now);
                let wait = wait.div_ceil(1_000) * 1_000;
                self.longest = self.longest.max(world.now + wait - since);
                self.due = world.now + wait;
            }
        }
    }
}

/// Runs one act, with both clients active from before it until long after it.
fn history(act: Act, seed: u64, rules: Rules) -> Shown {
    let mut random = ScenarioRandom::new(seed);
    let mut world = World::new(rules, 1_800_000_000_000);
    let mut client = Client::default();
    let mut run = |world: &mut World, steps: u64| {
        for _ in 0..steps {
            world.pass();
            world.be_greedy();
            client.ask(world);
        }
    };
    let mut pause = move || random.within(1, 40);
    for _ in 0..NODES {
        world.begin_node();
        let steps = pause();
        run(&mut world, steps);
    }
    if act != Act::FreshCluster {
        // The greedy client uses up its quota at one node just before, so that the others have their whole parts left.
        world.greedy_nodes = 0;
        run(&mut world, 1_000);
        world.greedy_nodes = 1;
        run(&mut world, u64::from(QUOTA) + pause());
        world.greedy_nodes = NODES;
    }
    match act {
        Act::FreshCluster => {}
        Act::RestartOfEverything => {
            while !world.nodes.is_empty() {
                world.end_node(true);
            }
            world.start_redis();
            for _ in 0..NODES {
                let steps = pause();
                run(&mut world, steps);
                world.begin_node();
            }
        }
        Act::RollingRestartThenRedis => {
            for _ in 0..NODES {
                world.end_node(true);
                let steps = pause();
                run(&mut world, steps);
                world.begin_node();
                let steps = pause();
                run(&mut world, steps);
            }
            world.redis = None;
            let steps = pause();
            run(&mut world, steps);
            world.start_redis();
        }
        Act::Command => {
            let member = world.join(true);
            let steps = pause();
            run(&mut world, steps);
            world.members[member].until = world.now - 1;
            // The same Redis is unavailable for a moment: the connection breaks, but no data is lost.
            let redis = world.redis.take();
            let steps = pause();
            run(&mut world, steps);
            world.redis = redis;
        }
        Act::NodeKilled => {
            world.end_node(false);
            let steps = pause();
            run(&mut world, steps);
            world.begin_node();
        }
        Act::RedisEmptied => {
            if let Some(redis) = &mut world.redis {
                redis.limiter = LawLimiter::new(LawSettings::default());
            }
        }
        Act::RedisReplaced => {
            world.redis = None;
            let steps = pause() * 4;
            run(&mut world, steps);
            world.start_redis();
        }
    }
    run(&mut world, 1_500);
    Shown {
        refused_ms: client.longest,
        beyond: world.beyond,
    }
}

/// Returns the worst results of some histories of each act.
fn worst(rules: Rules, seeds: u64) -> Vec<(Act, Shown)> {
    let of_act = |act| {
        let shown = (1..=seeds).map(|seed| history(act, seed, rules));
        let worst = shown.reduce(|one, other| Shown {
            refused_ms: one.refused_ms.max(other.refused_ms),
            beyond: one.beyond.max(other.beyond),
        });
        (act, worst.unwrap())
    };
    ACTS.into_iter().map(of_act).collect()
}

/// S970. S977.
#[test]
fn no_ordinary_act_refuses_an_obeying_client_for_long_or_admits_more_than_the_bound() {
    for (act, shown) in worst(RULES, super::number("WORKGRAPH_ACTS", 12)) {
        assert!(shown.refused_ms <= REFUSED_MAX_MS, "{act:?}: {shown:?}");
        assert!(shown.beyond <= 0, "{act:?}: {shown:?}");
    }
}

/// Detects nodes that admit nearly nothing while they are new, and nodes that trust any Redis immediately.
#[test]
fn nodes_that_wait_for_their_part_or_trust_every_redis_are_noticed() {
    let timid = Rules {
        parts: |members, age| match age {
            101_000.. => u32::try_from(members).unwrap_or(u32::MAX),
            _ => u32::MAX,
        },
        ..RULES
    };
    let noticed = worst(timid, 4);
    let refused = |of: Act| {
        noticed
            .iter()
            .any(|(act, shown)| *act == of && shown.refused_ms > REFUSED_MAX_MS)
    };
    assert!(refused(Act::RollingRestartThenRedis), "{noticed:?}");
    let trusting = Rules {
        caution_ms: 0,
        ..RULES
    };
    let noticed = worst(trusting, 12);
    let exceeds = noticed
        .iter()
        .any(|(act, shown)| *act == Act::RedisReplaced && shown.beyond > 0);
    assert!(exceeds, "{noticed:?}");
}
