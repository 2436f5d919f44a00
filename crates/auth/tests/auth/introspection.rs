//! Introspection: four kinds of token in every state.
use workgraph_auth::conformance::SCOPES;
use workgraph_auth::endpoints::introspection::UNLIMITED;
use workgraph_auth::{Account, Tier, TokenKind, TokenRecord, introspect};

use crate::{at, record};

const ACCOUNT: Account = Account::new(12, Tier::DEFAULT);
const INACTIVE: &str = r#"{"active":false}"#;

fn json(record: &TokenRecord, account: &Account, millis: u64) -> String {
    introspect(Some((record, account)), at(millis)).to_json()
}

/// S17.
#[test]
fn a_live_token_is_described() {
    let scoped = |kind| TokenRecord {
        scopes: SCOPES.parse("users:read tasks:read").unwrap(),
        ..record(kind)
    };
    assert_eq!(
        json(&scoped(TokenKind::Access), &ACCOUNT, 1_000_000),
        r#"{"token_type":"bearer","expires_in":3600,"exp":1800003600,"scope":"tasks:read users:read","active":true,"client_id":"40"}"#
    );
    assert_eq!(
        json(&scoped(TokenKind::Refresh), &ACCOUNT, 0),
        r#"{"token_type":"refresh","expires_in":315360000,"exp":2115360000,"scope":"tasks:read users:read","active":true,"client_id":"40"}"#
    );
    for kind in [TokenKind::Personal, TokenKind::Service] {
        assert_eq!(
            json(&record(kind), &ACCOUNT, 0),
            r#"{"token_type":"bearer","expires_in":315360000,"exp":2115360000,"scope":"default","active":true}"#
        );
    }
}

#[test]
fn a_personal_token_with_an_expiry_tells_the_time_left() {
    let record = TokenRecord {
        expires_at: Some(at(0) + UNLIMITED),
        ..record(TokenKind::Personal)
    };
    assert_eq!(
        json(&record, &ACCOUNT, 31_000),
        r#"{"token_type":"bearer","expires_in":315359969,"exp":2115360000,"scope":"default","active":true}"#
    );
}

/// B46. S12. For every reason the answer is the same.
#[test]
fn a_dead_token_tells_nothing() {
    assert_eq!(introspect(None, at(0)).to_json(), INACTIVE);
    for kind in TokenKind::ALL {
        let good = TokenRecord {
            expires_at: Some(at(3_600_000)),
            ..record(kind)
        };
        assert!(json(&good, &ACCOUNT, 3_599_999).contains(r#""active":true"#));
        assert_eq!(json(&good, &ACCOUNT, 3_600_000), INACTIVE);
        let revoked = TokenRecord {
            revoked_at: Some(at(0)),
            ..good.clone()
        };
        assert_eq!(json(&revoked, &ACCOUNT, 1), INACTIVE);
        assert_eq!(
            json(
                &good,
                &Account {
                    disabled: true,
                    ..ACCOUNT
                },
                1
            ),
            INACTIVE
        );
        assert_eq!(
            json(
                &good,
                &Account {
                    user: 13,
                    ..ACCOUNT
                },
                1
            ),
            INACTIVE
        );
        let unsound = TokenRecord {
            app: good.app.xor(Some(1)),
            ..good
        };
        assert_eq!(json(&unsound, &ACCOUNT, 1), INACTIVE);
    }
}
