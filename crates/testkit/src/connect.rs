//! An app that a user let in: registered, allowed, its code redeemed.
use std::time::{Duration, SystemTime};
use workgraph_auth::{
    Allow, App, Authorization, Code, Digest, OAuthStore, Registered, ScopeSet, Secret, StoreError,
    TokenKind, TokenRecord, Tokens, mint,
};

/// Who lets which app in.
#[derive(Clone, Debug)]
pub struct Connect {
    /// The user, who must have an account.
    pub user: u64,
    /// The app; it is registered if there is none of this number.
    pub app: u64,
    /// The workspaces that a new app works in.
    pub workspaces: Vec<u64>,
    /// What the tokens are for; the authorization is for everything.
    pub scopes: ScopeSet,
    /// Tells one time from another: the numbers of what is made are this one and the two after it.
    pub number: u64,
    /// When.
    pub at: SystemTime,
}

/// What an app got.
#[derive(Clone, Debug)]
pub struct Connected {
    /// The authorization that stands.
    pub grant: u64,
    /// The code, which is spent.
    pub code: Digest,
    /// The number of the refresh token.
    pub refresh: u64,
    /// The access token; it lives for an hour.
    pub bearer: Secret,
}

/// Lets an app in.
///
/// # Errors
/// When the store fails, or a number or the account is not what [`Connect`] says.
pub async fn connect(store: &dyn OAuthStore, ask: &Connect) -> Result<Connected, StoreError> {
    let Connect {
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
    let (bearer, access) = mint(TokenKind::Access, &random);
    let digest = |kind| mint(kind, &random).1;
    let code = Digest::of(&format!("code {number}"));
    let allowed = store
        .allow(Allow {
            ticket: Digest::of(&format!("ticket {number}")),
            at,
            authorization: Authorization {
                id: number,
                user,
                app,
                scopes: ScopeSet::full(),
                created_at: at,
                revoked_at: None,
            },
            code: Some(Code {
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
    let tokens = Tokens {
        access: token(number + 1, TokenKind::Access, access),
        refresh: token(refresh, TokenKind::Refresh, digest(TokenKind::Refresh)),
    };
    store.redeem(&code, Some(tokens), at).await?;
    Ok(Connected {
        grant: allowed.id,
        code,
        refresh,
        bearer,
    })
}

fn registered(ask: &Connect) -> App {
    App {
        id: ask.app,
        name: format!("App {}", ask.app),
        secret: None,
        redirects: Vec::new(),
        scopes: Registered::Full,
        distribution: ask.workspaces.clone(),
        disabled_in: Vec::new(),
        owner: ask.user,
        created_at: ask.at,
        disabled_at: None,
    }
}
