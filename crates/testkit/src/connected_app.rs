//! An app authorized by a user: registered, allowed, its code redeemed.
use std::time::{Duration, SystemTime};
use workgraph_auth::{
    App, AuthStoreError, Authorization, AuthorizationCode, ConsentRecord, IssuedTokens, OAuthStore,
    RegisteredScopes, ScopeRegistry, ScopeSet, Secret, SecretDigest, TokenKind, TokenRecord,
    mint_token,
};

/// Scopes of the API, as stores read them.
pub const SCOPES: ScopeRegistry = ScopeRegistry::of(&workgraph_core::scopes::SCOPES);

/// Users, scopes and numbers of a connection that a test makes.
#[derive(Clone, Debug)]
pub struct AppConnection {
    /// Number of the user, who must have an account.
    pub user: u64,
    /// Number of the app, which is registered if it does not exist.
    pub app: u64,
    /// Workspaces in which a new app works.
    pub workspaces: Vec<u64>,
    /// Scopes of the tokens; the authorization covers all scopes.
    pub scopes: ScopeSet,
    /// Number that distinguishes connections: new records get this number and the two after it.
    pub number: u64,
    /// Time at which all objects are made.
    pub at: SystemTime,
}

/// Records and tokens of an app after a user has authorized it.
#[derive(Clone, Debug)]
pub struct ConnectedApp {
    /// Number of the live authorization.
    pub grant: u64,
    /// Digest of the spent code.
    pub code: SecretDigest,
    /// Number of the refresh token.
    pub refresh: u64,
    /// Access token; it lives for an hour.
    pub bearer: Secret,
}

/// Registers an app, authorizes it and redeems its code.
///
/// # Errors
/// Fails if the store fails, or if a number or the account does not match [`AppConnection`].
pub async fn connect_app(
    store: &dyn OAuthStore,
    ask: &AppConnection,
) -> Result<ConnectedApp, AuthStoreError> {
    let AppConnection {
        user,
        app,
        scopes,
        number,
        at,
        ..
    } = *ask;
    if store.app(app).await?.is_none() {
        store.put_app(registered(ask), None).await?;
    }
    let mut random = [0; 32];
    let (seed, _) = random.split_at_mut(8);
    seed.copy_from_slice(&number.to_le_bytes());
    let (bearer, access) = mint_token(TokenKind::Access, &random);
    let digest = |kind| mint_token(kind, &random).1;
    let code = SecretDigest::of(&format!("code {number}"));
    let allowed = store
        .keep_consent(ConsentRecord {
            ticket: SecretDigest::of(&format!("ticket {number}")),
            time: at,
            authorization: Authorization {
                id: number,
                user,
                app,
                scopes: ScopeSet::full(),
                created_at: at,
                revoked_at: None,
            },
            code: Some(AuthorizationCode {
                digest: code,
                app,
                user,
                grant: 0,
                redirect: "https://app.test/back".to_owned(),
                challenge: None,
                scopes,
                nonce: None,
                auth_time: at,
                created_at: at,
                expires_at: at + Duration::from_secs(60),
                used_at: None,
                refresh: None,
            }),
        })
        .await?;
    let token = |id, kind, digest| TokenRecord {
        kind,
        app: Some(app),
        grant: Some(allowed.id),
        scopes,
        expires_at: (kind == TokenKind::Access).then(|| at + Duration::from_secs(3600)),
        ..TokenRecord::personal(id, digest, user, at)
    };
    let refresh = number + 2;
    let tokens = IssuedTokens {
        access: token(number + 1, TokenKind::Access, access),
        refresh: token(refresh, TokenKind::Refresh, digest(TokenKind::Refresh)),
    };
    store.redeem(&code, Some(tokens), at).await?;
    Ok(ConnectedApp {
        grant: allowed.id,
        code,
        refresh,
        bearer,
    })
}

fn registered(ask: &AppConnection) -> App {
    App {
        id: ask.app,
        name: format!("App {}", ask.app),
        secret: None,
        redirects: Vec::new(),
        scopes: RegisteredScopes::Full,
        distribution: ask.workspaces.clone(),
        disabled_in: Vec::new(),
        owner: ask.user,
        created_at: ask.at,
        disabled_at: None,
    }
}
