//! Every law on the crate's limiter, on the reference limiter, and on the mutant that breaks it.

use super::{LAWS, LimiterLaw, MutantLimiter, RealLimiter, ReferenceLimiter};

/// Returns the number of operations per law; `WORKGRAPH_LAW_OPS` sets another number.
fn operations(default: u64) -> u64 {
    std::env::var("WORKGRAPH_LAW_OPS")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(default)
}

fn seed() -> u64 {
    std::env::var("WORKGRAPH_LAW_SEED")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(1)
}

fn held(law: &LimiterLaw) {
    if let Err(violation) = law.check(&RealLimiter::boxed, seed(), operations(500_000)) {
        panic!("{violation}");
    }
    if let Err(violation) = law.check(
        &|settings| Box::new(ReferenceLimiter::new(settings)),
        seed(),
        5_000,
    ) {
        panic!("the naive limiter: {violation}");
    }
    match law.check(
        &|settings| MutantLimiter::boxed(law.name, settings),
        seed(),
        200_000,
    ) {
        Ok(_) => panic!("the broken twin keeps {}: the law tests nothing", law.name),
        Err(violation) => assert!(violation.to_string().contains("operations:"), "{violation}"),
    }
}

/// One test per law, named after it.
macro_rules! laws {
    ($($name:literal: $test:ident),* $(,)?) => {
        $(#[test]
        fn $test() {
            held(LAWS.iter().find(|law| law.name == $name).unwrap());
        })*

        #[test]
        fn every_law_has_its_test() {
            let tested = [$($name),*];
            assert_eq!(LAWS.iter().map(|law| law.name).collect::<Vec<_>>(), tested);
        }
    };
}

laws! {
    "L0": l0_every_answer_is_that_of_the_naive_log,
    "L1": l1_no_minute_admits_more_than_the_quota,
    "L2": l2_the_stated_wait_is_enough,
    "L3": l3_the_stated_wait_is_minimal,
    "L4": l4_retry_after_is_within_its_range,
    "L5": l5_early_retries_cost_the_next_window,
    "L6": l6_silence_restores_everything,
    "L7": l7_hammering_gets_the_floor,
    "L8": l8_even_pacing_is_never_refused,
    "L9": l9_one_more_attempt_lets_no_other_in,
    "L10": l10_keys_are_isolated,
    "L11": l11_search_is_separate,
    "L12": l12_a_batch_counts_like_its_actions,
    "L13": l13_a_clock_that_steps_back_stands_still,
    "L14": l14_eviction_is_invisible,
    "L15": l15_permits_stay_within_the_cap,
    "L16": l16_reads_and_writes_are_independent,
    "L17": l17_cost_is_taken_once_and_admits_above_zero,
    "L19": l19_the_wait_is_true_with_every_limit,
    "L20": l20_changes_forget_nothing,
}

#[test]
fn a_violation_can_be_repeated_from_its_seed() {
    let law = LAWS.iter().find(|law| law.name == "L2").unwrap();
    let twin = |settings| MutantLimiter::boxed("L2", settings);
    let violation = law.check(&twin, 7, 100_000).unwrap_err();
    let again = law.check(&twin, violation.seed, 1).unwrap_err();
    assert_eq!(violation.to_string(), again.to_string());
}

#[test]
fn the_readme_lists_every_law() {
    let readme = include_str!("../../README.md");
    for law in LAWS {
        let row = format!("| {} | {} |", law.name, law.rule);
        assert!(readme.contains(&row), "missing: {row}");
    }
}
