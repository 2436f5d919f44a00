//! Checks of what people enter about apps, tokens and service accounts. The forms of the console and the commands of an operator
//! make the same checks.
use workgraph_auth::authorization::registered_app::{NameError, check_name};
use workgraph_auth::{LoopbackPolicy, RedirectUri, ScopeSet};

/// Maximum number of redirect URLs of an app.
const REDIRECTS_MAX: usize = 20;

/// Checks a name or description that pages display, and returns it without surrounding white space. `what` names it in the
/// message, such as `a name`.
///
/// # Errors
/// Fails with the message if the text is empty, too long, or has invisible characters.
pub fn check_line<'t>(text: &'t str, what: &str) -> Result<&'t str, String> {
    check_name(text).map_err(|reason| match reason {
        NameError::Empty => format!("Enter {what}."),
        NameError::Long => format!("Enter {what} of at most 100 characters."),
        NameError::Characters => format!("Enter {what} without invisible characters."),
    })
}

/// Checks the redirect URLs of an app, and returns them, each once. A URL in `registered` may stay, even if the policy no longer
/// allows it.
///
/// # Errors
/// Fails with the messages if URLs are not allowed, or there are none or too many.
pub fn check_redirects<'t>(
    urls: impl Iterator<Item = &'t str>,
    registered: &[RedirectUri],
    loopback: LoopbackPolicy,
) -> Result<Vec<RedirectUri>, Vec<String>> {
    let (mut redirects, mut problems): (Vec<RedirectUri>, _) = (Vec::new(), Vec::new());
    for text in urls.map(str::trim).filter(|text| !text.is_empty()) {
        let kept = registered.iter().find(|url| url.as_str() == text).cloned();
        match kept.map_or_else(|| RedirectUri::register(text, loopback), Ok) {
            Ok(url) if redirects.contains(&url) => {}
            Ok(url) => redirects.push(url),
            Err(reason) => {
                let text: String = text.chars().take(100).collect();
                problems.push(format!("{text}: {reason}"));
            }
        }
    }
    if redirects.len() > REDIRECTS_MAX {
        problems.push(format!("Enter at most {REDIRECTS_MAX} redirect URLs."));
    }
    if redirects.is_empty() && problems.is_empty() {
        problems.push("Enter at least one redirect URL.".to_owned());
    }
    match problems.is_empty() {
        true => Ok(redirects),
        false => Err(problems),
    }
}

/// Checks that an app or a token has a permission.
///
/// # Errors
/// Fails with the message if it has none.
pub fn check_scopes(scopes: ScopeSet) -> Result<(), &'static str> {
    match scopes.is_empty() {
        true => Err("Choose at least one scope, or full permissions."),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redirect_urls_count_once_and_their_number_is_bounded() {
        let check = |urls: &[String]| {
            check_redirects(
                urls.iter().map(String::as_str),
                &[],
                LoopbackPolicy::Refused,
            )
        };
        let urls: Vec<String> = (0..=REDIRECTS_MAX)
            .map(|n| format!("https://app.example/{n}"))
            .collect();
        let (_, allowed) = urls.split_first().unwrap();
        assert_eq!(check(allowed).unwrap().len(), REDIRECTS_MAX);
        assert_eq!(
            check(&[allowed, allowed].concat()).unwrap().len(),
            REDIRECTS_MAX
        );
        assert!(check(&urls).is_err() && check(&[]).is_err());
        let wrong = check(&["http://app.example".to_owned()]).unwrap_err();
        assert_eq!(wrong.len(), 1);
    }
}
