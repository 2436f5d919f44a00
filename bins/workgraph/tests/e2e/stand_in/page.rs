//! The page of a stand-in in a browser.
use super::client::StandIn;
use crate::clients::{ready, root};
use crate::common::command;
use crate::sdk::passed;
use serde_json::json;

#[test]
fn the_page_shows_a_world_and_moves_its_clock() {
    let programs = ["chromium", "node", "npm"];
    let Some(clients) = ready("the page in a browser", &programs, "browser/install.sh") else {
        return;
    };
    let stand_in = StandIn::start("stand-in-page");
    let world = stand_in.world(json!({"name": "a failed test"}));
    world.change_with_failing_inbox(500, 1);
    world.advance("0s");
    let fault = json!({"match": {"times": 1}, "do": {"hold": true}});
    world.control("POST", "/-/faults", fault);
    let mut check = command("node");
    check
        .arg(root().join("clients/browser/stand-in.cjs"))
        .env(
            "PAGE",
            format!("{}/-/stand-in", world.made["auth_url"].as_str().unwrap()),
        )
        .env("AXE", clients.join("browser"))
        .env("NO_PROXY", "*")
        .env("no_proxy", "*");
    if std::env::var_os("SCREENSHOTS").is_some() {
        check.env("SHOTS", root().join("docs/screenshots"));
    }
    passed(check, stand_in.folder());
    // Who may not control the stand-in does not see the page, either.
    let page = format!("{}/-/stand-in", world.path);
    for path in [page.clone(), format!("{page}/page.js")] {
        let foreign = [("Host", "rebound.example.com")];
        assert_eq!(
            stand_in.send("GET", &path, &foreign, "").status,
            403,
            "{path}"
        );
    }
    assert_eq!(
        stand_in.send("GET", &format!("{page}/x"), &[], "").status,
        404
    );
}
