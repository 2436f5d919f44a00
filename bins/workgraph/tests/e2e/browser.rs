//! The pages in a real browser: `clients/browser/tour.cjs` walks through all of them.
use crate::clients::{ready, root};
use crate::common::{Folder, Server, WIDE, command, nodes};
use crate::sdk::passed;

// Every page in every state it can be in, as the tests of the pages have them.
#[path = "../../../../crates/portal/tests/all/pages/gallery.rs"]
mod gallery;

/// Programs that these tests need: Chromium, Node and npm; axe-core is installed if it was not.
const PROGRAMS: [&str; 3] = ["chromium", "node", "npm"];

/// B20. B21. B22. B24. B25. B26. B60. B62. B63. With script and the mouse, then without script and
/// with the keyboard alone: signing in and out, consent, the page with a code, apps and their
/// secrets, tokens, service accounts, connected apps. axe-core finds nothing on any page that it looks at, in `just browser` on any.
/// None of the secrets that were issued is in the database, its log or the server's log.
#[test]
fn a_person_finds_their_way_through_all_pages() {
    let Some(clients) = ready("the pages in a browser", &PROGRAMS, "browser/install.sh") else {
        return;
    };
    let folder = Folder::new("browser");
    let server = Server::start(&folder, WIDE);
    let mut tour = command("node");
    tour.arg(root().join("clients/browser/tour.cjs"))
        .env("BASE", format!("http://127.0.0.1:{}", server.port))
        .env("USER_EMAIL", server.demo("/users/0/email"))
        .env("USER_PASSWORD", server.demo("/users/0/password"))
        .env("FREE_TOKEN", server.demo("/free_token"))
        .env("FREE_WORKSPACE", server.workspace("free"))
        .env("AXE", clients.join("browser"))
        .env("NODES", nodes().to_string())
        .env("NO_PROXY", "*")
        .env("no_proxy", "*");
    if std::env::var_os("SCREENSHOTS").is_some() {
        tour.env("SHOTS", root().join("docs/screenshots"));
    }
    let secrets = folder.path().join("secrets");
    tour.env("SECRETS", &secrets);
    passed(tour, &folder);
    let secrets = std::fs::read_to_string(secrets).unwrap();
    let secrets: Vec<&str> = secrets.lines().collect();
    assert!(secrets.len() > 20, "{} secrets", secrets.len());
    let mut files = vec![folder.path().join("log")];
    if nodes() == 1 {
        let database = ["workgraph.db", "workgraph.db-wal"];
        files.extend(database.map(|file| folder.data().join(file)));
    }
    for file in files {
        let bytes = std::fs::read(&file).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        for secret in &secrets {
            assert!(!text.contains(secret), "{} has {secret}", file.display());
        }
    }
}

/// S291. S293. All reference pages in a browser: axe-core finds nothing; with the keyboard alone one finds an operation,
/// sends a request, and reads the reply; the token is in no storage; without script everything can be read.
#[test]
fn the_reference_is_usable_with_the_keyboard_and_without_script() {
    let Some(clients) = ready(
        "the reference in a browser",
        &PROGRAMS,
        "browser/install.sh",
    ) else {
        return;
    };
    let folder = Folder::new("reference");
    let server = Server::start(&folder, WIDE);
    let mut walk = command("node");
    walk.arg(root().join("clients/browser/reference.cjs"))
        .env("BASE", format!("http://127.0.0.1:{}", server.port))
        .env("TOKEN", server.token())
        .env("AXE", clients.join("browser"))
        .env("NO_PROXY", "*")
        .env("no_proxy", "*");
    if std::env::var_os("SCREENSHOTS").is_some() {
        walk.env("SHOTS", root().join("docs/screenshots"));
    }
    passed(walk, &folder);
}

/// axe-core finds nothing on any page in any state, light, dark or on a phone, and none is wider than
/// the screen. It looks at every fourth of these looks, at all of them in `just browser`.
#[test]
fn every_state_of_every_page_is_accessible() {
    let Some(clients) = ready("the pages in a browser", &PROGRAMS, "browser/install.sh") else {
        return;
    };
    let folder = Folder::new("gallery");
    let mut check = command("node");
    check
        .arg(root().join("clients/browser/axe.cjs"))
        .arg(clients.join("browser"));
    for (name, page) in gallery::gallery() {
        let file = folder.path().join(format!("{name}.html"));
        std::fs::write(&file, page.html).unwrap();
        check.arg(file);
    }
    let output = check.output().unwrap();
    let out = String::from_utf8_lossy(&output.stdout);
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && out.contains(" 0 findings"),
        "{out}\n{err}"
    );
}
