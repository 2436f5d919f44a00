//! The token endpoint.

use async_trait::async_trait;
use workgraph_auth::conformance::{SCOPES, block_on};
use workgraph_auth::endpoints::token_endpoints::{BASIC_CHALLENGE, HEADERS};
use workgraph_auth::{
    App, AuthRefusal, AuthStoreError, EndpointRequest, Endpoints, OAuthStore, Param, TokenKind,
    TokenRecord, TokenStore, UserDirectory, UserInfo, mint_token,
};

use crate::oauth::{
    Service, Town, app, asks, bad, error, exchange, member, refreshing, secret_of, with,
};
use crate::{at, random};

/// S16.
#[test]
fn b39_the_reply_of_an_exchange() {
    let service = Service::new();
    let reply = service.token(&exchange(&service.allow(&asks(), at(0))), at(1));
    let (access, refresh) = (
        member(&reply, "access_token"),
        member(&reply, "refresh_token"),
    );
    let data = r#"{"id":12,"gid":"12","name":"Ada \"L\" é","email":"ada@example.com"}"#;
    assert_eq!(
        reply.body,
        format!(
            r#"{{"access_token":"{access}","expires_in":3600,"token_type":"bearer","refresh_token":"{refresh}","data":{data}}}"#
        )
    );
    assert_eq!(reply.headers().collect::<Vec<_>>(), HEADERS);
    assert!(
        HEADERS.contains(&("Cache-Control", "no-store"))
            && HEADERS.contains(&("Pragma", "no-cache"))
    );
    let reply = service.token(&refreshing(&refresh), at(2));
    let access = member(&reply, "access_token");
    assert_eq!(
        reply.body,
        format!(
            r#"{{"access_token":"{access}","expires_in":3600,"token_type":"bearer","data":{data}}}"#
        )
    );
}

#[test]
fn b33_a_repeated_parameter_or_two_ways_to_authenticate() {
    let service = Service::new();
    let (_, refresh) = service.tokens(at(0));
    for form in [
        exchange(&service.allow(&asks(), at(0))),
        with(&refreshing(&refresh), "scope", Some("tasks:read")),
    ] {
        for twin in form.clone() {
            let mut form = form.clone();
            form.push(twin);
            assert_eq!(
                error(&service.token(&form, at(1))),
                bad("invalid_request"),
                "{form:?}"
            );
        }
    }
    let form = with(&refreshing(&refresh), "client_secret", None);
    let basic = |text: &str| format!("Basic {}", base64(text));
    let good = basic(&format!("40:{}", secret_of(40).expose()));
    let bare = with(&form, "client_id", None);
    for form in [&form, &bare] {
        assert_eq!(service.token_by(form, &[&good], at(1)).status, 200);
        assert_eq!(
            service
                .token_by(form, &[&good.replacen("Basic", "bAsIc ", 1)], at(1))
                .status,
            200
        );
        assert_eq!(
            error(&service.token_by(form, &[&good, &good], at(1))),
            bad("invalid_request")
        );
    }
    let escaped = basic(&format!(
        "%34%30:{}",
        secret_of(40).expose().replace('_', "%5f")
    ));
    assert_eq!(service.token_by(&form, &[&escaped], at(1)).status, 200);
    assert_eq!(
        error(&service.token_by(&refreshing(&refresh), &[&good], at(1))),
        bad("invalid_request")
    );
    assert_eq!(
        error(&service.token_by(&with(&form, "client_id", Some("41")), &[&good], at(1))),
        bad("invalid_request")
    );
    for wrong in [
        "Basic",
        "Basic !",
        "Basic NDA=",
        &basic("40:x"),
        &basic("40:%zz"),
        &basic(":"),
    ] {
        assert_eq!(
            error(&service.token_by(&bare, &[wrong], at(1))),
            (401, "invalid_client".to_owned()),
            "{wrong}"
        );
    }
    assert_eq!(
        service
            .token_by(&refreshing(&refresh), &["Bearer x"], at(1))
            .status,
        200
    );
}

fn base64(text: &str) -> String {
    use base64::Engine;
    base64::engine::general_purpose::STANDARD.encode(text)
}

#[test]
fn b34_b35_a_client_is_known_before_anything_is_looked_up() {
    let service = Service::new();
    let off = App {
        disabled_at: Some(at(0)),
        ..app(42, "default")
    };
    block_on(service.store.put_app(off, None)).unwrap();
    let none = App {
        secret: None,
        ..app(43, "default")
    };
    block_on(service.store.put_app(none, None)).unwrap();
    let (access, refresh) = service.tokens(at(0));
    let code = service.allow(&asks(), at(0));
    let claims = [
        (Some("40"), Some("wrong")),
        (Some("40"), None),
        (
            Some("40"),
            Some(secret_of(41).expose().to_owned().leak() as &str),
        ),
        (Some("99"), Some("wrong")),
        (Some("x"), Some("wrong")),
        (Some("040"), Some(secret_of(40).expose().to_owned().leak())),
        (Some("42"), Some(secret_of(42).expose().to_owned().leak())),
        (Some("43"), Some("")),
        (None, Some("wrong")),
        (None, None),
    ];
    let mut replies = Vec::new();
    for form in [
        exchange(&code),
        refreshing(&refresh),
        refreshing("garbage"),
        exchange("garbage"),
    ] {
        for (id, secret) in &claims {
            let form = with(&with(&form, "client_id", *id), "client_secret", *secret);
            replies.push(service.token(&form, at(1)));
        }
    }
    for reply in &replies {
        assert_eq!((reply.status, &reply.body), (401, &replies[0].body));
        assert!(reply.headers().all(|header| header != BASIC_CHALLENGE));
    }
    assert!(service.works(&access, at(1)) && service.works(&refresh, at(1)));
    assert_eq!(service.token(&exchange(&code), at(1)).status, 200);
}

/// B81. A client that sent its secret in the form gets its error in the body alone; one that used
/// the header, in whatever form, is challenged.
#[test]
fn b81_who_used_the_header_is_challenged() {
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    let service = Service::new();
    let (_, refresh) = service.tokens(at(0));
    let basic = |text: &str| format!("Basic {}", STANDARD.encode(text));
    let wrong = with(&refreshing(&refresh), "client_secret", Some("wrong"));
    let bare = with(&wrong, "client_secret", None);
    let nameless = with(&bare, "client_id", None);
    for (form, header, challenged) in [
        (&wrong, None, false),
        (&bare, None, false),
        (&bare, Some(basic("40:wrong")), true),
        (&nameless, Some(basic("99:wrong")), true),
        (&bare, Some("Basic %%%".to_owned()), true),
        (&bare, Some("Bearer wga_x".to_owned()), true),
    ] {
        let headers: Vec<&str> = header.as_deref().into_iter().collect();
        let reply = service.token_by(form, &headers, at(1));
        assert_eq!(error(&reply), (401, "invalid_client".to_owned()));
        let found = reply.headers().any(|sent| sent == BASIC_CHALLENGE);
        assert_eq!(found, challenged, "{header:?}");
    }
    // A reply other than a 401 has no challenge.
    let header = basic(&format!("40:{}", secret_of(40).expose()));
    let form = with(&bare, "refresh_token", Some("garbage"));
    let reply = service.token_by(&form, &[&header], at(1));
    assert_eq!(error(&reply), bad("invalid_grant"));
    assert!(reply.headers().all(|sent| sent != BASIC_CHALLENGE));
}

/// S13.
#[test]
fn b36_a_refresh_token_is_used_again_and_again() {
    let service = Service::new();
    let (first, refresh) = service.tokens(at(0));
    let mut seen = vec![first];
    for _ in 0..1000 {
        let reply = service.token(&refreshing(&refresh), at(1));
        assert!(reply.status == 200 && !reply.body.contains("refresh_token"));
        seen.push(member(&reply, "access_token"));
    }
    let many: Vec<_> = std::thread::scope(|scope| {
        let buy = || service.token(&refreshing(&refresh), at(2));
        let threads: Vec<_> = (0..64).map(|_| scope.spawn(buy)).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    });
    seen.extend(many.iter().map(|reply| member(reply, "access_token")));
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), 1065);
    // v1 clients send the redirect URL here, too: it is ignored.
    assert_eq!(
        service
            .token(
                &with(&refreshing(&refresh), "redirect_uri", Some("x")),
                at(3)
            )
            .status,
        200
    );
}

/// S13.
#[test]
fn b37_a_refresh_token_is_its_apps_and_its_grants() {
    let service = Service::new();
    let (access, refresh) = service.tokens(at(0));
    let wrong =
        |form: &[Param]| assert_eq!(error(&service.token(form, at(1))), bad("invalid_grant"));
    let stranger = with(&refreshing(&refresh), "client_id", Some("41"));
    wrong(&with(
        &stranger,
        "client_secret",
        Some(secret_of(41).expose()),
    ));
    wrong(&refreshing(&access));
    wrong(&refreshing("garbage"));
    let personal = mint_token(TokenKind::Personal, &random(7));
    block_on(
        service
            .store
            .insert_token(TokenRecord::personal(7, personal.1, 12, at(0))),
    )
    .unwrap();
    wrong(&refreshing(personal.0.expose()));
    assert_eq!(service.token(&refreshing(&refresh), at(1)).status, 200);
    let stands = block_on(service.store.authorization(12, 40))
        .unwrap()
        .unwrap();
    assert!(block_on(service.store.deauthorize(stands.id, 12, at(1))).unwrap());
    wrong(&refreshing(&refresh));
    assert!(!service.works(&access, at(1)));
}

#[test]
fn b38_a_refresh_narrows_and_never_widens() {
    let service = Service::new();
    let both = with(&asks(), "scope", Some("tasks:read tasks:write"));
    let refresh = member(
        &service.token(&exchange(&service.allow(&both, at(0))), at(0)),
        "refresh_token",
    );
    let ask =
        |scope: &str| service.token(&with(&refreshing(&refresh), "scope", Some(scope)), at(1));
    for scope in [
        "tasks:read",
        "tasks:write tasks:read",
        "tasks:read tasks:read",
    ] {
        let reply = ask(scope);
        let info = service.info(&member(&reply, "access_token"), at(1));
        let set = SCOPES.parse(scope).unwrap();
        assert!(info.contains(&format!("\"scope\":\"{set}\"")), "{info}");
    }
    for scope in [
        "openid",
        "tasks:read openid",
        "default",
        "tasks:read default",
        "nope",
        " ",
        "Tasks:read",
    ] {
        assert_eq!(error(&ask(scope)), bad("invalid_scope"), "{scope}");
    }
    // A later authorization narrows the scopes of access tokens for the old refresh token, and the
    // reply says so.
    service.allow(&asks(), at(1));
    assert_eq!(error(&ask("tasks:write")), bad("invalid_scope"));
    let reply = service.token(&refreshing(&refresh), at(1));
    assert!(
        service
            .info(&member(&reply, "access_token"), at(1))
            .contains("\"scope\":\"tasks:read\"")
    );
}

#[test]
fn b15_scope_is_returned_if_it_differs() {
    let service = Service::new();
    let both = with(&asks(), "scope", Some("tasks:read tasks:write"));
    let code = service.allow(&both, at(0));
    service.allow(&asks(), at(0));
    assert_eq!(
        member(&service.token(&exchange(&code), at(1)), "scope"),
        "tasks:read"
    );
}

/// S11.
#[test]
fn b40_an_access_token_is_dead_at_its_3600th_second() {
    let service = Service::new();
    let (access, refresh) = service.tokens(at(0));
    assert!(service.works(&access, at(3_599_999)) && !service.works(&access, at(3_600_000)));
    assert_eq!(
        service.token(&refreshing(&refresh), at(3_600_000)).status,
        200
    );
}

/// S29.
#[test]
fn malformed_forms_are_invalid_requests() {
    let service = Service::new();
    let code = service.allow(&asks(), at(0));
    let form = exchange(&code);
    for missing in ["grant_type", "redirect_uri", "code"] {
        for value in [None, Some("")] {
            assert_eq!(
                error(&service.token(&with(&form, missing, value), at(1))),
                bad("invalid_request"),
                "{missing}"
            );
        }
    }
    assert_eq!(
        error(&service.token(&with(&refreshing("x"), "refresh_token", None), at(1))),
        bad("invalid_request")
    );
    for grant in [
        "password",
        "client_credentials",
        "Authorization_code",
        "code",
    ] {
        assert_eq!(
            error(&service.token(&with(&form, "grant_type", Some(grant)), at(1))),
            bad("unsupported_grant_type")
        );
    }
    assert_eq!(
        error(&service.token(&with(&form, "x", Some("\0")), at(1))),
        bad("invalid_request")
    );
    assert_eq!(error(&service.token(&[], at(1))), bad("invalid_request"));
    assert_eq!(service.token(&form, at(1)).status, 200);
}

/// Directory of a service in which user 12 has lost all access.
struct WithoutAccess;

#[async_trait]
impl UserDirectory for WithoutAccess {
    async fn user_info(&self, user: u64) -> Result<Option<UserInfo>, AuthStoreError> {
        Town.user_info(user).await
    }
    async fn has_access(&self, _: u64) -> Result<bool, AuthStoreError> {
        Ok(false)
    }
}

#[test]
fn a_user_without_access_gets_no_token_and_every_token_of_theirs_is_inactive_until_they_have_access()
 {
    let service = Service::new();
    let (access, refresh) = service.tokens(at(0));
    let code = service.allow(&asks(), at(0));
    let endpoints = Endpoints {
        users: &WithoutAccess,
        ..service.endpoints()
    };
    for form in [refreshing(&refresh), exchange(&code)] {
        let form = EndpointRequest {
            pairs: &form,
            authorization: &[],
        };
        let reply = block_on(endpoints.token(&form, &service.fresh(), at(1))).unwrap();
        assert_eq!(error(&reply), bad("invalid_grant"));
        assert_eq!(reply.refusal, Some(AuthRefusal::NoWorkspace));
    }
    for token in [&access, &refresh] {
        let pairs = [("token".to_owned(), token.clone())];
        let form = EndpointRequest {
            pairs: &pairs,
            authorization: &[],
        };
        let reply = block_on(endpoints.token_info(&form, at(1))).unwrap();
        assert_eq!(reply.body, r#"{"active":false}"#);
        assert!(service.works(token, at(1)));
    }
    assert_eq!(service.token(&refreshing(&refresh), at(2)).status, 200);
    assert_eq!(service.token(&exchange(&code), at(2)).status, 200);
}

#[test]
fn the_token_of_a_service_account_is_active_without_other_access() {
    let service = Service::new();
    let (text, digest) = mint_token(TokenKind::Service, &random(9));
    let record = TokenRecord::service(9, digest, 12, 30, at(0));
    block_on(service.store.insert_token(record)).unwrap();
    let endpoints = Endpoints {
        users: &WithoutAccess,
        ..service.endpoints()
    };
    let pairs = [("token".to_owned(), text.expose().to_owned())];
    let form = EndpointRequest {
        pairs: &pairs,
        authorization: &[],
    };
    let reply = block_on(endpoints.token_info(&form, at(1))).unwrap();
    assert!(reply.body.contains(r#""active":true"#), "{}", reply.body);
}
