//! The decision on a stored token: every refusal, and the exact instant of expiry.
use std::time::{Duration, SystemTime};

use workgraph_auth::conformance::SCOPES;
use workgraph_auth::{
    Account, Grant, ScopeSet, Tier, TokenKind, TokenRecord, TokenRefusal, check_token,
};

use crate::{at, record};

const ACCOUNT: Account = Account::new(12, Tier::new(1));
const BEARERS: [TokenKind; 3] = [TokenKind::Personal, TokenKind::Service, TokenKind::Access];

type Check = fn(&TokenRecord, &Account, SystemTime) -> Result<Grant, TokenRefusal>;

/// Returns true if a check lets a token live until its expiry, and not at it or after it.
fn keeps_expiry(check: Check) -> bool {
    BEARERS.into_iter().all(|kind| {
        let record = TokenRecord {
            expires_at: Some(at(3_600_000)),
            ..record(kind)
        };
        let ends = [0, 1, 3_599_999].map(|ms| check(&record, &ACCOUNT, at(ms)).is_ok());
        let dead = [3_600_000, 3_600_001, 7_200_000].map(|ms| check(&record, &ACCOUNT, at(ms)));
        ends == [true; 3] && dead == [const { Err(TokenRefusal::Expired) }; 3]
    })
}

/// B40. At it, not after it.
#[test]
fn a_token_is_dead_at_its_expiry() {
    assert!(keeps_expiry(check_token));
}

#[test]
fn a_check_that_is_one_instant_late_or_early_is_noticed() {
    fn late(
        record: &TokenRecord,
        account: &Account,
        now: SystemTime,
    ) -> Result<Grant, TokenRefusal> {
        check_token(record, account, now - Duration::from_millis(1)) // `<=` where `<` belongs
    }
    fn early(
        record: &TokenRecord,
        account: &Account,
        now: SystemTime,
    ) -> Result<Grant, TokenRefusal> {
        check_token(record, account, now + Duration::from_millis(1))
    }
    fn never(
        record: &TokenRecord,
        account: &Account,
        _: SystemTime,
    ) -> Result<Grant, TokenRefusal> {
        check_token(record, account, at(0))
    }
    for (what, broken) in [("late", late as Check), ("early", early), ("never", never)] {
        assert!(!keeps_expiry(broken), "{what}");
    }
}

#[test]
fn a_grant_says_what_the_record_says() {
    for kind in BEARERS {
        let record = TokenRecord {
            scopes: SCOPES.parse("tasks:read").unwrap(),
            ..record(kind)
        };
        let grant = check_token(&record, &ACCOUNT, at(0)).unwrap();
        let expected = Grant {
            token: 5,
            user: 12,
            app: record.app,
            workspace: record.workspace,
            scopes: record.scopes,
            kind,
            limit_key: record.digest.key(),
            tier: Tier::new(1),
            allowed_workspaces: None,
        };
        assert_eq!(grant, expected);
    }
    let free = check_token(
        &record(TokenKind::Personal),
        &Account::new(12, Tier::DEFAULT),
        at(0),
    )
    .unwrap();
    assert_eq!((free.tier, free.scopes), (Tier::DEFAULT, ScopeSet::full()));
}

#[test]
fn a_token_without_expiry_lives_on() {
    let centuries = at(0) + Duration::from_secs(10_000_000_000);
    assert!(check_token(&record(TokenKind::Personal), &ACCOUNT, centuries).is_ok());
}

#[test]
fn a_refresh_token_is_no_bearer_token_in_any_state() {
    let base = record(TokenKind::Refresh);
    let states = [
        base.clone(),
        TokenRecord {
            revoked_at: Some(at(0)),
            ..base.clone()
        },
        TokenRecord {
            expires_at: Some(at(0)),
            ..base
        },
    ];
    for record in states {
        assert_eq!(
            check_token(&record, &ACCOUNT, at(1)),
            Err(TokenRefusal::NotBearer)
        );
    }
}

/// B50. Each reason for which a token is dead has its own words.
#[test]
fn the_first_reason_is_told() {
    for kind in BEARERS {
        let good = record(kind);
        let expired = TokenRecord {
            expires_at: Some(at(1)),
            ..good.clone()
        };
        let revoked = TokenRecord {
            revoked_at: Some(at(9)),
            ..expired.clone()
        };
        let disabled = Account {
            disabled: true,
            ..ACCOUNT
        };
        assert_eq!(
            check_token(&expired, &ACCOUNT, at(1)),
            Err(TokenRefusal::Expired)
        );
        assert_eq!(
            check_token(&expired, &disabled, at(1)),
            Err(TokenRefusal::Disabled)
        );
        // A revocation counts for any clock, also for one that is behind the revoking node's.
        assert_eq!(
            check_token(&revoked, &disabled, at(1)),
            Err(TokenRefusal::Revoked)
        );
        assert_eq!(
            check_token(
                &good,
                &Account {
                    user: 13,
                    ..ACCOUNT
                },
                at(1)
            ),
            Err(TokenRefusal::Unknown)
        );
    }
}

#[test]
fn records_that_do_not_hold_together_are_unknown() {
    let (personal, service, access) = (
        record(TokenKind::Personal),
        record(TokenKind::Service),
        record(TokenKind::Access),
    );
    let unsound = [
        TokenRecord {
            workspace: None,
            ..service.clone()
        },
        TokenRecord {
            app: Some(1),
            ..service
        },
        TokenRecord {
            app: Some(1),
            ..personal.clone()
        },
        TokenRecord {
            grant: Some(1),
            ..personal.clone()
        },
        TokenRecord {
            workspace: Some(1),
            ..personal
        },
        TokenRecord {
            expires_at: None,
            ..access.clone()
        },
        TokenRecord {
            app: None,
            ..access.clone()
        },
        TokenRecord {
            grant: None,
            ..access.clone()
        },
        TokenRecord {
            workspace: Some(1),
            ..access
        },
    ];
    for record in unsound {
        assert_eq!(
            check_token(&record, &ACCOUNT, at(0)),
            Err(TokenRefusal::Unknown),
            "{record:?}"
        );
    }
}
