//! Every page there is, in the states it can be in.
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use workgraph_auth::scope::SCOPES;
use workgraph_auth::{Registered, ScopeSet};
use workgraph_portal::console::Invite;
use workgraph_portal::pages::{
    Account, AppForm, AppPage, AppRow, AppValues, Apps, Connected, Connection, Consent, Failure,
    FormPost, Frame, Installed, InstalledApps, InstalledPlace, Interstitial, Leave, OutOfBand,
    Page, Place, Problem, SecretPage, Service, ServiceForm, ServicePlace, Services, SessionRow,
    SignIn, TokenForm, TokenRow, Tokens, Use, Who, Wish,
};

const CSRF: &str = "c4PUxbp1Fh4Hnd0pRKzjJUP9Vx3XNn8Ebv3Nw9w5c2g";

fn now() -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(1_795_219_200)
}

fn set(text: &str) -> ScopeSet {
    text.parse().unwrap()
}

/// All pages, with names of apps that somebody might have.
pub(crate) fn gallery() -> Vec<(&'static str, Page)> {
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

/// All pages, with this text wherever a text of somebody's stands.
pub(crate) fn all(text: &str) -> Vec<(&'static str, Page)> {
    let own = |text: &str| text.to_owned();
    let frame = Frame {
        who: Who {
            name: text,
            csrf: CSRF,
            admin: true,
        },
        notice: None,
    };
    let told = Frame {
        notice: Some(text),
        ..frame
    };
    let fields = [(own("csrf"), own(CSRF)), (own("state"), own(text))];
    let every = set(&SCOPES.iter().map(|s| s.name).collect::<Vec<_>>().join(" "));
    let some = set("tasks:read tasks:write users:read openid");
    let wish = |asked, before| Wish::of(asked, before);
    let consent = |wish: &Wish, host: Option<&str>| {
        let view = Consent {
            app: text,
            host,
            name: text,
            email: text,
            wish,
            action: "/-/oauth_authorize",
            fields: &fields,
            other: Some("/-/oauth_authorize?prompt=login"),
        };
        view.page().leading_to("https://planner.example/callback")
    };
    let app = |off| AppRow {
        id: 1_234_567_890_123,
        name: own(text),
        scopes: Registered::Only(some),
        created_at: now(),
        off,
    };
    let full = AppRow {
        id: 2,
        scopes: Registered::Full,
        ..app(true)
    };
    let values = AppValues {
        name: own(text),
        redirects: format!("https://planner.example/callback\n{text}"),
        scopes: some,
        distribution: vec![1],
    };
    let places = [
        Place {
            id: 1,
            name: own(text),
        },
        Place {
            id: 2,
            name: own("Example Ltd"),
        },
    ];
    let wrong = [
        Problem::new("name", "An app must have a name."),
        Problem::new("redirects", text),
        Problem::new("scopes", "Choose at least one scope, or full permissions."),
        Problem::new("distribution", "Choose at least one workspace."),
    ];
    let form = |problems| AppForm {
        values: &values,
        places: &places,
        problems,
        loopback: true,
    };
    let installed = |id, off| Installed {
        id,
        name: own(text),
        scopes: if off {
            Registered::Full
        } else {
            Registered::Only(some)
        },
        off,
    };
    let tokens = [
        token(1, text, ScopeSet::full()),
        token(2, "", some),
        token(6, "Nightly export", every),
    ];
    let service = ServicePlace {
        id: 1,
        name: own(text),
        accounts: vec![
            Service {
                id: 5,
                name: own(text),
                tokens: tokens.to_vec(),
            },
            Service {
                id: 6,
                name: own("Import"),
                tokens: vec![],
            },
        ],
    };
    let empty = ServicePlace {
        id: 2,
        name: own("Example Ltd"),
        accounts: vec![],
    };
    let connection = |id, scopes, off| Connection {
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
        Problem::new("description", "Say what the token is for."),
        Problem::new("days", text),
        Problem::new("scopes", text),
    ];
    let service_wrong = [Problem::new("name", text), Problem::new("workspace", text)];
    let session = |id: u64, address: Option<&str>| SessionRow {
        id: format!("{id:016x}"),
        created_at: now() - Duration::from_secs(86_400 * id),
        last_used_at: now(),
        address: address.map(own),
        is_this: id == 1,
    };
    let password_wrong = [
        Problem::new("current", "This is not your password."),
        Problem::new("new", text),
        Problem::new("again", text),
    ];
    let secret = |purpose: &Use| {
        SecretPage {
            purpose,
            name: text,
            secret: "wgk_AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEvN5zQ",
        }
        .page()
    };
    vec![
        (
            "sign_in",
            SignIn {
                csrf: CSRF,
                ..SignIn::default()
            }
            .page(),
        ),
        (
            "sign_in_wrong",
            SignIn {
                csrf: CSRF,
                fields: &fields,
                email: text,
                app: Some(text),
                problem: Some(text),
                notice: Some(text),
            }
            .page(),
        ),
        ("sign_out", Leave { csrf: CSRF }.page()),
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
            OutOfBand::Code {
                app: text,
                code: "wgc_AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEvN5zQ",
            }
            .page(),
        ),
        (
            "code_error",
            OutOfBand::Error {
                error: "access_denied",
                description: text,
            }
            .page(),
        ),
        (
            "interstitial",
            Interstitial {
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
            FormPost {
                app: text,
                site: "https://planner.example",
                action: "https://planner.example/callback",
                fields: &fields,
            }
            .page(),
        ),
        (
            "failure",
            Failure {
                heading: "Not found",
                text,
                onward: Some(("/-/connected_apps", "Connected apps")),
            }
            .page(),
        ),
        (
            "account",
            Account {
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
            Account {
                frame: told,
                sessions: &[session(1, None)],
                problems: &password_wrong,
            }
            .page(),
        ),
        (
            "connected",
            Connected {
                frame,
                invitations: &[],
                apps: &many,
            }
            .page(),
        ),
        (
            "connected_invited",
            Connected {
                frame,
                invitations: &[
                    Invite {
                        id: 31,
                        workspace: text.to_owned(),
                    },
                    Invite {
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
            Connected {
                frame: told,
                invitations: &[],
                apps: &[],
            }
            .page(),
        ),
        (
            "apps",
            Apps {
                frame,
                apps: &[app(false), full],
            }
            .page(),
        ),
        (
            "apps_none",
            Apps {
                frame: told,
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
                frame: told,
                app: &app(true),
                form: form(&wrong),
                has_secret: false,
                disabled_in: &[own(text)],
            }
            .page(),
        ),
        ("secret", secret(&Use::Client { app: 12 })),
        ("secret_token", secret(&Use::Personal)),
        ("secret_service", secret(&Use::Service)),
        (
            "tokens",
            Tokens {
                frame,
                tokens: &tokens,
                form: &TokenForm::default(),
                problems: &[],
            }
            .page(),
        ),
        (
            "tokens_wrong",
            Tokens {
                frame: told,
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
            Services {
                frame,
                places: &[service, empty],
                form: &ServiceForm::default(),
                problems: &[],
            }
            .page(),
        ),
        (
            "services_wrong",
            Services {
                frame: told,
                places: &[],
                form: &ServiceForm {
                    name: own(text),
                    workspace: 2,
                },
                problems: &service_wrong,
            }
            .page(),
        ),
        (
            "installed",
            InstalledApps {
                frame,
                places: &[
                    InstalledPlace {
                        id: 1,
                        name: own(text),
                        apps: vec![installed(3, false), installed(4, true)],
                    },
                    InstalledPlace {
                        id: 2,
                        name: own("Example Ltd"),
                        apps: vec![],
                    },
                ],
            }
            .page(),
        ),
    ]
}
