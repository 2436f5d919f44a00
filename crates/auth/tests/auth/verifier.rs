//! The verifier of bearer tokens, and tokens of other forms and lifetimes.
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use workgraph_auth::conformance::{SCOPES, block_on};
use workgraph_auth::{
    Account, AuthStoreError, BearerError, EndpointRequest, Endpoints, GrantError, Param,
    SecretDigest, Tier, TokenKind, TokenLookup, TokenPrefixes, TokenRecord, TokenRefusal,
    TokenSettings, TokenStore, TokenVerifier,
};

use crate::oauth::{Service, asks, exchange, member, pairs, refreshing};
use crate::{at, random, record};

const ACME: TokenPrefixes = TokenPrefixes::new("acp_", "acs_", "aca_", "acr_");

/// Look-up of a service that only verifies: it has one token, or fails.
struct OneToken {
    record: Option<TokenRecord>,
    asked: AtomicUsize,
}

#[async_trait]
impl TokenLookup for OneToken {
    async fn look_up(
        &self,
        digest: &SecretDigest,
    ) -> Result<Option<(TokenRecord, Account)>, AuthStoreError> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        let Some(record) = &self.record else {
            return Err(AuthStoreError::Unreachable("10.0.0.1".to_owned()));
        };
        let found = Some(record.clone()).filter(|record| record.digest == *digest);
        Ok(found.map(|record| (record, Account::new(12, Tier::DEFAULT))))
    }
}

fn clock() -> SystemTime {
    at(1)
}

fn verifier(record: Option<TokenRecord>) -> (Arc<OneToken>, TokenVerifier) {
    let asked = AtomicUsize::new(0);
    let lookup = Arc::new(OneToken { record, asked });
    (lookup.clone(), TokenVerifier::new(lookup, clock))
}

#[test]
fn a_token_of_a_look_up_of_ones_own_is_verified_with_its_scopes() {
    let scopes = SCOPES.parse("tasks:read").unwrap();
    let record = TokenRecord {
        scopes,
        ..record(TokenKind::Access)
    };
    let (secret, _) = TokenPrefixes::DEFAULT.mint(TokenKind::Access, &random(1));
    let (_, verifier) = verifier(Some(record));
    let grant = block_on(verifier.verify(&[format!("Bearer {}", secret.expose())])).unwrap();
    assert_eq!((grant.user, grant.require("tasks:read")), (12, Ok(())));
    let refused = GrantError::from(grant.require("tasks:write").unwrap_err());
    let challenge = "Bearer error=\"insufficient_scope\", scope=\"tasks:write\"";
    assert_eq!(
        (refused.status(), refused.challenge().as_deref()),
        (403, Some(challenge))
    );
    assert_eq!(refused.to_string(), "the token lacks the scope tasks:write");
}

#[test]
fn each_way_to_have_no_grant_has_its_status_and_challenge() {
    let (secret, _) = TokenPrefixes::DEFAULT.mint(TokenKind::Personal, &random(1));
    let bearer = format!("Bearer {}", secret.expose());
    let invalid = Some("Bearer error=\"invalid_token\"");
    let revoked = TokenRecord {
        revoked_at: Some(at(0)),
        ..record(TokenKind::Personal)
    };
    let other = TokenRecord {
        digest: SecretDigest([9; 32]),
        ..record(TokenKind::Personal)
    };
    for (stored, header, error, challenge) in [
        (
            None,
            "Basic eA==",
            GrantError::Header(BearerError::Scheme),
            Some("Bearer"),
        ),
        (
            None,
            "Bearer me",
            GrantError::Token(TokenRefusal::Unknown),
            invalid,
        ),
        (
            Some(other),
            &bearer,
            GrantError::Token(TokenRefusal::Unknown),
            invalid,
        ),
        (
            Some(revoked),
            &bearer,
            GrantError::Token(TokenRefusal::Revoked),
            invalid,
        ),
        (
            None,
            &bearer,
            GrantError::Store(AuthStoreError::Unreachable("10.0.0.1".to_owned())),
            None,
        ),
    ] {
        let (_, verifier) = verifier(stored);
        let refused = block_on(verifier.verify(&[header])).unwrap_err();
        assert_eq!(refused, error);
        assert_eq!(refused.challenge().as_deref(), challenge);
        let status = if challenge.is_some() { 401 } else { 503 };
        assert_eq!(refused.status(), status);
        assert!(
            !refused.to_string().contains("10.0.0.1"),
            "addresses are for the log"
        );
    }
}

/// RFC 6750 section 3.1.
#[test]
fn a_request_with_two_tokens_or_a_malformed_one_is_400() {
    for (headers, status) in [
        (vec![], 401),
        (vec!["Basic YTpi"], 401),
        (vec!["Bearer"], 400),
        (vec!["Bearer a b"], 400),
        (vec!["Bearer a", "Bearer b"], 400),
    ] {
        let (_, verifier) = verifier(None);
        let refused = block_on(verifier.verify(&headers)).unwrap_err();
        assert_eq!(refused.status(), status, "{headers:?}");
    }
}

#[test]
fn tokens_have_the_prefixes_of_the_service_and_no_others_are_looked_up() {
    for kind in TokenKind::ALL {
        let (text, digest) = ACME.mint(kind, &random(1));
        assert!(text.expose().starts_with(ACME.of(kind)));
        assert_eq!(ACME.digest(text.expose()), Some(digest));
        assert_eq!(TokenPrefixes::DEFAULT.digest(text.expose()), None);
    }
    let (secret, digest) = ACME.mint(TokenKind::Personal, &random(1));
    let record = TokenRecord {
        digest,
        ..record(TokenKind::Personal)
    };
    let (lookup, default) = verifier(Some(record));
    let bearer = format!("Bearer {}", secret.expose());
    assert!(block_on(default.verify(&[&bearer])).is_err());
    assert_eq!(lookup.asked.load(Ordering::Relaxed), 0);
    assert!(block_on(default.with_prefixes(ACME).verify(&[&bearer])).is_ok());
}

#[test]
fn a_prefix_is_four_plain_characters() {
    for wrong in ["", "abc", "abcde", "ab c", "ab\"c", "é12"] {
        let made = std::panic::catch_unwind(|| TokenPrefixes::new("abc_", "abd_", wrong, "abe_"));
        assert!(made.is_err(), "{wrong:?}");
    }
}

fn form(pairs: &[Param]) -> EndpointRequest<'_> {
    let authorization = &[];
    EndpointRequest {
        pairs,
        authorization,
    }
}

/// Answers of an endpoint name the lifetime that its tokens have.
#[test]
fn access_tokens_live_as_long_as_the_service_says() {
    let service = Service::new();
    let tokens = TokenSettings {
        prefixes: ACME,
        access_lifetime: Duration::from_secs(600),
    };
    let endpoints = Endpoints {
        tokens,
        ..service.endpoints()
    };
    let code = exchange(&service.allow(&asks(), at(0)));
    let first = block_on(endpoints.token(&form(&code), &service.fresh(), at(0))).unwrap();
    let refresh = refreshing(&member(&first, "refresh_token"));
    let second = block_on(endpoints.token(&form(&refresh), &service.fresh(), at(500))).unwrap();
    for (reply, issued) in [(first, 0), (second, 500)] {
        assert!(
            reply.body.contains(r#""expires_in":600,"#),
            "{}",
            reply.body
        );
        let access = member(&reply, "access_token");
        assert!(access.starts_with("aca_"));
        let asked = pairs(&[("token", &access)]);
        let info = |now| {
            block_on(endpoints.token_info(&form(&asked), now))
                .unwrap()
                .body
        };
        assert!(info(at(issued + 599_999)).contains(r#""expires_in":600,"#));
        assert_eq!(info(at(issued + 600_000)), r#"{"active":false}"#);
    }
}

/// A store is a look-up, too.
#[test]
fn a_store_verifies_what_it_issued() {
    let service = Service::new();
    let (access, refresh) = service.tokens(at(0));
    let verifier = TokenVerifier::new(service.store.clone(), clock);
    let verify = |token: &str| block_on(verifier.verify(&[format!("Bearer {token}")]));
    assert_eq!(verify(&access).map(|grant| grant.app), Ok(Some(40)));
    assert_eq!(
        verify(&refresh),
        Err(GrantError::Token(TokenRefusal::NotBearer))
    );
    block_on(service.store.revoke_all(12, at(0))).unwrap();
    assert_eq!(
        verify(&access),
        Err(GrantError::Token(TokenRefusal::Revoked))
    );
}
