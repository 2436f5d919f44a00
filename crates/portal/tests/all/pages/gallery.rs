//! Every page in its possible states.
// With its path, since another test includes this file by its own.
#[path = "gallery/front_pages.rs"]
mod front_pages;
#[path = "gallery/request_pages.rs"]
mod request_pages;

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use self::request_pages::{request, requests, requests_off};
use workgraph_api::SCOPES;
use workgraph_auth::{RegisteredScopes, ScopeSet};
use workgraph_portal::console::InvitationSummary;
use workgraph_portal::pages::{
    AccountPage, AppForm, AppPage, AppRow, AppValues, AppsPage, AuthorizedAppRow,
    AuthorizedAppsPage, ConsentPage, ConsentRequest, ErrorInterstitialPage, ErrorPage,
    FormPostPage, FormProblem, HtmlPage, InstalledApp, InstalledAppsPage, OutOfBandPage,
    PageChrome, SecretKind, SecretPage, ServiceAccountForm, ServiceAccountRow, ServiceAccountsPage,
    SessionRow, SignInPage, SignOutPage, SignedInUser, TokenForm, TokenRow, TokensPage,
    WorkspaceApps, WorkspaceChoice, WorkspaceServiceAccounts,
};

const CSRF: &str = "c4PUxbp1Fh4Hnd0pRKzjJUP9Vx3XNn8Ebv3Nw9w5c2g";

fn now() -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(1_795_219_200)
}

fn set(text: &str) -> ScopeSet {
    SCOPES.parse(text).unwrap()
}

/// Returns all pages, with names that an app might have.
pub(crate) fn gallery() -> Vec<(&'static str, HtmlPage)> {
    all("Planner")
}

fn token(id: u64, text: &str, scopes: ScopeSet) -> TokenRow {
    TokenRow {
        id,
        description: text.to_owned(),
        scopes,
        created_at: now(),
        expires_at: id.is_multiple_of(2).then(now),
        last_used_at: id.is_multiple_of(3).then(now),
    }
}

/// Returns all pages, with this text in every place of a text by users or apps.
pub(crate) fn all(text: &str) -> Vec<(&'static str, HtmlPage)> {
    let own = |text: &str| text.to_owned();
    let frame = PageChrome {
        user: SignedInUser {
            name: text,
            csrf: CSRF,
            admin: true,
        },
        notice: None,
    };
    let chrome = PageChrome {
        notice: Some(text),
        ..frame
    };
    let fields = [(own("csrf"), own(CSRF)), (own("state"), own(text))];
    let every = set(&SCOPES.iter().map(|s| s.name).collect::<Vec<_>>().join(" "));
    let some = set("tasks:read tasks:write users:read openid");
    let wish = |asked, before| ConsentRequest::of(asked, before);
    let consent = |wish: &ConsentRequest, host: Option<&str>| {
        let view = ConsentPage {
            app: text,
            host,
            name: text,
            email: text,
            wish,
            action: "/-/oauth_authorize",
            fields: &fields,
            switch_user_url: Some("/-/oauth_authorize?prompt=login"),
        };
        view.page().leading_to("https://planner.example/callback")
    };
    let app = |off| AppRow {
        id: 1_234_567_890_123,
        name: own(text),
        scopes: RegisteredScopes::Only(some),
        created_at: now(),
        off,
    };
    let full = AppRow {
        id: 2,
        scopes: RegisteredScopes::Full,
        ..app(true)
    };
    let values = AppValues {
        name: own(text),
        redirects: format!("https://planner.example/callback\n{text}"),
        scopes: some,
        distribution: vec![1],
    };
    let places = [
        WorkspaceChoice {
            id: 1,
            name: own(text),
        },
        WorkspaceChoice {
            id: 2,
            name: own("Example Ltd"),
        },
    ];
    let wrong = [
        FormProblem::new("name", "An app must have a name."),
        FormProblem::new("redirects", text),
        FormProblem::new("scopes", "Choose at least one scope, or full permissions."),
        FormProblem::new("distribution", "Choose at least one workspace."),
    ];
    let form = |problems| AppForm {
        values: &values,
        workspaces: &places,
        problems,
        loopback: true,
    };
    let installed = |id, off| InstalledApp {
        id,
        name: own(text),
        scopes: if off {
            RegisteredScopes::Full
        } else {
            RegisteredScopes::Only(some)
        },
        off,
    };
    let tokens = [
        token(1, text, ScopeSet::full()),
        token(2, "", some),
        token(6, "Nightly export", every),
    ];
    let service = WorkspaceServiceAccounts {
        id: 1,
        name: own(text),
        accounts: vec![
            ServiceAccountRow {
                id: 5,
                name: own(text),
                tokens: tokens.to_vec(),
            },
            ServiceAccountRow {
                id: 6,
                name: own("Import"),
                tokens: vec![],
            },
        ],
    };
    let empty = WorkspaceServiceAccounts {
        id: 2,
        name: own("Example Ltd"),
        accounts: vec![],
    };
    let connection = |id, scopes, off| AuthorizedAppRow {
        id,
        app: own(text),
        hosts: if id == 1 {
            vec![]
        } else {
            vec![own("planner.example")]
        },
        scopes,
        since: now(),
        off,
    };
    let many = [
        connection(1, ScopeSet::full(), false),
        connection(2, some, true),
        connection(3, every, false),
    ];
    let token_wrong = [
        FormProblem::new("description", "Say what the token is for."),
        FormProblem::new("days", text),
        FormProblem::new("scopes", text),
    ];
    let service_wrong = [
        FormProblem::new("name", text),
        FormProblem::new("workspace", text),
    ];
    let session = |id: u64, address: Option<&str>| SessionRow {
        id: format!("{id:016x}"),
        created_at: now() - Duration::from_secs(86_400 * id),
        last_used_at: now(),
        address: address.map(own),
        is_this: id == 1,
    };
    let password_wrong = [
        FormProblem::new("current", "This is not your password."),
        FormProblem::new("new", text),
        FormProblem::new("again", text),
    ];
    let secret = |purpose: &SecretKind| {
        SecretPage {
            purpose,
            name: text,
            secret: "wgk_AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEvN5zQ",
        }
        .page()
    };
    let mut all = vec![
        (
            "sign_in",
            SignInPage {
                csrf: CSRF,
                ..SignInPage::default()
            }
            .page(),
        ),
        (
            "sign_in_wrong",
            SignInPage {
                csrf: CSRF,
                fields: &fields,
                email: text,
                app: Some(text),
                problem: Some(text),
                notice: Some(text),
            }
            .page(),
        ),
        ("sign_out", SignOutPage { csrf: CSRF }.page()),
        (
            "consent",
            consent(&wish(some, None), Some("planner.example")),
        ),
        (
            "consent_again",
            consent(
                &wish(set("tasks:read projects:read"), Some(some)),
                Some("planner.example"),
            ),
        ),
        (
            "consent_full",
            consent(&wish(ScopeSet::full(), Some(some)), None),
        ),
        ("consent_every", consent(&wish(every, None), Some(text))),
        (
            "code",
            OutOfBandPage::Code {
                app: text,
                code: "wgc_AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEvN5zQ",
            }
            .page(),
        ),
        (
            "code_error",
            OutOfBandPage::Error {
                error: "access_denied",
                description: text,
            }
            .page(),
        ),
        (
            "interstitial",
            ErrorInterstitialPage {
                app: text,
                host: "planner.example",
                error: "forbidden_scopes",
                description: text,
                action: "/-/oauth_authorize",
                fields: &fields,
            }
            .page()
            .leading_to("https://planner.example/callback"),
        ),
        (
            "form_post",
            FormPostPage {
                app: text,
                site: "https://planner.example",
                action: "https://planner.example/callback",
                fields: &fields,
            }
            .page(),
        ),
        (
            "failure",
            ErrorPage {
                heading: "Not found",
                text,
                onward: Some(("/-/connected_apps", "Connected apps")),
            }
            .page(),
        ),
        (
            "account",
            AccountPage {
                frame,
                sessions: &[
                    session(1, Some("2001:db8::7")),
                    session(2, Some(text)),
                    session(3, None),
                ],
                problems: &[],
            }
            .page(),
        ),
        (
            "account_wrong",
            AccountPage {
                frame: chrome,
                sessions: &[session(1, None)],
                problems: &password_wrong,
            }
            .page(),
        ),
        (
            "connected",
            AuthorizedAppsPage {
                frame,
                invitations: &[],
                apps: &many,
            }
            .page(),
        ),
        (
            "connected_invited",
            AuthorizedAppsPage {
                frame,
                invitations: &[
                    InvitationSummary {
                        id: 31,
                        workspace: text.to_owned(),
                    },
                    InvitationSummary {
                        id: 32,
                        workspace: "Example Ltd".to_owned(),
                    },
                ],
                apps: &many,
            }
            .page(),
        ),
        (
            "connected_none",
            AuthorizedAppsPage {
                frame: chrome,
                invitations: &[],
                apps: &[],
            }
            .page(),
        ),
        (
            "apps",
            AppsPage {
                frame,
                apps: &[app(false), full],
            }
            .page(),
        ),
        (
            "apps_none",
            AppsPage {
                frame: chrome,
                apps: &[],
            }
            .page(),
        ),
        ("app_new", form(&[]).page(&frame)),
        ("app_new_wrong", form(&wrong).page(&frame)),
        (
            "app",
            AppPage {
                frame,
                app: &app(false),
                form: form(&[]),
                has_secret: true,
                disabled_in: &[],
            }
            .page(),
        ),
        (
            "app_off",
            AppPage {
                frame: chrome,
                app: &app(true),
                form: form(&wrong),
                has_secret: false,
                disabled_in: &[own(text)],
            }
            .page(),
        ),
        ("secret", secret(&SecretKind::Client { app: 12 })),
        ("secret_token", secret(&SecretKind::Personal)),
        ("secret_service", secret(&SecretKind::Service)),
        (
            "tokens",
            TokensPage {
                frame,
                tokens: &tokens,
                form: &TokenForm::default(),
                problems: &[],
            }
            .page(),
        ),
        (
            "tokens_wrong",
            TokensPage {
                frame: chrome,
                tokens: &[],
                form: &TokenForm {
                    description: own(text),
                    scopes: some,
                    days: 30,
                },
                problems: &token_wrong,
            }
            .page(),
        ),
        (
            "services",
            ServiceAccountsPage {
                frame,
                workspaces: &[service, empty],
                form: &ServiceAccountForm::default(),
                problems: &[],
            }
            .page(),
        ),
        (
            "services_wrong",
            ServiceAccountsPage {
                frame: chrome,
                workspaces: &[],
                form: &ServiceAccountForm {
                    name: own(text),
                    workspace: 2,
                },
                problems: &service_wrong,
            }
            .page(),
        ),
        (
            "installed",
            InstalledAppsPage {
                frame,
                workspaces: &[
                    WorkspaceApps {
                        id: 1,
                        name: own(text),
                        apps: vec![installed(3, false), installed(4, true)],
                    },
                    WorkspaceApps {
                        id: 2,
                        name: own("Example Ltd"),
                        apps: vec![],
                    },
                ],
            }
            .page(),
        ),
        ("requests", requests(frame, text)),
        ("requests_off", requests_off(frame)),
        ("request", request(frame, text)),
    ];
    all.extend(front_pages::pages(frame, CSRF, text));
    all
}
