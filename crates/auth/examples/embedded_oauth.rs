//! An OAuth server inside your own service: an app asks with PKCE, its user agrees, and the app gets, refreshes and
//! revokes its tokens. There is no HTTP here: each step is what one handler does.
//! Run it with `cargo run -p workgraph-auth --example embedded_oauth --features conformance`.
use std::error::Error;
use std::time::{Duration, UNIX_EPOCH};

use workgraph_auth::authorization::authorization_request::client;
use workgraph_auth::authorization::browser_session::{consent_ticket, verify_consent_ticket};
use workgraph_auth::authorization::pkce::CodeChallenge;
use workgraph_auth::authorization::registered_app::mint_secret;
use workgraph_auth::conformance::block_on;
use workgraph_auth::*;

const REDIRECT: &str = "https://planner.example/callback";
const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const USER: u64 = 12;
const WORKSPACE: u64 = 7;
const SCOPES: ScopeRegistry = ScopeRegistry::of(&[
    ("tasks:read", "See tasks"),
    ("tasks:write", "Create and change tasks"),
]);
const POLICY: AuthorizationPolicy<'_> = AuthorizationPolicy::new("https://work.example", SCOPES);

/// Users of the service; in production, a table of your own.
struct Directory;

#[async_trait::async_trait]
impl UserDirectory for Directory {
    async fn user_info(&self, id: u64) -> Result<Option<UserInfo>, AuthStoreError> {
        Ok((id == USER).then(|| UserInfo {
            id,
            name: "Ada".to_owned(),
            email: "ada@example.com".to_owned(),
            picture: None,
        }))
    }
}

/// Returns 32 bytes, the same in each run; in production, they come from the operating system.
fn random(number: u64) -> [u8; 32] {
    SecretDigest::of(&number.to_string()).0
}

fn params(list: &[(&str, &str)]) -> Vec<Param> {
    let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    list.iter().map(own).collect()
}

/// Returns a request to an endpoint without an `Authorization` header.
fn posted(pairs: &[Param]) -> EndpointRequest<'_> {
    EndpointRequest {
        pairs,
        authorization: &[],
    }
}

/// Returns a member of the JSON of a reply; an error for any status but 200.
fn member(reply: &EndpointReply, name: &str) -> Result<String, Box<dyn Error>> {
    let json: serde_json::Value = serde_json::from_str(&reply.body)?;
    let text = json.get(name).and_then(|member| member.as_str());
    let text = text.filter(|_| reply.status == 200);
    Ok(text.ok_or_else(|| reply.body.clone())?.to_owned())
}

async fn run() -> Result<(), Box<dyn Error>> {
    let mut now = UNIX_EPOCH + Duration::from_secs(1_800_000_000);
    let store = MemoryTokenStore::new();
    store
        .put_account(Account::new(USER, Tier::new(1)), None)
        .await?;

    // A developer registers an app, and sees its secret this once.
    let (secret, digest) = mint_secret(&random(1));
    let app = App {
        id: 40,
        name: "Planner".to_owned(),
        secret: Some(digest),
        redirects: vec![RedirectUri::register(REDIRECT, LoopbackPolicy::Refused)?],
        scopes: RegisteredScopes::Only(SCOPES.parse("tasks:read tasks:write")?),
        distribution: vec![WORKSPACE],
        disabled_in: vec![],
        owner: USER,
        created_at: now,
        disabled_at: None,
    };
    store.put_app(app, None).await?;

    // The app sends the user's browser with a request. Errors are plain text until the client is verified,
    // and from then on go to the app by `refusal.response()`; this example just ends.
    let query = params(&[
        ("client_id", "40"),
        ("redirect_uri", REDIRECT),
        ("response_type", "code"),
        ("state", "af0ifjsldkj"),
        ("scope", "tasks:read"),
        ("code_challenge", &CodeChallenge::of(VERIFIER).to_string()),
        ("code_challenge_method", "S256"),
    ]);
    let verified = VerifiedClient::check(&query, store.app(client(&query)?).await?, &POLICY)?;
    let end = |refusal: Box<AuthorizationRefusal>| refusal.error().clone();
    let request = AuthorizationRequest::read(verified, &query, &POLICY).map_err(end)?;

    // The user signs in (the password is yours to check), and sees a consent page, whose form has a ticket.
    let (cookie, session) = BrowserSession::start(USER, &random(2), now);
    store.start_session(session, None).await?;
    let standing = store.authorization(USER, request.app_id()).await?;
    let step = request.next(Some(&session), true, standing.as_ref(), now);
    assert_eq!(step.map_err(end)?, AuthorizationStep::Consent);
    request.admit(&[WORKSPACE]).map_err(end)?;
    for scope in request.new_scopes(standing.as_ref()) {
        println!("{} asks: {}", request.client().name, scope.description);
    }
    let ticket = consent_ticket(&cookie, USER, &query, &random(3), now);

    // The form comes back with a yes. The consent is kept, and the browser takes a code to the app.
    let ticket = verify_consent_ticket(&ticket, &cookie, USER, &query, now);
    let signed_in = session.created_at;
    let (code, record) = AuthorizationCode::mint(&request, USER, signed_in, &random(4), now);
    let consent = ConsentRecord {
        ticket: ticket.ok_or("this is not our form")?,
        time: now,
        authorization: Authorization {
            id: 50,
            user: USER,
            app: request.app_id(),
            scopes: request.scopes(),
            created_at: now,
            revoked_at: None,
        },
        code: Some(record),
    };
    store.keep_consent(consent).await?;
    println!("answer: {:?}", request.success_response(Some(&code), None));

    // The app's server redeems the code, with its secret and the verifier.
    let endpoints = Endpoints {
        store: &store,
        users: &Directory,
        issuer: POLICY.issuer,
        scopes: SCOPES,
        tokens: TokenSettings::DEFAULT,
        public_clients: PublicClients::Refused,
        signer: None,
    };
    let new_tokens = |id| NewTokenMaterial {
        access_id: id,
        access: random(id),
        refresh_id: id + 1,
        refresh: random(id + 1),
    };
    let app = [("client_id", "40"), ("client_secret", secret.expose())];
    let form = |rest: &[(&str, &str)]| params(&[app.as_slice(), rest].concat());
    let pairs = form(&[
        ("grant_type", "authorization_code"),
        ("redirect_uri", REDIRECT),
        ("code", code.expose()),
        ("code_verifier", VERIFIER),
    ]);
    let reply = endpoints
        .token(&posted(&pairs), &new_tokens(60), now)
        .await?;
    let (first, refresh) = (
        member(&reply, "access_token")?,
        member(&reply, "refresh_token")?,
    );
    let introspected = async |token: &str, now| {
        let pairs = params(&[("token", token)]);
        let reply = endpoints.token_info(&posted(&pairs), now).await;
        reply.map(|reply| reply.body)
    };
    println!("first access token: {}", introspected(&first, now).await?);

    // Two hours later that token has expired, and the refresh token gets another.
    now += Duration::from_secs(7_200);
    println!("two hours later: {}", introspected(&first, now).await?);
    let pairs = form(&[("grant_type", "refresh_token"), ("refresh_token", &refresh)]);
    let reply = endpoints
        .token(&posted(&pairs), &new_tokens(62), now)
        .await?;
    let second = member(&reply, "access_token")?;
    println!("second access token: {}", introspected(&second, now).await?);

    // Revoking the refresh token kills all access tokens that came from it, at once.
    let reply = endpoints
        .revoke(&posted(&form(&[("token", &refresh)])), now)
        .await?;
    let body = introspected(&second, now).await?;
    assert_eq!((reply.status, body.as_str()), (200, r#"{"active":false}"#));
    println!("after the revocation: {body}");
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    block_on(run())
}
