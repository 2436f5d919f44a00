//! The laws of `workgraph-limits` for the functions, called by three nodes in turn. L0 is left out: it compares with a
//! limiter whose requests may outlive their deadlines, and requests of several nodes can't. The tests in `differential`
//! replace it.

use workgraph_limits::laws::{LAWS, LawSettings, TestedLimiter};

use super::function_limiter::FunctionLimiter;
use super::number;
use crate::functions;
use crate::test_server::TestAddress;

fn held(name: &str, operations: u64) {
    held_from(number("WORKGRAPH_LAW_SEED", 1), name, operations);
}

fn held_from(seed: u64, name: &str, operations: u64) {
    let Some(server) = TestAddress::find() else {
        return;
    };
    let law = LAWS.iter().find(|law| law.name == name).unwrap();
    let url = server.url();
    let make = |settings: LawSettings| -> Box<dyn TestedLimiter> {
        let limiter = FunctionLimiter::new(&url, functions::current(), settings);
        Box::new(if name == "L15" {
            limiter.endless()
        } else {
            limiter
        })
    };
    if let Err(violation) = law.check(&make, seed, operations) {
        panic!("{violation}");
    }
}

macro_rules! laws {
    ($($name:literal: $test:ident),* $(,)?) => {
        $(#[test]
        fn $test() {
            held($name, number("WORKGRAPH_REDIS_LAW_OPS", 2_500));
        })*

        #[test]
        fn every_law_but_one_has_its_test() {
            let tested = [$($name),*];
            let names: Vec<_> = LAWS.iter().map(|law| law.name).filter(|name| *name != "L0").collect();
            assert_eq!(names, tested);
        }
    };
}

laws! {
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

/// Guards against a fault of earlier versions, which dropped an empty account with the latest time that it had seen.
#[test]
fn the_time_of_an_account_outlasts_what_it_counts() {
    held_from(0xa8a5_d57c_a72b_ee50, "L13", 1);
}
