//! Apps, authorizations, codes and sessions: conformance, laws, and persistence.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use workgraph_auth::authorization::registered_app::mint_secret;
use workgraph_auth::authorization::user_authorization::Authorization;
use workgraph_auth::conformance::{OAUTH_CASES, block_on, oauth_laws};
use workgraph_auth::{
    Account, App, AuthStoreError, AuthorizationCode, BrowserSession, ConsentRecord,
    EndpointRequest, Endpoints, IssuedTokens, NewTokenMaterial, OAuthStore, PublicClients,
    RedemptionOutcome, RedirectUri, RegisteredScopes, ScopeSet, SecretDigest, Tier, TokenKind,
    TokenRecord, TokenSettings, TokenStore, UserDirectory, UserInfo,
};
use workgraph_store_sqlite::{SqliteStore, StoreOptions};
use workgraph_testkit::{SCOPES, ScratchFolder};

fn open(folder: &ScratchFolder) -> SqliteStore {
    SqliteStore::open(folder.path(), StoreOptions::default()).unwrap()
}

fn at(seconds: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(1_800_000_000 + seconds)
}

fn app() -> App {
    App {
        id: 40,
        name: "App".to_owned(),
        secret: Some(SecretDigest([9; 32])),
        redirects: Vec::new(),
        scopes: RegisteredScopes::Full,
        distribution: vec![7, 5],
        disabled_in: Vec::new(),
        owner: 1,
        created_at: at(0),
        disabled_at: None,
    }
}

/// Returns the consent of user 1 for the app, with a code of this seed.
fn allow(seed: u8) -> ConsentRecord {
    let scopes = SCOPES.parse("tasks:read openid").unwrap();
    ConsentRecord {
        ticket: SecretDigest([seed; 32]),
        time: at(1),
        authorization: Authorization {
            id: 9_000 + u64::from(seed),
            user: 1,
            app: 40,
            scopes,
            created_at: at(1),
            revoked_at: None,
        },
        code: Some(AuthorizationCode {
            digest: SecretDigest([seed; 32]),
            app: 40,
            user: 1,
            grant: 0,
            redirect: "https://app.example/cb".to_owned(),
            challenge: None,
            scopes,
            nonce: None,
            auth_time: at(0),
            created_at: at(1),
            expires_at: at(61),
            used_at: None,
            refresh: None,
        }),
    }
}

/// Returns an access token `id` and a refresh token `id + 1` for a code of this authorization.
fn tokens(id: u8, grant: u64) -> IssuedTokens {
    let token = |kind, id: u8| TokenRecord {
        kind,
        app: Some(40),
        grant: Some(grant),
        scopes: ScopeSet::full(),
        expires_at: (kind == TokenKind::Access).then(|| at(3600)),
        ..TokenRecord::personal(u64::from(id), SecretDigest([id; 32]), 1, at(2))
    };
    IssuedTokens {
        access: token(TokenKind::Access, id),
        refresh: token(TokenKind::Refresh, id + 1),
    }
}

/// Returns a store where user 1 has allowed the app, with code 50 and authorization 9050.
fn allowed(folder: &ScratchFolder) -> SqliteStore {
    let store = open(folder);
    block_on(store.put_account(Account::new(1, Tier::new(1)), None)).unwrap();
    block_on(store.put_app(app(), None)).unwrap();
    block_on(store.keep_consent(allow(50))).unwrap();
    store
}

#[test]
fn sqlite_keeps_apps_as_the_port_says() {
    for (rule, case) in OAUTH_CASES {
        for caches in [true, false] {
            let folder = ScratchFolder::new("oauth");
            let options = StoreOptions {
                caches,
                ..StoreOptions::default()
            };
            let store = SqliteStore::open(folder.path(), options).unwrap();
            let done = block_on(case(&store));
            done.unwrap_or_else(|reason| panic!("{rule}, caches {caches}: {reason}"));
            assert_eq!(store.check().unwrap(), Vec::<String>::new(), "{rule}");
        }
    }
}

/// Returns the number of steps for which the laws are tested.
fn steps() -> u64 {
    std::env::var("WORKGRAPH_LAW_STEPS").map_or(64_000, |n| n.parse().unwrap())
}

/// B17. B18. B37. Over long random runs, compared with a model.
#[test]
fn the_laws_of_tokens_hold_over_random_runs() {
    let each = steps() / 16;
    std::thread::scope(|scope| {
        for seed in 0..16 {
            scope.spawn(move || {
                let folder = ScratchFolder::in_memory("laws");
                let tally = block_on(oauth_laws::run(&open(&folder), seed, each)).unwrap();
                assert!(
                    tally.redeemed > 20 && tally.replayed > 0 && tally.refreshed > 20,
                    "{tally:?}"
                );
                assert!(
                    tally.alive > 50 && tally.dead > 50 && tally.cut > 0,
                    "{tally:?}"
                );
            });
        }
    });
}

struct Ada;

#[async_trait::async_trait]
impl UserDirectory for Ada {
    async fn user_info(&self, id: u64) -> Result<Option<UserInfo>, AuthStoreError> {
        Ok(Some(UserInfo {
            id,
            name: "Ada".to_owned(),
            email: "ada@example.com".to_owned(),
            picture: None,
        }))
    }
}

/// B28. Sixty-four at once, for a thousand codes, through the token endpoint.
#[test]
fn a_thousand_codes_are_redeemed_once_each() {
    const AT_ONCE: u64 = 64;
    const ROUNDS: u64 = 1_000;
    let folder = ScratchFolder::in_memory("races");
    let store = open(&folder);
    let (secret, digest) = mint_secret(&[7; 32]);
    let known = App {
        secret: Some(digest),
        ..app()
    };
    block_on(store.put_account(Account::new(1, Tier::new(1)), None)).unwrap();
    block_on(store.put_app(known, None)).unwrap();
    let seed = |number: u64| SecretDigest::of(&number.to_string()).0;
    let text = |round: u64| format!("code {round}");
    for round in 0..ROUNDS {
        let mut yes = allow(0);
        yes.ticket = SecretDigest(seed(round));
        yes.code.as_mut().unwrap().digest = SecretDigest::of(&text(round));
        block_on(store.keep_consent(yes)).unwrap();
    }
    let barrier = std::sync::Barrier::new(64);
    let wins: Vec<AtomicU64> = (0..ROUNDS).map(|_| AtomicU64::new(0)).collect();
    let redeem = |thread: u64, round: u64| {
        let endpoints = Endpoints {
            store: &store,
            users: &Ada,
            issuer: "https://work.example/api/1.0",
            scopes: SCOPES,
            tokens: TokenSettings::DEFAULT,
            public_clients: PublicClients::Refused,
            signer: None,
        };
        let pairs = [
            ("grant_type", "authorization_code".to_owned()),
            ("client_id", "40".to_owned()),
            ("client_secret", secret.expose().to_owned()),
            ("redirect_uri", "https://app.example/cb".to_owned()),
            ("code", text(round)),
        ];
        let pairs = pairs.map(|(name, value)| (name.to_owned(), value));
        let form = EndpointRequest {
            pairs: &pairs,
            authorization: &[],
        };
        let number = 2 * (round * AT_ONCE + thread);
        let fresh = NewTokenMaterial {
            access_id: 100_000 + number,
            access: seed(10_000_000 + number),
            refresh_id: 100_001 + number,
            refresh: seed(10_000_001 + number),
        };
        block_on(endpoints.token(&form, &fresh, at(2))).unwrap()
    };
    std::thread::scope(|scope| {
        for thread in 0..AT_ONCE {
            let (barrier, wins, redeem) = (&barrier, &wins, &redeem);
            scope.spawn(move || {
                for (round, won) in (0..ROUNDS).zip(wins) {
                    barrier.wait();
                    let reply = redeem(thread, round);
                    assert!([200, 400].contains(&reply.status), "{}", reply.body);
                    won.fetch_add(u64::from(reply.status == 200), Ordering::Relaxed);
                }
            });
        }
    });
    assert!(
        wins.iter().all(|won| won.load(Ordering::Relaxed) == 1),
        "{wins:?}"
    );
}

#[test]
fn what_was_kept_is_there_when_the_store_is_opened_again() {
    let folder = ScratchFolder::new("reopened");
    let store = allowed(&folder);
    block_on(store.keep_consent(allow(60))).unwrap();
    let redeemed = block_on(store.redeem(&SecretDigest([50; 32]), Some(tokens(10, 9050)), at(2)));
    assert!(
        matches!(redeemed, Ok(RedemptionOutcome::Issued(_))),
        "{redeemed:?}"
    );
    let session = BrowserSession::start(1, &[3; 32], at(3)).1;
    block_on(store.start_session(session, None)).unwrap();
    for _ in 0..5 {
        assert_eq!(
            block_on(store.attempt_login(&SecretDigest([7; 32]), at(3))),
            Ok(None)
        );
    }
    let before = (
        block_on(store.authorizations(1)).unwrap(),
        block_on(store.code(&SecretDigest([50; 32]))).unwrap(),
        block_on(store.code(&SecretDigest([60; 32]))).unwrap(),
        block_on(store.list(1)).unwrap(),
    );
    drop(store);
    let store = open(&folder);
    let after = (
        block_on(store.authorizations(1)).unwrap(),
        block_on(store.code(&SecretDigest([50; 32]))).unwrap(),
        block_on(store.code(&SecretDigest([60; 32]))).unwrap(),
        block_on(store.list(1)).unwrap(),
    );
    assert_eq!(before, after);
    assert_eq!(after.3.len(), 2);
    assert_eq!(block_on(store.app(40)), Ok(Some(app().into())));
    let account = Account::new(1, Tier::new(1));
    assert_eq!(
        block_on(store.session(&session.digest)),
        Ok(Some((session, account)))
    );
    let wait = block_on(store.attempt_login(&SecretDigest([7; 32]), at(3)));
    assert_eq!(wait, Ok(Some(Duration::from_secs(1))));
    assert_eq!(
        block_on(store.redeem(&SecretDigest([50; 32]), None, at(4))),
        Ok(RedemptionOutcome::Replayed)
    );
    assert!(
        block_on(store.list(1))
            .unwrap()
            .iter()
            .all(|token| token.revoked_at == Some(at(4)))
    );
    assert_eq!(store.check().unwrap(), Vec::<String>::new());
}

/// B28. In the writer of the store.
#[test]
fn of_many_redemptions_at_once_one_gets_tokens() {
    let folder = ScratchFolder::new("race");
    let store = allowed(&folder);
    let outcomes: Vec<RedemptionOutcome> = std::thread::scope(|scope| {
        let one = |id| {
            let store = &store;
            scope.spawn(move || {
                block_on(store.redeem(&SecretDigest([50; 32]), Some(tokens(id, 9050)), at(2)))
                    .unwrap()
            })
        };
        let all: Vec<_> = (0..16).map(|n| one(100 + 2 * n)).collect();
        all.into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    });
    let issued = |outcome: &&RedemptionOutcome| matches!(outcome, RedemptionOutcome::Issued(_));
    assert_eq!(outcomes.iter().filter(issued).count(), 1);
    let replayed = |outcome: &&RedemptionOutcome| **outcome == RedemptionOutcome::Replayed;
    assert_eq!(outcomes.iter().filter(replayed).count(), 15);
    // The repeated redemptions have revoked the tokens of the first one.
    let left = block_on(store.list(1)).unwrap();
    assert_eq!(left.len(), 2);
    assert!(left.iter().all(|token| token.revoked_at.is_some()));
}

/// B17. B18. B41. Through the cache of tokens.
#[test]
fn a_token_that_was_looked_up_before_follows_every_change() {
    let folder = ScratchFolder::new("cached");
    let store = allowed(&folder);
    block_on(store.redeem(&SecretDigest([50; 32]), Some(tokens(10, 9050)), at(2))).unwrap();
    let look = || {
        block_on(store.find_token(&SecretDigest([10; 32])))
            .unwrap()
            .unwrap()
            .0
    };
    assert_eq!(look().scopes, SCOPES.parse("tasks:read openid").unwrap());
    let only = RegisteredScopes::Only(SCOPES.parse("openid").unwrap());
    let narrow = App {
        scopes: only,
        ..app()
    };
    block_on(store.put_app(narrow.clone(), Some(&app()))).unwrap();
    assert_eq!(look().scopes.to_string(), "openid");
    let off = App {
        disabled_at: Some(at(5)),
        ..narrow.clone()
    };
    block_on(store.put_app(off.clone(), Some(&narrow))).unwrap();
    assert_eq!(look().revoked_at, Some(at(5)));
    block_on(store.put_app(app(), Some(&off))).unwrap();
    assert_eq!(look().revoked_at, None);
    assert_eq!(block_on(store.deauthorize(9050, 1, at(6))), Ok(true));
    assert_eq!(look().revoked_at, Some(at(6)));
    assert_eq!(
        block_on(store.delete_expired(at(3601))),
        Ok(3),
        "token, code, ticket"
    );
    assert_eq!(
        block_on(store.find_token(&SecretDigest([10; 32]))),
        Ok(None)
    );
}

#[test]
fn numbers_of_apps_authorizations_and_swept_tokens_are_not_given_out_again() {
    let folder = ScratchFolder::new("numbers");
    let store = allowed(&folder);
    let most = |store: &SqliteStore| {
        store
            .max_gid()
            .unwrap()
            .map(workgraph_core::model::gid::Gid::get)
    };
    assert_eq!(most(&store), Some(9050));
    let mut late = tokens(10, 9050);
    late.access.id = 9_999;
    block_on(store.redeem(&SecretDigest([50; 32]), Some(late), at(2))).unwrap();
    block_on(store.delete_expired(at(3601))).unwrap();
    drop(store);
    assert_eq!(most(&open(&folder)), Some(9_999));
}

#[test]
fn a_number_that_cannot_be_kept_names_nothing() {
    let folder = ScratchFolder::new("large");
    let store = allowed(&folder);
    assert_eq!(block_on(store.app(u64::MAX)), Ok(None));
    assert_eq!(block_on(store.authorization(1, u64::MAX)), Ok(None));
    assert_eq!(block_on(store.deauthorize(u64::MAX, 1, at(2))), Ok(false));
}

#[test]
fn a_sweep_goes_on_until_all_that_is_over_is_gone() {
    let folder = ScratchFolder::new("sweep");
    let store = allowed(&folder);
    let start =
        |n: u32| BrowserSession::start(1, &SecretDigest::of(&n.to_string()).0, at(u64::from(n))).1;
    std::thread::scope(|scope| {
        for thread in 0..30 {
            let store = &store;
            scope.spawn(move || {
                for n in 0..75 {
                    block_on(store.start_session(start(75 * thread + n), None)).unwrap();
                }
            });
        }
    });
    // The code and the ticket of the setting have also expired.
    let end = start(2_200).expires_at;
    assert_eq!(block_on(store.delete_expired(end)), Ok(2_200 + 2));
    assert_eq!(block_on(store.delete_expired(end)), Ok(0));
    let last = block_on(store.session(&start(2_200).digest)).unwrap();
    assert!(last.is_some());
}

#[test]
fn a_check_reports_redirect_urls_that_would_not_be_registered_today() {
    let folder = ScratchFolder::new("redirects");
    let store = open(&folder);
    let old = RedirectUri::stored("https://a.example/back?a=1&state=2").unwrap();
    let app = App {
        redirects: vec![old.clone()],
        ..app()
    };
    block_on(store.put_app(app, None)).unwrap();
    let read = block_on(store.app(40)).unwrap().unwrap();
    assert_eq!(read.redirects, [old]);
    let found = store.check().unwrap().join("\n");
    assert!(
        found.starts_with("app 40: https://a.example/back?a=1&state=2: A redirect URL must not have the parameter state"),
        "{found}"
    );
}
