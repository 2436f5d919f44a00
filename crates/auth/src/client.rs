//! Apps: the OAuth clients, how they are registered and how they prove who they are.
use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use crate::redirect::RedirectUri;
use crate::scope::ScopeSet;
use crate::token::{Digest, Secret, mint_text};

/// The longest name of an app, in characters.
pub const MAX_NAME_CHARS: usize = 100;

/// The first characters of a client secret.
const SECRET_PREFIX: &str = "wgk_";

/// What an app may ask its users for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Registered {
    /// Full permissions: everything, and no specific scopes.
    Full,
    /// These scopes and no others.
    Only(ScopeSet),
}

impl Registered {
    /// The registration as a set: what tokens are cut to.
    #[must_use]
    pub const fn set(self) -> ScopeSet {
        match self {
            Self::Full => ScopeSet::full(),
            Self::Only(set) => set,
        }
    }

    /// The registration that this set describes.
    #[must_use]
    pub const fn from_set(set: ScopeSet) -> Self {
        if set.is_full() {
            Self::Full
        } else {
            Self::Only(set)
        }
    }
}

/// A registered app.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct App {
    /// Its number; in decimal, its client ID.
    pub id: u64,
    /// Its name, shown to users (see [`check_name`]).
    pub name: String,
    /// The digest of its secret; none for an app that has none yet and so cannot get tokens.
    pub secret: Option<Digest>,
    /// The URLs a user's browser may be sent back to.
    pub redirects: Vec<RedirectUri>,
    /// What it may ask for. Shrinking this shrinks tokens at once.
    pub scopes: Registered,
    /// The workspaces whose users may authorize it.
    pub distribution: Vec<u64>,
    /// The workspaces whose administrators switched it off.
    pub disabled_in: Vec<u64>,
    /// The user who registered it.
    pub owner: u64,
    /// When it was registered.
    pub created_at: SystemTime,
    /// Since when it is switched off altogether; its tokens are dead for as long.
    pub disabled_at: Option<SystemTime>,
}

impl App {
    /// The client ID.
    #[must_use]
    pub fn client_id(&self) -> String {
        self.id.to_string()
    }

    /// Whether the app runs on its users' devices, where its secret is none: it has no redirect URL
    /// but the one of native apps.
    #[must_use]
    pub fn is_native(&self) -> bool {
        self.redirects.iter().all(RedirectUri::is_out_of_band)
    }

    /// Whether the app may reach a workspace. Ask this on every request of an app's token.
    #[must_use]
    pub fn works_in(&self, workspace: u64) -> bool {
        self.disabled_at.is_none()
            && self.distribution.contains(&workspace)
            && !self.disabled_in.contains(&workspace)
    }

    /// The workspaces that the app may reach.
    #[must_use]
    pub fn reach(&self) -> Arc<[u64]> {
        let all = self.distribution.iter().copied();
        all.filter(|workspace| self.works_in(*workspace)).collect()
    }

    /// Whether a user of these workspaces may authorize the app.
    #[must_use]
    pub fn is_for(&self, workspaces: &[u64]) -> bool {
        workspaces.iter().any(|workspace| self.works_in(*workspace))
    }
}

/// Makes a client secret of 256 random bits: the text for the app's owner, to be shown once, and
/// the digest to be stored. Storing a new digest is a reset: the old secret is dead with it.
#[must_use]
pub fn mint_secret(random: &[u8; 32]) -> (Secret, Digest) {
    mint_text(SECRET_PREFIX, random)
}

/// The app, if it exists, is on, and this is its secret. All three failures take the same path,
/// and comparing takes the same time wherever the digests differ.
#[must_use]
pub fn authenticate<'a>(found: Option<&'a App>, secret: &str) -> Option<&'a App> {
    let presented = Digest::of(secret);
    // Nothing is known to hash to zero.
    let stored = found.and_then(|app| app.secret).unwrap_or(Digest([0; 32]));
    let same = stored.matches(&presented);
    found.filter(|app| same & app.secret.is_some() & app.disabled_at.is_none())
}

/// Why an app cannot have a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameError {
    /// Nothing but white space.
    Empty,
    /// More than [`MAX_NAME_CHARS`].
    Long,
    /// Characters that cannot be seen or that turn the direction of the text around them.
    Characters,
}

impl fmt::Display for NameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => "An app must have a name.",
            Self::Long => "The name of an app must not be longer than 100 characters.",
            Self::Characters => "The name of an app must not have invisible characters.",
        })
    }
}

impl std::error::Error for NameError {}

/// Checks an app's name, and gives it without white space around it. It is no HTML: pages escape it.
///
/// # Errors
/// The first rule it breaks.
pub fn check_name(name: &str) -> Result<&str, NameError> {
    let name = name.trim();
    if name.is_empty() {
        return Err(NameError::Empty);
    }
    if name.chars().count() > MAX_NAME_CHARS {
        return Err(NameError::Long);
    }
    if name.chars().any(is_hidden) {
        return Err(NameError::Characters);
    }
    Ok(name)
}

/// Control characters, marks of direction, and characters of no width that are not part of a
/// script or an emoji.
fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}'
            | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}
