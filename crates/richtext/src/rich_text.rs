//! Rich texts, their profiles, and the objects that they link to.

/// Maximum size in bytes of a rich text, as sent and as stored.
pub const MAX_BYTES: usize = 64 * 1024;
/// Maximum number of objects that a rich text links to; further ones are shown as private links to all readers.
pub const LINKS_MAX: usize = 100;
/// Maximum number of levels of nested tags, `<body>` included.
pub const MAX_DEPTH: usize = 32;

/// Kind of a rich text, which determines the tags it may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RichTextProfile {
    /// The description of a task.
    Task,
    /// A comment (story) or a status update.
    Comment,
    /// A project brief.
    Brief,
    /// The description of a project, goal or team.
    Description,
}

/// The object of a reference, as the current user may see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkTarget {
    /// Gid of the object: the referenced one, or the node that has replaced it.
    pub gid: u64,
    /// Type of the object: `user`, `task`, `project`, `attachment`, …
    pub kind: String,
    /// Name of the object, without the `@` before names of users.
    pub name: String,
    /// Absolute http(s) address of the object.
    pub href: String,
}

/// Function that looks up a gid; `None` if the object does not exist or the current user may not see it.
pub type LinkResolver<'a> = dyn Fn(u64) -> Option<LinkTarget> + 'a;

/// A rich text in its stored form.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RichText {
    /// XML-valid HTML with the single root `<body>`.
    pub html: String,
    /// The plain text view: no tags, entities decoded, blocks and list items on their own lines.
    pub text: String,
}
