//! Pages of the server: the consent page, and answers that a browser passes on.
use std::fmt::Write as _;

use super::AUTHORIZE;
use crate::params::Param;
use crate::tokens::scope::{FULL_ACCESS_DESCRIPTION, Scope};

/// Content of the consent page.
#[derive(Debug, Clone)]
pub struct ConsentView<'a> {
    /// Name of the app that asks for access.
    pub app: &'a str,
    /// The host that the answer is sent to; none for a native app, whose code is shown on a page.
    pub host: Option<&'a str>,
    /// Name of the signed-in user.
    pub user: &'a str,
    /// The scopes that the app requests; none for full permissions.
    pub scopes: Option<Vec<Scope>>,
    /// The hidden fields of the form, which posts them to [`AUTHORIZE`], with `decision` as `allow` or `deny`.
    pub fields: &'a [Param],
}

impl ConsentView<'_> {
    /// Returns the page in plain HTML. This is the default of [`consent_page`](super::OAuthServerBuilder::consent_page).
    #[must_use]
    pub fn page(&self) -> String {
        let mut list = String::new();
        match &self.scopes {
            None => item(&mut list, FULL_ACCESS_DESCRIPTION),
            Some(scopes) => scopes
                .iter()
                .for_each(|scope| item(&mut list, scope.description)),
        }
        let app = escape(self.app);
        let to = self.host.map_or_else(String::new, |host| {
            format!("<p>You will be sent to <b>{}</b>.</p>", escape(host))
        });
        let body = format!(
            "<h1>{app} asks for access</h1><p>You are signed in as <b>{}</b>. If you agree, {app} can:</p><ul>{list}</ul>{to}\
             <form method=\"post\" action=\"{AUTHORIZE}\">{}\
             <button name=\"decision\" value=\"allow\">Allow</button> \
             <button name=\"decision\" value=\"deny\">Deny</button></form>",
            escape(self.user),
            hidden(self.fields),
        );
        document(&format!("{app} asks for access"), &body)
    }
}

/// Returns the page that posts an answer to an app when its user presses the button.
pub(super) fn form_post(action: &str, fields: &[Param]) -> String {
    let body = format!(
        "<h1>Continue to the app</h1><form method=\"post\" action=\"{}\">{}<button>Continue</button></form>",
        escape(action),
        hidden(fields),
    );
    document("Continue", &body)
}

/// Returns the page that shows an answer to the user of a native app.
pub(super) fn shown(fields: &[Param]) -> String {
    let mut list = String::new();
    for (name, value) in fields {
        item(&mut list, &format!("{name}: {value}"));
    }
    document(
        "Copy this to the app",
        &format!("<h1>Copy this to the app</h1><ul>{list}</ul>"),
    )
}

/// Returns the page that names the host an error would be sent to, for a visitor without a session (RFC 9700 section
/// 4.11.2).
pub(super) fn error_page(app: &str, description: &str, to: &str, host: &str) -> String {
    let body = format!(
        "<h1>{} sent a wrong request</h1><p>{}</p><p><a rel=\"noreferrer\" href=\"{}\">Go back to {}</a></p>",
        escape(app),
        escape(description),
        escape(to),
        escape(host),
    );
    document("Wrong request", &body)
}

/// Writes a document with `title`, which is already escaped, and `body`.
fn document(title: &str, body: &str) -> String {
    format!(
        "<!DOCTYPE html><html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\
         <title>{title}</title><style>body{{font:1rem/1.5 sans-serif;max-width:32rem;margin:3rem auto;padding:0 1rem}}</style>\
         <main>{body}</main></html>"
    )
}

fn item(list: &mut String, text: &str) {
    // Writing to a String cannot fail.
    let _ = write!(list, "<li>{}</li>", escape(text));
}

fn hidden(fields: &[Param]) -> String {
    let input = |(name, value): &Param| {
        let (name, value) = (escape(name), escape(value));
        format!("<input type=\"hidden\" name=\"{name}\" value=\"{value}\">")
    };
    fields.iter().map(input).collect()
}

/// Returns a text with all markup escaped.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}
