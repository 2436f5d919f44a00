//! Reasons of refusals: each has its name, the client and the account that it concerns, and a record for their owner.
use bytes::Bytes;
use std::collections::BTreeSet;
use std::time::Duration;
use workgraph_api::{ApiResponse, Refusal};

use super::browser::{Browser, form, request, text};
use super::fixtures::{ADA, APP, REDIRECT, Town, VERIFIER};

const TOKEN: &str = "/-/oauth_token";

/// Returns the name of a refusal's reason and its client.
fn reason(reply: &ApiResponse) -> (&'static str, Option<u64>) {
    let refusal = reply.refusal.as_ref();
    let named = |refusal: &Refusal| (refusal.reason.name(), refusal.client);
    refusal.map_or(("none", None), named)
}

/// Returns the reply to a form of the token endpoint in which fields are replaced; an empty value removes one.
fn redeem(town: &Town, code: &str, changes: &[(&str, &str)]) -> ApiResponse {
    let usual = [
        ("grant_type", "authorization_code"),
        ("client_id", "40"),
        ("client_secret", town.secret.expose()),
        ("redirect_uri", REDIRECT),
        ("code", code),
        ("code_verifier", VERIFIER),
    ];
    let changed = usual.map(|(name, value)| {
        let change = changes.iter().find(|(changed, _)| *changed == name);
        (name, change.map_or(value, |(_, value)| *value))
    });
    town.call([9, 9, 9, 9], TOKEN, &changed)
}

#[test]
fn each_refused_token_request_names_its_reason_and_its_client() {
    let town = Town::with_inspector(1 << 20, |_| {});
    let mut browser = Browser::of(&town, ADA);
    let code = browser.allow("tasks:read");
    type Fields = [(&'static str, &'static str)];
    let cases: [(&Fields, &str, Option<u64>); 10] = [
        (&[("grant_type", "")], "grant_type_missing", Some(APP)),
        (
            &[("grant_type", "password")],
            "grant_type_unsupported",
            Some(APP),
        ),
        (&[("client_id", "")], "client_id_missing", None),
        (&[("client_id", "forty")], "client_id_malformed", None),
        (
            &[("client_id", "41414141")],
            "client_unknown",
            Some(41_414_141),
        ),
        (&[("client_secret", "")], "client_secret_missing", Some(APP)),
        (&[("client_secret", "no")], "client_secret_wrong", Some(APP)),
        (&[("code", "")], "code_missing", Some(APP)),
        (&[("code", "wgc_no")], "code_unknown", Some(APP)),
        (
            &[("code_verifier", "wrong")],
            "code_verifier_wrong",
            Some(APP),
        ),
    ];
    for (changes, name, client) in cases {
        let reply = redeem(&town, &code, changes);
        assert_eq!(reason(&reply), (name, client), "{changes:?}");
        assert!(!text(&reply).contains(name), "clients read no reason");
        // The owner of the app finds it in the inspector, and nobody has requests of an app that does not exist.
        assert_eq!(reply.record.is_some(), client == Some(APP), "{name}");
        if let Some(record) = reply.record {
            let inspector = town.api.inspector();
            inspector.push(*record, name, Duration::from_millis(1));
        }
    }
    assert_eq!(reason(&redeem(&town, &code, &[])).0, "code_repeated");
    let listed = text(&browser.get("/-/console/requests?owner=app-40&status=4xx"));
    for name in ["client_secret_wrong", "code_verifier_wrong"] {
        assert!(listed.contains(name), "{name}");
    }
    let shown = text(&browser.get("/-/console/requests/client_secret_wrong"));
    assert!(
        shown.contains("The client_secret is not the app"),
        "{shown}"
    );
    let others = town.send(&request("POST", &format!("{TOKEN}?a=b"), [9, 9, 9, 9]));
    assert_eq!(reason(&others), ("query_given", None));
}

#[test]
fn refused_introspections_and_revocations_name_their_reason() {
    let town = Town::new();
    let secret = town.secret.expose();
    let ask = |path, fields: &[(&str, &str)]| reason(&town.call([8, 8, 8, 8], path, fields)).0;
    let (info, revoke) = ("/-/token_info", "/-/oauth_revoke");
    assert_eq!(ask(info, &[]), "token_parameter_missing");
    assert_eq!(
        ask(info, &[("token", "a"), ("token", "b")]),
        "parameter_repeated"
    );
    assert_eq!(ask(revoke, &[("token", "a")]), "client_id_missing");
    let app = ("client_id", "40");
    assert_eq!(ask(revoke, &[("token", "a"), app]), "client_secret_missing");
    let wrong = ("client_secret", "no");
    assert_eq!(
        ask(revoke, &[("token", "a"), app, wrong]),
        "client_secret_wrong"
    );
    // For an unknown token the purpose is reached.
    let right = ("client_secret", secret);
    assert_eq!(ask(revoke, &[("token", "a"), app, right]), "none");
}

#[test]
fn refused_authorizations_and_sign_ins_name_their_reason_and_never_a_secret() {
    let town = Town::new();
    let mut browser = Browser::of(&town, ADA);
    let ask = |browser: &mut Browser<'_>, query: &str| {
        reason(&browser.get(&format!("/-/oauth_authorize?{query}")))
    };
    let to = form(&[("redirect_uri", REDIRECT)]);
    assert_eq!(ask(&mut browser, ""), ("client_id_missing", None));
    assert_eq!(
        ask(&mut browser, "client_id=40"),
        ("redirect_uri_missing", Some(APP))
    );
    let known = format!("client_id=40&{to}");
    assert_eq!(ask(&mut browser, &known), ("state_missing", Some(APP)));
    let state = format!("{known}&state=s");
    assert_eq!(
        ask(&mut browser, &state),
        ("response_type_missing", Some(APP))
    );
    let kind = format!("{state}&response_type=token");
    assert_eq!(
        ask(&mut browser, &kind),
        ("response_type_unsupported", Some(APP))
    );
    let foreign = browser.send(
        |request| request.fetch_site = Some("cross-site".to_owned()),
        "POST",
        "/-/oauth_authorize",
        "",
    );
    assert_eq!(reason(&foreign).0, "form_from_elsewhere");
    assert_eq!(
        reason(&browser.post("/-/oauth_authorize", "")).0,
        "client_id_missing"
    );
    let mut stranger = Browser::of(&town, ADA);
    let wrong = stranger.sign_in(ADA, "not the password");
    assert_eq!(reason(&wrong).0, "password_wrong");
    assert_eq!(wrong.refusal.unwrap().user, Some(ADA));
    let nobody = stranger.sign_in(777, "not the password");
    assert_eq!(reason(&nobody).0, "account_unknown");
    assert_eq!(reason(&stranger.post("/-/sign_in", "")).0, "form_forged");
    let shown = format!("{:?}", wrong.refusal);
    assert!(!shown.contains("not the password"), "{shown}");
}

#[test]
fn every_reply_of_an_error_has_a_reason() {
    let town = Town::new();
    let mut browser = Browser::of(&town, ADA);
    let paths: BTreeSet<&str> = [
        "/-/console/apps/1",
        "/-/console/nothing",
        "/-/console/secret",
        "/-/attachments/1",
        "/0/1/2",
        "/-/oauth_authorize",
        "/-/oauth_token",
        "/-/token_info",
        "/-/oauth_revoke",
        "/-/sign_in",
        "/-/sign_out",
        "/-/console/apps/new",
        "/-/console/account/password",
        "/-/console/try-token",
        "/api/1.0/openid_connect/userinfo",
    ]
    .into();
    let mut refused = 0;
    for path in paths {
        for method in ["GET", "POST"] {
            for body in ["", "a=%zz", "csrf=x&name=", "token=a&token=b"] {
                let mut sent = request(method, path, [7, 7, 7, 7]);
                sent.body = Bytes::from(body.to_owned());
                if !town.has_route(&sent) {
                    continue;
                }
                let replies = [town.send(&sent), browser.send(|_| {}, method, path, body)];
                for reply in replies.into_iter().filter(|reply| reply.status >= 400) {
                    refused += 1;
                    let name = reason(&reply).0;
                    assert!(!["none", "other"].contains(&name), "{method} {path} {body}");
                }
            }
        }
    }
    assert!(refused > 40, "{refused}");
}
