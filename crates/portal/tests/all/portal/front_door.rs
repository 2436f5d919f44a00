//! The pages that people come to first: the front page, the overview, records, errors and the icon.
use super::browser::{Browser, form, header, hidden, leads, request, text};
use super::fixtures::{ADA, Town};

/// Returns the answer to somebody who has not signed in.
fn anonymous(town: &Town, path: &str) -> workgraph_api::ApiResponse {
    town.send(&request("GET", path, [1, 1, 1, 1]))
}

#[test]
fn the_front_page_says_what_this_is_and_where_to_go() {
    let town = Town::new();
    let reply = anonymous(&town, "/");
    let shown = text(&reply);
    assert_eq!(reply.status, 200);
    for address in [
        "/-/docs",
        "/-/console",
        "/-/readyz",
        "/-/errors",
        "/-/sign_in?next=%2F",
    ] {
        assert!(shown.contains(&format!("href=\"{address}\"")), "{address}");
    }
    let mut browser = Browser::of(&town, ADA);
    let own = text(&browser.get("/"));
    assert!(
        own.contains("Your projects") && own.contains("User 1"),
        "{own}"
    );
    assert!(!own.contains("Sign in"), "{own}");
}

#[test]
fn the_folder_of_pages_leads_to_the_front_page_and_the_console_has_an_overview() {
    let town = Town::new();
    for path in ["/-", "/-/"] {
        assert_eq!(leads(&anonymous(&town, path)), "/");
    }
    assert_eq!(
        leads(&anonymous(&town, "/-/console")),
        "/-/sign_in?next=%2F-%2Fconsole"
    );
    let mut browser = Browser::of(&town, ADA);
    for path in ["/-/console", "/-/console/"] {
        let reply = browser.get(path);
        assert_eq!(reply.status, 200, "{path}");
        assert!(text(&reply).contains("/-/console/requests"), "{path}");
    }
}

#[test]
fn browsers_find_an_icon() {
    let town = Town::new();
    let reply = anonymous(&town, "/favicon.ico");
    assert_eq!(
        (reply.status, header(&reply, "Content-Type")),
        (200, Some("image/x-icon"))
    );
}

#[test]
fn the_page_of_errors_explains_every_status_that_the_api_sends() {
    let town = Town::new();
    let shown = text(&anonymous(&town, "/-/errors"));
    for status in [
        400, 401, 402, 403, 404, 408, 412, 413, 414, 415, 422, 429, 431, 500, 503, 504, 507,
    ] {
        assert!(
            shown.contains(&format!("id=\"status-{status}\"")),
            "{status}"
        );
    }
}

#[test]
fn a_record_asks_for_a_sign_in_and_signing_in_leads_back_to_it() {
    let town = Town::new();
    for path in [
        "/0/7/12",
        "/0/0/12",
        "/0/7",
        "/0/portfolio/12",
        "/-/attachments/12",
    ] {
        let mut browser = Browser::new(&town);
        let reply = browser.get(path);
        let page = leads(&reply).to_owned();
        assert_eq!(page, format!("/-/sign_in?{}", form(&[("next", path)])));
        let shown = text(&browser.get(&page));
        assert_eq!(hidden(&shown, "next"), path);
        let fields = [
            ("csrf", hidden(&shown, "csrf")),
            ("next", path.to_owned()),
            ("email", "1@example.com".to_owned()),
            ("password", "pass-1".to_owned()),
        ];
        let fields = fields
            .each_ref()
            .map(|(name, value)| (*name, value.as_str()));
        let signed_in = browser.send(|_| {}, "POST", "/-/sign_in", &form(&fields));
        assert_eq!(leads(&signed_in), path);
    }
}

#[test]
fn an_address_of_no_record_is_a_page_with_its_status() {
    let town = Town::new();
    let mut browser = Browser::of(&town, ADA);
    for path in ["/0", "/0/x/y", "/0/webhook/12"] {
        let reply = browser.get(path);
        assert_eq!(reply.status, 404, "{path}");
        assert_eq!(
            header(&reply, "Content-Type"),
            Some("text/html; charset=utf-8")
        );
    }
}
