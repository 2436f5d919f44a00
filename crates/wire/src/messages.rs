//! Error messages that clients match on, in one place.
//!
//! Functions that repeat a client's value cut and escape it with [`clip`].

/// Maximum number of characters of a client's value that an error message repeats.
pub const ECHO_CHARS: usize = 64;

/// 404: no operation has the method and path.
pub const NO_ROUTE: &str = "No matching route for request";
/// 401: no token, or an unknown one.
pub const NOT_AUTHORIZED: &str = "Not Authorized";
/// 401: the token's app does not work in the workspace of the request.
pub const APP_DISABLED: &str = "Not Authorized: the app is disabled in this workspace";
/// 401: the access token has expired.
pub const EXPIRED_BEARER: &str = "The bearer token has expired. If you have a refresh token, please use it to request \
     a new bearer token, otherwise allow the user to re-authenticate.";
/// 400: the body isn't JSON.
pub const INVALID_JSON: &str = "Could not parse request data, invalid JSON";
/// 400: the body isn't UTF-8, or a string in it holds half a surrogate pair.
pub const NOT_UTF8: &str = "Could not parse request data, not valid UTF-8";
/// 400: a number beyond what a double can hold.
pub const NUMBER_RANGE: &str = "Could not parse request data, number out of range";
/// 400: the body is JSON, but not an object.
pub const NOT_AN_OBJECT: &str = "Could not parse request data, the body must be a JSON object";
/// 429: any rate limit; the wait is in the `Retry-After` header.
pub const RATE_LIMITED: &str = "You've made too many requests and hit a rate limit. Please retry after the given amount of time.";
/// 400: a list without `limit` that is over the cap for one answer.
pub const TOO_LARGE_UNPAGINATED: &str =
    "The result is too large. You should use pagination (may require specifying a workspace)!";
/// 400: the last page of a result set beyond the cap for a whole walk.
pub const TRUNCATED: &str = "The result set is too large to be listed completely: this is the end of a truncated data \
     set. Narrow the query to reach the remaining objects.";
/// 400: an offset that this service didn't make, that was changed, or that belongs to another
/// listing.
pub const OFFSET_INVALID: &str = "offset: Your pagination token is invalid.";
/// 400: an expired offset.
pub const OFFSET_EXPIRED: &str = "offset: Your pagination token has expired.";
/// 500: an error of this service.
pub const SERVER_ERROR: &str = "Server Error";
/// 503: a dependency of this service cannot be reached now.
pub const NOT_AVAILABLE: &str = "Not available now; try again in a few seconds";
/// 412: the sync token of the events API is unknown or too old.
pub const SYNC_TOKEN_OLD: &str = "Sync token invalid or too old. If you are attempting to keep resources in sync, you \
     must fetch the full dataset for this query now and use the new sync token for the next sync.";
/// 400: GET /tasks with a combination of filters that selects no list.
pub const TASK_FILTERS: &str =
    "Must specify exactly one of project, tag, section, user task list, or assignee + workspace";
/// 400: POST /tasks without a workspace, parent or project for the task.
pub const TASK_HOME: &str = "You should specify one of workspace, parent, projects";
/// 400: a project in an organization needs a team.
pub const MISSING_TEAM: &str = "Missing required team field";
/// 413: the body is over its cap.
pub const BODY_TOO_LARGE: &str = "The request body is too large";
/// 507: the disk that holds the files has no room for an upload.
pub const NO_DISK_SPACE: &str = "file: The server has too little free disk space to store files now; try again later, or tell its operator";
/// 415: a body whose content type isn't supported.
pub const UNSUPPORTED_MEDIA: &str =
    "The content type must be application/json or application/x-www-form-urlencoded";

/// Returns the text of a 400: `<param>: Missing input`.
#[must_use]
pub fn missing_input(param: &str) -> String {
    format!("{}: Missing input", clip(param))
}

/// Returns the text of a 400: a key next to `data` and `options`, which is already clipped.
pub(crate) fn unrecognized(key: &str) -> String {
    format!(
        "Unrecognized request field `{key}`. The only allowed keys at the top level are: data, options. Is it possible \
         you did not wrap object properties in a `data` object?"
    )
}

/// Returns the text of a 403: no access to an object. `kind` is its plain name, such as `project`.
#[must_use]
pub fn no_access(kind: &str) -> String {
    format!("You do not have access to this {}.", clip(kind))
}

/// Returns the text of a 403: the token lacks the scope that the operation or a requested field needs.
#[must_use]
pub fn missing_scope(what: &str, scope: &str) -> String {
    format!("{}: needs the scope {}", clip(what), clip(scope))
}

/// Returns the text of a 400: a parameter whose value breaks a rule. `rule` is a text of this service, such as
/// `must be 1 to 100`.
#[must_use]
pub fn must(param: &str, rule: &str) -> String {
    format!("{}: {rule}", clip(param))
}

/// Returns the text of a 400: the body is nested deeper than `levels`.
#[must_use]
pub fn too_deep(levels: usize) -> String {
    format!("Could not parse request data, nested deeper than {levels} levels")
}

/// Prepares a client's value for use in a message: at most 64 characters, with control
/// characters and invisible direction or width marks escaped, so that a log line or a
/// terminal shows what was sent.
#[must_use]
pub fn clip(value: &str) -> String {
    let mut out = String::with_capacity(value.len().min(ECHO_CHARS * 4));
    for c in value.chars().take(ECHO_CHARS) {
        if c.is_control() || invisible(c) {
            out.extend(c.escape_default());
        } else {
            out.push(c);
        }
    }
    out
}

/// Returns true for invisible marks that change the appearance of the surrounding text.
fn invisible(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// S05.
    #[test]
    fn messages_read_as_clients_expect_them() {
        assert_eq!(missing_input("workspace"), "workspace: Missing input");
        assert_eq!(
            no_access("project"),
            "You do not have access to this project."
        );
        assert!(
            unrecognized("name")
                .starts_with("Unrecognized request field `name`. The only allowed keys")
        );
        assert!(TRUNCATED.contains("truncated data set"));
        assert!(RATE_LIMITED.contains("too many requests") && RATE_LIMITED.contains("retry after"));
    }

    #[test]
    fn constants_have_no_stray_blanks() {
        for text in [EXPIRED_BEARER, TRUNCATED, SYNC_TOKEN_OLD] {
            assert!(!text.contains("  ") && !text.contains('\n'), "{text}");
        }
    }

    #[test]
    fn echoed_values_are_clipped() {
        assert_eq!(
            missing_input(&"9".repeat(100)).len(),
            64 + ": Missing input".len()
        );
    }

    #[test]
    fn echoes_are_short_and_visible() {
        assert_eq!(clip(&"é".repeat(80)), "é".repeat(64));
        assert_eq!(
            clip("a\0b\nc\u{202e}d\u{7f}"),
            "a\\u{0}b\\nc\\u{202e}d\\u{7f}"
        );
        assert_eq!(
            clip("plain `ticks` / \"quotes\" é 🦑"),
            "plain `ticks` / \"quotes\" é 🦑"
        );
    }
}
