//! One admission over all limits beside `governor`'s check, in the same run; the ratios are printed at the end.

#![allow(
    missing_docs,
    reason = "criterion makes a function without documentation"
)]

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::hint::black_box;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use criterion::{Bencher, Criterion, Throughput};
use governor::clock::{Clock, DefaultClock};
use governor::nanos::Nanos;
use governor::state::keyed::DefaultKeyedStateStore;
use governor::{Quota, RateLimiter};
use workgraph_limits::window::{Terms, Window};
use workgraph_limits::{Class, Key, Limiter, Rate, Request, Settings};

const KEYS: u64 = 1_000_000;

/// Requests per minute and key: the virtual clock of both passes a minute in so many rounds over all keys.
const ROUNDS: u64 = 4;

/// A clock that is told the time, which costs `governor` one load.
#[derive(Clone, Default)]
struct Told(Arc<AtomicU64>);

impl Clock for Told {
    type Instant = Nanos;

    fn now(&self) -> Nanos {
        Nanos::new(self.0.load(Relaxed))
    }
}

fn mix(n: u64) -> u64 {
    let n = (n ^ (n >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let n = (n ^ (n >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    n ^ (n >> 31)
}

/// Uniform keys in an order that no cache foresees.
fn keys() -> Vec<Key> {
    let key = |n: u64| (u128::from(mix(n)) << 64 | u128::from(mix(n + KEYS))).to_le_bytes();
    (1..=KEYS).map(key).collect()
}

fn at(milliseconds: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(1_800_000_000) + Duration::from_millis(milliseconds)
}

fn request(key: Key) -> Request {
    Request {
        key,
        class: Class::Read,
        rate: Rate::Standard { quota: 1_500 },
        weight: 1,
    }
}

fn quota() -> Quota {
    Quota::per_minute(NonZeroU32::new(1_500).unwrap_or(NonZeroU32::MIN))
}

/// The time of the `n`-th request over all keys, in milliseconds.
fn pace(n: u64) -> u64 {
    n * 60_000 / (KEYS * ROUNDS)
}

/// Runs a step `count` times on each of `threads` threads, with numbers that go on over the calls; returns the time.
#[expect(clippy::disallowed_methods, reason = "a benchmark measures time")]
fn run(threads: u64, first: u64, count: u64, step: &(impl Fn(u64) + Sync)) -> Duration {
    let start = std::time::Instant::now();
    if threads == 1 {
        (first..first + count).for_each(step);
    } else {
        std::thread::scope(|scope| {
            for thread in 0..threads {
                // Every thread visits all keys, each from another one on.
                let first = first + thread * KEYS / threads;
                scope.spawn(move || (first..first + count).for_each(step));
            }
        });
    }
    start.elapsed()
}

/// Nanoseconds per operation of every sample, by benchmark.
#[derive(Default)]
struct Times(RefCell<BTreeMap<&'static str, Vec<f64>>>);

impl Times {
    fn bench(
        &self,
        criterion: &mut Criterion,
        name: &'static str,
        threads: u64,
        step: impl Fn(u64) + Sync,
    ) {
        let mut next = 0;
        run(1, next, 2 * KEYS, &step); // every key has a record, and no table grows any more
        next += 2 * KEYS;
        let body = |bencher: &mut Bencher<'_>| {
            bencher.iter_custom(|count| {
                let time = run(threads, next, count, &step);
                next += count;
                #[expect(clippy::cast_precision_loss, reason = "it is a measurement")]
                let each = time.as_nanos() as f64 / count as f64;
                self.0.borrow_mut().entry(name).or_default().push(each);
                time
            });
        };
        let mut group = criterion.benchmark_group("admission");
        group.throughput(Throughput::Elements(threads));
        group.bench_function(name, body);
        group.finish();
    }

    /// The median.
    fn of(&self, name: &str) -> f64 {
        let mut times = self.0.borrow().get(name).cloned().unwrap_or_default();
        times.sort_by(f64::total_cmp);
        times.get(times.len() / 2).copied().unwrap_or(f64::NAN)
    }
}

fn all(criterion: &mut Criterion, times: &Times) {
    let keys = &keys();
    let key = |n: u64| {
        let at = usize::try_from(n % KEYS).unwrap_or(0);
        keys.get(at).copied().unwrap_or_default()
    };
    for threads in [1, 2] {
        let name = |one, two| if threads == 1 { one } else { two };
        let limiter = Limiter::new(Settings::default());
        times.bench(
            criterion,
            name("ours: all limits, 1 thread", "ours: all limits, 2 threads"),
            threads,
            |n| drop(black_box(limiter.admit(&request(key(n)), at(pace(n))))),
        );
        let limiter = Limiter::new(Settings::default());
        times.bench(
            criterion,
            name(
                "ours: all limits, settled, 1 thread",
                "ours: all limits, settled, 2 threads",
            ),
            threads,
            |n| {
                let now = at(pace(n));
                if let Ok(mut permit) = limiter.admit(&request(key(n)), now) {
                    permit.settle(12, now);
                }
            },
        );
        drop(limiter);
        let clock = Told::default();
        let store = DefaultKeyedStateStore::<Key>::default();
        let governor = RateLimiter::<Key, _, _>::new(quota(), store, clock.clone());
        times.bench(
            criterion,
            name(
                "governor: keyed, told the time, 1 thread",
                "governor: keyed, told the time, 2 threads",
            ),
            threads,
            |n| {
                let now = pace(n) * 1_000_000;
                if clock.0.load(Relaxed) != now {
                    clock.0.store(now, Relaxed);
                }
                let _ = black_box(governor.check_key(&key(n)));
            },
        );
        let governor = RateLimiter::<Key, _, DefaultClock>::keyed(quota());
        times.bench(
            criterion,
            name(
                "governor: keyed, own clock, 1 thread",
                "governor: keyed, own clock, 2 threads",
            ),
            threads,
            |n| {
                let _ = black_box(governor.check_key(&key(n)));
            },
        );
    }
}

fn in_hand(criterion: &mut Criterion, times: &Times) {
    let terms = Terms {
        quota: 1_500,
        remembered: 1_350,
    };
    let window = std::sync::Mutex::new(Window::default());
    // Single-threaded, so the lock around the whole run is taken once; a request every 40 ms is the full quota.
    let mut next = 0;
    let mut group = criterion.benchmark_group("in hand");
    let note = |name, count: u64, time: Duration| {
        #[expect(clippy::cast_precision_loss, reason = "it is a measurement")]
        let each = time.as_nanos() as f64 / count as f64;
        times.0.borrow_mut().entry(name).or_default().push(each);
        time
    };
    for (name, every) in [("ours: busy", 40), ("ours: quiet", 20_000)] {
        group.bench_function(name, |bencher| {
            bencher.iter_custom(|count| {
                let Ok(mut window) = window.lock() else {
                    return Duration::ZERO;
                };
                let time = timed(|| {
                    for _ in 0..count {
                        next += every;
                        black_box(window.charge(terms, 1, next));
                    }
                });
                note(name, count, time)
            });
        });
    }
    let clock = Told::default();
    let governor = RateLimiter::direct_with_clock(quota(), clock.clone());
    group.bench_function("governor: told the time", |bencher| {
        bencher.iter_custom(|count| {
            let time = timed(|| {
                for _ in 0..count {
                    clock.0.store(clock.0.load(Relaxed) + 40_000_000, Relaxed);
                    let _ = black_box(governor.check());
                }
            });
            note("governor: told the time", count, time)
        });
    });
    let governor = RateLimiter::direct(quota());
    group.bench_function("governor: own clock", |bencher| {
        bencher.iter_custom(|count| {
            let time = timed(|| {
                for _ in 0..count {
                    let _ = black_box(governor.check());
                }
            });
            note("governor: own clock", count, time)
        });
    });
    group.finish();
}

#[expect(clippy::disallowed_methods, reason = "a benchmark measures time")]
fn timed(work: impl FnOnce()) -> Duration {
    let start = std::time::Instant::now();
    work();
    start.elapsed()
}

fn main() {
    let mut criterion = Criterion::default()
        .sample_size(30)
        .warm_up_time(Duration::from_secs(1))
        .measurement_time(Duration::from_secs(4))
        .configure_from_args();
    let times = Times::default();
    in_hand(&mut criterion, &times);
    all(&mut criterion, &times);
    for (ours, governor) in [
        (
            "ours: all limits, 1 thread",
            "governor: keyed, told the time, 1 thread",
        ),
        (
            "ours: all limits, 1 thread",
            "governor: keyed, own clock, 1 thread",
        ),
        (
            "ours: all limits, settled, 1 thread",
            "governor: keyed, told the time, 1 thread",
        ),
        (
            "ours: all limits, 2 threads",
            "governor: keyed, told the time, 2 threads",
        ),
        (
            "ours: all limits, 2 threads",
            "governor: keyed, own clock, 2 threads",
        ),
        (
            "ours: all limits, settled, 2 threads",
            "governor: keyed, told the time, 2 threads",
        ),
        ("ours: busy", "governor: told the time"),
        ("ours: busy", "governor: own clock"),
        ("ours: quiet", "governor: told the time"),
    ] {
        let (one, other) = (times.of(ours), times.of(governor));
        println!(
            "{:.2} = {one:.1} ns ({ours}) / {other:.1} ns ({governor})",
            one / other
        );
    }
}
