//! Node cache compared with the snapshots that it represents, in every order of steps.
use super::*;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use workgraph_core::model::node::Node;
use workgraph_core::model::registry::Type;

fn node(gid: u64, body: &str) -> Arc<Node> {
    Arc::new(Node {
        gid: Gid::new(gid).unwrap(),
        ty: Type::Task,
        workspace: None,
        version: 1,
        head: "{}".into(),
        body: body.into(),
    })
}

fn keep(cache: &NodeCache, node: &Arc<Node>, at: StateNumber) {
    cache.keep(node.gid, node, at);
}

fn body(cache: &NodeCache, gid: u64, at: StateNumber) -> Option<String> {
    let node = cache.get::<Arc<Node>>(Gid::new(gid).unwrap(), at);
    node.map(|n| n.body.to_string())
}

#[test]
fn an_entry_is_used_until_a_commit_that_touches_it_begins() {
    let cache = NodeCache::new(1 << 20);
    let at = cache.state();
    keep(&cache, &node(1, "a"), at);
    keep(&cache, &node(2, "b"), at);
    cache.begin(&[Gid::new(1).unwrap()]);
    assert_eq!(body(&cache, 1, at), None);
    assert_eq!(body(&cache, 2, at).as_deref(), Some("b"));
    cache.end(&[]);
    let after = cache.state();
    assert_eq!(body(&cache, 1, after), None);
    assert_eq!(body(&cache, 2, after).as_deref(), Some("b"));
}

#[test]
fn what_was_read_before_a_commit_is_not_kept_once_it_began() {
    let cache = NodeCache::new(1 << 20);
    let at = cache.state();
    cache.begin(&[]);
    keep(&cache, &node(1, "during"), at);
    cache.end(&[]);
    keep(&cache, &node(2, "after"), at);
    let now = cache.state();
    assert_eq!((body(&cache, 1, now), body(&cache, 2, now)), (None, None));
}

#[test]
fn an_older_snapshot_does_not_see_what_a_newer_one_kept() {
    let cache = NodeCache::new(1 << 20);
    let old = cache.state();
    cache.begin(&[Gid::new(1).unwrap()]);
    cache.end(&[]);
    let new = cache.state();
    keep(&cache, &node(1, "new"), new);
    assert_eq!(body(&cache, 1, old), None);
    assert_eq!(body(&cache, 1, new).as_deref(), Some("new"));
}

#[test]
fn what_a_commit_created_is_seen_from_its_state_on() {
    let cache = NodeCache::new(1 << 20);
    let old = cache.state();
    cache.begin(&[Gid::new(1).unwrap()]);
    assert_eq!(body(&cache, 1, cache.state()), None);
    cache.end(&[(node(1, "created"), OutEdges::Many)]);
    assert_eq!(body(&cache, 1, old), None);
    let new = cache.state();
    assert_eq!(body(&cache, 1, new).as_deref(), Some("created"));
    let out = cache.get(Gid::new(1).unwrap(), new);
    assert!(matches!(out, Some(OutEdges::Many)));
}

#[test]
fn a_failed_commit_empties_it() {
    let cache = NodeCache::new(1 << 20);
    let at = cache.state();
    keep(&cache, &node(1, "a"), at);
    cache.begin(&[]);
    cache.end_failed();
    assert_eq!(body(&cache, 1, cache.state()), None);
}

#[test]
fn it_stays_within_its_bytes_and_keeps_what_is_used() {
    let cache = NodeCache::new(2 << 20);
    let at = cache.state();
    let text = "x".repeat(1000);
    for gid in 1..5_000 {
        keep(&cache, &node(gid, &text), at);
        assert!(
            gid < 5 || body(&cache, 3, at).is_some(),
            "the one in use went at {gid}"
        );
        let kept: usize = cache
            .shards
            .iter()
            .map(|s| {
                let shard = s.lock();
                shard.young.bytes() + shard.old.bytes()
            })
            .sum();
        assert!(kept <= (2 << 20) + SHARDS * 1_300, "{kept} bytes");
    }
}

/// Step of a reader or of the writer; together they are all the ways in which threads can affect each other.
#[derive(Clone, Copy, Debug)]
enum CacheStep {
    /// A reader drops its snapshot and reads the number of the state.
    Ask(usize),
    /// The reader takes the snapshot.
    Take(usize),
    /// The reader reads a node, from the cache if that has it.
    Read(usize, u64),
    /// The writer begins to commit a change to these nodes, publishes it, and ends.
    Begin(u8),
    Publish,
    End,
}

/// Faults of the broken caches, one each.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Broken {
    Nothing,
    /// The commit begins for the cache only after it is published.
    BeginsLate,
    /// The state is read only after the snapshot was taken.
    AsksLate,
    /// A read is kept under the current state.
    KeepsForNow,
    /// An entry that a newer snapshot kept is used.
    TakesNewer,
}

fn steps() -> impl Strategy<Value = Vec<CacheStep>> {
    let step = prop_oneof![
        (0..2usize).prop_map(CacheStep::Ask),
        (0..2usize).prop_map(CacheStep::Take),
        (0..2usize, 1..3u64).prop_map(|(reader, gid)| CacheStep::Read(reader, gid)),
        (1..4u8).prop_map(CacheStep::Begin),
        Just(CacheStep::Publish),
        Just(CacheStep::End),
    ];
    prop::collection::vec(step, 0..60)
}

#[derive(Clone, Copy, Default)]
struct Reader {
    state: Option<StateNumber>,
    /// Versions of both nodes that the reader's snapshot shows.
    shown: Option<[u64; 2]>,
}

fn check_steps(steps: &[CacheStep], broken: Broken) -> Result<(), TestCaseError> {
    let cache = NodeCache::new(1 << 20);
    let mut readers = [Reader::default(); 2];
    let mut versions = [1u64; 2];
    // The nodes that the current commit touches, and two flags: it is published; the cache knows of it.
    let mut commit: Option<(u8, bool, bool)> = None;
    let gids = |mask: u8| -> Vec<Gid> {
        let touched = (0..2u64).filter(|bit| mask & (1 << bit) != 0);
        touched.filter_map(|bit| Gid::new(bit + 1)).collect()
    };
    for step in steps {
        match *step {
            CacheStep::Ask(at) => {
                readers[at] = Reader {
                    state: Some(cache.state()).filter(|_| broken != Broken::AsksLate),
                    shown: None,
                };
            }
            CacheStep::Take(at) if readers[at].shown.is_none() => {
                readers[at].shown = Some(versions)
            }
            CacheStep::Read(at, gid) => {
                let Some(shown) = readers[at].shown else {
                    continue;
                };
                let Some(state) = readers[at].state else {
                    if broken == Broken::AsksLate {
                        readers[at].state = Some(cache.state());
                    }
                    continue;
                };
                let expected = shown[gid as usize - 1];
                let asked = match broken {
                    Broken::TakesNewer => StateNumber(u64::MAX),
                    _ => state,
                };
                match cache.get::<Arc<Node>>(Gid::new(gid).unwrap(), asked) {
                    Some(node) => prop_assert_eq!(node.version, expected),
                    None => {
                        let mut read = Node::clone(&node(gid, ""));
                        read.version = expected;
                        let now = cache.state();
                        let at = if broken == Broken::KeepsForNow {
                            now
                        } else {
                            state
                        };
                        keep(&cache, &Arc::new(read), at);
                    }
                }
            }
            CacheStep::Begin(mask) if commit.is_none() => {
                let late = broken == Broken::BeginsLate;
                if !late {
                    cache.begin(&gids(mask));
                }
                commit = Some((mask, false, !late));
            }
            CacheStep::Publish => {
                if let Some((mask, false, known)) = commit {
                    (0..2)
                        .filter(|bit| mask & (1 << bit) != 0)
                        .for_each(|bit| versions[bit] += 1);
                    commit = Some((mask, true, known));
                }
            }
            CacheStep::End => {
                if let Some((mask, true, known)) = commit {
                    if !known {
                        cache.begin(&gids(mask));
                    }
                    cache.end(&[]);
                    commit = None;
                }
            }
            CacheStep::Take(_) | CacheStep::Begin(_) => {}
        }
    }
    Ok(())
}

fn run(broken: Broken) -> bool {
    let config = Config {
        cases: 20_000,
        failure_persistence: None,
        max_shrink_iters: 0,
        ..Config::default()
    };
    let mut runner = TestRunner::new(config);
    runner
        .run(&steps(), |steps| check_steps(&steps, broken))
        .is_ok()
}

#[test]
fn a_snapshot_reads_through_the_cache_what_it_shows() {
    assert!(run(Broken::Nothing));
}

#[test]
fn a_page_is_worth_keeping_when_it_is_read_again() {
    let gid = |n| Gid::new(n).unwrap();
    let cache = NodeCache::new(1 << 20);
    assert!(!cache.again(gid(1)) && !cache.again(gid(2)));
    assert!(cache.again(gid(1)) && cache.again(gid(2)));
}

#[test]
fn each_broken_twin_is_found_out() {
    for broken in [
        Broken::BeginsLate,
        Broken::AsksLate,
        Broken::KeepsForNow,
        Broken::TakesNewer,
    ] {
        assert!(!run(broken), "{broken:?}");
    }
}
