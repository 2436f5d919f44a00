//! Addresses of the server's pages.

/// Returns the address of the server's pages, without a trailing slash, from the address of its API.
#[must_use]
pub fn pages_url(base_url: &str) -> &str {
    base_url.strip_suffix("/api/1.0").unwrap_or(base_url)
}
