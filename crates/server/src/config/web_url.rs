//! Web addresses as settings.
use crate::config::setting::SettingValue;
use anyhow::{Result, bail};

/// Address of a server, without a trailing slash; empty if there is none.
#[derive(Clone, Debug, Default)]
pub(crate) struct WebUrl(pub(crate) String);

impl SettingValue for WebUrl {
    fn set(&mut self, text: &str) -> Result<()> {
        let url = text.trim_end_matches('/');
        let host = url
            .strip_prefix("https://")
            .or_else(|| url.strip_prefix("http://"));
        let is_host = |h: &str| !h.is_empty() && !h.contains(['@', '?', '#', ' ', '"', '\\']);
        if !url.is_empty() && !host.is_some_and(is_host) {
            bail!("must be an http or https address without user, query and fragment");
        }
        self.0 = url.to_owned();
        Ok(())
    }
    fn text(&self) -> String {
        self.0.clone()
    }
}
