//! Bodies of nodes, and the positions of their members.
//!
//! A record reads most members of a body, and a request reads a body twice: to load what it links to, and to write it. So the
//! positions of the members are found once, when they are first needed.
use crate::model::json_members::{member, members};
use smallvec::SmallVec;
use std::fmt;
use std::ops::Deref;
use std::sync::OnceLock;

/// Number of members whose positions fit without a heap allocation while they are found; most bodies have fewer.
pub(super) const INLINE: usize = 24;

/// Bytes between a key and its value: a quote and a colon.
const BEFORE_VALUE: usize = 2;
/// Bytes between a value and the next key: a comma and a quote.
const BETWEEN_MEMBERS: usize = 2;

/// Body of a node: the compact JSON object with all stored fields. It derefs to its text.
#[derive(Clone, Default)]
pub struct Body {
    text: Box<str>,
    /// Positions of the members, once they were needed; about an eighth of the size of the text.
    index: OnceLock<MemberIndex>,
}

/// Positions of the members of a body, and the end of the last one. `None` if a key is too long, which no field name is.
type MemberIndex = Option<Box<[MemberPosition]>>;

/// Position of a member's key and value in the body.
#[derive(Clone, Copy, Debug)]
struct MemberPosition {
    /// Index of the first byte of the key.
    start: u32,
    signature: KeySignature,
}

/// Length, first byte and last byte of a key: they differ for nearly any two fields of a type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct KeySignature(u32);

impl KeySignature {
    #[inline]
    fn of(key: &str) -> Option<Self> {
        let length = u16::try_from(key.len()).ok()?;
        let bytes = key.as_bytes();
        let end = |byte: Option<&u8>| byte.copied().unwrap_or_default();
        let ends = u16::from_le_bytes([end(bytes.first()), end(bytes.last())]);
        Some(Self(u32::from(length) | u32::from(ends) << 16))
    }

    #[inline]
    fn key_length(self) -> usize {
        (self.0 & 0xffff) as usize
    }
}

impl Body {
    /// Returns the raw value under a key, if any.
    pub(crate) fn find(&self, key: &str) -> Option<&str> {
        match self.index.get() {
            Some(Some(index)) => find(&self.text, index, key, 0).map(|(_, value)| value),
            _ => member(&self.text, key),
        }
    }

    /// Returns the raw value under a key with the number of its member, if any. The search begins with the most likely member.
    #[inline]
    pub(crate) fn find_near(&self, key: &str, likely: usize) -> Option<(usize, &str)> {
        let index = self
            .index
            .get_or_init(|| Some(positions(&self.text)?.as_slice().into()));
        match index {
            Some(index) => find(&self.text, index, key, likely),
            None => Some((likely, member(&self.text, key)?)),
        }
    }

    /// Returns the approximate number of bytes that the body takes with its index.
    #[must_use]
    pub fn weight(&self) -> usize {
        self.text.len() + self.text.len() / 8
    }
}

impl Deref for Body {
    type Target = str;
    #[inline]
    fn deref(&self) -> &str {
        &self.text
    }
}

impl<T: Into<Box<str>>> From<T> for Body {
    fn from(text: T) -> Self {
        Self {
            text: text.into(),
            index: OnceLock::new(),
        }
    }
}

impl PartialEq for Body {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Body {}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.text.fmt(f)
    }
}

/// Finds the members of an object; `None` if a key is too long.
fn positions(object: &str) -> Option<SmallVec<[MemberPosition; INLINE]>> {
    let mut all = SmallVec::new();
    // After a brace and a quote.
    let mut start = 2;
    for (key, value) in members(object) {
        all.push(MemberPosition {
            start: u32::try_from(start).ok()?,
            signature: KeySignature::of(key)?,
        });
        start += key.len() + BEFORE_VALUE + value.len() + BETWEEN_MEMBERS;
    }
    // The end of the last member, in the form of the start of one more.
    all.push(MemberPosition {
        start: u32::try_from(start).ok()?,
        signature: KeySignature(u32::MAX),
    });
    Some(all)
}

/// Returns the value of the first member with a key, with its number. The search begins with the most likely member.
#[inline]
fn find<'t>(
    text: &'t str,
    index: &[MemberPosition],
    key: &str,
    likely: usize,
) -> Option<(usize, &'t str)> {
    let signature = KeySignature::of(key)?;
    let value = |at: usize| {
        let [member, next] = index.get(at..at + 2)? else {
            return None;
        };
        if member.signature != signature {
            return None;
        }
        let start = member.start as usize;
        let end = start + signature.key_length();
        if text.as_bytes().get(start..end)? != key.as_bytes() {
            return None;
        }
        let value = end + BEFORE_VALUE..(next.start as usize).checked_sub(BETWEEN_MEMBERS)?;
        Some((at, text.get(value)?))
    };
    if let Some(found) = value(likely) {
        return Some(found);
    }
    let same = |member: &MemberPosition| member.signature == signature;
    let first = index.iter().position(same)?;
    (first..index.len()).find_map(value)
}
