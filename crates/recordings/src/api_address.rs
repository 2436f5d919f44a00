//! Addresses of an API: base, path below it, query.

use percent_encoding::percent_decode_str;

/// Divides an address into the base of the API, which ends with `base_path`, and the path and query below it. Returns `None`
/// if the address is not below the base path.
pub(crate) fn divide<'a>(url: &'a str, base_path: &str) -> Option<(&'a str, &'a str)> {
    let url = url.split_once('#').map_or(url, |(before, _)| before);
    let authority = url.find("://")? + "://".len();
    let from_authority = url.get(authority..)?;
    let path_start = authority + from_authority.find('/')?;
    let path_end = url.find('?').unwrap_or(url.len());
    let path = url.get(path_start..path_end)?;
    for (found, _) in path.match_indices(base_path) {
        let end = path_start + found + base_path.len();
        let rest = url.get(end..)?;
        if rest.is_empty() || rest.starts_with(['/', '?']) {
            return Some((url.get(..end)?, rest));
        }
    }
    None
}

/// Returns an address without the name and password of a user.
pub(crate) fn without_user(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else {
        return url.to_owned();
    };
    let (authority, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    let host = authority
        .rsplit_once('@')
        .map_or(authority, |(_, host)| host);
    format!("{scheme}://{host}{path}")
}

/// Returns a path and query without the parameter `access_token`.
pub(crate) fn without_token(target: &str) -> String {
    let Some((path, query)) = target.split_once('?') else {
        return target.to_owned();
    };
    let is_token = |pair: &&str| decoded(pair.split('=').next().unwrap_or("")) == "access_token";
    if !query.split('&').any(|pair| is_token(&pair)) {
        return target.to_owned();
    }
    let kept: Vec<&str> = query.split('&').filter(|pair| !is_token(pair)).collect();
    if kept.is_empty() {
        path.to_owned()
    } else {
        format!("{path}?{}", kept.join("&"))
    }
}

/// Returns a part of an address without percent-coding. Bytes that are not UTF-8 are replaced.
pub(crate) fn decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_base_ends_with_the_base_path() {
        for (url, base, target) in [
            (
                "https://app.asana.com/api/1.0/tasks/12?limit=2",
                "https://app.asana.com/api/1.0",
                "/tasks/12?limit=2",
            ),
            (
                "http://127.0.0.1:8080/w/7/api/1.0/users/me#top",
                "http://127.0.0.1:8080/w/7/api/1.0",
                "/users/me",
            ),
            ("http://a/api/1.0", "http://a/api/1.0", ""),
            ("http://a/api/1.0?x=1", "http://a/api/1.0", "?x=1"),
        ] {
            assert_eq!(divide(url, "/api/1.0"), Some((base, target)), "{url}");
        }
        for url in [
            "https://app.asana.com/-/oauth_token",
            "https://app.asana.com/api/1.00/tasks",
            "https://app.asana.com/0?next=/api/1.0/tasks",
            "https://app.asana.com",
            "/api/1.0/tasks",
        ] {
            assert_eq!(divide(url, "/api/1.0"), None, "{url}");
        }
    }

    #[test]
    fn only_the_token_leaves_a_query() {
        for (target, kept) in [
            ("/users/me?access_token=a", "/users/me"),
            ("/users/me?access%5Ftoken=a&x=%20", "/users/me?x=%20"),
            ("/tasks?a=1&&b", "/tasks?a=1&&b"),
            ("/tasks", "/tasks"),
        ] {
            assert_eq!(without_token(target), kept);
        }
        assert_eq!(without_user("https://a:b@c/d@e"), "https://c/d@e");
        assert_eq!(without_user("/tasks"), "/tasks");
    }
}
