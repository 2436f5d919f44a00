//! The laws of the token lifecycle, and stores that break one of them or of the cases.
use workgraph_auth::MemoryTokenStore;
use workgraph_auth::conformance::{OAUTH_CASES, block_on, oauth_laws};

use crate::flawed::{Flaw, Flawed};

/// B17. B18. B37. B77. S57. Over long random runs, beside a model.
#[test]
fn the_token_lifecycle_keeps_its_laws() {
    let steps = std::env::var("WORKGRAPH_LAW_STEPS").map_or(100_000, |n| n.parse().unwrap());
    for seed in 0..steps / 12_500 {
        let tally = block_on(oauth_laws::run(&MemoryTokenStore::new(), seed, 12_500)).unwrap();
        let counts = [
            tally.allowed,
            tally.silent,
            tally.not_silent,
            tally.redeemed,
            tally.refused,
            tally.replayed,
            tally.refreshed,
            tally.not_refreshed,
            tally.revoked,
            tally.deauthorized,
            tally.alive,
            tally.dead,
            tally.cut,
        ];
        assert!(counts.iter().all(|count| *count >= 20), "{tally:?}");
    }
}

#[test]
fn the_laws_notice_what_breaks_them() {
    for flaw in Flaw::LAWLESS {
        let broken = Flawed(flaw, MemoryTokenStore::new());
        let outcome = block_on(oauth_laws::run(&broken, 1, 20_000));
        assert!(outcome.is_err(), "{flaw:?} keeps the laws");
    }
}

#[test]
fn the_cases_notice_what_breaks_them() {
    let table = [
        (Flaw::CodeTwice, "a code is redeemed once"),
        (
            Flaw::ReplayHarmless,
            "a replayed code kills what came from it",
        ),
        (
            Flaw::RepeatKills,
            "a repeat that has shown its verifier kills nothing",
        ),
        (
            Flaw::SilenceReplaces,
            "a silent answer changes nothing that stands",
        ),
        (
            Flaw::SilenceRevives,
            "a silent answer changes nothing that stands",
        ),
        (Flaw::BurnForgets, "a code can be burned"),
        (Flaw::ScopesAdd, "a later authorization replaces the scopes"),
        (
            Flaw::ScopesUncut,
            "a later authorization replaces the scopes",
        ),
        (
            Flaw::ScopesUncut,
            "an app's registration reaches its tokens at once",
        ),
        (Flaw::GrantOutlived, "deauthorizing an app kills its tokens"),
        (
            Flaw::GrantOutlived,
            "switching an account off ends what apps and browsers had",
        ),
        (Flaw::SessionsStay, "another login ends the sessions"),
        (Flaw::LateSession, "a replaced password starts no session"),
        (Flaw::AnyRefresh, "a refresh token buys access tokens"),
        (
            Flaw::FamilyLives,
            "a refresh token takes its access tokens along",
        ),
        (Flaw::TicketTwice, "a consent is given once"),
        (Flaw::BlindPut, "an app is changed from what it was"),
    ];
    for (flaw, rule) in table {
        let case = OAUTH_CASES
            .iter()
            .find(|(name, _)| *name == rule)
            .unwrap()
            .1;
        let outcome = block_on(case(&Flawed(flaw, MemoryTokenStore::new())));
        assert!(outcome.is_err(), "{flaw:?} passes `{rule}`");
    }
}
