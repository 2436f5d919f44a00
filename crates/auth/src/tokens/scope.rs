//! Scopes: the registry of a service, and sets of its scopes.
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ptr;

/// Word for full permissions. It is never part of a list.
pub const DEFAULT: &str = "default";

/// Description of full permissions on the consent page.
pub const FULL_ACCESS_DESCRIPTION: &str = "See and change everything you can see and change";

/// Permission that a user can grant to an app.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scope {
    /// The name as sent, such as `invoices:read`, or a word of OpenID Connect.
    pub name: &'static str,
    /// The description of the permitted actions on the consent page.
    pub description: &'static str,
}

/// Every scope of a service, in order of name. It is a small value that is passed by copy.
///
/// ```
/// use workgraph_auth::ScopeRegistry;
///
/// let scopes = ScopeRegistry::new([
///     ("invoices:read", "See your invoices"),
///     ("invoices:write", "Change them"),
/// ]);
/// let granted = scopes.parse("invoices:read")?;
/// assert!(granted.allows("invoices:read") && !granted.allows("invoices:write"));
/// assert_eq!(granted.to_string(), "invoices:read");
/// # Ok::<(), workgraph_auth::ScopeError>(())
/// ```
///
/// A set is stored by the names of its scopes, so a registry may grow between two starts of a service.
#[derive(Clone, Copy)]
pub struct ScopeRegistry(&'static [(&'static str, &'static str)]);

impl ScopeRegistry {
    /// Maximum number of scopes in a registry.
    pub const MOST: usize = 126;

    /// Registry without scopes: it parses full permissions and the empty set.
    pub const EMPTY: Self = Self(&[]);

    /// Makes a registry from scopes in any order, each a name and its description. It is kept until the process ends, so make it
    /// once at startup, not for each request.
    ///
    /// Panics if a name occurs twice, is `default`, or contains characters not allowed in a scope (RFC 6749 section 3.3), or if
    /// there are more than [`MOST`](Self::MOST).
    #[must_use]
    pub fn new<N: Into<String>, D: Into<String>>(scopes: impl IntoIterator<Item = (N, D)>) -> Self {
        let kept = |text: String| -> &'static str { Box::leak(text.into_boxed_str()) };
        let scopes = scopes.into_iter();
        let mut scopes: Vec<_> = scopes
            .map(|(name, description)| (kept(name.into()), kept(description.into())))
            .collect();
        scopes.sort_unstable();
        Self::of(Box::leak(scopes.into_boxed_slice()))
    }

    /// Makes a registry from scopes in order of name, each a name and its description. In a `static` or `const` its errors are
    /// compile errors.
    ///
    /// # Panics
    /// Panics like [`new`](Self::new), and if the names are not in order.
    #[must_use]
    pub const fn of(scopes: &'static [(&'static str, &'static str)]) -> Self {
        assert!(
            scopes.len() <= Self::MOST,
            "a registry has at most 126 scopes"
        );
        let mut rest = scopes;
        let mut before: &[u8] = b"";
        while let [(name, _), after @ ..] = rest {
            let name = name.as_bytes();
            assert!(
                is_scope_name(name),
                "a name of a scope has a character that none may have"
            );
            assert!(
                is_before(before, name),
                "names of scopes are in order, each once"
            );
            before = name;
            rest = after;
        }
        Self(scopes)
    }

    /// Returns the number of scopes.
    #[must_use]
    pub const fn len(self) -> usize {
        self.0.len()
    }

    /// Returns true if there is no scope.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    /// Returns the scopes in order of name.
    pub fn iter(self) -> impl Iterator<Item = Scope> {
        let scope =
            |(name, description): &(&'static str, &'static str)| Scope { name, description };
        self.0.iter().map(scope)
    }

    /// Parses space-delimited names (RFC 6749 section 3.3): case-sensitive, in any order,
    /// repetitions allowed. `default` alone means full permissions. A text without names is the empty
    /// set.
    ///
    /// # Errors
    /// Names the first unknown scope, or says that `default` was not alone.
    pub fn parse(self, text: &str) -> Result<ScopeSet, ScopeError> {
        let mut bits = 0;
        let mut default = false;
        for name in text.split(' ').filter(|name| !name.is_empty()) {
            if name == DEFAULT {
                default = true;
            } else {
                bits |= self
                    .bit(name)
                    .ok_or_else(|| ScopeError::Unknown(name.to_owned()))?;
            }
        }
        match (default, bits) {
            (false, _) => Ok(ScopeSet {
                bits,
                registry: self,
            }),
            (true, 0) => Ok(ScopeSet::full()),
            (true, _) => Err(ScopeError::Mixed),
        }
    }

    /// Returns the bit of a scope: its index in the registry.
    fn bit(self, name: &str) -> Option<u128> {
        let at = self
            .0
            .binary_search_by(|(known, _)| (*known).cmp(name))
            .ok()?;
        Some(1 << at)
    }

    fn is(self, other: Self) -> bool {
        ptr::eq(self.0, other.0)
    }
}

impl fmt::Debug for ScopeRegistry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.0.iter().map(|(name, _)| name);
        f.debug_list().entries(names).finish()
    }
}

/// Returns true if these bytes are a valid scope (RFC 6749 section 3.3), and not [`DEFAULT`].
const fn is_scope_name(name: &[u8]) -> bool {
    let mut rest = name;
    while let [byte, after @ ..] = rest {
        if !matches!(byte, 0x21 | 0x23..=0x5b | 0x5d..=0x7e) {
            return false;
        }
        rest = after;
    }
    !matches!(name, b"" | b"default")
}

/// Returns true if the first bytes sort before the second.
const fn is_before(mut first: &[u8], mut second: &[u8]) -> bool {
    loop {
        match (first, second) {
            ([one, first_rest @ ..], [other, second_rest @ ..]) => {
                if *one != *other {
                    return *one < *other;
                }
                (first, second) = (first_rest, second_rest);
            }
            (_, []) => return false,
            ([], _) => return true,
        }
    }
}

/// Reason why a text is not a set of scopes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScopeError {
    /// This name is not a scope.
    Unknown(String),
    /// `default` occurred with other scopes; it must be alone.
    Mixed,
}

impl fmt::Display for ScopeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(name) => write!(f, "unknown scope `{name}`"),
            Self::Mixed => f.write_str("`default` cannot be combined with other scopes"),
        }
    }
}

impl std::error::Error for ScopeError {}

/// Permissions of a token: a set of scopes, or everything.
///
/// Full permissions are more than all scopes together, since many operations have no scope and require
/// full permissions. Actions do not imply each other: `tasks:write` does not let an app read a
/// task. Sets are equal if their scopes have the same names, even from different registries.
#[derive(Clone, Copy)]
pub struct ScopeSet {
    /// One bit per scope of the registry, by its index. Bit 127 belongs to no scope, so full permissions differ from every list.
    bits: u128,
    registry: ScopeRegistry,
}

impl ScopeSet {
    /// Returns full permissions: every endpoint, with or without a scope.
    #[must_use]
    pub const fn full() -> Self {
        Self {
            bits: u128::MAX,
            registry: ScopeRegistry::EMPTY,
        }
    }

    /// Returns the set without any scope.
    #[must_use]
    pub const fn empty() -> Self {
        Self {
            bits: 0,
            registry: ScopeRegistry::EMPTY,
        }
    }

    /// Returns true if these are full permissions.
    #[must_use]
    pub const fn is_full(self) -> bool {
        self.bits == u128::MAX
    }

    /// Returns true if nothing is allowed.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.bits == 0
    }

    /// Returns true if a request that requires `scope` is allowed. An unknown name requires full
    /// permissions, as does an operation without a scope (see [`is_full`](Self::is_full)).
    #[must_use]
    pub fn allows(&self, scope: &str) -> bool {
        self.is_full()
            || self
                .registry
                .bit(scope)
                .is_some_and(|bit| self.bits & bit != 0)
    }

    /// Returns true if everything in `other` is also in this set. Only full permissions cover full
    /// permissions.
    #[must_use]
    pub fn covers(self, other: Self) -> bool {
        if self.is_full() || other.is_full() {
            return self.is_full();
        }
        if self.registry.is(other.registry) {
            return self.bits & other.bits == other.bits;
        }
        other.iter().all(|scope| self.allows(scope.name))
    }

    /// Returns the scopes that both sets allow. Full permissions return the other set unchanged.
    #[must_use]
    pub fn intersect(self, other: Self) -> Self {
        if self.is_full() {
            return other;
        }
        if other.is_full() || self.registry.is(other.registry) {
            let bits = self.bits & other.bits;
            return Self { bits, ..self };
        }
        let known = other
            .iter()
            .filter_map(|scope| self.registry.bit(scope.name));
        let theirs = known.fold(0, |bits, bit| bits | bit);
        let bits = self.bits & theirs;
        Self { bits, ..self }
    }

    /// Returns the scopes of the set in order of name; none for full permissions, which are not a
    /// list.
    pub fn iter(self) -> impl Iterator<Item = Scope> {
        let listed = if self.is_full() { 0 } else { self.bits };
        let scopes = self.registry.iter().enumerate();
        scopes
            .filter(move |(at, _)| listed >> at & 1 == 1)
            .map(|(_, scope)| scope)
    }
}

impl Default for ScopeSet {
    fn default() -> Self {
        Self::empty()
    }
}

impl PartialEq for ScopeSet {
    fn eq(&self, other: &Self) -> bool {
        let (full, same) = (self.is_full(), self.registry.is(other.registry));
        if full || other.is_full() || same {
            return self.bits == other.bits;
        }
        self.covers(*other) && other.covers(*self)
    }
}

impl Eq for ScopeSet {}

/// Hashes the number of scopes, which is the same for equal sets of any two registries.
impl Hash for ScopeSet {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u32(self.bits.count_ones());
    }
}

/// Writes names in order, with one space between them; `default` for full permissions.
/// [`ScopeRegistry::parse`] reads it back.
impl fmt::Display for ScopeSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_full() {
            return f.write_str(DEFAULT);
        }
        for (at, scope) in self.iter().enumerate() {
            if at > 0 {
                f.write_str(" ")?;
            }
            f.write_str(scope.name)?;
        }
        Ok(())
    }
}

impl fmt::Debug for ScopeSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ScopeSet({self})")
    }
}
