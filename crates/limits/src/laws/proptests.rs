//! Comparison of the limiter with the reference limiter, on traffic that shrinks to the shortest counterexample.

use super::law_class::RequestClass;
use super::law_limit::PerLimit;
use super::law_request::{LawRequest, RateQuota};
use super::law_settings::{LawSettings, Quota};
use proptest::prelude::*;

use super::{
    AdmissionTicket, LimiterHarness, MakeLimiter, MutantLimiter, RealLimiter, ReferenceLimiter,
};
use std::time::Duration;

/// Step of the traffic: time that passes, and the operation after it.
#[derive(Clone, Debug)]
enum LimiterStep {
    Ask(LawRequest),
    Settle(usize, u32),
    Finish(usize),
    Sweep,
    Set(LawSettings),
}

fn settings() -> impl Strategy<Value = LawSettings> {
    let limits = (0..12_u32, 0..4_u32, 0..4_u32, prop::option::of(0..300_u32));
    let shadow = prop_oneof![
        3 => Just([false; 5]),
        1 => prop::array::uniform5(prop::bool::weighted(0.3)),
    ];
    (
        (limits, shadow),
        prop::sample::select(vec![0, 10, 50, 100]),
        0..40_000_u64,
    )
        .prop_map(
            |(
                ((search_per_minute, concurrent_reads, concurrent_writes, cost_per_minute), shadow),
                floor_percent,
                deadline,
            )| {
                let standard = Quota {
                    quota: 0,
                    other_quota: 0,
                    floor_percent,
                };
                let deadline = Duration::from_millis(deadline);
                LawSettings {
                    standard,
                    search_per_minute,
                    concurrent_reads,
                    concurrent_writes,
                    cost_per_minute,
                    cost_ceiling: 500,
                    deadline,
                    shadow: each(shadow),
                }
            },
        )
}

fn each(
    [standard, search, concurrent_reads, concurrent_writes, cost]: [bool; 5],
) -> PerLimit<bool> {
    PerLimit {
        standard,
        search,
        concurrent_reads,
        concurrent_writes,
        cost,
    }
}

fn request() -> impl Strategy<Value = LawRequest> {
    let quota = prop_oneof![4 => Just(12_u32), 1 => 0..30_u32];
    let rate = prop_oneof![
        5 => quota.clone().prop_map(|quota| RateQuota::Standard { quota }),
        2 => Just(RateQuota::Search),
        1 => (quota, 0..5_u32).prop_map(|(quota, searches)| RateQuota::Mixed { quota, searches }),
    ];
    let class = prop::sample::select(vec![RequestClass::Read, RequestClass::Write]);
    let weight = prop_oneof![4 => Just(1_u32), 1 => 0..12_u32];
    (0..2_u8, class, rate, weight).prop_map(|(key, class, rate, weight)| LawRequest {
        key: [key; 16],
        class,
        rate,
        weight,
    })
}

fn steps() -> impl Strategy<Value = Vec<(u64, LimiterStep)>> {
    let gap = prop_oneof![3 => Just(0), 4 => 0..3_000_u64, 1 => 0..61_000_u64];
    let step = prop_oneof![
        12 => request().prop_map(LimiterStep::Ask),
        3 => (any::<usize>(), 0..700_u32).prop_map(|(which, cost)| LimiterStep::Settle(which, cost)),
        6 => any::<usize>().prop_map(LimiterStep::Finish),
        1 => Just(LimiterStep::Sweep),
        1 => settings().prop_map(LimiterStep::Set),
    ];
    prop::collection::vec((gap, step), 1..120)
}

/// Checks that a limiter and the reference limiter give equal answers to the given traffic.
fn agrees(
    make: MakeLimiter<'_>,
    settings: LawSettings,
    steps: &[(u64, LimiterStep)],
) -> Result<(), String> {
    let reference = |settings| Box::new(ReferenceLimiter::new(settings)) as _;
    let mut harness = LimiterHarness::new(make, settings, 1_800_000_000_000);
    let mut naive = LimiterHarness::new(&reference, settings, harness.now);
    let mut open: Vec<AdmissionTicket> = Vec::new();
    for (gap, step) in steps {
        harness.pass(*gap);
        naive.pass(*gap);
        match step {
            LimiterStep::Ask(request) => {
                let (answer, expected) = (harness.ask(request), naive.ask(request));
                if answer != expected {
                    return Err(harness.story(format!("expected {expected:?}")));
                }
                open.extend(answer);
            }
            LimiterStep::Settle(which, cost) if !open.is_empty() => {
                let ticket = open[which % open.len()];
                harness.settle(ticket, *cost);
                naive.settle(ticket, *cost);
            }
            LimiterStep::Finish(which) if !open.is_empty() => {
                let ticket = open.swap_remove(which % open.len());
                harness.finish(ticket);
                naive.finish(ticket);
            }
            LimiterStep::Settle(..) | LimiterStep::Finish(_) => {}
            LimiterStep::Sweep => harness.sweep(),
            LimiterStep::Set(settings) => {
                harness.set(*settings);
                naive.set(*settings);
            }
        }
    }
    Ok(())
}

fn config() -> ProptestConfig {
    ProptestConfig {
        cases: 1_500,
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn every_answer_is_that_of_the_naive_log(settings in settings(), steps in steps()) {
        agrees(&RealLimiter::boxed, settings, &steps).map_err(TestCaseError::fail)?;
    }
}

#[test]
fn a_broken_twin_is_found_and_the_traffic_shrunk() {
    for law in ["L0", "L1", "L5", "L10", "L12", "L14", "L16", "L19"] {
        let mut runner = proptest::test_runner::TestRunner::new(config());
        let found = runner.run(&(settings(), steps()), |(settings, steps)| {
            agrees(
                &|settings| MutantLimiter::boxed(law, settings),
                settings,
                &steps,
            )
            .map_err(TestCaseError::fail)
        });
        match found {
            Err(proptest::test_runner::TestError::Fail(_, (_, steps))) => {
                assert!(steps.len() < 40, "{law}: {steps:?}")
            }
            other => panic!("the twin of {law} was not found: {other:?}"),
        }
    }
}
