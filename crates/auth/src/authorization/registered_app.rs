//! Apps: the OAuth clients, their registration and their authentication.
use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use crate::authorization::redirect_uri::RedirectUri;
use crate::tokens::scope::ScopeSet;
use crate::tokens::token_text::{Secret, SecretDigest, mint_secret_text};

/// Maximum length of an app's name, in characters.
pub const MAX_NAME_CHARS: usize = 100;

/// Prefix of a client secret.
const SECRET_PREFIX: &str = "wgk_";

/// Scopes that an app may request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RegisteredScopes {
    /// Full permissions: everything, and no specific scopes.
    Full,
    /// These scopes and no others.
    Only(ScopeSet),
}

impl RegisteredScopes {
    /// Returns the registration as a scope set, which limits the scopes of tokens.
    #[must_use]
    pub const fn set(self) -> ScopeSet {
        match self {
            Self::Full => ScopeSet::full(),
            Self::Only(set) => set,
        }
    }

    /// Returns the registration that this set describes.
    #[must_use]
    pub const fn from_set(set: ScopeSet) -> Self {
        if set.is_full() {
            Self::Full
        } else {
            Self::Only(set)
        }
    }
}

/// App that may ask users for authorization, with its registered redirect URLs and scopes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct App {
    /// Its id; in decimal, its client ID.
    pub id: u64,
    /// Its name, shown to users (see [`check_name`]).
    pub name: String,
    /// The digest of its secret; `None` for an app without a secret, which gets tokens only where
    /// [public clients](crate::PublicClients) are allowed.
    pub secret: Option<SecretDigest>,
    /// The URLs that a user's browser may be redirected to.
    pub redirects: Vec<RedirectUri>,
    /// The scopes that the app may request. Removing scopes removes them from its tokens immediately.
    pub scopes: RegisteredScopes,
    /// The workspaces whose users may authorize it.
    pub distribution: Vec<u64>,
    /// The workspaces whose administrators disabled it.
    pub disabled_in: Vec<u64>,
    /// The user who registered it.
    pub owner: u64,
    /// The time at which the app was registered.
    pub created_at: SystemTime,
    /// The time since which it is disabled in all workspaces; its tokens do not work while it is
    /// disabled.
    pub disabled_at: Option<SystemTime>,
}

impl App {
    /// Returns the client ID: the id in decimal.
    #[must_use]
    pub fn client_id(&self) -> String {
        self.id.to_string()
    }

    /// Returns true if the app runs on its users' devices, where its secret is not secret: its only redirect URL is the one
    /// for native apps.
    #[must_use]
    pub fn is_native(&self) -> bool {
        self.redirects.iter().all(RedirectUri::is_out_of_band)
    }

    /// Returns true if the app may access a workspace. Check this for every request with an app's token.
    #[must_use]
    pub fn works_in(&self, workspace: u64) -> bool {
        self.disabled_at.is_none()
            && self.distribution.contains(&workspace)
            && !self.disabled_in.contains(&workspace)
    }

    /// Returns the workspaces that the app may access.
    #[must_use]
    pub fn allowed_workspaces(&self) -> Arc<[u64]> {
        let all = self.distribution.iter().copied();
        all.filter(|workspace| self.works_in(*workspace)).collect()
    }

    /// Returns true if a user of these workspaces may authorize the app.
    #[must_use]
    pub fn is_distributed_to(&self, workspaces: &[u64]) -> bool {
        workspaces.iter().any(|workspace| self.works_in(*workspace))
    }
}

/// Makes a client secret of 256 random bits: the text for the app's owner, to be shown once, and the
/// digest to be stored. Storing a new digest resets the secret: the old one stops working.
#[must_use]
pub fn mint_secret(random: &[u8; 32]) -> (Secret, SecretDigest) {
    mint_secret_text(SECRET_PREFIX, random)
}

/// Returns the app if it exists, is enabled, and the secret matches. All three failures take the
/// same path, and the comparison takes the same time for all differing digests.
#[must_use]
pub fn authenticate<'a>(found: Option<&'a App>, secret: &str) -> Option<&'a App> {
    let presented = SecretDigest::of(secret);
    // No known text hashes to zero.
    let stored = found
        .and_then(|app| app.secret)
        .unwrap_or(SecretDigest([0; 32]));
    let same = stored.matches(&presented);
    found.filter(|app| same & app.secret.is_some() & app.disabled_at.is_none())
}

/// Reason why a name is not allowed for an app.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameError {
    /// Nothing but white space.
    Empty,
    /// More than [`MAX_NAME_CHARS`].
    Long,
    /// Characters that are invisible, or that change the direction of the surrounding text.
    Characters,
}

impl fmt::Display for NameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("An app must have a name."),
            Self::Long => f.write_str("The name of an app must not be longer than 100 characters."),
            Self::Characters => {
                f.write_str("The name of an app must not have invisible characters.")
            }
        }
    }
}

impl std::error::Error for NameError {}

/// Checks an app's name, and returns it without surrounding white space. It is not HTML: pages escape
/// it.
///
/// # Errors
/// The first rule that the name breaks.
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

/// Returns true for control characters, direction marks, and zero-width characters that are not
/// part of a script or an emoji.
fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}'
            | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}
