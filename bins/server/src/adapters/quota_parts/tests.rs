//! Parts of nodes that come, go, are killed, and cannot count for a while.
use super::*;
use workgraph_store_postgres::server_nodes::node_number::NODE_NUMBER_RENEWAL;

/// Parts of a node at a time.
type PartsOf = fn(&QuotaParts, Instant) -> u32;

fn after(start: Instant, seconds: u64) -> Instant {
    start + Duration::from_secs(seconds)
}

/// Returns some time; the tests drive it from there.
fn start() -> Instant {
    tokio::time::Instant::now().into_std()
}

#[test]
fn the_settings_hold_at_once_and_more_nodes_wait_for_their_part() {
    let begun = start();
    let mut one = QuotaParts::new(3);
    assert_eq!(one.at(begun), PARTS_MAX);
    one.count(1, begun);
    assert_eq!(one.at(begun), 3, "as many as the settings say");
    one.count(4, after(begun, 5));
    assert_eq!(one.at(after(begun, 5)), PARTS_MAX, "it may be the fourth");
    let mut seconds = 5;
    while one.at(after(begun, seconds)) == PARTS_MAX {
        seconds += 1;
        if seconds % 5 == 0 {
            one.count(4, after(begun, seconds));
        }
    }
    let settled = QuotaParts::SETTLED.as_secs();
    assert_eq!((one.at(after(begun, seconds)), seconds), (4, settled));
    one.count(7, after(begun, seconds));
    assert_eq!(one.at(after(begun, seconds)), 7, "others have joined");
    assert_eq!(one.at(after(begun, seconds + 29)), 7);
    assert_eq!(one.at(after(begun, seconds + 30)), PARTS_MAX, "forgotten");
    one.count(2, after(begun, seconds + 40));
    assert_eq!(one.at(after(begun, seconds + 40)), 3);
}

/// Random numbers.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }
}

/// Node, its row among the members, and what it may have admitted.
struct Node {
    parts: QuotaParts,
    turn: u64,
    /// Second until which its counts fail.
    cut_off_until: u64,
    ended: bool,
    leased_until: u64,
    /// Parts in use in each of the last seconds.
    recent: Vec<f64>,
}

/// Lets nodes come and go for an hour; returns the largest share of a limit that all of them could admit in a minute.
fn largest_share(seed: u64, memory: u64, parts_of: PartsOf) -> f64 {
    let (begun, mut random) = (start(), Random(seed));
    let least = u32::try_from(1 + random.below(4)).unwrap();
    let lease = NODE_NUMBER_LEASE.as_secs();
    let (mut nodes, mut largest): (Vec<Node>, f64) = (Vec::new(), 0.0);
    let mut outage_until = 0;
    for now in 0..3_600 {
        let alive = nodes.iter().filter(|node| !node.ended).count() as u64;
        if random.below(60) == 0 && alive < 8 || alive == 0 {
            nodes.push(Node {
                parts: QuotaParts::new(least),
                turn: now % NODE_NUMBER_RENEWAL.as_secs(),
                cut_off_until: 0,
                ended: false,
                leased_until: now + lease,
                recent: Vec::new(),
            });
        }
        if random.below(600) == 0 {
            outage_until = now + random.below(300);
        }
        for at in 0..nodes.len() {
            let others = nodes.iter().enumerate();
            let others = others.filter(|(n, node)| *n != at && node.leased_until + memory >= now);
            let count = u32::try_from(others.count() + 1).unwrap();
            let node = &mut nodes[at];
            if random.below(400) == 0 {
                node.cut_off_until = now + random.below(200);
            }
            if random.below(500) == 0 && !node.ended {
                // Half of them say so, and the others are killed.
                node.ended = true;
                if random.below(2) == 0 {
                    node.leased_until = node.leased_until.min(now);
                }
            }
            let is_heard = now >= node.cut_off_until.max(outage_until);
            // The first renewal comes before the first request.
            if now % NODE_NUMBER_RENEWAL.as_secs() == node.turn && is_heard && !node.ended {
                node.leased_until = now + lease;
                node.parts.count(count, after(begun, now));
            }
            let share = if node.ended {
                0.0
            } else {
                1.0 / f64::from(parts_of(&node.parts, after(begun, now)))
            };
            node.recent.push(share);
            let past = node.recent.len().saturating_sub(60);
            node.recent.drain(..past);
        }
        let share = |node: &Node| node.recent.iter().copied().fold(0.0, f64::max);
        largest = largest.max(nodes.iter().map(share).sum());
        nodes.retain(|node| !node.ended || now < node.leased_until + 200);
    }
    largest
}

/// S970. Whatever nodes do, their parts in a minute are together no more than the whole; each least part counts as one
/// request.
#[test]
fn all_parts_together_are_never_more_than_the_whole() {
    for seed in 1..=300 {
        let largest = largest_share(seed, NODE_NUMBER_MEMORY.as_secs(), QuotaParts::at);
        assert!(largest <= 1.000_001, "seed {seed}: {largest}");
    }
}

/// Nodes that take their part at once, keep it when nobody counts them, or forget those that left, are noticed.
#[test]
fn nodes_that_are_less_careful_have_more_than_the_whole() {
    let memory = NODE_NUMBER_MEMORY.as_secs();
    let worst = |memory, parts_of: PartsOf| {
        let shares = (1..=40).map(|seed| largest_share(seed, memory, parts_of));
        shares.fold(0.0, f64::max)
    };
    let hasty = worst(memory, |parts, now| parts.latest(now).unwrap_or(PARTS_MAX));
    let stubborn = worst(memory, |parts, now| {
        match (parts.latest(now), parts.counted) {
            (None, Some((count, _))) => count,
            _ => parts.at(now),
        }
    });
    let forgetful = worst(0, QuotaParts::at);
    assert!(
        hasty > 1.1 && stubborn > 1.1 && forgetful > 1.1,
        "{hasty} {stubborn} {forgetful}"
    );
}
