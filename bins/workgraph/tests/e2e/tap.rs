//! A Singer tap as it is published, against the real server: all records, and then the changes since.
use crate::clients::{ready, root};
use crate::common::{Folder, Server, WIDE, command};
use crate::oauth::{App, Browser};
use crate::sdk::passed;

/// S150. The tap signs in with an app's refresh token, and goes on from a date-time without a zone.
#[test]
fn a_tap_gets_everything_and_then_what_changed() {
    let what = "the sync with tap-asana";
    let Some(clients) = ready(what, &["python3", "node", "npm"], "install.sh") else {
        return;
    };
    let folder = Folder::new("tap");
    let server = Server::start(&folder, WIDE);
    let app = App::of(&server, 0);
    let mut browser = Browser::signed_in(&server, 0);
    let [_, refresh] = app.tokens(&mut browser, &[]);
    let python = clients.join("tap/bin/python");
    let mut script = command(python.to_str().unwrap());
    script
        .arg(root().join("clients/python/tap.py"))
        .env("BASE_URL", server.demo("/base_url"))
        .env("TOKEN", server.token())
        .env("CLIENT_ID", &app.id)
        .env("CLIENT_SECRET", &app.secret)
        .env("REDIRECT_URI", &app.redirect)
        .env("REFRESH_TOKEN", refresh)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("NO_PROXY", "*")
        .env("no_proxy", "*");
    passed(script, &folder);
}
