//! The responses of the console: pages and redirects.
use workgraph_auth::Param;

use crate::common_responses::invalid_form_page;
use crate::pages::{ErrorPage, HtmlPage, paths};

/// Response of the console: a page, or a redirect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConsoleResponse {
    /// A page, with its status.
    Page(u16, HtmlPage),
    /// 303 to a path of this server.
    SeeOther(String),
}

impl ConsoleResponse {
    pub(super) fn ok(page: HtmlPage) -> Self {
        Self::Page(200, page)
    }

    /// Returns the page of a rejected form with its problems, with status 400.
    pub(super) fn again(page: HtmlPage) -> Self {
        Self::Page(400, page)
    }

    /// Returns a redirect to the page at a path, with a notice about the write.
    pub(crate) fn done(path: &str, what: ConsoleNotice) -> Self {
        Self::SeeOther(what.at(&format!("{path}?")))
    }

    /// Returns 404, for an object that does not exist or belongs to another user.
    #[must_use]
    pub fn not_found() -> Self {
        let failure = ErrorPage {
            heading: "Not found",
            text: "There is nothing here, or it is not yours.",
            onward: Some((paths::APPS, "Go to my apps")),
        };
        Self::Page(404, failure.page())
    }

    /// Returns the page for a form whose anti-forgery text is invalid, or whose session has ended.
    #[must_use]
    pub fn invalid_csrf() -> Self {
        Self::Page(403, invalid_form_page())
    }
}

/// Result of a write, shown by the next page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConsoleNotice {
    Saved,
    On,
    Off,
    Revoked,
    Disconnected,
    Password,
    SignedOut,
    AllRevoked,
    Accepted,
    Declined,
    RecordingOn,
    RecordingOff,
}

impl ConsoleNotice {
    const ALL: [Self; 12] = [
        Self::Saved,
        Self::On,
        Self::Off,
        Self::Revoked,
        Self::Disconnected,
        Self::Password,
        Self::SignedOut,
        Self::AllRevoked,
        Self::Accepted,
        Self::Declined,
        Self::RecordingOn,
        Self::RecordingOff,
    ];

    const fn word(self) -> &'static str {
        match self {
            Self::Saved => "saved",
            Self::On => "on",
            Self::Off => "off",
            Self::Revoked => "revoked",
            Self::Disconnected => "disconnected",
            Self::Password => "password",
            Self::SignedOut => "signed_out",
            Self::AllRevoked => "all_revoked",
            Self::Accepted => "accepted",
            Self::Declined => "declined",
            Self::RecordingOn => "recording",
            Self::RecordingOff => "not_recording",
        }
    }

    /// Returns an address with the notice added. The given address ends with `?` or a parameter.
    pub(super) fn at(self, address: &str) -> String {
        let and = if address.ends_with('?') { "" } else { "&" };
        format!("{address}{and}done={}", self.word())
    }

    const fn says(self) -> &'static str {
        match self {
            Self::Saved => "Your changes are saved.",
            Self::On => "The app is switched on.",
            Self::Off => "The app is switched off.",
            Self::Revoked => "The token is revoked. It stopped working.",
            Self::Disconnected => "The app is disconnected. It has no access any more.",
            Self::Password => "Your password is changed. You are signed out everywhere else.",
            Self::SignedOut => "Signed out there.",
            Self::AllRevoked => "All access is revoked: no token and no app works any more.",
            Self::Accepted => "You belong to the workspace now.",
            Self::Declined => "You declined the invitation.",
            Self::RecordingOn => "Bodies are recorded for an hour.",
            Self::RecordingOff => "Bodies are no longer recorded.",
        }
    }

    /// Reads the notice in a query. Unknown words show nothing: the text is never taken from the query.
    pub(super) fn read(query: &[Param]) -> Option<&'static str> {
        let (_, word) = query.iter().find(|(name, _)| name == "done")?;
        Self::ALL
            .into_iter()
            .find(|done| done.word() == word)
            .map(Self::says)
    }
}
