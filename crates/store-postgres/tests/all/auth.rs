//! Tokens, accounts, apps, authorizations, codes and sessions: conformance, laws, and many decisions at once.
use crate::support::{TestStore, another_store, empty_store};
use std::sync::Barrier;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use workgraph_auth::authorization::user_authorization::Authorization;
use workgraph_auth::conformance::{CASES, OAUTH_CASES, block_on, oauth_laws};
use workgraph_auth::{
    Account, App, AuthStoreError, AuthorizationCode, BrowserSession, ConsentRecord, IssuedTokens,
    Login, OAuthStore, PasswordChange, RedemptionOutcome, RegisteredScopes, ScopeSet, Secret,
    SecretDigest, Tier, TokenKind, TokenRecord, TokenStore,
};
use workgraph_store_postgres::PostgresStore;
use workgraph_testkit::SCOPES;

#[test]
fn postgres_keeps_tokens_as_the_port_says() {
    for (rule, case) in CASES {
        let Some(made) = empty_store() else { return };
        block_on(case(&made.store)).unwrap_or_else(|reason| panic!("{rule}: {reason}"));
    }
}

#[test]
fn postgres_keeps_apps_as_the_port_says() {
    for (rule, case) in OAUTH_CASES {
        let Some(made) = empty_store() else { return };
        block_on(case(&made.store)).unwrap_or_else(|reason| panic!("{rule}: {reason}"));
        let problems = block_on(made.store.database().check()).unwrap();
        assert_eq!(problems, Vec::<String>::new(), "{rule}");
    }
}

/// Returns the number of steps for which the laws are tested.
fn steps() -> u64 {
    std::env::var("WORKGRAPH_LAW_STEPS").map_or(8_000, |n| n.parse().unwrap())
}

/// B17. B18. B37. Over random runs, compared with a model.
#[test]
fn the_laws_of_tokens_hold_over_random_runs() {
    let each = steps() / 2;
    std::thread::scope(|scope| {
        for seed in 0..2 {
            scope.spawn(move || {
                let Some(made) = empty_store() else { return };
                let tally = block_on(oauth_laws::run(&made.store, seed, each)).unwrap();
                let problems = block_on(made.store.database().check()).unwrap();
                assert_eq!(problems, Vec::<String>::new());
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

pub(crate) fn at(seconds: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(1_800_000_000 + seconds)
}

fn digest(text: &str) -> SecretDigest {
    SecretDigest::of(text)
}

pub(crate) fn app(workspaces: &[u64]) -> App {
    App {
        id: 40,
        name: "Planner".to_owned(),
        secret: Some(SecretDigest([9; 32])),
        redirects: Vec::new(),
        scopes: RegisteredScopes::Full,
        distribution: workspaces.to_vec(),
        disabled_in: Vec::new(),
        owner: 1,
        created_at: at(0),
        disabled_at: None,
    }
}

/// Returns the consent of a user for the app, with a code.
pub(crate) fn consent(user: u64, seed: &str) -> ConsentRecord {
    let scopes = SCOPES.parse("tasks:read openid").unwrap();
    ConsentRecord {
        ticket: digest(&format!("ticket {user} {seed}")),
        time: at(1),
        authorization: Authorization {
            id: 9_000 + user,
            user,
            app: 40,
            scopes,
            created_at: at(1),
            revoked_at: None,
        },
        code: Some(AuthorizationCode {
            digest: digest(&format!("code {user} {seed}")),
            app: 40,
            user,
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

/// Returns an access token `id` and a refresh token `id + 1` for a code of this user.
pub(crate) fn tokens(user: u64, id: u64) -> IssuedTokens {
    let token = |kind, id: u64| TokenRecord {
        kind,
        app: Some(40),
        grant: Some(9_000 + user),
        scopes: ScopeSet::full(),
        expires_at: (kind == TokenKind::Access).then(|| at(3600)),
        ..TokenRecord::personal(id, digest(&id.to_string()), user, at(2))
    };
    IssuedTokens {
        access: token(TokenKind::Access, id),
        refresh: token(TokenKind::Refresh, id + 1),
    }
}

/// Creates a store in which users 1 to 8 have accounts and the app is registered.
fn peopled() -> Option<TestStore> {
    let made = empty_store()?;
    for user in 1..=8 {
        block_on(
            made.store
                .put_account(Account::new(user, Tier::new(1)), None),
        )
        .unwrap();
    }
    block_on(made.store.put_app(app(&[7, 5]), None)).unwrap();
    Some(made)
}

/// Runs a function on as many threads as there are numbers, all starting together.
pub(crate) fn at_once<T: Send>(count: u64, run: impl Fn(u64) -> T + Sync) -> Vec<T> {
    let barrier = Barrier::new(usize::try_from(count).unwrap());
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..count)
            .map(|number| {
                let (barrier, run) = (&barrier, &run);
                scope.spawn(move || {
                    barrier.wait();
                    run(number)
                })
            })
            .collect();
        let joined = threads.into_iter().map(|thread| thread.join().unwrap());
        joined.collect()
    })
}

/// B28. Of sixty-four at once on two nodes, one gets tokens, and the others have revoked them.
#[test]
fn of_many_redemptions_on_two_nodes_one_wins() {
    let Some(made) = peopled() else { return };
    let other = another_store(&made);
    for round in 0..20_u64 {
        let seed = round.to_string();
        block_on(made.store.keep_consent(consent(1, &seed))).unwrap();
        let code = digest(&format!("code 1 {seed}"));
        let outcomes = at_once(64, |thread| {
            let store = if thread % 2 == 0 { &made.store } else { &other };
            let new = tokens(1, 100_000 + 200 * round + 2 * thread);
            block_on(store.redeem(&code, Some(new), at(2))).unwrap()
        });
        let issued = |outcome: &&RedemptionOutcome| matches!(outcome, RedemptionOutcome::Issued(_));
        assert_eq!(outcomes.iter().filter(issued).count(), 1, "{outcomes:?}");
        let replayed = |outcome: &&RedemptionOutcome| **outcome == RedemptionOutcome::Replayed;
        assert_eq!(outcomes.iter().filter(replayed).count(), 63, "{outcomes:?}");
        let left = block_on(other.list(1)).unwrap();
        assert_eq!(left.len(), 2 * (usize::try_from(round).unwrap() + 1));
        assert!(left.iter().all(|token| token.revoked_at.is_some()));
    }
}

/// Checks that a redemption which first reads whether the code is spent, and then spends it, lets several win: the races of the
/// test above are real.
#[test]
fn a_redemption_in_two_steps_would_let_several_win() {
    let Some(made) = peopled() else { return };
    let other = another_store(&made);
    let mut wins = 0;
    for round in 0..20_u64 {
        let seed = round.to_string();
        block_on(made.store.keep_consent(consent(1, &seed))).unwrap();
        let code = digest(&format!("code 1 {seed}"));
        let won = at_once(16, |thread| {
            let store = if thread % 2 == 0 { &made.store } else { &other };
            let unspent = block_on(store.code(&code)).unwrap();
            let spent = block_on(store.redeem(&code, None, at(2))).unwrap();
            assert_ne!(spent, RedemptionOutcome::Unknown);
            unspent.is_some_and(|code| code.used_at.is_none())
        });
        wins += won.into_iter().filter(|won| *won).count();
    }
    assert!(wins > 20, "{wins} of 20 codes");
}

/// Checks that of many at once on two nodes, one call revokes, one deauthorizes, one ticket counts, and one writer of an app
/// wins.
#[test]
fn what_happens_once_happens_once_on_two_nodes() {
    let Some(made) = peopled() else { return };
    let other = another_store(&made);
    let on = |thread: u64| {
        if thread.is_multiple_of(2) {
            &made.store
        } else {
            &other
        }
    };
    let wins = |won: Vec<bool>| won.into_iter().filter(|won| *won).count();
    for round in 0..10_u64 {
        let id = 500 + round;
        let record = TokenRecord::personal(id, digest(&id.to_string()), 1, at(0));
        block_on(made.store.insert_token(record)).unwrap();
        let revoked = at_once(16, |thread| {
            block_on(on(thread).revoke(id, at(thread))).unwrap()
        });
        assert_eq!(wins(revoked), 1);

        // A revoked authorization keeps its number: the next one has another.
        let yes_of = |seed: String| {
            let mut yes = consent(2, &seed);
            yes.authorization.id = 20_000 + round;
            yes
        };
        let yes = yes_of(round.to_string());
        let allowed = at_once(16, |thread| {
            let done = block_on(on(thread).keep_consent(yes.clone()));
            assert!(
                matches!(done, Ok(_) | Err(AuthStoreError::Conflict)),
                "{done:?}"
            );
            done.is_ok()
        });
        assert_eq!(wins(allowed), 1, "one ticket");
        let different = at_once(16, |thread| {
            block_on(on(thread).keep_consent(yes_of(format!("{round} {thread}"))))
                .unwrap()
                .id
        });
        assert!(
            different.windows(2).all(|ids| ids[0] == ids[1]),
            "one authorization: {different:?}"
        );
        let ended = at_once(16, |thread| {
            block_on(on(thread).deauthorize(different[0], 2, at(3))).unwrap()
        });
        assert_eq!(wins(ended), 1);
        let before = block_on(made.store.app(40)).unwrap().unwrap();
        let replaced = at_once(16, |thread| {
            let mut new = (*before).clone();
            new.name = format!("{round} {thread}");
            block_on(on(thread).put_app(new, Some(&before))).is_ok()
        });
        assert_eq!(wins(replaced), 1);
    }
}

/// Checks that anything added while an account is being switched off does not work when it is switched on again.
#[test]
fn nothing_survives_the_end_of_an_account_that_it_raced_with() {
    let Some(made) = peopled() else { return };
    let other = another_store(&made);
    let on = |thread: u64| {
        if thread.is_multiple_of(2) {
            &made.store
        } else {
            &other
        }
    };
    for round in 0..30_u64 {
        let user = 3;
        let seed = round.to_string();
        at_once(9, |thread| {
            let id = 30_000 + 100 * round + thread;
            let refused = match thread {
                0 => block_on(on(round).set_disabled(user, true, at(4))),
                1..=3 => {
                    let token = TokenRecord::personal(id, digest(&id.to_string()), user, at(0));
                    block_on(on(thread).insert_token(token))
                }
                4..=6 => {
                    let random = digest(&id.to_string()).0;
                    let session = BrowserSession::start(user, &random, at(3)).1;
                    block_on(on(thread).start_session(session, None))
                }
                _ => {
                    let mut yes = consent(user, &format!("{seed} {thread}"));
                    yes.authorization.id = id;
                    block_on(on(thread).keep_consent(yes)).map(drop)
                }
            };
            assert!(
                matches!(refused, Ok(()) | Err(AuthStoreError::NoAccount)),
                "{refused:?}"
            );
        });
        block_on(made.store.set_disabled(user, false, at(5))).unwrap();
        let live = block_on(made.store.list(user)).unwrap();
        assert!(live.iter().all(|token| token.revoked_at.is_some()));
        assert_eq!(block_on(made.store.sessions(user)).unwrap(), []);
        assert_eq!(block_on(made.store.authorizations(user)).unwrap(), []);
        assert_eq!(
            block_on(other.database().check()).unwrap(),
            Vec::<String>::new()
        );
    }
}

/// Checks that every login and password comes from a single writer, and a replaced password starts no session.
#[test]
fn passwords_of_many_writers_are_kept_whole() {
    let Some(made) = peopled() else { return };
    let other = another_store(&made);
    let on = |thread: u64| {
        if thread.is_multiple_of(2) {
            &made.store
        } else {
            &other
        }
    };
    let login = |user: u64, hash: &str| {
        Login::new(&format!("{user}@example.com"), Secret::new(hash.to_owned()))
    };
    let account = Account::new(4, Tier::new(1));
    block_on(made.store.put_account(account, Some(login(4, "0")))).unwrap();
    for round in 0..20_u64 {
        let (before, after) = (round.to_string(), (round + 1).to_string());
        let outcomes = at_once(8, |thread| match thread {
            0..=3 => {
                let change = PasswordChange {
                    user: 4,
                    before: Secret::new(before.clone()),
                    after: Secret::new(after.clone()),
                    keep_session: None,
                    revoke_tokens_at: (thread == 0).then(|| at(1)),
                };
                block_on(on(thread).change_password(change)).unwrap()
            }
            _ => {
                let random = digest(&format!("{round} {thread}")).0;
                let session = BrowserSession::start(4, &random, at(3)).1;
                let hash = Secret::new(before.clone());
                let started = block_on(on(thread).start_session(session, Some(&hash)));
                assert!(matches!(started, Ok(()) | Err(AuthStoreError::NoAccount)));
                false
            }
        });
        assert_eq!(outcomes.into_iter().filter(|changed| *changed).count(), 1);
        assert_eq!(block_on(made.store.sessions(4)).unwrap(), [], "all ended");
    }
    // Two accounts that take each other's address at the same time: none ends up with half of it.
    for user in [5, 6] {
        let account = Account::new(user, Tier::new(1));
        block_on(made.store.put_account(account, Some(login(user, "a")))).unwrap();
    }
    let swapped = at_once(2, |thread| {
        let account = Account::new(5 + thread, Tier::new(1));
        block_on(on(thread).put_account(account, Some(login(6 - thread, "b"))))
    });
    assert!(
        swapped
            .iter()
            .all(|done| *done == Err(AuthStoreError::Conflict)),
        "{swapped:?}"
    );
}

/// Checks that simultaneous sign-in attempts are counted one by one.
#[test]
fn attempts_at_once_are_all_counted() {
    let Some(made) = peopled() else { return };
    let other = another_store(&made);
    let key = digest("somebody");
    let waits = at_once(32, |thread| {
        let store = if thread % 2 == 0 { &made.store } else { &other };
        block_on(store.attempt_login(&key, at(3))).unwrap()
    });
    let free = waits.iter().filter(|wait| wait.is_none()).count();
    assert_eq!(free, 5, "{waits:?}");
    block_on(other.clear_login_attempts(&key)).unwrap();
    assert_eq!(block_on(made.store.attempt_login(&key, at(3))), Ok(None));
}

/// Checks that two nodes can record uses of many tokens at once, with revocations among them, without a deadlock.
#[test]
fn uses_are_recorded_among_revocations() {
    let Some(made) = peopled() else { return };
    let other = another_store(&made);
    let on = |thread: u64| {
        if thread.is_multiple_of(2) {
            &made.store
        } else {
            &other
        }
    };
    let ids: Vec<u64> = (0..100).map(|n| 700 + n).collect();
    for id in &ids {
        let record = TokenRecord::personal(*id, digest(&id.to_string()), 1 + id % 8, at(0));
        block_on(made.store.insert_token(record)).unwrap();
    }
    at_once(8, |thread| {
        for round in 0..20 {
            if thread == 7 {
                block_on(on(thread).revoke_all(1 + round % 8, at(4))).unwrap();
                continue;
            }
            let mut used: Vec<_> = ids
                .iter()
                .map(|id| (*id, at(10 * round + thread)))
                .collect();
            if thread % 2 == 1 {
                used.reverse();
            }
            block_on(on(thread).record_token_uses(&used)).unwrap();
        }
    });
    for user in 1..=8 {
        for token in block_on(other.list(user)).unwrap() {
            assert_eq!(token.last_used_at, Some(at(196)));
            assert_eq!(token.revoked_at, Some(at(4)));
        }
    }
}

#[test]
fn a_number_that_cannot_be_kept_names_nothing() {
    let Some(made) = peopled() else { return };
    assert_eq!(block_on(made.store.app(u64::MAX)), Ok(None));
    assert_eq!(block_on(made.store.authorization(1, u64::MAX)), Ok(None));
    assert_eq!(
        block_on(made.store.deauthorize(u64::MAX, 1, at(2))),
        Ok(false)
    );
}

/// Checks that a text may contain any character, although PostgreSQL itself cannot store U+0000.
#[test]
fn texts_with_every_character_come_back() {
    let Some(made) = peopled() else { return };
    let store: &PostgresStore = &made.store;
    let odd = "a\0b\u{1}0\u{1}\u{ffff}";
    let mut record = TokenRecord::personal(50, digest("50"), 1, at(0));
    record.description = odd.to_owned();
    block_on(store.insert_token(record.clone())).unwrap();
    let found = block_on(store.find_token(&digest("50"))).unwrap();
    assert_eq!(found.map(|(token, _)| token), Some(record));
    let named = App {
        id: 41,
        name: odd.to_owned(),
        ..app(&[])
    };
    block_on(store.put_app(named.clone(), None)).unwrap();
    assert_eq!(block_on(store.app(41)), Ok(Some(named.into())));
    let mut yes = consent(1, "odd");
    let code = yes.code.as_mut().unwrap();
    code.nonce = Some(odd.to_owned());
    block_on(store.keep_consent(yes)).unwrap();
    let kept = block_on(store.code(&digest("code 1 odd"))).unwrap();
    assert_eq!(kept.and_then(|code| code.nonce), Some(odd.to_owned()));
    assert_eq!(
        block_on(store.login("a\0@example.com")).unwrap().map(drop),
        None
    );
}

#[test]
fn a_sweep_goes_on_until_all_that_is_over_is_gone() {
    let Some(made) = peopled() else { return };
    let start = |n: u64| BrowserSession::start(1, &digest(&n.to_string()).0, at(n)).1;
    at_once(30, |thread| {
        for n in 0..75 {
            block_on(made.store.start_session(start(75 * thread + n), None)).unwrap();
        }
    });
    block_on(made.store.keep_consent(consent(1, "swept"))).unwrap();
    // The code and its ticket have also expired.
    let end = start(2_200).expires_at;
    assert_eq!(block_on(made.store.delete_expired(end)), Ok(2_200 + 2));
    assert_eq!(block_on(made.store.delete_expired(end)), Ok(0));
    let last = block_on(made.store.session(&start(2_200).digest)).unwrap();
    assert!(last.is_some());
}
