//! Redemption of codes: the values to which they are bound, and that it happens only once.
use std::sync::Barrier;
use std::time::SystemTime;

use workgraph_auth::authorization::pkce::{CodeChallenge, is_verifier};
use workgraph_auth::{EndpointReply, Param};

use crate::at;
use crate::oauth::{
    OOB, REDIRECT, Service, VERIFIER, asks, exchange, member, refreshing, secret_of, with,
};

const NO_GRANT: &str =
    r#"{"error":"invalid_grant","error_description":"The `code` provided was invalid."}"#;

#[test]
fn b26_a_code_lives_for_a_minute() {
    for (millis, status) in [(0, 200), (59_999, 200), (60_000, 400), (600_000, 400)] {
        let service = Service::new();
        let code = service.allow(&asks(), at(0));
        assert_eq!(
            service.token(&exchange(&code), at(millis)).status,
            status,
            "{millis}"
        );
        assert!(code.len() >= 43 && !format!("{:?}", service.store).contains(&code));
    }
}

/// Change of a form.
type Swap<'a> = &'a dyn Fn(&[Param]) -> Vec<Param>;

/// Returns true if a service checks a redemption against everything to which the code is bound.
fn is_bound(judge: impl Fn(&Service, &[Param], SystemTime) -> u16) -> bool {
    let other = |name, value| move |form: &[Param]| with(form, name, Some(value));
    let no_verifier = |form: &[Param]| with(form, "code_verifier", None);
    let wrong = "b".repeat(64);
    let redirect = other("redirect_uri", "https://app.example/cb2");
    let oob = other("redirect_uri", OOB);
    let verifier = other("code_verifier", &wrong);
    let other_app = |form: &[Param]| {
        let form = with(form, "client_id", Some("41"));
        with(&form, "client_secret", Some(secret_of(41).expose()))
    };
    let swaps: [Swap<'_>; 5] = [&redirect, &oob, &verifier, &no_verifier, &other_app];
    swaps.iter().all(|swap| {
        let service = Service::new();
        let form = exchange(&service.allow(&asks(), at(0)));
        judge(&service, &swap(&form), at(1)) == 400
    }) && {
        let service = Service::new();
        judge(&service, &exchange(&service.allow(&asks(), at(0))), at(1)) == 200
    }
}

/// S30.
#[test]
fn b27_a_code_is_bound_to_its_request() {
    assert!(is_bound(|service, form, now| service
        .token(form, now)
        .status));
}

#[test]
fn b27_a_service_that_binds_less_is_noticed() {
    for (ignored, right) in [("redirect_uri", REDIRECT), ("code_verifier", VERIFIER)] {
        assert!(
            !is_bound(|service, form, now| service
                .token(&with(form, ignored, Some(right)), now)
                .status),
            "{ignored}"
        );
    }
}

#[test]
fn b28_a_code_is_redeemed_once_of_many_at_once() {
    for round in 0..100 {
        let service = Service::new();
        let form = exchange(&service.allow(&asks(), at(0)));
        let barrier = Barrier::new(64);
        let redeem = || {
            barrier.wait();
            service.token(&form, at(1))
        };
        let replies: Vec<EndpointReply> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..64).map(|_| scope.spawn(redeem)).collect();
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap())
                .collect()
        });
        let (won, lost): (Vec<_>, Vec<_>) = replies.iter().partition(|reply| reply.status == 200);
        assert_eq!(won.len(), 1, "round {round}: {replies:?}");
        assert!(lost.iter().all(|reply| reply.status == 400));
        // Each request has shown the verifier, so the client keeps the tokens that one of them got.
        for name in ["access_token", "refresh_token"] {
            assert!(service.works(&member(won[0], name), at(2)), "round {round}");
        }
    }
}

#[test]
fn b29_a_replay_kills_what_came_from_the_code() {
    let service = Service::new();
    let code = service.allow(&asks(), at(0));
    let first = service.token(&exchange(&code), at(1));
    let (access, refresh) = (
        member(&first, "access_token"),
        member(&first, "refresh_token"),
    );
    let bought = member(&service.token(&refreshing(&refresh), at(2)), "access_token");
    let stranger = with(&exchange(&code), "client_id", Some("41"));
    let stranger = with(&stranger, "client_secret", Some(secret_of(41).expose()));
    assert_eq!(service.token(&stranger, at(3)).body, NO_GRANT);
    assert!(
        [&access, &refresh, &bought]
            .iter()
            .all(|token| service.works(token, at(4)))
    );
    // The client that began, and knows the verifier, may ask again, and gets nothing.
    for moment in [5, 10_000] {
        assert_eq!(service.token(&exchange(&code), at(moment)).body, NO_GRANT);
        assert!(service.works(&access, at(moment)) && service.works(&refresh, at(moment)));
    }
    // A late replay is a replay, too.
    let thief = with(&exchange(&code), "code_verifier", None);
    assert_eq!(service.token(&thief, at(90_000)).body, NO_GRANT);
    assert!(
        ![&access, &refresh, &bought]
            .iter()
            .any(|token| service.works(token, at(90_001)))
    );
}

/// B79. Ten seconds after its first use a second use of a code is a replay, with the verifier or
/// without: no client asks so late again for an answer that was lost.
#[test]
fn b79_a_repeat_with_the_verifier_is_harmless_for_ten_seconds() {
    for (moment, lives) in [(10_000, true), (10_001, false), (90_000, false)] {
        let service = Service::new();
        let code = service.allow(&asks(), at(0));
        let first = service.token(&exchange(&code), at(1));
        let tokens = ["access_token", "refresh_token"].map(|name| member(&first, name));
        assert_eq!(service.token(&exchange(&code), at(moment)).body, NO_GRANT);
        for token in &tokens {
            assert_eq!(service.works(token, at(moment)), lives, "{moment}");
        }
    }
}

/// B29.
#[test]
fn b29_without_a_challenge_every_second_use_is_a_replay() {
    let service = Service::new();
    let bare = with(
        &with(&asks(), "code_challenge", None),
        "code_challenge_method",
        None,
    );
    let form = with(
        &exchange(&service.allow(&bare, at(0))),
        "code_verifier",
        None,
    );
    let access = member(&service.token(&form, at(1)), "access_token");
    assert!(service.works(&access, at(2)));
    assert_eq!(service.token(&form, at(3)).body, NO_GRANT);
    assert!(!service.works(&access, at(4)));
}

/// S31.
#[test]
fn b30_verifier_and_challenge_go_together() {
    let bare = with(
        &with(&asks(), "code_challenge", None),
        "code_challenge_method",
        None,
    );
    for (challenge, verifier, status) in [
        (true, true, 200),
        (true, false, 400),
        (false, true, 400),
        (false, false, 200),
    ] {
        let service = Service::new();
        let form = exchange(&service.allow(
            if challenge { asks() } else { bare.clone() }.as_slice(),
            at(0),
        ));
        let form = with(&form, "code_verifier", verifier.then_some(VERIFIER));
        assert_eq!(
            service.token(&form, at(1)).status,
            status,
            "{challenge} {verifier}"
        );
    }
    for (length, fits) in [
        (0, false),
        (42, false),
        (43, true),
        (128, true),
        (129, false),
    ] {
        let verifier = "v".repeat(length);
        assert_eq!(is_verifier(&verifier), fits, "{length}");
        assert_eq!(
            CodeChallenge::of(&verifier).is_met_by(&verifier),
            fits,
            "{length}"
        );
    }
    for odd in ["+", "/", "=", " ", "é", "\0", "%"] {
        assert!(!is_verifier(&format!("{}{odd}", "v".repeat(50))), "{odd}");
    }
}

/// S23.
#[test]
fn b11_a_challenge_is_a_sha_256() {
    let good = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"; // RFC 7636 appendix B
    let challenge = CodeChallenge::parse(good).unwrap();
    assert!(challenge.is_met_by("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"));
    assert_eq!(challenge.to_string(), good);
    let short = &good[..42];
    for text in [
        short,
        &format!("{good}A"),
        &format!("{good}="),
        &format!("{short}N"),
        &format!("{short}+"),
        &format!("{short} "),
        &"é".repeat(21),
    ] {
        assert_eq!(CodeChallenge::parse(text), None, "{text}");
    }
}

/// S31.
#[test]
fn b31_a_wrong_verifier_burns_the_code() {
    for wrong in [
        Some("b".repeat(64)),
        Some("b".repeat(42)),
        Some("b".repeat(129)),
        None,
    ] {
        let service = Service::new();
        let form = exchange(&service.allow(&asks(), at(0)));
        assert_eq!(
            service
                .token(&with(&form, "code_verifier", wrong.as_deref()), at(1))
                .body,
            NO_GRANT
        );
        assert_eq!(service.token(&form, at(2)).body, NO_GRANT);
    }
}
