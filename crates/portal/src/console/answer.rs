//! What the console answers: pages, and where to go on.
use workgraph_auth::Pair;

use crate::pages::{Failure, Page, paths};

/// The answer to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// A page, with its status.
    Page(u16, Page),
    /// 303 to a path of ours.
    SeeOther(String),
}

impl Answer {
    pub(super) fn ok(page: Page) -> Self {
        Self::Page(200, page)
    }

    /// A form that came back with problems.
    pub(super) fn again(page: Page) -> Self {
        Self::Page(400, page)
    }

    /// The page at a path, with a word for what was done.
    pub(crate) fn done(path: &str, what: Done) -> Self {
        Self::SeeOther(format!("{path}?done={}", what.word()))
    }

    /// What is not there, or is somebody else's.
    #[must_use]
    pub fn not_found() -> Self {
        let failure = Failure {
            heading: "Not found",
            text: "There is nothing here, or it is not yours.",
            onward: Some((paths::APPS, "Go to my apps")),
        };
        Self::Page(404, failure.page())
    }

    /// A form that is not ours, or whose session is over.
    #[must_use]
    pub fn forged() -> Self {
        let failure = Failure {
            heading: "This form is no longer valid",
            text: "Nothing was changed. Open the page again and repeat what you did.",
            onward: Some((paths::APPS, "Go to my apps")),
        };
        Self::Page(403, failure.page())
    }
}

/// What a write did, as the page after it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Done {
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
}

impl Done {
    const ALL: [Self; 10] = [
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
        }
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
            Self::Declined => "The invitation is declined. Nothing of it is left.",
        }
    }

    /// Reads the word in a query. Anything else says nothing: the text is never the query's.
    pub(super) fn read(query: &[Pair]) -> Option<&'static str> {
        let (_, word) = query.iter().find(|(name, _)| name == "done")?;
        Self::ALL
            .into_iter()
            .find(|done| done.word() == word)
            .map(Self::says)
    }
}
