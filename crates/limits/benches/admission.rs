//! One admission over all limits beside `governor`'s check, in the same run; the ratios are printed at the end.

use std::cell::RefCell;
use std::hint::black_box;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use criterion::measurement::{Measurement, WallTime};
use criterion::{Bencher, Criterion};
use governor::clock::{Clock, DefaultClock};
use governor::middleware::NoOpMiddleware;
use governor::nanos::Nanos;
use governor::state::keyed::DefaultKeyedStateStore;
use governor::{Quota, RateLimiter};
use workgraph_limits::laws::LawSettings;
use workgraph_limits::rate::WindowLength;
use workgraph_limits::window::{Window, WindowTerms};
use workgraph_limits::{
    AdmissionRequest, DigestLimiter, LimitKey, LimiterSettings, SlotRequest, WindowCharge,
};

const KEYS: u64 = 1_000_000;

/// Requests per minute and key, by all threads together: the virtual clock of both limiters passes a minute in this
/// many rounds over all keys.
const ROUNDS: u64 = 4;

/// Clock that the benchmark sets; reading it costs `governor` one load.
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

/// Returns uniform keys in an order that no cache can predict.
fn keys() -> Vec<LimitKey> {
    let key = |n: u64| (u128::from(mix(n)) << 64 | u128::from(mix(n + KEYS))).to_le_bytes();
    (1..=KEYS).map(key).collect()
}

fn at(milliseconds: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(1_800_000_000) + Duration::from_millis(milliseconds)
}

/// Charges of a request: one in the first of two windows. Its slots: one of the first of two classes.
const WINDOWS: [WindowCharge; 2] = [WindowCharge::of(1).with_quota(1_500), WindowCharge::of(0)];
const SLOTS: [SlotRequest; 2] = [SlotRequest::of(1), SlotRequest::of(0)];

fn request(key: &LimitKey) -> AdmissionRequest<'_, LimitKey> {
    AdmissionRequest::new(key).windows(&WINDOWS).slots(&SLOTS)
}

/// Returns a limiter with five limits: two windows, two classes, and a cost quota.
fn limiter() -> DigestLimiter {
    DigestLimiter::new(LimiterSettings::from(&LawSettings::default()))
}

fn quota() -> Quota {
    Quota::per_minute(NonZeroU32::new(1_500).unwrap_or(NonZeroU32::MIN))
}

/// Returns the time of the `n`-th request over all keys of each of `threads` threads, in milliseconds.
fn pace(threads: u64, n: u64) -> u64 {
    n * threads * 60_000 / (KEYS * ROUNDS)
}

/// Runs a step `count` times on each of `threads` threads, with numbers that continue from call to call; returns the time.
fn run(threads: u64, first: u64, count: u64, step: &(impl Fn(u64) + Sync)) -> Duration {
    let start = WallTime.start();
    if threads == 1 {
        (first..first + count).for_each(step);
    } else {
        std::thread::scope(|scope| {
            for thread in 0..threads {
                // Every thread visits all keys, but each begins at another key.
                let first = first + thread * KEYS / threads;
                scope.spawn(move || (first..first + count).for_each(step));
            }
        });
    }
    WallTime.end(start)
}

/// Subject of a measurement. It keeps its state from step to step, and needs a warm-up that creates all its records.
struct Subject<'a> {
    name: &'static str,
    warm_up: u64,
    next: u64,
    step: Box<dyn Fn(u64, u64) -> Duration + 'a>,
}

impl<'a> Subject<'a> {
    fn new(name: &'static str, threads: u64, warm_up: u64, step: impl Fn(u64) + Sync + 'a) -> Self {
        let step = move |first, count| run(threads, first, count, &step);
        Self {
            name,
            warm_up,
            next: 0,
            step: Box::new(step),
        }
    }

    fn time(&mut self, count: u64) -> Duration {
        if self.next == 0 {
            self.next = self.warm_up;
            (self.step)(0, self.warm_up);
        }
        let time = (self.step)(self.next, count);
        self.next += count;
        time
    }
}

/// Measures the subjects, ours first. Criterion measures each; then all take turns in small slices, so that other load
/// of the machine affects all of them, and the ratio of the medians is printed.
fn beside(criterion: &mut Criterion, group: &str, slice: u64, mut subjects: Vec<Subject<'_>>) {
    let mut measured = criterion.benchmark_group(group);
    for subject in &mut subjects {
        let name = subject.name;
        let body = |bencher: &mut Bencher<'_>| bencher.iter_custom(|count| subject.time(count));
        measured.bench_function(name, body);
    }
    measured.finish();
    let mut times = vec![Vec::new(); subjects.len()];
    for _ in 0..60 {
        for (subject, times) in subjects.iter_mut().zip(&mut times) {
            #[expect(clippy::cast_precision_loss, reason = "it is a measurement")]
            times.push(subject.time(slice).as_nanos() as f64 / slice as f64);
        }
    }
    let medians: Vec<f64> = times
        .iter_mut()
        .map(|times| {
            times.sort_by(f64::total_cmp);
            times.get(times.len() / 2).copied().unwrap_or(f64::NAN)
        })
        .collect();
    for (subject, median) in subjects.iter().zip(&medians) {
        let other = medians.last().copied().unwrap_or(f64::NAN);
        println!(
            "{group}: {:<34} {median:>7.1} ns, {:.2} of the last",
            subject.name,
            median / other
        );
    }
}

fn keyed(criterion: &mut Criterion, threads: u64) {
    let keys = &keys();
    let key = |n: u64| {
        let at = usize::try_from(n % KEYS).unwrap_or(0);
        keys.get(at).copied().unwrap_or_default()
    };
    let (admitted, settled) = (limiter(), limiter());
    let clock = Told::default();
    let store = DefaultKeyedStateStore::<LimitKey>::default();
    let stamped =
        RateLimiter::<LimitKey, _, _, NoOpMiddleware<Nanos>>::new(quota(), store, clock.clone());
    let own = RateLimiter::<LimitKey, _, DefaultClock>::keyed(quota());
    // More than a minute, so that old stamps expire while new ones are added.
    let warm_up = KEYS * (ROUNDS + 1);
    let subjects = vec![
        Subject::new("ours, admitted and ended", threads, warm_up, |n| {
            let now = at(pace(threads, n));
            drop(black_box(admitted.admit_request(&request(&key(n)), now)));
        }),
        Subject::new("ours, admitted, settled and ended", threads, warm_up, |n| {
            let now = at(pace(threads, n));
            if let Ok(mut permit) = settled.admit_request(&request(&key(n)), now) {
                permit.settle(12, now);
            }
        }),
        Subject::new("governor with its own clock", threads, warm_up, |n| {
            let _ = black_box(own.check_key(&key(n)));
        }),
        Subject::new("governor, told the time", threads, warm_up, |n| {
            let now = pace(threads, n) * 1_000_000;
            if clock.0.load(Relaxed) != now {
                clock.0.store(now, Relaxed);
            }
            let _ = black_box(stamped.check_key(&key(n)));
        }),
    ];
    let group = format!("a million keys, {threads} thread(s)");
    beside(criterion, &group, 200_000, subjects);
}

fn in_hand(criterion: &mut Criterion) {
    let terms = WindowTerms {
        quota: 1_500,
        remembered: 1_350,
        length: WindowLength::MINUTE,
    };
    let window = |name, every: u64| {
        let window = RefCell::new((Window::default(), 0));
        Subject {
            name,
            warm_up: 10_000,
            next: 0,
            step: Box::new(move |_, count| {
                let (window, now) = &mut *window.borrow_mut();
                timed(|| {
                    for _ in 0..count {
                        *now += every;
                        black_box(window.charge(terms, 1, *now));
                    }
                })
            }),
        }
    };
    let clock = Told::default();
    let stamped = RateLimiter::direct_with_clock(quota(), clock.clone());
    let own = RateLimiter::direct(quota());
    let subjects = vec![
        window("ours at the full quota", 40),
        window("ours at three a minute", 20_000),
        Subject::new("governor with its own clock", 1, 1, |_| {
            let _ = black_box(own.check());
        }),
        Subject::new("governor, told the time", 1, 1, |n| {
            clock.0.store(n * 40_000_000, Relaxed);
            let _ = black_box(stamped.check());
        }),
    ];
    beside(criterion, "a record in hand", 1_000_000, subjects);
}

fn timed(work: impl FnOnce()) -> Duration {
    let start = WallTime.start();
    work();
    WallTime.end(start)
}

fn main() {
    let mut criterion = Criterion::default()
        .sample_size(20)
        .warm_up_time(Duration::from_secs(1))
        .measurement_time(Duration::from_secs(3))
        .configure_from_args();
    in_hand(&mut criterion);
    keyed(&mut criterion, 1);
    keyed(&mut criterion, 2);
}
