//! The revocation and introspection endpoints.
use std::sync::Arc;

use workgraph_auth::conformance::{SCOPES, block_on};
use workgraph_auth::{
    EndpointRequest, Endpoints, Param, PublicClients, TokenKind, TokenRecord, TokenSettings,
    TokenStore, mint_token,
};

use crate::flawed::{Flaw, Flawed};
use crate::oauth::{ISSUER, Service, Town, bad, error, member, pairs, refreshing, secret_of, with};
use crate::{at, random};

fn revoking(token: &str) -> Vec<Param> {
    pairs(&[
        ("client_id", "40"),
        ("client_secret", secret_of(40).expose()),
        ("token", token),
    ])
}

/// S14.
#[test]
fn b41_revoking_a_refresh_token_kills_what_hangs_on_it() {
    let service = Service::new();
    let (access, refresh) = service.tokens(at(0));
    let bought = member(&service.token(&refreshing(&refresh), at(0)), "access_token");
    let (other, other_refresh) = service.tokens(at(0));
    for _ in 0..2 {
        let reply = service.revoke(&revoking(&refresh), at(1));
        assert_eq!((reply.status, reply.body.as_str()), (200, "{}"));
        assert!(
            ![&access, &refresh, &bought]
                .iter()
                .any(|token| service.works(token, at(1)))
        );
    }
    assert!(service.works(&other, at(1)) && service.works(&other_refresh, at(1)));
    assert_eq!(
        error(&service.token(&refreshing(&refresh), at(1))),
        bad("invalid_grant")
    );
}

/// S15. S32.
#[test]
fn b42_b43_b44_what_revocation_answers() {
    let service = Service::new();
    let (access, refresh) = service.tokens(at(0));
    let never = mint_token(TokenKind::Refresh, &random(5)).0;
    for unknown in [never.expose(), "garbage", &"x".repeat(4096), "é"] {
        assert_eq!(service.revoke(&revoking(unknown), at(1)).status, 200);
    }
    let mut others = vec![access.clone()];
    for (id, kind) in [(7, TokenKind::Personal), (8, TokenKind::Service)] {
        let (text, digest) = mint_token(kind, &random(id));
        let mut record = TokenRecord::personal(id, digest, 12, at(0));
        if kind == TokenKind::Service {
            record = TokenRecord::service(id, digest, 12, 7, at(0));
        }
        block_on(service.store.insert_token(record)).unwrap();
        others.push(text.expose().to_owned());
    }
    for token in &others {
        assert_eq!(
            error(&service.revoke(&revoking(token), at(1))),
            bad("unsupported_token_type")
        );
        assert!(service.works(token, at(1)));
    }
    let form = revoking(&refresh);
    for missing in ["client_id", "client_secret", "token"] {
        assert_eq!(
            error(&service.revoke(&with(&form, missing, None), at(1))),
            bad("invalid_request"),
            "{missing}"
        );
    }
    for (name, value) in [("client_secret", "wrong"), ("client_id", "99")] {
        let reply = service.revoke(&with(&form, name, Some(value)), at(1));
        assert_eq!(error(&reply), (401, "invalid_client".to_owned()));
    }
    let stranger = with(
        &with(&form, "client_id", Some("41")),
        "client_secret",
        Some(secret_of(41).expose()),
    );
    assert_eq!(service.revoke(&stranger, at(1)).status, 400);
    assert!(service.works(&refresh, at(1)));
}

/// S17. S18. S33.
#[test]
fn b46_b47_what_introspection_answers() {
    let service = Service::new();
    let (access, refresh) = service.tokens(at(0));
    assert_eq!(
        service.info(&access, at(1000)),
        r#"{"token_type":"bearer","expires_in":3600,"exp":1800003600,"scope":"tasks:read","active":true,"client_id":"40"}"#
    );
    assert!(
        service
            .info(&refresh, at(0))
            .starts_with(r#"{"token_type":"refresh","#)
    );
    service.revoke(&revoking(&refresh), at(1));
    let never = mint_token(TokenKind::Access, &random(5)).0;
    for dead in [&access, &refresh, never.expose(), "garbage", "\u{fffd}"] {
        assert_eq!(service.info(dead, at(2)), r#"{"active":false}"#);
    }
    for form in [
        vec![],
        pairs(&[("token", "")]),
        pairs(&[("token", "a"), ("token", "a")]),
    ] {
        let form = EndpointRequest {
            pairs: &form,
            authorization: &[],
        };
        let reply = block_on(service.endpoints().token_info(&form, at(0))).unwrap();
        assert_eq!(error(&reply), bad("invalid_request"));
    }
}

#[test]
fn b45_a_failing_store_is_never_a_success() {
    let service = Service::new();
    let (access, refresh) = service.tokens(at(0));
    let broken = Flawed(Flaw::CannotRevoke, Arc::into_inner(service.store).unwrap());
    let endpoints = Endpoints {
        store: &broken,
        users: &Town,
        issuer: ISSUER,
        scopes: SCOPES,
        tokens: TokenSettings::DEFAULT,
        public_clients: PublicClients::Refused,
        signer: None,
    };
    let pairs = revoking(&refresh);
    let form = EndpointRequest {
        pairs: &pairs,
        authorization: &[],
    };
    assert!(block_on(endpoints.revoke(&form, at(1))).is_err());
    let pairs = with(&pairs, "token", Some(&access));
    let form = EndpointRequest {
        pairs: &pairs,
        authorization: &[],
    };
    assert_eq!(
        block_on(endpoints.revoke(&form, at(1))).unwrap().status,
        400
    );
}
