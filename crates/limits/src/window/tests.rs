//! Tests of only the window: time, lengths and memory.

use super::{Window, WindowLength, WindowLog, WindowTerms};

const WINDOW_MS: u64 = 60_000;

const TERMS: WindowTerms = WindowTerms {
    quota: 100,
    remembered: 90,
    length: WindowLength::MINUTE,
};

#[test]
fn a_clock_that_steps_back_neither_frees_nor_misplaces_stamps() {
    let mut window = Window::default();
    assert!(window.charge(TERMS, 60, 100_000));
    assert!(window.charge(TERMS, 40, 70_000));
    assert!(!window.charge(TERMS, 1, 100_000 + WINDOW_MS - 1));
    assert_eq!(window.wait(TERMS, 1), 1);
    assert!(window.charge(TERMS, 1, 100_000 + WINDOW_MS));
}

#[test]
fn the_lists_do_not_outgrow_the_quota_and_shrink_after_a_burst() {
    let mut window = Window::default();
    for now in 0..10_000 {
        window.charge(TERMS, 1, now);
        if let Some(more) = &window.log.more {
            assert!(more.admitted.capacity() <= 100 && more.refused.capacity() <= 90);
        }
    }
    assert!(window.log.more.is_some());
    window.advance(TERMS.length, 10_000 + WINDOW_MS - 1);
    window.advance(TERMS.length, 10_000 + WINDOW_MS);
    window.log.shrink(60_000, window.last);
    assert!(window.is_empty() && window.log.more.is_none());
}

#[test]
fn stamps_outlast_the_overflow_of_their_32_bits_but_not_a_silence_of_that_length() {
    let overflow = 1 << 32;
    let mut window = Window::default();
    assert!(window.charge(TERMS, 100, overflow - 1));
    assert!(!window.charge(TERMS, 1, overflow + WINDOW_MS - 2));
    assert_eq!(window.wait(TERMS, 1), 1);
    // The same low half, 49 days later.
    assert!(window.charge(TERMS, 100, 2 * overflow - 1));
}

#[test]
fn a_log_takes_56_bytes_and_a_few_requests_no_more() {
    assert_eq!(size_of::<WindowLog>(), 56);
    let mut window = Window::default();
    for n in 0..6 {
        assert!(window.charge(TERMS, 10, n));
    }
    assert!(window.log.more.is_none());
}

/// Windows of a second and of a month obey the same laws as windows of a minute.
#[test]
fn windows_of_any_length_admit_their_quota_and_state_a_wait_that_is_enough() {
    let day = 86_400_000;
    for ms in [1_000, 10_000, day, 31 * day, 400 * day] {
        let length = WindowLength::from_millis(ms);
        let terms = WindowTerms {
            quota: 10,
            remembered: 9,
            length,
        };
        let (mut window, mut now) = (Window::default(), 1_800_000_000_003);
        let mut admitted = std::collections::VecDeque::new();
        for step in 0..400 {
            now += ms / 37 * (step % 5);
            if window.charge(terms, 1, now) {
                admitted.push_back(now);
            } else {
                let wait = window.wait(terms, 1);
                assert!(wait > 0 && wait <= length.millis());
                if wait > 1 && step % 2 == 0 {
                    let early = window.clone().charge(terms, 1, now + wait - 1);
                    assert!(!early, "{ms}");
                }
                now += wait;
                assert!(window.charge(terms, 1, now), "{ms}");
                admitted.push_back(now);
            }
            while admitted.front().is_some_and(|at| now - at >= ms) {
                admitted.pop_front();
            }
            assert!(admitted.len() <= 10, "{ms}");
        }
    }
}
