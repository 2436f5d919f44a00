//! Cases about apps, consents and codes.
use super::*;

pub(in crate::conformance) async fn app_comes_back(store: &dyn OAuthStore) -> CaseResult {
    people(store).await?;
    let full = App {
        secret: None,
        redirects: Vec::new(),
        scopes: RegisteredScopes::Full,
        distribution: Vec::new(),
        disabled_in: Vec::new(),
        owner: 2,
        disabled_at: Some(at(2)),
        ..app(39)?
    };
    store.put_app(full.clone(), None).await?;
    ensure(
        store.app(40).await? == Some(app(40)?.into()),
        "an app comes back with every field as put",
    )?;
    ensure(
        store.app(39).await? == Some(full.clone().into()),
        "a disabled app of full permissions comes back, too",
    )?;
    ensure(
        store.app(41).await?.is_none(),
        "an unknown app is not there",
    )?;
    ensure(
        store.apps(None).await? == [full.clone(), app(40)?],
        "all apps are listed in order of id",
    )?;
    ensure(
        store.apps(Some(2)).await? == [full],
        "an owner's apps are that owner's",
    )
}

pub(in crate::conformance) async fn app_expected(store: &dyn OAuthStore) -> CaseResult {
    people(store).await?;
    let old = app(40)?;
    let reset = App {
        secret: Some(mint_secret(&[8; 32]).1),
        ..old.clone()
    };
    let renamed = App {
        name: "Other".to_owned(),
        ..old.clone()
    };
    // The app is read before each change, so a store that caches it must also update its cache.
    ensure(
        store.app(40).await? == Some(old.clone().into()),
        "an app is as it was put",
    )?;
    store.put_app(reset.clone(), Some(&old)).await?;
    for (what, was) in [
        ("an edit of what is there no more", Some(&old)),
        ("a second creation", None),
    ] {
        ensure(
            store.put_app(renamed.clone(), was).await == Err(AuthStoreError::Conflict),
            &format!("{what} is a conflict"),
        )?;
    }
    ensure(
        store.put_app(app(50)?, Some(&app(50)?)).await == Err(AuthStoreError::Conflict),
        "an edit of an app that is not there is a conflict",
    )?;
    ensure(
        store.app(40).await? == Some(reset.into()) && store.app(50).await?.is_none(),
        "a conflict changes nothing",
    )
}

pub(in crate::conformance) async fn one_authorization(store: &dyn OAuthStore) -> CaseResult {
    people(store).await?;
    let first = store.keep_consent(allow(1, 100, "tasks:read")?).await?;
    ensure(
        first == authorization(100, "tasks:read")?,
        "the first authorization is kept as given",
    )?;
    let later = Authorization {
        created_at: at(9),
        ..authorization(101, "tasks:write openid")?
    };
    let second = store
        .keep_consent(ConsentRecord {
            authorization: later,
            ..allow(2, 101, "tasks:write")?
        })
        .await?;
    let expected = authorization(100, "tasks:write openid")?;
    ensure(
        second == expected,
        "a later authorization keeps id and time and has the new scopes only",
    )?;
    ensure(
        store.authorization(1, 40).await? == Some(expected.clone()),
        "it is the one that stands",
    )?;
    ensure(
        store.authorizations(1).await? == [expected],
        "and the only one",
    )?;
    let codes = [store.code(&digest(1)).await?, store.code(&digest(2)).await?];
    ensure(
        codes.iter().flatten().all(|code| code.grant == 100) && codes.iter().all(Option::is_some),
        "codes belong to the authorization that stands",
    )?;
    ensure(
        store.authorization(2, 40).await?.is_none() && store.authorizations(2).await?.is_empty(),
        "other users have authorized nothing",
    )
}

pub(in crate::conformance) async fn allowed_once(store: &dyn OAuthStore) -> CaseResult {
    people(store).await?;
    store.keep_consent(allow(1, 100, "tasks:read")?).await?;
    let again = ConsentRecord {
        code: Some(code(2, "openid")?),
        authorization: authorization(100, "openid")?,
        ..allow(1, 100, "openid")?
    };
    let same_code = ConsentRecord {
        ticket: SecretDigest([3; 32]),
        ..allow(1, 100, "openid")?
    };
    let off = App {
        disabled_at: Some(at(1)),
        ..app(41)?
    };
    store.put_app(off, None).await?;
    let mut of_off = allow(4, 104, "openid")?;
    of_off.authorization.app = 41;
    let mut of_none = allow(5, 105, "openid")?;
    of_none.authorization.app = 42;
    let mut taken_id = allow(6, 100, "openid")?;
    taken_id.authorization.user = 2;
    for (what, yes) in [
        ("a ticket answered before", again),
        ("a code that is taken", same_code),
        ("a disabled app", of_off),
        ("an unknown app", of_none),
        ("an id that is taken", taken_id),
    ] {
        ensure(
            store.keep_consent(yes).await == Err(AuthStoreError::Conflict),
            &format!("{what} is a conflict"),
        )?;
    }
    let mut stranger = allow(7, 107, "openid")?;
    stranger.authorization.user = 9;
    store.set_disabled(2, true, at(5)).await?;
    let mut disabled = allow(8, 108, "openid")?;
    disabled.authorization.user = 2;
    for yes in [stranger, disabled] {
        ensure(
            store.keep_consent(yes).await == Err(AuthStoreError::NoAccount),
            "nobody, or somebody disabled, allows nothing",
        )?;
    }
    for seed in 2..=8 {
        ensure(
            store.code(&digest(seed)).await?.is_none(),
            "a refused yes leaves no code",
        )?;
    }
    ensure(
        store.authorization(1, 40).await? == Some(authorization(100, "tasks:read")?),
        "a refused yes changes no authorization",
    )?;
    let no_code = ConsentRecord {
        code: None,
        ..allow(3, 100, "openid")?
    };
    store.keep_consent(no_code.clone()).await?;
    ensure(
        store.keep_consent(no_code).await == Err(AuthStoreError::Conflict),
        "a yes without a code uses its ticket up, too",
    )
}

pub(in crate::conformance) async fn code_comes_back(store: &dyn OAuthStore) -> CaseResult {
    people(store).await?;
    store
        .keep_consent(allow(1, 100, "tasks:read openid")?)
        .await?;
    let bare = AuthorizationCode {
        challenge: None,
        nonce: None,
        ..code(2, "openid")?
    };
    let yes = ConsentRecord {
        code: Some(bare.clone()),
        ..allow(2, 100, "openid")?
    };
    store.keep_consent(yes).await?;
    let kept = |code: AuthorizationCode| Some(AuthorizationCode { grant: 100, ..code });
    ensure(
        store.code(&digest(1)).await? == kept(code(1, "tasks:read openid")?),
        "a code comes back with every field",
    )?;
    ensure(
        store.code(&digest(2)).await? == kept(bare),
        "so does one without challenge and nonce",
    )?;
    ensure(
        store.code(&digest(3)).await?.is_none(),
        "another code is not there",
    )
}

pub(in crate::conformance) async fn silent(store: &dyn OAuthStore) -> CaseResult {
    people(store).await?;
    let asked = code(31, "tasks:read")?;
    let conflict = Err(AuthStoreError::Conflict);
    ensure(
        store.keep_code(asked.clone()).await == conflict,
        "without an authorization no code is kept",
    )?;
    issued(store, 1, 100, "tasks:read openid").await?;
    let stands = store.authorization(1, 40).await?;
    ensure(
        Some(store.keep_code(asked.clone()).await?) == stands
            && store.authorization(1, 40).await? == stands,
        "a code kept silently leaves the authorization as it was",
    )?;
    ensure(
        works(store, 1).await? == Some(set("tasks:read openid")?),
        "and the tokens of before",
    )?;
    let kept = store.code(&digest(31)).await?;
    let kept = kept.ok_or_else(|| TokenStoreFailure("a code that was kept is there".to_owned()))?;
    ensure(
        kept == AuthorizationCode {
            grant: 100,
            ..asked
        },
        "the code is as it was given, under what stands",
    )?;
    ensure(
        store.keep_code(code(31, "tasks:read")?).await == conflict,
        "a code that is taken is a conflict",
    )?;
    ensure(
        store.keep_code(code(32, "tasks:read tasks:write")?).await == conflict
            && store.code(&digest(32)).await?.is_none(),
        "a code for more than was agreed to is not kept",
    )?;
    let outcome = store
        .redeem(&digest(31), Some(tokens(31, &kept)), at(6))
        .await?;
    ensure(
        matches!(outcome, RedemptionOutcome::Issued(_))
            && works(store, 31).await? == Some(set("tasks:read")?),
        "its tokens have the scopes of its request",
    )?;
    let off = App {
        disabled_at: Some(at(5)),
        ..app(40)?
    };
    store.put_app(off.clone(), Some(&app(40)?)).await?;
    ensure(
        store.keep_code(code(33, "tasks:read")?).await == conflict,
        "a disabled app is not answered",
    )?;
    store.put_app(app(40)?, Some(&off)).await?;
    store.deauthorize(100, 1, at(7)).await?;
    ensure(
        store.keep_code(code(33, "tasks:read")?).await == conflict
            && store.authorization(1, 40).await?.is_none(),
        "what was withdrawn is not brought back",
    )?;
    store.keep_consent(allow(41, 101, "tasks:read")?).await?;
    store.set_disabled(1, true, at(8)).await?;
    ensure(
        store.keep_code(code(33, "tasks:read")?).await == Err(AuthStoreError::NoAccount),
        "for a disabled user nothing is answered",
    )
}
