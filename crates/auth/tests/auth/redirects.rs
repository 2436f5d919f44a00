//! Redirect URLs and apps' names: the rules of registration, and that a request repeats a URL byte
//! for byte.
use workgraph_auth::authorization::redirect_uri::RedirectError;
use workgraph_auth::authorization::registered_app::{
    NameError, authenticate, check_name, mint_secret,
};
use workgraph_auth::{App, LoopbackPolicy, RedirectUri, UnverifiedClientError, VerifiedClient};

use crate::oauth::{POLICY, app, pairs};
use crate::{at, random};

const REGISTERED: &str = "https://app.example/cb/in?a=b";

/// Returns texts near the registered one that other servers have taken for it.
fn variants() -> Vec<String> {
    let mut all: Vec<String> = [
        "https://app.example/cb/in",
        "https://app.example/cb/in?",
        "https://app.example/cb/in?a=b&",
        "https://app.example/cb/in?a=b&c=d",
        "https://app.example/cb/in?A=b",
        "https://app.example/cb/in/?a=b",
        "https://app.example/cb//in?a=b",
        "https://app.example//cb/in?a=b",
        "https://app.example/cb/in/..?a=b",
        "https://app.example/cb/./in?a=b",
        "https://app.example/cb/x/../in?a=b",
        "https://app.example/cb/..;/in?a=b",
        "https://app.example/cb/in;x?a=b",
        "https://app.example/cb%2fin?a=b",
        "https://app.example/cb/%69n?a=b",
        "https://app.example/cb/in%3fa=b",
        "https://app.example/cb/%2e/in?a=b",
        "https://app.example/cb/%2E%2E/cb/in?a=b",
        "https://app.example/cb/in?a=%62",
        "https://app.example/cb/in?a=b%00",
        "https://app.example/cb/in?a=b#",
        "https://app.example/cb/in?a=b#x",
        "https://app.example/cb/in?a=b ",
        " https://app.example/cb/in?a=b",
        "https://app.example/cb/in?a=b\t",
        "\thttps://app.example/cb/in?a=b",
        "https://app.example/cb/in?a=b\n",
        "https://app.example/cb/in?a=b\0",
        "https://app.example/CB/in?a=b",
        "https://App.example/cb/in?a=b",
        "https://APP.EXAMPLE/cb/in?a=b",
        "HTTPS://app.example/cb/in?a=b",
        "Https://app.example/cb/in?a=b",
        "http://app.example/cb/in?a=b",
        "https:app.example/cb/in?a=b",
        "https:/app.example/cb/in?a=b",
        "https:///app.example/cb/in?a=b",
        "https:\\\\app.example/cb/in?a=b",
        "https://app.example\\cb\\in?a=b",
        "//app.example/cb/in?a=b",
        "https://app.example:443/cb/in?a=b",
        "https://app.example:80/cb/in?a=b",
        "https://app.example:/cb/in?a=b",
        "https://app.example./cb/in?a=b",
        "https://.app.example/cb/in?a=b",
        "https://x.app.example/cb/in?a=b",
        "https://app.example.evil.test/cb/in?a=b",
        "https://evilapp.example/cb/in?a=b",
        "https://app.example@evil.test/cb/in?a=b",
        "https://user@app.example/cb/in?a=b",
        "https://user:pass@app.example/cb/in?a=b",
        "https://a@@app.example/cb/in?a=b",
        "https://evil.test\\@app.example/cb/in?a=b",
        "https://evil.test#@app.example/cb/in?a=b",
        "https://evil.test?@app.example/cb/in?a=b",
        "https://app\u{3002}example/cb/in?a=b",
        "https://\u{430}pp.example/cb/in?a=b",
        "https://xn--pp-7kc.example/cb/in?a=b",
        "https://app.example/cb/in?a=b\u{200b}",
        "https://app.example/cb/\u{ff49}n?a=b",
        "https://app.exam\u{ad}ple/cb/in?a=b",
        "javascript:https://app.example/cb/in?a=b",
        "https://127.0.0.1/cb/in?a=b",
        "*",
        "https://*/cb/in?a=b",
        "https://app.example/*",
        "urn:ietf:wg:oauth:2.0:oob",
        "null",
        "undefined",
    ]
    .map(str::to_owned)
    .to_vec();
    for cut in 1..REGISTERED.len() {
        all.push(REGISTERED[..cut].to_owned());
    }
    all
}

/// Comparison of a text with the registered URL.
type Matches<'a> = &'a dyn Fn(&str) -> bool;

/// Returns true if a comparison accepts the registered URL and none of the variants.
fn is_exact(matches: impl Fn(&str) -> bool) -> bool {
    matches(REGISTERED) && !variants().iter().any(|variant| matches(variant))
}

fn registered() -> App {
    App {
        redirects: vec![RedirectUri::register(REGISTERED, LoopbackPolicy::Refused).unwrap()],
        ..app(40, "default")
    }
}

/// S20.
#[test]
fn b02_a_redirect_uri_is_repeated_to_the_byte() {
    assert!(variants().len() >= 60);
    assert!(is_exact(|sent| {
        let params = pairs(&[("client_id", "40"), ("redirect_uri", sent)]);
        match VerifiedClient::check(&params, Some(registered()), &POLICY) {
            Ok(verified) => verified.redirect().as_str() == sent,
            Err(error) => {
                assert!(matches!(error, UnverifiedClientError::Redirect(_)));
                assert!(sent.len() < 10 || !error.to_string().contains(sent));
                false
            }
        }
    }));
}

#[test]
fn matching_that_went_wrong_elsewhere_is_noticed() {
    let prefix = |sent: &str| sent.starts_with("https://app.example/cb/in");
    let extended = |sent: &str| sent.starts_with(REGISTERED);
    let case = |sent: &str| sent.eq_ignore_ascii_case(REGISTERED);
    let trimmed = |sent: &str| sent.trim() == REGISTERED;
    let decoded = |sent: &str| sent.replace("%69", "i") == REGISTERED;
    let port = |sent: &str| sent.replace(":443", "") == REGISTERED;
    let broken: [(&str, Matches<'_>); 6] = [
        ("prefix", &prefix),
        ("extended", &extended),
        ("case", &case),
        ("trimmed", &trimmed),
        ("decoded", &decoded),
        ("port", &port),
    ];
    for (what, matches) in broken {
        assert!(!is_exact(matches), "{what}");
    }
}

/// S49.
#[test]
fn b23_what_may_be_registered() {
    use RedirectError::{Characters, Fragment, Host, Long, Path, Scheme, UserInfo, Wildcard};
    let long = format!("https://app.example/{}", "a".repeat(2000));
    let table: &[(&str, Result<(), RedirectError>)] = &[
        ("https://app.example", Ok(())),
        ("https://app.example/", Ok(())),
        ("https://app.example:8443/cb?x=1&y=%20", Ok(())),
        ("https://[2001:db8::1]:8443/cb", Ok(())),
        ("https://192.0.2.1/cb", Ok(())),
        ("https://localhost/cb", Ok(())),
        ("urn:ietf:wg:oauth:2.0:oob", Ok(())),
        ("urn:ietf:wg:oauth:2.0:oob:auto", Err(Scheme)),
        ("URN:ietf:wg:oauth:2.0:oob", Err(Scheme)),
        ("", Err(Scheme)),
        ("app.example/cb", Err(Scheme)),
        ("http://app.example/cb", Err(Scheme)),
        ("http://127.0.0.1:8099/cb", Err(Scheme)),
        ("HTTPS://app.example/cb", Err(Scheme)),
        ("ftp://app.example/cb", Err(Scheme)),
        ("myapp://cb", Err(Scheme)),
        ("javascript:alert(1)", Err(Scheme)),
        ("JaVaScRiPt:alert(1)//https://app.example", Err(Scheme)),
        ("data:text/html,x", Err(Scheme)),
        ("DATA:text/html,x", Err(Scheme)),
        (" https://app.example/cb", Err(Scheme)),
        ("https://app.example/c b", Err(Characters)),
        ("https://app.example/cb\n", Err(Characters)),
        ("https://app.example/\0", Err(Characters)),
        ("https://app.example\\cb", Err(Characters)),
        ("https://äpp.example/cb", Err(Characters)),
        ("https://app.example/<x>", Err(Characters)),
        ("https://app.example/cb#", Err(Fragment)),
        ("https://app.example/cb#x", Err(Fragment)),
        ("https://user@app.example/cb", Err(UserInfo)),
        ("https://user:pass@app.example/cb", Err(UserInfo)),
        ("https://a@@app.example/cb", Err(UserInfo)),
        ("https://*.app.example/cb", Err(Wildcard)),
        ("https://app.example/*", Err(Wildcard)),
        ("https://", Err(Host)),
        ("https:///cb", Err(Host)),
        ("https://?x", Err(Host)),
        ("https://:443/cb", Err(Host)),
        ("https://app..example/cb", Err(Host)),
        ("https://app_x.example/cb", Err(Host)),
        ("https://app.example:0/cb", Err(Host)),
        ("https://app.example:/cb", Err(Host)),
        ("https://app.example:099/cb", Err(Host)),
        ("https://app.example:65536/cb", Err(Host)),
        ("https://[2001:db8::1/cb", Err(Host)),
        ("https://[x]/cb", Err(Host)),
        ("https://[::1]x/cb", Err(Host)),
        ("https://app.example/../cb", Err(Path)),
        ("https://app.example/a/./cb", Err(Path)),
        ("https://app.example/..;/cb", Err(Path)),
        ("https://app.example/%2e%2E/cb", Err(Path)),
        ("https://app.example/%zz", Err(Path)),
        ("https://app.example/%2", Err(Path)),
        ("https://app.example/?x=%", Err(Path)),
        (&long, Err(Long)),
    ];
    for (text, expected) in table {
        let found = RedirectUri::register(text, LoopbackPolicy::Refused)
            .map(|uri| assert_eq!(uri.as_str(), *text));
        assert_eq!(found, *expected, "{text}");
    }
}

#[test]
fn b23_http_is_for_this_machine_and_by_a_setting() {
    let register = |text| RedirectUri::register(text, LoopbackPolicy::Allowed);
    for text in [
        "http://127.0.0.1:8099/callback",
        "http://[::1]/cb",
        "http://localhost:3000",
    ] {
        assert!(register(text).is_ok(), "{text}");
    }
    for text in [
        "http://127.0.0.2/cb",
        "http://localhost.evil.test/",
        "http://127.0.0.1.evil.test/",
        "http://127.0.0.1@evil.test/",
        "http://app.example/",
    ] {
        assert!(register(text).is_err(), "{text}");
    }
    assert_eq!(
        register("http://127.0.0.1:8099/cb").unwrap().host(),
        Some("127.0.0.1")
    );
    assert_eq!(
        register("https://[::1]:1/cb").unwrap().host(),
        Some("[::1]")
    );
    assert_eq!(register("urn:ietf:wg:oauth:2.0:oob").unwrap().host(), None);
}

#[test]
fn b22_a_name_is_visible() {
    for name in [
        "Zeitplan",
        " Ω ",
        "日本語",
        "🦀 & <b>co</b>",
        "👨\u{200d}👩\u{200d}👧",
    ] {
        assert_eq!(check_name(name), Ok(name.trim()));
    }
    for hidden in [
        "a\0",
        "a\nb",
        "a\u{202e}b",
        "a\u{2066}b",
        "a\u{200b}b",
        "a\u{feff}b",
        "a\u{7f}b",
        "a\u{85}b",
        "a\u{61c}b",
        "a\u{e0041}",
    ] {
        assert_eq!(check_name(hidden), Err(NameError::Characters), "{hidden:?}");
    }
    assert_eq!(check_name(" \t"), Err(NameError::Empty));
    assert_eq!(check_name(&"é".repeat(100)), Ok("é".repeat(100).as_str()));
    assert_eq!(check_name(&"é".repeat(101)), Err(NameError::Long));
}

/// S50.
#[test]
fn b60_a_reset_kills_the_old_secret() {
    let (old, stored) = mint_secret(&random(1));
    let mut app = App {
        secret: Some(stored),
        ..registered()
    };
    assert!(authenticate(Some(&app), old.expose()).is_some());
    let (new, stored) = mint_secret(&random(2));
    app.secret = Some(stored);
    assert!(authenticate(Some(&app), old.expose()).is_none());
    assert!(authenticate(Some(&app), new.expose()).is_some());
    for near in ["", " ", &new.expose()[1..], &format!("{} ", new.expose())] {
        assert!(authenticate(Some(&app), near).is_none());
    }
    assert!(authenticate(None, new.expose()).is_none());
    app.disabled_at = Some(at(0));
    assert!(authenticate(Some(&app), new.expose()).is_none());
    app.disabled_at = None;
    app.secret = None;
    assert!(authenticate(Some(&app), new.expose()).is_none());
    assert!(!format!("{app:?} {new:?}").contains(&new.expose()[4..12]));
}

/// S51.
#[test]
fn b19_an_app_works_where_it_is_distributed_and_not_disabled() {
    let app = App {
        distribution: vec![5, 6],
        disabled_in: vec![6],
        ..registered()
    };
    assert_eq!(
        [4, 5, 6].map(|workspace| app.works_in(workspace)),
        [false, true, false]
    );
    assert!(
        app.is_distributed_to(&[4, 5])
            && !app.is_distributed_to(&[4, 6])
            && !app.is_distributed_to(&[])
    );
    assert!(
        !App {
            disabled_at: Some(at(0)),
            ..app
        }
        .works_in(5)
    );
}
