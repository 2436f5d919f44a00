//! A page of the portal from a small view: `cargo run -p workgraph-portal --example sign_in_page`
use workgraph_portal::pages::SignInPage;

fn main() {
    let page = SignInPage {
        csrf: "anti-forgery text of the browser",
        email: "ada@example.com",
        app: Some("<Planner>"),
        problem: Some("The e-mail address or the password is wrong."),
        ..SignInPage::default()
    };
    let html = page.page().html;
    assert!(html.contains("&lt;Planner&gt;") && !html.contains("<Planner>"));
    println!("{html}");
}
