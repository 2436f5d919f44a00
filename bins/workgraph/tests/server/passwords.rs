//! The password of the first admin, and the file that holds it.
use crate::common::{Folder, Server, run};

/// Returns the value of a header, or of an attribute, after a text that comes before it.
fn after<'a>(text: &'a str, before: &str) -> &'a str {
    let rest = text
        .split_once(before)
        .unwrap_or_else(|| panic!("no {before}: {text}"))
        .1;
    rest.split([';', '"', '\r']).next().unwrap()
}

/// Signs in. Returns the status.
fn sign_in(server: &Server, password: &str) -> u16 {
    let page = server.raw(b"GET /-/sign_in HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    let cookie = after(&page, "workgraph-form=");
    let csrf = after(&page, "name=\"csrf\" value=\"");
    let password = password.replace(' ', "+");
    let form = format!("csrf={csrf}&email=admin%40example.com&password={password}");
    let text = format!(
        "POST /-/sign_in HTTP/1.1\r\nHost: x\r\nConnection: close\r\nCookie: workgraph-form={cookie}\r\nSec-Fetch-Site: same-origin\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n{form}",
        form.len()
    );
    crate::common::status(&server.raw(text.as_bytes()))
}

/// B68.
#[test]
fn the_first_password_stays_in_its_file_until_it_is_used_or_replaced() {
    let folder = Folder::new("first-password");
    let start = || {
        let password = [("WORKGRAPH_ADMIN_PASSWORD", "let me in please")];
        Server::start(&folder, false, &[], &password)
    };
    let server = start();
    assert_eq!(sign_in(&server, "guess"), 400);
    assert_eq!(
        folder.bootstrap()["users"][0]["password"],
        "let me in please"
    );
    assert_eq!(sign_in(&server, "let me in please"), 303);
    let metrics = server.raw(b"GET /-/metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    for outcome in ["succeeded", "password_wrong"] {
        let line = format!("workgraph_sign_ins_total{{outcome=\"{outcome}\"}} 1");
        assert!(metrics.contains(&line), "{line} is not in {metrics}");
    }
    let boot = folder.bootstrap();
    assert!(boot["users"][0].get("password").is_none(), "{boot}");
    assert!(boot["personal_access_token"].is_string());
    server.stop();
    let server = start();
    assert_eq!(sign_in(&server, "let me in please"), 303, "it still works");
    server.stop();

    let folder = Folder::new("replaced-password");
    let server = Server::start(&folder, false, &[], &[]);
    let data = folder.data();
    let command = [
        "admin",
        "--data",
        &data,
        "user",
        "password",
        "admin@example.com",
    ];
    assert!(run(&command).0);
    let boot = folder.bootstrap();
    assert!(boot["users"][0].get("password").is_none(), "{boot}");
    server.stop();
    // Without a running server as well.
    let (ok, said) = run(&command);
    assert!(ok && said.contains("password: "), "{said}");
}
